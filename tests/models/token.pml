/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * token.pml - the life of payload tokens: alloc, claim, use, abort, cancel
 * (amid a message, too, of a peer that may stop for ever),
 * expiry, recall, the end of their region; what the process is told, and when
 * an index is used again.
 *
 * The k-th token has the key k. Peers know all keys for ever and name them
 * whenever they like. There is one region and one queue pair per token that is
 * being received. Ghosts: ended[k], and told[k] - by an event, by the answer
 * to a cancel, or by the completion of the message.
 *
 * ALLOCS tokens are made on N indices; EVTS event records fit; the region may
 * be revoked REVOKES times.
 *
 * @bounds small: -DN=1 -DALLOCS=2 -DEVTS=1 -DREVOKES=1
 * @bounds full: -DN=2 -DALLOCS=3 -DEVTS=1 -DREVOKES=1
 * @bounds full: -DN=1 -DALLOCS=3 -DEVTS=2 -DREVOKES=2
 * @mutant 1: INV-9: cancel ends a claimed token
 * @mutant 2: INV-9: a claimed token expires
 * @mutant 3 (-DN=1 -DALLOCS=3 -DEVTS=1 -DREVOKES=0): INV-9: an index is free before its end was told
 * @mutant 4: INV-9: a claim takes a token that has ended
 * @mutant 5: INV-9: the driver forgets a token at the next use of its index
 * @mutant 6: INV-4: tokens outlive the access to their region
 * @mutant 7: INV-3: a claimed token does not hold its region
 * @mutant 8: INV-9: the answer to a cancel of an ended token says CANCELLED
 * @mutant 9: INV-9: the driver forgets a token when a cancel finds it no more
 * @mutant 10: INV-9: who waits for the end of a token is not told of its use
 * @mutant 11: INV-9: a peer that stops holds who cancels for ever
 */
#define NIL    255
#define KEYS   4 /* key 0: none */
#define OPEN   2	    /* UNIC_CMD_ENTRIES */

/* enum unic_token_state, unic_token_end */
#define FREE	  0
#define LIVE	  1
#define CLAIMED	  2
#define USED	  1
#define CANCELLED 2
#define EXPIRED	  3
#define RECALLED  4 /* EVICTED */
#define ABORTED	  5

typedef token {
	byte key, st, end;
	bit late; /* now_ns >= expires_ns */
	bit evt_due, listed;
	bit msg; /* a queue pair is receiving a message into it */
	bit stopped; /* ... whose sender sends no more */
	bit wanted; /* claimed, and its process waits for the end */
}
token t[N];
chan free_list = [N] of { byte };

#define ACTIVE	 0
#define DRAINING 1
#define GONE	 2
byte region, holds, revokes = REVOKES;

#define ALLOC  1
#define CANCEL 2
#define OK	 0
#define PENDING	 1
#define NO_TOKEN 2
#define FULL	 3
chan cmd = [OPEN] of { byte, byte, byte };	  /* op, key, index */
chan cpl = [OPEN] of { byte, byte, byte, byte, byte }; /* + status, end */
chan evt = [EVTS] of { byte, byte, byte };	  /* key, index, end */

byte made, ended[KEYS], index_of[KEYS];
bit told[KEYS];

/* ------------------------------------------------------------------- NIC */

inline free_put(i)
{
	assert(!t[i].listed); /* INV-9 */
	t[i].listed = 1;
	free_list!i
}

/* end_token() */
inline end_token(i, why, tell)
{
	assert(t[i].st != FREE && !ended[t[i].key]); /* INV-9 */
	ended[t[i].key] = why;
	t[i].st = FREE;
	t[i].end = why;
	t[i].late = 0;
	t[i].stopped = 0;
	if
	:: !(tell) -> free_put(i)
	:: (tell) && nfull(evt) ->
		evt!t[i].key, i, why;
		free_put(i)
	:: (tell) && full(evt) ->
		t[i].evt_due = 1;
#ifdef MUTANT_3
		free_put(i)
#endif
	fi
}

inline idle()
{
	if
	:: region == DRAINING && !holds -> region = GONE
	:: else
	fi
}

/* end_claim(), unic_mr_unhold() */
inline end_claim(i, why, tell)
{
	assert(t[i].st == CLAIMED); /* INV-9 */
	t[i].msg = 0;
#ifdef MUTANT_10
	end_token(i, why, tell);
#else
	end_token(i, why, tell || t[i].wanted);
#endif
	t[i].wanted = 0;
#ifndef MUTANT_7
	holds--;
#endif
	idle()
}

/* unic_token_alloc(), take(), recall() */
inline exec_alloc()
{
	status = FULL;
	if /* full: one LIVE token goes, if that can be told */
	:: empty(free_list) && region == ACTIVE ->
		i = 0;
		do
		:: i < N && t[i].st == LIVE && nfull(evt) ->
			evt!t[i].key, i, RECALLED;
			end_token(i, RECALLED, false);
			break
		:: i < N && (t[i].st != LIVE || full(evt)) -> i++
		:: i == N -> break
		od
	:: nempty(free_list) || region != ACTIVE
	fi;
	if
	:: nempty(free_list) && region == ACTIVE ->
		free_list?i;
		made++;
		t[i].listed = 0;
		t[i].key = key;
		t[i].st = LIVE;
		t[i].end = 0;
		t[i].evt_due = 0;
		index_of[key] = i;
		status = OK
	:: empty(free_list) || region != ACTIVE -> i = 0
	fi
}

/* unic_token_cancel() */
inline exec_cancel()
{
	if
	:: t[i].key != key -> status = NO_TOKEN
#ifndef MUTANT_1
	:: t[i].key == key && t[i].st == CLAIMED ->
		t[i].wanted = 1; /* want_back() */
		status = PENDING
	:: t[i].key == key && t[i].st == LIVE ->
#else
	:: t[i].key == key && t[i].st != FREE ->
#endif
		if
		:: t[i].late -> end_token(i, EXPIRED, false)
		:: else -> end_token(i, CANCELLED, false)
		fi;
		status = OK;
		end = t[i].end
	:: t[i].key == key && t[i].st == FREE ->
		status = OK;
#ifdef MUTANT_8
		end = CANCELLED
#else
		end = t[i].end
#endif
	fi
}

active proctype nic()
{
	byte op, key, i, status, end;

	d_step {
		i = 0;
		do
		:: i < N -> free_put(i); i++
		:: else -> break
		od;
		i = 0
	}
end_nic: do
	:: d_step { nempty(cmd) && nfull(cpl) ->
		cmd?op, key, i;
		if
		:: op == ALLOC -> exec_alloc()
		:: op == CANCEL -> exec_cancel()
		fi;
		cpl!op, key, i, status, end;
		op = 0; key = 0; i = 0; status = 0; end = 0 }

	/* unic_evict_revoke(), drain_mr(), unic_token_mr_gone() */
	:: d_step { region == ACTIVE && revokes ->
		revokes--;
		region = DRAINING;
		i = 0;
		do
#ifdef MUTANT_6
		:: false ->
#else
		:: i < N && t[i].st == LIVE ->
#endif
			end_token(i, RECALLED, true); i++
		:: i < N && t[i].st != LIVE -> i++
#ifdef MUTANT_6
		:: i < N && t[i].st == LIVE -> i++
#endif
		:: i == N -> break
		od;
		i = 0;
		idle() }
	/* another region: unic_mr_reg() */
	:: d_step { region == GONE -> region = ACTIVE }
	od
}

#ifdef MUTANT_4
#define CLAIMABLE(k) \
	(k <= made && index_of[k] == i && t[i].key == k && t[i].st != CLAIMED)
#else
#define CLAIMABLE(k) (t[i].key == k && t[i].st == LIVE)
#endif

inline claim(i, k)
{
	if
	:: t[i].late -> end_token(i, EXPIRED, true)
	:: else ->
		assert(region == ACTIVE); /* INV-4 */
		assert(!ended[k]);	  /* INV-9 */
		t[i].st = CLAIMED;
		t[i].msg = 1;
#ifndef MUTANT_7
		holds++
#endif
	fi
}

/* What happens to one index without a command. */
proctype index(byte i)
{
end:	do
	/* unic_token_claim(): a peer names any key it ever knew; one that is
	 * refused changes nothing */
	:: d_step { CLAIMABLE(1) -> claim(i, 1) }
	:: d_step { CLAIMABLE(2) -> claim(i, 2) }
	:: d_step { CLAIMABLE(3) -> claim(i, 3) }

	/* its sender stops */
	:: d_step { t[i].msg && !t[i].stopped -> t[i].stopped = 1 }
	/* its bytes are placed; unic_responder_placed(), unic_token_finish() */
	:: d_step { t[i].msg && !t[i].stopped ->
		assert(region != GONE); /* INV-3 */
		told[t[i].key] = 1;	/* the completion of the message */
		end_claim(i, USED, false) }
	/* unic_responder_abort(), unic_token_abort(): queue pair died, or cut */
	:: d_step { t[i].msg && (!t[i].stopped || region != ACTIVE) ->
		assert(region != GONE); /* INV-3 */
		end_claim(i, ABORTED, true) }
#ifndef MUTANT_11
	/* T is over: unic_responder_stop(), unic_token_stop() */
	:: d_step { t[i].msg && t[i].wanted ->
		assert(region != GONE); /* INV-3 */
		end_claim(i, CANCELLED, true) }
#endif

	/* time passes; unic_token_poll() */
	:: d_step { t[i].st != FREE && !t[i].late -> t[i].late = 1 }
#ifdef MUTANT_2
	:: d_step { t[i].st != FREE && t[i].late ->
#else
	:: d_step { t[i].st == LIVE && t[i].late ->
#endif
		end_token(i, EXPIRED, true) }

	/* publish_all() */
	:: d_step { t[i].evt_due && nfull(evt) ->
		evt!t[i].key, i, t[i].end;
		t[i].evt_due = 0;
#ifndef MUTANT_3
		free_put(i)
#endif
	}
	od
}

/* ---------------------------------------------------------------- driver */

/* struct unic_htoken */
#define NOTHING	 0
#define ASKED	 1
#define THERE	 2
#define REPLACED 3 /* its index has another token: used, or its end is near */
byte obj[KEYS], token_of[N];
bit cancelling[KEYS];
bit waiting[KEYS]; /* a cancel is PENDING: struct unic_htoken.waits */
byte asked, open;

/* token_done(), token_index(), token_cancel_done() */
inline completion()
{
	cpl?op, key, i, status, end;
	open--;
	if
	:: op == ALLOC && status == OK ->
		if
		:: token_of[i] && obj[token_of[i]] == THERE ->
#ifdef MUTANT_5
			obj[token_of[i]] = NOTHING
#else
			obj[token_of[i]] = REPLACED
#endif
		:: else
		fi;
		obj[key] = THERE;
		token_of[i] = key
	:: op == ALLOC && status != OK -> obj[key] = NOTHING
	:: op == CANCEL && status == PENDING ->
		assert(obj[key] == THERE || obj[key] == REPLACED); /* INV-9 */
		waiting[key] = 1
	:: op == CANCEL && status != PENDING ->
		cancelling[key] = 0;
		if
		:: status == OK ->
			assert(end == ended[key]); /* INV-9 */
			told[key] = 1
		:: else
		fi;
		if
		:: status == OK -> obj[key] = NOTHING
#ifdef MUTANT_9
		:: status == NO_TOKEN -> obj[key] = NOTHING
#else
		:: status == NO_TOKEN && obj[key] == THERE ->
			obj[key] = REPLACED
#endif
		:: else
		fi
	fi;
	op = 0; key = 0; i = 0; status = 0; end = 0
}

/* unic_queue_token_event() */
inline event()
{
	evt?key, i, end;
	if
	:: obj[key] == THERE || obj[key] == REPLACED ->
		assert(end == ended[key]); /* INV-9 */
		told[key] = 1;
		waiting[key] = 0; /* free_token(): answered */
		obj[key] = NOTHING
	:: else -> assert(told[key]) /* INV-9: by the answer to a cancel */
	fi;
	key = 0; i = 0; end = 0
}

inline cancel(k)
{
	d_step {
		open < OPEN && obj[k] == THERE && !cancelling[k] ->
		cancelling[k] = 1;
		open++;
		cmd!CANCEL, k, index_of[k]
	}
}

active proctype driver()
{
	byte op, key, i, status, end, seen;

	atomic {
		run index(0);
		if
		:: N > 1 -> run index(N - 1) /* never, if N is 1 */
		:: else
		fi
	}
end_driver: do
	/* unic_queue_token_alloc() */
	:: d_step { asked < ALLOCS && open < OPEN ->
		asked++;
		open++;
		obj[asked] = ASKED;
		cmd!ALLOC, asked, 0 }
	/* unic_queue_token_cancel() */
	:: cancel(1)
	:: cancel(2)
	:: cancel(3)

	/* provider_nic.c: poll_mailbox(): completions, then the events that were there before them */
	:: atomic { nempty(evt) || nempty(cpl) -> seen = len(evt) }
		do
		:: d_step { nempty(cpl) -> completion(); seen = len(evt) }
		:: empty(cpl) -> break
		od;
		do
		:: d_step { seen && nempty(evt) -> event(); seen-- }
		:: !seen -> break
		od;
		skip; /* unic_queue_settled(): what was told is known */
		d_step {
			key = 1;
			do
			:: key <= ALLOCS ->
				if
				:: obj[key] == REPLACED ->
					assert(!waiting[key]); /* INV-9 */
					obj[key] = NOTHING
				:: else
				fi;
				key++
			:: else -> break
			od;
			key = 0
		}
	od
}

/* ------------------------------------------------------------- properties */

active proctype at_rest()
{
	byte key = 1;

	timeout ->
	do
	:: key <= ALLOCS ->
		assert(!ended[key] || told[key]); /* INV-9: told once it ended */
		assert(!waiting[key]); /* INV-9: every cancel is answered */
		key++
	:: else -> break
	od
}
