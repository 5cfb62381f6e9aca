/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "unit.h"

#include "cq.h"
#include "events.h"
#include "pd.h"
#include "qp.h"
#include "shim/channel.h"
#include "verbs_rig.h"

struct asked asked;
struct verbs v;
bool with_shim;

/* ------------------------------------------------- the preloaded library */

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

void *__wrap_dlsym(void *handle, const char *name)
{
	if (strcmp(name, UNIC_SHIM_DEVICE))
		return __real_dlsym(handle, name);
	return with_shim ? (void *)unic_shim_device : NULL;
}

/* -------------------------------------------------------------- the driver */

static int answer(uint16_t op, const uint8_t *in, size_t len, uint8_t *out)
{
	struct unic_ctl_queue_reply *q = (void *)out;

	(void)len;
	asked.count[op & 255]++;
	if (op == UNIC_CTL_QP_CREATE)
		memcpy(&asked.create, in, sizeof(asked.create));
	if (op == UNIC_CTL_QP_MODIFY)
		memcpy(&asked.modify, in, sizeof(asked.modify));
	if (op == asked.refuse && asked.times) {
		asked.times--;
		if (asked.first)
			asked.first();
		q->hdr.status = unic_to_le16(asked.status);
		return 0;
	}
	if (op != UNIC_CTL_QP_CREATE)
		return -1;
	q->id = unic_to_le32(++drv.next_id);
	q->number = unic_to_le32(77 + asked.qps++);
	return 0;
}

void refuse(uint16_t op, uint16_t status, unsigned int times)
{
	pthread_mutex_lock(&drv.lock);
	asked.refuse = op;
	asked.status = status;
	asked.times = times;
	pthread_mutex_unlock(&drv.lock);
}

int verbs_up(void **state)
{
	if (driver_up(state))
		return -1;
	memset(&asked, 0, sizeof(asked));
	memset(&v, 0, sizeof(v));
	drv.first = answer;
	with_shim = true;
	v.ctx.vctx.context.cmd_fd = CMD_FD;
	if (unic_attach_get(drv.path, &v.at))
		return -1;
	v.ctx.at = v.at;
	if (unic_events_open_context(&v.ctx))
		return -1;
	v.pd = unic_ibv_alloc_pd(&v.ctx.vctx.context);
	v.cq = unic_ibv_create_cq(&v.ctx.vctx.context, 64, NULL, 0);
	return !v.pd || !v.cq;
}

int verbs_down(void **state)
{
	assert_int_equal(unic_ibv_destroy_cq(v.cq), 0);
	assert_int_equal(unic_ibv_dealloc_pd(v.pd), 0);
	unic_events_close_context(&v.ctx);
	close(v.ctx.vctx.context.async_fd);
	unic_attach_put(v.at);
	return driver_down(state);
}

/* ------------------------------------------------------------- queue pairs */

struct ibv_qp *make_qp(enum ibv_qp_type type, unsigned int sges,
		       unsigned int bytes, bool all)
{
	struct ibv_qp_init_attr init = {
		.send_cq = v.cq,
		.recv_cq = v.cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = sges,
			 .max_recv_sge = 1,
			 .max_inline_data = bytes },
		.qp_type = type,
		.sq_sig_all = all,
	};
	struct ibv_qp *qp = unic_ibv_create_qp(v.pd, &init);

	assert_non_null(qp);
	qp->state = IBV_QPS_RTS;
	return qp;
}

void end_qp(struct ibv_qp *qp)
{
	assert_int_equal(unic_ibv_destroy_qp(qp), 0);
}

/* ----------------------------------------------------------------- the NIC */

void nic_writes(struct ibv_cq *cq, struct unic_cqe cqe)
{
	struct unic_cq *lib = unic_ibv_cq(cq)->lib;
	uint32_t n = lib->ci;
	struct unic_cqe *at;

	for (; at = &lib->ring[n & lib->mask], unic_from_le32(at->seq) == n + 1;
	     n++)
		;
	cqe.seq = at->seq;
	*at = cqe;
	__atomic_store_n((uint32_t *)&at->seq, n + 1, __ATOMIC_RELEASE);
}

void nic_counts(struct ibv_cq *cq)
{
	__atomic_add_fetch(
		(uint32_t *)&np()->cq_events[unic_ibv_cq(cq)->lib->db], 1,
		__ATOMIC_RELEASE);
}

void nic_wakes(void)
{
	uint64_t one = 1;

	assert_int_equal(write(drv.evt_efd, &one, sizeof(one)), sizeof(one));
}

/* ------------------------------------------------------ completion channels */

struct ibv_comp_channel *make_channel(void)
{
	struct {
		uint32_t command;
		uint16_t in_words, out_words;
		uint64_t response;
	} req = { .command = 17 };
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));
	uint32_t fd = 0;

	assert_non_null(channel);
	req.response = (uintptr_t)&fd;
	assert_int_equal(unic_shim_request(CMD_FD, &req, sizeof(req)),
			 sizeof(req));
	channel->fd = (int)fd;
	channel->context = &v.ctx.vctx.context;
	return channel;
}

void end_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
}

bool is_readable(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, ms) > 0 && pfd.revents & POLLIN;
}

struct ibv_cq *get_cq_event(struct ibv_comp_channel *channel)
{
	uint64_t cookie;

	if (!is_readable(channel->fd, 500))
		return NULL;
	assert_int_equal(read(channel->fd, &cookie, sizeof(cookie)),
			 sizeof(cookie));
	unic_events_cq_read((struct ibv_cq *)(uintptr_t)cookie);
	return (struct ibv_cq *)(uintptr_t)cookie;
}

void ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
