# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The core, room by room: a room calls those above it and its own.
FIRMWARE := \
	$(addprefix firmware/base/,bucket.c random_vector.c err.c icrc.c icrc_table.c mailbox.c random.c slots.c \
		trace.c) \
	$(addprefix firmware/arbiter/,notice.c frequency.c pain.c policy.c policy_fifo.c policy_item.c policy_sample.c reuse.c \
		share.c) \
	$(addprefix firmware/memory/,access.c cache.c cached_window.c candidates.c cuts.c dependents.c \
		derived.c derived_load.c dma_mr.c fault.c fault_answer.c idle.c key_guard.c mr.c pd.c refs.c \
		revoked.c stag.c table.c tlb.c token.c token_alloc.c translate.c usage.c) \
	$(addprefix firmware/revoke/,admission.c ask.c demand.c depth.c evict.c evict_answer.c evict_events.c \
		evict_supply.c reclaim.c register.c) \
	$(addprefix firmware/transport/,arp.c atomics.c cq.c cut.c dma.c fastpath_expect.c \
		fastpath_lone.c fastpath_rx.c fastpath_tx.c local_ops.c mad.c meter.c parked.c qp.c qp_modify.c qp_number.c rd_resources.c \
		read_parts.c requester.c requester_rx.c responder.c responder_done.c responder_nak.c \
		responder_tx.c rq.c rq_ahead.c rq_ring.c rq_sweep.c rx.c sched.c sq.c sq_done.c srq.c \
		tx.c ud_uc_rx.c ud_uc_tx.c) \
	$(addprefix firmware/command/,cmd.c cmd_batch.c cmd_derived.c cmd_list.c cmd_mr.c \
		cmd_usage.c dump.c proc.c) \
	firmware/nic.c
# What a board without room has instead of icrc_table.c and random_vector.c.
ICRC_SMALL   := firmware/base/icrc_small.c
RANDOM_SMALL := firmware/base/random_small.c
# The replacement policies, for the trace simulator.
POLICIES := $(addprefix firmware/arbiter/,frequency.c pain.c reuse.c policy.c policy_fifo.c policy_item.c policy_sample.c share.c)

INC_firmware = -Ifirmware -Ihal -Iboards/$(board)
INC_firmware/base/mailbox.c = $(INC_firmware) -include $(B)/build_id.h
# These see no sizes of tables.
INC_firmware/arbiter/reuse.c   := -Ifirmware -Ihal
INC_firmware/arbiter/pain.c    := -Ifirmware -Ihal
INC_firmware/base/random_small.c  := -Ifirmware -Ihal
INC_firmware/base/random_vector.c := -Ifirmware -Ihal
INC_firmware/base/err.c        := -Ifirmware -Ihal
INC_firmware/base/icrc.c       := -Ifirmware -Ihal
INC_firmware/base/icrc_small.c := -Ifirmware -Ihal
INC_firmware/base/icrc_table.c := -Ifirmware -Ihal

# The core of an image.
LIB_core = $(or $(BOARD_CORE),$(FIRMWARE))
