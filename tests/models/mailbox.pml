/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mailbox.pml - the rings between driver and NIC: indices, records, doorbell
 * and interrupt suppression, the event credit kept for evictions.
 *
 * Memory is weak: each side has a store buffer (FIFO, as in TSO) that empties
 * at any later time, so a load may overtake the side's own earlier stores
 * unless a full barrier stands between. Stores among themselves and loads
 * among themselves stay in order: that is what unic_wmb() and unic_rmb() are
 * for, and the mutants that lack one swap the two accesses. No side reads a
 * word that it writes itself, so nothing is forwarded.
 *
 * The heartbeat (nic.c: run_timers(), every 50 ms) is left out, because it would
 * hide a doorbell that was slept through.
 *
 * RING stands for UNIC_CMD_ENTRIES and UNIC_CPL_ENTRIES, EVTS for
 * UNIC_EVT_ENTRIES; CMDS commands are given, ORD ordinary events and EVI
 * evictions happen, SB stores fit into a store buffer.
 *
 * @bounds small: -DRING=1 -DEVTS=2 -DCMDS=2 -DORD=2 -DEVI=1 -DSB=1
 * @bounds full: -DRING=2 -DEVTS=3 -DCMDS=3 -DORD=2 -DEVI=2 -DSB=2
 * @mutant 1: INV-1: set_armed() has no barrier between flag and last look
 * @mutant 2: INV-1: wake_nic() has no barrier between index and flag
 * @mutant 3: INV-1: the NIC sleeps without a look after arming
 * @mutant 4: INV-1: unic_mbox_flush() has no barrier before want_irq
 * @mutant 5: INV-1: the driver's wish has no barrier before its last look
 * @mutant 6: INV-11: no event credit is kept for evictions
 * @mutant 7 (-DRING=1 -DEVTS=2 -DCMDS=0 -DORD=0 -DEVI=3 -DSB=1): INV-11: an eviction waits for room on the event ring
 * @mutant 8: INV-13: an index is published before its record
 * @mutant 9: INV-13: room is given back before the record is copied
 * @mutant 10: INV-13: a command slot is reused before its completion is read
 */
#ifdef MUTANT_6
#define KEPT 0
#else
#define KEPT 1 /* UNIC_EVT_RESERVED */
#endif

/* What lies in the BAR. */
#define CMD_TAIL 0 /* driver page: written by the driver */
#define CPL_HEAD 1
#define EVT_HEAD 2
#define WANT_IRQ 3
#define CMD_REC	 4
#define CPL_TAIL (CMD_REC + RING) /* written by the NIC */
#define EVT_TAIL (CPL_TAIL + 1)
#define ASLEEP	 (CPL_TAIL + 2)
#define CPL_REC	 (CPL_TAIL + 3)
#define EVT_REC	 (CPL_REC + RING)
#define WORDS	 (EVT_REC + EVTS)

byte mem[WORDS];
chan sb_driver = [SB] of { byte, byte };
chan sb_nic = [SB] of { byte, byte };
bool bell, irq; /* doorbell and interrupt, latched */

/* A record says what it is: commands 1.., ordinary events 1.., evictions 17.. */
#define EVICTION 16

byte asked, answered; /* driver: commands written, completions read */
byte got_ord, got_evi; /* driver: events read */
byte freed;	       /* NIC: evictions whose entries are free */
byte ord_left = ORD;   /* NIC: ordinary events still to happen */
bool deaf;	       /* the driver has stopped for good */

#define PUT(sb, where, what) sb!where, what

proctype memory(chan sb)
{
	byte where, what;

end:	do
	:: atomic { sb?where, what -> mem[where] = what; where = 0; what = 0 }
	od
}

/* ------------------------------------------------------------------- NIC */

#define USED		(evt_tail - evt_head)
#define ROOM(keep)	(USED < EVTS - (keep))
#define ROOM_NOW(keep)	(evt_tail - mem[EVT_HEAD] < EVTS - (keep))

/* write_record(): the record, barrier, the index */
inline write_record(base, index, text, count, size)
{
#ifdef MUTANT_8
	atomic { nfull(sb_nic) -> PUT(sb_nic, index, count + 1) }
	atomic { nfull(sb_nic) -> PUT(sb_nic, base + count % size, text) }
#else
	atomic { nfull(sb_nic) -> PUT(sb_nic, base + count % size, text) }
	atomic { nfull(sb_nic) -> PUT(sb_nic, index, count + 1) }
#endif
	d_step { count++; irq_due = true; worked = true }
}

/* nic.c: poll_mailbox() */
inline poll_commands()
{
	atomic { tail = mem[CMD_TAIL]; assert(tail - cmd_head <= RING) /* INV-13 */ }
	do
	:: cmd_head != tail ->
		if /* cpl_room(): adopt_head() only when it looks full */
		:: cpl_tail - cpl_head < RING -> skip
		:: else -> cpl_head = mem[CPL_HEAD]
		fi;
		if
		:: cpl_tail - cpl_head >= RING -> break
		:: else
		fi;
		atomic {
			rec = mem[CMD_REC + cmd_head % RING];
			assert(rec == cmd_head + 1) /* INV-13 */
		}
		write_record(CPL_REC, CPL_TAIL, rec, cpl_tail, RING);
		cmd_head++
	:: else -> break
	od
}

/* unic_mbox_event() of anything but NOTICE and EVICTED */
inline publish_ordinary()
{
	if
	:: ROOM(KEPT) -> skip
	:: else -> evt_head = mem[EVT_HEAD]
	fi;
	if
	:: ROOM(KEPT) ->
		write_record(EVT_REC, EVT_TAIL, ord_sent + 1, evt_tail, EVTS);
		d_step {
			evi_there = evi_there & ~(1 << ((evt_tail - 1) % EVTS));
			ord_sent++;
			ord_due--
		}
	:: else
	fi
}

/* unic_mbox_event() of an EVICTED; a refused one stays a bit (evict.c:
 * defer_event()) */
inline publish_eviction()
{
	if
	:: ROOM(0) -> skip
	:: else -> evt_head = mem[EVT_HEAD]
	fi;
#ifdef MUTANT_7
	ROOM_NOW(0) -> evt_head = mem[EVT_HEAD];
#endif
	if
	:: ROOM(0) ->
		write_record(EVT_REC, EVT_TAIL, EVICTION + evi_sent + 1,
			     evt_tail, EVTS);
		d_step {
			evi_there = evi_there | 1 << ((evt_tail - 1) % EVTS);
			evi_sent++;
			evi_due--
		}
	:: else -> /* refused only by evictions that nobody has read */
		assert(evi_there) /* INV-11 */
	fi
}

/* unic_mbox_flush() */
inline flush()
{
	if
	:: irq_due ->
		irq_due = false;
#ifndef MUTANT_4
		empty(sb_nic); /* unic_mb() */
#endif
		if
		:: mem[WANT_IRQ] -> irq = true
		:: else
		fi
	:: else
	fi
}

/* set_armed(): the flag, full barrier; the next round is the look (INV-1) */
inline arm(on)
{
	atomic { nfull(sb_nic) -> PUT(sb_nic, ASLEEP, on); armed = on }
#ifndef MUTANT_1
	empty(sb_nic)
#else
	skip
#endif
}

active proctype nic()
{
	byte cmd_head, cpl_tail, cpl_head, evt_tail, evt_head, tail, rec;
	byte evi_left = EVI;   /* evictions still to happen */
	byte ord_due, evi_due; /* happened, record not on the ring */
	byte ord_sent, evi_sent;
	byte evi_there; /* bit per event slot: an EVICTED was written last */
	bool irq_due, worked, armed;

	run memory(sb_driver);
	run memory(sb_nic);
	do
	:: d_step { worked = false; rec = 0 } /* unic_nic_poll() */
		poll_commands(); /* poll_round() */
		tail = 0;
		if /* run_timers(): what happens because time passes */
		:: ord_left -> d_step { ord_left--; ord_due++ }
		:: evi_left -> d_step { evi_left--; freed++; evi_due++ }
		:: true
		fi;
		if
		:: ord_due -> publish_ordinary()
		:: else
		fi;
		if
		:: evi_due -> publish_eviction()
		:: else
		fi;
		if
		:: worked ->
			flush();
			if
			:: armed -> arm(false)
			:: else
			fi
		:: !worked && !armed ->
			arm(true);
#ifdef MUTANT_3
			goto end_sleep
#endif
		:: !worked && armed ->
end_sleep:		atomic {
				if /* virt_port_sleep(): doorbell or timer */
				:: bell -> bell = false
				:: ord_left || evi_left
				:: ord_due && ROOM_NOW(KEPT) /* RETRY_NS */
				:: evi_due && ROOM_NOW(0)
				fi
			}
#ifdef MUTANT_3
			arm(false)
#endif
		fi
	od
}

/* ---------------------------------------------------------------- driver */

/* unic_mbox_client_submit(): put_command(), wake_nic() */
inline submit()
{
	atomic { nfull(sb_driver) ->
		PUT(sb_driver, CMD_REC + asked % RING, asked + 1) }
	atomic { nfull(sb_driver) ->
		PUT(sb_driver, CMD_TAIL, asked + 1); asked++ }
#ifndef MUTANT_2
	empty(sb_driver); /* unic_os_mb() */
#endif
	if
	:: mem[ASLEEP] -> bell = true
	:: else
	fi
}

/* unic_mbox_client_reap(): one completion after the other */
inline reap()
{
	do
	:: atomic { mem[CPL_TAIL] != their_cpl ->
		assert(mem[CPL_TAIL] - their_cpl <= RING) /* INV-13 */ }
#ifdef MUTANT_9
		atomic { nfull(sb_driver) ->
			PUT(sb_driver, CPL_HEAD, their_cpl + 1) }
#endif
		atomic {
			rec = mem[CPL_REC + their_cpl % RING];
			assert(rec == answered + 1); /* INV-13, each once */
			answered++;
			their_cpl++
		}
#ifndef MUTANT_9
		atomic { nfull(sb_driver) ->
			PUT(sb_driver, CPL_HEAD, their_cpl) }
#endif
	:: else -> break
	od
}

/* unic_mbox_client_event() until what was seen is read */
inline events()
{
	do
	:: their_evt != seen ->
#ifdef MUTANT_9
		atomic { nfull(sb_driver) ->
			PUT(sb_driver, EVT_HEAD, their_evt + 1) }
#endif
		atomic {
			rec = mem[EVT_REC + their_evt % EVTS];
			if
			:: rec > EVICTION ->
				assert(rec == EVICTION + got_evi + 1); /* INV-4 */
				got_evi++
			:: else ->
				assert(rec == got_ord + 1); /* INV-13 */
				got_ord++
			fi;
			their_evt++
		}
#ifndef MUTANT_9
		atomic { nfull(sb_driver) ->
			PUT(sb_driver, EVT_HEAD, their_evt) }
#endif
	:: else -> break
	od
}

#ifdef MUTANT_10
#define OPEN (asked - answered < RING + 1)
#else
#define OPEN (asked - answered < RING) /* has_room() */
#endif

active proctype driver()
{
	byte their_cpl, their_evt, seen, rec; /* m->cpl_head, evt_head ... */

	do
	:: atomic { nfull(sb_driver) -> PUT(sb_driver, WANT_IRQ, 0) }
		seen = mem[EVT_TAIL];
		reap();
		events();
		if
		:: asked < CMDS && OPEN -> submit()
		:: true
		fi;
		/* nic_rest(): unic_mbox_client_irq(true) */
		atomic { nfull(sb_driver) -> PUT(sb_driver, WANT_IRQ, 1) }
#ifndef MUTANT_5
		empty(sb_driver); /* unic_os_mb() */
#endif
		if
		:: atomic { mem[CPL_TAIL] != their_cpl -> seen = 0; rec = 0 }
		:: mem[CPL_TAIL] == their_cpl ->
			if
			:: atomic { mem[EVT_TAIL] != their_evt ->
				seen = 0; rec = 0 }
			:: atomic { mem[EVT_TAIL] == their_evt ->
				seen = 0; rec = 0 }
end_sleep:			atomic {
					if
					:: irq -> irq = false
					:: asked < CMDS && OPEN
					fi
				}
			fi
		fi
	:: atomic { true -> deaf = true; break } /* killed, or stopped for ever */
	od
}

/* ------------------------------------------------------------- properties */

/* Nobody can move: then nothing is left to do. */
active proctype at_rest()
{
	timeout ->
	/* INV-11: evictions need no driver, and the NIC waits for none */
	assert(freed == EVI && ord_left == 0 && nic@end_sleep);
	if
	:: deaf
	:: else ->
		/* INV-1, each command answered once */
		assert(asked == CMDS && answered == CMDS);
		/* INV-1, INV-4: each event read once */
		assert(got_ord == ORD && got_evi == EVI)
	fi
}
