/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * revoke.pml - a region from MR_REG to its free entries: notice, H, delivery,
 * T, offer, extend, release, draining, EVICTED; generations and epochs; death
 * of the driver, reset of the NIC, restart of the NIC behind the driver's back.
 *
 * Time: a tick makes every deadline nearer by one; the NIC acts on a deadline
 * at any time after it. now_ns, which the NIC reads now and then only, may be
 * LAG ticks old. Rings are channels here (mailbox.pml shows that they are).
 * Each region is one page; an object of the driver stands for each page.
 *
 * REGS registrations, REVOKES choices of the reaper, LOST deaths of the driver
 * or restarts of the NIC.
 *
 * @bounds small: -DREGS=1 -DREVOKES=1 -DLOST=1 -DT=2
 * @bounds small: -DREGS=2 -DREVOKES=1 -DLOST=0 -DT=2 -DEVTS=1
 * @bounds full: -DREGS=2 -DREVOKES=1 -DLOST=1 -DT=2
 * @bounds full: -DREGS=2 -DREVOKES=2 -DLOST=0 -DT=2 -DEVTS=1
 * @ltl drains small: -DREGS=1 -DREVOKES=1 -DLOST=1 -DT=2
 * @ltl drains full: -DREGS=2 -DREVOKES=1 -DLOST=0 -DT=2
 * @mutant 1: INV-3: entries are freed while a DMA piece is in flight
 * @mutant 2: INV-15: what drains during a reset is told in the new epoch
 * @mutant 3: INV-6: a grace is timed from a clock not read since
 * @mutant 4: INV-15: a command of an old epoch is executed
 * @mutant 5: INV-6: the grace starts when the notice is sent
 * @mutant 6: drains: INV-8: operations that hold a region are not cut
 * @mutant 7 (-DREGS=2 -DREVOKES=1 -DLOST=0 -DT=2): INV-6: an offer starts a grace of its own
 * @mutant 8: INV-14: the driver unpins when it asks for a reset, not after it
 * @mutant 9 (-DREGS=3 -DREVOKES=2 -DLOST=0 -DT=2 -DEVTS=1): INV-14: events are matched without generation
 * @mutant 10 (-DREGS=2 -DREVOKES=1 -DLOST=0 -DT=2): INV-6: events are read before the completions that precede them
 */
#define R     2 /* regions of the NIC, pages, objects of the driver */
#define H     1
#define EXT   1 /* extend_us */
#define DRAIN 1 /* UNIC_DRAIN_BOUND_US */
#define OPEN  2 /* UNIC_CMD_ENTRIES */
#ifndef EVTS
#define EVTS  2 /* UNIC_EVT_ENTRIES */
#endif

/* struct unic_mr.state */
#define FREE	 0
#define ACTIVE	 1
#define NOTIFIED 2
#define DRAINING 3
#define EVICTED	 4

/* struct unic_notice.state */
#define NONE  0
#define SENT  1
#define GRACE 2

typedef region {
	byte st, gen, user, inc; /* user, inc: id of the driver's object */
	byte notice, left, seq, ext;
	bit gone, notice_due, evicted_due;
	byte holds, dmas;
	/* ghosts: what must be true, whatever the code thinks */
	byte life;	/* resets of the NIC when it was made */
	bit told;	/* its owner has the upcall ... */
	byte age, owed; /* ... for so many ticks, and may keep it that long */
	bit published;	/* its EVICTED */
}
region mr[R];

/* enum unic_nic_state */
#define RESET  0
#define READY  1
#define FAILED 2
byte nic_state = READY, epoch = 1, next_seq, lag;
byte life; /* ghost */
byte reset_req, reset_ack;

#define REG    1
#define DEREG  2
#define ACK    3
#define OFFER  4
#define EXTEND 5
#define NOTICE 6
#define GONE   7 /* EVICTED as an event */

#define OK	0
#define PENDING 1
#define ERROR	2

/* op, object, inc, mr, gen, seq, offered mr, offered gen, epoch */
chan cmd = [OPEN] of { byte, byte, byte, byte, byte, byte, byte, byte, byte };
/* op, object, inc, status, mr, gen, epoch */
chan cpl = [OPEN] of { byte, byte, byte, byte, byte, byte, byte };
/* type, object, inc, mr, gen, seq, epoch, life */
chan evt = [EVTS] of { byte, byte, byte, byte, byte, byte, byte, byte };

byte pins[R]; /* of page i */
byte regs = REGS, revokes = REVOKES, lost = LOST;

/* ------------------------------------------------------------------- NIC */

/* publish_notice(), defer_event() */
inline send_notice(r)
{
	if
	:: nfull(evt) ->
		mr[r].notice_due = 0;
		evt!NOTICE, mr[r].user, mr[r].inc, r, mr[r].gen, mr[r].seq,
			epoch, mr[r].life
	:: full(evt) -> mr[r].notice_due = 1
	fi
}

/* unic_mr_bury(): the index is free, or a tombstone until it is recycled */
inline bury(r)
{
	mr[r].evicted_due = 0;
	if
	:: mr[r].gone -> mr[r].st = FREE
	:: else -> mr[r].st = EVICTED
	fi
}

/* publish_evicted(), defer_event(), unic_mr_bury() */
inline publish_evicted(r)
{
	mr[r].st = EVICTED;
	if
	:: nfull(evt) ->
		assert(!mr[r].published); /* INV-4: one EVICTED */
		assert(!mr[r].dmas);	  /* INV-4: no byte after it */
		mr[r].published = 1;
		evt!GONE, mr[r].user, mr[r].inc, r, mr[r].gen, mr[r].seq,
			epoch, mr[r].life;
		bury(r)
	:: full(evt) -> mr[r].evicted_due = 1
	fi
}

/* finish_eviction(): entries are free; quiet: its owner hears it by the completion */
inline finish(r, quiet)
{
	assert(!mr[r].dmas && !mr[r].holds); /* INV-3: unic_mr_strip() */
	mr[r].notice = NONE;
	mr[r].left = 0;
	mr[r].ext = 0;
	mr[r].notice_due = 0;
	mr[r].told = 0;
	mr[r].age = 0;
	mr[r].owed = 0;
	if
	:: quiet -> bury(r)
	:: else -> publish_evicted(r)
	fi
}

#ifdef MUTANT_1
#define IDLE(r) (!mr[r].holds)
#else
#define IDLE(r) (!mr[r].holds && !mr[r].dmas)
#endif

/* drain_mr(), without its end */
inline drain(r)
{
	mr[r].notice_due = 0;
	mr[r].st = DRAINING
}

inline set_deadline(r, ticks)
{
	mr[r].left = ticks - lag
}

/* owner_drain(), unic_notice_timer(), unic_notice_hurry() */
inline owner_drain(r)
{
	mr[r].gone = 1;
	drain(r);
	if
	:: IDLE(r) -> finish(r, 1); status = OK
	:: else ->
		if
		:: mr[r].notice != GRACE || mr[r].left > T - lag ->
			set_deadline(r, T)
		:: else
		fi;
		mr[r].notice = GRACE;
		status = PENDING
	fi
}

/* unic_notice_delivered(): T starts */
inline delivered(r)
{
	if
	:: mr[r].notice == SENT ->
		mr[r].notice = GRACE;
		set_deadline(r, T)
	:: else
	fi
}

/* unic_mr_get() */
#define GET(r, g) (mr[r].st != FREE && mr[r].gen == g)
/* is_answerable(), and the sequence number */
#define ASKED(r, s) \
	(mr[r].st == NOTIFIED && !mr[r].notice_due && mr[r].seq == s)

/* unic_mr_reg(): a free index, or the one of a tombstone */
inline exec_reg()
{
	r = 0;
	if
	:: mr[0].st == FREE -> r = 0
	:: mr[1].st == FREE -> r = 1
	:: mr[0].st != FREE && mr[1].st != FREE && mr[0].st == EVICTED &&
		!mr[0].evicted_due -> r = 0
	:: mr[0].st != FREE && mr[1].st != FREE && mr[1].st == EVICTED &&
		!mr[1].evicted_due -> r = 1
	:: else -> r = R
	fi;
	if
	:: r < R ->
		mr[r].st = ACTIVE;
		mr[r].gen++;
		mr[r].user = obj;
		mr[r].inc = inc;
		mr[r].gone = 0;
		mr[r].seq = 0;
		mr[r].life = life;
		mr[r].published = 0;
		status = OK
	:: else -> r = 0; status = ERROR
	fi
}

/* unic_mr_dereg(), unic_evict_give_up() */
inline exec_dereg()
{
	if
	:: !GET(r, gen) || mr[r].gone -> status = ERROR
	:: else ->
		if
		:: mr[r].st == EVICTED && mr[r].evicted_due ->
			mr[r].gone = 1; status = OK
		:: mr[r].st == EVICTED && !mr[r].evicted_due ->
			mr[r].st = FREE; status = OK
		:: mr[r].st == DRAINING -> mr[r].gone = 1; status = PENDING
		:: else -> owner_drain(r)
		fi
	fi
}

/* unic_evict_ack() */
inline exec_ack()
{
	if
	:: GET(r, gen) && ASKED(r, seq) -> delivered(r); status = OK
	:: else -> status = ERROR
	fi
}

/* answer_offer(), check_offer(), swap_subject() */
inline exec_offer()
{
	status = ERROR;
	if
	:: GET(r, gen) && ASKED(r, seq) ->
		delivered(r);
		if
		:: offer != r && GET(offer, ogen) && mr[offer].st == ACTIVE ->
			mr[offer].st = NOTIFIED;
			mr[offer].notice = mr[r].notice;
#ifdef MUTANT_7
			set_deadline(offer, 1);
#else
			mr[offer].left = mr[r].left;
#endif
			mr[offer].ext = mr[r].ext;
			mr[offer].seq = mr[r].seq;
			mr[offer].told = mr[r].told;
			mr[offer].age = mr[r].age;
			mr[offer].owed = mr[r].owed;
			mr[r].st = ACTIVE;
			mr[r].notice = NONE;
			mr[r].left = 0;
			mr[r].ext = 0;
			mr[r].seq = 0;
			mr[r].told = 0;
			mr[r].age = 0;
			mr[r].owed = 0;
			status = OK
		:: else
		fi
	:: else
	fi
}

/* answer_extend(), unic_notice_extend() */
inline exec_extend()
{
	status = ERROR;
	if
	:: GET(r, gen) && ASKED(r, seq) ->
		delivered(r);
		if
		:: mr[r].ext < EXT ->
			mr[r].ext++;
			mr[r].left++;
			mr[r].owed++;
			status = OK
		:: else
		fi
	:: else
	fi
}

/* init_tables(): of all regions nothing is left */
inline forget_all()
{
	r = 0;
	do
	:: r < R ->
		mr[r].st = FREE;
		mr[r].gen = 0;
		mr[r].user = 0;
		mr[r].inc = 0;
		mr[r].notice = NONE;
		mr[r].left = 0;
		mr[r].seq = 0;
		mr[r].ext = 0;
		mr[r].gone = 0;
		mr[r].notice_due = 0;
		mr[r].evicted_due = 0;
		mr[r].holds = 0;
		mr[r].dmas = 0;
		mr[r].life = 0;
		mr[r].told = 0;
		mr[r].age = 0;
		mr[r].owed = 0;
		mr[r].published = 0;
		r++
	:: else -> break
	od;
	next_seq = 0;
	lag = 0;
	epoch++;
	life++
}

/* the driver's indices 0 */
inline empty_commands()
{
	do
	:: nempty(cmd) -> cmd?_, _, _, _, _, _, _, _, _
	:: empty(cmd) -> break
	od
}

/* unic_mbox_reset(): the NIC's indices 0 */
inline empty_answers()
{
	do
	:: nempty(cpl) -> cpl?_, _, _, _, _, _, _
	:: empty(cpl) -> break
	od;
	do
	:: nempty(evt) -> evt?_, _, _, _, _, _, _, _
	:: empty(evt) -> break
	od
}

#define DMA_BUSY (mr[0].dmas || mr[1].dmas)

active proctype nic()
{
	byte op, obj, inc, r, gen, seq, offer, ogen, ep, status;

end:	do
	/* poll_mailbox(), unic_cmd_execute() */
	:: d_step { nic_state == READY && reset_req == reset_ack &&
		nempty(cmd) && nfull(cpl) ->
#ifndef MUTANT_3
		lag = 0; /* now_ns is read (INV-6) */
#endif
		cmd?op, obj, inc, r, gen, seq, offer, ogen, ep;
		status = ERROR;
		if
#ifdef MUTANT_4
		:: true ->
#else
		:: ep != epoch /* UNIC_ST_STALE_EPOCH */
		:: ep == epoch ->
#endif
			assert(ep == epoch); /* INV-15 */
			if
			:: op == REG -> exec_reg()
			:: op == DEREG -> exec_dereg()
			:: op == ACK -> exec_ack()
			:: op == OFFER -> exec_offer()
			:: op == EXTEND -> exec_extend()
			fi
		fi;
		if
		:: op == REG && status == OK -> gen = mr[r].gen
		:: else
		fi;
		cpl!op, obj, inc, status, r, gen, epoch;
		op = 0; obj = 0; inc = 0; r = 0; gen = 0; seq = 0; offer = 0;
		ogen = 0; ep = 0; status = 0
	}

	/* handle_reset() */
	:: d_step { reset_req != reset_ack && nic_state != RESET ->
		nic_state = RESET }
#ifdef MUTANT_2
	/* the lesson: what drains during a reset is told in the new epoch */
	:: d_step { reset_req != reset_ack && nic_state == RESET ->
		empty_answers();
		epoch++;
		life++;
		reset_ack = reset_req;
		nic_state = READY;
		r = 0;
		do
		:: r < R ->
			mr[r].holds = 0;
			if
			:: mr[r].st != FREE && mr[r].st != EVICTED && IDLE(r) ->
				finish(r, 1)
			:: mr[r].st != FREE && mr[r].st != EVICTED && !IDLE(r) ->
				drain(r)
			:: else
			fi;
			r++
		:: else -> break
		od;
		r = 0
	}
#else
	:: d_step { reset_req != reset_ack && nic_state == RESET && !DMA_BUSY ->
		forget_all();
		empty_answers();
		reset_ack = reset_req;
		nic_state = READY;
		r = 0
	}
#endif

	/* unic_nic_init() after its power was gone, and the reset it owes */
	:: d_step { lost ->
		lost--;
		forget_all();
		empty_answers();
		reset_ack = reset_req;
		nic_state = READY;
		r = 0
	}
	od
}

/* The rest of the NIC, for each region. */
proctype evict(byte r)
{
end:	do
	/* unic_evict_revoke(), notify_owner(), unic_notice_open() */
	:: d_step { nic_state == READY && mr[r].st == ACTIVE && revokes ->
		revokes--;
		lag = 0; /* run_timers() */
		next_seq++;
		mr[r].seq = next_seq;
		mr[r].st = NOTIFIED;
		mr[r].owed = T;
#ifdef MUTANT_5
		mr[r].notice = GRACE;
		set_deadline(r, T);
#else
		mr[r].notice = SENT;
		set_deadline(r, H);
#endif
		send_notice(r)
	}

	/* handle_deadlines(), driver_failed(): an answer that is there is not late */
	:: d_step { nic_state == READY && mr[r].notice == SENT &&
		!mr[r].left && empty(cmd) ->
		nic_state = FAILED; /* unic_nic_quiesce() drops all holds */
		mr[0].holds = 0;
		mr[1].holds = 0
	}

	/* handle_deadline(), drain_mr() */
	:: d_step { nic_state == READY && mr[r].st == NOTIFIED &&
		mr[r].notice == GRACE && !mr[r].left ->
		assert(mr[r].told && mr[r].age >= mr[r].owed); /* INV-6 */
		lag = 0;
		drain(r);
		if
		:: IDLE(r) -> finish(r, 0)
		:: else
		fi
	}

	/* handle_deadline(), cut_mr() */
	:: d_step { nic_state == READY && mr[r].st == DRAINING &&
		mr[r].notice == GRACE && !mr[r].left ->
		lag = 0;
		mr[r].left = DRAIN;
#ifndef MUTANT_6
		mr[r].holds = 0;
#endif
		if
		:: IDLE(r) -> finish(r, 0)
		:: else
		fi
	}

	/* publish_deferred() */
	:: d_step { nic_state == READY && nfull(evt) && mr[r].notice_due ->
		send_notice(r) }
	:: d_step { nic_state == READY && nfull(evt) && mr[r].evicted_due ->
		publish_evicted(r) }
	od
}

/* Operations on a region, local and remote. */
proctype traffic(byte r)
{
end:	do
	/* unic_access(): a DMA piece starts */
	:: d_step { nic_state == READY && !mr[r].dmas &&
		(mr[r].st == ACTIVE || mr[r].st == NOTIFIED ||
		 (mr[r].st == DRAINING && mr[r].holds)) ->
		mr[r].dmas = 1 }

	/* unic_access(), unic_mr_hold(): it stays until it is acknowledged */
	:: d_step { nic_state == READY && !mr[r].holds &&
		(mr[r].st == ACTIVE || mr[r].st == NOTIFIED) ->
		mr[r].holds = 1 }

	/* it lands: unic_dma_poll(), unic_evict_settle() */
	:: d_step { mr[r].dmas ->
		assert(pins[mr[r].user]);    /* INV-14 */
		assert(!mr[r].published);    /* INV-4 */
		assert(mr[r].st != FREE && mr[r].st != EVICTED); /* INV-3 */
		mr[r].dmas = 0;
		if
		:: nic_state == READY && mr[r].st == DRAINING && IDLE(r) ->
			finish(r, 0)
		:: else
		fi
	}

	/* unic_mr_unhold() */
	:: d_step { mr[r].holds && nic_state == READY ->
		mr[r].holds = 0;
		if
		:: mr[r].st == DRAINING && IDLE(r) -> finish(r, 0)
		:: else
		fi
	}
	od
}

/* Only in as far as somebody is waiting for it. */
proctype clock()
{
end:	do
	:: d_step { nic_state == READY &&
		(mr[0].left || mr[1].left ||
		 (mr[0].told && mr[0].age < T + EXT) ||
		 (mr[1].told && mr[1].age < T + EXT)) ->
#define TICK(i) \
		if \
		:: mr[i].left -> mr[i].left-- \
		:: else \
		fi; \
		if \
		:: mr[i].told && mr[i].age < T + EXT -> mr[i].age++ \
		:: else \
		fi
		TICK(0);
		TICK(1);
		lag = 1
	}
	od
}

/* ---------------------------------------------------------------- driver */

/* struct unic_region.state */
#define R_NONE	   0
#define R_REG	   1
#define R_ACTIVE   2
#define R_NOTIFIED 3
#define R_EVICTED  4

typedef object {
	byte st, inc, mr, gen, seq;
	byte dereg; /* 1: its call is under way; 2: EVICTED will answer */
}
object hmr[R];
bit ready = 1;	  /* UNIC_PROVIDER_READY, else STARTING */
byte driver_epoch = 1, open;

/* unic_mr_forget(), unic_region_unpin() */
inline unpin(i)
{
	pins[i]--
}

inline forget(i)
{
	hmr[i].st = R_NONE;
	hmr[i].mr = 0;
	hmr[i].gen = 0;
	hmr[i].seq = 0;
	hmr[i].dereg = 0
}

/* nic_start(), device_lost(), unic_region_drop() */
inline start(i)
{
	i = 0;
	do
	:: i < R -> forget(i); i++
	:: else -> break
	od;
#ifdef MUTANT_8
	pins[0] = 0;
	pins[1] = 0;
#endif
	empty_commands(); /* unic_mbox_client_reset() */
	ready = 0;
	open = 0;
	driver_epoch = 0;
	reset_req++;
	i = 0
}

#define ROOM (ready && open < OPEN)

/* Requests of the process that owns the regions. */
inline requests(i, other)
{
	if
	/* unic_region_reg(): pin first */
	:: d_step { ROOM && regs && hmr[i].st == R_NONE ->
		regs--;
		pins[i]++;
		hmr[i].st = R_REG;
		hmr[i].inc++;
		open++;
		cmd!REG, i, hmr[i].inc, 0, 0, 0, 0, 0, driver_epoch }
	/* unic_region_dereg(); RELEASE is this, too */
	:: d_step { ROOM && hmr[i].st >= R_ACTIVE && !hmr[i].dereg ->
		hmr[i].dereg = 1;
		open++;
		cmd!DEREG, i, hmr[i].inc, hmr[i].mr, hmr[i].gen, 0, 0, 0,
			driver_epoch }
	/* unic_region_answer() */
	:: d_step { ROOM && hmr[i].st == R_NOTIFIED && hmr[other].st >= R_ACTIVE ->
		open++;
		cmd!OFFER, i, hmr[i].inc, hmr[i].mr, hmr[i].gen, hmr[i].seq,
			hmr[other].mr, hmr[other].gen, driver_epoch }
	:: d_step { ROOM && hmr[i].st == R_NOTIFIED ->
		open++;
		cmd!EXTEND, i, hmr[i].inc, hmr[i].mr, hmr[i].gen, hmr[i].seq,
			0, 0, driver_epoch }
	fi
}

/* mr_reg_done(), dereg_done(), answer_done(), ack_done() */
inline completion()
{
	cpl?op, i, inc, status, r, gen, ep;
	if
	:: ep != driver_epoch -> skip /* match_call(): counted as bad */
	:: else ->
		open--;
		if
		:: hmr[i].st == R_NONE || hmr[i].inc != inc -> skip
		:: op == REG && hmr[i].st == R_REG && status == OK ->
			hmr[i].st = R_ACTIVE;
			hmr[i].mr = r;
			hmr[i].gen = gen
		:: op == REG && hmr[i].st == R_REG && status != OK ->
			unpin(i);
			forget(i)
		:: op == DEREG && hmr[i].dereg == 1 ->
			if
			:: status == PENDING && hmr[i].st != R_EVICTED ->
				hmr[i].dereg = 2
			:: else ->
				if
				:: hmr[i].st != R_EVICTED -> unpin(i)
				:: else
				fi;
				forget(i)
			fi
		:: op == OFFER && status == OK -> /* the other is asked now */
			if
			:: hmr[1 - i].st == R_ACTIVE ->
				hmr[1 - i].st = R_NOTIFIED
			:: else
			fi;
			if
			:: hmr[1 - i].st != R_NONE ->
				hmr[1 - i].seq = hmr[i].seq
			:: else
			fi;
			if
			:: hmr[i].st == R_NOTIFIED -> hmr[i].st = R_ACTIVE
			:: else
			fi
		:: else
		fi
	fi;
	op = 0; i = 0; inc = 0; status = 0; r = 0; gen = 0; ep = 0
}

#ifdef MUTANT_9
#define OURS (hmr[i].st >= R_ACTIVE && hmr[i].st != R_EVICTED)
#else
#define OURS \
	(hmr[i].st >= R_ACTIVE && hmr[i].st != R_EVICTED && \
	 hmr[i].inc == inc && hmr[i].mr == r && hmr[i].gen == gen)
#endif

/* unic_region_event(), deliver_notice(), send_notice_ack(), evicted() */
inline event()
{
	evt?op, i, inc, r, gen, seq, ep, born;
	if
	:: ep != driver_epoch /* unic_mbox_client_event(): nothing */
	:: else ->
		assert(born == life || ep != epoch); /* INV-15 */
		if
		:: op == NOTICE ->
			if
			:: OURS && (hmr[i].st != R_NOTIFIED ||
				    hmr[i].seq != seq) ->
				hmr[i].st = R_NOTIFIED;
				hmr[i].seq = seq;
				if /* ghost: the upcall is on its ring */
				:: mr[r].life == born && mr[r].gen == gen &&
				   mr[r].st == NOTIFIED ->
					mr[r].told = 1
				:: else
				fi
			:: else
			fi;
			open++; /* nobody's, too: we must not seem dead */
			cmd!ACK, i, inc, r, gen, seq, 0, 0, driver_epoch
		:: op == GONE && OURS ->
			unpin(i);
			if
			:: hmr[i].dereg == 2 -> forget(i)
			:: else -> hmr[i].st = R_EVICTED
			fi
		:: else
		fi
	fi;
	op = 0; i = 0; inc = 0; r = 0; gen = 0; seq = 0; ep = 0; born = 0
}

active proctype driver()
{
	byte op, i, inc, status, r, gen, seq, ep, born, seen;

	atomic {
		run evict(0);
		run evict(1);
		run traffic(0);
		run traffic(1);
		run clock()
	}
end:	do
	:: requests(0, 1)
	:: requests(1, 0)

	/* provider_nic.c: poll_mailbox(): completions that are there, then the events before them */
	:: atomic { ready && (nempty(evt) || nempty(cpl)) -> seen = len(evt) }
#ifndef MUTANT_10
		do
		:: d_step { nempty(cpl) -> completion(); seen = len(evt) }
		:: empty(cpl) -> break
		od;
#else
		if
		:: d_step { nempty(cpl) -> completion() }
		:: true
		fi;
#endif
		do
		:: d_step { seen && nempty(evt) && ROOM -> event(); seen-- }
		:: !seen || empty(evt) || !ROOM -> seen = 0; break
		od

	/* check_alive(): failed, or not the NIC we started */
	:: d_step { ready &&
		(nic_state == FAILED || driver_epoch != epoch) -> start(i) }

	/* the driver is killed and comes back; memory stays as it was */
	:: d_step { lost -> lost--; start(i) }

	/* poll_starting() */
	:: d_step { !ready && nic_state == READY && reset_ack == reset_req ->
		ready = 1;
		driver_epoch = epoch;
		pins[0] = 0; /* unic_proc_reset(): safe now */
		pins[1] = 0 }
	od
}

/* INV-8: what has begun to end ends, within the drain bound */
ltl drains { [] ((mr[0].st == DRAINING) -> (<> (mr[0].st != DRAINING))) }
