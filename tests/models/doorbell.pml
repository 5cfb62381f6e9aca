/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * doorbell.pml - the FIFO of doorbell words of one process, and its overrun:
 * which words the NIC may believe, while the process goes on without waiting.
 *
 * A word says of which object the tail moved; how far is in a table. The writer
 * never waits: if the NIC does not keep up, words are overwritten, and the NIC,
 * which sees by their number that this was so or may have been, looks at the
 * whole table.
 *
 * Memory as in mailbox.pml: the process has a store buffer (FIFO, as in TSO)
 * that empties at any later time. The handshake of a NIC that sleeps is there,
 * too; here it looks again for as long as there is something new.
 *
 * FIFO stands for UNIC_DB_FIFO, OBJS for UNIC_DB_OBJECTS; the process rings RINGS
 * times, for any object each time. SB stores fit into the store buffer.
 *
 * @bounds small: -DFIFO=2 -DOBJS=2 -DRINGS=5 -DSB=2
 * @bounds full: -DFIFO=3 -DOBJS=3 -DRINGS=7 -DSB=2
 * @mutant 1: INV-1: the oldest word of a full FIFO is believed
 * @mutant 2: INV-1: there is no second look after the words were read
 * @mutant 3: INV-1: a word is published before it is stored
 * @mutant 4: INV-1: a tail is stored after its word is published
 * @mutant 5: INV-1: after an overrun only the words that are left are rung
 */
#define SEQ   0		  /* fifo_seq */
#define WORD  1		  /* fifo[] */
#define TAIL  (WORD + FIFO) /* tail[] */
#define WORDS (TAIL + OBJS)

byte mem[WORDS];
chan sb = [SB] of { byte, byte };
byte rung[OBJS]; /* by the process, for each object */
byte seen[OBJS]; /* the tail that the NIC has seen last */

proctype memory()
{
	byte where, what;

end:	do
	:: atomic { sb?where, what -> mem[where] = what; where = 0; what = 0 }
	od
}

#define PUT(where, what) atomic { nfull(sb) -> sb!where, what }

/* unic_db_ring(), append_db_word() of libunic; ring() of kio_ring.c */
active proctype process()
{
	byte seq, obj;

	run memory();
	do
	:: seq < RINGS ->
		select(obj : 0 .. OBJS - 1);
		rung[obj]++;
#ifndef MUTANT_4
		PUT(TAIL + obj, rung[obj]);
#endif
#ifdef MUTANT_3
		PUT(SEQ, seq + 1);
		PUT(WORD + seq % FIFO, obj);
#else
		PUT(WORD + seq % FIFO, obj);
		PUT(SEQ, seq + 1);
#endif
#ifdef MUTANT_4
		PUT(TAIL + obj, rung[obj]);
#endif
		atomic { seq++; obj = 0 };
		empty(sb) /* full barrier, then it looks at `asleep` */
	:: else -> break
	od
}

#ifdef MUTANT_1
#define INTACT FIFO
#else
#define INTACT (FIFO - 1)
#endif

/* ring_object(), ring_row() */
inline ring(o)
{
	seen[o] = mem[TAIL + o]
}

/* unic_proc_take(); poll_doorbells() of provider_loop_data.c */
active proctype nic()
{
	byte taken, seq, at, n, what;

end:	do
	:: atomic { mem[SEQ] != taken -> seq = mem[SEQ]; n = seq - taken };
		if
		:: n <= INTACT ->
			at = taken;
			do /* ring_words() */
			:: at != seq ->
				what = mem[WORD + at % FIFO];
				ring(what);
				at++
			:: else -> break
			od;
#ifndef MUTANT_2
			n = mem[SEQ] - taken /* the second look */
#endif
		:: else
		fi;
		taken = seq;
		if
		:: n > INTACT -> /* ring_all() */
#ifdef MUTANT_5
			what = mem[WORD + (seq - 1) % FIFO];
			ring(what);
#else
			at = 0;
			do
			:: at < OBJS -> ring(at); at++
			:: else -> break
			od
#endif
		:: else
		fi;
		atomic { seq = 0; at = 0; n = 0; what = 0 }
	od
}

/* Nobody can move: the NIC has seen every tail. */
active proctype at_rest()
{
	byte obj;

	timeout ->
	do
	:: obj < OBJS ->
		assert(seen[obj] == rung[obj]); /* INV-1 */
		obj++
	:: else -> break
	od
}
