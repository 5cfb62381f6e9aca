# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# Strangers that talk to unic; included by the Makefile.

INTEROP_ENDS  := interop-unic interop-verbs
interop: programs build-soft $(call bin,$(INTEROP_ENDS)) $(VERBS) ## long: unic and strangers: rdma_rxe in a guest, programs over verbs and librdmacm, tests of rdma-core, libfabric, UCX and Open MPI; needs `make interop-deps` [PART=apps|rxe|cm|pyverbs|mpi] [OPTIONS="--wire clean"]
	@$(MAKE) --no-print-directory BOARD=virt image
	@tests/interop/interop.py $(if $(PART),--part $(PART)) -- $(OPTIONS)
interop-deps: ## long: install the packages of packages-interop.txt (as root), or say which are missing
	@tools/install/install_deps.sh packages-interop.txt && echo "$@: ok"
