/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ranks.c - a program of MPI: a token around the ring of ranks, everybody to everybody with 1 byte
 * to 1 MiB, and messages of 1 MiB to the next rank. Every byte is compared. Rank 0 prints
 * "N ranks, N wrong bytes"; the exit status is 1 if there are any.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define BIG    (1 << 20)
#define ROUNDS 5

static int me, ranks;
static long wrong;

static unsigned char byte_of(int from, int to, int at)
{
	return (unsigned char)(from * 31 + to * 7 + at * 13 + (at >> 8));
}

static unsigned char *alloc(size_t bytes)
{
	unsigned char *mem = calloc(1, bytes);

	if (!mem)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return mem;
}

static void fill(unsigned char *to, int peer, int bytes, int round)
{
	int i;

	for (i = 0; i < bytes; i++)
		to[i] = byte_of(me, peer, i + round);
}

static void compare(const unsigned char *from, int peer, int bytes, int round)
{
	int i;

	for (i = 0; i < bytes; i++)
		wrong += from[i] != byte_of(peer, me, i + round);
}

/* Each rank adds one to it. */
static void send_around(void)
{
	int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
	int token = 0;

	if (me) {
		MPI_Recv(&token, 1, MPI_INT, before, 1, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		token++;
		MPI_Send(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
		return;
	}
	MPI_Send(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
	MPI_Recv(&token, 1, MPI_INT, before, 1, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	wrong += token != ranks - 1;
}

static void all_to_all(int bytes)
{
	size_t all = (size_t)bytes * (size_t)ranks;
	unsigned char *out = alloc(all), *in = alloc(all);
	int peer;

	for (peer = 0; peer < ranks; peer++)
		fill(out + (size_t)peer * (size_t)bytes, peer, bytes, 0);
	MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
	for (peer = 0; peer < ranks; peer++)
		compare(in + (size_t)peer * (size_t)bytes, peer, bytes, 0);
	free(out);
	free(in);
}

static void to_the_next(void)
{
	unsigned char *out = alloc(BIG), *in = alloc(BIG);
	int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		fill(out, next, BIG, round);
		MPI_Sendrecv(out, BIG, MPI_BYTE, next, 2, in, BIG, MPI_BYTE,
			     before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		compare(in, before, BIG, round);
	}
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	long all = 0;
	int bytes;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	send_around();
	for (bytes = 1; bytes <= BIG; bytes *= 32)
		all_to_all(bytes);
	to_the_next();
	MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (!me)
		printf("%d ranks, %ld wrong bytes\n", ranks, all);
	MPI_Finalize();
	return all != 0;
}
