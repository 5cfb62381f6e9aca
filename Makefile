# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# What there is to make; `make help` lists it. How things are made is in mk/rules.mk,
# of what in each folder's sources.mk, which is variables only. A board is described
# by boards/<board>/board.mk, the same. Source lists are explicit; `make
# check-sources` finds a file that is in none.

BOARD ?= virt
B     := build

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

ifeq ($(wildcard boards/$(BOARD)/board.mk),)
$(error no such board: $(BOARD). There are: $(patsubst \
	boards/%/board.mk,%,$(wildcard boards/*/board.mk)))
endif
include boards/$(BOARD)/board.mk
include $(sort $(wildcard $(addsuffix /sources.mk,boards examples firmware hal qemu host_driver/* tests/*)))
include mk/rules.mk mk/checks.mk mk/linux.mk mk/install.mk mk/docs.mk mk/interop.mk

# ----------------------------------------------------------------- programs

all: programs image ## build: host programs in build/bin and the image of BOARD=virt
	@echo "all: ok"

PROGRAMS := unic-bus unic-wire unic-uart unicd unicctl unic-hog unic-ping unic-perf unic-copy unic-kio unic-run unic-policysim
VERBS    := $(B)/lib/libunic-rdmav34.so $(B)/lib/libunic-shim.so
programs: $(call bin,$(PROGRAMS)) $(VERBS)

# An ELF for bare metal, or a process when BOARD=soft.
BOARD_IMAGE := $(if $(BOARD_LDSCRIPT),$(B)/$(BOARD)/unic.elf,$(B)/bin/unic-nic)
image: $(BOARD_IMAGE)
size: image ## build: memory of the image: text, data, bss [BOARD=]
	@$(BOARD_CC_PREFIX)size $(BOARD_IMAGE)
	@echo "size: ok"

# Other builds of the image, each below a folder of its own. That for gprof is a process:
# without inlining no board has room for the core, and bench-profile follows those exactly.
image-trace: ## build: image of BOARD that traces all groups from its start on, in build/trace [BOARD=]
	@$(MAKE) --no-print-directory B=$(B)/trace VARIANT=-DUNIC_TRACE_START=0x7fu image && echo "$@: ok"
image-profile: ## build: the soft NIC for gprof, without inlining, in build/profile; it leaves gmon.out
	@$(MAKE) --no-print-directory BOARD=soft B=$(B)/profile VARIANT="-fno-inline -pg" image && echo "$@: ok"
image-recorder: ## build: the soft NIC as a recorder of references, in build/record (tests/eval/recorder.h)
	@$(MAKE) --no-print-directory BOARD=soft B=$(B)/record VARIANT="-include tests/eval/recorder.h" \
		RECORDER=$(RECORDER_SRCS) image && echo "$@: ok"

bench_elf = $(addprefix $(B)/$(if $(filter virt,$1),bench,bench-$1)/,insn.elf lookup.elf steps.elf steps_qp.elf)
build-virt:
	@$(MAKE) --no-print-directory BOARD=virt image $(B)/virt/hal_selftest.elf $(call bench_elf,virt)
build-m3:
	@$(MAKE) --no-print-directory BOARD=mps2-an385 image $(B)/mps2-an385/mps2_selftest.elf $(call bench_elf,mps2-an385)
	@$(MAKE) --no-print-directory BOARD=lm3s6965evb image $(addprefix $(B)/lm3s6965evb/,flash.bin cortexm_selftest.elf)
	@$(MAKE) --no-print-directory BOARD=ek-tm4c1294xl image $(B)/ek-tm4c1294xl/flash.bin
	@$(MAKE) --no-print-directory BOARD=template image $(B)/template/template_board.elf
build-soft:
	@$(MAKE) --no-print-directory BOARD=soft image
build-others:
	@$(MAKE) --no-print-directory BOARD=soft image-trace image-profile

OPENOCD_CFG := boards/$(BOARD)/openocd.cfg
flash: $(if $(BOARD_SLOTS),image $(B)/$(BOARD)/boot.elf $(SLOT_IMAGES)) ## board: write the slot that does not boot, by OpenOCD (BOARD=lm3s6965evb) [ANYWAY=1]
	@$(if $(BOARD_SLOTS),,echo "flash: $(BOARD) has no flash" && exit 1)
	@tools/install/flash.py --board $(BOARD) --folder $(B)/$(BOARD) --config $(OPENOCD_CFG) \
		$(if $(ANYWAY),--anyway)
reset: ## board: restart the board, by OpenOCD (BOARD=lm3s6965evb)
	@# without an adapter OpenOCD ends before the commands, as if all were well
	@openocd -f $(OPENOCD_CFG) -c "init; reset halt; reset run; echo reset-done; shutdown" 2>&1 | \
		tee /dev/stderr | grep reset-done >/dev/null && echo "$@: ok"
debug: ## board: gdb on a NIC in QEMU, or a running one, or a board [BOARD=] [AT=host:port | PROBE=1] [ELF=]
	@$(MAKE) --no-print-directory $(if $(AT)$(PROBE),,$(call bin,unic-bus unic-uart)) image
	@tools/debug/debug.py --board $(BOARD) $(if $(AT),--at $(AT)) $(if $(PROBE),--probe) \
		$(if $(ELF),--image $(ELF))
console: ## board: print what the board says on its second UART [TTY=, if there is more than one serial adapter]
	@tools/install/console.py $(TTY)
flash-test: programs build-soft $(call bin,board-model) ## board: make flash without a board: OpenOCD over a model, power cuts, QEMU
	@$(MAKE) --no-print-directory BOARD=lm3s6965evb image $(B)/lm3s6965evb/flash.bin
	@$(MAKE) --no-print-directory BOARD=ek-tm4c1294xl image $(B)/ek-tm4c1294xl/flash.bin
	@tests/flash/test_flash.py && tests/flash/test_flash.py --board ek-tm4c1294xl --quick && \
		echo "$@: ok"

# -------------------------------------------------------------------- tests

UNIT_PROGS := $(patsubst %,$(B)/unit/bin/%,$(UNIT_CORE) $(UNIT_HOST))
UNIT_VIRT  := $(B)/unit/bin/batch_virt
TARGET_ELF := $(UNIT_CORE:%=$(B)/target/bin/%.elf)
M3_ELF     := $(UNIT_CORE:%=$(B)/m3/bin/%.elf)
# ... of which few fit 64 KiB of RAM: tests/runner/boards.py.
LM3S_ELF   := $(UNIT_CORE:%=$(B)/lm3s/bin/%.elf)
UNIT_mps2-an385  = $(M3_ELF)
UNIT_lm3s6965evb = $(LM3S_ELF)
# ... without sanitizers, counting branches; test_stags runs for minutes so, and takes no
# branch that others do not.
COV_PROGS  := $(patsubst %,$(B)/cov/bin/%,$(UNIT_CORE) $(filter-out test_stags,$(UNIT_HOST)) $(FUZZERS:%=fuzz_%))
REPLAYS    := $(FUZZERS:%=$(B)/unit/bin/fuzz_%) $(FUZZ_LARGE:%=$(B)/large/bin/fuzz_%)
# What each level of `make check` runs is in tests/runner/levels.py.
LEVELS     := tests/runner/levels.py $(foreach l,UNIT_PROGS UNIT_VIRT TARGET_ELF FUZZERS FUZZ_LARGE,--list "$l=$($l)")

check: ## test: what CI runs; ends in "N passed, N failed"
	@$(LEVELS) --name $@ $@
check-build: vm-build eval-quick-build faults-build build-virt build-soft build-others build-m3 release $(call bin,$(ON_HOST)) $(VERBS) \
	$(UNIT_PROGS) $(UNIT_VIRT) $(REPLAYS) $(COV_PROGS) $(TARGET_ELF) $(M3_ELF) $(LM3S_ELF) $(B)/target/bin/litmus.elf
sim: $(call bin,unic-sim) ## test: simulated systems under faults [SEEDS=1000] [FROM=1] [SEED=n TRACE=1] [STAND=1] [ATTACK=1] [SIZE=virt]
	@$< --from $(or $(SEED),$(FROM),1) --seeds $(if $(SEED),1,$(or \
		$(SEEDS),1000)) $(if $(TRACE),--trace) \
		$(if $(STAND),--stand) $(if $(ATTACK),--attack) $(if $(SIZE),--size $(SIZE)) $(if $(SALT),--salt \
		$(SALT)) && echo "$@: ok"
ifeq ($(or $(SEED),$(STAND),$(ATTACK),$(SIZE),$(SALT)),)
sim: libsim
endif
libsim: $(call bin,unic-libsim) ## test: processes that use libunic, in simulated systems [SEEDS=500] [FROM=1] [SEED=n TRACE=1]
	@$< --from $(or $(SEED),$(FROM),1) --seeds $(if $(SEED),1,$(or $(SEEDS),500)) $(if $(TRACE),--trace) && echo "$@: ok"
unit: $(UNIT_PROGS) $(UNIT_VIRT) ## test: unit tests on the host, with sanitizers
corpora: $(REPLAYS) ## test: replay the corpora of the fuzzers
litmus: $(call bin,litmus-host) $(B)/target/bin/litmus.elf ## test: memory barriers between host and emulated core
e2e: check-build ## test: real programs: bus, wire, driver, soft NICs, NICs in QEMU
stags: $(call bin,stags) ## test: 2^25 STags used up beside another process, and a solver for 10^5
unit corpora stags litmus e2e:
	@$(LEVELS) $@ && echo "$@: ok"
unit-target: $(or $(UNIT_$(BOARD)),$(TARGET_ELF)) ## test: the same tests on the board, in QEMU [BOARD=virt]
	@tests/runner/boards.py --board $(BOARD) --kind unit && echo "$@: ok"
boards-report: programs build-virt build-soft build-m3 ## test: table of board, test and runner [ONLY=test]
boards-report: $(UNIT_PROGS) $(UNIT_VIRT) $(TARGET_ELF) $(M3_ELF) $(LM3S_ELF) $(call bin,survivor forms holders)
	@tests/runner/boards.py $(if $(ONLY),--only $(ONLY)) && echo "$@: ok"

demo: ## try: two hosts, three greedy programs, a file moved both ways [FILE=] [BOARD=] [MODEL=1] [LOSS=1%] [LINK=shm|virtio] [MODE=resident|demand|table] [POLICY=lru] [V=1]
	@mkdir -p $(B)/demo && $(if $(V),,DEPS_LOG=$(B)/demo/packages.log) tools/install/install_deps.sh packages.txt host \
		$(if $(filter soft,$(BOARD)),,firmware)
	@[ -e $(B)/bin/unicd ] || echo "demo: the programs and the image are built first, in one to three minutes"
	@$(MAKE) $(if $(findstring --jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) --no-print-directory \
		programs image $(if $(MODEL),$(call bin,board-model) $(B)/$(BOARD)/flash.bin) $(if $(V),,> $(B)/demo/build.log 2>&1 || \
		{ tail -n 20 $(B)/demo/build.log; echo "demo: not built, all of it is in $(B)/demo/build.log"; exit 1; })
	@tests/qemu/demo.py --board $(BOARD) $(if $(MODEL),--model) $(if $(FILE),--file "$(FILE)") \
		$(if $(LOSS),--loss "$(LOSS)") $(if $(LINK),--link $(LINK)) \
		$(if $(MODE),--mode $(MODE)) $(if $(POLICY),--policy $(POLICY)) $(if $(V),--verbose)

# --------------------------------------------------------- tests that are long

# New inputs stay in build/; `make fuzz-merge` chooses those worth keeping.
FUZZ_IN  = $(B)/fuzz/corpus/$$f tests/fuzz/corpus/$$f
RUNS    ?= 20000
fuzz: $(FUZZERS:%=$(B)/fuzz/bin/fuzz_%) ## long: libFuzzer on seven trust boundaries [FUZZER=name] [RUNS=n] [SEED=n]
	@$(if $(filter-out $(FUZZERS),$(FUZZER)),echo "no such fuzzer; there are: $(FUZZERS)" && exit 1)
	@for f in $(or $(FUZZER),$(FUZZERS)); do \
		mkdir -p $(B)/fuzz/found $(FUZZ_IN); \
		ASAN_OPTIONS=quarantine_size_mb=16 $(B)/fuzz/bin/fuzz_$$f \
			-runs=$(RUNS) -seed=$(or $(SEED),1) -entropic=0 \
			-max_len=1500 -len_control=0 -timeout=20 -verbosity=0 \
			-artifact_prefix=$(B)/fuzz/found/$$f- $(FUZZ_IN) || \
			{ echo "fuzz: $$f found something, see above"; exit 1; }; \
		echo "  $$f: $(RUNS) executions"; \
	done && echo "$@: ok"
fuzz-merge: $(FUZZERS:%=$(B)/fuzz/bin/fuzz_%) ## long: keep the inputs that reach more
	@for f in $(or $(FUZZER),$(FUZZERS)); do \
		rm -rf $(B)/fuzz/merged && \
			mkdir -p $(B)/fuzz/merged $(B)/fuzz/found && \
		$(B)/fuzz/bin/fuzz_$$f -set_cover_merge=1 -use_counters=0 -verbosity=0 \
			-artifact_prefix=$(B)/fuzz/found/$$f- \
			$(B)/fuzz/merged $(FUZZ_IN) && \
		rm -rf tests/fuzz/corpus/$$f && mkdir -p tests/fuzz/corpus && \
		mv $(B)/fuzz/merged tests/fuzz/corpus/$$f || exit 1; \
	done && echo "$@: ok"
# Of unit tests and corpora: which branches none of them takes, or has taken before.
check-coverage: $(COV_PROGS) ## test: a branch that no unit test takes has a reason, or stands in a list that only becomes shorter [SETTLE=1]
	@tests/runner/coverage.py $(if $(SETTLE),--settle) unit $^ && echo "$@: ok"
# ... and of whole systems besides, compiled so.
COUNTED := crowd cuts datagrams forks forms holders kio-liar lending memory survivor tokens
coverage-build: $(COV_PROGS) $(B)/cov/bin/cov-sim
	@$(MAKE) --no-print-directory B=$(B)/covsys VARIANT="-O0 --coverage -fprofile-update=atomic" programs \
		build-soft $(COUNTED:%=$(B)/covsys/bin/%)
coverage: coverage-build ## long: branches that tests take, also those of whole systems: docs/evidence/coverage.md [SETTLE=1]
	@tests/runner/coverage.py $(if $(SETTLE),--settle) whole $(COV_PROGS) && echo "$@: ok"

# Host programs under a checker, and with calls of the system that fail.
CHECKED := survivor crowd forks
tsan-build:
	@$(MAKE) --no-print-directory B=$(B)/tsan VARIANT="-fsanitize=thread -Wno-tsan" programs \
		build-soft $(CHECKED:%=$(B)/tsan/bin/%)
tsan: tsan-build ## long: end-to-end tests with the host programs under ThreadSanitizer
valgrind: programs build-soft $(call bin,$(CHECKED)) $(B)/faults/pidfd_shim.so ## long: end-to-end tests with the host programs under memcheck
tsan valgrind:
	@tests/faults/checked.py $@ && echo "$@: ok"
faults-build: programs build-soft $(B)/faults/inject.so $(call bin,fault-scenario)
faults: faults-build ## long: make system calls fail, one by one [SAMPLE=n] [SEED=n]
	@tests/faults/faults.py $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(SEED),--seed $(SEED)) && echo "$@: ok"
soak: programs image ## long: two hosts with loss and kills [MINUTES=5] [SEED=1] [BOARD=virt|soft]
	@tests/qemu/soak.py --board $(BOARD) $(if $(MINUTES),--minutes \
		$(MINUTES)) $(if $(SEED),--seed $(SEED))
models: ## long: Spin: the models of docs/MODELS.md in full, and all their mutants
	@tests/models/check.py full && echo "$@: ok"
proofs: ## long: Frama-C (Eva, WP) over the trust boundaries; fetches 255 MB
	@tools/install/install_deps.sh packages.txt proofs
	@nice -n 5 tests/proofs/proofs.py && echo "$@: ok"
check-long: ## long: what takes too long for make check, on a clean clone; their table in docs/TESTING.md [ONLY="sim models"]
	@tests/runner/long.py $(ONLY) && echo "$@: ok"
steady: check-build ## long: each test that starts processes 20 times at a load of 8; goes on where it was stopped [RUNS=20] [LOAD=8] [ONLY=word]
	@tests/runner/steady.py $(if $(RUNS),--runs $(RUNS)) $(if $(LOAD),--load $(LOAD)) \
		$(if $(ONLY),--only $(ONLY)) && echo "$@: ok"

# ---------------------------------------------------------- deliberate breaks

mutants: kmod $(B)/build_id.h ## breaks: slips of a machine, in all of the product: docs/evidence/mutants.md; goes on where it was stopped [SAMPLE=500] [OF=syntax|tokens] [MINUTES=n]
	@tests/mutation/mutants.py $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(OF),--of $(OF)) \
		$(if $(MINUTES),--minutes $(MINUTES)) && echo "$@: ok"
mutations: ## breaks: break firmware and driver by hand-written patches: unit tests must fail [ONLY=words]
	@tests/mutation/mutations.py $(if $(ONLY),--only "$(ONLY)") && echo "$@: ok"
promises: ## breaks: break each promise of docs/MEMORY-TESTS.md: the named test must fail
	@tests/mutation/promises.py && echo "$@: ok"
sim-mutants: ## breaks: break firmware and driver: the named checker must object
	@tests/sim/mutants.py && echo "$@: ok"
proof-mutants: ## breaks: break what is proved: the proofs must fail
	@tools/install/install_deps.sh packages.txt proofs
	@nice -n 5 tests/proofs/mutants.py && echo "$@: ok"

# ------------------------------------------------------------- measurements

# $1 TLBs and $2 cores of other sizes
eval_parts = $(call bin,unic-eval unic-policysim) $(1:%=$(B)/tlb/%/bin/unic-eval) \
	$(2:%=$(B)/scale/%/bin/unic-scale)
eval-quick-build: $(call eval_parts,$(TLB_QUICK),$(SCALE_QUICK))
eval-build: $(if $(QUICK),eval-quick-build,$(call eval_parts,$(TLB_SIZES),$(SCALE_SIZES)))
# Two at a time, unless whoever called make said how many.
eval: $(if $(VIRT),programs build-virt) ## measure: docs/evidence/evaluation.md from experiments in virtual time [QUICK=1] [VIRT=1]
	@$(MAKE) $(if $(findstring --jobserver,$(MAKEFLAGS)),,-j2) --no-print-directory eval-build
	@tests/eval/eval.py $(if $(QUICK),--quick)
	@$(if $(VIRT),tests/eval/virt.py && tests/eval/eval.py --report)
	@echo "$@: ok"
record-traces: programs image-recorder $(call bin,polite) ## measure: what programs refer to, use by use, into tests/eval/traces [RUN=copy]
	@tests/eval/recorded.py $(RUN) && echo "$@: ok"
policies: $(call bin,unic-policysim) ## measure: replacement policies beside Belady's MIN [SEED=1]
	@tests/eval/policies.py $(if $(SEED),--seed $(SEED)) && echo "$@: ok"
bench: programs build-virt build-soft build-m3 $(call bin,$(YARD_PROGS)) ## measure: figures beside their goals [PART=whole|serial|miss|reg|evict|verbs] [OPS=1000000]
	@tests/bench/bench.py $(if $(PART),--part $(PART)) \
		$(if $(OPS),--ops $(OPS))
	@$(if $(PART),,tests/bench/lookup.py && tests/bench/sizes.py && tests/bench/parts.py &&) echo "$@: ok"
bench-rxe: programs build-virt $(call bin,$(YARD_PROGS)) ## measure: beside Linux soft-RoCE in a TCG guest; fetches 90 MB
	@tests/bench/rxe.py && echo "$@: ok"
bench-profile: ## measure: where the instructions of a WRITE go, by function
	@$(MAKE) --no-print-directory BOARD=virt $(B)/bench/insn.elf
	@tests/bench/profile.py && echo "$@: ok"
bench-insn: ## measure: instructions of hot paths and of the longest rounds of work against their budgets, on two processors
	@$(MAKE) --no-print-directory BOARD=virt $(call bench_elf,virt)
	@$(MAKE) --no-print-directory BOARD=mps2-an385 $(call bench_elf,mps2-an385)
	@tests/bench/insn.py; insn=$$?; tests/bench/lookup.py && tests/bench/steps.py && [ $$insn = 0 ] && echo "$@: ok"

figures: ## measure: write the figures of the documents again, of the files that commands left in docs/evidence
	@tests/mutation/mutants.py --report && tools/figures/figures.py && echo "$@: ok"

# --------------------------------------------------------------------- rest

# Every target that is a plain word.
.PHONY: FORCE compile_commands.json $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' Makefile mk/*.mk)
install-deps: ## build: install the packages of packages.txt (as root), or say which are missing
	@tools/install/install_deps.sh && echo "$@: ok"
# Of all that check-build compiles: one command for each source.
compile_commands.json: ## build: the commands of compilation, for editors
	@$(MAKE) --no-print-directory -n -k -B V=1 check-build lint-sparse 2> /dev/null | mk/compile_commands.py > $@ && \
		echo "$@: ok"
clean: ## build: remove build/
	rm -rf $(B)
	@echo "$@: ok"
help: ## build: this list
	@mk/make_help.py Makefile mk/*.mk
