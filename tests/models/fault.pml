/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fault.pml - pages that operations wait for: an access that finds no entry, the
 * slot that asks for the page, the driver that pins it and answers, pages that are
 * dropped for others, pages that the process unmaps, the end of the region.
 *
 * There is one index of a region, which has one life after the other (its
 * generation), and two pages. Ghost: pin[p] - the frame of page p is pinned, of
 * the life that the driver knows.
 *
 * LIVES registrations; OPS operations by each of two queue pairs; SLOTS of misses;
 * ROOM entries; DROPS records fit in the drop ring; UNMAPS times a process unmaps
 * a page; LATERS times a frame must be loaded first; TAKES times the NIC drops a
 * page for another process. If BUSYS, it may have no room though it could drop a
 * page. If STOPS, which is for one slot, the driver may stop for ever. It may also keep the region for ever.
 * EVICTS times the NIC takes the region back unasked, whatever the driver is about to
 * say; ENDS times a queue pair ends while it waits, and another has its number.
 *
 * @bounds small: -DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=1 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=0
 * @bounds small: -DLIVES=1 -DOPS=1 -DSLOTS=2 -DROOM=1 -DDROPS=2 -DUNMAPS=1 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=0
 * @bounds full: -DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=1 -DLATERS=0 -DBUSYS=0 -DTAKES=1 -DSTOPS=1
 * @bounds full: -DLIVES=1 -DOPS=1 -DSLOTS=2 -DROOM=1 -DDROPS=3 -DUNMAPS=0 -DLATERS=1 -DBUSYS=1 -DTAKES=1 -DSTOPS=0
 * @bounds small: -DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=0 -DEVICTS=1 -DENDS=1
 * @bounds full: -DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=3 -DUNMAPS=1 -DLATERS=0 -DBUSYS=0 -DTAKES=1 -DSTOPS=0 -DEVICTS=1 -DENDS=1
 * @bounds full: -DLIVES=1 -DOPS=1 -DSLOTS=2 -DROOM=1 -DDROPS=3 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=1 -DSTOPS=0 -DEVICTS=1 -DENDS=2
 * @mutant 1 (-DLIVES=1 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=1 -DSTOPS=0): INV-10: drops are read after the record that they came before
 * @mutant 2: INV-20: the place of a fault whose region ended stays taken
 * @mutant 3: INV-10: who asked before an unmapping is not asked for again
 * @mutant 4: INV-10: the end of a region wakes nobody
 * @mutant 5 (-DLIVES=1 -DOPS=1 -DSLOTS=2 -DROOM=1 -DDROPS=3 -DUNMAPS=0 -DLATERS=0 -DBUSYS=1 -DTAKES=0 -DSTOPS=0): INV-10: a page on its way in another answer counts as there
 * @mutant 6 (-DLIVES=1 -DOPS=1 -DSLOTS=2 -DROOM=2 -DDROPS=1 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=2 -DSTOPS=0): INV-17: a page is taken without room for its drop
 * @mutant 7: INV-14: an unmapped page is unpinned when the NIC is asked, not when it answers
 * @mutant 8 (-DLIVES=1 -DOPS=1 -DSLOTS=2 -DROOM=1 -DDROPS=3 -DUNMAPS=0 -DLATERS=0 -DBUSYS=1 -DTAKES=0 -DSTOPS=0): INV-14: what the NIC took of a refused answer is unpinned
 * @mutant 9: INV-14: a page that is in an answer under way is pinned again
 * @mutant 10: INV-10: who found no slot is never woken
 * @mutant 11 (-DLIVES=1 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=1): INV-10: a driver that does not answer is waited for
 * @mutant 12 (-DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=0 -DEVICTS=1 -DENDS=1): INV-18: a slot wakes the queue pair that has the number of one that ended
 * @mutant 13 (-DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=0 -DEVICTS=1 -DENDS=1): INV-18: one that was woken wakes the next of its number
 * @mutant 14 (-DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=0 -DEVICTS=1 -DENDS=1): INV-18: one without a slot leaves its place to the next of its number
 * @mutant 15 (-DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=0 -DEVICTS=1 -DENDS=1): INV-10: the end of a queue pair ends the miss of who waits for the same page
 * @mutant 16 (-DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=0 -DEVICTS=1 -DENDS=1): INV-10: a region that is taken back wakes nobody
 * @mutant 17 (-DLIVES=2 -DOPS=1 -DSLOTS=1 -DROOM=1 -DDROPS=2 -DUNMAPS=0 -DLATERS=0 -DBUSYS=0 -DTAKES=0 -DSTOPS=0 -DEVICTS=1 -DENDS=1): INV-14: EVICTED is told before the entries are gone
 */
#ifndef ENDS
#define ENDS 0
#endif
#ifndef EVICTS
#define EVICTS 0
#endif
#define QPS    2
#define PAGES  2
#define PLACES (4 * SLOTS) /* of the driver, for faults */
#define OPEN   3 /* commands under way */
#define EVTS   1

/* enum unic_fault_state */
#define FREE   0
#define DUE    1
#define SENT   2
#define FAILED 3

typedef slot {
	byte st, page, count;
	byte qps; /* a bit for each queue pair that waits */
}
slot s[SLOTS];

/* The region at the NIC: its generation (0: none), is it DRAINING, its entries. */
byte life, seq;
bit draining;
bit cached[PAGES];
byte used_room;

byte starved, woken;
bit waits[QPS];
byte page_of[QPS], ops[QPS];

#define REG	   1 /* life */
#define DEREG	   2
#define FAULT	   3 /* life, first, n (0: cannot), seq, place, turn */
#define INVALIDATE 4
mtype = { OK, PENDING, NO_MR, STALE, BUSY };
chan cmd = [OPEN] of { byte, byte, byte, byte, byte, byte, byte };
/* op, place or page, turn, status, done */
chan cpl = [OPEN] of { byte, byte, byte, mtype, byte };
#define MISS	1
#define EVICTED 2
/* type, life, first, count, seq */
chan evt = [EVTS] of { byte, byte, byte, byte, byte };
chan drop = [DROPS] of { byte, byte }; /* life, page */

/* The driver's region: its generation (0: none), pages that it has pinned. */
byte known, lives;
bit ending, revoked, registering, stopped, keeps;
bit left; /* a fault waits to be answered */
bit pin[PAGES];
byte unmaps = UNMAPS, laters = LATERS, takes = TAKES;
byte evicts = EVICTS, ends = ENDS;

typedef place {
	bit used, under_way;
	byte turn, life, page, count, seq, sent;
}
place f[PLACES];

#define BIT(k) (1 << (k))

/* ------------------------------------------------------------------- NIC */

/* wake_qps(), unic_fault_end() */
inline fault_end(i, state)
{
	s[i].st = state;
	woken = woken | s[i].qps;
	s[i].qps = 0;
#ifndef MUTANT_10
	woken = woken | starved;
	starved = 0
#endif
}

/* unic_fault_raise(), take_slot(), open_fault() */
inline raise(k)
{
	i = 0;
	do /* unic_fault_find() */
	:: i < SLOTS && s[i].st != FREE && page_of[k] >= s[i].page &&
	   page_of[k] < s[i].page + s[i].count -> break
	:: i < SLOTS && !(s[i].st != FREE && page_of[k] >= s[i].page &&
			  page_of[k] < s[i].page + s[i].count) -> i++
	:: i == SLOTS -> break
	od;
	if
	:: i < SLOTS && s[i].st == FAILED -> waits[k] = 0 /* ENOPAGE */
	:: i < SLOTS && s[i].st != FAILED -> s[i].qps = s[i].qps | BIT(k)
	:: i == SLOTS ->
		i = 0;
		do /* take_free(): of those that failed, any */
		:: i < SLOTS && (s[i].st == FREE || s[i].st == FAILED) -> break
		:: i < SLOTS && s[i].st != FREE && s[i].st != FAILED -> i++
		:: i == SLOTS -> break
		od;
		if
		:: i == SLOTS -> starved = starved | BIT(k)
		:: i < SLOTS ->
			s[i].st = DUE;
			s[i].page = page_of[k];
			s[i].qps = BIT(k);
			if
			:: s[i].count = 1
			:: s[i].count = PAGES - page_of[k] /* ahead */
			fi
		fi
	fi;
	i = 0
}

inline access(k)
{
	if
	:: !life || draining -> waits[k] = 0 /* it ends with an error */
	:: life && !draining && cached[page_of[k]] ->
		assert(known == life && pin[page_of[k]]); /* INV-14 */
		waits[k] = 0
	:: life && !draining && !cached[page_of[k]] -> raise(k)
	fi
}

/* drop_entry(): the driver hears of it otherwise */
inline drop_page(gone)
{
	cached[gone] = 0;
	used_room--
}

/* drop_entry(), with a record in the drop ring */
inline drop_told(gone)
{
	drop_page(gone);
	assert(nfull(drop)); /* INV-17 */
	drop!life, gone
}

/* unic_cache_strip(), unic_fault_mr_gone() */
inline strip()
{
	p = 0;
	do
	:: p < PAGES ->
		if
		:: cached[p] -> drop_page(p)
		:: !cached[p]
		fi;
		p++
	:: p == PAGES -> break
	od;
	i = 0;
	do
	:: i < SLOTS ->
#if defined(MUTANT_4) || defined(MUTANT_16)
		s[i].st = FREE;
		s[i].qps = 0;
#else
		if
		:: s[i].st != FREE -> fault_end(i, FREE)
		:: s[i].st == FREE
		fi;
#endif
		i++
	:: i == SLOTS -> break
	od;
	life = 0;
	draining = 0;
	i = 0;
	p = 0
}

/* unic_fault_forget(): queue pair k ends, and the next one of its number begins. */
inline qp_end(k)
{
	i = 0;
	do
	:: i < SLOTS ->
#ifdef MUTANT_15
		if
		:: s[i].qps & BIT(k) ->
			s[i].st = FREE;
			s[i].qps = 0
		:: !(s[i].qps & BIT(k))
		fi;
#endif
#ifndef MUTANT_12
		s[i].qps = s[i].qps & (255 - BIT(k));
#endif
		i++
	:: i == SLOTS -> break
	od;
	i = 0;
#ifndef MUTANT_14
	starved = starved & (255 - BIT(k));
#endif
#ifndef MUTANT_13
	woken = woken & (255 - BIT(k));
#endif
	waits[k] = 0;
	ops[k] = 0
}

/* Can an entry be dropped to make room for a page? Nothing is dropped that was just
 * brought in (WANTED). */
#ifdef MUTANT_6
#define DROP_ROOM true
#else
#define DROP_ROOM (DROPS - len(drop) > used_room)
#endif

/* unic_cache_insert() of pages first.. to first + n; done */
inline insert_pages(first, n)
{
	done = 0;
	status = OK;
	do
	:: done == n -> break
	:: done < n && cached[first + done] -> done++
	:: done < n && !cached[first + done] && (BUSYS || !DROP_ROOM) ->
		status = BUSY;
		break
	:: done < n && !cached[first + done] && DROP_ROOM ->
		if
		:: used_room == ROOM -> drop_told(1 - (first + done))
		:: used_room < ROOM
		fi;
		cached[first + done] = 1;
		used_room++;
		done++
	od
}

/* end_faults(), fail_faults(): slots whose first page is one of these */
inline end_slots(first, n, state)
{
	i = 0;
	do
	:: i < SLOTS ->
		if
		:: s[i].st != FREE && s[i].page >= first &&
		   s[i].page < first + n && (state == FREE || s[i].st != FAILED) ->
			fault_end(i, state)
		:: else
		fi;
		i++
	:: i == SLOTS -> break
	od;
	i = 0
}

/* unic_fault_refused() */
inline exec_fault()
{
	done = 0;
	if
	:: gen != life || !life || draining -> status = NO_MR
	:: gen == life && life && !draining && q != seq -> status = STALE
#if UNMAPS
	:: gen == life && life && !draining && q == seq && !n ->
		status = OK;
		end_slots(first, 1, FAILED)
#endif
	:: gen == life && life && !draining && q == seq && n ->
		insert_pages(first, n);
		end_slots(first, done, FREE)
	fi
}

/* unic_fault_invalidate() of page first */
inline exec_invalidate()
{
	done = 0;
	if
	:: gen != life || !life || draining -> status = NO_MR
	:: gen == life && life && !draining ->
		status = OK;
		seq = 1 - seq;
		if
		:: cached[first] -> drop_page(first)
		:: !cached[first]
		fi;
#ifndef MUTANT_3
		i = 0;
		do
		:: i < SLOTS ->
			if
			:: s[i].st == SENT -> s[i].st = DUE
			:: s[i].st != SENT
			fi;
			i++
		:: i == SLOTS -> break
		od;
		i = 0
#endif
	fi
}

/* unic_evict_give_up(): at once, or when what holds it has ended */
inline exec_dereg()
{
	done = 0;
#if EVICTS
	if
	:: gen != life ->
		assert(!life || gen < life); /* INV-15 */
		status = NO_MR /* EVICTED was told before */
	:: gen == life && draining -> status = PENDING
	:: gen == life && !draining -> skip;
		if
		:: strip();
		   status = OK
		:: draining = 1;
		   status = PENDING
		fi
	fi
#else
	assert(gen == life && !draining); /* INV-15 */
	if
	:: strip();
	   status = OK
	:: draining = 1;
	   status = PENDING
	fi
#endif
}

inline exec()
{
	if
	:: op == REG ->
		assert(!life); /* INV-15 */
		life = gen;
		done = 0;
		status = OK
	:: op == DEREG -> exec_dereg()
	:: op == FAULT -> exec_fault()
#if UNMAPS
	:: op == INVALIDATE -> exec_invalidate()
#endif
	fi
}

active proctype nic()
{
	byte i, k, p, op, gen, first, n, q, pl, turn, done;
	mtype status;
#ifdef MUTANT_17
	bit late;
#endif

end:
	do
	:: atomic { woken -> /* unic_fault_take_woken() */
		k = 0;
		do
		:: woken & BIT(k) -> break
		:: !(woken & BIT(k)) -> k++
		od;
		woken = woken & (255 - BIT(k));
		assert(waits[k]); /* INV-18 */
		access(k);
		k = 0
	   }
	:: atomic { nempty(cmd) && nfull(cpl) ->
		cmd?op, gen, first, n, q, pl, turn;
		exec();
		cpl!op, (op == FAULT -> pl : first), turn, status, done;
		op = 0; gen = 0; first = 0; n = 0; q = 0; pl = 0; turn = 0;
		done = 0; status = 0
	   }
	:: atomic { nfull(evt) && draining -> /* finish_eviction() */
		evt!EVICTED, life, 0, 0, 0;
		strip()
	   }
	:: atomic { nfull(evt) && s[0].st == DUE -> /* publish_fault() */
		evt!MISS, life, s[0].page, s[0].count, seq;
		s[0].st = SENT
	   }
#if SLOTS > 1
	:: atomic { nfull(evt) && s[1].st == DUE ->
		evt!MISS, life, s[1].page, s[1].count, seq;
		s[1].st = SENT
	   }
#endif
#if EVICTS
	:: atomic { evicts && life && !draining -> /* unic_evict_cut() */
		evicts--;
		draining = 1
	   }
#ifdef MUTANT_17
	:: atomic { nfull(evt) && draining && !late ->
		late = 1;
		draining = 0;
		evt!EVICTED, life, 0, 0, 0
	   }
	:: atomic { late -> late = 0; strip() }
#endif
#endif
#if ENDS
	:: atomic { ends && waits[0] -> ends--; qp_end(0) }
	:: atomic { ends && waits[1] -> ends--; qp_end(1) }
#endif
#if TAKES
	:: atomic { takes && cached[0] -> /* unic_cache_take() */
		takes--;
		drop_told(0)
	   }
	:: atomic { takes && cached[1] ->
		takes--;
		drop_told(1)
	   }
#endif
#if STOPS && !defined(MUTANT_11)
	:: atomic { stopped && (s[0].st == DUE || s[0].st == SENT) ->
		fault_end(0, FAILED) /* H is over */
	   }
#endif
	:: atomic { s[0].st == FAILED -> s[0].st = FREE } /* another H */
#if SLOTS > 1
	:: atomic { s[1].st == FAILED -> s[1].st = FREE }
#endif
	od
}

/* Operations of two queue pairs. */
active proctype traffic()
{
	byte i;

end:
	do
	:: atomic { !waits[0] && ops[0] < OPS && life ->
		ops[0]++;
		waits[0] = 1;
		page_of[0] = 0;
		access(0)
	   }
	:: atomic { !waits[1] && ops[1] < OPS && life ->
		ops[1]++;
		waits[1] = 1;
		if
		:: page_of[1] = 0
		:: page_of[1] = 1
		fi;
		access(1)
	   }
	od
}

/* ---------------------------------------------------------------- driver */

inline unpin(gone)
{
	assert(!(life == known && cached[gone])); /* INV-14 */
	pin[gone] = 0
}

/* deliver_drops(), unic_region_fault_dropped() */
inline deliver_drops()
{
	do
	:: nempty(drop) ->
		drop?gen, p;
		if
		:: gen == known ->
			assert(pin[p]); /* INV-14 */
			unpin(p)
		:: gen != known /* never: it was read before its region ended */
		fi
	:: empty(drop) -> break
	od;
	gen = 0;
	p = 0
}

/* The region has ended: its pages go. */
inline forget()
{
	p = 0;
	do
	:: p < PAGES ->
		if
		:: pin[p] -> unpin(p)
		:: !pin[p]
		fi;
		p++
	:: p == PAGES -> break
	od;
	p = 0;
	known = 0;
	ending = 0;
	revoked = 0
}

/* fault_done() */
inline fault_done()
{
	if
	:: f[pl].used && f[pl].turn == turn ->
		if
		:: f[pl].life == known ->
#ifdef MUTANT_8
			done = (status == BUSY -> 0 : done);
#endif
			p = done;
			do
			:: p < f[pl].sent ->
				if
				:: pin[f[pl].page + p] -> unpin(f[pl].page + p)
				:: !pin[f[pl].page + p]
				fi;
				p++
			:: p >= f[pl].sent -> break
			od;
			f[pl].under_way = 0;
			f[pl].used = (status == BUSY && !done);
			left = left || f[pl].used
		:: f[pl].life != known ->
#ifndef MUTANT_2
			f[pl].under_way = 0;
			f[pl].used = 0
#else
			skip
#endif
		fi
	:: !(f[pl].used && f[pl].turn == turn)
	fi;
	p = 0
}

inline completion()
{
	if
	:: op == REG ->
		known = lives;
		registering = 0
#if EVICTS
	:: op == DEREG && status == NO_MR /* EVICTED is to be read, or was */
	:: op == DEREG && status == OK -> forget()
#else
	:: op == DEREG && status != PENDING -> forget()
#endif
	:: op == DEREG && status == PENDING /* EVICTED follows */
	:: op == INVALIDATE ->
		revoked = 0; /* of a region that ended, too */
		if
		:: status == OK && turn == known && pin[pl] -> unpin(pl)
		:: !(status == OK && turn == known && pin[pl])
		fi
	:: op == FAULT -> fault_done()
	fi
}

inline send_answer(x, pages)
{
	f[x].sent = pages;
	f[x].turn = 1 - f[x].turn;
	f[x].under_way = 1;
	cmd!FAULT, f[x].life, f[x].page, pages, f[x].seq, x, f[x].turn
}

/* count_pages_to_send(): in `way`, a bit for each page that is among those of another
 * answer under way. That one may fail. */
inline find_on_way()
{
	way = 0;
#ifndef MUTANT_5
	o = 0;
	do
	:: o < PLACES && f[o].used && f[o].under_way && f[o].life == known ->
		p = f[o].page;
		do
		:: p < f[o].page + f[o].sent ->
			way = way | BIT(p);
			p++
		:: p >= f[o].page + f[o].sent -> break
		od;
		o++
	:: o < PLACES && !(f[o].used && f[o].under_way && f[o].life == known) ->
		o++
	:: o == PLACES -> break
	od;
	o = 0;
	p = 0
#endif
}
#ifdef MUTANT_9
#define ON_ITS_WAY(x) ((way & BIT(x)) && pin[x])
#else
#define ON_ITS_WAY(x) (way & BIT(x))
#endif

/* answer_fault(), pin_run() */
inline answer(x)
{
	find_on_way();
	if
	:: f[x].life != known -> f[x].used = 0
	:: f[x].life == known && ON_ITS_WAY(f[x].page) /* later: it may fail */
	:: f[x].life == known && !ON_ITS_WAY(f[x].page) && pin[f[x].page] ->
		f[x].used = 0
	:: f[x].life == known && !ON_ITS_WAY(f[x].page) &&
	   !pin[f[x].page] ->
		if
#if LATERS
		:: laters -> laters-- /* its frame is being loaded */
#endif
#if UNMAPS
		:: unmaps < UNMAPS -> /* it is not mapped any more */
			send_answer(x, 0)
#endif
		:: true ->
			m = 0;
			do
			:: m < f[x].count && !pin[f[x].page + m] &&
			   !ON_ITS_WAY(f[x].page + m) ->
				pin[f[x].page + m] = 1;
				m++
			:: m == f[x].count || pin[f[x].page + m] ||
			   ON_ITS_WAY(f[x].page + m) -> break
			od;
			send_answer(x, m);
			m = 0
		fi
	fi;
	way = 0
}

/* unic_region_fault_poll(): those that could not be answered when they came. */
#define IS_LEFT(x) (f[x].used && !f[x].under_way)
inline answer_left()
{
	left = 0;
	pl = 0;
	do
	:: pl < PLACES ->
		if
		:: IS_LEFT(pl) && len(cmd) < OPEN -> answer(pl)
		:: !(IS_LEFT(pl) && len(cmd) < OPEN)
		fi;
		pl++
	:: pl == PLACES -> break
	od;
	pl = 0;
	do
	:: pl < PLACES ->
		left = left || IS_LEFT(pl);
		pl++
	:: pl == PLACES -> break
	od;
	pl = 0
}

/* unic_region_fault_miss(), find_fault_slot() */
inline miss()
{
	pl = 0;
	do /* is_same_fault() */
	:: pl < PLACES && f[pl].used && !f[pl].under_way &&
	   f[pl].life == gen && f[pl].page == first -> break
	:: pl < PLACES && !(f[pl].used && !f[pl].under_way &&
			    f[pl].life == gen && f[pl].page == first) -> pl++
	:: pl == PLACES -> break
	od;
	if
	:: pl == PLACES ->
		pl = 0;
		do
		:: pl < PLACES && !f[pl].used -> break
		:: pl < PLACES && f[pl].used -> pl++
		:: pl == PLACES -> break
		od
	:: pl < PLACES
	fi;
	if
	:: pl == PLACES ->
		pl = 0;
		do /* find_victim_fault() */
		:: pl < PLACES && !f[pl].under_way -> break
		:: pl < PLACES && f[pl].under_way -> pl++
		:: pl == PLACES -> break
		od
	:: pl < PLACES
	fi;
	if
	:: pl < PLACES ->
		f[pl].used = 1;
		f[pl].under_way = 0;
		f[pl].life = gen;
		f[pl].page = first;
		f[pl].count = n;
		f[pl].seq = q;
		f[pl].sent = 0;
		if
		:: nfull(cmd) -> answer(pl)
		:: full(cmd) /* it is kept until there is room */
		fi;
		left = left || f[pl].used && !f[pl].under_way
	:: pl == PLACES -> skip /* never: more faults than the NIC may have open */
	fi;
	pl = 0
}

active proctype driver()
{
	byte p, op, gen, first, n, m, o, q, pl, turn, done, way;
	mtype status;

	if
	:: keeps = 1
	:: keeps = 0
	fi;
end:
	do
	:: atomic { nempty(cpl) ->
		cpl?op, pl, turn, status, done;
#ifndef MUTANT_1
		deliver_drops();
#endif
		completion();
#ifdef MUTANT_1
		deliver_drops();
#endif
		op = 0; pl = 0; turn = 0; status = 0; done = 0
	   }
	:: atomic { empty(cpl) && nempty(evt) ->
		evt?op, gen, first, n, q;
#ifndef MUTANT_1
		pl = gen;
		deliver_drops();
		gen = pl;
		pl = 0;
#endif
		if
		:: op == MISS && gen == known && known -> miss()
		:: op == MISS && !(gen == known && known)
		:: op == EVICTED && gen == known -> forget()
		:: op == EVICTED && gen != known /* never */
		fi;
#ifdef MUTANT_1
		deliver_drops();
#endif
		op = 0; gen = 0; first = 0; n = 0; q = 0
	   }
	:: atomic { nfull(cmd) && left -> answer_left() }
	:: atomic { nfull(cmd) && !known && !registering && lives < LIVES ->
		lives++;
		registering = 1;
		cmd!REG, lives, 0, 0, 0, 0, 0
	   }
	:: atomic { nfull(cmd) && known && !ending && !keeps ->
		ending = 1;
		cmd!DEREG, known, 0, 0, 0, 0, known
	   }
#if UNMAPS
	:: atomic { nfull(cmd) && known && !ending && !revoked && unmaps &&
		    pin[0] -> /* invalidate_pages() */
		unmaps--;
		revoked = 1;
#ifdef MUTANT_7
		unpin(0);
#endif
		cmd!INVALIDATE, known, 0, 1, 0, 0, known
	   }
#endif
#if STOPS
	:: atomic { true -> stopped = 1; break }
#endif
	od
}

/* No process can take a step. */
active proctype at_rest()
{
	byte i;

end:
	timeout ->
	atomic {
		assert(!waits[0] && !waits[1]); /* INV-10 */
		assert(!starved && !woken); /* INV-20 */
		i = 0;
		do
		:: i < PLACES ->
			assert(stopped || !f[i].used); /* INV-20 */
			i++
		:: i == PLACES -> break
		od;
		i = 0;
		do
		:: i < SLOTS ->
			assert(s[i].st == FREE); /* INV-20 */
			i++
		:: i == SLOTS -> break
		od
	}
}
