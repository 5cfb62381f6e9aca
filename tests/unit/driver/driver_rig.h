/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * driver_rig.h - what the tests of the portable host driver stand on: the driver
 * against a device that is a piece of memory, whose NIC the test plays, well or
 * badly; and its peers' side of connections. One process, whose client is
 * @client. Host only.
 */
#ifndef DRIVER_RIG_H
#define DRIVER_RIG_H

#include "cm/cm_mad.h"
#include "cm/grants.h"

/* Process slots of the device, bytes of each, and replies that are kept. */
#define SLOTS	   2u
#define SLOT_BYTES (1u << 20)
#define REPLIES	   64u

/*
 * The OS under the driver: what it says, and counts of the calls of its
 * functions.
 */
struct unic_os {
	uint64_t now_ns;
	uint32_t rings, upcalls, quiet, replies, fail_alloc, audited, randoms;
	uint32_t same_randoms; /* so many are as the one before */
	uint64_t all_random;   /* not 0: 8 bytes are drawn from it */
	char audit[128];       /* the last line of the log of calls */
	bool mapped;	       /* a process has its old slot mapped */
	long live;	       /* allocations */
	uint32_t *hide;	       /* becomes 0 when so many bytes are allocated */
	size_t hide_at;
	void (*on_ring)(void); /* somebody else at work */
	uint64_t reply[REPLIES][UNIC_CTL_MSG_MAX / 8];
	uint32_t reply_bytes[REPLIES];
};

/*
 * A device: its memory, the NIC's own copies of its indices, and the driver
 * over it.
 */
struct fake {
	struct unic_os os;
	struct unic_host *host;
	struct unic_client client;
	uint8_t *bar;
	void *slot[SLOTS], *journal;
	uint32_t cmd_head, cpl_tail, evt_tail, epoch, commands;
	uint8_t answer[64];	 /* status by opcode */
	uint64_t cpl[64][8];	 /* completion template by opcode */
	uint64_t last[64][8];	 /* last command by opcode */
	uint32_t given[64];	 /* commands by opcode */
	uint64_t modified[8][8]; /* last QP_MODIFY by state */
	bool lists;		 /* `listed` is the answer in a list page */
	uint8_t listed[UNIC_LIST_BYTES];
};

/* What the NIC says of itself, in the device's memory. */
struct unic_info *info(struct fake *f);

/* The NIC's indices, in the device's memory. */
struct unic_nic_idx *idx(struct fake *f);

/* The page of the device that the driver writes. */
struct unic_driver_page *driver(struct fake *f);

/* Puts @rec, 64 bytes, as the next completion. */
void complete(struct fake *f, const uint64_t *rec);

/*
 * The NIC executes what the driver asked, with the answers of the tables of
 * @f; or it resets.
 */
void nic_run(struct fake *f);

/* Lets NIC and driver run until neither has anything to do. */
void settle(struct fake *f);

/*
 * A new driver over the device and the journal of @f; @f->host and @f->client.
 */
void start_driver(struct fake *f);

/* A device that is ready, and a driver for it. End it with fake_delete(). */
struct fake *fake_new(void);

/* Ends driver and device; all that the driver allocated must be free. */
void fake_delete(struct fake *f);

/*
 * Sends one request of the client, @rec of 64 bytes. Returns the status of its
 * reply, or -1: none yet.
 */
int request(struct fake *f, uint16_t op, void *rec);

/* The word at byte @at of the first reply. */
uint32_t reply_u32(struct fake *f, uint32_t at);

/* Flags of the next HELLO. */
extern uint32_t hello_flags;

/* HELLO of the client, with hello_flags. */
void hello(struct fake *f);

/* Where the process's memory is. */
#define VA 0x100000ull

/* Residency mode of the next region. */
extern uint8_t residency;

/*
 * A PD, 8 frames at VA, and a region over the first @pages of them, after a
 * HELLO. Returns its id.
 */
uint32_t region(struct fake *f, uint32_t pages);

/* Pages of the client's process that are pinned. */
uint32_t pinned(struct fake *f);

/* Puts @evt, 64 bytes, as the next event; nobody runs. */
void put_event(struct fake *f, const void *evt);

/* The NIC says event @evt, 64 bytes, as it is. */
void nic_says(struct fake *f, const void *evt);

/* The NIC says @evt, in its present epoch. */
void event(struct fake *f, void *evt);

/*
 * An event of @type about the region with the driver's @id, as the NIC would
 * say it: region 3, sequence 77.
 */
struct unic_evt_mr notice(uint32_t id, uint8_t type);

/* The @n-th upcall of the client's process, from 0. */
const uint8_t *upcall(struct fake *f, uint32_t n);

/* The next request needs memory: what the driver keeps to spare is gone. */
void no_spare(struct fake *f);

/* The address of the peer. */
#define PEER 0x0a000002u

/*
 * Puts @msg as a datagram from address @ipv4 and the MAC address that ends in
 * @mac; nobody runs.
 */
void put_mad(struct fake *f, uint32_t ipv4, uint8_t mac,
	     const struct unic_cm_msg *msg);

/* @msg comes from address @ipv4 and the MAC address that ends in @mac. */
void mad_from_mac(struct fake *f, uint32_t ipv4, uint8_t mac,
		  const struct unic_cm_msg *msg);

/* @msg comes from address @ipv4. */
void mad_from(struct fake *f, uint32_t ipv4, const struct unic_cm_msg *msg);

/* The bytes of the datagram that the driver sent last. */
const uint8_t *bytes_sent(struct fake *f);

/* What the driver sent last, which must be a datagram. */
struct unic_cm_msg mad_sent(struct fake *f);

/* The type of the @n-th upcall, 0 if there is none yet. */
uint8_t upcall_type(struct fake *f, uint32_t n);

/*
 * A device with a REQ of PEER, @req, for a listener of ours, that waits to be
 * accepted.
 */
struct fake *requested(struct unic_cm_msg *req);

/* @ms milliseconds pass. */
void pass(struct fake *f, uint64_t ms);

/* Hands a request to the driver while the NIC does not look. */
void ask(struct fake *f, uint16_t op, void *rec);

/* The status of the only reply. */
uint32_t reply_status(struct fake *f);

/*
 * An asynchronous wait of one page that the NIC queued as wait 4. Returns the
 * id of the region.
 */
uint32_t waiting(struct fake *f);

/*
 * The event by which the NIC grants wait 4 for the region with the driver's
 * @id.
 */
struct unic_evt_wait granted(uint32_t id);

/*
 * Asks for a token of region @mr: the NIC's index 6, with @key; not settled
 * yet.
 */
void ask_token(struct fake *f, uint32_t mr, uint64_t key);

/* Set-up of a test: each HELLO asks that the process be kept. */
int keep(void **state);

/* Tear-down of a test: HELLOs ask for nothing. */
int no_keep(void **state);

/* The NIC fails and is not reset yet; MR_REG has answers of a new life. */
void fail_nic(struct fake *f);

/* The latest MR_REG that the NIC was given. */
struct unic_cmd_mr_reg last_reg(struct fake *f);

/* The state of region @id; UINT32_MAX if there is none. */
uint32_t region_state(struct fake *f, uint32_t id);

/*
 * A CQ and a QP as @qp says in region @mr, both number 5 of the NIC. Returns
 * the status.
 */
uint8_t queues_as(struct fake *f, uint32_t mr, struct unic_ctl_qp_create qp);

/*
 * A CQ and a QP of 16 slots in region @mr, both number 5 of the NIC. Returns
 * the QP's id.
 */
uint32_t queues(struct fake *f, uint32_t mr);

/* The far end of a connection. */
struct peer {
	uint32_t ipv4, comm; /* its id of the connection */
	uint32_t conn;	     /* ours, as our process knows it */
	uint32_t ours;	     /* ours on the wire */
	uint32_t qpn;	     /* of our QP */
};

/* A connection of @p, of which @ipv4 and @comm are set, to our listener, up. */
void peer_connects(struct fake *f, struct peer *p, uint32_t mr);

/*
 * The driver's connection with address @ipv4, of any process; NULL if there is
 * none.
 */
struct conn *conn_with(struct fake *f, uint32_t ipv4);

/* One of our processes asks for a connection to PEER; the REQ. */
struct unic_cm_msg connecting(struct fake *f);

/* The REP that PEER answers @req. */
struct unic_cm_msg reply_of(const struct unic_cm_msg *req);

/* The client has a region, @mr, and listens at service 4711. */
void listens(struct fake *f, uint32_t *mr);

/* Leads to a connection that PEER asked for and we accepted; the REP. */
struct unic_cm_msg accepted(struct fake *f);

/* A message of PEER about the connection that @ours, of ours, is of. */
struct unic_cm_msg message(uint16_t type, const struct unic_cm_msg *ours);

/*
 * Leads to a connection that PEER asked for and we accepted; the message of
 * @type that fits it.
 */
struct unic_cm_msg to_confirm(struct fake *f, uint16_t type);

/*
 * Leads to a connection that we asked PEER for; the message of @type that
 * answers it.
 */
struct unic_cm_msg to_answer(struct fake *f, uint16_t type);

/*
 * Leads to a connection that PEER asked for and that is up; the message of
 * @type that fits it.
 */
struct unic_cm_msg to_end(struct fake *f, uint16_t type);

/*
 * Leads to a connection that was up and that we end; the message of @type that
 * fits it.
 */
struct unic_cm_msg to_part(struct fake *f, uint16_t type);

/* The latest message of @type that was sent to @p; false if none was. */
bool told(struct fake *f, const struct peer *p, uint16_t type,
	  struct unic_grants_msg *msg);

#endif /* DRIVER_RIG_H */
