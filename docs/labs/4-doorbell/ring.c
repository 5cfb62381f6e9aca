/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ring.c - a driver gives the NIC commands, one after the other. The NIC sleeps when it
 * has nothing to do, and says so (`asleep`); to wake it costs a system call, so that is
 * done only if it sleeps.
 *
 * How a driver attaches to the bus and resets the NIC is in examples/driver.c, of which
 * this program is made: bar, info, ours, doorbell and sent are its variables.
 *
 *   ring DIR   where unic-bus runs
 */
#define main driver_main
#include "driver.c"
#undef main

#include <stdbool.h>
#include <time.h>

#define COMMANDS 500u
#define SLOW	 25u /* one of so many commands takes long to prepare */
#define LOOKS	 20000u

static struct unic_nic_idx *nic;
static unsigned int rings, lost;

static bool is_asleep(void)
{
	return *(volatile unic_le32 *)&nic->asleep != 0;
}

static void ring(void)
{
	const uint64_t one = 1;

	rings++;
	if (write(doorbell, &one, sizeof(one)) != sizeof(one))
		err(1, "doorbell");
}

/* Puts command @n, a NOP, into its place in the queue. */
static void prepare(uint32_t n)
{
	struct unic_cmd_nop nop = { .hdr = { .opcode = UNIC_CMD_NOP } };

	nop.hdr.epoch = info->boot_epoch;
	if (n % SLOW == 0)
		usleep(20000);
	memcpy(bar + UNIC_BAR_CMD_OFF + n % UNIC_CMD_ENTRIES * sizeof(nop),
	       &nop, sizeof(nop));
}

/* Gives the NIC command @n. It takes all that are before the tail. */
static void submit(uint32_t n)
{
	bool asleep = is_asleep();

	prepare(n);
	__atomic_store_n(&ours->cmd_tail, unic_to_le32(n + 1),
			 __ATOMIC_RELEASE);
	if (asleep)
		ring();
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static bool is_answered(uint32_t n)
{
	return unic_from_le32(
		       __atomic_load_n(&nic->cpl_tail, __ATOMIC_ACQUIRE)) == n;
}

/* Waits until the NIC has answered @n commands. A doorbell is lost if the NIC sleeps on
 * for looks and looks, the command is there, and nobody has rung. */
static void wait_for(uint32_t n, bool rung)
{
	double end = now_ms() + 3000;
	unsigned int looks = 0;

	while (!is_answered(n) && now_ms() < end)
		looks = is_asleep() ? looks + 1 : 0;
	if (!is_answered(n))
		errx(1, "command %u: no answer in 3 s", n);
	ours->cpl_head = unic_to_le32(n);
	lost += !rung && looks > LOOKS;
}

int main(int argc, char **argv)
{
	uint32_t n;

	if (argc != 2)
		errx(2, "usage: ring DIR");
	attach_to_bus(argv[1]);
	reset_nic();
	nic = (void *)(bar + UNIC_BAR_NIC_OFF);
	for (n = 0; n < COMMANDS; n++) {
		unsigned int before = rings;

		submit(n);
		wait_for(n + 1, rings != before);
	}
	printf("%u commands, %u rings, %u lost\n", COMMANDS, rings, lost);
	return 0;
}
