/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* stream.c - see stream.h. */
#include "stream.h"

#include <string.h>

#define HDR   sizeof(struct unic_serial_hdr)
#define WORDS sizeof(struct unic_serial_words)
/* between two SYN, until the other side answers */
#define SYN_NS 100000000u
/* time for an answer, beyond the time on the line */
#define PATIENCE_NS 100000000u
#define BACKOFF_MAX 5u
#define AGAIN_NS    1000000000u /* longest time until a frame is repeated */

void stream_init(struct stream *s, uint32_t nonce, uint32_t baud,
		 const struct unic_serial_syn *ours)
{
	memset(s, 0, sizeof(*s));
	s->nonce = nonce;
	s->ns_per_byte = (uint32_t)(10000000000ull / baud);
	s->ours = *ours;
	s->ours.magic = unic_to_le16(UNIC_SERIAL_MAGIC);
	s->ours.version = unic_to_le16(UNIC_SERIAL_VERSION);
}

/*
 * How long the other side may take for an acknowledgement. Both windows may be
 * full of the longest frames; and a side that shares its processor may take
 * longer than it did before.
 */
static uint64_t ack_timeout_ns(const struct stream *s)
{
	uint64_t ns = 2ull * UNIC_SERIAL_WINDOW * FRAME_LINE * s->ns_per_byte +
		      PATIENCE_NS + 2000ull * s->trip_us;

	ns <<= s->backoff;
	return ns < AGAIN_NS ? ns : AGAIN_NS;
}

/* Times the trip of frame @seq if it is sent for the first time. */
static void time_frame(struct stream *s, uint8_t seq, uint64_t now_ns)
{
	if (seq != s->fresh)
		return;
	s->fresh++;
	if (s->timing)
		return;
	s->timing = true;
	s->timed = seq;
	s->timed_ns = now_ns;
}

/* All frames before @ack have arrived. Only a frame that was sent once is timed. */
static void time_ack(struct stream *s, uint8_t ack, uint64_t now_ns)
{
	uint64_t us = (now_ns - s->timed_ns) / 1000;

	if (!s->timing || (uint8_t)(ack - s->timed - 1) >= UNIC_SERIAL_WINDOW)
		return;
	s->timing = false;
	if (us > AGAIN_NS / 1000)
		us = AGAIN_NS / 1000;
	s->trip_us = s->trip_us - s->trip_us / 8 + (uint32_t)us / 8;
}

static bool is_syn_due(const struct stream *s, uint64_t now_ns)
{
	return s->syn_due || (!s->up && now_ns >= s->syn_ns);
}

static bool is_retry_due(const struct stream *s, uint64_t now_ns)
{
	return s->una != s->sent && now_ns >= s->again_ns;
}

/* ----------------------------------------------------------------- sending */

void stream_put(struct stream *s, const struct stream_item *item)
{
	s->window[s->next % UNIC_SERIAL_WINDOW] = *item;
	s->next++;
}

bool stream_done(struct stream *s, struct stream_item *item)
{
	if (s->told == s->una)
		return false;
	*item = s->window[s->told % UNIC_SERIAL_WINDOW];
	s->told++;
	return true;
}

/* Builds a frame of @type, whose body of @len bytes is in place. */
static void build_frame(struct stream *s, uint8_t type, uint8_t flags,
			uint8_t seq, uint32_t len)
{
	struct unic_serial_hdr hdr = {
		.type = type,
		.flags = flags | (s->gap_due ? UNIC_SERIAL_F_GAP : 0),
		.seq = seq,
		.ack = s->expect,
		.session = unic_to_le16(s->session),
	};

	memcpy(s->frame + 2, &hdr, HDR);
	s->out_len = (uint16_t)frame_encode(s->frame + 2, HDR + len, s->line);
	s->out_at = 0;
	s->ack_due = false;
	s->gap_due = false;
}

static void send_syn(struct stream *s, uint64_t now_ns)
{
	struct unic_serial_syn syn = s->ours;

	syn.w.a = unic_to_le32(s->nonce);
	syn.w.b = unic_to_le32(s->peer);
	memcpy(s->frame + 2 + HDR, &syn, sizeof(syn));
	s->syn_due = false;
	s->syn_ns = now_ns + SYN_NS;
	build_frame(s, UNIC_SERIAL_SYN, s->up ? UNIC_SERIAL_F_UP : 0, 0,
		    sizeof(syn));
}

/* The body: words that mean nothing, so 0. */
static void send_ack(struct stream *s)
{
	memset(s->frame + 2 + HDR, 0, WORDS);
	build_frame(s, UNIC_SERIAL_ACK, 0, 0, WORDS);
}

static void send_item(struct stream *s, uint64_t now_ns)
{
	const struct stream_item *i = &s->window[s->sent % UNIC_SERIAL_WINDOW];
	struct unic_serial_words w = { unic_to_le32(i->a), unic_to_le32(i->b) };
	uint8_t *body = s->frame + 2 + HDR;

	if (s->sent == s->una)
		s->again_ns = now_ns + ack_timeout_ns(s);
	time_frame(s, s->sent, now_ns);
	memcpy(body, &w, WORDS);
	memcpy(body + WORDS, i->from ? i->from : &i->own, i->len);
	s->counts.sent++;
	build_frame(s, i->type, 0, s->sent, WORDS + i->len);
	s->sent++;
}

/* Builds the next frame, if there is one to send. */
static bool next_frame(struct stream *s, uint64_t now_ns)
{
	if (is_retry_due(s, now_ns)) {
		s->counts.again++;
		s->timing = false;
		s->sent = s->una;
		if (s->backoff < BACKOFF_MAX)
			s->backoff++;
	}
	if (is_syn_due(s, now_ns))
		send_syn(s, now_ns);
	else if (s->up && s->sent != s->next)
		send_item(s, now_ns);
	else if (s->up && (s->ack_due || s->gap_due))
		send_ack(s);
	else
		return false;
	return true;
}

uint32_t stream_output(struct stream *s, uint64_t now_ns, uint8_t *bytes,
		       uint32_t max)
{
	uint32_t done = 0, n;

	while (done < max) {
		if (s->out_at == s->out_len && !next_frame(s, now_ns))
			break;
		n = s->out_len - s->out_at;
		if (n > max - done)
			n = max - done;
		memcpy(bytes + done, s->line + s->out_at, n);
		s->out_at = (uint16_t)(s->out_at + n);
		done += n;
	}
	return done;
}

bool stream_wants(const struct stream *s, uint64_t now_ns)
{
	return s->out_at != s->out_len || is_syn_due(s, now_ns) ||
	       (s->up && (s->sent != s->next || s->ack_due || s->gap_due)) ||
	       is_retry_due(s, now_ns);
}

uint64_t stream_due(const struct stream *s)
{
	if (!s->up)
		return s->syn_ns;
	return s->una != s->sent ? s->again_ns : UINT64_MAX;
}

/* --------------------------------------------------------------- receiving */

/* The other side has restarted: begins with empty windows. */
static void begin_session(struct stream *s, uint32_t peer)
{
	uint32_t mixed = s->nonce ^ peer;

	s->counts.restarts += s->peer != 0;
	s->peer = peer;
	s->session = (uint16_t)(mixed ^ mixed >> 16);
	s->up = false;
	s->restarted = true;
	s->told = s->una = s->sent = s->next = s->fresh = 0;
	s->expect = 0;
	s->backoff = 0;
	s->timing = false;
	s->ack_due = s->gap_due = s->gap_told = false;
}

static void take_syn(struct stream *s, const uint8_t *body, uint32_t len,
		     uint8_t flags)
{
	struct unic_serial_syn syn;
	uint32_t theirs, ours;

	if (len != sizeof(syn)) {
		s->counts.dropped++;
		return;
	}
	memcpy(&syn, body, sizeof(syn));
	theirs = unic_from_le32(syn.w.a);
	ours = unic_from_le32(syn.w.b);
	if (unic_from_le16(syn.magic) != UNIC_SERIAL_MAGIC ||
	    unic_from_le16(syn.version) != UNIC_SERIAL_VERSION || !theirs ||
	    theirs == s->nonce) { /* its own SYN: the line echoes */
		s->counts.dropped++;
		return;
	}
	/* a peer that does not know this side's nonce has started anew, even if
	 * its own nonce came out as before */
	if (theirs != s->peer || (s->up && !ours)) {
		begin_session(s, theirs);
		s->theirs = syn;
	}
	s->up = s->up || ours == s->nonce;
	if (!(flags & UNIC_SERIAL_F_UP))
		s->syn_due = true;
}

static void take_ack(struct stream *s, const struct unic_serial_hdr *hdr,
		     uint64_t now_ns)
{
	uint8_t moved = (uint8_t)(hdr->ack - s->una);

	if (moved > (uint8_t)(s->next - s->una)) {
		s->counts.dropped++;
		return;
	}
	if (moved) {
		if ((uint8_t)(s->sent - s->una) < moved)
			/* frames to be sent again have arrived */
			s->sent = hdr->ack;
		time_ack(s, hdr->ack, now_ns);
		s->una = hdr->ack;
		s->backoff = 0;
		s->again_ns = now_ns + ack_timeout_ns(s);
	}
	if (hdr->flags & UNIC_SERIAL_F_GAP) {
		s->counts.gaps++;
		s->timing = false;
		s->sent = s->una;
	}
}

/* Takes frame @seq if it is the next one. */
static bool in_order(struct stream *s, uint8_t seq)
{
	s->ack_due = true;
	if (seq == s->expect) {
		s->expect++;
		s->gap_told = false;
		s->counts.received++;
		return true;
	}
	/* a frame is missing: say so, once until it arrives */
	if ((uint8_t)(seq - s->expect) < UNIC_SERIAL_WINDOW && !s->gap_told) {
		s->gap_due = true;
		s->gap_told = true;
	}
	s->counts.dropped++;
	return false;
}

void stream_refuse(struct stream *s)
{
	s->expect--;
	s->counts.received--;
	s->counts.dropped++;
}

static bool take_frame(struct stream *s, uint32_t bytes, uint64_t now_ns,
		       struct stream_msg *msg)
{
	const uint8_t *frame = frame_at(&s->in), *body = frame + HDR;
	uint32_t len = bytes - HDR;
	struct unic_serial_hdr hdr;
	struct unic_serial_words w;

	memcpy(&hdr, frame, HDR);
	if (len < WORDS) {
		s->counts.dropped++;
		return false;
	}
	if (hdr.type == UNIC_SERIAL_SYN) {
		s->heard_ns = now_ns;
		take_syn(s, body, len, hdr.flags);
		return false;
	}
	if (!s->peer || unic_from_le16(hdr.session) != s->session) {
		s->counts.dropped++;
		s->syn_due = s->syn_due || now_ns >= s->syn_ns;
		return false;
	}
	s->heard_ns = now_ns;
	s->up = true; /* the peer has the session from a SYN of this side */
	take_ack(s, &hdr, now_ns);
	if (hdr.type < UNIC_SERIAL_FIRST || !in_order(s, hdr.seq))
		return false;
	memcpy(&w, body, WORDS);
	*msg = (struct stream_msg){ .bytes = body + WORDS,
				    .a = unic_from_le32(w.a),
				    .b = unic_from_le32(w.b),
				    .len = (uint16_t)(len - WORDS),
				    .type = hdr.type };
	return true;
}

bool stream_input(struct stream *s, const uint8_t **bytes, uint32_t *n,
		  uint64_t now_ns, struct stream_msg *msg)
{
	while (*n) {
		uint32_t len = frame_decode(&s->in, *(*bytes)++);

		(*n)--;
		if (len && take_frame(s, len, now_ns, msg))
			return true;
	}
	return false;
}
