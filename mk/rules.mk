# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# How things are made; of what, the folders' sources.mk say (variables only):
#	INC_<file or folder>	all that it may include besides abi/
#	LIB_<name>		what is in <name>.a of each kind
#	PARTS_<program>		what a program is linked from: sources, <name>.a;
#				kind:part is that of another kind
#	KIND_<program>		of which kind its parts are, if not of host
#	LIBS_<program>, WRAP_<program>	what else its linker is told

# ------------------------------------------------------------------- tools

# make V=1 shows the commands, make -s nothing.
Q     := $(if $(filter 1,$(V)),,@)
SAY   := $(if $(Q),$(if $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS)))),,1))
say    = @mkdir -p $(@D); $(if $(SAY),printf '  %-6s %s\n' $1 $@)
BUILD_ID := $(or $(shell git describe --always --dirty --abbrev=12 \
	2>/dev/null),unknown)
# Of the release that comes next, or that this is; the one place that names it.
VERSION  := 0.1.0
# Of libunic.so: the first number changes when a program has to be compiled again.
SO_VERSION := 0.1.0
CC       := gcc
AR       := ar
ARM      := arm-none-eabi-
# clang 14 dies of __builtin_assume_aligned() and a sanitizer.
CLANG    := clang-14
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror
# VARIANT: how else to compile what runs on a host (make tsan); LINK_WITH: and to link it.
VARIANT  :=
LINK_WITH :=
# A room of firmware/ contains those before it as they are (base/base.h): a struct with a
# tag and no name is a member.
DIALECT  := -std=gnu11 -fms-extensions
FLAGS    := $(DIALECT) -O2 -g $(WARN) -MMD -MP $(VARIANT)
# For what is compiled many times over, and seldom looked at by a debugger: lines, no variables.
LINE_INFO := -g1
# For what runs on a host.
GNU      := -D_GNU_SOURCE=
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
# The grammars choose from what lives; to trace comparisons costs half of the time.
FUZZ_SAN := -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	-fno-sanitize-coverage=trace-cmp
CORTEX_M := -mcpu=cortex-m3 -mthumb
CORTEX_A := -mcpu=cortex-a15 -marm -mfpu=neon-vfpv4 -mfloat-abi=hard

# ------------------------------------------------------------------- kinds

# A kind is a folder of build/: CC_ is its compiler with all flags but -I, SIZES_ the
# board whose sizes of tables it has, $1 what stands behind a slash in its name.
SIZES_host   := soft
CC_host       = $(CC) $(FLAGS) $(GNU)
# What programs load at run time; of its names they see those alone that it exports.
SIZES_pic    := soft
CC_pic        = $(CC) $(FLAGS) $(GNU) -fPIC -fvisibility=hidden
SIZES_unit   := fake
CC_unit       = $(CC) $(FLAGS) -O1 $(GNU) $(SANITIZE)
# Counts the branches taken; unoptimised, so that each is one of the source.
SIZES_cov    := fake
CC_cov        = $(CC) $(FLAGS) -O0 $(GNU) --coverage
SIZES_fuzz   := fake
CC_fuzz       = $(CLANG) $(FLAGS) -Wno-microsoft-anon-tag -O1 $(GNU) '-D__builtin_assume_aligned(p, n)=(p)' $(FUZZ_SAN)
# The harnesses of the NIC once more, with the tables of virt.
SIZES_large  := virt
CC_large      = $(CC) $(FLAGS) -O1 $(GNU) $(SANITIZE) -DUNIC_SPIN_LOOKS=2u
# Fast, with the tables of the boards that have room (tests/unit/host/test_stags.c).
SIZES_stags  := virt
CC_stags      = $(CC) $(FLAGS) $(LINE_INFO) $(GNU)
# 64 entries and 16 processes (tests/unit/host/kio_rig.h).
SIZES_crowd  := crowd
CC_crowd      = $(CC) $(FLAGS) $(LINE_INFO) $(GNU) -DFAKE_WINDOWS=16u
SIZES_pool   := pool
CC_pool       = $(CC) $(FLAGS) -O1 $(GNU) $(SANITIZE)
SIZES_sim     = $(SIM_BOARD_$1)
CC_sim        = $(CC) $(FLAGS) $(LINE_INFO) $(GNU) -DSIM_SIZE=$1 $(SIM_MODEL_$1)
# Larger tables than any board, and more memory a process; smaller TLBs; and one core
# for each size of the experiment on scale: entries-processes-places.
SIZES_eval   := eval
CC_eval       = $(CC) $(FLAGS) $(LINE_INFO) $(GNU) -DPORT_SLOTS=16u -DPORT_SLOT_BYTES=0xb00000u -DPORT_RX=256u
SIZES_tlb    := eval
CC_tlb        = $(CC_eval) -UPORT_SLOTS -DPORT_SLOTS=24u -DUNIC_PROCS=24 -DUNIC_WAITS=128 -DUNIC_TLB_ENTRIES=$1
SIZES_scale  := eval
CC_scale      = $(CC_eval) $(addprefix -D,$(join UNIC_TLB_ENTRIES= UNIC_PROCS= UNIC_MRS=, \
	$(subst -, ,$1)) FAKE_WINDOWS=18u)
# Unit tests on the target.
SIZES_target := fake
CC_target     = $(ARM)gcc $(FLAGS) $(LINE_INFO) $(CORTEX_A) -Itests/unit/target
SIZES_m3     := fake
CC_m3         = $(ARM)gcc $(FLAGS) $(LINE_INFO) $(CORTEX_M) -Itests/unit/target
# sparse takes the place of a compiler and writes nothing.
SIZES_sparse := soft
CC_sparse     = sparse '-D__builtin_assume_aligned(p, n)=(p)' \
	'-D__builtin_shufflevector(v, ...)=(v)' $(GNU) $(DIALECT) -Wsparse-error -Wno-non-pointer-null
# The board's image, and that of the instruction counts: that of virt has no name, and
# all have its sizes of tables.
BENCH        := bench$(patsubst %,-%,$(filter-out virt,$(BOARD)))
SIZES_$(BOARD) := $(BOARD)
CC_$(BOARD)    = $(BOARD_CC_PREFIX)gcc $(FLAGS) $(BOARD_CFLAGS) $(SMALL)
SIZES_$(BENCH) := virt
CC_$(BENCH)    = $(ARM)gcc $(FLAGS) $(BOARD_CFLAGS) -Itests/unit/target -Itests/bench -I$(BOARD_HAL) \
	$(NO_LTO) $(SMALL)

KINDS := host pic unit cov fuzz large stags crowd pool $(SIM_SIZES:%=sim/%) eval $(TLB_SIZES:%=tlb/%) \
	$(SCALE_SIZES:%=scale/%) target m3 sparse $(BOARD) $(BENCH)

# ------------------------------------------------------------- compilation

# Kinds that differ from host in sizes alone: a source of the product that cannot include
# a board.h is compiled once for all of them. $1 kind, $2 source: the kind that has it.
SIZED    := sim eval tlb scale stags crowd
home     = $(if $(and $(filter $(SIZED),$(firstword $(subst /, ,$1))),$(filter firmware/% \
	host_driver/%,$2)),$(if $(findstring -Iboards/,$(call inc,$2)),$1,host),$1)
# $1 kind, $2 sources and archives: what is made of them.
objects  = $(patsubst %.c,%.o,$(patsubst %.S,%.o,$(foreach p,$2,$(B)/$(if $(findstring \
	:,$p),$(subst :,/,$p),$(call home,$1,$p)/$p))))
# $1 program; one of which nobody says what it is made of is a unit test of the core.
parts    = $(or $(PARTS_$1),tests/unit/core/$1.c rig.a)
# For a source: of its own, else of its folder, else of the folder above that.
folder   = $(patsubst %/,%,$(dir $1))
inc      = $(or $(INC_$1),$(INC_$(call folder,$1)),$(INC_$(call folder,$(call folder,$1))))
# $1 the first word of a variable's name, $2 kind.
of_kind  = $(call $1_$(firstword $(subst /, ,$2)),$(word 2,$(subst /, ,$2)))
board    = $(call of_kind,SIZES,$(kind))
define compile
$(call say,CC)
$(Q)$(call of_kind,CC,$(kind)) $(call inc,$<) -Iabi -c $< -o $@
endef
# Kinds of tests; they have cmocka.
LINK_unit  = $(CC) $(SANITIZE)
LINK_large = $(CC) $(SANITIZE)
LINK_cov   = $(CC) --coverage
LINK_fuzz  = $(CLANG) $(FUZZ_SAN)
PARTS      = $(filter %.o,$^) $(filter %.a,$^)
define link
$(call say,LINK)
$(Q)$(or $(LINK_$(kind)),$(CC) $(VARIANT) $(LINK_WITH)) $(WRAP_$(@F)) $(PARTS) $(LIBS_$(@F)) \
	$(if $(LINK_$(kind)),-lcmocka) -o $@
endef
# $1 text, for a file that changes only when the text does. The first is older than
# all: objects that were there before it are not made again.
keep = @mkdir -p $(@D); echo '$1' | cmp -s - $@ || { [ -e $@ ]; first=$$?; \
	echo '$1' > $@; [ $$first = 0 ] || touch -d @0 $@; }

.SECONDEXPANSION:
define kind_rules
$(B)/$1/%: kind := $1
$(B)/$1/%.o: %.c $(B)/$1/flags | $(B)/build_id.h $(B)/version.h
	$$(compile)
$(B)/$1/%.o: %.S $(B)/$1/flags
	$$(compile)
$(B)/$1/%.a: $$$$(call objects,$1,$$$$(LIB_$$$$*))
	$$(call say,AR)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^
$(B)/$1/bin/%: $$$$(call objects,$1,$$$$(filter-out $$$$(DROP_$1),$$$$(call parts,$$$$*)))
	$$(link)
$(B)/$1/flags: FORCE
	$$(call keep,$$(subst ',,$$(call of_kind,CC,$1)))
endef
$(foreach k,$(KINDS),$(eval $(call kind_rules,$k)))
# With libFuzzer there is no need of another main().
DROP_fuzz := $(REPLAY)

# What the board wants small, not fast; the counts are of the same code. What stands
# around the core there is called by the C library and by assembly.
$(foreach k,$(BOARD) $(BENCH),$(call objects,$k,$(BOARD_SMALL_SRCS))): SMALL = -Os
$(B)/$(BENCH)/tests/unit/%.o: NO_LTO = -fno-lto

# Changes only when the answer of git does, so that it costs one compilation.
$(B)/build_id.h: FORCE
	$(call keep,#define UNIC_BUILD_ID "$(BUILD_ID)")
$(B)/version.h: FORCE
	$(call keep,#define UNIC_VERSION "$(VERSION)")
FORCE:

# ----------------------------------------------------------------- programs

# $1 programs
bin = $(addprefix $(B)/bin/,$1)
# All of a host: what has parts, but for images, what tests/unit and tests/fuzz have, and
# what only a board or another kind has.
ON_HOST := $(sort $(patsubst PARTS_%,%,$(filter-out %.elf PARTS_test_% PARTS_fuzz_% PARTS_litmus \
	PARTS_unic-nic PARTS_unic-scale PARTS_cov-% %.so,$(filter PARTS_%,$(.VARIABLES)))))
# What users and tests start on a host, and the library that they link. batch_virt:
# more tokens than a round ends.
$(B)/bin/%: $$(call objects,$$(or $$(KIND_$$*),host),$$(call parts,$$*))
	$(link)
$(B)/unit/bin/batch_virt: $$(call objects,stags,tests/unit/core/test_batch.c rig.a)
	$(call say,LINK)
	$(Q)$(CC) $(PARTS) -lcmocka -o $@
$(B)/lib/%.a: $$(call objects,host,$$(LIB_$$*))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
# The library as programs load it. What its map does not name stays inside.
$(B)/lib/libunic.so.$(SO_VERSION): $(call objects,host,$(LIBUNIC)) host_driver/libunic/libunic.map
	$(call say,SO)
	$(Q)$(CC) $(VARIANT) $(LINK_WITH) -shared -Wl,-soname,libunic.so.$(firstword $(subst ., ,$(SO_VERSION))) \
		-Wl,-z,defs -Wl,--version-script=host_driver/libunic/libunic.map $(PARTS) -o $@
$(B)/lib/%.so: $$(call objects,pic,$$(PARTS_$$*.so))
	$(call say,SO)
	$(Q)$(CC) $(VARIANT) $(LINK_WITH) -shared $(if $(VARIANT),,-Wl$(COMMA)-z$(COMMA)defs) $(PARTS) $(LIBS_$(@F)) \
		-o $@
$(B)/faults/%.so: tests/faults/%.c
	$(call say,SO)
	$(Q)$(CC) $(FLAGS) $(GNU) -fno-builtin -fPIC -shared $< -o $@

# The simulator of one size.
$(SIM_SIZES:%=$(B)/sim/%.o): $(B)/sim/%.o: $$(call objects,sim/$$*,$(filter-out %/main.c,$(SIM)) \
		$(FIRMWARE) $(CORE))
	$(call say,SIZE)
	$(Q)ld -r $^ -o $@ && objcopy -G seed_run_$* $@

# libunic for tests/libsim: one object whose system calls have other names, and whose
# variables, all of them zero at first, have a section of their own.
CALLS := tests/libsim/calls.txt
$(B)/host/libunic_sim.o: $(call objects,host,$(LIBUNIC)) $(CALLS) tests/libsim/pure.txt
	$(call say,CALLS)
	$(Q)ld -r $(PARTS) -o $@.whole
	$(Q)cut -d' ' -f1 $(CALLS) | cat - tests/libsim/pure.txt > $@.known
	$(Q)! nm -u $@.whole | awk '$$2 !~ /^__/ { print $$2 }' | grep -vxF -f $@.known
	$(Q)! size -A $@.whole | grep -E '^\.data +[1-9]'
	$(Q)objcopy -O binary -j .data.own $@.whole $@.own && ! tr -d '\0' < $@.own | grep -q .
	$(Q)objcopy --redefine-syms=$(CALLS) --set-section-flags .bss=alloc,load,contents,data \
		--rename-section .bss=libunic_bss --rename-section .data.own=libunic_bss $@.whole $@

# Test programs on the target: where text and data are, the heap and the stack's top.
layout = -nostartfiles $(addprefix -Wl$(COMMA),$1 --defsym=target_heap=end \
	--defsym=target_heap_end=$2 $(if $3,--defsym=target_stack=$3))
COMMA := ,
A15    = $(call layout,-Ttext-segment=0x40100000,0x47800000)
M3     = $(call layout,--section-start=.vectors=0 -Ttext=0x1000 -Tdata=0x21000000,0x21f00000,0x22000000)
LM3S   = $(call layout,--section-start=.vectors=0 -Ttext=0x100 -Tdata=0x20000000,0x2000e800,0x20010000)
define elf
$(call say,LINK)
$(Q)$(ARM)gcc $1 $(PARTS) -o $@
endef
$(B)/target/bin/%.elf: $$(call objects,target,$$(call parts,$$*) $(TARGET_RT))
	$(call elf,$(CORTEX_A) $(A15))
$(B)/m3/bin/%.elf: $$(call objects,m3,$$(call parts,$$*) $(M3_RT))
	$(call elf,$(CORTEX_M) $(M3))
$(B)/lm3s/bin/%.elf: $$(call objects,m3,$$(call parts,$$*) $(M3_RT))
	$(call elf,$(CORTEX_M) $(LM3S))
RT_mps2-an385     := $(M3_RT)
LAYOUT_mps2-an385  = $(M3)
$(B)/$(BENCH)/%.elf: $$(call objects,$(BENCH),$$(PARTS_$$*.elf))
	$(call elf,$(FLAGS) $(BOARD_CFLAGS) $(or $(LAYOUT_$(BOARD)),$(A15)))

# Images of the board. One with a boot stub has an image for each slot of its flash,
# and the flash as a whole.
board_link = $(BOARD_CC_PREFIX)gcc $(FLAGS) $(BOARD_CFLAGS) $(BOARD_LDFLAGS)
$(B)/$(BOARD)/%.elf: $$(call objects,$(BOARD),$$(PARTS_$$*.elf)) $(BOARD_LDSCRIPT)
	$(call say,LINK)
	$(Q)$(board_link) $(addprefix -T ,$(BOARD_LDSCRIPT)) $(PARTS) -o $@
	$(if $(filter %/unic.elf,$@),$(Q)$(BOARD_AFTER_LINK))
$(B)/$(BOARD)/boot.elf: $$(call objects,$(BOARD),$(PARTS_boot.elf)) $(BOARD_BOOT_LD)
	$(call say,LINK)
	$(Q)$(board_link) -T $(BOARD_BOOT_LD) $(PARTS) -o $@ > /dev/null
SLOT_IMAGES := $(foreach s,$(BOARD_SLOTS),$(B)/$(BOARD)/unic-$(firstword $(subst =, ,$s)).elf)
$(SLOT_IMAGES): $(B)/$(BOARD)/unic-%.elf: $$(call objects,$(BOARD),$$(PARTS_unic.elf)) $(BOARD_LDSCRIPT)
	$(call say,LINK)
	$(Q)$(board_link) -Wl,--defsym=SLOT_BASE=$(patsubst $*=%,%,$(filter $*=%,$(BOARD_SLOTS))) \
		-T $(BOARD_LDSCRIPT) $(PARTS) -o $@ > /dev/null
$(B)/$(BOARD)/flash.bin: $(B)/$(BOARD)/boot.elf $(SLOT_IMAGES) $(wildcard boards/$(BOARD)/board.toml)
	$(call say,FLASH)
	$(Q)tools/install/flash_image.py --board $(BOARD) -o $@ --boot $< \
		--a $(B)/$(BOARD)/unic-a.elf --b $(B)/$(BOARD)/unic-b.elf

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)
