/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * boot.c - the boot stub: starts the image with the latest record that is whole
 * and whose bytes match the record. Changes nothing but the clocks of UART 1, and
 * uses the top of RAM only: the firmware finds the rest as a crash left it.
 *
 * Without an image it prints a line and stops: the flash is written by JTAG.
 */
#include "boot.h"

#include "cortexm.h"
#include "lm3s.h"
#include "pl011.h"

#define RESET_HZ    12500000u /* internal oscillator, roughly */
#define CONSOLE	    115200u
#define RCGC1	    0x104u
#define RCGC2	    0x108u
#define RCGC1_UART1 0x2u
#define RCGC2_PORTD 0x8u
#define GPIO_AFSEL  0x420u
#define GPIO_DEN    0x51cu
#define LEAST	    64u /* bytes of an image at least: its vectors */

void boot_main(void);
void boot_fault(void);

extern uint32_t __boot_stack_top[];

__attribute__((section(".vectors"), used)) static void *const vectors[] = {
	__boot_stack_top,   (void *)boot_main,	(void *)boot_fault,
	(void *)boot_fault, (void *)boot_fault, (void *)boot_fault,
	(void *)boot_fault,
};

static uint32_t boot_crc32(const volatile uint8_t *p, uint32_t len)
{
	uint32_t crc = ~0u, bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static const struct boot_record *record_of_slot(uint32_t slot)
{
	return (const struct boot_record *)BOOT_RECORD(slot);
}

static bool is_whole(uint32_t slot)
{
	const struct boot_record *r = record_of_slot(slot);
	uint32_t bytes = unic_from_le32(r->bytes);

	return unic_from_le32(r->magic) == BOOT_MAGIC &&
	       unic_from_le32(r->check) ==
		       boot_crc32((const uint8_t *)r,
				  offsetof(struct boot_record, check)) &&
	       bytes >= LEAST && bytes <= BOOT_SLOT_BYTES;
}

static bool is_good(uint32_t slot)
{
	return is_whole(slot) &&
	       boot_crc32((const uint8_t *)BOOT_SLOT_BASE(slot),
			  unic_from_le32(record_of_slot(slot)->bytes)) ==
		       unic_from_le32(record_of_slot(slot)->crc);
}

/* The slot whose whole record has the greater number. */
static uint32_t latest_slot(void)
{
	return is_whole(1) &&
	       (!is_whole(0) ||
		(int32_t)(unic_from_le32(record_of_slot(1)->number) -
			  unic_from_le32(record_of_slot(0)->number)) > 0);
}

static void start_console(void)
{
	CORTEXM_REG(LM3S_SYS + RCGC1) |= RCGC1_UART1;
	CORTEXM_REG(LM3S_SYS + RCGC2) |= RCGC2_PORTD;
	(void)CORTEXM_REG(LM3S_SYS + RCGC2);
	(void)CORTEXM_REG(LM3S_SYS + RCGC2);
	CORTEXM_REG(LM3S_GPIOD + GPIO_AFSEL) |= 0x0c;
	CORTEXM_REG(LM3S_GPIOD + GPIO_DEN) |= 0x0c;
	pl011_start(LM3S_UART1, RESET_HZ, CONSOLE);
}

static void jump_to_image(uint32_t base) __attribute__((noreturn));
static void jump_to_image(uint32_t base)
{
	__asm__ volatile("ldr	sp, [%0]\n\t"
			 "ldr	pc, [%0, #4]" ::"r"(base));
	__builtin_unreachable();
}

void boot_fault(void)
{
	for (;;)
		__asm__ volatile("wfi");
}

void boot_main(void)
{
	uint32_t slot = latest_slot();

	start_console();
	if (!is_good(slot))
		slot = !slot;
	if (!is_good(slot)) {
		pl011_puts(LM3S_UART1, "boot: no image\n");
		boot_fault();
	}
	pl011_puts(LM3S_UART1, slot ? "boot: slot B" : "boot: slot A");
	pl011_hex(LM3S_UART1, ", update",
		  unic_from_le32(record_of_slot(slot)->number));
	pl011_puts(LM3S_UART1, "\n");
	jump_to_image(BOOT_SLOT_BASE(slot));
}
