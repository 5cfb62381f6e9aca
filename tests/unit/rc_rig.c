/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "unit.h"

#include "rc_rig.h"

struct rc_wire rc_wire;

void rc_on_frame(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	uint32_t n = ++rc_wire.seen;

	if (rc_wire.cut || n == rc_wire.lose)
		return;
	if (n == rc_wire.swap) {
		memcpy(rc_wire.held, frame, len);
		rc_wire.held_len = len;
		rc_wire.held_flags = flags;
		port->user = &rc_wire;
		return;
	}
	fake_deliver(port->peer, frame, len, flags);
	if (n == rc_wire.twice)
		fake_deliver(port->peer, frame, len, flags);
	/* behind the next frame of its direction */
	if (port->user && rc_wire.held_len) {
		fake_deliver(port->peer, rc_wire.held, rc_wire.held_len,
			     rc_wire.held_flags);
		rc_wire.held_len = 0;
		port->user = NULL;
	}
}

void rc_bring_up(bool icrc)
{
	memset(&rc_wire, 0, sizeof(rc_wire));
	pair_make(icrc, PAIR_PAGES);
	ra.port.on_frame = rb.port.on_frame = rc_on_frame;
}

int rc_up(void **state)
{
	(void)state;
	rc_bring_up(false);
	return 0;
}

void rc_expect(struct rig *r, struct rig_qp *qp, uint8_t opcode, uint64_t wr_id,
	       uint8_t status, uint32_t len)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(r, qp, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(cqe.status, status);
	if (opcode)
		assert_int_equal(cqe.opcode, opcode);
	if (!status)
		assert_int_equal(unic_from_le32(cqe.byte_len), len);
	assert_int_equal(unic_from_le32(cqe.qpn), qp->qpn);
}

void rc_quiet_of(const struct rig *r)
{
	uint32_t i;

	for (i = 0; i < UNIC_MRS; i++) {
		assert_int_equal(r->nic.mrs.mr[i].holds, 0);
		assert_int_equal(r->nic.mrs.mr[i].dmas, 0);
	}
	assert_int_equal(r->port.tx_held, 0);
	assert_int_equal(r->port.rx_done, r->port.rx_head);
}

void rc_quiet(void)
{
	rc_quiet_of(&ra);
	rc_quiet_of(&rb);
}
