#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A guest with two NICs under one module: /dev/unic is both, a process says which one it
wants, they have transfers with each other, and neither is touched by a reset or the death
of the other one. Both NICs are soft.

    vm_nics.py
"""
import os
import sys
import tempfile
import traceback

import pair
import stops
from hosts import run_nic
from vm_check import must

IP = ("10.0.0.5", "10.0.0.6")
ADDRESSES = ("0000:00:01.0", "0000:00:02.0")
MIB = 4


class Two(pair.Pair):
    """Both hosts of the pair are NICs of one guest."""

    def __init__(self, tmp):
        super().__init__("soft", tmp)

    def bus_options(self, host):
        first = run_nic.bus_info(self.path("bus0")) if host else None
        ram = ["--ram", f"/proc/{first['pid']}/fd/{first['slot_fds'][0]}"] \
            if host else []
        return ["--guest", str(pair.RAM), *ram]

    def boot_both(self):
        second = run_nic.bus_info(self.path("bus1"))
        self.boot(more=[
            "-chardev", f"socket,id=bus1,path={second['guest']}", "-device",
            "ivshmem-doorbell,chardev=bus1,id=unic1,"
            f"vectors={second['vectors']},addr=2"])
        self.guest.run(f"modprobe unic nic={','.join(ADDRESSES)} ip={IP[0]}")
        for node in ("unic", "unic0", "unic1"):
            self.guest.wait_for(f"test -c /dev/{node}")
        for n in (0, 1):
            self.wait_state(n, "ready")

    def state(self, n, what="state"):
        return self.guest.run(f"cat /sys/class/unic/unic{n}/{what}").strip()

    def wait_state(self, n, state):
        self.guest.wait_for(f"grep -q {state} /sys/class/unic/unic{n}/state")

    def process_of(self, n):
        """The NIC that is unic@n: which function was bound first is not said."""
        path = self.guest.run(f"readlink /sys/class/unic/unic{n}/device").strip()
        return self.nics[ADDRESSES.index(os.path.basename(path))]

    def task(self, *args):
        t = pair.guest.Task(self.guest, args)
        self.tasks.append(t)
        return t


def test_list(c):
    rows = pair.json.loads(c.guest.run("unicctl --json nics"))
    must([r["name"] for r in rows] == ["unic0", "unic1"], rows)
    must([r["ipv4"] for r in rows] == list(IP), rows)
    must([r["mine"] for r in rows] == [1, 0], rows)
    for n, where in enumerate(("/dev/unic,unic0", "/dev/unic,1")):
        said = c.guest.run(f"unicctl --json --socket {where} info")
        must(pair.json.loads(said)["ipv4"] == IP[n], said)
        said = c.guest.run(f"unicctl --json --socket /dev/unic{n} info")
        must(pair.json.loads(said)["ipv4"] == IP[n], said)
    said = c.guest.run("unicctl --json info")
    must(pair.json.loads(said)["ipv4"] == IP[0], "another one is the first")


def test_none_such(c):
    for where in ("/dev/unic,unic2", "/dev/unic,2", "/dev/unic0,unic2"):
        status, said = c.guest.ask(f"unicctl --socket {where} info 2>&1")
        must(status == 1 and "no such NIC" in said, (where, said))
    status, said = c.guest.ask("unicctl --socket /dev/unic0,unic1 info 2>&1")
    must(status == 1 and "in use" in said, said)


def test_transfer(c):
    """A file goes from each NIC to the other one."""
    c.guest.run(f"mkdir -p /run/served && head -c {MIB << 20} /dev/urandom "
                ">/run/src")
    for n in (0, 1):
        server = c.task("unic-copy", "serve", "--dir", "/run/served", "--socket",
                        f"/dev/unic,unic{1 - n}")
        server.expect("ready")
        c.guest.run(f"unic-copy put /run/src --name copy{n} --peer {IP[1 - n]} "
                    f"--mode rdma --socket /dev/unic,{n}", 120)
        c.guest.run(f"cmp /run/src /run/served/copy{n}")
        server.end()


def holders(t):
    both = [t.task("unic-hog", "--max", "64", "--socket", f"/dev/unic,unic{n}")
            for n in (0, 1)]
    for h in both:
        h.expect("holds 64 entries")
    return both


def test_reset(c):
    first, other = holders(c)
    epochs = [c.state(n, "epoch") for n in (0, 1)]
    c.guest.run("echo 1 >/sys/class/unic/unic1/reset")
    other.expect("reset|gone")
    c.wait_state(1, "ready")
    must(c.state(0, "epoch") == epochs[0], "unic0 was reset, too")
    must(c.state(1, "epoch") != epochs[1], "unic1 was not reset")
    must(first.poll() is None, f"a process of unic0 ended: {first.last()}")
    must("reset" not in first.last(), first.last())
    for h in (first, other):
        h.end()


def test_death(c):
    """The process of unic1's NIC is killed, and another one joins."""
    first, other = holders(c)
    nic = c.process_of(1)
    nic.child.kill()
    c.wait_state(1, "absent")
    must(c.state(0) == "ready" and first.poll() is None, "unic0 is touched")
    must("reset" not in first.last(), first.last())
    c.guest.run("unicctl --nic unic0 --json ps")
    for h in (first, other):
        h.end()
    host = c.nics.index(nic)
    c.nics[host] = c.plug_nic(host, show=False)
    c.wait_state(1, "ready")
    test_transfer(c)


def test_unbind(c):
    """unic1 is taken away and comes again; unic0 is the only one meanwhile."""
    first, other = holders(c)
    pci = os.path.basename(
        c.guest.run("readlink /sys/class/unic/unic1/device").strip())
    c.guest.run(f"echo {pci} >/sys/bus/pci/drivers/unic/unbind", 60)
    rows = pair.json.loads(c.guest.run("unicctl --json nics"))
    must([r["name"] for r in rows] == ["unic0"], rows)
    must(first.poll() is None, f"a process of unic0 ended: {first.last()}")
    for h in (first, other):
        h.end()
    c.guest.run(f"echo {pci} >/sys/bus/pci/drivers/unic/bind", 60)
    c.guest.wait_for("test -c /dev/unic1")
    c.wait_state(1, "ready")
    test_transfer(c)


TESTS = (test_list, test_none_such, test_transfer, test_reset, test_death,
         test_unbind)


def run(t):
    failed = 0
    for test in TESTS:
        try:
            stops.step(test, t, again=t.end_tasks)
            print(f"ok      {test.__name__[5:]}", flush=True)
        except Exception as e:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED  {test.__name__[5:]}: {e}", flush=True)
            if os.environ.get("VERBOSE"):
                traceback.print_exc()
            if t.guest.is_lost():
                break
        finally:
            if not t.guest.is_lost():
                t.end_tasks()
    return failed


def main():
    with tempfile.TemporaryDirectory(prefix="unic-vm-nics-") as tmp:
        t = Two(tmp)
        try:
            t.start_wire()
            for host in (0, 1):
                t.start_nic(host, show=False)
            t.boot_both()
            failed = run(t)
        finally:
            t.end()
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
