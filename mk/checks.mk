# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# What looks at the sources, and at what was made of them.

C_DIRS   := abi docs/labs examples firmware hal host_driver qemu tests
C_FILES   = $(shell find $(C_DIRS) -name '*.[ch]' | sort)
# What runs on a host and is no test.
HOST_C    = $(sort $(FIRMWARE) $(RING) $(SERIAL) $(FAR) $(FAKE) $(CORE) $(LIBUNIC) $(EXAMPLES) \
	$(wildcard hal/soft/*.c) $(filter-out tests/%,$(filter %.c,$(foreach p,$(PROGRAMS),$(PARTS_$p)))))

lint: lint-format lint-cppcheck lint-sparse ## source: clang-format, cppcheck, sparse
	@echo "$@: ok"
lint-format:
	@clang-format --dry-run -Werror $(C_FILES) && echo "$@: ok"
lint-cppcheck:
	@cppcheck -q -j2 --std=c11 --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability \
		--suppress=missingIncludeSystem -U__KERNEL__ -U__CHECKER__ \
		--include=tools/check/cppcheck.h -Iabi -Ihal -Ihal/drivers \
		-Ifirmware -Iboards/soft $(HOST_C) && echo "$@: ok"
# Not what sparse cannot read: examples that include headers by their installed names (they are
# compiled by test_examples.py), and initializers of vectors.
lint-sparse: $$(call objects,sparse,$$(filter-out $$(SHOWN) %/random_vector.c,$$(HOST_C)))
	@echo "$@: ok"
format: ## source: rewrite the C files in the house style
	@clang-format -i $(C_FILES) && echo "$@: ok"
check-layers: ## source: who may include whom
check-purity: ## source: what the portable core calls and owns
	@$(MAKE) -s BOARD=virt $(B)/virt/core.a
	@tools/check/check_purity.py "$(ARM)nm --plugin /dev/null" $(B)/virt/core.a && echo "$@: ok"
check-endian: $(B)/build_id.h ## source: the core compiles for a big-endian machine
	@$(ARM)gcc $(filter-out -MMD -MP,$(FLAGS)) -mcpu=cortex-a15 -mbig-endian -ffreestanding \
		-fsyntax-only -Ifirmware -Ihal -Iabi -Iboards/virt \
		-include $(B)/build_id.h $(FIRMWARE) && echo "$@: ok"
check-abi: ## source: layout of every shared struct on five machines
check-packages: ## source: packages.txt names all that is needed
check-shared: ## source: words of shared memory are accessed once, by named accessors
check-memory-tests: ## source: the tests named in docs/MEMORY-TESTS.md exist
check-breaks: ## source: what the deliberate breaks of the tests replace is there
check-docs: ## source: links, files, functions, targets and options that the documents name exist
check-style: ## source: sizes of files and functions, where functions are declared, names, copies
check-commits: ## source: new commits say one thing, and why
check-style check-commits check-layers check-shared check-abi check-packages check-memory-tests check-breaks check-docs:
	@tools/check/$(subst -,_,$@).py && echo "$@: ok"
abi-golden: ## source: accept the layout as it is now
	@tools/check/check_abi.py --rewrite && echo "$@: ok"
spec: check-abi ## source: write the field tables of docs/SPEC.md from abi/
	@tools/check/spec.py --rewrite && echo "$@: ok"
check-spec: ## source: the tables of docs/SPEC.md are what the compiler makes of abi/
	@tools/check/spec.py && tools/check/check_spec.py && echo "$@: ok"

# Everything that some variable of a sources.mk or of a board names.
LISTED    = $(foreach v,$(filter PARTS_% LIB_%,$(.VARIABLES)),$($v)) $(foreach t,$(UNIT_CORE),$(call parts,$t)) \
	$(SIM) $(RECORDER_SRCS) $(ICRC_SMALL) $(RANDOM_SMALL) $(EXAMPLES) $(FAULT_LIBS) $(PROOFS) $(KMOD_SRCS) $(KMOD_SAMPLES) $(TARGET_RT) $(M3_RT) \
	$(FROM_OUTSIDE) $(MPI_PROGRAM) $(LABS) tests/abi/layout.c
BOARDS   := virt lm3s6965evb ek-tm4c1294xl mps2-an385 soft template
check-sources: ## source: every source file is in a list of a sources.mk
	@tools/check/check_sources.py $(sort $(foreach s,$(filter %.c %.S,$(LISTED)),$(lastword $(subst :, ,$s))) \
		$(foreach b,$(BOARDS),$(shell $(MAKE) -s BOARD=$b board-sources))) && echo "$@: ok"
board-sources:
	@echo $(BOARD_BOOT_SRCS) $(BOARD_SRCS) $(BOARD_MAIN_SRCS) $(BOARD_TEST_SRCS)

# A peer that was written from docs/SPEC.md and nothing else.
PEER_IMAGE := $(or $(IMAGE),soft)
conformance: programs ## test: a peer written from docs/SPEC.md alone, against a NIC and its driver [IMAGE=soft|virt]
	$(if $(filter soft virt,$(PEER_IMAGE)),,$(error IMAGE is soft or virt, not $(PEER_IMAGE)))
	@$(MAKE) --no-print-directory BOARD=$(PEER_IMAGE) image
	@tests/runner/levels.py --name $@ conformance-$(PEER_IMAGE)-long
