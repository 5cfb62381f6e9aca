# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# The Linux module and the guests that it is tested in; included by the Makefile.

# The Linux module: its own make, for the kernel that guests run, among links to
# the sources, so that nothing it makes is among them.
KERNEL ?= $(shell tests/vm/kernel.py)
KMOD   := $(CURDIR)/$(B)/kmod
kmod: ## the Linux module, build/kmod/host_driver/linux/unic.ko [KERNEL=release]
	@mkdir -p $(KMOD)/host_driver && cp -rsf $(CURDIR)/abi $(KMOD) && \
		cp -rsf $(addprefix $(CURDIR)/host_driver/,core kio linux) $(KMOD)/host_driver
	$(Q)$(MAKE) --no-print-directory -C /lib/modules/$(KERNEL)/build \
		M=$(KMOD)/host_driver/linux UNIC_VERSION=$(BUILD_ID) modules
	@echo "$@: ok"

# In a folder of its own, because of other flags.
kmod-lint: ## sparse, W=1 and, if it is there, checkpatch on the Linux modules
	@mkdir -p $(KMOD)-lint/host_driver && cp -rsf $(CURDIR)/abi $(KMOD)-lint && \
		cp -rsf $(addprefix $(CURDIR)/host_driver/,core kio linux) $(KMOD)-lint/host_driver
	@tools/kmod_lint.sh $(KERNEL) $(KMOD)-lint && echo "$@: ok"

# Compiled by Kbuild alone.
KMOD_SRCS := $(addprefix host_driver/linux/,frames_user.c unic_ahead.c unic_cdev.c unic_engine.c unic_mem.c \
	unic_os.c unic_pci.c unic_resident.c unic_slot.c unicblk.c)
KMOD_SRCS += $(addprefix host_driver/linux/,unic_ask.c unic_sysfs.c unic_debugfs.c unic_trace.c)

# Where it runs is where it is installed, unless KERNEL= says otherwise.
INSTALL_KERNEL := $(if $(filter-out file default,$(origin KERNEL)),$(KERNEL),$(shell uname -r))
kmod-install: ## [KERNEL=] [DESTDIR=] the module, by dkms where it is, and the udev rule
	@[ -d /lib/modules/$(INSTALL_KERNEL)/build ] || { echo "$@: no headers of \
	kernel $(INSTALL_KERNEL): apt-get install linux-headers-$(INSTALL_KERNEL)"; exit 1; }
	@$(MAKE) --no-print-directory kmod KERNEL=$(INSTALL_KERNEL)
	@tools/kmod_install.sh install $(BUILD_ID) $(INSTALL_KERNEL) && echo "$@: ok"
kmod-uninstall: ## [KERNEL=] [DESTDIR=]
	@tools/kmod_install.sh uninstall $(BUILD_ID) $(INSTALL_KERNEL) && echo "$@: ok"

# What a guest is given, and its peer.
VM_SRCS := tests/vm/costs.c tests/vm/pins.c tests/vm/rxe.c
$(B)/host/tests/vm/%.o: INC = -Ihost_driver/libunic
$(B)/bin/pins: $(call objects,host,tests/vm/pins.c) $(B)/lib/libunic.a
$(B)/bin/costs: $(call objects,host,tests/vm/costs.c) $(B)/lib/libunic.a
$(B)/bin/rxe: $(call objects,host,tests/vm/rxe.c)
$(B)/bin/rxe: LIBS := -libverbs
VM_PROGRAMS := $(addprefix $(B)/bin/,costs forms memory pins datagrams survivor)
vm-build: programs build-soft kmod $(VM_PROGRAMS)
# VM_OPTIONS="--board virt --cpus 2": a NIC in QEMU, two processors.
vm-check: vm-build $(if $(findstring virt,$(VM_OPTIONS)),build-virt) ## [VM_OPTIONS="--board virt --cpus 2"] the Linux module in a guest: functions; "N passed, N failed"
	@tests/vm/vm_check.py $(VM_OPTIONS) && echo "$@: ok"
vm-blk: vm-build ## unicblk in a guest: a file system, loss, resets, a server that dies
	@tests/vm/vm_blk.py && echo "$@: ok"
vm-look: vm-build ## what the Linux module shows: sysfs, debugfs, tracepoints
	@tests/vm/vm_look.py && echo "$@: ok"
bench-vm: vm-build $(B)/bin/rxe ## the Linux module beside yardsticks of the same guest: a table
	@tests/vm/bench_vm.py
vm-demo: install-deps vm-build build-virt ## the demo, a guest with a QEMU NIC and a second host; a file system on unicblk
	@tests/vm/vm_demo.py
vm-endure: vm-build ## loads, resets, removals, kills, and a NIC that lies; a quarter of an hour
	@tests/vm/vm_endure.py $(VM_OPTIONS) && echo "$@: ok"
vm-breaks: vm-build ## deliberate breaks of the Linux module: the tests in the guest must go red
	@tests/vm/vm_breaks.py && echo "$@: ok"
vm-shell: vm-build ## commands on stdin are done in a guest with the module
	@tests/vm/pair.py $(VM_OPTIONS)
