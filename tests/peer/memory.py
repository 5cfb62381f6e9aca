# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Memory of a process slot, mapped as SPEC "Memory of a process" and
"HELLO and the slot" say: doorbell page, NIC page, upcall ring and frames.

All of it is a range of one file, shared. Frames are mapped page by page at the
addresses that FRAMES_ALLOC named, so that a region is one piece here too."""

import ctypes
import os

from names import PAGE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                       ctypes.c_int, ctypes.c_int, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)

_NONE, _READ, _BOTH = 0, 1, 3                   # PROT_*
_SHARED, _PRIVATE, _FIXED, _ANON = 1, 2, 0x10, 0x20     # MAP_*, Linux


def _mmap(address, length, protection, flags, fd=-1, offset=0):
    """mmap(2); OSError if it fails."""
    got = _libc.mmap(address, length, protection, flags, fd, offset)
    if got in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), 'mmap')
    return got


class Mapping:
    """A range of addresses, and what is mapped there."""

    def __init__(self, length, align=PAGE):
        """Reserves `length` bytes at a multiple of `align`."""
        self.length = length
        self.reserved = length + align
        self.base = _mmap(None, self.reserved, _NONE, _PRIVATE | _ANON)
        self.address = (self.base + align - 1) & -align

    def map(self, at, length, fd, offset, write):
        """Maps [offset, offset + length) of the file at `at` bytes."""
        _mmap(self.address + at, length, _BOTH if write else _READ,
              _SHARED | _FIXED, fd, offset)

    def view(self):
        """The range as a memoryview of bytes."""
        array = (ctypes.c_ubyte * self.length).from_address(self.address)
        return memoryview(array).cast('B')

    def words(self, at, count):
        """`count` words of 32 bits from `at` on; each is loaded and stored
        whole."""
        return (ctypes.c_uint32 * count).from_address(self.address + at)

    def unmap(self):
        """Gives the addresses back: nothing of it may be touched then."""
        if self.base:
            _libc.munmap(self.base, self.reserved)
            self.base = 0


class Slot:
    """The slot that the reply of HELLO describes, with its four descriptors:
    the memory file, the doorbell, completions, upcalls."""

    def __init__(self, reply, fds):
        self.file, self.doorbell, self.completions, self.upcall_fd = fds
        self.at = reply.slot_at * 65536
        self.bytes = reply.slot_bytes
        pages = self.pages = Mapping(3 * PAGE)
        pages.map(0, PAGE, self.file, self.at, True)
        pages.map(PAGE, 2 * PAGE, self.file, self.at + PAGE, False)
        self.fifo_seq = pages.words(0, 1)
        self.fifo = pages.words(64, 256)
        self.rows = pages.words(1088, 4 * 64)
        self.asleep = pages.words(PAGE, 1)
        self.epoch = pages.words(PAGE + 4, 1)
        self.cq_events = pages.words(PAGE + 64, 64)
        self.upcalls = pages.words(2 * PAGE, PAGE // 4)
        self.upcall_bytes = pages.view()[2 * PAGE:]
        self.frames = []
        for fd in fds[1:]:
            os.set_blocking(fd, False)

    def map_frames(self, mapping, page_shift, first_pages):
        """Maps the runs of a FRAMES_ALLOC, one behind the other."""
        run = 1 << page_shift
        for number, page in enumerate(first_pages):
            mapping.map(number * run, run, self.file, self.at + page * PAGE,
                        True)
        self.frames.append(mapping)

    def close(self):
        """Unmaps everything and closes the descriptors, so that the slot can
        be another's."""
        for mapping in self.frames + [self.pages]:
            mapping.unmap()
        self.frames = []
        for fd in (self.file, self.doorbell, self.completions,
                   self.upcall_fd):
            os.close(fd)
