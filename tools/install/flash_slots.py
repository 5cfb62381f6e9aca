#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Which of two slots the boot stub starts, and which an update may overwrite.

A slot is good if its record is whole, names a length that a slot has, and the bytes
there match its CRC-32. That is what the boot stub asks (hal/cortexm/boot_choice.c),
nothing more and nothing less. Bits that a power cut left half erased or half
programmed read as they please, so a slot is read twice; one that was good once and
not the other time is no slot to rely on.
"""
import dataclasses
import struct
import zlib

MAGIC = 0x746F6F62
LEAST = 64  # bytes of an image
RECORD_BYTES = 20
IDENTITY = 0x63696E75  # "unic"
IDENTITY_BYTES = 16
SLOTS = ("a", "b")


class Refused(Exception):
    """An update that could leave nothing that boots."""


@dataclasses.dataclass(frozen=True)
class Record:
    number: int
    bytes: int
    crc: int


@dataclasses.dataclass(frozen=True)
class Seen:
    """A slot in one reading: the number of its record, if that is whole."""
    number: int | None = None
    good: bool = False


@dataclasses.dataclass(frozen=True)
class Choice:
    slot: str
    number: int
    kept: str | None  # boots until the update is complete
    why: str


def other(slot):
    return "b" if slot == "a" else "a"


def make_record(image, number):
    words = struct.pack("<4I", MAGIC, number, len(image), zlib.crc32(image))
    return words + struct.pack("<I", zlib.crc32(words))


def parse_record(data, slot_bytes):
    """The record at the start of a page; None: it is not whole."""
    magic, number, size, crc, check = struct.unpack(
        "<5I", data[:RECORD_BYTES])
    if magic != MAGIC or check != zlib.crc32(data[:RECORD_BYTES - 4]) or \
            not LEAST <= size <= slot_bytes:
        return None
    return Record(number, size, crc)


def make_identity(rnd):
    """A page with a MAC address that nobody else has, from six random bytes: of no
    maker (bit 1), and of one station (bit 0). struct identity_page
    (hal/cortexm/identity.h) is the same."""
    mac = bytes([rnd[0] & 0xfc | 2]) + rnd[1:6]
    words = struct.pack("<I6s2x", IDENTITY, mac)
    return words + struct.pack("<I", zlib.crc32(words))


def is_identity(data):
    """As the firmware asks."""
    magic, check = struct.unpack("<I8xI", data[:IDENTITY_BYTES])
    return magic == IDENTITY and check == zlib.crc32(data[:IDENTITY_BYTES - 4])


def judge(record, image):
    """A slot by its parsed record and the bytes that the record claims."""
    if record is None:
        return Seen()
    return Seen(record.number, zlib.crc32(image) == record.crc)


def is_later(number, than):
    """Numbers of updates wrap."""
    return 0 < (number - than & 0xffffffff) < 1 << 31


def latest_number(numbers):
    """None: there are none."""
    best = None
    for number in numbers:
        if number is not None and (best is None or is_later(number, best)):
            best = number
    return best


def booted(seen):
    """The slot that the stub starts, from {slot: Seen}; None: none."""
    a, b = seen["a"].number, seen["b"].number
    first = "b" if b is not None and (a is None or is_later(b, a)) else "a"
    for slot in (first, other(first)):
        if seen[slot].good:
            return slot
    return None


def latest_slot(slots, readings):
    """Of these slots, by the latest number that each had in a reading."""
    numbers = {s: latest_number(r[s].number for r in readings) for s in slots}
    latest = latest_number(numbers.values())
    return next(s for s in slots if numbers[s] == latest)


def choose_kept(readings, anyway):
    """The slot that the update relies on (None: there is none), and why."""
    always = [s for s in SLOTS if all(r[s].good for r in readings)]
    ever = [s for s in SLOTS if any(r[s].good for r in readings)]
    if always:
        kept = latest_slot(always, readings)
        return kept, f"slot {kept.upper()} is good and stays"
    if not ever:
        return None, "no slot has a good image: there is nothing to lose"
    kept = latest_slot(ever, readings)
    if len(ever) == 1:
        return kept, (f"slot {kept.upper()} is not the same each time it is "
                      "read, but the only one that may boot, and stays")
    if not anyway:
        raise Refused(
            "both slots hold an image that is good at one reading and not at "
            "another, as a power cut leaves it. The board may start from "
            "either, and if power fails now, from none. To go on: make flash "
            "ANYWAY=1")
    return kept, f"both slots are doubtful; slot {kept.upper()} stays"


def choose(readings, anyway=False):
    """What to write, from what was read: a list of {slot: Seen}. Raises Refused."""
    kept, why = choose_kept(readings, anyway)
    slot = other(kept) if kept else "a"
    before = latest_number(r[other(slot)].number for r in readings)
    number = 1 if before is None else before + 1 & 0xffffffff
    return Choice(slot, number, kept, why)
