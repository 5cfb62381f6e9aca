# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The portable core of the driver; unicd and the Linux module stand on it.
CORE := $(addprefix host_driver/core/,admin.c batch.c device.c dispatch.c host.c ids.c journal.c limit.c nics.c \
	objects.c proc.c queue.c queue_resize.c queue_token.c rate.c recall.c request.c restore.c resync.c snapshot.c srq.c upcall.c \
	$(addprefix cm/,cm.c cm_backlog.c cm_conn.c cm_end.c cm_listen.c cm_mad.c cm_raw.c grants.c grants_msg.c \
		holdings.c) \
	$(addprefix provider/,mailbox_client.c provider_loop.c provider_loop_cmd.c \
		provider_loop_data.c provider_nic.c) \
	$(addprefix region/,frames.c region.c region_dereg.c region_derived.c region_dma.c region_fault.c \
		region_held.c region_notice.c region_pin.c region_place.c region_reg.c region_unmap.c))

INC_host_driver/core = -Ihost_driver/core
LIB_driver = $(CORE)
