# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Read by Frama-C (proofs.py).
PROOFS := $(addprefix tests/proofs/,eva_access.c eva_cmd.c eva_link_ring.c eva_mbox.c eva_roce_rx.c \
	wp_access.c wp_token.c wp_window.c)
