/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_roce.c - frames byte by byte, refusals by counter, and datagrams. */
#include "unit.h"

#include "base/icrc.h"
#include "pair.h"
#include "transport/mad.h"

#define MS 1000000ull

static uint8_t seen[2 + FAKE_FRAME_BYTES] __attribute__((aligned(4)));
static uint8_t *const frame = seen + 2;
static uint32_t seen_len, seen_flags;

static void keep(struct unic_port *port, const uint8_t *f, uint32_t len,
		 uint32_t flags)
{
	(void)port;
	memcpy(frame, f, len);
	seen_len = len;
	seen_flags = flags;
}

static int up(void **state)
{
	(void)state;
	pair_make(true, 1);
	memcpy(ma.mem, "payload", 7);
	return 0;
}

static uint32_t be(uint32_t off, uint32_t bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | frame[off++];
	return v;
}

static void write_one(uint32_t len)
{
	ra.port.on_frame = keep;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, len, mb.iova, mb.stag);
	rig_poll(&ra);
	ra.port.on_frame = NULL;
}

static void layout(void **state)
{
	uint32_t sum = 0, i, icrc;

	(void)state;
	write_one(7);
	assert_int_equal(seen_len, 14 + 20 + 8 + 12 + 16 + 8 + 4);
	assert_memory_equal(frame, rb.port.mac, 6);
	assert_memory_equal(frame + 6, ra.port.mac, 6);
	assert_int_equal(be(12, 2), 0x0800);
	assert_int_equal(be(14, 2), 0x4500);
	assert_int_equal(be(16, 2), seen_len - 14);
	assert_int_equal(be(20, 2), 0x4000); /* not to be fragmented */
	assert_int_equal(frame[23], 17);
	for (i = 14; i < 34; i += 2)
		sum += be(i, 2);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	assert_int_equal(be(26, 4), 0x0a000001);
	assert_int_equal(be(30, 4), 0x0a000002);
	assert_int_equal(be(34, 2) & 0xc000, 0xc000);
	assert_int_equal(be(36, 2), 4791);
	assert_int_equal(be(38, 2), seen_len - 34);
	assert_int_equal(be(40, 2), 0);
	assert_int_equal(frame[42], UNIC_OP_WRITE_ONLY);
	assert_int_equal(frame[43], 0x10); /* one byte of padding */
	assert_int_equal(be(44, 2), 0xffff);
	assert_int_equal(be(46, 4), qb.qpn);
	assert_int_equal(be(50, 4), 0x80001000); /* AckReq is set */
	assert_int_equal(be(58, 4), (uint32_t)mb.iova);
	assert_int_equal(be(62, 4), mb.stag);
	assert_int_equal(be(66, 4), 7);
	assert_memory_equal(frame + 70, "payload\0", 8);
	icrc = unic_icrc(frame, seen_len - 4);
	assert_int_equal(be(seen_len - 4, 4), __builtin_bswap32(icrc));
	assert_int_equal(seen_flags, 0);
}

/* Inverts bits of one field of a valid frame and corrects the ICRC: the frame
 * is dropped and counted by @why; the queue pair stays in RTS. */
static void refused(uint32_t off, uint8_t xor, enum unic_counter why)
{
	uint64_t before = rb.nic.counter[why];
	uint32_t icrc, sum = 0, i;
	uint8_t bad[200 + 2] __attribute__((aligned(4)));
	uint8_t *f = bad + 2;

	memcpy(f, frame, seen_len);
	f[off] ^= xor;
	if (off != 24 && off != 25) {
		f[24] = f[25] = 0;
		for (i = 14; i < 34; i += 2)
			sum += (uint32_t)f[i] << 8 | f[i + 1];
		sum = (sum & 0xffff) + (sum >> 16);
		f[24] = (uint8_t)(~sum >> 8);
		f[25] = (uint8_t)~sum;
	}
	icrc = unic_icrc(f, seen_len - 4);
	memcpy(f + seen_len - 4, &icrc, 4);
	mb.mem[0] = 0xee;
	fake_deliver(&rb.port, f, seen_len, 0);
	rig_poll(&rb);
	assert_int_equal(mb.mem[0], 0xee);
	assert_int_equal(rb.nic.counter[why], before + 1);
	assert_int_equal(rb.nic.qps.qp[qb.qpn & 0xff].state, UNIC_QPS_RTS);
}

static void each_field(void **state)
{
	(void)state;
	write_one(7);
	refused(0, 1, UNIC_C_rx_not_ours);   /* another MAC */
	refused(12, 1, UNIC_C_rx_not_ours);  /* another ethertype */
	refused(14, 0x10, UNIC_C_rx_bad_ip); /* IPv5 */
	refused(14, 1, UNIC_C_rx_bad_ip);    /* options */
	refused(16, 0x10, UNIC_C_rx_short);  /* longer than the frame */
	refused(17, 4, UNIC_C_rx_bad_ip);    /* not the length in UDP */
	refused(20, 0x20, UNIC_C_rx_bad_ip); /* a fragment */
	refused(21, 1, UNIC_C_rx_bad_ip);
	refused(23, 1, UNIC_C_rx_not_ours);	 /* not UDP */
	refused(24, 1, UNIC_C_rx_bad_ip);	 /* checksum */
	refused(29, 8, UNIC_C_rx_no_qp);	 /* sender is not the peer */
	refused(33, 8, UNIC_C_rx_not_ours);	 /* for another host */
	refused(37, 1, UNIC_C_rx_not_ours);	 /* another port */
	refused(39, 4, UNIC_C_rx_bad_ip);	 /* UDP length */
	refused(43, 1, UNIC_C_rx_bad_opcode);	 /* BTH version */
	refused(45, 2, UNIC_C_rx_bad_opcode);	 /* partition */
	refused(42, 0x80, UNIC_C_rx_bad_opcode); /* opcode 0x8a: no service */
	refused(47, 1, UNIC_C_rx_no_qp);	 /* QP number: generation */
	refused(49, 1, UNIC_C_rx_no_qp);	 /* QP number: index */
	refused(53, 1, UNIC_C_rx_out_of_seq);
}

/* ---------------------------------------------- requests with wrong headers */

#define OFF_OPCODE   42u
#define OFF_PSN	     51u
#define OFF_SRC	     26u
#define OFF_RETH_LEN 66u

/* The packets of one message, as sent. */
static struct {
	uint8_t bytes[2 + FAKE_FRAME_BYTES] __attribute__((aligned(4)));
	uint32_t len;
} packet[4];
static uint32_t packets;

static void keep_all(struct unic_port *port, const uint8_t *f, uint32_t len,
		     uint32_t flags)
{
	(void)port;
	(void)flags;
	memcpy(packet[packets].bytes + 2, f, len);
	packet[packets++].len = len;
}

/* Captures the packets of a WRITE of @len bytes; the receiver is new, and its
 * memory is 0xee. */
static void capture(uint32_t len)
{
	up(NULL);
	packets = 0;
	memset(mb.mem, 0xee, 4096);
	ra.port.on_frame = keep_all;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, len, mb.iova, mb.stag);
	rig_poll(&ra);
	ra.port.on_frame = NULL;
}

static void put(uint32_t i, uint32_t off, uint32_t bytes, uint32_t v)
{
	while (bytes--) {
		packet[i].bytes[2 + off + bytes] = (uint8_t)v;
		v >>= 8;
	}
}

/* Delivers packet @i with a right ICRC. */
static void arrive(uint32_t i)
{
	uint8_t *f = packet[i].bytes + 2;
	uint32_t icrc = unic_icrc(f, packet[i].len - 4);

	memcpy(f + packet[i].len - 4, &icrc, 4);
	fake_deliver(&rb.port, f, packet[i].len, 0);
	rig_poll(&rb);
}

static void untouched_from(uint32_t off)
{
	for (; off < 4096; off++)
		assert_int_equal(mb.mem[off], 0xee);
}

static void died(uint32_t placed)
{
	assert_int_equal(rb.nic.qps.qp[qb.qpn & 0xff].state, UNIC_QPS_ERR);
	untouched_from(placed);
}

static void one_packet_lies(void **state)
{
	static const uint32_t reth_len[] = { 0, 6, 8, 1024, 0x40000001u };
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(reth_len) / sizeof(reth_len[0]); i++) {
		capture(7);
		put(0, OFF_RETH_LEN, 4, reth_len[i]);
		arrive(0);
		died(0);
		assert_int_equal(rig_count(&rb, rx_bad_opcode), 1);
	}
	capture(7); /* the QP grants no remote write */
	rb.nic.qps.qp[qb.qpn & 0xff].rights = UNIC_MR_REMOTE_READ;
	arrive(0);
	died(0);
	capture(7); /* another sender, with the same IPv4 checksum */
	put(0, OFF_SRC, 4, 0x0a010000);
	arrive(0);
	untouched_from(0);
	assert_int_equal(rig_count(&rb, rx_no_qp), 1);
	capture(7); /* twice: the second is a duplicate */
	arrive(0);
	memset(mb.mem, 0xee, 4096);
	arrive(0);
	untouched_from(0);
	assert_int_equal(rig_count(&rb, rx_duplicate), 1);
}

static void long_message_lies(void **state)
{
	static const uint32_t reth_len[] = { 0, 1000, 1024, 0x40000001u };
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(reth_len) / sizeof(reth_len[0]); i++) {
		capture(2500);
		assert_int_equal(packets, 3);
		put(0, OFF_RETH_LEN, 4, reth_len[i]);
		arrive(0);
		died(0);
	}
	capture(2500); /* the last packet comes too early */
	arrive(0);
	put(2, OFF_PSN, 3, 0x1001);
	arrive(2);
	died(1024);
	capture(2500); /* a middle packet has the last announced bytes */
	put(0, OFF_RETH_LEN, 4, 2048);
	arrive(0);
	arrive(1);
	died(1024);
	capture(2500); /* a last packet of more than was announced */
	put(0, OFF_RETH_LEN, 4, 2049);
	arrive(0);
	arrive(1);
	arrive(2);
	died(2048);
	capture(2500); /* another middle packet instead of the last */
	arrive(0);
	arrive(1);
	put(1, OFF_PSN, 3, 0x1002);
	arrive(1);
	died(2048);
	capture(2500); /* another message begins within it */
	arrive(0);
	put(0, OFF_PSN, 3, 0x1001);
	arrive(0);
	died(1024);
	capture(2500); /* a middle packet without a first one */
	put(1, OFF_PSN, 3, 0x1000);
	arrive(1);
	died(0);
}

/* Removes the last @n bytes of payload of packet @i, or adds -@n bytes: all
 * lengths and sums of its headers agree. */
static void shorten(uint32_t i, int32_t n)
{
	const uint8_t *f = packet[i].bytes + 2;
	uint32_t sum = 0, k;

	packet[i].len -= (uint32_t)n;
	put(i, 16, 2, packet[i].len - 14);
	put(i, 38, 2, packet[i].len - 34);
	put(i, 24, 2, 0);
	for (k = 14; k < 34; k += 2)
		sum += (uint32_t)f[k] << 8 | f[k + 1];
	put(i, 24, 2, ~((sum & 0xffff) + (sum >> 16)) & 0xffff);
}

/* A frame with more bytes than payload and padding is dropped: by its IP length
 * if that is no multiple of four, otherwise by its RETH. */
static void odd_lengths(void **state)
{
	int32_t n;

	(void)state;
	for (n = 1; n <= 5; n++) {
		capture(8);
		shorten(0, -n);
		arrive(0);
		untouched_from(0);
		assert_int_equal(rig_count(&rb, rx_bad_ip), n != 4);
		assert_int_equal(rig_count(&rb, rx_bad_opcode), n == 4);
	}
}

/* A packet of a message, except the last, that is shorter than the path MTU is
 * an error, as is a last packet without all of the rest. */
static void short_within_a_message(void **state)
{
	(void)state;
	capture(2500);
	shorten(0, 8);
	arrive(0);
	died(0);
	capture(2500);
	arrive(0);
	shorten(1, 8);
	arrive(1);
	died(1024);
	capture(2500); /* a last packet without all of the rest */
	arrive(0);
	arrive(1);
	shorten(2, 8);
	arrive(2);
	died(2048);
}

/* Captures the packets of a tagged message of @len bytes, for a token that
 * takes it. */
static void capture_tagged(uint32_t len)
{
	struct unic_cmd_token_alloc cmd = { .length = unic_to_le32(4096) };
	struct unic_cpl_token cpl;

	up(NULL);
	cmd.pd = unic_to_le32(qb.pd);
	cmd.stag = unic_to_le32(mb.stag);
	cmd.iova = unic_to_le64(mb.iova);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl), 0);
	packets = 0;
	memset(mb.mem, 0xee, 4096);
	rig_recv(&rb, &qb, 1, &mb, 4000, 64);
	rig_poll(&rb);
	ra.port.on_frame = keep_all;
	rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ma, 0, len,
		 unic_from_le64(cpl.key), unic_from_le32(cpl.index));
	rig_poll(&ra);
	ra.port.on_frame = NULL;
	assert_int_equal(packets, 3);
}

static void tagged_message_lies(void **state)
{
	uint32_t i;

	(void)state;
	capture_tagged(2500); /* the unchanged message is taken */
	for (i = 0; i < 3; i++)
		arrive(i);
	assert_int_equal(rb.nic.qps.qp[qb.qpn & 0xff].state, UNIC_QPS_RTS);
	assert_int_equal(rig_count(&rb, tokens_used), 1);
	assert_memory_equal(mb.mem, ma.mem, 2500);
	untouched_from(2500);
	capture_tagged(2500); /* the last packet comes too early */
	arrive(0);
	put(2, OFF_PSN, 3, 0x1001);
	arrive(2);
	died(1024);
	capture_tagged(2500); /* the middle packet comes twice */
	arrive(0);
	arrive(1);
	put(1, OFF_PSN, 3, 0x1002);
	arrive(1);
	died(2048);
	capture_tagged(2500); /* the message goes on as a WRITE */
	arrive(0);
	put(1, OFF_OPCODE, 1, UNIC_OP_WRITE_MIDDLE);
	arrive(1);
	died(1024);
	capture_tagged(2500); /* a middle packet without a first one */
	put(1, OFF_PSN, 3, 0x1000);
	arrive(1);
	died(0);
	assert_int_equal(rig_count(&rb, tokens_used), 0);
}

/* Offsets of the fields in the header of a tagged message. */
#define OFF_INDEX   54u
#define OFF_KEY	    58u
#define OFF_PAYLOAD 66u
#define OFF_CTRL    70u
#define OFF_OFFSET  74u

/* A header with sizes out of range, or other than those of the frame, is
 * refused: no byte is placed, and the token stays unused. */
static void tagged_sizes_lie(void **state)
{
	static const struct {
		uint32_t off, value;
	} lies[] = {
		{ OFF_PAYLOAD, 0 },
		{ OFF_PAYLOAD, 1 },
		{ OFF_PAYLOAD, 996 }, /* all of it would be in this packet */
		{ OFF_PAYLOAD, UNIC_MSG_MAX + 1 },
		{ OFF_PAYLOAD, 0x80000000 },
		{ OFF_PAYLOAD, UINT32_MAX },
		{ OFF_CTRL, UNIC_TOKEN_CTRL_MAX + 1 },
		{ OFF_CTRL, 1025 },
		{ OFF_CTRL, 0x80000000 },
		{ OFF_CTRL, UINT32_MAX },
		{ OFF_OFFSET, UNIC_MSG_MAX + 1 },
		{ OFF_OFFSET, 0x80000000 },
		{ OFF_OFFSET, UINT32_MAX },
	};
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		capture_tagged(2500);
		put(0, lies[i].off, 4, lies[i].value);
		arrive(0);
		died(0);
		assert_int_equal(rb.nic.tokens.used, 1);
		assert_int_equal(rig_count(&rb, rx_bad_opcode), 1);
	}
}

/* Forged tagged messages have no effect on the connection, place nothing, and
 * leave the token to its owner. */
static void tagged_message_forged(void **state)
{
	static const struct {
		uint32_t off, xor, reason;
	} lies[] = {
		{ OFF_INDEX, 1, UNIC_TOKEN_BAD_KEY },
		{ OFF_INDEX, 0x80000000, UNIC_TOKEN_BAD_KEY },
		{ OFF_INDEX, UNIC_TOKENS, UNIC_TOKEN_BAD_KEY },
		{ OFF_KEY, 0x80000000, UNIC_TOKEN_BAD_KEY },
		{ OFF_KEY, 1, UNIC_TOKEN_BAD_KEY },
		{ OFF_KEY + 4, 0x80000000, UNIC_TOKEN_BAD_KEY },
		{ OFF_KEY + 4, 1, UNIC_TOKEN_BAD_KEY },
		/* the offset: over the end of the token's 4,096 bytes */
		{ OFF_OFFSET, 4096 - 2500 + 1, UNIC_TOKEN_TOO_LONG },
		{ OFF_OFFSET, UNIC_MSG_MAX, UNIC_TOKEN_TOO_LONG },
	};
	const uint8_t *at;
	uint32_t i, k, was;

	(void)state;
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		capture_tagged(2500);
		at = packet[0].bytes + 2 + lies[i].off;
		was = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
		      (uint32_t)at[2] << 8 | at[3];
		put(0, lies[i].off, 4, was ^ lies[i].xor);
		for (k = 0; k < 3; k++)
			arrive(k);
		untouched_from(0);
		assert_int_equal(rb.nic.qps.qp[qb.qpn & 0xff].state,
				 UNIC_QPS_RTS);
		assert_int_equal(rb.nic.tokens.used, 1);
		assert_int_equal(rig_count(&rb, tokens_used), 0);
		assert_int_equal(rig_count(&rb, token_bad_key),
				 lies[i].reason == UNIC_TOKEN_BAD_KEY);
		assert_int_equal(rig_count(&rb, token_too_long),
				 lies[i].reason == UNIC_TOKEN_TOO_LONG);
		/* the correct message is taken */
		rig_recv(&rb, &qb, 2, &mb, 4000, 64);
		put(0, lies[i].off, 4, was);
		for (k = 0; k < 3; k++) {
			put(k, OFF_PSN, 3, 0x1003 + k);
			arrive(k);
		}
		assert_int_equal(rig_count(&rb, tokens_used), 1);
		assert_memory_equal(mb.mem, ma.mem, 2500);
	}
}

/* A tagged message that is replayed places no byte: with its old PSNs it is a
 * duplicate, with new ones its token is used. */
static void tagged_message_replayed(void **state)
{
	uint32_t i;

	(void)state;
	capture_tagged(2500);
	for (i = 0; i < 3; i++)
		arrive(i);
	assert_memory_equal(mb.mem, ma.mem, 2500);
	memset(mb.mem, 0xee, 4096);
	for (i = 0; i < 3; i++)
		arrive(i);
	untouched_from(0);
	assert_int_equal(rig_count(&rb, rx_duplicate), 3);
	rig_recv(&rb, &qb, 2, &mb, 4000, 64);
	for (i = 0; i < 3; i++) {
		put(i, OFF_PSN, 3, 0x1003 + i);
		arrive(i);
	}
	untouched_from(0);
	assert_int_equal(rig_count(&rb, tokens_used), 1);
	assert_int_equal(rig_count(&rb, token_ended_used), 1);
	assert_int_equal(rb.nic.qps.qp[qb.qpn & 0xff].state, UNIC_QPS_RTS);
}

/* Each packet of a tagged message is cut to several lengths, with sums and
 * lengths that agree: the message is refused. */
static void tagged_message_truncated(void **state)
{
	static const uint32_t step[] = { 4, 24, 28, 900, 1020, 1024, 1044 };
	uint32_t i, k, n;

	(void)state;
	for (i = 0; i < 3; i++)
		for (k = 0; k < sizeof(step) / sizeof(step[0]); k++) {
			capture_tagged(2500);
			for (n = 0; n < i; n++)
				arrive(n);
			if (step[k] + 58 > packet[i].len)
				continue;
			shorten(i, (int32_t)step[k]);
			arrive(i);
			died(1024 * i);
			assert_int_equal(rig_count(&rb, tokens_used), 0);
			assert_int_equal(rig_count(&rb, tokens_aborted), !!i);
			assert_int_equal(rb.nic.tokens.used, !i);
		}
}

static void only_within_a_message(void **state)
{
	(void)state;
	capture(2500);
	arrive(0);
	/* a WRITE of one packet within the message, with the PSN expected */
	put(0, OFF_OPCODE, 1, UNIC_OP_WRITE_ONLY);
	put(0, OFF_PSN, 3, 0x1001);
	put(0, OFF_RETH_LEN, 4, 1024);
	put(0, 58, 4, (uint32_t)mb.iova + 2048);
	arrive(0);
	died(1024);
}

/* An acknowledgement of some requests restarts the timer of the others. */
static void timer_starts_again(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	packets = 0;
	ra.port.on_frame = keep_all;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, mb.iova, mb.stag);
	rig_poll(&ra);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 8, mb.iova, mb.stag);
	rig_poll(&ra);
	assert_int_equal(packets, 2);
	rig_run(&ra, 4 * MS); /* of a time-out of 4.19 ms */
	arrive(0);
	rig_run(&ra, 4 * MS);
	assert_int_equal(rig_count(&ra, timeouts), 0);
	assert_true(rig_cqe(&ra, &qa, &cqe) && !cqe.status);
	rig_run(&ra, MS);
	assert_int_equal(rig_count(&ra, timeouts), 1);
	arrive(1);
	rig_poll(&ra);
	assert_true(rig_cqe(&ra, &qa, &cqe) && !cqe.status);
}

/* A queue pair takes packets of its peer from RTR on, until it fails. */
static void states_that_listen(void **state)
{
	struct unic_cmd_qp_modify cmd = { .state = UNIC_QPS_ERR };
	uint32_t len;

	(void)state;
	for (len = 8; len <= 1000; len += 992) {
		capture(len);
		rb.nic.qps.qp[qb.qpn & 0xff].state = UNIC_QPS_RTR;
		arrive(0);
		assert_memory_equal(mb.mem, ma.mem, len);
		capture(len);
		rb.nic.qps.qp[qb.qpn & 0xff].state = UNIC_QPS_INIT;
		arrive(0);
		untouched_from(0);
		assert_int_equal(rig_count(&rb, rx_no_qp), 1);
		capture(len);
		cmd.qpn = unic_to_le32(qb.qpn);
		assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &cmd, NULL),
				 0);
		arrive(0);
		untouched_from(0);
		assert_int_equal(rig_count(&rb, rx_no_qp), 1);
	}
}

static void datagrams(void **state)
{
	struct unic_cmd_mad_send cmd = { .ipv4 = unic_to_le32(0x0a000002) };
	const struct unic_mad_rx *rx =
		(const void *)(rb.port.bar + UNIC_BAR_MAD_RX_OFF);
	uint8_t data[256];
	uint64_t sent;
	uint32_t i;

	(void)state;
	for (i = 0; i < 256; i++)
		data[i] = (uint8_t)(255 - i);
	memcpy(cmd.mac, rb.port.mac, 6);
	sent = rig_count(&ra, tx_frames);
	assert_int_equal(unic_mad_send(&ra.nic.transport, &cmd, data), 0);
	rig_run2(&ra, &rb, MS);
	assert_int_equal(rig_count(&ra, tx_frames), sent + 1);
	assert_int_equal(rig_count(&rb, mad_rx), 1);
	assert_memory_equal(rx->data, data, 256);
	assert_memory_equal(rx->mac, ra.port.mac, 6);
	assert_int_equal(unic_from_le32(rx->ipv4), 0x0a000001);
	assert_int_equal(unic_from_le32(rx->qpn), 1);
	cmd.ipv4 = 0;
	assert_int_equal(unic_mad_send(&ra.nic.transport, &cmd, data),
			 -UNIC_EINVAL);
}

/* FAULT: the next n frames are lost and counted. */
static void fault(void **state)
{
	(void)state;
	rb.nic.rx_fault = 2;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 7, mb.iova, mb.stag);
	rig_run2(&ra, &rb, 40 * MS);
	assert_int_equal(rig_count(&rb, rx_fault_dropped), 2);
	assert_memory_equal(mb.mem, "payload", 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(layout, up),
		cmocka_unit_test_setup(each_field, up),
		cmocka_unit_test(one_packet_lies),
		cmocka_unit_test(long_message_lies),
		cmocka_unit_test(odd_lengths),
		cmocka_unit_test(short_within_a_message),
		cmocka_unit_test(tagged_message_lies),
		cmocka_unit_test(tagged_sizes_lie),
		cmocka_unit_test(tagged_message_forged),
		cmocka_unit_test(tagged_message_replayed),
		cmocka_unit_test(tagged_message_truncated),
		cmocka_unit_test(only_within_a_message),
		cmocka_unit_test_setup(timer_starts_again, up),
		cmocka_unit_test(states_that_listen),
		cmocka_unit_test_setup(datagrams, up),
		cmocka_unit_test_setup(fault, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
