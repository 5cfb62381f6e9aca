/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "boot_choice.h"

#include "machine.h"

#define LEAST 64u /* bytes of an image at least: its vectors */

extern uint32_t __boot_stack_top[];

static void stop_boot(void) __attribute__((noreturn));
static void stop_boot(void)
{
	for (;;)
		__asm__ volatile("wfi");
}

__attribute__((section(".vectors"), used)) static void *const vectors[] = {
	__boot_stack_top,  (void *)machine_boot, (void *)stop_boot,
	(void *)stop_boot, (void *)stop_boot,	 (void *)stop_boot,
	(void *)stop_boot,
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

static const struct boot_record *record_of_slot(const struct boot_layout *l,
						uint32_t slot)
{
	return (const struct boot_record *)l->record[slot];
}

static bool is_whole(const struct boot_layout *l, uint32_t slot)
{
	const struct boot_record *r = record_of_slot(l, slot);
	uint32_t bytes = unic_from_le32(r->bytes);

	return unic_from_le32(r->magic) == BOOT_MAGIC &&
	       unic_from_le32(r->check) ==
		       boot_crc32((const uint8_t *)r,
				  offsetof(struct boot_record, check)) &&
	       bytes >= LEAST && bytes <= l->image_bytes;
}

static bool is_good(const struct boot_layout *l, uint32_t slot)
{
	const struct boot_record *r = record_of_slot(l, slot);

	return is_whole(l, slot) &&
	       boot_crc32((const uint8_t *)l->image[slot],
			  unic_from_le32(r->bytes)) == unic_from_le32(r->crc);
}

/* The slot whose whole record has the greater number. */
static uint32_t latest_slot(const struct boot_layout *l)
{
	return is_whole(l, 1) &&
	       (!is_whole(l, 0) ||
		(int32_t)(unic_from_le32(record_of_slot(l, 1)->number) -
			  unic_from_le32(record_of_slot(l, 0)->number)) > 0);
}

static void jump_to_image(uint32_t base) __attribute__((noreturn));
static void jump_to_image(uint32_t base)
{
	__asm__ volatile("ldr	sp, [%0]\n\t"
			 "ldr	pc, [%0, #4]" ::"r"(base));
	__builtin_unreachable();
}

static void say_slot(void (*say)(const char *text), uint32_t slot,
		     uint32_t update)
{
	char digits[9];

	for (uint32_t i = 0; i < 8; i++)
		digits[i] = "0123456789abcdef"[update >> (28 - 4 * i) & 15];
	digits[8] = 0;
	say(slot ? "boot: slot B, update=" : "boot: slot A, update=");
	say(digits);
	say("\n");
}

void boot_run(const struct boot_layout *layout, void (*say)(const char *text))
{
	uint32_t slot = latest_slot(layout);

	if (!is_good(layout, slot))
		slot = !slot;
	if (!is_good(layout, slot)) {
		say("boot: no image\n");
		stop_boot();
	}
	say_slot(say, slot,
		 unic_from_le32(record_of_slot(layout, slot)->number));
	jump_to_image(layout->image[slot]);
}
