/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rc.pml - reliable delivery: PSNs, acknowledgements, NAK, RNR, retries,
 * duplicate WRITEs and READs, refusal of a region taken back, over a wire that
 * loses, duplicates and reorders.
 *
 * The requester posts REQS requests, each of any kind. Each way of the wire
 * holds two packets, taken out in any order, left in (a duplicate) or lost, as
 * often as it likes; RETRY time-outs in a row kill the queue pair. PSNs are
 * counted modulo 16 and begin at 13. A packet carries, as ghosts, which packet
 * of which request it is.
 *
 * @bounds small: -DREQS=1 -DRETRY=1
 * @bounds full: -DREQS=2 -DRETRY=1
 * @mutant 1: INV-16: a duplicate WRITE is executed again
 * @mutant 2 (-DREQS=2 -DRETRY=1): INV-16: what is behind a gap is executed
 * @mutant 3 (-DREQS=2 -DRETRY=1): INV-10: an acknowledgement ends READs before their responses
 * @mutant 4: INV-10: a READ ends although its first response is missing
 * @mutant 5: INV-16: a READ answers a duplicate from its beginning
 * @mutant 6 (-DREQS=2 -DRETRY=1): INV-10: a refused request gives all its PSNs back
 * @mutant 7 (-DREQS=1 -DRETRY=1): INV-10: a time-out starts no retry and ends nothing
 */
#define PSNS  16
#define FIRST 13
#define READS 2 /* UNIC_QP_READS, max_rd */
#define WINDOW 4 /* UNIC_QP_PACKETS */
#define ADD(a, b)  (((a) + (b)) % PSNS)
#define DIFF(a, b) (((a) + PSNS - (b)) % PSNS) /* >= 8: negative */
#define BEFORE(a, b) (DIFF(a, b) >= PSNS / 2)  /* a < b */

/* Kinds of requests. */
#define WRITE1 0 /* one packet */
#define WRITE2 1 /* two packets */
#define READ2  2 /* two responses */
#define SEND1  3 /* needs a posted receive */
#define GONEW  4 /* WRITE2, READ2 that name a region taken back */
#define GONER  5
#define PACKETS(k) ((k) == WRITE1 || (k) == SEND1 -> 1 : 2)
#define IS_READ(k) ((k) == READ2 || (k) == GONER)

/* Packets: op, psn, request, number in it */
#define DATA 1
#define READ 2
#define NULL 3 /* WRITE of nothing */
#define ACK  4
#define NAK  5
#define RNR  6
#define VACK 7
#define RESP 8
chan there = [2] of { byte, byte, byte, byte };
chan back = [2] of { byte, byte, byte, byte };

byte kind[REQS];
byte done[REQS]; /* completions, ghost */
byte executed[REQS], answered[REQS]; /* packets; responses placed, ghost */
byte recvs = REQS; /* receives still to post */

/* ------------------------------------------------------------- requester */

/* enum unic_wr_state */
#define NEW   0
#define SENT  1
#define NULLS 2 /* UNIC_WRS_NULL */
typedef request {
	byte state, psn, npkt
}
request wr[REQS];
byte una, next, cur; /* as in struct unic_sq */
byte psn = FIRST, psn_max = FIRST, psn_una = FIRST, psn_back;
byte reads, retries = RETRY;
bit rnr_wait, back_valid, dead, refused[REQS];

inline complete(s)
{
	assert(!done[s]); /* INV-10 */
	done[s]++
}

/* unic_qp_error(), unic_sq_flush(): each that is left completes */
inline fail()
{
	dead = 1;
	s = una;
	do
	:: s < REQS -> complete(s); s++
	:: else -> break
	od;
	una = REQS;
	next = REQS;
	s = 0
}

/* seek_psn(): the request that @at belongs to */
inline position(at)
{
	cur = una;
	do
	:: cur < next && !BEFORE(at, ADD(wr[cur].psn, wr[cur].npkt)) -> cur++
	:: else -> break
	od;
	psn = at
}

/* go_back() */
inline go_back(at)
{
	position(at)
}

/* unic_sq_retire() */
inline retire()
{
	do
	:: una < next &&
	   !BEFORE(psn_una, ADD(wr[una].psn, wr[una].npkt)) ->
		if
		:: kind[una] == READ2 -> /* all of it is there */
			assert(answered[una] == 2) /* INV-10 */
		:: kind[una] == GONEW || kind[una] == GONER ->
			assert(refused[una]) /* INV-10 */
		:: else -> /* all of it was executed */
			assert(executed[una] == PACKETS(kind[una])) /* INV-10 */
		fi;
		complete(una);
		if
		:: cur == una -> cur++
		:: else
		fi;
		una++
	:: else -> break
	od
}

/* advance_una() */
inline progress(upto)
{
	psn_una = upto;
	retries = RETRY;
	back_valid = 0;
	rnr_wait = 0;
	if
	:: BEFORE(psn, psn_una) -> position(psn_una)
	:: else
	fi;
	retire()
}

/* find_unanswered_read(): a READ before @upto that misses responses */
inline find_unanswered_read()
{
	lost = 0;
	s = una;
	do
#ifndef MUTANT_3
	:: s < next && !lost && BEFORE(wr[s].psn, upto) ->
		if
		:: wr[s].state == SENT && IS_READ(kind[s]) &&
		   BEFORE(psn_una, ADD(wr[s].psn, wr[s].npkt)) ->
			lost = 1;
			if
			:: BEFORE(wr[s].psn, psn_una) -> upto = psn_una
			:: else -> upto = wr[s].psn
			fi
		:: else
		fi;
		s++
#endif
	:: else -> break
	od;
	s = 0
}

/* ack_up_to(): all before @upto, but for responses */
inline ack_up_to()
{
	find_unanswered_read();
	if
	:: BEFORE(psn_una, upto) -> progress(upto)
	:: else
	fi;
	if
	:: lost && !rnr_wait && !(back_valid && psn_back == upto) ->
		back_valid = 1;
		psn_back = upto;
		go_back(upto)
	:: else
	fi;
	lost = 0;
	upto = 0
}

#define IN_FLIGHT(p) (!BEFORE(p, psn_una) && BEFORE(p, psn_max))

/* retry_or_fail() */
inline retry(at)
{
	if
	:: retries -> retries--; go_back(at)
	:: else -> fail()
	fi
}

/* unic_requester_vack(), nullify_request() */
inline vack()
{
	position(p);
	if
	:: cur < next && wr[cur].state == SENT ->
		upto = ADD(wr[cur].psn, wr[cur].npkt);
		if
		:: cur + 1 == next ->
			if
			:: BEFORE(psn_max, upto) -> upto = psn_max
			:: else
			fi;
#ifdef MUTANT_6
			upto = p;
			psn_max = upto
#endif
		:: else
		fi;
		wr[cur].psn = p;
		wr[cur].npkt = DIFF(upto, p);
		wr[cur].state = NULLS;
		refused[cur] = 1;
		if
		:: IS_READ(kind[cur]) -> reads--
		:: else
		fi;
		upto = 0
	:: else
	fi;
	go_back(p)
}

/* unic_requester_ack(), unic_requester_vack() */
inline acknowledgement()
{
	if
	:: op == ACK -> upto = ADD(p, 1); ack_up_to()
	:: else ->
		upto = p;
		ack_up_to();
		if
		:: dead || !IN_FLIGHT(p) || p != psn_una -> skip
		:: else ->
			if
			:: op == RNR && !rnr_wait -> position(p); rnr_wait = 1
			:: op == NAK -> retry(p)
			:: op == VACK -> vack()
			:: else
			fi
		fi
	fi
}

/* unic_requester_response(), unic_requester_placed() */
inline response()
{
#ifndef MUTANT_4
	if
	:: p != psn_una -> upto = p; ack_up_to()
	:: else
	fi;
#endif
	if
#ifndef MUTANT_4
	:: dead || p != psn_una -> skip
#endif
	:: else ->
		s = una;
		do
		:: s < next && !BEFORE(p, ADD(wr[s].psn, wr[s].npkt)) -> s++
		:: else -> break
		od;
		if
		:: s < next && IS_READ(kind[s]) && wr[s].state == SENT ->
			/* INV-16: the bytes that belong there */
			assert(req == s && k == DIFF(p, wr[s].psn));
			answered[s]++;
			if
			:: k + 1 == wr[s].npkt -> reads--
			:: else
			fi;
			progress(ADD(p, 1))
		:: else
		fi;
		s = 0
	fi
}

/* prepare_rc_request(), unic_sq_start(), describe_packet(), advance_sq() */
#define MAY_SEND \
	(!dead && !rnr_wait && DIFF(psn, psn_una) < WINDOW && \
	 (cur < next || (next < REQS && \
			 !(IS_READ(kind[next]) && reads >= READS))))

inline send()
{
	if
	:: cur == next ->
		wr[next].state = SENT;
		wr[next].psn = psn;
		wr[next].npkt = PACKETS(kind[next]);
		if
		:: IS_READ(kind[next]) -> reads++
		:: else
		fi;
		next++
	:: else
	fi;
	k = DIFF(psn, wr[cur].psn);
	n = 1;
	if
	:: wr[cur].state == NULLS -> there!!NULL, psn, cur, k
	:: wr[cur].state == SENT && IS_READ(kind[cur]) ->
		n = wr[cur].npkt - k;
		there!!READ, psn, cur, k
	:: wr[cur].state == SENT && !IS_READ(kind[cur]) ->
		there!!DATA, psn, cur, k
	fi;
	psn = ADD(psn, n);
	if
	:: BEFORE(psn_max, psn) -> psn_max = psn
	:: else
	fi;
	if
	:: k + n == wr[cur].npkt -> cur++
	:: else
	fi;
	k = 0;
	n = 0
}

inline forget_packet()
{
	op = 0; p = 0; req = 0; k = 0
}

active proctype requester()
{
	byte op, p, req, k, n, s, upto;
	bit lost;

	do
	:: n < REQS -> select(k: WRITE1 .. GONER); kind[n] = k; n++
	:: else -> n = 0; k = 0; break
	od;
end:	do
	:: d_step { nfull(there) && MAY_SEND -> send() }

	/* rx.c hands a packet over */
	:: atomic { nempty(back) -> back?op, p, req, k;
		if
		:: true
		:: nempty(back) -> /* the other one overtook it */
			n = op * 16 + p; s = req; upto = k;
			back?op, p, req, k;
			back!!n / 16, n % 16, s, upto
		:: nfull(back) -> back!!op, p, req, k /* and once more */
		:: d_step { true -> op = 0 } /* lost */
		fi;
		d_step {
			n = 0; s = 0; upto = 0;
			if
			:: !op || dead || !IN_FLIGHT(p) -> skip
			:: op == RESP && !dead && IN_FLIGHT(p) -> response()
			:: op && op != RESP && !dead && IN_FLIGHT(p) ->
				acknowledgement()
			fi;
			forget_packet(); upto = 0; lost = 0
		} }

	/* unic_requester_timeout() */
	:: d_step { !dead && rnr_wait -> rnr_wait = 0 }
#ifndef MUTANT_7
	:: d_step { !dead && !rnr_wait && psn_una != psn_max ->
		back_valid = 0;
		retry(psn_una) }
#endif
	od
}

/* ------------------------------------------------------------- responder */

typedef incoming {
	byte psn, npkt, off, req;
	bit busy, valid, again
}
incoming rd[READS];
byte epsn = FIRST, nak, nak_psn, rd_next, rd_head, rd_active, posted;
bit ack, nak_sent;

inline owe_nak(what, at)
{
	nak = what;
	nak_psn = at;
	nak_sent = 1
}

/* find_head(): READS is 2 */
inline find_head()
{
	if
	:: rd[rd_next].busy -> rd_head = rd_next
	:: else -> rd_head = (rd_next + 1) % READS
	fi
}

/* unic_rd_resources_done() */
inline read_done()
{
	rd[rd_head].busy = 0;
	rd_active--;
	find_head()
}

/* unic_rd_resources_take() */
inline on_read()
{
	do
	:: rd_active >= READS || rd[rd_next].busy ->
		assert(rd[rd_head].again); /* INV-16: else the QP would die */
		read_done()
	:: else -> break
	od;
	rd[rd_next].valid = 1;
	rd[rd_next].again = 0;
	rd[rd_next].busy = 1;
	rd[rd_next].psn = p;
	rd[rd_next].npkt = PACKETS(kind[req]) - k;
	rd[rd_next].off = 0;
	rd[rd_next].req = req;
	rd_next = (rd_next + 1) % READS;
	rd_active++;
	find_head();
	n = PACKETS(kind[req]) - k
}

/* unic_rd_resources_again(): executed again from where it asks */
inline duplicate_read(i)
{
	if
	:: rd[i].valid && !BEFORE(p, rd[i].psn) &&
	   BEFORE(p, ADD(rd[i].psn, rd[i].npkt)) && rd[i].req == req ->
		if
		:: rd[i].busy
		:: else -> rd_active++
		fi;
		rd[i].busy = 1;
		rd[i].again = 1;
#ifdef MUTANT_5
		rd[i].off = 0;
		rd[i].psn = p;
		rd[i].npkt = 1;
#else
		rd[i].off = DIFF(p, rd[i].psn);
#endif
		find_head()
	:: else
	fi
}

/* out_of_order() */
inline out_of_order()
{
	if
	:: BEFORE(epsn, p) ->
		if
		:: !nak_sent -> owe_nak(NAK, epsn)
		:: else
		fi
	:: else ->
		if
		:: op == READ -> duplicate_read(0); duplicate_read(1)
		:: else -> ack = 1
		fi
	fi
}

/* What comes next, whatever the PSNs say: ghost. */
byte at_req, at_k;

inline execute()
{
	if
	:: op == NULL -> /* nothing of it was executed, nothing will be */
		assert(refused[req] && !executed[req]); /* INV-16 */
		assert(!at_k && (req == at_req || req + 1 == at_req)); /* INV-16 */
		at_req = req + 1;
		at_k = 0
	:: else ->
		assert(req == at_req && k == at_k); /* INV-16: in order, once */
		executed[req] = executed[req] + n;
		at_k = at_k + n;
		if
		:: at_k == PACKETS(kind[req]) -> at_req++; at_k = 0
		:: else
		fi
	fi
}

/* unic_responder_request(), dispatch_request(), unic_responder_placed() */
inline arrived()
{
	n = 1;
	if
#ifdef MUTANT_1
	:: p != epsn && !(op == DATA && BEFORE(p, epsn)) -> out_of_order()
#else
#ifdef MUTANT_2
	:: p != epsn && !(op == DATA && BEFORE(epsn, p)) -> out_of_order()
#else
	:: p != epsn -> out_of_order()
#endif
#endif
	:: else ->
		if
		:: op != NULL && (kind[req] == GONEW || kind[req] == GONER) ->
			owe_nak(VACK, p) /* unic_responder_refused() */
		:: op == DATA && kind[req] == SEND1 && !posted ->
			owe_nak(RNR, p) /* no_receive() */
		:: else ->
			if
			:: op == READ -> on_read()
			:: else -> ack = 1
			fi;
			if
			:: op == DATA && kind[req] == SEND1 -> posted--
			:: else
			fi;
			execute();
			epsn = ADD(p, n);
			nak_sent = 0
		fi
	fi;
	n = 0
}

active proctype responder()
{
	byte op, p, req, k, n, s, upto;

end:	do
	:: atomic { nempty(there) -> there?op, p, req, k;
		if
		:: true
		:: nempty(there) ->
			n = op * 16 + p; s = req; upto = k;
			there?op, p, req, k;
			there!!n / 16, n % 16, s, upto
		:: nfull(there) -> there!!op, p, req, k
		:: d_step { true -> op = 0 }
		fi;
		d_step {
			n = 0; s = 0; upto = 0;
			if
			:: op -> arrived()
			:: else
			fi;
			forget_packet()
		} }

	/* unic_responder_reply(): READ responses, then NAK, then ACK */
	:: d_step { nfull(back) && rd_active ->
		back!!RESP, ADD(rd[rd_head].psn, rd[rd_head].off),
			rd[rd_head].req, rd[rd_head].off;
		rd[rd_head].off++;
		if
		:: rd[rd_head].off == rd[rd_head].npkt -> read_done()
		:: else
		fi }
	:: d_step { nfull(back) && !rd_active && nak ->
		back!!nak, nak_psn, 0, 0;
		nak = 0;
		nak_psn = 0;
		ack = 0 }
	:: d_step { nfull(back) && !rd_active && !nak && ack ->
		back!!ACK, ADD(epsn, PSNS - 1), 0, 0;
		ack = 0 }

	/* unic_qp_doorbell_rq() */
	:: d_step { recvs -> recvs--; posted++ }
	od
}

/* ------------------------------------------------------------- properties */

/* Nobody can move: each request has completed. */
active proctype at_rest()
{
	byte s;

	timeout ->
	do
	:: s < REQS ->
		assert(done[s] == 1); /* INV-10 */
		s++
	:: else -> break
	od
}
