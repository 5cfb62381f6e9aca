/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * driver_rig.h - the set-up of the tests of the portable host driver: the driver
 * over a device that is a piece of memory, whose NIC and whose peers the test
 * plays, correctly or not. One process, whose client is @client. Host only.
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
 * The OS under the driver: its results, and counts of the calls of its functions.
 */
struct unic_os {
	uint64_t now_ns;
	uint32_t rings, upcalls, quiet, replies, fail_alloc, audited, randoms;
	uint32_t same_randoms; /* draws to come that repeat the one before */
	uint64_t all_random;   /* not 0: seed of draws of 8 bytes */
	char audit[128];       /* the last line of the audit log */
	bool mapped;	       /* a process maps its old slot */
	long live;	       /* allocations that are not freed */
	uint32_t *hide;	       /* set to 0 when so many bytes are allocated */
	size_t hide_at;
	/* runs in the middle of a ring, as another CPU */
	void (*on_ring)(void);
	uint64_t reply[REPLIES][UNIC_CTL_MSG_MAX / 8];
	uint32_t reply_bytes[REPLIES];
};

/* A device: its memory, the NIC's copies of its indices, and the driver over it. */
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
	bool lists;		 /* the answer in a list page is `listed` */
	uint8_t lists_of; /* of commands with this opcode alone; 0: all */
	uint8_t listed[UNIC_LIST_BYTES];
};

/* The info page of the device. */
struct unic_info *info(struct fake *f);

/* The indices that the NIC writes, in the device's memory. */
struct unic_nic_idx *idx(struct fake *f);

/* The page of the device that the driver writes. */
struct unic_driver_page *driver(struct fake *f);

/* Puts @rec, 64 bytes, as the next completion. */
void complete(struct fake *f, const uint64_t *rec);

/*
 * Executes the commands of the driver, with the answers in the tables of @f; or
 * resets the NIC.
 */
void nic_run(struct fake *f);

/* Executes one command of the driver, which must be there. */
void nic_step(struct fake *f);

/* Runs NIC and driver until both have no work. */
void settle(struct fake *f);

/*
 * Starts a driver over the device and the journal of @f; sets @f->host and
 * @f->client.
 */
void start_driver(struct fake *f);

/* A device that is ready, with a driver. fake_delete() ends it. */
struct fake *fake_new(void);

/* Ends driver and device; the driver must have freed all memory. */
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

/* Address of the process's memory. */
#define VA 0x100000ull

/* Residency mode of the next region. */
extern uint8_t residency;

/*
 * HELLO, a PD, 8 frames at VA, and a region over the first @pages of them.
 * Returns its id.
 */
uint32_t region(struct fake *f, uint32_t pages);

/* The number of pinned pages of the client's process. */
uint32_t pinned(struct fake *f);

/* Puts @evt, 64 bytes, as the next event, without running the driver. */
void put_event(struct fake *f, const void *evt);

/* Puts event @evt, 64 bytes, unchanged, and runs the driver. */
void nic_says(struct fake *f, const void *evt);

/* Puts @evt, in the NIC's epoch, and runs the driver. */
void event(struct fake *f, void *evt);

/*
 * An event of @type about the region with the driver's @id, as a NIC sends it:
 * region 3, sequence 77.
 */
struct unic_evt_mr notice(uint32_t id, uint8_t type);

/* The @n-th upcall of the client's process, from 0. */
const uint8_t *upcall(struct fake *f, uint32_t n);

/* Frees the driver's spare memory, so that the next request must allocate. */
void no_spare(struct fake *f);

/* Address of the peer. */
#define PEER 0x0a000002u

/*
 * Puts @msg as a datagram from address @ipv4 and the MAC address that ends in
 * @mac, without running the driver.
 */
void put_mad(struct fake *f, uint32_t ipv4, uint8_t mac,
	     const struct unic_cm_msg *msg);

/* Puts @msg from address @ipv4 and the MAC address that ends in @mac, and runs
 * the driver. */
void mad_from_mac(struct fake *f, uint32_t ipv4, uint8_t mac,
		  const struct unic_cm_msg *msg);

/* Puts @msg from address @ipv4, and runs the driver. */
void mad_from(struct fake *f, uint32_t ipv4, const struct unic_cm_msg *msg);

/* The bytes of the last datagram of the driver. */
const uint8_t *bytes_sent(struct fake *f);

/* The last message of the driver, which must be a datagram. */
struct unic_cm_msg mad_sent(struct fake *f);

/* The type of the @n-th upcall, 0 if there is none yet. */
uint8_t upcall_type(struct fake *f, uint32_t n);

/*
 * A device with a REQ of PEER, @req, for a listener of the client, which has not
 * accepted it.
 */
struct fake *requested(struct unic_cm_msg *req);

/* Lets @ms milliseconds pass. */
void pass(struct fake *f, uint64_t ms);

/* Hands a request to the driver without running the NIC. */
void ask(struct fake *f, uint16_t op, void *rec);

/* The status of the only reply. */
uint32_t reply_status(struct fake *f);

/*
 * An asynchronous registration of one page, which the NIC queued as wait 4.
 * Returns the id of the region.
 */
uint32_t waiting(struct fake *f);

/* The event that grants wait 4 for the region with the driver's @id. */
struct unic_evt_wait granted(uint32_t id);

/*
 * Requests a token of region @mr: the NIC's index 6, with @key; without running
 * the NIC.
 */
void ask_token(struct fake *f, uint32_t mr, uint64_t key);

/* Set-up of a test: each HELLO has the flag that keeps the process. */
int keep(void **state);

/* Tear-down of a test: HELLOs have no flags. */
int no_keep(void **state);

/* The NIC fails and is not reset; MR_REG has the answers of a new life. */
void fail_nic(struct fake *f);

/* The last MR_REG of the driver. */
struct unic_cmd_mr_reg last_reg(struct fake *f);

/* The state of region @id; UINT32_MAX: there is none. */
uint32_t region_state(struct fake *f, uint32_t id);

/*
 * Creates a CQ and a QP as @qp says in region @mr, both number 5 of the NIC.
 * Returns the status.
 */
uint8_t queues_as(struct fake *f, uint32_t mr, struct unic_ctl_qp_create qp);

/*
 * Creates a CQ and a QP of 16 slots in region @mr, both number 5 of the NIC.
 * Returns the QP's id.
 */
uint32_t queues(struct fake *f, uint32_t mr);

/* The peer's end of a connection. */
struct peer {
	uint32_t ipv4, comm; /* the peer's id of the connection */
	uint32_t conn;	     /* the connection's id at the process */
	uint32_t ours;	     /* the driver's id on the wire */
	uint32_t qpn;	     /* number of the driver's QP */
};

/* Connects @p, of which @ipv4 and @comm are set, to a listener of the client. */
void peer_connects(struct fake *f, struct peer *p, uint32_t mr);

/* The driver's connection with address @ipv4, of any process; NULL: none. */
struct conn *conn_with(struct fake *f, uint32_t ipv4);

/* A process requests a connection to PEER. Returns the REQ. */
struct unic_cm_msg connecting(struct fake *f);

/* The REP of PEER to @req. */
struct unic_cm_msg reply_of(const struct unic_cm_msg *req);

/* The client makes a region, @mr, and listens at service 4711. */
void listens(struct fake *f, uint32_t *mr);

/* Leads to a connection that PEER requested and the client accepted. Returns the
 * REP. */
struct unic_cm_msg accepted(struct fake *f);

/* A message of PEER about the connection of the driver's message @ours. */
struct unic_cm_msg message(uint16_t type, const struct unic_cm_msg *ours);

/*
 * Leads to a connection that PEER requested and the client accepted. Returns the
 * message of @type that fits it.
 */
struct unic_cm_msg to_confirm(struct fake *f, uint16_t type);

/*
 * Leads to a connection that the client requested from PEER. Returns the message
 * of @type that answers it.
 */
struct unic_cm_msg to_answer(struct fake *f, uint16_t type);

/*
 * Leads to a connection that PEER requested and that is up. Returns the message
 * of @type that fits it.
 */
struct unic_cm_msg to_end(struct fake *f, uint16_t type);

/*
 * Leads to a connection that was up and that the client ends. Returns the message
 * of @type that fits it.
 */
struct unic_cm_msg to_part(struct fake *f, uint16_t type);

/* The last message of @type that was sent to @p; false: none. */
bool told(struct fake *f, const struct peer *p, uint16_t type,
	  struct unic_grants_msg *msg);

#endif /* DRIVER_RIG_H */
