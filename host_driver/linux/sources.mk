# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Compiled by Kbuild alone.
KMOD_SRCS := $(addprefix host_driver/linux/,frames_user.c unic_prefetch.c unic_self_client.c unic_call.c unic_cdev.c unic_config.c \
	unic_debugfs.c unic_engine.c unic_fence.c unic_file.c unic_gup.c unic_kclient.c unic_kmem.c unic_kmem_call.c \
	unic_kmem_conn.c unic_kmem_link.c unic_kmem_work.c unic_pin_work.c unic_mem.c unic_os.c unic_pci.c \
	unic_pin.c unic_pm.c unic_resident.c unic_slot.c unic_sysfs.c unic_trace.c unic_vector.c unic_wake.c \
	unicblk_class.c unicblk_disk.c unicblk_file.c unicblk_rq.c)
