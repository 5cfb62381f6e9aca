# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# QEMU virt, Cortex-A15. Variables only; the rules are in the Makefile.

BOARD_CC_PREFIX := arm-none-eabi-

# Unaligned accesses stay allowed: the MMU is on before any C runs and all
# shared memory is normal memory, so a copy of a few unaligned bytes is one
# load and not four. Frames and records are aligned where it matters.
# -fbuiltin after -ffreestanding: there is no library but mem*(), yet a memcpy
# of 8 bytes must not become a call.
# -mtune=cortex-a7: functions save registers with one push; tuned for the A15
# itself, GCC uses up to five strd, which is 8 to 12 instructions a call.
# -flto: the seam between core and board is a call for every ring, DMA and look
# at the link; linked as one program, most of them are no call at all. Fat
# objects, so that the checks can read them.
# -fno-tree-slp-vectorize: GCC would gather words on the stack to store them as
# one vector, which is more instructions than to store them.
BOARD_CFLAGS := -flto=auto -ffat-lto-objects -fno-tree-slp-vectorize \
	-mcpu=cortex-a15 -mtune=cortex-a7 -marm -mfpu=neon-vfpv4 -mfloat-abi=hard \
	-ffreestanding -fbuiltin -fno-common -ffunction-sections -fdata-sections

# What runs seldom - at start-up, for tables and waiters, when something went
# wrong - is compiled for size: text is what the board has least of. Not cmd.c and
# proc.c: a command's round trip and a doorbell are measured.
BOARD_SMALL_SRCS := $(addprefix firmware/,transport/arp.c memory/cache.c command/cmd_derived.c command/dump.c base/err.c memory/key_guard.c \
	arbiter/reuse.c transport/mad.c memory/fault.c memory/table.c arbiter/policy_fifo.c arbiter/policy_sample.c base/random.c \
	base/slots.c base/trace.c revoke/admission.c revoke/ask.c revoke/evict_answer.c transport/qp_modify.c) \
	$(addprefix hal/virt/,crash.c main.c mmu.c) \
	$(addprefix hal/drivers/,gicv2.c pci_ecam.c pl011.c virtio_mmio.c \
	virtio_net.c virtio_rng.c)

# nano: nothing of libc needs a system; its mem*() copy byte by byte, so the
# board has its own (mem.S). The linker says how much of the budget is used, and
# fails above it.
BOARD_LDFLAGS := -nostartfiles -specs=nano.specs \
	-Wl,--gc-sections,--fatal-warnings,--print-memory-usage

BOARD_LDSCRIPT := ld/virt.ld

# Everything below hal/unic_port.h; every image has these ...
BOARD_SRCS := \
	hal/virt/start.S \
	hal/virt/mmu.c \
	hal/virt/port.c \
	hal/virt/cpu_copy.S \
	hal/virt/mem.S \
	hal/virt/link.c \
	hal/virt/crash.c \
	hal/drivers/crash_record.c \
	hal/drivers/dma_window.c \
	hal/drivers/gicv2.c \
	hal/drivers/link_layout.c \
	hal/drivers/link_ring.c \
	hal/drivers/pci_ecam.c \
	hal/drivers/pl011.c \
	hal/drivers/virtio_mmio.c \
	hal/drivers/virtio_net.c \
	hal/drivers/virtio_rng.c

# ... the firmware adds this ...
BOARD_MAIN_SRCS := hal/virt/main.c

# What copies in the image of the instruction counts, and where its cpu_copy.h is.
BOARD_HAL := hal/virt
BOARD_COPY_SRCS := hal/virt/cpu_copy.S hal/virt/mem.S

# ... and test images add this and a main() of their own.
BOARD_TEST_SRCS := hal/drivers/semihost.c
