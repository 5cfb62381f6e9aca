#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What `make flash` writes, and in which order, over a flash in memory: which slot is
chosen, what is refused, and a power cut at every step, which leaves bits that read
one way or the other. And that what each board.toml says has room.

usage: test_choose.py [SEEDS]        (default 4: for each step of an update)
"""
import contextlib
import io
import os
import random
import struct
import sys
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "install"))
import board_file  # noqa: E402
import flash  # noqa: E402
import flash_image  # noqa: E402
import flash_slots  # noqa: E402
from flash_slots import Seen  # noqa: E402

LAYOUT = board_file.Layout(0x800, 0x40, 0x100, 0x200,
                           {"a": 0x100, "b": 0x300},
                           {"a": 0x500, "b": 0x540}, 0x580)


class PowerCut(Exception):
    pass


class Chip:
    """Flash whose bits may be weak: each reading of such a bit is random."""

    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.bytes = bytearray(b"\xff" * LAYOUT.bytes)
        self.weak = bytearray(LAYOUT.bytes)  # a mask for each byte
        self.steps, self.cut = 0, None

    def read(self, at, size):
        return bytes(b ^ (w & self.rnd.randrange(256)) for b, w in zip(
            self.bytes[at:at + size], self.weak[at:at + size]))

    def step(self, at, after):
        """These bytes become others, unless the power fails meanwhile: then of the
        bits that change some do, some do not, and some are weak."""
        self.steps += 1
        cut = self.steps == self.cut
        for i, new in enumerate(after, at):
            change = self.bytes[i] ^ new
            if not cut:
                self.bytes[i], self.weak[i] = new, 0
                continue
            self.bytes[i] ^= change & self.rnd.randrange(256)
            self.weak[i] |= change & self.rnd.randrange(256)
        if cut:
            raise PowerCut

    def erase(self, page):
        self.step(page, b"\xff" * LAYOUT.page)

    def program(self, at, data):
        self.step(at, bytes(o & n for o, n in zip(self.bytes[at:], data)))


class Board:
    """In the place of flash.Board: no OpenOCD."""

    def __init__(self, chip):
        self.chip, self.started = chip, 0

    def read(self, pieces):
        return [self.chip.read(*piece) for piece in pieces]

    def matches(self, pieces):
        return [self.chip.read(at, len(data)) == data for at, data in pieces]

    def erase(self, at, size):
        for page in range(at, at + size, LAYOUT.page):
            self.chip.erase(page)

    def write(self, at, data):
        data += b"\xff" * (-len(data) % 4)
        self.erase(at, -(-len(data) // LAYOUT.page) * LAYOUT.page)
        for word in range(0, len(data), 4):
            self.chip.program(at + word, data[word:word + 4])
        if self.chip.read(at, len(data)) != data:
            raise flash.Problem("verify failed")

    def start(self):
        self.started += 1


def stub(chip):
    """The boot stub: the image that starts. It reads each word once, as it comes."""
    def record(slot):
        words = chip.read(LAYOUT.record[slot], 20)
        magic, number, size, crc, check = struct.unpack("<5I", words)
        if magic != 0x746F6F62 or zlib.crc32(words[:16]) != check or \
                not 64 <= size <= LAYOUT.slot_bytes:
            return None
        return number, size, crc

    def good(slot):
        words = record(slot)
        return words and zlib.crc32(
            chip.read(LAYOUT.slot[slot], words[1])) == words[2]

    a, b = record("a"), record("b")
    first = "b" if b and (not a or 0 < (b[0] - a[0]) % 2**32 < 2**31) else "a"
    for slot in (first, "a" if first == "b" else "b"):
        if good(slot):
            size = record(slot)[1]
            return bytes(chip.bytes[LAYOUT.slot[slot]:][:size])
    return None


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, what, good, detail=""):
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(f"{'ok' if good else 'FAIL'} {what}"
              f"{': ' + str(detail) if detail and not good else ''}",
              flush=True)


def image(seed):
    return random.Random(seed).randbytes(200 + 4 * (seed % 7))


def update(chip, new, anyway=False):
    """flash.py; what it says."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        flash.flash(Board(chip), LAYOUT, b"stub" * 8, {"a": new, "b": new},
                    anyway)
    return said.getvalue()


def board_with(*updates, seed=1):
    chip = Chip(seed)
    for new in updates:
        update(chip, new)
    return chip


# -------------------------------------------------------------------- choices

def reading(a, b):
    """A number, or None; negative: the record is whole, the image is not good."""
    def seen(number):
        return Seen() if number is None else Seen(abs(number), number >= 0)
    return {"a": seen(a), "b": seen(b)}


def check_choices(check):
    for what, readings, want in (
            ("an empty flash", [(None, None)] * 2, ("a", 1, None)),
            ("one image", [(1, None)] * 2, ("b", 2, "a")),
            ("only the other", [(None, 7)] * 2, ("a", 8, "b")),
            ("two images", [(3, 4)] * 2, ("a", 5, "b")),
            ("numbers wrap", [(0, 0xffffffff)] * 2, ("b", 1, "a")),
            ("the newer image is damaged", [(3, -4)] * 2, ("b", 4, "a")),
            ("the older one is", [(-3, 4)] * 2, ("a", 5, "b")),
            ("both are", [(-3, -4)] * 2, ("a", 5, None)),
            ("the newer is good once", [(3, 4), (3, -4)], ("b", 4, "a")),
            ("the older is good once", [(3, 4), (-3, 4)], ("a", 5, "b")),
            ("one good once, the other never", [(3, -4), (-3, -4)],
             ("b", 4, "a"))):
        got = flash_slots.choose([reading(*r) for r in readings])
        check(what, (got.slot, got.number, got.kept) == want, got)
    doubtful = [reading(3, 4), reading(-3, -4)]
    try:
        check("both good once: refused", False, flash_slots.choose(doubtful))
    except flash_slots.Refused as e:
        check("both good once: refused", "ANYWAY=1" in str(e), e)
    got = flash_slots.choose(doubtful, anyway=True)
    check("and the older one written anyway", (got.slot, got.kept) ==
          ("a", "b"), got)


def check_board(check):
    chip = board_with(image(1), image(2))
    check("an update boots", stub(chip) == image(2))
    before = chip.steps
    update(chip, image(3))
    check("a boot stub that is there is not written",
          chip.steps - before < LAYOUT.bytes // 4)
    identity = chip.read(LAYOUT.identity, 16)
    check("it has a MAC address of no maker and of one station",
          flash_slots.is_identity(identity) and identity[4] & 3 == 2)
    update(chip, image(4))
    check("and keeps it", chip.read(LAYOUT.identity, 16) == identity)
    chip.weak[LAYOUT.identity + 5] = 0xff
    update(chip, image(4))
    check("a torn one is replaced", flash_slots.is_identity(
        chip.read(LAYOUT.identity, 16)) and not any(chip.weak))
    chip = board_with(image(1), image(2))
    chip.bytes[LAYOUT.slot["b"] + 100] ^= 4
    check("a damaged newer image: the older boots", stub(chip) == image(1))
    chip.cut = chip.steps + 12
    with contextlib.suppress(PowerCut):
        update(chip, image(3))
    check("and still does when an update is cut", stub(chip) == image(1))
    chip = Chip(1)
    check("nothing to lose is said", "nothing to lose" in
          update(chip, image(1)))
    refused = 0
    for seed in range(20):  # each slot is good at half of the readings
        chip = board_with(image(1), image(2), seed=seed)
        for at in LAYOUT.slot.values():
            chip.weak[at + 9] = 0x10
        try:
            update(chip, image(3))
        except flash_slots.Refused:
            refused += 1
    check("two doubtful slots are refused", refused)


# ------------------------------------------------------------------ power cuts

def cut_everywhere(check, what, make, seeds, allowed):
    """Power fails at each step of an update: each start is of an image of @allowed
    (the new one among them), and a second try goes through."""
    chip = make(0)
    before = chip.steps
    update(chip, image(9))
    steps, bad = chip.steps - before, []
    for cut in range(1, steps + 1):
        for seed in range(seeds):
            chip = make(1000 * cut + seed)
            chip.cut = chip.steps + cut
            try:
                update(chip, image(9))
                bad.append((cut, seed, "not cut"))
            except PowerCut:
                pass
            starts = [stub(chip) for _ in range(8)]
            if any(s not in allowed for s in starts):
                bad.append((cut, seed, "does not start"))
            try:
                update(chip, image(10))
            except (flash.Problem, flash_slots.Refused) as e:
                bad.append((cut, seed, str(e)))
            if any(stub(chip) != image(10) for _ in range(8)):
                bad.append((cut, seed, "the next update does not start"))
    check(f"{what}: power fails at each of {steps} steps, {seeds} times", not bad,
          bad[:5])


def damaged(seed):
    chip = board_with(image(1), image(2), seed=seed)
    chip.bytes[LAYOUT.slot["b"] + 50] ^= 1
    return chip


def check_cuts(check, seeds):
    cut_everywhere(check, "one image", lambda s: board_with(image(1), seed=s),
                   seeds, (image(1), image(9)))
    cut_everywhere(check, "two images",
                   lambda s: board_with(image(1), image(2), seed=s), seeds,
                   (image(2), image(9)))
    cut_everywhere(check, "the newer one damaged", damaged, seeds,
                   (image(1), image(9)))
    cut_everywhere(check, "no image", Chip, seeds, (None, image(9)))


# --------------------------------------------------------------------- layouts

def check_layout(check, board):
    layout = board_file.BoardFile(board).layout
    places = layout.places()
    check(f"{board}: places are whole pages, apart, and in the flash",
          all(at % layout.page == 0 and size % layout.page == 0
              for at, size in places) and
          all(a + n <= b for (a, n), (b, _) in zip(places, places[1:])) and
          sum(places[-1]) <= layout.bytes, places)


def check_fit(check):
    vectors = struct.pack("<II", 0x20001000, 0x2101) + bytes(400)
    for what, args, good in (
            ("an image for its slot", (vectors, 0x2000, 0x1000), True),
            ("an image for another slot", (vectors, 0x4000, 0x1000), False),
            ("an image that is too long", (vectors, 0x2000, 0x100), False)):
        try:
            flash_image.check_fit("it", *args)
            check(what, good)
        except flash_image.Unfit:
            check(what, not good)
    layout = board_file.BoardFile("lm3s6965evb").layout
    boot = struct.pack("<II", 0x20001000, 0x101) + bytes(400)
    words = struct.pack("<5I", *layout.slot.values(), *layout.record.values(),
                        layout.slot_bytes)
    for what, extra, good in (
            ("a boot stub with this layout", words, True),
            ("one with another", words[4:] + words[:4], False)):
        try:
            flash_image.check_stub(boot + extra, layout)
            check(what, good)
        except flash_image.Unfit:
            check(what, not good)


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    check = Checks()
    check_choices(check)
    check_board(check)
    check_fit(check)
    for board in board_file.boards():
        check_layout(check, board)
    check_cuts(check, seeds)
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
