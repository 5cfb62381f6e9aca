// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_debugfs.c - debugfs, unic/unicN: the tables of the NIC and its driver as
 * text, one row per line. See docs/LINUX.md.
 *
 * A read fetches the table piece by piece, and no lock is held between two
 * pieces: rows may appear and disappear meanwhile.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "unic_self_client.h"
#include "unic_debugfs.h"
#include "unic_dev.h"
#include "unic_stats.h"

#define END (U32_MAX + 1ll) /* position after the last row of any table */

/* A field of a row: 1, 2, 4 or 8 bytes are a little-endian number, more are
 * text. */
struct column {
	const char *name;
	u16 at, bytes;
	bool hex;
};

struct table {
	const char *name;
	u16 op;	       /* enum unic_ctl_op, which fetches the table */
	u16 number;    /* DUMP: enum unic_table */
	u16 row_bytes; /* 0: see show_counters() */
	const struct column *column;
};

#define C(row, field, ...)                                              \
	{                                                               \
		.name = #field, .at = offsetof(struct row, field),      \
		.bytes = sizeof_field(struct row, field), ##__VA_ARGS__ \
	}
#define X(row, field) C(row, field, .hex = true)

static const struct column procs[] = {
	C(unic_ctl_proc, proc),
	C(unic_ctl_proc, pid),
	C(unic_ctl_proc, uid),
	C(unic_ctl_proc, name),
	C(unic_ctl_proc, state),
	C(unic_ctl_proc, pinned),
	C(unic_ctl_proc, regions),
	C(unic_ctl_proc, waits),
	C(unic_ctl_proc, upcalls),
	C(unic_ctl_proc, notices),
	C(unic_ctl_proc, evictions),
	C(unic_ctl_proc, requests),
	C(unic_ctl_proc, refused),
	C(unic_ctl_proc, deliver_max_us),
	C(unic_ctl_proc, answers),
	C(unic_ctl_proc, answer_mean_us),
	C(unic_ctl_proc, answer_max_us),
	C(unic_ctl_proc, deadlines),
	{},
};

static const struct column shares[] = {
	C(unic_row_proc, proc),
	C(unic_row_proc, host_pid),
	C(unic_row_proc, weight),
	C(unic_row_proc, quota),
	C(unic_row_proc, policy),
	C(unic_row_proc, held),
	C(unic_row_proc, fair_share),
	C(unic_row_proc, wanted),
	C(unic_row_proc, control),
	C(unic_row_proc, mrs),
	C(unic_row_proc, qps),
	C(unic_row_proc, tokens),
	C(unic_row_proc, notices),
	C(unic_row_proc, evictions),
	C(unic_row_proc, late),
	C(unic_row_proc, longest_wait_us),
	{},
};

static const struct column regions[] = {
	C(unic_row_mr, index),
	C(unic_row_mr, gen),
	X(unic_row_mr, stag),
	C(unic_row_mr, proc),
	C(unic_row_mr, pd),
	C(unic_row_mr, kind),
	C(unic_row_mr, state),
	X(unic_row_mr, rights),
	X(unic_row_mr, mr_class),
	C(unic_row_mr, page_shift),
	X(unic_row_mr, iova),
	C(unic_row_mr, length),
	C(unic_row_mr, entries),
	C(unic_row_mr, dependents),
	C(unic_row_mr, holds),
	C(unic_row_mr, dmas),
	C(unic_row_mr, misses),
	C(unic_row_mr, uses),
	{},
};

static const struct column tlb[] = {
	C(unic_row_tlb, index), C(unic_row_tlb, mr),
	C(unic_row_tlb, page),	C(unic_row_tlb, page_shift),
	X(unic_row_tlb, bus),	{},
};

static const struct column tokens[] = {
	C(unic_row_token, index),      C(unic_row_token, proc),
	C(unic_row_token, mr),	       C(unic_row_token, state),
	C(unic_row_token, end),	       X(unic_row_token, iova),
	C(unic_row_token, length),     C(unic_row_token, placed),
	C(unic_row_token, expires_ns), X(unic_row_token, sender_ipv4),
	C(unic_row_token, sender_qpn), {},
};

static const struct column queues[] = {
	C(unic_row_qp, qpn),
	C(unic_row_qp, proc),
	C(unic_row_qp, pd),
	C(unic_row_qp, type),
	C(unic_row_qp, state),
	C(unic_row_qp, dest_qpn),
	X(unic_row_qp, dest_ipv4),
	C(unic_row_qp, sq_posted),
	C(unic_row_qp, sq_done),
	C(unic_row_qp, rq_posted),
	C(unic_row_qp, rq_done),
	C(unic_row_qp, sq_psn),
	C(unic_row_qp, una_psn),
	C(unic_row_qp, rq_psn),
	C(unic_row_qp, retries),
	C(unic_row_qp, rnrs),
	{},
};

static const struct column completions[] = {
	C(unic_row_cq, index),
	C(unic_row_cq, proc),
	C(unic_row_cq, pd),
	C(unic_row_cq, mr),
	X(unic_row_cq, iova),
	C(unic_row_cq, entries),
	C(unic_row_cq, written),
	C(unic_row_cq, read),
	C(unic_row_cq, events),
	C(unic_row_cq, armed),
	C(unic_row_cq, users),
	C(unic_row_cq, error),
	{},
};

static const struct column waits[] = {
	C(unic_row_wait, wait),
	C(unic_row_wait, proc),
	C(unic_row_wait, entries),
	C(unic_row_wait, age_us),
	{},
};

static const struct column crash[] = {
	C(unic_crash, kind),	   C(unic_crash, file),
	C(unic_crash, line),	   C(unic_crash, epoch),
	C(unic_crash, time_ns),	   X(unic_crash, fault_status),
	X(unic_crash, fault_addr), {},
};

#define DUMP(name, number, column)                                  \
	{                                                           \
		name, UNIC_CTL_DUMP, number, UNIC_ROW_BYTES, column \
	}

static const struct table tables[] = {
	{ "procs", UNIC_CTL_PS, 0, sizeof(struct unic_ctl_proc), procs },
	DUMP("shares", UNIC_TABLE_PROC, shares),
	DUMP("regions", UNIC_TABLE_MR, regions),
	DUMP("tlb", UNIC_TABLE_TLB, tlb),
	DUMP("tokens", UNIC_TABLE_TOKEN, tokens),
	DUMP("queues", UNIC_TABLE_QP, queues),
	DUMP("completions", UNIC_TABLE_CQ, completions),
	DUMP("waits", UNIC_TABLE_WAIT, waits),
	{ "counters", UNIC_CTL_STATS },
	{ "crash", UNIC_CTL_CRASH, 0, sizeof(struct unic_crash), crash },
};

static struct dentry *root; /* the folder of all NICs */

/* An open file. */
struct reading {
	struct unic_os *os; /* valid until debugfs_remove() of the file */
	const struct table *table;
	u32 first; /* number of the first row of the reply */
	u32 bytes; /* length of the reply */
	u8 reply[UNIC_CTL_MSG_MAX] __aligned(8);
};

/* -------------------------------------------------------------- as text */

static u64 load_le(const void *at, u32 bytes)
{
	unic_le16 w;
	unic_le32 l;
	unic_le64 q;

	switch (bytes) {
	case 1:
		return *(const u8 *)at;
	case 2:
		memcpy(&w, at, sizeof(w));
		return unic_from_le16(w);
	case 4:
		memcpy(&l, at, sizeof(l));
		return unic_from_le32(l);
	default:
		memcpy(&q, at, sizeof(q));
		return unic_from_le64(q);
	}
}

static void show_row(struct seq_file *s, const struct column *c, const u8 *row)
{
	const u8 *at;

	for (; c->name; c++) {
		at = row + c->at;
		if (c->bytes > sizeof(u64)) /* text may lack its terminator */
			seq_printf(s, "%*pE", (int)strnlen(at, c->bytes), at);
		else
			seq_printf(s, c->hex ? "%#llx" : "%llu",
				   load_le(at, c->bytes));
		seq_putc(s, c[1].name ? '\t' : '\n');
	}
}

static void show_names(struct seq_file *s, const struct column *c)
{
	for (; c->name; c++)
		seq_printf(s, "%s%c", c->name, c[1].name ? '\t' : '\n');
}

#define COUNTER_NAME(name, what) #name,
static void show_counters(struct seq_file *s, const struct reading *r)
{
	static const char *const names[] = { UNIC_COUNTERS(COUNTER_NAME) };
	const u8 *tail = r->reply + UNIC_CTL_BYTES;
	struct unic_ctl_stats_reply head;
	u32 i;

	memcpy(&head, r->reply, sizeof(head));
	for (i = 0;
	     i < ARRAY_SIZE(names) && UNIC_CTL_BYTES + 8 * (i + 1) <= r->bytes;
	     i++)
		seq_printf(s, "%s %llu\n", names[i], load_le(tail + 8 * i, 8));
	seq_printf(s, "driver_commands %u\ndriver_timeouts %u\n",
		   unic_from_le32(head.commands),
		   unic_from_le32(head.timeouts));
	seq_printf(s, "driver_bad_records %u\ndriver_upcalls %u\n",
		   unic_from_le32(head.bad_records),
		   unic_from_le32(head.upcalls));
	seq_printf(s, "driver_refused %u\ndriver_audits %u\n",
		   unic_from_le32(head.refused), unic_from_le32(head.audits));
}

/* ----------------------------------------------------------- a file of pieces */

static int fetch_rows(struct reading *r)
{
	struct unic_ctl_dump req = { 0 };
	int got;

	if (r->table->op == UNIC_CTL_DUMP) {
		req.table = unic_to_le32(r->table->number);
		req.first = unic_to_le32(r->first);
	}
	got = unic_self_client_ask(r->os, r->table->op, &req, r->reply,
				   sizeof(r->reply));
	r->bytes = max(got, 0);
	return min(got, 0);
}

static void *piece_start(struct seq_file *s, loff_t *pos)
{
	struct reading *r = s->private;
	int err;

	if (*pos >= END)
		return NULL;
	r->first = *pos;
	err = fetch_rows(r);
	return err ? ERR_PTR(err) : r;
}

static void *piece_next(struct seq_file *s, void *v, loff_t *pos)
{
	struct reading *r = v;
	struct unic_ctl_dump_reply head;
	u32 next = 0;

	memcpy(&head, r->reply, sizeof(head));
	if (r->table->op == UNIC_CTL_DUMP)
		next = unic_from_le32(head.next);
	/* a NIC may name a row again: then the table ends */
	*pos = next > r->first ? next : END;
	return piece_start(s, pos);
}

static void piece_stop(struct seq_file *s, void *v)
{
}

static int piece_show(struct seq_file *s, void *v)
{
	const struct reading *r = v;
	u32 at = UNIC_CTL_BYTES, bytes = r->table->row_bytes;

	if (!bytes) {
		show_counters(s, r);
		return 0;
	}
	if (!r->first)
		show_names(s, r->table->column);
	for (; at + bytes <= r->bytes; at += bytes)
		show_row(s, r->table->column, r->reply + at);
	return 0;
}

static const struct seq_operations piece_ops = {
	.start = piece_start,
	.next = piece_next,
	.stop = piece_stop,
	.show = piece_show,
};

static int table_open(struct inode *inode, struct file *file)
{
	struct reading *r = __seq_open_private(file, &piece_ops, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->os = d_inode(file->f_path.dentry->d_parent)->i_private;
	r->table = inode->i_private;
	return 0;
}

static const struct file_operations table_fops = {
	.owner = THIS_MODULE,
	.open = table_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

/* -------------------------------------------------------------------- errors */

/* A write runs the handlers of the driver as the bus does after a frozen channel: not
 * every bus has errors of its own. */
static int error_set(void *data, u64 value)
{
	struct pci_dev *pdev = ((struct unic_os *)data)->pdev;
	const struct pci_error_handlers *on = pdev->driver->err_handler;

	if (on->error_detected(pdev, pci_channel_io_frozen) ==
		    PCI_ERS_RESULT_NEED_RESET &&
	    on->slot_reset(pdev) == PCI_ERS_RESULT_RECOVERED)
		on->resume(pdev);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(error_fops, NULL, error_set, "%llu\n");

/* ----------------------------------------------------------------- its folder */

void unic_debugfs_init(void)
{
	root = debugfs_create_dir("unic", NULL);
}

void unic_debugfs_exit(void)
{
	debugfs_remove(root);
}

void unic_debugfs_add(struct unic_os *os)
{
	u32 i;

	os->debugfs = debugfs_create_dir(dev_name(&os->dev), root);
	if (IS_ERR(os->debugfs)) /* for example a kernel without debugfs */
		return;
	d_inode(os->debugfs)->i_private = os;
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		debugfs_create_file(tables[i].name, 0400, os->debugfs,
				    (void *)&tables[i], &table_fops);
	debugfs_create_file_unsafe("error", 0200, os->debugfs, os, &error_fops);
}

void unic_debugfs_del(struct unic_os *os)
{
	debugfs_remove(os->debugfs);
}
