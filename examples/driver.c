/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * driver.c - a whole driver, on the headers of abi/ alone: it attaches to the bus,
 * resets the NIC, registers page 3 of process slot 0, and shows what the NIC has noted
 * of it. It gives nothing back: the reset by the next driver ends it all.
 *
 *   driver DIR   where unic-bus runs; a NIC that is not there is waited for
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unic_bus.h"
#include "unic_mbox.h"

static uint8_t *bar; /* the mailbox, and two pages of it */
static volatile struct unic_info *info;
static struct unic_driver_page *ours;
static int doorbell;  /* of the NIC, vector 0 */
static uint32_t sent; /* commands */

/* The first descriptor of a message of @type; for the others there is no room. */
static int receive(int bus, uint32_t type)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	struct unic_bus_nic m;
	struct iovec iov = { &m, sizeof(m) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = CMSG_LEN(sizeof(int)) };

	if (recvmsg(bus, &msg, 0) != sizeof(m))
		errx(1, "bus: closed; it ended, or is of another user");
	if (unic_from_le16(m.hdr.type) == UNIC_BUS_REFUSED)
		errx(1, "bus: has a driver; end that one first");
	if (unic_from_le16(m.hdr.version) != UNIC_BUS_VERSION ||
	    unic_from_le16(m.hdr.type) != type || !CMSG_FIRSTHDR(&msg))
		errx(1, "bus: is not one of version %u", UNIC_BUS_VERSION);
	return *(int *)CMSG_DATA(CMSG_FIRSTHDR(&msg));
}

/* The connection stays open: who closes it is the driver no more. */
static void attach_to_bus(const char *dir)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int bus = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/attach", dir);
	if (connect(bus, (struct sockaddr *)&to, sizeof(to)))
		err(1, "%s: does unic-bus run there?", to.sun_path);
	bar = mmap(NULL, UNIC_BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		   receive(bus, UNIC_BUS_HELLO), 0);
	if (bar == MAP_FAILED)
		err(1, "bus: mailbox");
	info = (void *)(bar + UNIC_BAR_INFO_OFF);
	ours = (void *)(bar + UNIC_BAR_DRIVER_OFF);
	puts("bus: attached, waits for a NIC");
	doorbell = receive(bus, UNIC_BUS_NIC_JOINED);
}

/* Stores @value in @word, rings, and waits until the NIC has stored it in @ack. */
static void ask(unic_le32 *word, volatile unic_le32 *ack, uint32_t value)
{
	const uint64_t one = 1;
	int ms = 0;

	__atomic_thread_fence(__ATOMIC_RELEASE);
	*word = unic_to_le32(value);
	if (write(doorbell, &one, sizeof(one)) != sizeof(one))
		err(1, "nic: doorbell");
	for (; unic_from_le32(*ack) != value; usleep(1000))
		if (++ms > 3000)
			errx(1, "nic: no answer in 3 s; does its process run?");
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* What was made on the NIC before ends. */
static void reset_nic(void)
{
	while (unic_from_le32(info->magic) != UNIC_MAGIC)
		usleep(1000);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (unic_from_le16(info->abi_major) != UNIC_ABI_MAJOR)
		errx(1, "nic: mailbox is not of version %u", UNIC_ABI_MAJOR);
	memset(ours, 0, sizeof(*ours));
	ask(&ours->reset_req, &info->reset_ack,
	    unic_from_le32(info->reset_ack) + 1);
	printf("nic: reset, %u entries\n", unic_from_le32(info->tlb_entries));
}

/* Of the next command: bus addresses (slot << 48 | offset) in, or rows out. */
static void *list_page(void)
{
	return bar + UNIC_BAR_LIST_OFF +
	       sent % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
}

/* Has the command in @record executed; its completion takes that place. */
static void command(uint8_t opcode, const char *name, void *record)
{
	const uint32_t bytes = sizeof(struct unic_cmd_nop); /* of each */
	struct unic_nic_idx *nic = (void *)(bar + UNIC_BAR_NIC_OFF);
	uint32_t at = sent % UNIC_CMD_ENTRIES * bytes;
	struct unic_cmd_hdr *hdr = record;

	hdr->opcode = opcode;
	hdr->epoch = info->boot_epoch;
	memcpy(bar + UNIC_BAR_CMD_OFF + at, record, bytes);
	ask(&ours->cmd_tail, &nic->cpl_tail, ++sent);
	memcpy(record, bar + UNIC_BAR_CPL_OFF + at, bytes);
	ours->cpl_head = unic_to_le32(sent);
	if (hdr->status != UNIC_ST_OK)
		errx(1, "%s: enum unic_status %u", name, hdr->status);
	printf("%s: done\n", name);
}

int main(int argc, char **argv)
{
	struct unic_cmd_nop nop = { 0 };
	struct unic_cmd_proc_attach attach = { .weight = unic_to_le32(1) };
	struct unic_cpl_pd pd = { 0 }; /* as a command: slot 0, no flags */
	struct unic_cmd_mr_reg reg = { .page_shift = 12,
				       .iova = unic_to_le64(0x700000),
				       .length = unic_to_le64(4096),
				       .n_pages = unic_to_le32(1),
				       .flags = UNIC_REG_LIST };
	struct unic_cmd_dump dump = { .table = unic_to_le32(UNIC_TABLE_MR) };
	const struct unic_row_mr *row;

	if (argc != 2)
		errx(2, "usage: driver DIR");
	attach_to_bus(argv[1]);
	reset_nic();
	command(UNIC_CMD_NOP, "NOP", &nop);
	command(UNIC_CMD_PROC_ATTACH, "PROC_ATTACH", &attach);
	command(UNIC_CMD_PD_ALLOC, "PD_ALLOC", &pd);
	reg.pd = pd.pd;
	*(unic_le64 *)list_page() = unic_to_le64(0ull << 48 | 3 * 4096);
	command(UNIC_CMD_MR_REG, "MR_REG", &reg);
	row = list_page();
	command(UNIC_CMD_DUMP, "DUMP", &dump);
	printf("region: STag %#x, IOVA %#jx\n", unic_from_le32(row->stag),
	       (uintmax_t)unic_from_le64(row->iova));
	return 0;
}
