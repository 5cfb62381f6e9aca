# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# The whole build. `make help` says what there is to make. A board is described
# by boards/<board>/board.mk, which sets variables and nothing else. Source
# lists are explicit; `make check-sources` finds a file that is in none.

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

# ------------------------------------------------------------------ sources

include firmware/sources.mk
# What a board without room has instead of icrc_table.c.
ICRC_SMALL := firmware/base/icrc_small.c
RING     := hal/drivers/link_ring.c
# The serial host link: both ends, the NIC's, the host's.
SERIAL   := $(addprefix hal/serial/,frame.c stream.c)
NEAR     := hal/serial/near.c
FAR      := host_driver/serial/far.c
FAKE     := hal/fake/fake_port.c
# What the daemons share: a folder of their own, a log, and who their peers are.
DAEMON   := $(addprefix host_driver/daemon/,peer_pidfd.c run_dir.c say.c send_fds.c)
BUS      := $(addprefix qemu/bus/,bus_attach.c bus_memory.c ivshmem_server.c \
	unic_bus_main.c)
WIRE     := $(addprefix qemu/wire/,capture.c faults.c icrc.c link_side.c \
	mac_table.c options.c socket_port.c switch.c switch_stats.c \
	unic_wire_main.c)
UARTNIC  := qemu/uart/unic_uart_main.c
CORE     := $(addprefix host_driver/core/,admin.c batch.c host.c journal.c \
	objects.c proc.c queue.c request.c restore.c cm/cm.c cm/cm_conn.c \
	cm/cm_mad.c cm/grants.c provider/mailbox_client.c provider/provider_loop.c \
	provider/provider_loop_data.c provider/provider_nic.c region/frames.c \
	region/region.c region/region_derived.c region/region_dma.c \
	region/region_fault.c region/region_notice.c region/region_unmap.c)
KIO      := $(addprefix host_driver/kio/,kio_client.c kio_link.c kio_node.c \
	kio_ring.c kio_server.c)
UNICD    := $(addprefix host_driver/unicd/,board.c clients.c crash_text.c \
	kio.c kio_files.c kio_worker.c line.c slots.c unicd_main.c unicd_os.c)
LIBUNIC  := $(addprefix host_driver/libunic/,batch.c bufman.c bufman_recv.c \
	bufman_xfer.c cm.c conn.c conn_dev.c context.c cq.c doorbell.c error.c \
	event.c fastpool.c fork.c form.c \
	holder.c mem.c move.c mr.c pace.c qp.c recover.c resync.c token.c use.c)
UNICCTL  := $(addprefix host_driver/tools/,unicctl.c ctl_fetch.c ctl_print.c \
	ctl_uses.c)
HOG      := host_driver/tools/unic-hog.c
COPY     := $(addprefix host_driver/tools/,unic-copy.c copy_peer.c copy_file.c \
	copy_client.c copy_server.c)
KIOTOOL  := $(addprefix host_driver/tools/,unic-kio.c kio_ask.c)
TOOLS     = $(UNICCTL) $(HOG) $(COPY) $(KIOTOOL)
# Compiled by test_example.py, with the command in README.md.
EXAMPLES := examples/polite.c
PROGRAMS := unic-bus unic-wire unic-uart unicd unicctl unic-hog unic-copy unic-kio \
	unic-policysim

# Tests of these run on the host and on the target; the others on the host only.
UNIT_CORE := test_ahead test_anew test_arp test_attacks test_attributes test_badinput test_batch \
	test_between test_bounce test_cache test_cmd test_cq \
	test_cut test_delegate test_dma \
	test_evict test_form test_found test_frames test_fuzzed test_guess test_hostile \
	test_icrc test_lane test_limits test_link_ring test_loss test_miss \
	test_model test_mr test_multi test_nic test_notice test_order \
	test_physical test_policy test_port test_qp test_random test_rc test_reap test_reasons \
	test_receives test_revoke test_roce test_same test_sched test_set test_share \
	test_sizes test_slots test_strays test_sweep test_tlb test_token test_turns \
	test_unrel test_use
UNIT_HOST := test_conn test_hog test_hostcore test_kio test_kio_files test_kio_node test_libunic test_policysim test_recover test_serial test_stags test_switch
UNIT_RIG  := $(addprefix tests/unit/,pair.c rig.c rig_kernel.c)
FUZZERS   := mbox queue frame ring driver unicd line
FUZZ_NIC  := $(addprefix tests/fuzz/,world.c memory.c sane.c lists.c order.c changes.c)
FUZZ_CTL  := tests/fuzz/ctl.c
REPLAY    := tests/fuzz/replay.c
SELFTEST  := tests/qemu/hal_selftest.c
CORTEXM   := tests/qemu/cortexm_selftest.c
JTAG      := tests/flash/board_model.c
MPS2      := tests/qemu/mps2_selftest.c
PORTED    := tests/qemu/template_chip.c
INSN      := $(addprefix tests/bench/,insn.c bench_port.c)
STEPS     := $(addprefix tests/bench/,steps.c bench_port.c)
STEPS_QP  := $(addprefix tests/bench/,steps_qp.c bench_port.c)
# The image of the instruction counts: that of virt has no name, and all have its
# sizes of tables.
BENCH     := bench$(patsubst %,-%,$(filter-out virt,$(BOARD)))
YARD      := $(addprefix tests/bench/,yard.c driver.c evict_bench.c mbox_bench.c \
	miss_bench.c reg_bench.c verbs_bench.c)
SIM       := $(addprefix tests/sim/,app.c app_ask.c app_done.c app_form.c app_lie.c app_mem.c \
	app_op.c app_open.c app_qp.c app_token.c bounds.c \
	conserve.c core_host.c core_nic.c lives.c main.c model.c once.c oracle.c os.c \
	pins.c port.c probe.c run.c scenario.c seed.c shrink.c sim.c slots.c stags.c stand.c tap.c view.c wire.c \
	world.c)
REPLAYED  := $(addprefix tests/eval/,refs.c replay.c)
POLICYSIM := tests/eval/policysim.c $(REPLAYED)
# ... and the policies of the firmware, as they are.
POLICIES  := $(addprefix firmware/,arbiter/reuse.c arbiter/policy.c arbiter/policy_fifo.c \
	arbiter/policy_sample.c arbiter/share.c)
EVAL      := $(addprefix tests/eval/,actor.c cache.c churn.c conn.c fair.c grace.c \
	hoard.c inside.c kernel.c kio.c lists.c main.c message.c player.c quiet.c residency.c stage.c)
SCALE     := tests/eval/scale.c
# ... with the ends of the page service, not the service of a host.
EVAL_KIO  := $(addprefix host_driver/kio/,kio_client.c kio_server.c)
POOL      := $(addprefix tests/pool/,main.c pool.c tenants.c)
EVAL_SIM  := $(addprefix tests/sim/,core_nic.c os.c port.c sim.c view.c wire.c \
	world.c)
PROOFS    := $(addprefix tests/proofs/,eva_access.c eva_cmd.c eva_link_ring.c \
	eva_mbox.c eva_roce_rx.c wp_access.c wp_token.c wp_window.c)
LITMUS    := tests/qemu/litmus_guest.c tests/qemu/litmus_host.c

# -------------------------------------------------------------- compilation

# make V=1 shows the commands, make -s nothing.
Q     := $(if $(filter 1,$(V)),,@)
SAY   := $(if $(Q),$(if $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS)))),,1))
say    = @mkdir -p $(@D); $(if $(SAY),printf '  %-6s %s\n' $1 $@)
BUILD_ID := $(or $(shell git describe --always --dirty --abbrev=12 \
	2>/dev/null),unknown)
CC       := gcc
AR       := ar
ARM      := arm-none-eabi-
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror
# VARIANT: how else to compile what runs on a host (make tsan).
VARIANT  :=
CFLAGS   := -std=gnu11 -O2 -g $(WARN) -MMD -MP $(VARIANT)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
# For what runs on a host.
GNU      := -D_GNU_SOURCE=
SPARSE   := '-D__builtin_assume_aligned(p, n)=(p)' \
	'-D__builtin_shufflevector(v, ...)=(v)' $(GNU) -std=gnu11 \
	-Wsparse-error -Wno-non-pointer-null
CORTEX_M := -mcpu=cortex-m3 -mthumb
CORTEX_A := -mcpu=cortex-a15 -marm -mfpu=neon-vfpv4 -mfloat-abi=hard

# $1 folder of the objects, $2 sources
objects = $(foreach d,$1,$(patsubst %,$(B)/$d/%.o,$(basename $2)))

# What each folder may include besides abi/, and no more than that:
#	host_driver -> abi <- firmware -> hal/unic_port.h <- hal/<x>
# $1 folder of the objects, $2 compiler and flags, $3 board, $4 what to say.
define compile_rules
$1/firmware/%.o: INC = -Ifirmware -Ihal -Iboards/$3
$1/firmware/base/mailbox.o: INC = -Ifirmware -Ihal -Iboards/$3 -include $(B)/build_id.h
$1/firmware/base/mailbox.o: $(B)/build_id.h
$1/hal/%.o: INC = -I$$(<D) -Ihal/drivers -Ihal -Iboards/$3
$1/hal/%/main.o: INC = -I$$(<D) -Ihal/drivers -Ihal -Iboards/$3 -Ifirmware
$1/qemu/bus/%.o: INC = -Iqemu/bus -Ihost_driver/daemon
$1/host_driver/daemon/%.o: INC = -Ihost_driver/daemon
$1/host_driver/core/%.o: INC = -Ihost_driver/core
$1/host_driver/kio/%.o: INC = -Ihost_driver/kio -Ihost_driver/core
$1/host_driver/unicd/%.o: INC = -Ihost_driver/unicd -Ihost_driver/core \
	-Ihost_driver/kio -Ihost_driver/daemon
$1/host_driver/unicd/line.o: INC = -Ihost_driver/unicd -Ihost_driver/core -Ihost_driver/kio \
	-Ihost_driver/daemon -Ihost_driver/serial -Ihal/serial
$1/host_driver/serial/%.o: INC = -Ihost_driver/serial -Ihal/serial -Ihal
$1/host_driver/libunic/%.o $1/examples/%.o: INC = -Ihost_driver/libunic
$1/host_driver/tools/%.o: INC = -Ihost_driver/tools -Ihost_driver/libunic
$1/qemu/uart/%.o: INC = -Ihal/drivers
$1/qemu/wire/%.o: INC = -Iqemu/wire -Ihal/drivers -Ihal -Iqemu/bus -Ihost_driver/daemon
$1/tests/%.o: INC = -Itests/unit -Ifirmware -Ihal/fake -Ihal/virt \
	-Ihal/drivers -Ihal -Iboards/$3
$1/tests/unit/host/test_policysim.o: INC = -Itests/unit -Itests/eval
$1/tests/fuzz/fuzz_driver.o: INC = -Ihost_driver/core
$1/tests/fuzz/fuzz_unicd.o: INC = -Ihost_driver/core -Ihost_driver/kio -Ihost_driver/unicd
$1/tests/sim/%.o: INC = -Itests/sim -Ihal -Ihost_driver/core
$1/tests/sim/core_nic.o: INC = -Itests/sim -Ifirmware -Ihal -Iboards/$3
$1/tests/eval/%.o: INC = -Itests/eval -Itests/sim -Ihal -Ihost_driver/core -Ihost_driver/kio
$(addprefix $1/,$(POLICYSIM:.c=.o)): INC = -Itests/eval -Ifirmware -Ihal -Iboards/soft
$1/tests/pool/%.o: INC = -Itests/pool -Ifirmware -Iboards/$3
$1/tests/eval/scale.o: INC = -Ihal/fake -Ifirmware -Ihal -Iboards/$3
$1/tests/eval/inside.o: INC = -Itests/eval -Itests/sim -Ihost_driver/core -Ifirmware -Ihal -Iboards/$3
$1/tests/unit/host/test_hostcore.o: INC = -Itests/unit -Ihost_driver/core
$1/tests/unit/host/test_kio.o: INC = -Itests/unit -Ihost_driver/kio -Ihost_driver/core -Ifirmware \
	-Ihal/fake -Ihal -Iboards/$3
$1/tests/unit/host/test_kio_node.o: INC = -Itests/unit -Ihost_driver/kio -Ihost_driver/core
$1/tests/unit/host/test_kio_files.o: INC = -Itests/unit -Ihost_driver/unicd -Ihost_driver/kio \
	-Ihost_driver/core
$1/tests/unit/host/test_switch.o: INC = -Itests/unit -Iqemu/wire -Ihal/drivers -Ihal -Iqemu/bus -Ihost_driver/daemon
$1/tests/unit/host/test_hog.o: INC = -Itests/unit -Ihost_driver/tools -Ihost_driver/libunic
$1/tests/unit/host/test_conn.o: INC = -Itests/unit -Ihost_driver/libunic
$1/tests/unit/host/test_libunic.o: INC = -Itests/unit -Ihost_driver/libunic
$1/tests/unit/host/test_recover.o: INC = -Itests/unit -Ihost_driver/libunic
$1/tests/faults/scenario.o: INC = -Ihost_driver/libunic
$1/tests/qemu/survivor.o: INC = -Ihost_driver/libunic
$1/tests/qemu/forms.o: INC = -Ihost_driver/libunic
$1/tests/qemu/kio_liar.o: INC = -Ihost_driver/libunic
$1/tests/qemu/holders.o: INC = -Ihost_driver/libunic
$1/tests/qemu/datagrams.o: INC = -Ihost_driver/libunic
$1/tests/qemu/forks.o: INC = -Ihost_driver/libunic
$1/tests/qemu/crowd.o: INC = -Ihost_driver/libunic
$1/tests/qemu/memory.o: INC = -Ihost_driver/libunic
$(addprefix $1/,$(YARD:.c=.o)): INC = -Itests/bench -Ihost_driver/libunic
$1/flags: FORCE
	$$(call keep,$$(subst ',,$2))
$(foreach s,c S,
$1/%.o: %.$s $1/flags
	$$(call say,$4)
	$$(Q)$2 $$(INC) -Iabi -c $$< -o $$@
)
endef
# $1 text, for a file that changes only when the text does. The first is older than
# all: objects that were there before it are not made again.
keep = @mkdir -p $(@D); echo '$1' | cmp -s - $@ || { [ -e $@ ]; first=$$?; \
	echo '$1' > $@; [ $$first = 0 ] || touch -d @0 $@; }
$(eval $(call compile_rules,$(B)/host,$(CC) $(CFLAGS) $(GNU),soft,CC))
$(eval $(call compile_rules,$(B)/unit,$(CC) $(CFLAGS) $(GNU) \
	$(SANITIZE),fake,CC))
# The simulator, with tables of four sizes: that of the unit tests, and those of boards.
SIM_SIZES := small tiny mps2 virt
SIM_BOARD_small := small
SIM_BOARD_tiny  := tiny
SIM_BOARD_mps2  := mps2-an385
SIM_BOARD_virt  := virt
# $1 processes, $2 regions, $3 protection domains and requests that wait, $4 bytes of a
# process: with 8 MiB there are pages of 2 MiB
sim_model = -DPORT_SLOT_BYTES=$4u -DPORT_SLOTS=$1u -DMODEL_PROCS=$1u -DMODEL_MRS=$2u -DMODEL_PDS=$3u -DMODEL_WAITS=$3u \
	-DUNIC_SPIN_LOOKS=2u
SIM_MODEL_small := $(call sim_model,3,32,8,0x100000)
SIM_MODEL_tiny  := $(call sim_model,2,16,8,0x100000)
SIM_MODEL_mps2  := $(call sim_model,7,256,64,0x100000)
SIM_MODEL_virt  := $(call sim_model,8,256,64,0x800000)
$(foreach s,$(SIM_SIZES),$(eval $(call compile_rules,$(B)/sim/$s,$(CC) $(CFLAGS) $(GNU) \
	-DSIM_SIZE=$s $(SIM_MODEL_$s),$(SIM_BOARD_$s),SIM)))
# Larger tables than any board, and more memory a process.
$(eval $(call compile_rules,$(B)/eval,$(CC) $(CFLAGS) $(GNU) -DPORT_SLOTS=16u \
	-DPORT_SLOT_BYTES=0xb00000u -DPORT_RX=256u,eval,EVAL))
# The cores that know no TLB, for something else (tests/pool).
$(eval $(call compile_rules,$(B)/pool,$(CC) $(CFLAGS) $(GNU) \
	$(SANITIZE),pool,POOL))
# Fast, with the tables of the boards that have room (tests/unit/host/test_stags.c).
$(eval $(call compile_rules,$(B)/stags,$(CC) $(CFLAGS) $(GNU),virt,STAGS))
# 64 entries and 16 processes (tests/unit/host/test_kio.c).
$(eval $(call compile_rules,$(B)/crowd,$(CC) $(CFLAGS) $(GNU) \
	-DFAKE_WINDOWS=16u,crowd,CROWD))
$(eval $(call compile_rules,$(B)/target,$(ARM)gcc $(CFLAGS) $(CORTEX_A) \
	-Itests/unit/target,fake,ARM))
$(eval $(call compile_rules,$(B)/m3,$(ARM)gcc $(CFLAGS) $(CORTEX_M) \
	-Itests/unit/target,fake,M3))
$(eval $(call compile_rules,$(B)/$(BOARD),$(BOARD_CC_PREFIX)gcc $(CFLAGS) \
	$(BOARD_CFLAGS) $$(SMALL),$(BOARD),$(BOARD)))
$(eval $(call compile_rules,$(B)/$(BENCH),$(ARM)gcc $(CFLAGS) $(BOARD_CFLAGS) \
	-Itests/unit/target -Itests/bench -I$(BOARD_HAL) $$(NO_LTO) $$(SMALL),virt,BENCH))
# What a board wants small, not fast; the counts are of the same code.
$(call objects,$(BOARD) $(BENCH),$(BOARD_SMALL_SRCS)): SMALL = -Os
# What stands around the core there is called by the C library and by assembly.
$(B)/$(BENCH)/tests/unit/%.o: NO_LTO = -fno-lto
# libFuzzer. clang 14 dies of __builtin_assume_aligned() and a sanitizer. The
# grammars choose from what lives; to trace comparisons costs half of the time.
CLANG    := clang-14
FUZZ_SAN := -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	-fno-sanitize-coverage=trace-cmp
$(eval $(call compile_rules,$(B)/fuzz,$(CLANG) $(CFLAGS) -O1 $(GNU) \
	'-D__builtin_assume_aligned(p, n)=(p)' $(FUZZ_SAN),fake,FUZZ))
# Counts the branches taken; unoptimised, so that each is one of the source.
$(eval $(call compile_rules,$(B)/cov,$(CC) $(CFLAGS) -O0 $(GNU) --coverage,fake,COV))
# sparse takes the place of a compiler and writes nothing.
$(eval $(call compile_rules,$(B)/sparse,sparse $(SPARSE),soft,SPARSE))

# $1 flags of the compiler, $2 where text and data are, $3 heap and $4 its end,
# $5 top of the stack, if the start does not know
define target_link
	$(call say,LINK)
	$(Q)$(ARM)gcc $1 -nostartfiles -Wl,$2 \
		-Wl,--defsym=target_heap=$3,--defsym=target_heap_end=$4 \
		$(if $5,-Wl$(COMMA)--defsym=target_stack=$5) \
		$(PARTS) -o $@
endef
COMMA := ,

# How things are put together; of what, is said where they are named.
PARTS = $(filter %.o,$^) $(filter %.a,$^)
$(B)/%.a:
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(B)/bin/%:
	$(call say,LINK)
	$(Q)$(CC) $(VARIANT) $(PARTS) $(LIBS) -o $@
$(B)/unit/bin/%:
	$(call say,LINK)
	$(Q)$(CC) $(SANITIZE) $(PARTS) -lcmocka -o $@
$(B)/target/bin/%.elf:
	$(call target_link,$(CORTEX_A),-Ttext-segment=0x40100000,end,0x47800000)
$(B)/m3/bin/%.elf:
	$(call target_link,$(CORTEX_M),--section-start=.vectors=0 \
		-Wl$(COMMA)-Ttext=0x1000 -Wl$(COMMA)-Tdata=0x21000000,end,0x21f00000,0x22000000)
$(B)/lm3s/bin/%.elf:
	$(call target_link,$(CORTEX_M),--section-start=.vectors=0 \
		-Wl$(COMMA)-Ttext=0x100 -Wl$(COMMA)-Tdata=0x20000000,end,0x2000e800,0x20010000)
$(B)/bench/%.elf:
	$(call target_link,$(CFLAGS) $(BOARD_CFLAGS),-Ttext-segment=0x40100000,end,0x47800000)
$(B)/bench-mps2-an385/%.elf:
	$(call target_link,$(CFLAGS) $(BOARD_CFLAGS),--section-start=.vectors=0 \
		-Wl$(COMMA)-Ttext=0x1000 -Wl$(COMMA)-Tdata=0x21000000,end,0x21f00000,0x22000000)
$(B)/$(BOARD)/%.elf: $(BOARD_LDSCRIPT)
	$(call say,LINK)
	$(Q)$(BOARD_CC_PREFIX)gcc $(CFLAGS) $(BOARD_CFLAGS) $(BOARD_LDFLAGS) \
		$(addprefix -T ,$(BOARD_LDSCRIPT)) $(PARTS) -o $@
	$(if $(filter %/unic.elf,$@),$(Q)$(BOARD_AFTER_LINK))

# Changes only when the answer of git does, so that it costs one compilation.
$(B)/build_id.h: FORCE
	$(call keep,#define UNIC_BUILD_ID "$(BUILD_ID)")
FORCE:

# ----------------------------------------------------------------- programs

all: programs image ## build: host programs in build/bin and the image of BOARD=virt
	@echo "all: ok"

programs: $(PROGRAMS:%=$(B)/bin/%)
$(B)/bin/unic-bus:  $(call objects,host,$(BUS) $(DAEMON))
$(B)/bin/unic-wire: $(call objects,host,$(WIRE) $(RING) \
	qemu/bus/ivshmem_server.c $(DAEMON))
$(B)/bin/unic-uart: $(call objects,host,$(UARTNIC) hal/drivers/ivshmem_client.c)
$(B)/bin/unicd:     $(call objects,host,$(UNICD) $(KIO) $(SERIAL) $(FAR) \
	$(DAEMON)) $(B)/host/core.a
$(B)/bin/unicctl:   $(call objects,host,$(UNICCTL)) $(B)/lib/libunic.a
$(B)/bin/unic-hog:  $(call objects,host,$(HOG)) $(B)/lib/libunic.a
$(B)/bin/unic-copy: $(call objects,host,$(COPY)) $(B)/lib/libunic.a
$(B)/bin/unic-kio:  $(call objects,host,$(KIOTOOL))
$(B)/bin/unic-policysim: $(call objects,host,$(POLICYSIM) $(POLICIES))
$(B)/bin/unic-policysim: LIBS := -ljson-c
$(B)/bin/unic-wire: LIBS := -lpcap -ldeflate -ljson-c
$(B)/bin/unicctl:   LIBS := -ljson-c
$(B)/bin/unic-copy: LIBS := -lcrypto
$(B)/host/core.a:   $(call objects,host,$(CORE))
$(B)/lib/libunic.a: $(call objects,host,$(LIBUNIC))

# An ELF for bare metal, or a process when BOARD=soft.
IMAGE := $(if $(BOARD_LDSCRIPT),$(B)/$(BOARD)/unic.elf,$(B)/bin/unic-nic)
image: $(IMAGE)
$(IMAGE): $(call objects,$(BOARD),$(BOARD_MAIN_SRCS) $(BOARD_SRCS)) \
	$(B)/$(BOARD)/core.a
$(B)/$(BOARD)/core.a: $(call objects,$(BOARD),$(or $(BOARD_CORE),$(FIRMWARE)))
$(B)/$(BOARD)/hal_selftest.elf: $(call objects,$(BOARD),$(SELFTEST) \
	$(BOARD_SRCS) $(BOARD_TEST_SRCS))
$(B)/$(BOARD)/cortexm_selftest.elf: $(call objects,$(BOARD),$(CORTEXM) \
	hal/drivers/crash_record.c $(addprefix hal/cortexm/,start.S crash.c mpu.c) $(BOARD_TEST_SRCS))
$(B)/$(BOARD)/mps2_selftest.elf: $(call objects,$(BOARD),$(MPS2) \
	$(BOARD_SRCS) $(BOARD_TEST_SRCS))
# The template, with what is left to write written.
$(B)/$(BOARD)/template_board.elf: $(call objects,$(BOARD),$(PORTED) \
	$(BOARD_MAIN_SRCS) $(filter-out hal/template/chip.c,$(BOARD_SRCS)) \
	hal/drivers/pl011.c) $(B)/$(BOARD)/core.a
$(B)/$(BOARD)/tests/qemu/template_chip.o: INC = -Ihal/template -Ihal/drivers
$(B)/$(BOARD)/tests/qemu/mps2_selftest.o: INC = -Ihal/mps2 -Ihal/drivers -Ihal -Iboards/mps2-an385
$(B)/$(BOARD)/tests/qemu/cortexm_selftest.o: INC = -Ihal/lm3s -Ihal/drivers -Ihal

# Boards with a boot stub: an image for each slot, and the flash as a whole.
define slot_link
$(B)/$(BOARD)/unic-$(word 1,$(subst =, ,$1)).elf: $(IMAGE)
	$$(call say,LINK)
	$(Q)$(BOARD_CC_PREFIX)gcc $(CFLAGS) $(BOARD_CFLAGS) $(BOARD_LDFLAGS) \
		-Wl,--defsym=SLOT_BASE=$(word 2,$(subst =, ,$1)) -T $(BOARD_LDSCRIPT) \
		$(call objects,$(BOARD),$(BOARD_MAIN_SRCS) $(BOARD_SRCS)) \
		$(B)/$(BOARD)/core.a -o $$@ > /dev/null
endef
$(foreach s,$(BOARD_SLOTS),$(eval $(call slot_link,$s)))
$(B)/$(BOARD)/boot.elf: $(call objects,$(BOARD),$(BOARD_BOOT_SRCS)) $(BOARD_BOOT_LD)
	$(call say,LINK)
	$(Q)$(BOARD_CC_PREFIX)gcc $(CFLAGS) $(BOARD_CFLAGS) $(BOARD_LDFLAGS) \
		-T $(BOARD_BOOT_LD) $(PARTS) -o $@ > /dev/null
$(B)/$(BOARD)/flash.bin: $(B)/$(BOARD)/boot.elf $(foreach s,$(BOARD_SLOTS),\
		$(B)/$(BOARD)/unic-$(word 1,$(subst =, ,$s)).elf)
	$(call say,FLASH)
	$(Q)tools/install/flash_image.py -o $@ --boot $< --a $(B)/$(BOARD)/unic-a.elf \
		--b $(B)/$(BOARD)/unic-b.elf

FLASH_IMAGES := $(B)/$(BOARD)/boot.elf $(foreach s,$(BOARD_SLOTS),\
	$(B)/$(BOARD)/unic-$(word 1,$(subst =, ,$s)).elf)
OPENOCD_CFG  := boards/$(BOARD)/openocd.cfg
flash: $(if $(BOARD_SLOTS),image $(FLASH_IMAGES)) ## board: write the slot that does not boot, by OpenOCD (BOARD=lm3s6965evb)
	@$(if $(BOARD_SLOTS),,echo "flash: $(BOARD) has no flash" && exit 1)
	@tools/install/flash.py --folder $(B)/$(BOARD) --config $(OPENOCD_CFG)
reset: ## board: restart the board, by OpenOCD (BOARD=lm3s6965evb)
	@openocd -f $(OPENOCD_CFG) -c "init; reset run; shutdown" && echo "$@: ok"
debug: ## board: gdb on a NIC in QEMU, or a running one, or a board [BOARD=] [AT=host:port | PROBE=1] [ELF=]
	@$(MAKE) --no-print-directory $(if $(AT)$(PROBE),,$(B)/bin/unic-bus $(B)/bin/unic-uart) image
	@tools/debug/debug.py --board $(BOARD) $(if $(AT),--at $(AT)) $(if $(PROBE),--probe) \
		$(if $(ELF),--image $(ELF))
TTY ?= /dev/ttyUSB0
console: ## board: print what the board says on its second UART [TTY=/dev/ttyUSB0]
	@stty -F $(TTY) 115200 raw -echo && cat $(TTY)
$(B)/bin/board-model: $(call objects,host,$(JTAG))
flash-test: programs build-soft $(B)/bin/board-model ## board: make flash without a board: OpenOCD over a model, power cuts, QEMU
	@$(MAKE) --no-print-directory BOARD=lm3s6965evb $(B)/lm3s6965evb/flash.bin
	@tests/flash/test_flash.py && echo "$@: ok"

include mk/linux.mk

size: image ## build: memory of the image: text, data, bss [BOARD=]
	@$(BOARD_CC_PREFIX)size $(IMAGE)
	@echo "size: ok"

# -------------------------------------------------------------------- tests

UNIT_PROGS := $(patsubst %,$(B)/unit/bin/%,$(UNIT_CORE) $(UNIT_HOST) batch_virt)
TARGET_ELF := $(UNIT_CORE:%=$(B)/target/bin/%.elf)
M3_ELF     := $(UNIT_CORE:%=$(B)/m3/bin/%.elf)
# ... of which few fit 64 KiB of RAM: tests/runner/boards.py.
LM3S_ELF   := $(UNIT_CORE:%=$(B)/lm3s/bin/%.elf)
UNIT_mps2-an385  = $(M3_ELF)
UNIT_lm3s6965evb = $(LM3S_ELF)
TARGET_ANY := tests/unit/target/target_main.c tests/unit/target/cmocka.c \
	hal/drivers/semihost.c
TARGET_RT  := $(TARGET_ANY) tests/unit/target/start_a15.S
M3_RT      := $(TARGET_ANY) tests/unit/target/start_m3.S
RT_mps2-an385 := $(M3_RT)
CORE_TEST  := $(FIRMWARE) $(FAKE) $(RING) $(UNIT_RIG)
$(B)/unit/core.a:   $(call objects,unit,$(CORE_TEST))
$(B)/unit/driver.a: $(call objects,unit,$(CORE))
$(B)/unit/libunic.a: $(call objects,unit,$(LIBUNIC))
$(B)/target/core.a: $(call objects,target,$(CORE_TEST))
$(B)/m3/core.a:     $(call objects,m3,$(CORE_TEST))
$(foreach d,unit cov,$(eval $(UNIT_CORE:%=$(B)/$d/bin/%): $(B)/$d/bin/%: \
	$(B)/$d/tests/unit/core/%.o $(B)/$d/core.a))
$(foreach d,unit cov,$(eval $(UNIT_HOST:%=$(B)/$d/bin/%): $(B)/$d/bin/%: \
	$(B)/$d/tests/unit/host/%.o $(B)/$d/driver.a $(B)/$d/libunic.a))
# The switch, but for its way to the link and what needs libraries.
$(foreach d,unit cov,$(eval $(B)/$d/bin/test_switch: $(call objects,$d,$(addprefix \
	qemu/wire/,faults.c mac_table.c socket_port.c switch.c))))
$(foreach d,unit cov,$(eval $(B)/$d/bin/test_kio: $(call objects,$d,$(addprefix \
	host_driver/kio/,kio_client.c kio_ring.c kio_server.c)) \
	$(B)/$d/core.a))
$(foreach d,unit cov,$(eval $(B)/$d/bin/test_kio_node: $(call objects,$d,$(KIO))))
$(foreach d,unit cov,$(eval $(B)/$d/bin/test_kio_files: $(call objects,$d,\
	host_driver/unicd/kio_files.c)))
# ... of a board that has the near end.
$(foreach d,unit cov,$(eval $(B)/$d/bin/test_serial: $(call objects,$d,$(SERIAL) \
	$(NEAR) $(FAR))))
$(foreach d,unit cov fuzz,$(eval $(call objects,$d,$(NEAR) tests/unit/host/test_serial.c \
	tests/fuzz/fuzz_line.c): \
	INC = -Itests/unit -Ihal/serial -Ihost_driver/serial -Ihal -Iboards/lm3s6965evb))
# ... and once more with 15 processes that hoard.
$(B)/bin/kio-crowd: $(call objects,crowd,tests/unit/host/test_kio.c $(FIRMWARE) \
	$(FAKE) $(UNIT_RIG) $(addprefix host_driver/kio/,kio_client.c kio_ring.c kio_server.c))
$(B)/bin/kio-crowd: LIBS := -lcmocka
# In full, of a board whose STags have parts of 16 bits.
$(foreach d,unit cov,$(eval $(B)/$d/bin/test_stags: $(B)/$d/core.a))
$(B)/bin/stags: $(call objects,stags,tests/unit/host/test_stags.c $(FIRMWARE) $(FAKE) $(RING) $(UNIT_RIG))
$(B)/bin/stags: LIBS := -lcmocka
# More tokens than a round ends.
$(B)/unit/bin/batch_virt: $(call objects,stags,tests/unit/core/test_batch.c $(FIRMWARE) $(FAKE) $(RING) $(UNIT_RIG))
	$(call say,LINK)
	$(Q)$(CC) $(PARTS) -lcmocka -o $@
# share.c of the board that the simulator is compiled for.
$(foreach d,unit cov,$(eval $(B)/$d/bin/test_policysim: $(call objects,$d,\
	$(REPLAYED) $(filter-out %share.c,$(POLICIES))) \
	$(call objects,host,firmware/arbiter/share.c)))
$(TARGET_ELF): $(B)/target/bin/%.elf: $(B)/target/tests/unit/core/%.o \
	$(call objects,target,$(TARGET_RT)) $(B)/target/core.a
$(M3_ELF): $(B)/m3/bin/%.elf: $(B)/m3/tests/unit/core/%.o \
	$(call objects,m3,$(M3_RT)) $(B)/m3/core.a
$(LM3S_ELF): $(B)/lm3s/bin/%.elf: $(B)/m3/tests/unit/core/%.o \
	$(call objects,m3,$(M3_RT)) $(B)/m3/core.a
$(B)/target/bin/litmus.elf: $(call objects,target,tests/qemu/litmus_guest.c \
	$(TARGET_RT))
$(B)/bin/litmus-host: $(call objects,host,tests/qemu/litmus_host.c)

# Many NICs and drivers in one process, in virtual time.
$(B)/bin/unic-sim: $(call objects,sim/small,tests/sim/main.c) $(SIM_SIZES:%=$(B)/sim/%.o)
# One of each size, of which only its entry is seen. The driver knows no sizes.
define sim_size
$(B)/sim/$1.o: $(call objects,sim/$1,$(filter-out %/main.c,$(SIM)) $(FIRMWARE)) \
		$(call objects,sim/small,$(CORE))
	$$(call say,SIZE)
	$(Q)ld -r $$^ -o $$@ && objcopy -G seed_run_$1 $$@
endef
$(foreach s,$(SIM_SIZES),$(eval $(call sim_size,$s)))

# Experiments on the same machines, larger and without checkers.
$(B)/bin/unic-eval: $(call objects,eval,$(EVAL) $(EVAL_SIM) $(FIRMWARE) $(CORE) $(EVAL_KIO))

$(B)/bin/unic-scale: $(call objects,eval,$(SCALE) $(FAKE) $(FIRMWARE))

# Forms through libunic, driver and NIC; for test_forms.py.
FORMS := tests/qemu/forms.c
$(B)/bin/forms: $(call objects,host,$(FORMS)) $(B)/lib/libunic.a
# Pins, batches and uses; for test_memory.py.
MEMORY := tests/qemu/memory.c
$(B)/bin/memory: $(call objects,host,$(MEMORY)) $(B)/lib/libunic.a

# Threads of one context, and children; for test_process.py.
CROWD := tests/qemu/crowd.c
$(B)/bin/crowd: $(call objects,host,$(CROWD)) $(B)/lib/libunic.a
FORKS := tests/qemu/forks.c
$(B)/bin/forks: $(call objects,host,$(FORKS)) $(B)/lib/libunic.a

# A peer of the page service that lies; for test_kio.py.
LIAR := tests/qemu/kio_liar.c
$(B)/bin/kio-liar: $(call objects,host,$(LIAR)) $(B)/lib/libunic.a

# Somebody who gives a region away, and somebody who has it; for
# test_holders.py.
HOLDERS := tests/qemu/holders.c
$(B)/bin/holders: $(call objects,host,$(HOLDERS)) $(B)/lib/libunic.a

# Datagrams and unreliable connections; for test_datagrams.py.
DATAGRAMS := tests/qemu/datagrams.c
$(B)/bin/datagrams: $(call objects,host,$(DATAGRAMS)) $(B)/lib/libunic.a

$(B)/bin/unic-pool: $(call objects,pool,$(POOL) firmware/arbiter/share.c \
	firmware/arbiter/notice.c)
$(B)/bin/unic-pool: LIBS := $(SANITIZE)

# Hot paths, compiled as the image compiles them, under the rig of the tests.
# pair.c is for tests that need a wire, which the rig there does not have.
$(B)/$(BENCH)/insn.elf: $(call objects,$(BENCH),$(INSN) $(BOARD_COPY_SRCS) $(FIRMWARE) \
	$(RING) $(filter-out %pair.c,$(UNIT_RIG)) $(or $(RT_$(BOARD)),$(TARGET_RT)))
$(B)/$(BENCH)/steps.elf: $(call objects,$(BENCH),$(STEPS) $(BOARD_COPY_SRCS) $(FIRMWARE) \
	$(RING) $(filter-out %pair.c,$(UNIT_RIG)) $(or $(RT_$(BOARD)),$(TARGET_RT)))
$(B)/$(BENCH)/steps_qp.elf: $(call objects,$(BENCH),$(STEPS_QP) $(BOARD_COPY_SRCS) \
	$(FIRMWARE) $(RING) $(filter-out %pair.c,$(UNIT_RIG)) $(or $(RT_$(BOARD)),$(TARGET_RT)))
# Some are a driver themselves, the others a process of unicd.
YARD_PROGS := $(addprefix $(B)/bin/,evict-bench mbox-bench miss-bench reg-bench verbs-bench)
$(addprefix $(B)/bin/,mbox-bench miss-bench): $(B)/bin/%-bench: \
	$(B)/host/tests/bench/%_bench.o $(addprefix $(B)/host/tests/bench/,driver.o yard.o)
$(addprefix $(B)/bin/,evict-bench reg-bench verbs-bench): $(B)/bin/%-bench: \
	$(B)/host/tests/bench/%_bench.o $(B)/host/tests/bench/yard.o $(B)/lib/libunic.a
SURVIVOR := tests/qemu/survivor.c
$(B)/bin/survivor: $(call objects,host,$(SURVIVOR)) $(B)/lib/libunic.a

# ---------------------------------------------------------------------- fuzz

# A harness, its replay with gcc in `make check`, and the same with libFuzzer.
# $1 folder, $2 what takes the place of libFuzzer
NIC_WRAP := $(addprefix --for-linker=--wrap=unic_port_,dma dma_poll doorbells window \
	rx_next rx_run rx_done)
define fuzz_programs
$(FUZZERS:%=$(B)/$1/bin/fuzz_%): $(B)/$1/bin/fuzz_%: \
	$(B)/$1/tests/fuzz/fuzz_%.o $2
$(addprefix $(B)/$1/bin/fuzz_,mbox queue frame): $(call objects,$1,$(FUZZ_NIC)) \
	$(B)/$1/core.a
$(addprefix $(B)/$1/bin/fuzz_,mbox queue frame): WRAP := $(NIC_WRAP)
$(B)/$1/bin/fuzz_ring: $(call objects,$1,$(RING))
$(B)/$1/bin/fuzz_line: $(call objects,$1,$(SERIAL) $(NEAR) $(FAR))
$(B)/$1/bin/fuzz_driver $(B)/$1/bin/fuzz_unicd: $(call objects,$1,$(FUZZ_CTL)) \
	$(B)/$1/driver.a
$(B)/$1/bin/fuzz_unicd: $(call objects,$1,$(addprefix \
	host_driver/,unicd/clients.c unicd/kio.c unicd/kio_files.c unicd/kio_worker.c \
	unicd/unicd_os.c daemon/run_dir.c daemon/say.c daemon/send_fds.c) $(KIO))
$(B)/$1/bin/fuzz_unicd: WRAP := $(addprefix --for-linker=--wrap=unic,_os_now_ns \
	_os_random _os_log _os_slot_zero _os_upcall d_say)
endef
$(eval $(call fuzz_programs,unit,$(call objects,unit,$(REPLAY))))
$(eval $(call fuzz_programs,fuzz))
$(eval $(call fuzz_programs,cov,$(call objects,cov,$(REPLAY))))
$(B)/fuzz/core.a:   $(call objects,fuzz,$(CORE_TEST))
$(B)/fuzz/driver.a: $(call objects,fuzz,$(CORE))
$(B)/unit/bin/fuzz_%:
	$(call say,LINK)
	$(Q)$(CC) $(SANITIZE) $(WRAP) $(PARTS) -lcmocka -o $@
$(B)/fuzz/bin/fuzz_%:
	$(call say,LINK)
	$(Q)$(CLANG) $(FUZZ_SAN) $(WRAP) $(PARTS) -lcmocka -o $@

# The harnesses of the NIC once more, with the tables of virt.
FUZZ_LARGE := mbox queue frame
$(eval $(call compile_rules,$(B)/large,$(CC) $(CFLAGS) $(GNU) $(SANITIZE) \
	-DUNIC_SPIN_LOOKS=2u,virt,LARGE))
$(B)/large/core.a: $(call objects,large,$(CORE_TEST))
$(FUZZ_LARGE:%=$(B)/large/bin/fuzz_%): $(B)/large/bin/fuzz_%: $(B)/large/tests/fuzz/fuzz_%.o \
		$(call objects,large,$(REPLAY) $(FUZZ_NIC)) $(B)/large/core.a
	$(call say,LINK)
	$(Q)$(CC) $(SANITIZE) $(WRAP) $(PARTS) -lcmocka -o $@
$(FUZZ_LARGE:%=$(B)/large/bin/fuzz_%): WRAP := $(NIC_WRAP)

REPLAYS := $(FUZZERS:%=$(B)/unit/bin/fuzz_%) $(FUZZ_LARGE:%=$(B)/large/bin/fuzz_%)
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

COV_PROGS := $(patsubst %,$(B)/cov/bin/%,$(UNIT_CORE) $(UNIT_HOST) \
	$(FUZZERS:%=fuzz_%))
$(B)/cov/core.a:    $(call objects,cov,$(CORE_TEST))
$(B)/cov/driver.a:  $(call objects,cov,$(CORE))
$(B)/cov/libunic.a: $(call objects,cov,$(LIBUNIC))
$(B)/cov/bin/%:
	$(call say,LINK)
	$(Q)$(CC) --coverage $(WRAP) $(PARTS) -lcmocka -o $@
coverage: $(COV_PROGS) ## long: branches that unit tests and corpora take: docs/evidence/coverage.md
	@tests/runner/coverage.py && echo "$@: ok"

# One core for each size of the experiment on scale: entries, processes, places
# in the region table.
SCALE_QUICK := $(foreach e,64 1024 65536,$e-8-4096) $(foreach p,2 1024,1024-$p-4096) \
	64-8-64 2048-8-2048
SCALE_SIZES := $(if $(QUICK),$(SCALE_QUICK),$(foreach e,64 256 1024 \
	4096 16384 65536,$e-8-4096) $(foreach p,2 4 16 32 64 128 256 512 1024,1024-$p-4096) \
	64-8-64 256-8-256 2048-8-2048)
# Two at a time, unless whoever called make said how many.
EVAL_JOBS = $(if $(findstring --jobserver,$(MAKEFLAGS)),,-j2)
SCALE_AS    := UNIC_TLB_ENTRIES= UNIC_PROCS= UNIC_MRS=
$(B)/scale/%/built: FORCE
	@$(MAKE) -s $(EVAL_JOBS) --no-print-directory B=$(@D) $(@D)/bin/unic-scale \
		VARIANT="$(addprefix -D,$(join $(SCALE_AS),$(subst -, ,$*)) \
			FAKE_WINDOWS=18u)"
# Smaller TLBs: for working sets of ten times their size, and for contention.
EVAL_SMALL  := $(addprefix $(B)/tlb-,$(if $(QUICK),256,64 256))
$(B)/tlb-%/built: FORCE
	@$(MAKE) -s $(EVAL_JOBS) --no-print-directory B=$(@D) $(@D)/bin/unic-eval \
		VARIANT=-DUNIC_TLB_ENTRIES=$*
eval-quick-build:
	@$(MAKE) --no-print-directory QUICK=1 eval-build
eval-build: $(B)/bin/unic-eval $(B)/bin/unic-policysim $(EVAL_SMALL:%=%/built) \
		$(SCALE_SIZES:%=$(B)/scale/%/built)
eval: eval-build $(if $(VIRT),programs build-virt) ## measure: docs/evidence/evaluation.md from experiments in virtual time [QUICK=1] [VIRT=1]
	@tests/eval/eval.py $(if $(QUICK),--quick)
	@$(if $(VIRT),tests/eval/virt.py && tests/eval/eval.py --report)
	@echo "$@: ok"

# What each level of `make check` runs is in tests/runner/levels.py.
UNIT_VIRT := $(filter %_virt,$(UNIT_PROGS))
LEVELS    := tests/runner/levels.py --list "UNIT_PROGS=$(filter-out %_virt,$(UNIT_PROGS))" \
	$(foreach l,UNIT_VIRT TARGET_ELF FUZZERS FUZZ_LARGE,--list "$l=$($l)")

check: ## test: what CI runs; ends in "N passed, N failed"
	@$(LEVELS) --name $@ $@
check-build: vm-build eval-quick-build faults-build programs $(YARD_PROGS) $(UNIT_PROGS) $(B)/bin/survivor $(REPLAYS) $(TARGET_ELF) $(M3_ELF) $(LM3S_ELF) \
	build-virt build-soft build-m3 \
	$(addprefix $(B)/,bin/unic-sim bin/board-model bin/unic-pool bin/forms bin/memory bin/crowd bin/forks bin/kio-liar bin/kio-crowd bin/stags bin/holders bin/datagrams bin/litmus-host target/bin/litmus.elf)
build-virt:
	@$(MAKE) --no-print-directory BOARD=virt image \
		$(B)/virt/hal_selftest.elf $(addprefix $(B)/bench/,insn.elf steps.elf steps_qp.elf)
build-m3:
	@$(MAKE) --no-print-directory BOARD=mps2-an385 image \
		$(B)/mps2-an385/mps2_selftest.elf \
		$(addprefix $(B)/bench-mps2-an385/,insn.elf steps.elf steps_qp.elf)
	@$(MAKE) --no-print-directory BOARD=lm3s6965evb image \
		$(B)/lm3s6965evb/flash.bin \
		$(B)/lm3s6965evb/cortexm_selftest.elf
	@$(MAKE) --no-print-directory BOARD=template image \
		$(B)/template/template_board.elf
build-soft:
	@$(MAKE) --no-print-directory BOARD=soft image
sim: $(B)/bin/unic-sim ## test: simulated systems under faults [SEEDS=1000] [FROM=1] [SEED=n TRACE=1] [STAND=1] [SIZE=virt]
	@$< --from $(or $(SEED),$(FROM),1) --seeds $(if $(SEED),1,$(or \
		$(SEEDS),1000)) $(if $(TRACE),--trace) \
		$(if $(STAND),--stand) $(if $(SIZE),--size $(SIZE)) $(if $(SALT),--salt \
		$(SALT)) && echo "$@: ok"
unit: $(UNIT_PROGS) ## test: unit tests on the host, with sanitizers
corpora: $(REPLAYS) ## test: replay the corpora of the fuzzers
unit-target: $(or $(UNIT_$(BOARD)),$(TARGET_ELF)) ## test: the same tests on the board, in QEMU [BOARD=virt]
	@tests/runner/boards.py --board $(BOARD) --kind unit && echo "$@: ok"
boards-report: programs build-virt build-soft build-m3 ## test: table of board, test and runner [ONLY=test]
boards-report: $(UNIT_PROGS) $(TARGET_ELF) $(M3_ELF) $(LM3S_ELF) \
	$(addprefix $(B)/bin/,survivor forms holders)
	@tests/runner/boards.py $(if $(ONLY),--only $(ONLY)) && echo "$@: ok"
litmus: $(B)/bin/litmus-host $(B)/target/bin/litmus.elf ## test: memory barriers between host and emulated core
e2e: check-build ## test: real programs: bus, wire, driver, soft NICs, NICs in QEMU
stags: $(B)/bin/stags ## test: 2^25 STags used up beside another process, and a solver for 10^5
unit corpora stags litmus e2e:
	@$(LEVELS) $@ && echo "$@: ok"

# Host programs under a checker, and with calls of the system that fail.
FAULTS := $(addprefix tests/faults/,inject.c pidfd_shim.c scenario.c)
$(B)/faults/%.so: tests/faults/%.c
	$(call say,SO)
	$(Q)$(CC) $(CFLAGS) $(GNU) -fno-builtin -fPIC -shared $< -o $@
$(B)/bin/fault-scenario: $(call objects,host,tests/faults/scenario.c) \
	$(B)/lib/libunic.a
tsan-build:
	@$(MAKE) --no-print-directory B=$(B)/tsan \
		VARIANT="-fsanitize=thread -Wno-tsan" programs build-soft \
		$(addprefix $(B)/tsan/bin/,survivor crowd forks)
tsan: tsan-build ## long: end-to-end tests with the host programs under ThreadSanitizer
valgrind: programs build-soft $(addprefix $(B)/bin/,survivor crowd forks) $(B)/faults/pidfd_shim.so ## long: end-to-end tests with the host programs under memcheck
tsan valgrind:
	@tests/faults/checked.py $@ && echo "$@: ok"
faults-build: programs build-soft $(B)/faults/inject.so $(B)/bin/fault-scenario
faults: faults-build ## long: make system calls fail, one by one [SAMPLE=n] [SEED=n]
	@tests/faults/faults.py $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(SEED),--seed $(SEED)) && echo "$@: ok"

demo: ## try: two hosts, three greedy programs, a file moved both ways [FILE=] [BOARD=] [LOSS=1%] [LINK=shm|virtio] [MODE=resident|demand|table] [POLICY=lru]
	@tools/install/install_deps.sh packages.txt host $(if $(filter soft,$(BOARD)),,firmware)
	@$(MAKE) --no-print-directory programs image
	@tests/qemu/demo.py --board $(BOARD) $(if $(FILE),--file "$(FILE)") \
		$(if $(LOSS),--loss "$(LOSS)") $(if $(LINK),--link $(LINK)) \
		$(if $(MODE),--mode $(MODE)) $(if $(POLICY),--policy $(POLICY))
soak: programs image ## long: two hosts with loss and kills [MINUTES=5] [SEED=1] [BOARD=virt|soft]
	@tests/qemu/soak.py --board $(BOARD) $(if $(MINUTES),--minutes \
		$(MINUTES)) $(if $(SEED),--seed $(SEED))
bench: programs build-virt build-soft build-m3 $(YARD_PROGS) ## measure: figures beside their goals [PART=whole|serial|miss|reg|evict] [OPS=1000000]
	@tests/bench/bench.py $(if $(PART),--part $(PART)) \
		$(if $(OPS),--ops $(OPS))
	@$(if $(PART),,tests/bench/sizes.py &&) echo "$@: ok"
bench-rxe: programs build-virt $(YARD_PROGS) ## measure: beside Linux soft-RoCE in a TCG guest; fetches 90 MB
	@tests/bench/rxe.py && echo "$@: ok"
models: ## long: Spin: the models of docs/MODELS.md in full, and all their mutants
	@tests/models/check.py full && echo "$@: ok"
mutants: ## breaks: break the core token by token: docs/evidence/mutants.md [SAMPLE=420] [SEED=1]
	@tests/mutation/mutants.py --report $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(SEED),--seed $(SEED)) && echo "$@: ok"
mutations: ## breaks: break firmware and driver by hand-written patches: unit tests must fail [ONLY=words]
	@tests/mutation/mutations.py $(if $(ONLY),--only "$(ONLY)") && echo "$@: ok"
promises: ## breaks: break each promise of docs/MEMORY-TESTS.md: the named test must fail
	@tests/mutation/promises.py && echo "$@: ok"
sim-mutants: ## breaks: break firmware and driver: the named checker must object
	@tests/sim/mutants.py && echo "$@: ok"
proofs: ## long: Frama-C (Eva, WP) over the trust boundaries; fetches 255 MB
	@tools/install/install_deps.sh packages.txt proofs
	@nice -n 5 tests/proofs/proofs.py && echo "$@: ok"
check-long: ## long: what takes too long for make check, on a clean clone; their table in docs/TESTING.md [ONLY="sim models"]
	@tests/runner/long.py $(ONLY) && echo "$@: ok"
steady: check-build ## long: each test that starts processes 20 times at a load of 8; goes on where it was stopped [RUNS=20] [LOAD=8] [ONLY=word]
	@tests/runner/steady.py $(if $(RUNS),--runs $(RUNS)) $(if $(LOAD),--load $(LOAD)) \
		$(if $(ONLY),--only $(ONLY)) && echo "$@: ok"
proof-mutants: ## breaks: break what is proved: the proofs must fail
	@tools/install/install_deps.sh packages.txt proofs
	@nice -n 5 tests/proofs/mutants.py && echo "$@: ok"
bench-profile: ## measure: where the instructions of a WRITE go, by function
	@$(MAKE) --no-print-directory BOARD=virt $(B)/bench/insn.elf
	@tests/bench/profile.py && echo "$@: ok"
policies: $(B)/bin/unic-policysim ## measure: replacement policies beside Belady's MIN [SEED=1]
	@tests/eval/policies.py $(if $(SEED),--seed $(SEED)) && echo "$@: ok"
bench-insn: ## measure: instructions of hot paths and of the longest rounds of work against their budgets, on two processors
	@$(MAKE) --no-print-directory BOARD=virt $(addprefix $(B)/bench/,insn.elf steps.elf steps_qp.elf)
	@$(MAKE) --no-print-directory BOARD=mps2-an385 $(addprefix $(B)/bench-mps2-an385/,insn.elf steps.elf steps_qp.elf)
	@tests/bench/insn.py; insn=$$?; tests/bench/steps.py && [ $$insn = 0 ] && echo "$@: ok"

# ------------------------------------------------------------------- checks

C_DIRS   := abi examples firmware hal host_driver qemu tests
C_FILES   = $(shell find $(C_DIRS) -name '*.[ch]' | sort)
HOST_C    = $(FIRMWARE) $(RING) $(SERIAL) $(FAR) $(FAKE) $(BUS) $(DAEMON) $(WIRE) $(UARTNIC) $(CORE) $(KIO) $(UNICD) \
	$(LIBUNIC) $(TOOLS) $(EXAMPLES) $(wildcard hal/soft/*.c)
board_srcs = $(shell $(MAKE) -s BOARD=$1 board-sources)

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
lint-sparse: $(call objects,sparse,$(HOST_C))
	@echo "$@: ok"
format: ## source: rewrite the C files in the house style
	@clang-format -i $(C_FILES) && echo "$@: ok"
check-layers: ## source: who may include whom
check-purity: ## source: what the portable core calls and owns
	@$(MAKE) -s BOARD=virt $(B)/virt/core.a
	@tools/check/check_purity.py "$(ARM)nm --plugin /dev/null" $(B)/virt/core.a && echo "$@: ok"
check-endian: $(B)/build_id.h ## source: the core compiles for a big-endian machine
	@$(ARM)gcc $(filter-out -MMD -MP,$(CFLAGS)) -mcpu=cortex-a15 -mbig-endian -ffreestanding \
		-fsyntax-only -Ifirmware -Ihal -Iabi -Iboards/virt \
		-include $(B)/build_id.h $(FIRMWARE) && echo "$@: ok"
check-abi: ## source: layout of every shared struct on five machines
check-packages: ## source: packages.txt names all that is needed
check-shared: ## source: words of shared memory are accessed once, by named accessors
check-memory-tests: ## source: the tests named in docs/MEMORY-TESTS.md exist
check-breaks: ## source: what the deliberate breaks of the tests replace is there
check-docs: ## source: links, files, targets and options that the documents name exist
check-layers check-shared check-abi check-packages check-memory-tests check-breaks check-docs:
	@tools/check/$(subst -,_,$@).py && echo "$@: ok"
abi-golden: ## source: accept the layout as it is now
	@tools/check/check_abi.py --rewrite && echo "$@: ok"
spec: check-abi ## source: write the field tables of docs/SPEC.md from abi/
	@tools/check/spec.py --rewrite && echo "$@: ok"
check-spec: ## source: the tables of docs/SPEC.md are those of abi/
	@tools/check/spec.py && echo "$@: ok"
check-sources: ## source: every source file is in a list of the Makefile
	@tools/check/check_sources.py $(sort $(FIRMWARE) $(ICRC_SMALL) $(RING) $(SERIAL) $(NEAR) $(FAR) $(FAKE) $(BUS) $(DAEMON) \
		$(WIRE) $(UARTNIC) $(CORE) $(KIO) $(UNICD) $(LIBUNIC) $(TOOLS) $(EXAMPLES) $(TARGET_RT) $(M3_RT) \
		$(UNIT_RIG) $(FUZZ_NIC) $(FUZZ_CTL) $(REPLAY) \
		$(FUZZERS:%=tests/fuzz/fuzz_%.c) \
		$(INSN) $(STEPS) $(STEPS_QP) $(YARD) $(FORMS) $(MEMORY) $(CROWD) $(FORKS) $(LIAR) $(HOLDERS) $(DATAGRAMS) $(SURVIVOR) $(SIM) $(EVAL) $(SCALE) $(POOL) $(POLICYSIM) $(SELFTEST) $(CORTEXM) $(JTAG) $(MPS2) $(PORTED) $(LITMUS) \
		$(FAULTS) $(PROOFS) $(KMOD_SRCS) $(VM_SRCS) \
		$(UNIT_CORE:%=tests/unit/core/%.c) $(UNIT_HOST:%=tests/unit/host/%.c) \
		tests/abi/layout.c $(call board_srcs,virt) \
		$(call board_srcs,lm3s6965evb) $(call board_srcs,mps2-an385) \
		$(call board_srcs,soft) $(call board_srcs,template)) && echo "$@: ok"
board-sources:
	@echo $(BOARD_BOOT_SRCS) $(BOARD_SRCS) $(BOARD_MAIN_SRCS) $(BOARD_TEST_SRCS)

# --------------------------------------------------------------------- rest

# Every target that is a plain word.
.PHONY: FORCE $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' Makefile mk/*.mk)
install-deps: ## build: install the packages of packages.txt (as root), or say which are missing
	@tools/install/install_deps.sh && echo "$@: ok"
clean: ## build: remove build/
	rm -rf $(B)
	@echo "$@: ok"
help: ## build: this list
	@mk/make_help.py Makefile mk/*.mk

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)
