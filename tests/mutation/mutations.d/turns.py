# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Wake-ups, records that are torn, and answers that belong to a turn that is over.
See mutations.py."""
LIB = "host_driver/libunic/"
CORE = "host_driver/core/"
KIO = "host_driver/kio/"

MUTATIONS = (
    (LIB + "event.c", "\tif (!ctx->notes && read(ctx->note_efd,",
     "\tif (read(ctx->note_efd,",
     "event: events are queued and nothing is readable", "test_libunic_event"),
    (LIB + "event.c", "\tif (!ctx->notes && read(ctx->note_efd,",
     "\tif (0 && read(ctx->note_efd,",
     "event: readable though nothing is queued", "test_libunic_event"),
    (LIB + "event.c", """	if (!unic_drain(ctx->upcall_efd))
		unic_ctx_dead(ctx);
	else if (!ctx->notes)
		check_driver_hangup(ctx);
	pump_locked(ctx);
""", """	pump_locked(ctx);
	if (!unic_drain(ctx->upcall_efd))
		unic_ctx_dead(ctx);
	else if (!ctx->notes)
		check_driver_hangup(ctx);
""", "event: looked first, drained second", "test_libunic_context"),
    (LIB + "event.c", "return record_seq(ctx, n) == n + 1 ? 1 : -1;", "return 1;",
     "event: a record that is torn is read", "test_libunic_event"),
    ("host_driver/core/upcall.c", """	UNIC_STORE(*seq, unic_to_le32(0));
	unic_os_wmb();
	memcpy(to + 4,""", "	memcpy(to + 4,",
     "upcall: a reader in the old record does not notice", "test_driver_notice"),
    ("host_driver/core/upcall.c", """	memcpy(to + 4, (uint8_t *)rec + 4, 60);
	unic_os_wmb();
	UNIC_STORE(*seq, unic_to_le32(n + 1));
""", """	UNIC_STORE(*seq, unic_to_le32(n + 1));
	unic_os_wmb();
	memcpy(to + 4, (uint8_t *)rec + 4, 60);
""", "upcall: there before it is written", "test_driver_notice"),
    (LIB + "cq.c", """	arm_cq(cq, cq->ci, solicited_only);
	/* Arm before reading: a record written before the arming is seen here,
	 * a later one rings. */
	there = cq->next_left < cq->n_left || find_cqe(cq, cq->ci);
""", """	there = cq->next_left < cq->n_left || find_cqe(cq, cq->ci);
	arm_cq(cq, cq->ci, solicited_only);
""", "cq: looked first, armed second", "test_libunic_queue"),
    (LIB + "doorbell.c", "	if (ctx->wake_seq != seq) {", "	if (0) {",
     "wake: who was rung while it looked sleeps", "test_libunic_queue"),
    (LIB + "doorbell.c", "	pthread_cond_broadcast(&ctx->wake_cond);\n", "",
     "wake: only one of the threads wakes", "test_libunic_queue"),
    (LIB + "doorbell.c", "	ctx->wake_leader = false;\n", "",
     "wake: nobody sleeps on the descriptor again", "test_libunic_queue"),
    (CORE + "provider/mailbox_client.c", """	    unic_from_le32(hdr.epoch) != m->epoch ||
	    hdr.opcode != asked.opcode) {""", "	    hdr.opcode != asked.opcode) {",
     "mailbox: an answer of an old epoch", "test_driver_mailbox"),
    (CORE + "provider/mailbox_client.c", "m->cookie[at] != cookie ||", "",
     "mailbox: an answer to an earlier command", "test_driver_mailbox"),
    (CORE + "provider/mailbox_client.c", """	    hdr.opcode != asked.opcode) {""", "	    0) {",
     "mailbox: an answer to another command", "test_driver_mailbox"),
    (CORE + "provider/mailbox_client.c", "	if (unic_from_le32(hdr.epoch) == m->epoch)\n",
     "	if (1)\n", "mailbox: an event of an old epoch", "test_driver_notice"),
    ("host_driver/core/dispatch.c", "if (op->flags & OP_HELLO && epoch && epoch != host->epoch)",
     "if (0)", "driver: a request of an old epoch", "test_driver_request"),
    ("host_driver/core/region/region_reg.c", "		status = UNIC_CTL_ST_NOT_MAPPED; /* mapped anew since */",
     "		;", "region: frames that were exchanged while it waited",
     "test_driver_crossing"),
    ("host_driver/core/region/region_reg.c", "	if (status == UNIC_ST_BUSY && !mr->dereg)\n",
     "	if (0)\n", "region: frames that are late end a wait", "test_driver_region"),
    ("host_driver/core/region/region_reg.c", "	mr->load_until_ns = 0;\n", "",
     "region: frames that were late once are given no time", "test_driver_region"),
    (CORE + "queue_token.c", "	free_token(host, t, UNIC_ST_OK, r);\n", "	(void)free_token;\n",
     "token: its end leaves an object", "test_driver_grants"),
    (CORE + "queue_token.c", "	if (t && !status)\n		free_token(req->host, t, status, &r);\n	else if",
     "	if (t && !status)\n		;\n	else if",
     "token: cancelled, it leaves an object", "test_driver_grants"),
    (CORE + "queue_token.c", "		if (t->replaced)\n			unic_queue_token_free(host, t, UNIC_ST_NO_TOKEN);",
     "		if (0)\n			unic_queue_token_free(host, t, UNIC_ST_NO_TOKEN);",
     "token: used, it leaves an object", "test_driver_grants"),
    (CORE + "queue_token.c", "	if (old)\n		token_replace(host, old);\n", "",
     "token: used and its index given again, it leaves an object", "test_driver_grants"),
    (CORE + "queue_token.c", "	else if (t && status == UNIC_ST_NO_TOKEN)\n		token_replace(req->host, t);\n",
     "", "token: used and cancelled, it leaves an object", "test_driver_grants"),
    (KIO + "kio_server.c", """	    job->turn != task->turn)""", "	    0)",
     "kio: what the store did for an earlier request", "test_kio_write"),
    (KIO + "kio_server.c", "	job->turn++;\n", "",
     "kio: requests have one turn", "test_kio_write"),
    (KIO + "kio_server.c", "job->state != UNIC_KIO_JOB_STORE || !job->begun ||",
     "", "kio: the store answers what nobody asked it", "test_kio_write"),
    (KIO + "kio_client.c", "	if (!status && io->given && len <= io->len)",
     "	if (!status && io->given)",
     "kio: a server has taken more than there was", "test_kio_write"),
    (KIO + "kio_client.c", "	if (!status && io->given && len <= io->len)",
     "	if (!status && len <= io->len)",
     "kio: a server has taken what was not sent", "test_kio_peer"),
    (KIO + "kio_client.c", "	if (!io || io->id != id ||", "	if (!io ||",
     "kio: an answer to an earlier I/O", "test_kio_peer"),
    (KIO + "kio_client.c", "needs_token(io) && payload && token == io->token",
     "needs_token(io) && payload",
     "kio: bytes of another token are an answer", "test_kio_peer"),
    (KIO + "kio_server.c", "	if (!payload || token != job->token)\n",
     "	if (!payload)\n", "kio: bytes of another token are a WRITE's", "test_kio_peer"),
    (KIO + "kio_server.c", "	else if (payload != unic_from_le32(job->ask.len))\n",
     "	else if (0)\n", "kio: a WRITE of fewer bytes is done with old ones",
     "test_kio_write"),
    (LIB + "token.c", """	err = unic_ctl_batch(ctx, rec, n, "allocate tokens");
	if (err)
		return err;
""", """	err = unic_ctl_batch(ctx, rec, n, "allocate tokens");
""", "token: what nothing is known of is cancelled", "test_libunic_event"),
    (CORE + "region/region_reg.c", "		if (unic_region_hold(req))\n			return;\n", "",
     "region: under way counts as waiting", "test_driver_held"),
    (CORE + "region/region_held.c", "	if (!proc->held && unic_region", "	if (unic_region",
     "region: a registration overtakes those that are held", "test_driver_held"),
    (CORE + "region/region_held.c", "	    (proc->asked && !unic_region_has_wait_place(host, proc)))",
     "	    !unic_region_has_wait_place(host, proc))",
     "region: held ones stay held when all places are taken", "test_driver_held"),
    (CORE + "region/region_held.c", "			first = req;", "			first = first ? first : req;",
     "region: the last that was held goes on first", "test_driver_held"),
    (CORE + "region/region_held.c", "req->held && req->slot == slot && req->seq == seq",
     "req->held && req->slot == slot",
     "region: a cancel ends any that is held", "test_driver_held"),
    (CORE + "region/region_reg.c", "		if (host->ready && req->client && unic_req_proc(req))",
     "		if (req->client)", "region: held ones go to a NIC that is lost",
     "test_driver_held"),
    (CORE + "region/region_reg.c", "	unic_region_asked(req, false);\n", "",
     "region: an answer does not count", "test_driver_held"),
    ("firmware/transport/qp.c",
     "	return qp->state != UNIC_QPS_RESET;",
     "	return qp->used && !qp->dying;",
     "qp: tails of before a RESET count", "test_qp"),
    ("firmware/command/cmd.c",
     "if (!r && cmd->state == UNIC_QPS_INIT)",
     "if (!r && cmd->state == UNIC_QPS_ERR)",
     "qp: what is posted in RESET is forgotten", "test_qp"),
    (CORE + "restore.c", "		if (!host->dark)\n			unic_queue_token_reset",
     "		unic_queue_token_reset",
     "token: its end is told while the NIC still runs", "test_driver_restore"),
)
