#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Do the tests in the guest notice faults? A line of the Linux module is
broken, the module is built anew in the folder of its links, and the named test
must fail; or a line of libunic, under a program of that test.

    vm_breaks.py [TEST ...]    only those of these tests

Ends in "N passed, N failed".
"""
import argparse
import contextlib
import glob
import os
import subprocess
import sys
import tempfile

import kernel
from pair import BIN, MODULES, ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
# The programs of tests that are not in vm_check.py
PROGRAMS = {"test_nic_dies": ["vm_blk.py"], "test_nic_hangs": ["vm_blk.py"],
            "test_lies_to_disk": ["vm_endure.py", "--quick"],
            **{name: ["vm_leave.py"] for name in (
                "test_quarantine", "test_disk_quarantine", "test_ended", "test_error",
                "test_quarantine_settled", "test_suspend_refused", "test_suspend",
                "test_sleep",
                "test_file_stays", "test_kexec", "test_kexec_waits",
                "test_kexec_meets_unbind", "test_error_loses_state",
                "test_quarantine_settled_at_once", "test_add_too_late")},
            **{name: ["vm_kmem.py"] for name in (
                "test_read_write", "test_evicted", "test_many_peers")},
            **{name: ["vm_blk.py"] for name in (
                "test_flush_of_lost_writes", "test_older_copy",
                "test_nic_removed", "test_add_interrupted",
                "test_asked_and_unloaded", "test_guest_stands_still")}}
# Every 8 s, with the lock of the device held.
NOW_AND_THEN = ("{ static u64 at; if (ktime_get_ns() > at) "
                "{ %s; at = ktime_get_ns() + 8000000000; } }")
SPIN = "for (u64 i = 0; i < 2000000000; i++) barrier()"  # work, not time
SLEEP = "schedule_timeout_uninterruptible(4 * HZ)"
LIBUNIC = "host_driver/libunic"
# file, old text, new text, test that must fail
BREAKS = (
    ("unic_kmem_link.c", "		if (up->hdr.type == UNIC_UP_EVICTED)", "		if (!up->hdr.type)",
     "test_evicted"),  # a module is not told that its region has gone
    ("unic_kmem.c", """	if (!k->over && slot != UNIC_OS_NO_SLOT)
		unic_host_client_gone(k->os->host, &k->core);""", "",
     "test_read_write"),  # a handle that is closed keeps its slot
    ("unic_kmem_conn.c", "		memset(&k->conn[n], 0, sizeof(k->conn[n]));", "		;",
     "test_many_peers"),  # the places of connections run out
    ("unic_kmem_conn.c", "	msg.r.accept.rights = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE;",
     "	msg.r.accept.rights = UNIC_MR_REMOTE_WRITE;",
     "test_read_write"),  # a peer may not READ
    ("unic_pin.c", "*added = last - first + 1 - count_pinned_pages(mem, first, last);",
     "*added = last - first + 1;", "test_pins"),  # overlaps count twice
    ("unic_pin.c", "mark_invalidated(mem, &mem->active, first, last, true);", "",
     "test_pins"),  # what is unmapped stays registered
    ("unic_mem.c", "rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT", "U32_MAX",
     "test_memlock"),
    ("unic_gup.c", "	unpin_user_pages_dirty_lock(p->page, p->n, p->write);",
     "", "test_forms"),  # leaked
    ("unic_pin.c", "p->charged =\n			last - first + 1 - count_pinned_pages(mem, first, last);",
     "p->charged = 0;", "test_memlock"),  # what is under way does not count
    ("unic_pin.c", "in_span(&mem->recheck, first, last) ||", "",
     "test_pins"),  # what was dropped an instant ago
    ("unic_gup.c", "return !got || got == -EBUSY ? -EAGAIN",
     "return got == -EBUSY ? -EAGAIN", "test_pins"),  # nobody waits for a page
    ("unic_gup.c", """VM_MAYWRITE | VM_READ)) ==
	    (VM_MAYWRITE | VM_READ)""", "VM_MAYWRITE)) == VM_MAYWRITE",
     "test_pins"),  # guard pages can be read
    ("unic_gup.c", " || (p->write && is_tracked(vma))", "", "test_file"),
    ("unic_file.c", " .flush = unic_flush, ", " ",
     "test_hostage"),  # a process that is gone keeps its pins
    ("unic_pin_work.c", "	if (f && !f->mem && (!p ||", "	if (f && !f->mem && first == last && (!p ||",
     "test_pins"),  # nobody fetches a granted region's pages
    ("unic_file.c", "	unic_mem_leave(f->mem);",
     f"	unic_mem_leave(f->mem); {SLEEP};",
     "test_stuck"),  # a process that is killed lives on for a while
    ("unic_call.c", "nsecs_to_jiffies64(until_ns - now)",
     "nsecs_to_jiffies64(until_ns - ktime_get_ns())",
     "test_deadline"),  # the end of a wait passes between two looks at the clock
    ("unic_call.c", "#define STRANGER_MAX 2", "#define STRANGER_MAX 8",
     "test_unread"),  # a descriptor has many replies
    ("unic_call.c", "alloc_pages_exact(room, GFP_KERNEL_ACCOUNT)",
     "alloc_pages_exact(room, GFP_KERNEL)",
     "test_unread"),  # replies are charged to nobody
    ("unic_call.c", "	list_add_tail(&a->node, &f->queue);", "	list_add(&a->node, &f->queue);",
     "test_turns"),  # who came last is first
    ("unic_call.c", "	list_del_init(&a->node);\n	spin_unlock", "	spin_unlock",
     "test_turns"),  # who has left is given a place
    ("unic_call.c", """	if (err)
		put_place(a->f);""", "", "test_turns"),
    ("unic_os.c", "		unic_call_grow(unic_file_of(client));\n", "",
     "test_early"),  # who waits has no place that a slot brings
    ("unic_call.c", "#define REPLIES_MAX  (2 * UNIC_CTL_OPEN_MAX)", "#define REPLIES_MAX  U32_MAX",
     "test_early"),  # a client with a slot has any number of replies
    ("unic_call.c", """	if (READ_ONCE(f->ended))
		complete(&a->turn);
""", "", "test_unbind"),  # a call that comes after the end waits
    ("unic_call.c", """	list_for_each_entry(a, &f->queue, node)
		complete(&a->turn);""", """	a = list_first_entry(&f->queue, struct awaited, node);
	if (!list_empty(&f->queue))
		complete(&a->turn);""", "test_unbind"),  # only the first is told
    ("unic_call.c", "	clear_queue(f);\n", "",
     "test_unbind"),  # who waits for a place is not told
    ("unic_file.c", "if (!os->leaving)", "if (os->host)",
     "test_unbind"),  # an open() that meets the removal makes a client
    ("unic_fence.c", """	if (kept_off)
		unplug_nic(os);
	return kept_off;""", """	unplug_nic(os);
	return true;""", "test_quarantine"),  # memory of a NIC that stands still is used
    ("unic_fence.c", """	unic_host_fence(os->host);
	unic_unlock(os, noio);
	kept_off = wait_fenced(os);""", """	unic_unlock(os, noio);
	kept_off = true;""", "test_file_stays"),  # pages go back at once
    ("unic_pm.c", """	if (unic_fence(os))
		return 0;
	dev_err(dev""", """	if (os)
		return 0;
	dev_err(dev""", "test_sleep"),  # the NIC goes on
    ("unic_pci.c", "	return unic_fence(os);", "	return true;", "test_kexec"),
    ("unic_fence.c", "over = !list_empty(&os->kept) && can_poll_nic(os) && is_fenced(os);",
     "over = !list_empty(&os->kept);", "test_quarantine"),  # released early
    ("unic_fence.c", """	unic_host_fence(os->host);
	unic_unlock(os, noio);
	kept_off""", """	unic_unlock(os, noio);
	kept_off""", "test_suspend"),  # the NIC is not told
    ("unic_fence.c", """		list_del_init(&os->kept);
		list_add(&os->node, &over);
	}
	mutex_unlock(&kept_lock);""", """		list_add(&os->node, &over);
	}
	mutex_unlock(&kept_lock);
	fsleep(500000);""", "test_quarantine_settled_at_once"),  # released twice
    ("unic_fence.c", "		unic_vector_end_nic(os);", "", "test_ended"),
    ("unic_fence.c", "return device_is_registered(&os->pdev->dev);", "return false;",
     "test_quarantine"),  # nobody looks for the answer
    ("unic_fence.c", "err = err ?: fence_via_bar(bar, regs) ? 0 : -EBUSY;", "",
     "test_quarantine_settled"),  # a NIC that does not answer is used
    ("unic_fence.c", "while (!unic_pci_leave_all() || unic_quarantined())",
     "while (false)", "test_kexec_waits"),
    ("unic_pm.c", """	if (unic_fence(os))
		return 0;""", """	unic_fence(os);
	return 0;""", "test_suspend_refused"),
    ("unic_pm.c", "	os->fenced = true;", """	if (state)
		return PCI_ERS_RESULT_DISCONNECT;""", "test_error"),
    ("unicblk_disk.c", "	queue_work(unicblk_later,\n		   &container_of(watch, struct unicblk, watch)->dead);",
     "", "test_nic_removed"),
    ("unicblk_rq.c", "io->file = op == UNIC_KIO_READ ? NULL : &b->written;", "",
     "test_flush_of_lost_writes"),
    ("unicblk_rq.c", "	atomic64_inc(&b->lost);", "", "test_flush_of_lost_writes"),
    ("unic_pci.c", """	list_del(&os->node);
	unbind_nic(os);
	mutex_unlock(&bound_lock);""", """	list_del(&os->node);
	mutex_unlock(&bound_lock);
	unbind_nic(os);""", "test_kexec_meets_unbind"),  # in no list
    ("unic_pci.c", "	pci_save_state(pdev);", "	",
     "test_error_loses_state"),
    ("unic_pm.c", "	pci_save_state(pdev); /* for", "	/* for",
     "test_error_loses_state"),
    ("unic_pm.c", "	pci_save_state(to_pci_dev(dev));", "	",
     "test_error_loses_state"),
    ("unic_resident.c", "	if (os->leaving) {", "	if (false) {", "test_add_too_late"),
    ("unicblk_file.c", "if (!q || !try_module_get(THIS_MODULE)) {",
     "if (!q || (__module_get(THIS_MODULE), module_put(THIS_MODULE), false)) {",
     "test_asked_and_unloaded"),  # the module goes before the answer
    ("unicblk_file.c", "	module_put(THIS_MODULE);", "	",
     "test_asked_and_unloaded"),  # the module never goes
    ("unic_pin_work.c", "	if (!try_module_get(THIS_MODULE)) {", "	if (false) {",
     "test_hostage"),  # the module goes before its worker
    ("unic_call.c", "	r = find_reply(&f->open, unic_from_le32(hdr.seq));",
     """	if (f->core.slot != UNIC_OS_NO_SLOT)
		WRITE_ONCE(f->slot, f->core.slot);
	r = find_reply(&f->open, unic_from_le32(hdr.seq));""",
     "test_early"),  # a slot is had when it is asked for
    ("unicblk_rq.c", """		   b->number);
	end_rq(rq, BLK_STS_IOERR);""", """		   b->number);
	end_rq(rq, BLK_STS_OK);""", "test_older_copy"),  # flush succeeds
    ("unicblk_file.c", "wait_for_completion_interruptible(&q->over)",
     "(wait_for_completion(&q->over), false)", "test_add_interrupted"),
    ("unic_file.c", """	for (; ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;""", "", "test_ids"),
    ("unic_pin_work.c", "users[i].n >= READ_ONCE(user_fetches)", "false", "test_starved"),
    ("frames_user.c", "	return unic_pin_fetch_async(t->mem, first, last, write);",
     """	p = unic_pin_fetch(t->mem, first, last, write);
	return p;""", "test_not_pinned_in_a_lock"),
    ("unic_pci.c", "int err = is_named(pdev) ? claim_pci_function(pdev, &r) : -ENODEV;",
     "int err = claim_pci_function(pdev, &r);", "test_load"),
    (f"{LIBUNIC}/doorbell.c", "if (unic_load_acquire(&ctx->np->asleep) && ctx->nic_efd >= 0)", "",
     "test_calls"),  # each message rings
    ("../kio/kio_node.c", "	if (!n->config.mem)\n", "	if (nic + 1)\n",
     "test_nic_hangs"),  # pages of a NIC that hangs are given back
    ("../kio/kio_node.c", "next = poll_clients(n);", "next = UINT64_MAX;",
     "test_nic_dies"),  # I/Os wait for ever
    ("../kio/kio_client.c", "io->op == UNIC_KIO_WRITE && status == ETIMEDOUT", "false",
     "test_guest_stands_still"),  # a late WRITE counts as refused
    ("unic_engine.c", "	trace_nic(os);", NOW_AND_THEN % SPIN,
     "test_lies_to_disk"),  # keeps a processor
    ("unic_engine.c", "	trace_nic(os);", NOW_AND_THEN % SLEEP,
     "test_lies_to_disk"),  # keeps the lock
)


def build_module():
    """Build the module from the links' folder, not from the sources."""
    return subprocess.run(
        ["make", "-s", "-C", f"{kernel.modules(kernel.newest())}/build",
         f"M={MODULES}", "modules"], stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT, check=False).returncode == 0


@contextlib.contextmanager
def module(link, text):
    """The module with this text of a file; yields whether it compiles."""
    source = os.path.realpath(link)
    os.unlink(link)
    try:
        with open(link, "w", encoding="utf-8") as f:
            f.write(text)
        yield build_module()
    finally:
        os.unlink(link)
        os.symlink(source, link)
        # a link is as old as its source, so make would keep the broken object
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.splitext(link)[0] + ".o")


@contextlib.contextmanager
def library(path, text):
    """libunic with this text of a file, under `calls`, in a folder of programs
    that are otherwise as they were."""
    with tempfile.TemporaryDirectory(prefix="unic-breaks-") as tmp:
        for name in os.listdir(BIN):
            os.symlink(os.path.join(BIN, name), os.path.join(tmp, name))
        program = os.path.join(tmp, "calls")
        os.unlink(program)
        changed = os.path.join(tmp, os.path.basename(path))
        with open(changed, "w", encoding="utf-8") as f:
            f.write(text)
        sources = [changed if s == path else s for s in glob.glob(f"{LIBUNIC}/*.c")]
        os.environ["UNIC_BIN"] = tmp
        try:
            yield not subprocess.run(
                ["gcc", "-std=gnu11", "-O2", "-w", "-D_GNU_SOURCE=", "-Iabi",
                 f"-I{LIBUNIC}", "tests/vm/calls.c", *sources, "-o", program],
                check=False).returncode
        finally:
            del os.environ["UNIC_BIN"]


def red(test):
    """What the test says when it fails, not the loading before it; or ''."""
    program, *how = PROGRAMS.get(test, ["vm_check.py"])
    said = subprocess.run(
        [os.path.join(HERE, program), *how, "--only", test],
        capture_output=True, text=True, check=False).stdout
    return next((line.split(": ", 1)[1] for line in said.splitlines()
                 if line.startswith(f"FAILED  {test}: ")), "")


def broken(name, old, new, test):
    """(was it noticed?, what the test said, or why not)"""
    put = library if name.startswith(LIBUNIC) else module
    path = name if put is library else os.path.join(MODULES, name)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.count(old) != 1:
        return False, f"{name} has '{old.strip()}' {text.count(old)} times"
    with put(path, text.replace(old, new)) as compiles:
        if not compiles:
            return False, "does not compile"
        said = red(test)
        return bool(said), said or "not noticed"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("test", nargs="*", help="only the breaks for these")
    tests = p.parse_args().test
    chosen = [b for b in BREAKS if not tests or b[3] in tests]
    failed = 0
    for entry in chosen:
        noticed, why = broken(*entry)
        failed += not noticed
        print("ok     " if noticed else "FAILED ", f"{entry[3]}: {entry[0]}:",
              " ".join(entry[1].split())[:50], ":", why[:100], flush=True)
    build_module()
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
