# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# The Linux module and the guests that it is tested in; included by the Makefile.

# The Linux module: its own make, for the kernel that guests run, among links to
# the sources, so that nothing it makes is among them.
KERNEL ?= $(shell tests/vm/kernel.py)
# ... or one of our own making, in a folder with a /boot and a /lib/modules.
export UNIC_VM_SYSTEM ?=
KMOD   := $(or $(UNIC_VM_SYSTEM),$(CURDIR)/$(B))/kmod
kmod: ## linux: build unic.ko and unicblk.ko in build/kmod [KERNEL=release]
	@mkdir -p $(KMOD)/host_driver && cp -rsf $(CURDIR)/abi $(KMOD) && \
		cp -rsf $(addprefix $(CURDIR)/host_driver/,core kio linux) $(KMOD)/host_driver
	$(Q)$(MAKE) --no-print-directory -C $(UNIC_VM_SYSTEM)/lib/modules/$(KERNEL)/build \
		M=$(KMOD)/host_driver/linux UNIC_VERSION=$(BUILD_ID) modules
	@echo "$@: ok"

# The example of a module that uses unic.ko.
kmod-sample: kmod ## linux: build the example of a module with memory of its own, in build/kmod
	@mkdir -p $(KMOD)/examples && cp -rsf $(CURDIR)/examples/kernel $(KMOD)/examples
	$(Q)$(MAKE) --no-print-directory -C $(UNIC_VM_SYSTEM)/lib/modules/$(KERNEL)/build \
		M=$(KMOD)/examples/kernel \
		KBUILD_EXTRA_SYMBOLS=$(KMOD)/host_driver/linux/Module.symvers modules
	@echo "$@: ok"

# In a folder of its own, because of other flags.
kmod-lint: ## linux: sparse, W=1 and, if installed, checkpatch
kmod-semantic: ## linux: the kernel's semantic patches, if Coccinelle is installed
kmod-lint kmod-semantic:
	@mkdir -p $(KMOD)-lint/host_driver && cp -rsf $(CURDIR)/abi $(KMOD)-lint && \
		cp -rsf $(addprefix $(CURDIR)/host_driver/,core kio linux) $(KMOD)-lint/host_driver
	@tools/check/kmod_lint.sh $(KERNEL) $(KMOD)-lint $(filter semantic,$(@:kmod-%=%)) && echo "$@: ok"

# Where it runs is where it is installed, unless KERNEL= says otherwise.
INSTALL_KERNEL := $(if $(filter-out file default,$(origin KERNEL)),$(KERNEL),$(shell uname -r))
kmod-install: ## linux: install the modules (by DKMS if installed) and the udev rule [KERNEL=] [DESTDIR=]
	@[ -d /lib/modules/$(INSTALL_KERNEL)/build ] || { echo "$@: no headers of \
	kernel $(INSTALL_KERNEL): apt-get install linux-headers-$(INSTALL_KERNEL)"; exit 1; }
	@$(MAKE) --no-print-directory kmod KERNEL=$(INSTALL_KERNEL)
	@tools/install/kmod_install.sh install $(BUILD_ID) $(INSTALL_KERNEL) && echo "$@: ok"
kmod-uninstall: ## linux: remove them [KERNEL=] [DESTDIR=]
	@tools/install/kmod_install.sh uninstall $(BUILD_ID) $(INSTALL_KERNEL) && echo "$@: ok"

# VM_OPTIONS="--board virt --cpus 2": a NIC in QEMU, two processors.
vm-build: programs build-soft kmod-sample $(call bin,$(VM_PROGRAMS)) $(if $(findstring virt,$(VM_OPTIONS)),build-virt)
vm-check: vm-build ## linux: functions of the module in a guest [VM_OPTIONS="--board virt --cpus 2"]
	@tests/vm/vm_check.py $(VM_OPTIONS) && echo "$@: ok"
vm-blk: vm-build ## linux: unicblk in a guest: a file system, loss, resets, a server that dies
	@tests/vm/vm_blk.py $(VM_OPTIONS) && echo "$@: ok"
vm-leave: vm-build ## linux: a NIC is taken away while it stands still, suspend, kexec
	@tests/vm/vm_leave.py $(VM_OPTIONS) && echo "$@: ok"
vm-nics: vm-build ## linux: two NICs in one guest, under one /dev/unic
	@tests/vm/vm_nics.py && echo "$@: ok"
vm-kmem: vm-build ## linux: a module's own memory, which a process of another host READs and WRITEs
	@tests/vm/vm_kmem.py $(VM_OPTIONS) && echo "$@: ok"
vm-look: vm-build ## linux: what the module shows: sysfs, debugfs, tracepoints
	@tests/vm/vm_look.py $(VM_OPTIONS) && echo "$@: ok"
vm-systemd: ## linux: the services, started by a systemd that is the first process of a guest
	@tests/vm/vm_systemd.py && echo "$@: ok"
vm-rdma-cm: programs build-soft $(call bin,rdma-cm) ## linux: connections with Linux's rdma_cm over soft-RoCE in a guest; fetches 90 MB
	@tests/vm/rdma_cm.py && echo "$@: ok"
bench-vm: vm-build $(call bin,rxe) ## measure: the Linux module beside yardsticks in the same guest
	@tests/vm/bench_vm.py
vm-deps:
	@tools/install/install_deps.sh packages.txt host firmware linux
vm-demo: vm-deps vm-build build-virt ## try: the same story with a Linux guest as one host, then a file system on unicblk
	@tests/vm/vm_demo.py
vm-endure: vm-build ## linux: loads, resets, removals, kills, and a NIC that lies; a quarter of an hour
	@tests/vm/vm_endure.py $(VM_OPTIONS) && echo "$@: ok"
vm-breaks: vm-build ## breaks: break the Linux module: the tests in the guest must fail
	@tests/vm/vm_breaks.py && echo "$@: ok"

# A kernel with KASAN, lockdep and faults to inject, and the tests under it: all is
# slower there, so each limit is longer.
DEBUG_KERNEL ?= $(CURDIR)/$(B)/debug-kernel
debug-kernel: $(DEBUG_KERNEL)/done ## linux: build a kernel that looks for faults; fetches 160 MB, half an hour
$(DEBUG_KERNEL)/done: tests/vm/debug.config tools/debug/debug_kernel.sh
	@tools/install/install_deps.sh packages-debug.txt
	@mkdir -p $(@D) && tools/debug/debug_kernel.sh $(@D) && touch $@
vm-debug: $(DEBUG_KERNEL)/done ## linux: the tests in a guest under that kernel, and faults injected; half an hour
	@export UNIC_VM_SYSTEM=$(DEBUG_KERNEL) UNIC_VM_SLOW=8; \
	$(MAKE) --no-print-directory vm-build $(call bin,nth) UBSAN_SANITIZE=y && \
	$(LEVELS) --name $@ $@
vm-shell: vm-build ## try: run the commands on stdin in a Linux guest that has the module
	@tests/vm/pair.py $(VM_OPTIONS)
