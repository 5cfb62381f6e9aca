/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_switch.c - the switch between NICs: how it forwards, when it forgets an
 * address, and that frames which it delays or queues are not lost. The test
 * sets the time; functions below replace the link, socket pairs the sockets.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "icrc.h"
#include "switch.h"

#define MS  1000000ull
#define S   (1000 * MS)
#define ALL 0xff /* the broadcast address */

static struct wire_switch sw;
static struct frame in[8]; /* from the link, oldest first */
static uint32_t n_in;
static struct {
	int port;
	uint32_t psn;
} out[4096]; /* to the link, oldest first */
static uint32_t n_out;

/* ----------------------------------------- functions that the switch calls */

bool link_side_there(const struct link_side *ls, int port)
{
	(void)ls;
	return port >= 1 && port <= 3;
}

bool link_side_receive(struct link_side *ls, struct frame *f)
{
	(void)ls;
	if (!n_in)
		return false;
	*f = in[0];
	memmove(in, in + 1, --n_in * sizeof(in[0]));
	return true;
}

static uint32_t psn_of(const struct frame *f)
{
	return (uint32_t)f->data[14] << 8 | f->data[15];
}

bool link_side_send(struct link_side *ls, int port, struct frame *f)
{
	(void)ls;
	assert_true(n_out < sizeof(out) / sizeof(out[0]));
	out[n_out].port = port;
	out[n_out++].psn = psn_of(f);
	return true;
}

void capture_frame(struct capture *c, struct frame *f)
{
	(void)f;
	c->frames++;
}

void icrc_finish(struct frame *f)
{
	f->no_icrc = false;
}

bool icrc_covers(const uint8_t *frame, uint32_t len)
{
	(void)frame;
	return len > 20;
}

int run_dir_listen(struct run_dir *rd, const char *name, int type)
{
	(void)rd;
	(void)name;
	(void)type;
	return -ENOSYS;
}

int run_dir_reserve(struct run_dir *rd, const char *name,
		    char path[RUN_DIR_PATH])
{
	(void)rd;
	(void)name;
	(void)path;
	return -ENOSYS;
}

int run_dir_peer(int fd)
{
	(void)fd;
	return 0;
}

/* ---------------------------------------------------------------- the rig */

static int up(void **state)
{
	int p;

	(void)state;
	memset(&sw, 0, sizeof(sw));
	for (p = 0; p < WIRE_PORTS; p++)
		faults_init(&sw.faults[p], 1, p);
	sw.macs.age_ns = 300 * S;
	n_in = n_out = 0;
	return 0;
}

static int down(void **state)
{
	int p;

	(void)state;
	for (p = 0; p < WIRE_PORTS; p++)
		faults_fini(&sw.faults[p]);
	for (p = 0; p < sw.socks; p++)
		close(sw.sock[p].fd);
	return 0;
}

static struct frame frame_of(int from, uint8_t src, uint8_t dst, uint32_t psn)
{
	struct frame f = { .from = from, .len = 60 };

	memset(f.data, dst == ALL ? 0xff : 0, 6);
	f.data[0] |= 2;
	f.data[5] = dst;
	f.data[6] = 2;
	f.data[11] = src;
	f.data[14] = (uint8_t)(psn >> 8);
	f.data[15] = (uint8_t)psn;
	return f;
}

/* Station @src, at @port, sends a frame to @dst at @now. */
static void sends(int port, uint8_t src, uint8_t dst, uint32_t psn,
		  uint64_t now)
{
	in[n_in++] = frame_of(port, src, dst, psn);
	assert_int_equal(switch_link(&sw, 8, now), 1);
}

/* The next frame out must be @psn, at @port. */
static void came(int port, uint32_t psn)
{
	assert_true(n_out > 0);
	assert_int_equal(out[0].port, port);
	assert_int_equal(out[0].psn, psn);
	memmove(out, out + 1, --n_out * sizeof(out[0]));
}

/* As came(), and it must be the last frame out. */
static void came_to(int port, uint32_t psn)
{
	came(port, psn);
	assert_int_equal(n_out, 0);
}

/* ------------------------------------------------------------------ addresses */

static void goes_where_it_was_heard(void **state)
{
	(void)state;
	sends(1, 11, 22, 1, 0); /* unknown: to all other ports */
	came(2, 1);
	came_to(3, 1);
	sends(2, 22, 11, 2, 1);
	came_to(1, 2);
	sends(1, 11, 22, 3, 2);
	came_to(2, 3);
	sends(1, 11, 11, 4, 2); /* to itself: dropped */
	sends(1, 12, 11, 5, 2); /* to a station at the same port: dropped */
	assert_int_equal(n_out, 0);
	sends(3, 33, ALL, 6, 2);
	came(1, 6);
	came_to(2, 6);
	assert_int_equal(sw.flooded, 2);
}

/* An address is known for age_ns after its last frame, and no longer. */
static void addresses_age(void **state)
{
	(void)state;
	sends(2, 22, 11, 1, 5 * S);
	n_out = 0;
	sends(1, 11, 22, 2, 305 * S - 1);
	came_to(2, 2);
	sends(1, 11, 22, 3, 305 * S);
	came(2, 3);
	came_to(3, 3);
	/* a station that sends again is known for all of age_ns again */
	sends(2, 22, 11, 4, 305 * S);
	came_to(1, 4);
	sends(2, 22, 11, 5, 600 * S);
	came_to(1, 5);
	sends(1, 11, 22, 6, 900 * S - 1);
	came_to(2, 6);
	sends(1, 11, 22, 7, 900 * S);
	came(2, 7);
	came_to(3, 7);
	assert_int_equal(sw.flooded, 3);
}

/* A station that moves is at its new port from its first frame there on. */
static void stations_move(void **state)
{
	(void)state;
	sends(2, 22, ALL, 1, 0);
	n_out = 0;
	sends(3, 22, ALL, 2, 1);
	n_out = 0;
	sends(1, 11, 22, 3, 2);
	came_to(3, 3);
	mac_table_forget(&sw.macs, 3);
	sends(1, 11, 22, 4, 3);
	came(2, 4);
	came_to(3, 4);
	/* no station of another port was forgotten */
	sends(2, 23, 11, 5, 4);
	came_to(1, 5);
}

/* A group address is not learned from the source of a frame. */
static void groups_are_nobodys(void **state)
{
	uint32_t i;

	(void)state;
	in[n_in++] = frame_of(2, 22, 11, 1);
	memset(in[0].data + 6, 0xff, 6);
	assert_int_equal(switch_link(&sw, 8, 0), 1);
	n_out = 0;
	sends(1, 11, ALL, 2, 1);
	came(2, 2);
	came_to(3, 2);
	for (i = 0; i < MAC_TABLE_ENTRIES; i++) /* nor does it take a place */
		assert_false(sw.macs.entry[i].mac[0] & 1);
}

/* In a bucket of four stations, a fifth replaces the one that was silent for
 * longest. */
static void the_silent_give_way(void **state)
{
	struct mac_table t = { .age_ns = 300 * S };
	uint8_t mac[6] = { 2 }, bucket[64][6];
	uint32_t i, n = 0;

	(void)state;
	/* 300 stations for 256 places: some are forgotten, the others are not */
	for (i = 0; i < 300; i++) {
		mac[4] = (uint8_t)(i >> 8);
		mac[5] = (uint8_t)i;
		mac_table_learn(&t, mac, 1, i);
		assert_int_equal(mac_table_find(&t, mac, i), 1);
	}
	/* six stations of one bucket: the oldest entry is replaced */
	for (i = 0; i < 100000 && n < 6; i++) {
		struct mac_table one = { .age_ns = 300 * S };

		mac[3] = (uint8_t)(i >> 16);
		mac[4] = (uint8_t)(i >> 8);
		mac[5] = (uint8_t)i;
		mac_table_learn(&one, mac, 1, 0);
		if (one.entry[0].port || one.entry[1].port ||
		    one.entry[2].port || one.entry[3].port)
			memcpy(bucket[n++], mac, 6);
	}
	assert_int_equal(n, 6);
	memset(&t, 0, sizeof(t));
	t.age_ns = 300 * S;
	for (i = 0; i < 4; i++)
		mac_table_learn(&t, bucket[i], 1, 10 + i);
	mac_table_learn(&t, bucket[0], 2, 20); /* heard again */
	mac_table_learn(&t, bucket[4], 3, 21); /* replaces bucket[1] */
	assert_int_equal(mac_table_find(&t, bucket[1], 22), 0);
	assert_int_equal(mac_table_find(&t, bucket[0], 22), 2);
	assert_int_equal(mac_table_find(&t, bucket[2], 22), 1);
	assert_int_equal(mac_table_find(&t, bucket[3], 22), 1);
	assert_int_equal(mac_table_find(&t, bucket[4], 22), 3);
	mac_table_learn(&t, bucket[5], 3, 23); /* replaces bucket[2] */
	assert_int_equal(mac_table_find(&t, bucket[2], 24), 0);
	assert_int_equal(mac_table_find(&t, bucket[0], 24), 2);
}

/* --------------------------------------------------------------- held frames */

/* Sends all frames that are due until @now. Returns when the next is due. */
static uint64_t until(uint64_t now)
{
	uint64_t due;

	while ((due = switch_due(&sw, 0)) <= now)
		assert_true(switch_delayed(&sw, due) > 0);
	return due;
}

/* A frame that is held back for the next one goes without one after
 * FAULTS_HOLD_NS; switch_due() returns this time. */
static void held_frame_goes_by_itself(void **state)
{
	(void)state;
	sw.faults[1].rates.reorder = UINT32_MAX;
	assert_true(switch_due(&sw, 0) == UINT64_MAX);
	sends(1, 11, ALL, 1, 5 * MS);
	assert_int_equal(n_out, 0);
	assert_true(switch_due(&sw, 0) == 5 * MS + FAULTS_HOLD_NS);
	assert_int_equal(switch_delayed(&sw, 5 * MS + FAULTS_HOLD_NS - 1), 0);
	assert_int_equal(switch_delayed(&sw, 5 * MS + FAULTS_HOLD_NS), 1);
	came(2, 1);
	came_to(3, 1);
	assert_true(switch_due(&sw, 0) == UINT64_MAX);
	assert_int_equal(sw.faults[1].count.reordered, 1);
}

/* A held frame goes behind the next frame of its direction; one frame is held
 * at a time. */
static void held_frame_is_overtaken(void **state)
{
	(void)state;
	sw.faults[1].rates.reorder = UINT32_MAX;
	sends(1, 11, ALL, 1, 0);
	sends(1, 11, ALL, 2, 10);
	sends(1, 11, ALL, 3, 20);
	sends(2, 22, 11, 4, 30); /* another direction: not held */
	came_to(1, 4);
	assert_true(until(30) == 20 + FAULTS_HOLD_NS);
	came(2, 2);
	came(3, 2);
	came(2, 1);
	came_to(3, 1);
	assert_true(until(2 * MS) == UINT64_MAX);
	came(2, 3);
	came_to(3, 3);
	assert_int_equal(sw.faults[1].count.reordered, 2);
}

/* Delayed frames come in order, each at its time, and none is lost. */
static void delayed_frames_come_in_order(void **state)
{
	uint32_t i, k;

	(void)state;
	sends(2, 22, 11, 0, 0);
	n_out = 0;
	sw.faults[1].rates.delay_us = 100;
	for (k = 0; k < 3; k++) { /* the queue is emptied, and used again */
		uint64_t t = k * S;

		for (i = 1; i <= 10; i++)
			sends(1, 11, 22, i, t + i * 1000);
		assert_true(until(t + 100999) == t + 101000);
		assert_int_equal(n_out, 0);
		assert_true(until(t + 105999) == t + 106000);
		for (i = 1; i <= 5; i++)
			came(2, i);
		assert_int_equal(n_out, 0);
		assert_true(until(t + MS) == UINT64_MAX);
		for (; i <= 10; i++)
			came(2, i);
		assert_int_equal(n_out, 0);
		assert_int_equal(sw.faults[1].queued, 0);
	}
}

/* A delay queue has FAULTS_QUEUE places; a frame without a place is dropped and
 * counted. All places can be used again. */
static void delay_has_an_end(void **state)
{
	uint32_t i, k;

	(void)state;
	sends(2, 22, 11, 0, 0);
	sw.faults[1].rates.delay_us = 100;
	for (k = 1; k < 3; k++) {
		n_out = 0;
		for (i = 0; i < FAULTS_QUEUE + 3; i++)
			sends(1, 11, 22, i, k * S);
		assert_int_equal(sw.faults[1].count.overflowed, 3 * k);
		assert_true(until(k * S + MS) == UINT64_MAX);
		assert_int_equal(n_out, FAULTS_QUEUE);
		assert_int_equal(out[0].psn, 0);
		assert_int_equal(out[FAULTS_QUEUE - 1].psn, FAULTS_QUEUE - 1);
	}
}

/* A duplicated frame comes twice in a row; a lost one does not come. */
static void twice_and_never(void **state)
{
	(void)state;
	sends(2, 22, 11, 0, 0);
	n_out = 0;
	sw.faults[1].rates.dup = UINT32_MAX;
	sends(1, 11, 22, 1, 0);
	assert_true(until(0) == UINT64_MAX);
	came(2, 1);
	came_to(2, 1);
	sw.faults[1].rates.loss = UINT32_MAX;
	sends(1, 11, 22, 2, 0);
	assert_true(until(S) == UINT64_MAX);
	assert_int_equal(n_out, 0);
	assert_int_equal(sw.faults[1].count.duplicated, 1);
	assert_int_equal(sw.faults[1].count.lost, 1);
}

/* ------------------------------------------------------------------- sockets */

/* Adds a stream port. Returns the other end of its socket, for the test. */
static int stream(bool lan)
{
	struct socket_port *sp = &sw.sock[sw.socks++];
	int fd[2], bytes = 4096;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &bytes,
				    sizeof(bytes)),
			 0);
	memset(sp, 0, sizeof(*sp));
	sp->fd = fd[0];
	sp->listen_fd = -1;
	sp->stream = true;
	sp->lan = lan;
	return fd[1];
}

/* Reads the next frame from @fd. Returns its number. */
static uint32_t read_one(int fd)
{
	uint8_t buf[4 + 60];

	assert_int_equal(recv(fd, buf, sizeof(buf), MSG_WAITALL), sizeof(buf));
	assert_int_equal(buf[2] << 8 | buf[3], 60);
	return (uint32_t)buf[4 + 14] << 8 | buf[4 + 15];
}

static bool has_more(int fd)
{
	uint8_t byte;

	return recv(fd, &byte, 1, MSG_PEEK) == 1;
}

/* Frames that a stream does not take are queued, whole and in order, and sent
 * later; beyond the room of the queue, frames are dropped and counted. */
static void slow_stream_loses_nothing_that_waits(void **state)
{
	uint32_t i, sent, next = 0;
	uint64_t now = 0, due;
	int fd = stream(false);

	(void)state;
	for (i = 0; !sw.count[8].tx_dropped; i++, n_out = 0)
		sends(1, 11, ALL, i, now);
	sent = i - 1;
	assert_int_equal(sw.count[8].tx_frames, sent);
	assert_true(sent >= SOCKET_PORT_QUEUE / 64);
	while ((due = switch_due(&sw, now)) != UINT64_MAX) {
		assert_true(due > now && due <= now + MS);
		while (has_more(fd))
			assert_int_equal(read_one(fd), next++);
		assert_true(now < 10 * S);
		now = due;
		(void)switch_delayed(&sw, now);
	}
	while (has_more(fd))
		assert_int_equal(read_one(fd), next++);
	assert_int_equal(next, sent);
	n_out = 0;
	sends(1, 11, ALL, 77, now); /* the queue is empty again */
	assert_int_equal(read_one(fd), 77);
	close(fd);
}

/* A device gets frames at the pace of its line: 80 ns for each byte. */
static void paced_stream_has_a_line(void **state)
{
	uint64_t now = S, due;
	uint32_t i, next = 0;
	int fd = stream(true);

	(void)state;
	for (i = 0; i < 10; i++)
		sends(1, 11, ALL, i, now);
	for (i = 0; i < 10; i++) {
		due = switch_due(&sw, now);
		assert_true(due != UINT64_MAX);
		if (i) {
			assert_true(due == now + (4 + 60 + 20) * 80);
			(void)switch_delayed(&sw, due - 1);
			assert_false(has_more(fd));
			now = due;
		}
		(void)switch_delayed(&sw, now);
		assert_int_equal(read_one(fd), next++);
		assert_false(has_more(fd));
	}
	assert_true(switch_due(&sw, now) == UINT64_MAX);
	close(fd);
}

/* A long frame is sent in parts, as the socket takes them; the pace does not
 * delay its later parts. Whole frames arrive, in order. */
static void paced_stream_goes_in_parts(void **state)
{
	static uint8_t got[8 * 10004];
	uint64_t now = S, due;
	uint32_t i, n = 0;
	int fd = stream(true);
	ssize_t r;

	(void)state;
	for (i = 0; i < 8; i++) {
		in[n_in] = frame_of(1, 11, ALL, i);
		memset(in[n_in].data + 16, 1, 10000 - 16); /* no valid length */
		in[n_in++].len = 10000;
		assert_int_equal(switch_link(&sw, 8, now), 1);
	}
	for (i = 0; i < 10000; i++) {
		due = switch_due(&sw, now);
		if (due == UINT64_MAX)
			break;
		now = due;
		(void)switch_delayed(&sw, now);
		r = recv(fd, got + n,
			 n + 700 < sizeof(got) ? 700 : sizeof(got) - n, 0);
		n += r > 0 ? (uint32_t)r : 0;
	}
	while ((r = recv(fd, got + n, sizeof(got) - n, 0)) > 0)
		n += (uint32_t)r;
	assert_int_equal(n, sizeof(got));
	for (i = 0; i < 8; i++) {
		const uint8_t *f = got + 10004 * i;

		assert_int_equal(f[2] << 8 | f[3], 10000);
		assert_int_equal(f[4 + 14] << 8 | f[4 + 15], i);
	}
	close(fd);
}

/* The queue of a stream takes whole frames up to SOCKET_PORT_QUEUE bytes. */
static void stream_lags_so_far(void **state)
{
	uint32_t i, len;

	(void)state;
	for (len = 60; len < 66; len++) {
		int fd = stream(true);
		struct socket_port *sp = &sw.sock[sw.socks - 1];

		sp->free_ns = UINT64_MAX; /* its line is busy */
		in[n_in] = frame_of(1, 11, ALL, 0);
		in[n_in++].len = len;
		assert_int_equal(switch_link(&sw, 8, 0), 1);
		for (i = 0; i < SOCKET_PORT_QUEUE / 64; i++, n_out = 0)
			sends(1, 11, ALL, i, 0);
		assert_int_equal(
			sp->out_bytes,
			4 + len +
				(SOCKET_PORT_QUEUE / 64 - (len == 60 ? 1 : 2)) *
					64);
		assert_true(sp->out_bytes <= SOCKET_PORT_QUEUE);
		close(fd);
	}
}

/* A peer that hangs up leaves no part of a frame, in either direction, for the
 * next peer. */
static void next_one_begins_with_a_whole_frame(void **state)
{
	struct socket_port *sp = &sw.sock[0];
	uint8_t half[10] = { 0, 0, 0, 60 };
	int fd = stream(false), pair[2];
	struct frame f = frame_of(0, 44, ALL, 9);
	uint8_t whole[4 + 60] = { 0, 0, 0, 60 };
	uint32_t i;

	(void)state;
	for (i = 0; !sw.count[8].tx_dropped; i++, n_out = 0)
		sends(1, 11, ALL, i, 0);
	assert_int_equal(send(fd, half, sizeof(half), 0), sizeof(half));
	(void)switch_socket(&sw, 0, 8, 0);
	close(fd);
	(void)switch_socket(&sw, 0, 8, 0);
	assert_int_equal(sp->fd, -1);
	assert_true(switch_due(&sw, 0) == UINT64_MAX);
	sends(1, 11, ALL, 1, 0); /* no peer: dropped */
	assert_int_equal(sw.count[8].tx_dropped, 2);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	sp->fd = pair[0];
	sends(1, 11, ALL, 2, 0);
	assert_int_equal(read_one(pair[1]), 2);
	memcpy(whole + 4, f.data, 60);
	n_out = 0;
	for (i = 0; i < sizeof(whole); i++) { /* byte by byte */
		assert_int_equal(n_out, 0);
		assert_int_equal(send(pair[1], whole + i, 1, 0), 1);
		(void)switch_socket(&sw, 0, 8, 0);
	}
	came(1, 9);
	came(2, 9);
	came_to(3, 9);
	assert_int_equal(sw.count[8].rx_bad, 0);
	close(pair[1]);
}

/* A frame that is shorter than two addresses and a type is dropped and counted
 * at its port. */
static void frames_of_each_length(void **state)
{
	struct frame f = frame_of(1, 11, ALL, 0);

	(void)state;
	for (f.len = 1; f.len < 14; f.len++) {
		in[n_in++] = f;
		assert_int_equal(switch_link(&sw, 8, 0), 1);
	}
	assert_int_equal(n_out, 0);
	assert_int_equal(sw.count[1].rx_bad, 13);
	assert_int_equal(sw.count[1].rx_frames, 0);
	in[n_in++] = f;
	assert_int_equal(switch_link(&sw, 8, 0), 1);
	came(2, 0);
	came_to(3, 0);
	assert_int_equal(sw.count[1].rx_bad, 13);
	assert_int_equal(sw.count[1].rx_frames, 1);
	assert_int_equal(sw.count[1].rx_bytes, 14);
	assert_int_equal(sw.count[2].tx_bytes, 14);
}

/* Frames of one socket go to the others, and never back. */
static void sockets_are_ports(void **state)
{
	int a = stream(false), b = stream(false);
	uint8_t whole[4 + 60] = { 0, 0, 0, 60 };
	struct frame f = frame_of(0, 44, ALL, 9);

	(void)state;
	memcpy(whole + 4, f.data, 60);
	assert_int_equal(send(a, whole, sizeof(whole), 0), sizeof(whole));
	assert_int_equal(switch_socket(&sw, 0, 8, 0), 1);
	assert_int_equal(read_one(b), 9);
	assert_false(has_more(a));
	came(1, 9);
	came(2, 9);
	came_to(3, 9);
	sends(1, 11, 44, 10, 1);
	assert_int_equal(read_one(a), 10);
	assert_false(has_more(b));
	assert_int_equal(n_out, 0);
	close(a);
	close(b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

/* Any rate makes faults, and none makes none; frames that wait end with their switch. */
static void each_rate_is_seen(void **state)
{
	struct faults f;
	uint32_t i;

	(void)state;
	for (i = 0; i <= 5; i++) {
		faults_init(&f, 1, 0);
		(&f.rates.loss)[i % 5] = i < 5;
		assert_int_equal(faults_active(&f), i < 5);
		faults_fini(&f);
	}
	for (i = 0; i < 3; i++) {
		struct frame frame = frame_of(0, 11, 22, i);

		sw.faults[0].rates.delay_us = 1000;
		faults_push(&sw.faults[0], &frame, 0);
	}
	assert_int_equal(sw.faults[0].queued, 3);
	faults_fini(&sw.faults[0]);
	assert_int_equal(sw.faults[0].queued, 0);
	assert_true(faults_due(&sw.faults[0]) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_rate_is_seen),
		TEST(goes_where_it_was_heard),
		TEST(addresses_age),
		TEST(stations_move),
		TEST(groups_are_nobodys),
		TEST(the_silent_give_way),
		TEST(held_frame_goes_by_itself),
		TEST(held_frame_is_overtaken),
		TEST(delayed_frames_come_in_order),
		TEST(delay_has_an_end),
		TEST(twice_and_never),
		TEST(slow_stream_loses_nothing_that_waits),
		TEST(paced_stream_has_a_line),
		TEST(paced_stream_goes_in_parts),
		TEST(stream_lags_so_far),
		TEST(next_one_begins_with_a_whole_frame),
		TEST(frames_of_each_length),
		TEST(sockets_are_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
