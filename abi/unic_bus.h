/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_bus.h - how a driver in user mode attaches to the motherboard,
 * unic-bus: messages over a Unix SOCK_SEQPACKET socket (DIR/attach).
 *
 * unic-bus owns the mailbox memory, the memory of the process slots and the
 * doorbells (event fds); a driver comes and goes. Every message is 32 bytes;
 * descriptors travel with it (SCM_RIGHTS). The first message is HELLO or
 * REFUSED; after REFUSED the bus closes the socket. After HELLO comes one
 * NIC_JOINED per NIC that is there, then NIC_JOINED and NIC_LEFT as they happen.
 * The driver sends RENEW only; each is answered by one RENEWED, any other message
 * by REFUSED. A driver that does not read its messages is cut off. End of file
 * means that the bus is gone.
 *
 * The NIC's side is QEMU's ivshmem protocol, version 0, on
 * DIR/ivshmem. The host is peer 0 there for ever,
 * whether a driver is attached or not; a NIC is peer 1 (a second one 2, ...).
 * Vectors of both: 0 = the mailbox, 1 + p = process slot p.
 *
 * A NIC that can exchange the memory of a slot while it runs attaches to DIR/nic
 * instead. That is the same protocol with one message more, in both directions:
 * the number UNIC_BUS_WINDOW - p. To the NIC, with a descriptor: the memory of
 * slot p, for each p before its own doorbells, and later whenever it was renewed.
 * From the NIC, without: it has that mapped, and the memory of before no more.
 *
 * A host that is a machine (unic-bus --guest) is peer 0 itself, by the same
 * protocol on DIR/guest, and there is no DIR/attach. Its RAM is one memory file,
 * DMA window 0 of the NIC: a bus address is an address of the machine. It is not
 * told who joins and leaves, but its vector 0 is rung then, for it to look at
 * unic_info.magic. When it rings vector 0 of peer 7, which nobody else can, the bus
 * ends the NICs: their processes are killed. That they have no memory any more is
 * said by unic_info.magic, which is 0 then, as after any NIC that left.
 */
#ifndef UNIC_BUS_H
#define UNIC_BUS_H

#include "unic_types.h"

#define UNIC_BUS_VERSION \
	2u /* of each message. The receiver of another version reports both
	    * numbers and ends the connection */
#define UNIC_BUS_SLOTS_MAX 24u /* each is a PCI function of the NIC's machine */
#define UNIC_BUS_PEER_HOST 0u  /* ivshmem number of the host */
#define UNIC_BUS_PEER_NIC  1u  /* of the first NIC */
#define UNIC_BUS_WINDOW	   (-2) /* minus p: memory of slot p, on DIR/nic */
#define UNIC_BUS_PEER_END  7u	/* nobody: rung by a guest to end the NICs */

enum unic_bus_type {
	UNIC_BUS_HELLO = 1,	 /* to the driver, first: struct
				  * unic_bus_hello */
	UNIC_BUS_REFUSED = 2,	 /* to the driver, the last message: struct
				  * unic_bus_refused */
	UNIC_BUS_NIC_JOINED = 3, /* to the driver, a NIC is there: struct
				  * unic_bus_nic */
	UNIC_BUS_NIC_LEFT = 4,	 /* to the driver, a NIC is gone: struct
				  * unic_bus_nic */
	UNIC_BUS_RENEW = 5,	 /* of the driver: struct unic_bus_slot; any
				  * other message from it is answered REFUSED */
	UNIC_BUS_RENEWED = 6,	 /* to the driver, for each RENEW: struct
				  * unic_bus_slot */
};

/* First 8 bytes of every message. */
struct unic_bus_hdr {
	unic_le16 type;	   /* enum unic_bus_type */
	unic_le16 version; /* UNIC_BUS_VERSION of its sender */
	unic_le32 fds;	   /* descriptors that came along */
};

/*
 * HELLO. 2 * (1 + slots) descriptors, now the driver's: the mailbox, slot 0,
 * ..., slot N-1 (sealed memory files), then the event fds of the host's
 * vectors 0, ..., N. The event fds do not block; they may be readable at once,
 * when the NIC rang while nobody was attached.
 * If `joint` is 1 all memory is one file, for a NIC whose machine has room for one
 * only: the mailbox, then the slots in their order, without gaps. Whoever has a
 * descriptor of a slot has it all, then.
 */
struct unic_bus_hello {
	struct unic_bus_hdr hdr;
	unic_le32 slots;      /* N, 1..UNIC_BUS_SLOTS_MAX */
	unic_le32 bar_bytes;  /* of the mailbox memory, a power of two,
			       * UNIC_BAR_BYTES at least */
	unic_le64 slot_bytes; /* of each slot, a power of two, 65536 at least */
	unic_le32 bus_pid;    /* process number of the bus, for reports */
	unic_le32 joint;      /* 1: all memory is one file; else 0 */
};

/* REFUSED. No descriptors. */
struct unic_bus_refused {
	struct unic_bus_hdr hdr;
	unic_le32 reason;     /* enum unic_bus_refusal */
	unic_le32 holder_pid; /* BUSY: the driver that is attached; else 0 */
	unic_le32 rsvd[4];
};

enum unic_bus_refusal {
	UNIC_BUS_BUSY = 1,	    /* one driver at a time */
	UNIC_BUS_OTHER_VERSION = 2, /* the driver sent a message of another
				     * version than this answer has */
	UNIC_BUS_MALFORMED = 3,	    /* the driver sent a message of another type
				     * than RENEW, or not of 32 bytes */
};

/*
 * NIC_JOINED. 1 + slots descriptors, now the driver's: the doorbells of the
 * NIC, to be written (an 8-byte 1), vectors 0, ..., N. NIC_LEFT: none; the
 * doorbells of that peer are dead and should be closed. When the last NIC has
 * left, the bus clears unic_info.magic, so that a dead NIC does not look alive;
 * the rest of the mailbox memory, a crash record for instance, stays as it was.
 */
struct unic_bus_nic {
	struct unic_bus_hdr hdr;
	unic_le32 peer; /* ivshmem number of the NIC, 1..6 */
	unic_le32 rsvd[5];
};

/*
 * RENEW, driver to bus: slot `slot` is to have other memory, of zeros. The driver
 * asks when nothing of the one that had it is left on the NIC. RENEWED comes with
 * one descriptor, now the driver's, when no NIC has the old memory mapped any
 * more; or with none, and then nothing changed: a NIC is there that cannot
 * exchange memory, all memory is one file, or the bus is out of descriptors. A
 * NIC that stands still holds up RENEWED until it goes on, or ends. One that
 * attaches to DIR/ivshmem later than RENEWED has the new memory.
 */
struct unic_bus_slot {
	struct unic_bus_hdr hdr;
	unic_le32 slot; /* 0..N-1; RENEWED of another has no descriptor */
	unic_le32 rsvd[5];
};

UNIC_ABI_AT(unic_bus_hdr, fds, 4);
UNIC_ABI_SIZE(unic_bus_hdr, 8);
UNIC_ABI_AT(unic_bus_hello, slots, 8);
UNIC_ABI_AT(unic_bus_hello, bar_bytes, 12);
UNIC_ABI_AT(unic_bus_hello, slot_bytes, 16);
UNIC_ABI_AT(unic_bus_hello, bus_pid, 24);
UNIC_ABI_AT(unic_bus_hello, joint, 28);
UNIC_ABI_SIZE(unic_bus_hello, 32);
UNIC_ABI_AT(unic_bus_refused, reason, 8);
UNIC_ABI_SIZE(unic_bus_refused, 32);
UNIC_ABI_AT(unic_bus_nic, peer, 8);
UNIC_ABI_SIZE(unic_bus_nic, 32);
UNIC_ABI_AT(unic_bus_slot, slot, 8);
UNIC_ABI_SIZE(unic_bus_slot, 32);

#endif /* UNIC_BUS_H */
