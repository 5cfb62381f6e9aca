/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * priv.h - the state that the files of libunic share. What each of them does for the
 * others is in the header of its own name.
 *
 * Locks, in the order they may be taken: ctx.mem_lock, ctx.evt_lock,
 * cq.lock, ring.lock, qp.descs.lock or ctx.mender.lock, ctx.db_lock; ctx.wake_lock is taken alone, the lock of
 * unic_forks_off() alone or under mem_lock. A call to the
 * driver may be made under mem_lock and evt_lock only.
 */
#ifndef UNIC_LIB_PRIV_H
#define UNIC_LIB_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "conn.h"
#include "error.h"
#include "shared.h"
#include "unic.h"
#include "unic_ctl.h"
#include "wait.h"
#include "where.h"

#define UNIC_PAGE	4096u
#define UNIC_MR_HANDLES 4096u

struct unic_area; /* mem.c */
struct unic_note; /* event.c */

struct unic_mem_region;
struct unic_kept; /* fork.c */
struct unic_owed; /* owed.c */

/* The memory of the process slot: one range of pages of the driver's file. */
struct unic_slot {
	int fd;		/* -1: none */
	uint32_t first; /* its first page in the file */
	uint32_t pages;
};

/* The threads that mend connections (mend_thread.c). */
struct unic_mender {
	pthread_mutex_t lock;
	pthread_cond_t
		cond; /* a queue pair changed its state, or a thread ended */
	pthread_t watcher;
	bool runs;	   /* the watcher does */
	bool stop;	   /* all of them are to end */
	unsigned int busy; /* threads of queue pairs */
	int kick_efd;	   /* wakes the watcher; -1: there was none yet */
};

/* Whose malloc() is. */
enum unic_heap {
	UNIC_HEAP_UNKNOWN,
	UNIC_HEAP_OF_C, /* the C library's */
	UNIC_HEAP_ELSEWHERE,
};

struct unic_ctx {
	struct unic_ctx *next; /* of all contexts of this process */
	struct unic_conn *conn;
	int sock; /* of conn: readable when the driver has ended */
	struct unic_slot slot;
	int nic_efd; /* write: doorbell; -1: no NIC to ring */
	int evt_efd; /* readable: completions */
	int upcall_efd;
	struct unic_attr attr;
	struct unic_db_page *db;
	const struct unic_nic_page *np;
	const struct unic_upcall_ring *upcalls;
	uint32_t dead; /* atomic; not 0: NIC was reset or driver ended */
	bool kept;     /* made by unic_open_kept() */
	bool forked;   /* this is the child: the context is the parent's */
	char socket[UNIC_WHERE_MAX]; /* of the driver, PATH[,NIC] */
	uint32_t nic;		     /* number of NIC, or UNIC_NIC_NONE */

	pthread_mutex_t db_lock;
	uint32_t fifo_seq;
	uint64_t db_rows;	/* rows in use */
	struct unic_owed *owed; /* under db_lock */

	pthread_mutex_t wake_lock;
	pthread_cond_t wake_cond;
	uint32_t wake_seq;
	bool wake_leader;

	pthread_mutex_t mem_lock;
	struct unic_area *areas;
	bool left;  /* closed, with memory in the slot; forks are off */
	bool moved; /* memory of the process was in the slot; atomic */
	const uint8_t *cover, *cover_end; /* mem.c: not moved out now */
	enum unic_heap heap;		  /* once memory was moved */

	pthread_mutex_t evt_lock; /* events, handles, upcall position */
	int event_fd;		  /* epoll over the sources below */
	int note_efd;		  /* readable: a note is queued */
	struct unic_note *notes, **notes_end;
	uint32_t upcall_next; /* number of the next upcall to read; atomic */
	bool reset_told;
	struct unic_mem_region *region[UNIC_MR_HANDLES];
	uint16_t handle_gen[UNIC_MR_HANDLES];
	struct unic_qp *qp[UNIC_DB_OBJECTS]; /* by doorbell row */
	struct unic_cq *cq[UNIC_DB_OBJECTS];
	struct unic_srq *srq[UNIC_DB_OBJECTS];
	struct unic_listener *listeners;
	struct unic_pd *pds;
	struct unic_mender mender;

	struct {
		uint64_t ring_failed; /* doorbells that could not be written */
		uint64_t cqe_bad;     /* completions that cannot be */
		uint64_t upcalls;     /* read */
		uint64_t resyncs;     /* upcalls were lost */
	} count;
};

struct unic_pd {
	struct unic_ctx *ctx;
	struct unic_pd *next; /* of the context; under evt_lock */
	uint32_t id;
	unsigned int users; /* atomic */
};

/* What chooses the IOVA of a region's first byte. */
enum unic_mr_base {
	BASE_DRAWN,   /* the driver draws it */
	BASE_ADDRESS, /* its address */
	BASE_ZERO,    /* its offset in the page */
};

/* A region: what the application sees comes first. */
struct unic_mem_region {
	struct unic_mr mr;
	uint32_t life;	      /* enum unic_mr_life, atomic */
	uint32_t handle;      /* "user" of upcalls: 15:0 index, 31:16 gen */
	uint32_t wait_seq;    /* WAITING: seq of the request */
	uint32_t wait_status; /* its wait ended: enum unic_status */
	uint32_t notice_seq;  /* ASKED */
	uint64_t deadline_ns; /* ASKED, atomic */
	unsigned int refs;    /* under evt_lock */
	uint32_t resync;      /* number of the last resync whose rows had it */
	uint32_t old_stag;    /* derived: before the last posted request */
	uint64_t old_iova;
	uint8_t kind;	    /* enum unic_form_kind */
	bool known;	    /* the driver still has the object */
	bool leaving;	    /* MR_DEREG is under way; atomic */
	uint8_t base;	    /* enum unic_mr_base */
	uint8_t page_shift; /* 0 for derived regions */
};

#define UNIC_BACKLOG 64u /* connection requests that the driver keeps waiting */

struct unic_listener {
	struct unic_ctx *ctx;
	struct unic_listener *next;
	uint32_t id;
	/* the last connection requests delivered: a resync repeats none of them */
	uint32_t told[UNIC_BACKLOG], n_told;
};

static inline struct unic_mem_region *unic_mem_region(const struct unic_mr *mr)
{
	return (struct unic_mem_region *)mr;
}

static inline unsigned int unic_pow2(unsigned int n)
{
	unsigned int p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

#endif /* UNIC_LIB_PRIV_H */
