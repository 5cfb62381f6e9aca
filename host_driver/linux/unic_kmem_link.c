// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* unic_kmem_link.c - the slot of a handle: see unic_kmem_priv.h. */
#include "unic_kmem_link.h"
#include "unic_kmem_call.h"
#include "unic_kmem_conn.h"

#define RETRY_NS (100 * NSEC_PER_MSEC) /* between two attempts to set up */

bool unic_kmem_may_touch(const struct unic_kmem *k)
{
	u32 nic;

	if (k->over || !k->os->host)
		return false;
	if (k->leaving)
		return true;
	nic = unic_host_nic(k->os->host);
	return nic == UNIC_CTL_NIC_STARTING || nic == UNIC_CTL_NIC_DEAD ||
	       (k->left != UNIC_OS_NO_SLOT &&
		unic_host_slot_leaves(k->os->host, k->left));
}

/* ---------------------------------------------------------------- the ends */

/* All objects have ended: tell the module, and set up again. */
static void lose_all(struct unic_kmem *k)
{
	struct unic_kmem_region *r;

	k->gen++;
	k->up = false;
	k->lost = true;
	k->requests = 0;
	memset(k->conn, 0, sizeof(k->conn));
	list_for_each_entry(r, &k->regions, node) {
		if (!r->ended)
			r->why = UNIC_WHY_RESET;
		r->ended = true;
	}
	wake_up_all(&k->wait);
	queue_work(k->wq, &k->work);
}

void unic_kmem_restart(struct unic_kmem *k)
{
	k->left = k->core.slot;
	unic_host_client_gone(k->os->host, &k->core);
	k->core.slot = UNIC_OS_NO_SLOT;
	k->core.open = 0;
	k->upcall = 0;
	unic_kmem_end_asks(k, UNIC_CTL_ST_RESET);
	lose_all(k);
}

/* ------------------------------------------------------------------- upcalls */

static void mr_upcall(struct unic_kmem *k, const struct unic_upcall_mr *up)
{
	struct unic_kmem_region *r;

	list_for_each_entry(r, &k->regions, node) {
		if (r->tag != unic_from_le32(up->user) || r->ended)
			continue;
		r->why = up->hdr.reason;
		if (up->hdr.type == UNIC_UP_EVICTED)
			r->ended = true;
		else
			r->noticed = true;
		r->deadline_ns = unic_from_le64(up->deadline_ns);
		queue_work(k->wq, &k->work);
		return;
	}
}

static void handle_upcall(struct unic_kmem *k, const u64 *rec)
{
	struct unic_upcall_conn conn;
	struct unic_upcall_obj obj;
	struct unic_upcall_mr mr;

	memcpy(&conn, rec, sizeof(conn));
	memcpy(&obj, rec, sizeof(obj));
	memcpy(&mr, rec, sizeof(mr));
	switch (obj.hdr.type) {
	case UNIC_UP_NOTICE:
	case UNIC_UP_EVICTED:
		mr_upcall(k, &mr);
		break;
	case UNIC_UP_CONN_REQUEST:
		unic_kmem_requested(k, &conn);
		break;
	case UNIC_UP_DISCONNECTED:
		unic_kmem_ended(k, unic_from_le32(obj.hdr.id), 0);
		break;
	case UNIC_UP_QP_ERROR:
		unic_kmem_ended(k, 0, unic_from_le32(obj.hdr.id));
		break;
	case UNIC_UP_RESET:
		if (!obj.detail) /* else it is back */
			lose_all(k);
		break;
	case UNIC_UP_CQ_ERROR:
	case UNIC_UP_DB_ERROR:
		unic_kmem_restart(k);
		break;
	default:
		break;
	}
}

/* The core writes the ring under the lock that is held here, so a record is never half
 * written. */
static bool take_upcall(struct unic_kmem *k)
{
	u64 rec[UNIC_REC_WORDS];
	struct unic_upcall_hdr hdr;
	s32 ahead;

	if (k->core.slot == UNIC_OS_NO_SLOT)
		return false;
	memcpy(rec,
	       k->os->slot_mem[k->core.slot] +
		       UNIC_SLOT_UPCALL_PAGE * PAGE_SIZE +
		       offsetof(struct unic_upcall_ring, record) +
		       k->upcall % UNIC_UPCALLS * UNIC_CTL_BYTES,
	       sizeof(rec));
	memcpy(&hdr, rec, sizeof(hdr));
	ahead = unic_from_le32(hdr.seq) - (k->upcall + 1);
	if (!hdr.seq || ahead < 0)
		return false;
	if (ahead) {
		unic_kmem_restart(k); /* some were lost */
		return false;
	}
	k->upcall++;
	handle_upcall(k, rec);
	return true;
}

/* ------------------------------------------------------------------- set-up */

static bool can_set_up(const struct unic_kmem *k)
{
	return !k->up && !k->over && !k->leaving && !k->closing &&
	       unic_host_nic(k->os->host) == UNIC_CTL_NIC_READY &&
	       !unic_kmem_may_touch(k);
}

u64 unic_kmem_poll(struct unic_kclient *kc)
{
	struct unic_kmem *k = container_of(kc, struct unic_kmem, kc);
	u64 now = ktime_get_ns();

	if (k->closing)
		return U64_MAX;
	while (take_upcall(k))
		;
	if (k->up && !k->deaf)
		return U64_MAX;
	if (now >= k->retry_ns) {
		k->retry_ns = now + RETRY_NS;
		if (k->up || can_set_up(k))
			queue_work(k->wq, &k->work);
	}
	return k->retry_ns;
}

static int set_up_slot(struct unic_kmem *k, u32 *pd)
{
	struct unic_ctl_hello hello = { .version = unic_to_le32(
						UNIC_CTL_VERSION) };
	struct unic_ctl_plain plain = { 0 };
	struct unic_kmem_ask ask;
	struct unic_ctl_obj r;
	int status;

	memcpy(hello.name, k->name, sizeof(k->name));
	status = unic_kmem_call(k, &ask, UNIC_CTL_HELLO, &hello, 0);
	if (!status)
		status = unic_kmem_call(k, &ask, UNIC_CTL_PD_ALLOC, &plain, 0);
	memcpy(&r, ask.rec, sizeof(r));
	*pd = unic_from_le32(r.id);
	return status;
}

/* Listens again after a reset. Somebody may have been faster: then @k is set up without,
 * and tries again. */
static int listen_again(struct unic_kmem *k)
{
	int status = k->allow ? unic_kmem_begin_listen(k) : 0;
	unsigned int noio = unic_lock(k->os);

	k->deaf = status;
	unic_unlock(k->os, noio);
	return status == UNIC_CTL_ST_IN_USE ? 0 : status;
}

static int set_up_locked(struct unic_kmem *k)
{
	unsigned int noio = unic_lock(k->os);
	bool can = can_set_up(k), up = k->up;
	u32 gen = k->gen, pd;
	int status;

	unic_unlock(k->os, noio);
	if (!can && up && READ_ONCE(k->deaf))
		listen_again(k);
	if (!can)
		return up ? 0 : UNIC_CTL_ST_NO_NIC;
	status = set_up_slot(k, &pd);
	if (status)
		return status;
	noio = unic_lock(k->os);
	k->pd = pd;
	k->mr = 0;
	k->cq = 0;
	unic_unlock(k->os, noio);
	status = listen_again(k);
	noio = unic_lock(k->os);
	if (!status && gen != k->gen)
		status = UNIC_CTL_ST_RESET;
	if (!status) {
		k->up = true;
		k->left = UNIC_OS_NO_SLOT;
		wake_up_all(&k->wait);
	} else if (gen == k->gen && !k->over && !k->leaving) {
		unic_kmem_restart(k); /* what was made of it ends */
	}
	unic_unlock(k->os, noio);
	return status;
}

int unic_kmem_set_up(struct unic_kmem *k)
{
	int status;

	mutex_lock(&k->turn);
	status = set_up_locked(k);
	mutex_unlock(&k->turn);
	return status;
}
