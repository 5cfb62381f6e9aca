/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* world.c - see world.h. */
#define _GNU_SOURCE
#include "world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "core.h"
#include "provider/provider_nic.h"

struct world *world;

/* -------------------------------------------------------------------- polls */

/* Charges the doorbell words that this poll takes. */
static void spend_bells(struct node *n)
{
	uint32_t i, seq, words;

	for (i = 0; i < WORLD_SLOTS && n->port.cost.bell; i++) {
		seq = unic_from_le32(
			((const struct unic_db_page *)n->slot[i])->fifo_seq);
		words = seq - n->bells[i];
		n->bells[i] = seq;
		if (n->owner[i])
			port_spend(&n->port,
				   words < UNIC_DB_FIFO ? words : UNIC_DB_FIFO,
				   n->port.cost.bell);
	}
}

static uint32_t command_head(const struct node *n)
{
	const struct unic_nic_idx *idx =
		(const void *)(n->bar + UNIC_BAR_NIC_OFF);

	return unic_from_le32(idx->cmd_head);
}

static uint32_t pages_of(const struct unic_cmd_mr_reg *cmd)
{
	return cmd->hdr.opcode == UNIC_CMD_MR_REG ? unic_from_le32(cmd->n_pages)
						  : 0;
}

/* Commands from @head on have been taken by the poll that is over. */
static void spend_commands(struct node *n, uint32_t head)
{
	const struct unic_cmd_mr_reg *ring =
		(const void *)(n->bar + UNIC_BAR_CMD_OFF);

	for (; n->port.cost.command && head != command_head(n); head++) {
		port_spend(&n->port, 1, n->port.cost.command);
		port_spend(&n->port, pages_of(&ring[head % UNIC_CMD_ENTRIES]),
			   n->port.cost.page);
	}
}

static uint64_t round_ns(struct node *n)
{
	uint64_t ns = port_poll_ns(&n->port);

	return ns ? ns : sim_range(&n->rng, n->round_ns / 2, n->round_ns);
}

static void poll_nic(void *ctx, uint64_t due)
{
	struct node *n = ctx;
	uint64_t until, gone;
	uint32_t head;

	if (n->nic_due != due)
		return; /* the poll was moved */
	n->nic_due = UINT64_MAX;
	if (n->stands)
		return;
	check_before_poll(n);
	spend_bells(n);
	head = command_head(n);
	until = core_nic_poll(n->nic);
	spend_commands(n, head);
	port_poll_over(&n->port);
	check_after_poll(n, until != 0);
	gone = sim_now() + round_ns(n);
	n->nic_free = n->port.cost.round ? gone : 0;
	world_kick_nic(n, until ? until + n->port.on_ns - US : gone);
}

void world_kick_nic(struct node *n, uint64_t at_ns)
{
	if (at_ns <= sim_now())
		at_ns = sim_now() + 1;
	if (at_ns < n->nic_free)
		at_ns = n->nic_free;
	if (at_ns >= n->nic_due)
		return;
	n->nic_due = at_ns;
	sim_at(at_ns, poll_nic, n, at_ns);
}

static void poll_host(void *ctx, uint64_t due);

/* Queues a poll at host_due, unless an event before that will do so. One
 * event far ahead is enough: a busy driver names such a time at each of its
 * polls. */
static void arm_host(struct node *n)
{
	if (n->host_far <= n->host_due)
		return;
	sim_at(n->host_due, poll_host, n, n->host_due);
	if (n->host_due - sim_now() >= MS)
		n->host_far = n->host_due;
}

static void poll_host(void *ctx, uint64_t due)
{
	struct node *n = ctx;
	bool far = n->host_far == due;
	uint64_t next;
	bool rests;

	if (far)
		n->host_far = UINT64_MAX;
	if (n->host_due != due || !n->host) {
		if (far && n->host && n->host_due != UINT64_MAX)
			arm_host(n);
		return;
	}
	n->host_due = UINT64_MAX;
	if (sim_now() < n->host_off_ns) {
		world_kick_host(n, n->host_off_ns);
		return;
	}
	next = unic_host_poll(n->host);
	rests = unic_host_rest(n->host, true);
	if (!rests || next <= unic_os_now_ns(n->os)) /* more at once */
		next = sim_now() + sim_range(&n->rng, 500, 2 * US);
	else if (next != UINT64_MAX)
		next -= n->os->offset_ns;
	world_kick_host(n, next);
	check_after_host(n, rests);
}

void world_kick_host(struct node *n, uint64_t at_ns)
{
	if (at_ns <= sim_now())
		at_ns = sim_now() + 1;
	if (at_ns < n->host_off_ns)
		at_ns = n->host_off_ns;
	if (!n->host || at_ns >= n->host_due)
		return;
	n->host_due = at_ns;
	arm_host(n);
}

bool world_bell(struct sim_rng *rng, uint64_t *at, bool *again)
{
	*at = sim_now() + sim_range(rng, 500, 5 * US);
	*again = sim_chance(rng, world->odds.bell_dup);
	if (sim_chance(rng, world->odds.bell_late))
		*at += sim_range(rng, 0, MS);
	return !sim_chance(rng, world->odds.bell_lost);
}

bool world_slots_free(const struct node *n)
{
	uint32_t i;

	for (i = 0; i < WORLD_SLOTS; i++)
		if (n->owner[i] || n->ended[i])
			return false;
	return true;
}

/* ------------------------------------------------------ what a port tells us */

static void on_moved(struct unic_port *p, enum unic_port_dma_dir dir,
		     uint64_t bus, const void *host, uint32_t len)
{
	check_moved(p->user, dir, bus, host, len);
}

static void on_shown(struct unic_port *p, uint64_t bus, const void *host,
		     uint32_t len)
{
	check_shown(p->user, bus, host, len);
}

static void on_written(struct unic_port *p, uint64_t bus, const void *host,
		       uint32_t len)
{
	check_window_written(p->user, bus, host, len);
}

static void on_wake(struct unic_port *p)
{
	struct node *n = p->user;

	world_kick_nic(n, sim_now() + sim_range(&n->rng, 100, US));
}

static void host_bell(void *ctx, uint64_t arg)
{
	struct node *n = ctx;

	(void)arg;
	world_kick_host(n, sim_now());
}

static void on_rung(struct unic_port *p, uint32_t vector)
{
	struct node *n = p->user;
	uint64_t at;
	bool again;

	if (vector) {
		/* the board wakes the process without its driver */
		if (vector <= WORLD_SLOTS && n->os)
			unic_os_ring_proc(n->os, vector - 1);
		return;
	}
	if (!world_bell(&n->rng, &at, &again))
		return;
	sim_at(at, host_bell, n, 0);
	if (again)
		sim_at(at + US, host_bell, n, 0);
}

static void on_sent(struct unic_port *p, const uint8_t *frame, uint32_t len,
		    uint32_t flags)
{
	struct node *n = p->user;

	check_sent(n, frame, len);
	world_wire(n->id, frame, len, flags | (n->wild ? PORT_FORGED : 0));
}

static void on_took(struct unic_port *p, const uint8_t *frame, uint32_t len,
		    bool forged)
{
	check_took(p->user, frame, len, forged);
}

static void on_taken(struct unic_port *p, uint32_t from)
{
	struct unic_port *at = &world->node[from]->port;

	if (!at->link.prompt)
		port_link_taken(at, p->id);
}

static void on_fetch(struct unic_port *p)
{
	world_fetch(p->user);
}

static void on_panic(struct unic_port *p, const char *file, uint32_t line)
{
	sim_fail("assert", "nic %u: assert failed in %s:%u", p->id, file, line);
}

/* ----------------------------------------------------------- life and death */

static void start_driver(struct node *n)
{
	struct unic_host_config config = {
		.slots = WORLD_SLOTS,
		.slot_bytes = PORT_SLOT_BYTES,
		.slot_mem = (void *const *)n->slot,
		.journal = n->journal,
		.ipv4 = 0x0a000001u + n->id,
		.pid = 1000 + n->id,
		.params = n->params,
	};
	struct unic_os *os = sim_alloc(sizeof(*os));
	uint32_t i;

	os->node = n;
	os->offset_ns = sim_range(&n->rng, 0, 1000000) * MS;
	if (n->file >= 0 && n->os) /* processes have the same clock */
		os->offset_ns = n->os->offset_ns;
	os->life = n->os ? n->os->life + 1 : 0;
	sim_rng_init(&os->rng, sim_seed(), 0x300u + n->id * 16 + os->life);
	n->os = os;
	n->host = unic_host_new(os, unic_nic_provider(os, n->bar), &config);
	for (i = 0; i < WORLD_SLOTS; i++)
		if (n->owner_pid[i]) {
			n->quiet[i] = !unic_host_slot_hold(
				n->host, i, n->ended[i] ? 0 : n->owner_pid[i],
				0);
			/* a held slot is quiet once the NIC is reset */
		}
	unic_host_plug(n->host, true);
	n->host_due = UINT64_MAX;
	n->host_off_ns = 0;
	world_kick_host(n, sim_now() + US);
}

void world_start_driver(uint32_t node)
{
	struct node *n = world->node[node];

	if (n->host)
		return;
	sim_log("host %u: a new driver", node);
	start_driver(n);
}

void world_kill_driver(uint32_t node)
{
	struct node *n = world->node[node];
	uint32_t i;

	if (!n->host)
		return;
	sim_log("host %u: the driver is killed", node);
	check_driver_gone(n);
	n->host = NULL; /* the driver was killed: it freed nothing */
	n->host_due = UINT64_MAX;
	n->driver_deaths++;
	for (i = 0; i < WORLD_SLOTS; i++)
		n->owner[i] = NULL;
	for (i = 0; i < n->clients; i++) {
		struct world_client *c = n->client[i];

		if (!c->open)
			continue;
		c->open = false;
		c->life++;
		c->hangup(c);
	}
}

void world_power_cut(uint32_t node)
{
	struct node *n = world->node[node];

	sim_log("nic %u: power cut, %u transfers under way", node,
		n->port.xfers);
	check_power_cut(n);
	port_power_cut(&n->port);
	core_nic_again(n->nic, &n->port);
	n->power_cuts++;
	n->nic_due = UINT64_MAX;
	world_kick_nic(n, sim_now() + 10 * US);
	/* the bus reports it to the driver */
	world_kick_host(n, sim_now() + 20 * US);
	if (n->host)
		unic_host_plug(n->host, true);
}

void world_sleep(uint32_t node, uint64_t ns)
{
	struct node *n = world->node[node];

	sim_log("host %u: the driver does not run for %llu us", node,
		(unsigned long long)(ns / US));
	n->host_off_ns = sim_now() + ns;
	n->slept = true;
}

void world_reset(uint32_t node)
{
	struct node *n = world->node[node];

	if (!n->host)
		return;
	sim_log("host %u: resets its NIC, %u transfers under way", node,
		n->port.xfers);
	unic_host_plug(n->host, true);
	world_kick_host(n, sim_now());
}

static void set_room(uint32_t node, uint32_t frames)
{
	uint32_t i;

	for (i = 0; i < world->nodes; i++)
		if (i != node)
			port_room(&world->node[i]->port, node, frames);
}

void world_stand(uint32_t node, uint32_t room)
{
	sim_log("nic %u: stands still, with room for %u frames", node, room);
	world->node[node]->stands = true;
	set_room(node, room);
}

void world_go(uint32_t node)
{
	sim_log("nic %u: goes on", node);
	world->node[node]->stands = false;
	check_went_on(world->node[node]);
	set_room(node, PORT_ENDLESS);
	world_kick_nic(world->node[node], sim_now() + US);
}

/* ---------------------------------------------------------------- processes */

bool world_connect(struct world_client *c, uint32_t node, uint32_t pid)
{
	struct node *n = world->node[node];
	uint32_t i;

	for (i = 0; i < n->clients && n->client[i] != c; i++)
		;
	if (i == n->clients)
		n->client[n->clients++] = c;
	c->life++;
	c->open = n->host;
	c->node = n;
	c->core = (struct unic_client){ .pid = pid,
					.privileged = true,
					.slot = UNIC_OS_NO_SLOT };
	return c->open;
}

struct request {
	struct world_client *c;
	uint32_t life, bytes;
	uint64_t msg[];
};

static void serve(void *ctx, uint64_t arg)
{
	struct request *r = ctx;
	struct world_client *c = r->c;

	(void)arg;
	if (sim_now() < c->node->host_off_ns) {
		sim_at(c->node->host_off_ns, serve, r, 0);
		return;
	}
	if (c->open && c->life == r->life && c->node->host) {
		unic_host_request(c->node->host, &c->core, r->msg, r->bytes);
		world_kick_host(c->node, sim_now());
	}
	sim_free(r);
}

void world_send(struct world_client *c, const void *msg, uint32_t bytes)
{
	struct request *r = sim_alloc(sizeof(*r) + bytes);
	uint64_t at = sim_now() + sim_range(&c->node->rng, US, 10 * US);

	if (at < c->send_ns)
		at = c->send_ns;
	if (at <=
	    c->node->host_off_ns) /* behind those that are kept till then */
		at = c->node->host_off_ns + 1;
	c->send_ns = at;
	r->c = c;
	r->life = c->life;
	r->bytes = bytes;
	memcpy(r->msg, msg, bytes);
	sim_at(at, serve, r, 0);
}

/* Writes the doorbell eventfd of a process. */
void world_ring(struct world_client *c)
{
	uint64_t at;
	bool again;

	if (world_bell(&c->node->rng, &at, &again))
		world_kick_nic(c->node, at);
}

void world_doorbell(struct world_client *c, struct unic_db_page *db,
		    uint32_t *fifo, enum unic_db_kind kind, uint32_t row,
		    uint32_t index)
{
	const struct unic_nic_page *np = (const void *)(db + 1);

	if (kind == UNIC_DB_SQ)
		db->tail[row].sq = unic_to_le32(index);
	else if (kind == UNIC_DB_RQ)
		db->tail[row].rq = unic_to_le32(index);
	else
		db->tail[row].arm = unic_to_le32(index);
	db->fifo[*fifo % UNIC_DB_FIFO] =
		unic_to_le32(UNIC_DB_WORD(kind, row, index));
	db->fifo_seq = unic_to_le32(++*fifo);
	if (unic_from_le32(np->asleep))
		world_ring(c);
}

/* The slot of an ended process is free when the driver has finished with it. */
static void reap(void *ctx, uint64_t arg)
{
	struct node *n = ctx;
	uint32_t slot = (uint32_t)arg;

	if (!n->ended[slot])
		return;
	if (n->host)
		unic_host_slot_ended(n->host, slot);
	if (!n->host || !n->quiet[slot]) {
		sim_at(sim_now() + 100 * US, reap, n, slot);
		return;
	}
	unic_host_slot_free(n->host, slot);
	n->ended[slot] = false;
	n->owner_pid[slot] = 0;
}

void world_reap(struct node *n, uint32_t slot)
{
	n->owner[slot] = NULL;
	n->ended[slot] = true;
	sim_at(sim_now() + US, reap, n, slot);
}

static void hang_up(struct world_client *c)
{
	struct node *n = c->node;

	if (!c->open)
		return;
	c->open = false;
	c->life++;
	if (n->host) {
		unic_host_client_gone(n->host, &c->core);
		world_kick_host(n, sim_now());
	}
}

void world_hang_up(struct world_client *c)
{
	uint32_t i;

	hang_up(c);
	for (i = 0; i < WORLD_SLOTS; i++)
		if (c->node->owner[i] == c)
			c->node->owner[i] = NULL;
}

void world_process_ended(uint32_t node, uint32_t pid)
{
	struct node *n = world->node[node];
	uint32_t i;

	for (i = 0; i < WORLD_SLOTS; i++) {
		if (n->owner_pid[i] != pid || n->ended[i])
			continue;
		world_reap(n, i);
	}
}

void world_kill(struct world_client *c)
{
	hang_up(c);
	world_process_ended(c->node->id, c->core.pid);
}

/* -------------------------------------------------------------------- build */

#define SLOTS_BYTES (WORLD_SLOTS * (size_t)PORT_SLOT_BYTES)

static bool shares;
/* Of each node, for all runs. */
static struct {
	int fd; /* + 1; 0: none yet */
	uint8_t *mem;
} files[WORLD_NODES];

void world_share(void)
{
	shares = true;
}

/* The zeroed memory of all slots of @n, in a file. */
static uint8_t *share_slots(struct node *n)
{
	const int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	int fd = files[n->id].fd - 1;

	if (fd < 0) {
		fd = memfd_create("slots", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, (off_t)SLOTS_BYTES))
			sim_fail("sim", "no file for slots");
		files[n->id].fd = fd + 1;
		files[n->id].mem = mmap(NULL, SLOTS_BYTES,
					PROT_READ | PROT_WRITE, MAP_SHARED, fd,
					0);
	}
	if (files[n->id].mem == MAP_FAILED ||
	    fallocate(fd, how, 0, (off_t)SLOTS_BYTES))
		sim_fail("sim", "no memory for slots");
	n->file = fd;
	return files[n->id].mem;
}

static struct node *node_new(uint32_t id, bool icrc, enum port_kind kind,
			     const struct unic_cmd_set_params *params)
{
	struct node *n = sim_alloc(sizeof(*n));
	uint8_t *mem =
		sim_alloc(UNIC_BAR_BYTES + (shares ? 0 : SLOTS_BYTES) + 4096);
	uint8_t *slots;
	uint32_t i;

	mem = (uint8_t *)(((uintptr_t)mem + 4095) & ~(uintptr_t)4095);
	n->file = -1;
	n->journal = sim_alloc(
		unic_host_journal_bytes(WORLD_SLOTS, PORT_SLOT_BYTES));
	n->id = id;
	slots = shares ? share_slots(n) : mem + UNIC_BAR_BYTES;
	n->params = *params;
	sim_rng_init(&n->rng, sim_seed(), 0x200u + id);
	n->round_ns = (uint32_t)sim_range(&n->rng, 200, 2000);
	n->bar = mem;
	for (i = 0; i < WORLD_SLOTS; i++) {
		n->slot[i] = slots + i * PORT_SLOT_BYTES;
		n->port.window[i] = n->slot[i];
		n->quiet[i] = true;
	}
	port_init(&n->port, (uint8_t)id);
	n->port.bar = n->bar;
	n->port.icrc = icrc;
	n->port.kind = kind;
	n->port.user = n;
	n->port.moved = on_moved;
	n->port.shown = on_shown;
	n->port.written = on_written;
	n->port.wake = on_wake;
	n->port.rung = on_rung;
	n->port.sent = on_sent;
	n->port.took = on_took;
	n->port.panic = on_panic;
	n->port.taken = on_taken;
	n->port.fetch = on_fetch;
	n->nic_due = UINT64_MAX;
	n->host_far = UINT64_MAX;
	return n;
}

void world_new(uint32_t n, bool icrc, const uint8_t *kind,
	       const struct unic_cmd_set_params *params)
{
	uint32_t i;

	world = sim_alloc(sizeof(*world));
	world->nodes = n;
	sim_rng_init(&world->wire_rng, sim_seed(), 0x400);
	for (i = 0; i < n; i++) {
		struct node *node = node_new(i, icrc, kind[i], params);

		world->node[i] = node;
		node->nic = core_nic_new(&node->port);
		world_kick_nic(node, sim_now() + 1);
		check_node(node);
		start_driver(node);
	}
}

void world_machine(uint32_t node, const struct port_cost *cost,
		   const struct port_link *link)
{
	world->node[node]->port.cost = *cost;
	world->node[node]->port.link = *link;
}

void world_odds(const struct world_odds *odds)
{
	uint32_t i;

	world->odds = *odds;
	for (i = 0; i < world->nodes; i++)
		world->node[i]->port.odds = odds->port;
}
