# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What a NIC holds, in gdb: `source tools/debug/unic_gdb.py`, or `make debug`.

    unic                 state, epoch, and how much of each table is used
    unic tlb             entries that hold a translation
    unic regions         regions that are not free
    unic tokens          tokens that have not ended
    unic qps             queue pairs
    unic cqs             completion queues

Any of these structs is printed as such a line, too: `print $nic().mrs.mr[3]`,
`print *qp` in a function that has one.
"""
import gdb
import gdb.printing

# struct unic_nic is half a megabyte
gdb.execute("set max-value-size unlimited")


def number(value):
    return int(value)


def names(enum, prefix):
    """{value: name without @prefix} of an enum, or of none if it is not known."""
    try:
        fields = gdb.lookup_type("enum " + enum).fields()
    except gdb.error:
        return {}
    return {f.enumval: f.name[len(prefix):] for f in fields
            if f.name.startswith(prefix)}


def name(enum, prefix, value):
    return names(enum, prefix).get(number(value), str(number(value)))


def rights(value):
    """Names of the bits of enum unic_mr_rights; in hexadecimal if they are not known."""
    of_bit = names("unic_mr_rights", "UNIC_MR_")
    held = [n for bit, n in of_bit.items() if number(value) & bit]
    return "rights " + ("|".join(held) or f"{number(value):#x}")


class Region:
    """struct unic_mr_ctx."""

    def __init__(self, value):
        self.v = value

    def to_string(self):
        v = self.v
        state = name("unic_mr_state", "UNIC_MR_", v["state"])
        if state == "FREE":
            return "region FREE"
        start, length = number(v["iova"]), number(v["length"])
        return (f"region {state} stag {number(v['stag']):#010x} "
                f"process {number(v['proc'])} pd {number(v['pd'])} "
                f"iova {start:#x}+{length:#x} {rights(v['rights'])} "
                f"entries {number(v['filled'])}/{number(v['n_pages'])} "
                f"holds {number(v['holds'])} dmas {number(v['dmas'])} "
                f"tokens {number(v['n_tokens'])}")


class Token:
    """struct unic_token: its lock is the PD below, the state above 16 bits."""

    def __init__(self, value):
        self.v = value

    def to_string(self):
        v = self.v
        lock = number(v["lock"])
        state = name("unic_token_state", "UNIC_TOKEN_S_", lock >> 16)
        if state == "FREE":
            return "token FREE"
        sender = number(v["sender"])
        return (f"token {state} process {number(v['proc'])} "
                f"region {number(v['mr'])} pd {lock & 0xffff} "
                f"iova {number(v['iova']):#x}+{number(v['length']):#x} "
                f"placed {number(v['placed'])} "
                f"sender {sender >> 32:#x}/{sender & 0xffffffff:#x}")


class Entry:
    """struct unic_tlb_entry."""

    def __init__(self, value):
        self.v = value

    def to_string(self):
        tag = number(self.v["tag"])
        if tag == 0xffffffff:
            return "entry FREE"
        return (f"entry region {tag >> 20} tag {tag:#010x} "
                f"bus {number(self.v['bus']):#x}")


class Queue:
    """struct unic_qp_ctx."""

    def __init__(self, value):
        self.v = value

    def to_string(self):
        v = self.v
        if not v["used"]:
            return "qp FREE"
        peer = ".".join(str(number(v["dest_ipv4"]) >> s & 255)
                        for s in (24, 16, 8, 0))
        # the upper bits say the type
        state = name("unic_qp_state", "UNIC_QPS_", number(v["state"]) & 7)
        return (f"qp {number(v['qpn']):#x} {state} "
                f"process {number(v['proc'])} pd {number(v['pd'])} "
                f"to {peer}/{number(v['dest_qpn']):#x} "
                f"cq {number(v['send_cq'])}/{number(v['recv_cq'])} "
                f"dmas {number(v['dmas'])} cqes {number(v['cqes'])}")


class Completions:
    """struct unic_cq_ctx."""

    def __init__(self, value):
        self.v = value

    def to_string(self):
        v = self.v
        if not v["used"]:
            return "cq FREE"
        errors = {0: "none", 1: "OVERFLOW", 2: "BUS"}  # UNIC_CQ_*
        error = errors.get(number(v["error"]), str(number(v["error"])))
        return (f"cq process {number(v['proc'])} pd {number(v['pd'])} region {number(v['mr'])} "
                f"entries {number(v['mask']) + 1} written {number(v['tail'])} read {number(v['ci'])} "
                f"{'armed' if v['armed'] else 'not armed'} users {number(v['users'])} error {error}")


# What link-time optimisation calls it: of the symbol it forgets where it is.
LTO = ("nic.lto_priv", "nic.lto_priv.0")


def the_nic():
    """The only object of the program; not a `nic` of the function we are in."""
    for symbol in gdb.lookup_static_symbols("nic"):
        value = symbol.value()
        if value.type.tag == "unic_nic" and not value.is_optimized_out:
            return value
    for known in LTO:
        try:
            return gdb.parse_and_eval(f"*(struct unic_nic *)&'{known}'")
        except gdb.error:
            pass
    raise gdb.GdbError("unic: this image has no struct unic_nic")


def nic():
    """struct unic_nic of the program. Raises gdb.GdbError before its start."""
    value = the_nic()
    if not number(value["port"]):
        raise gdb.GdbError("unic: the NIC has not started (unic_nic_init)")
    return value


class Nic(gdb.Function):
    """$nic() - struct unic_nic, whatever the image calls it."""

    def __init__(self):
        super().__init__("nic")

    def invoke(self):
        return nic()


def each(table):
    """(index, element) of an array."""
    first, last = table.type.range()
    return ((i, table[i]) for i in range(first, last + 1))


def entries(value):
    """Those of the TLB with a translation; the last one ends chains."""
    found = [(i, e) for i, e in each(value["tlb"]["entry"])][:-1]
    return [(i, e) for i, e in found if number(e["tag"]) != 0xffffffff]


def tables(value):
    """{name: [(index, element in use)]}."""
    return {
        "tlb": entries(value),
        "regions": [(i, m) for i, m in each(value["mrs"]["mr"])
                    if number(m["state"])],
        "tokens": [(i, t) for i, t in each(value["tokens"]["token"])
                   if Token(t).to_string() != "token FREE"],
        "qps": [(i, q) for i, q in each(value["qps"]["qp"]) if q["used"]],
        "cqs": [(i, c) for i, c in each(value["cqs"]["cq"]) if c["used"]],
    }


PRINT = {"tlb": Entry, "regions": Region, "tokens": Token, "qps": Queue, "cqs": Completions}


class Unic(gdb.Command):
    """unic [tlb|regions|tokens|qps|cqs] - what this NIC holds."""

    def __init__(self):
        super().__init__("unic", gdb.COMMAND_DATA)

    def complete(self, text, word):
        return [n for n in PRINT if n.startswith(word)]

    def invoke(self, arg, from_tty):
        arg = arg.strip()
        if arg and arg not in PRINT:
            raise gdb.GdbError(self.__doc__)
        value = nic()
        used = tables(value)
        if arg:
            for i, element in used[arg]:
                print(f"{i:5} {PRINT[arg](element).to_string()}")
            print(f"{arg}: {len(used[arg])} in use")
            return
        tlb = value["tlb"]
        print(f"nic {name('unic_nic_state', 'UNIC_NIC_', value['state'])} "
              f"epoch {number(value['epoch'])} "
              f"time {number(value['now_ns'])} ns, entries "
              f"{number(tlb['free'])} free {number(tlb['reserved'])} reserved")
        for table, rows in used.items():
            print(f"{table}: {len(rows)} in use")


def printers():
    found = gdb.printing.RegexpCollectionPrettyPrinter("unic")
    for struct, printer in (("unic_mr_ctx", Region), ("unic_token", Token),
                            ("unic_tlb_entry", Entry), ("unic_qp_ctx", Queue), ("unic_cq_ctx", Completions)):
        found.add_printer(struct, f"^{struct}$", printer)
    return found


gdb.printing.register_pretty_printer(None, printers(), replace=True)
Unic()
Nic()
