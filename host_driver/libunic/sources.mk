# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The library of processes.
LIBUNIC := $(addprefix host_driver/libunic/,absent.c batch.c bufman.c bufman_chunk.c bufman_pool.c \
	bufman_recv.c bufman_watch.c bufman_xfer.c cm.c cm_raw.c conn.c conn_dev.c conn_turn.c context.c cq.c cq_ring.c desc.c doorbell.c error.c \
	event.c fastpool.c fork.c form.c holder.c mem.c mem_frames.c mem_sweep.c mend.c mend_thread.c move.c \
	mr.c nics.c owed.c own_data.c pace.c park.c patience.c qp.c rate.c recover.c replay.c resync.c ring_mem.c srq.c stray.c token.c usage.c use.c where.c wr.c)

INC_host_driver/libunic = -Ihost_driver/libunic
LIB_libunic := $(LIBUNIC)
