/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_port.h - the whole seam between the portable core and a machine.
 *
 * firmware/ calls these functions and nothing else outside itself (mem*()
 * from the C library apart). Every implementation (hal/virt, hal/soft,
 * hal/fake) defines all of them; they are bound at link time. `struct
 * unic_port` is the implementation's own: two NICs in one process are two
 * ports.
 *
 * Rules:
 *  - Calls go down, data comes up: a port never calls the core.
 *  - No call waits on hardware or on the host. A call that cannot do its work
 *    now says so.
 *  - A port bounds-checks every bus address it is given: a wild one is
 *    -UNIC_PORT_EFAULT, never an access.
 */
#ifndef UNIC_PORT_H
#define UNIC_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unic_port;

/* ------------------------------------------------------------- barriers */

/*
 * Named after their job. The mailbox, queues, doorbell pages and frame rings
 * are memory shared with another CPU, so C11 fences of the whole machine are
 * right for all of them.
 */

/* Reads that decide ("the index moved") before reads of what they guard. */
static inline void unic_rmb(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Writes of a record before the write that publishes it. */
static inline void unic_wmb(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* A write of the own flag before the read of the other side's (sleep/wake). */
static inline void unic_mb(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* One access, neither torn, repeated nor invented by the compiler. */
#define UNIC_READ_ONCE(x)     (*(const volatile __typeof__(x) *)&(x))
#define UNIC_WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

/* ----------------------------------------------------------------- time */

/**
 * unic_port_now_ns() - NIC time: nanoseconds since power-on, monotonic, never
 * stepping. Everything the core measures is in this clock.
 */
uint64_t unic_port_now_ns(struct unic_port *port);

/* ------------------------------------------------- memory shared by both */

/**
 * unic_port_bar() - the mailbox memory (abi/unic_mbox.h), at least
 * UNIC_BAR_BYTES, 4096-aligned, mapped for the life of the port.
 *
 * The host writes it at any time: fetch once, then decide.
 */
void *unic_port_bar(struct unic_port *port);

/**
 * unic_port_doorbells() - where the NIC reads the doorbell page and writes the
 * NIC page of a process (abi/unic_queue.h), two consecutive 4 KiB pages.
 * @bus: bus address, 4096-aligned.
 *
 * The pointer stays valid as long as the port lives; the memory is hostile.
 * Returns NULL if the two pages are not inside one DMA window.
 */
void *unic_port_doorbells(struct unic_port *port, uint64_t bus);

/* ------------------------------------------------------------------ DMA */

enum unic_port_dma_dir {
	UNIC_DMA_FROM_HOST = 0,
	UNIC_DMA_TO_HOST = 1,
};

enum unic_port_status {
	UNIC_PORT_OK = 0,
	UNIC_PORT_PENDING = 1, /* will be reported by unic_port_dma_poll() */
	UNIC_PORT_EAGAIN =
		-1, /* no channel free: nothing happened, ask again */
	UNIC_PORT_EFAULT = -2, /* bus error: not (wholly) inside a DMA window */
};

/**
 * unic_port_dma() - move @len bytes between NIC memory and host memory.
 * @bus:   host bus address. Top 16 bits: window number, low 48: offset in it.
 * @local: NIC memory; must stay valid until completion.
 * @len:   1 .. UNIC_DMA_MAX (8192) bytes; never crosses a 4 KiB host page
 *         unless the pages are contiguous, which the core ensures.
 * @tag:   returned by unic_port_dma_poll() if the call answers PENDING.
 *
 * Order: writes to the host become visible in the order submitted, and within
 * one write the last (aligned) 4 bytes not before the rest; so a completion
 * record whose valid word comes last is safe to write in one call.
 *
 * Returns an enum unic_port_status. On EAGAIN and EFAULT nothing was moved.
 */
int unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir,
		  uint64_t bus, void *local, uint32_t len, uint32_t tag);

/**
 * unic_port_dma_poll() - next finished transfer that had answered PENDING.
 * @status: UNIC_PORT_OK or UNIC_PORT_EFAULT.
 * Returns false if none is finished.
 */
bool unic_port_dma_poll(struct unic_port *port, uint32_t *tag, int *status);

/**
 * unic_port_window() - where the CPU sees host memory [@bus, @bus + @len), on a
 * port whose unic_port_dma() is nothing but a copy by the CPU, over when the
 * call returns. The core may then copy itself, and keeps the order that
 * unic_port_dma() keeps: unic_wmb() before each write, and before its last word.
 * @len: not 0.
 *
 * The memory is the host's: read once, then decide. The pointer stays valid as
 * long as the port lives. NULL if this port, or this moment, has no such view,
 * or unless all of it is inside one DMA window: use unic_port_dma().
 */
void *unic_port_window(struct unic_port *port, uint64_t bus, uint32_t len);

#define UNIC_DMA_MAX	      8192u
#define UNIC_BUS(window, off) ((uint64_t)(window) << 48 | (off))
#define UNIC_BUS_WINDOW(bus)  ((uint32_t)((bus) >> 48))
#define UNIC_BUS_OFFSET(bus)  ((bus)&0xffffffffffffull)

/* ----------------------------------------------------------------- wire */

enum unic_port_frame_flags {
	/*
	 * The link guarantees integrity and both sides agreed to leave the ICRC
	 * out (architecture: only the shared-memory link). On transmit: the core
	 * left the four ICRC bytes zero. On receive: do not check them.
	 */
	UNIC_FRAME_NO_ICRC = 1u << 0,
};

struct unic_link {
	uint8_t mac[6]; /* address of the NIC on this link */
	bool up;
	bool icrc_offload; /* frames may carry UNIC_FRAME_NO_ICRC */
	bool slots; /* what a path is short of when it has no room: places of
		     * frames, each as good for a long frame as for a short one;
		     * false: time on a wire, by bytes */
	uint32_t max_frame; /* bytes from Ethernet header to ICRC; 0: no link */
};

struct unic_rx {
	/*
	 * From the Ethernet header on; address = 2 modulo 4, so that the IPv4
	 * header and everything behind it is 4-aligned. May be memory another
	 * party can still write: read each field once.
	 */
	const uint8_t *frame;
	uint32_t len;	/* bytes, at most unic_link.max_frame */
	uint32_t flags; /* UNIC_FRAME_* */
};

/** unic_port_link() - facts about the link; may change only before traffic. */
void unic_port_link(struct unic_port *port, struct unic_link *out);

/**
 * unic_port_path() - a number below UNIC_PATHS (board.h) that stands for "frames to this
 * address", so that a link with a ring per peer finds it without a search per
 * frame. Room is a matter of a path: if there is none for one frame along it,
 * there is none for any other.
 * @mac: destination; multicast and unknown addresses are valid too.
 * The number may be stale later; frames then still arrive, by a slower way.
 */
uint32_t unic_port_path(struct unic_port *port, const uint8_t mac[6]);

/**
 * unic_port_tx_get() - an empty frame buffer of unic_link.max_frame bytes,
 * address = 2 modulo 4, NIC or link memory, for one frame along @path.
 * Returns NULL when the link has no room: try at the next poll.
 * Every buffer got must be given back by unic_port_tx_put(), in any order, and
 * at most UNIC_TX_BUFS may be held at a time.
 */
uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path);

/**
 * unic_port_tx_put() - hand the frame to the link. @len 0 gives the buffer
 * back unsent. The core must not touch it afterwards.
 */
void unic_port_tx_put(struct unic_port *port, uint8_t *frame, uint32_t len,
		      uint32_t flags);

/* Empty buffers that lie @stride bytes apart, from @frame on. */
struct unic_tx_run {
	uint8_t *frame; /* as of unic_port_tx_get() */
	uint32_t stride;
	uint32_t n;
};

/**
 * unic_port_tx_run() - buffers for some frames along @path, all of one length.
 * Returns false when there are none, or the link has no such thing: use
 * unic_port_tx_get(). If true, unic_port_tx_run_put() is the next call about
 * sending.
 */
bool unic_port_tx_run(struct unic_port *port, uint32_t path,
		      struct unic_tx_run *run);

/**
 * unic_port_tx_run_put() - hand the first @n frames (0 .. run->n) of a run to
 * the link, @len bytes each, in order. The rest was never got.
 */
void unic_port_tx_run_put(struct unic_port *port, const struct unic_tx_run *run,
			  uint32_t n, uint32_t len, uint32_t flags);

/** unic_port_tx_flush() - wake the receivers of the frames that were put since the
 * last flush. */
void unic_port_tx_flush(struct unic_port *port);

/**
 * unic_port_rx_ready() - is a frame there? For a NIC that spins: touches nothing
 * but what a frame changes. True may be a mistake, false is not.
 */
bool unic_port_rx_ready(struct unic_port *port);

/**
 * unic_port_rx_next() - the oldest received frame not yet taken. Those taken
 * are held, UNIC_RX_BUFS at most, until unic_port_rx_done().
 *
 * What came in and is no frame (its length is impossible, its sender gave the
 * buffer back, it is damaged) is taken as a frame with @rx->len 0: it counts
 * against the caller's burst, so that a sender of nothing but such cannot keep
 * a poll round from ending, nor have frames slept through (INV-1).
 *
 * Returns false if there is none; while frames are held it may say so too
 * early.
 */
bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx);

/**
 * unic_port_rx_run() - take at most @max more frames, those that follow the one
 * taken last (@rx) in memory, *@stride bytes apart, and have its length and
 * flags. Returns how many; 0 says nothing about what is there.
 */
uint32_t unic_port_rx_run(struct unic_port *port, const struct unic_rx *rx,
			  uint32_t max, uint32_t *stride);

/**
 * unic_port_rx_more() - is there another frame behind the one taken last, which is held?
 * What the answer says may change at once; unic_port_rx_next() takes it.
 */
bool unic_port_rx_more(struct unic_port *port);

/** unic_port_rx_back() - the last @n frames of unic_port_rx_run() are not taken
 * after all. */
void unic_port_rx_back(struct unic_port *port, uint32_t n);

/** unic_port_rx_done() - the core is through with all frames taken so far. */
void unic_port_rx_done(struct unic_port *port);

/**
 * unic_port_rx_arm() - ask the link to interrupt for the next frame (@on) or
 * not to (!@on). The core arms before it reports that it may sleep and polls
 * once more after that, so no frame is slept through.
 */
void unic_port_rx_arm(struct unic_port *port, bool on);

#define UNIC_TX_BUFS 4u
#define UNIC_RX_BUFS 32u

/* ----------------------------------------------------------------- rest */

/** unic_port_ring() - interrupt the host: vector 0 driver, 1+p process p. */
void unic_port_ring(struct unic_port *port, uint32_t vector);

/**
 * unic_port_entropy() - up to @len random bytes from the board's source.
 * Returns how many there were; 0 if none now (or ever).
 */
uint32_t unic_port_entropy(struct unic_port *port, void *buf, uint32_t len);

/**
 * unic_port_panic() - an assertion of the firmware failed (UNIC_ASSERT). Writes
 * the crash record, tells the host, stops until the host resets the machine.
 * Does not return.
 */
void unic_port_panic(struct unic_port *port, const char *file, uint32_t line)
	__attribute__((noreturn));

#endif /* UNIC_PORT_H */
