# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""experiments.py - what is run, with which options, and which rows it gives.

ALL maps the name of an experiment to a function of (quick, plant) that returns
its jobs. A quick set has the ends of each axis, and of each goal the point at which
it is hardest to meet. A new one is a function here, goals in goals.py and a section of
report.in.md.
"""
import json
import os
import subprocess

import counted
import fairness
import goals
import scale

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# What --plant breaks: each makes a run pretend to be another.
PLANTS = {
    "no-revocation": "the runs called unic have no revocation",
    "no-manager": "the runs with the buffer manager have none",
    "linear": "the cost of a lookup grows with the table",
    "no-table": "the runs of residency table are of residency demand",
    "no-kernel": "the runs with the kernel-resident service have none",
    "heavy": "the attackers of the fairness matrix have eight times the weight",
    "one-buffer": "one buffer is posted for messages, where it should be two",
    "no-list": "the runs with an indirect region have a region a piece",
    "no-pain": "the pain of a region counts nothing in any run",
}


class Job:
    """One call of unic-eval. key: columns that say what it was."""

    def __init__(self, table, key, argv, rows):
        self.table, self.key, self.argv = table, key, argv
        self.to_rows = rows

    def run(self, call):
        return call(self)

    def rows(self, result):
        return self.to_rows(self, result)


class ScaleJob(Job):
    def run(self, call):
        del call
        size = "-".join(str(self.key[k]) for k in ("entries", "procs", "mrs"))
        folder = os.path.join(ROOT, "build/scale", size)
        return scale.run(os.path.join(folder, "bin/unic-scale"), folder)


class CountedJob(Job):
    """One call of unic-eval under callgrind: the last row has instructions.
    folder: of a build with other tables."""

    def __init__(self, table, key, argv, rows, folder=""):
        super().__init__(table, key, argv, rows)
        self.program = os.path.join(ROOT, "build", folder, "bin/unic-eval")

    def run(self, call):
        del call
        out, insn = counted.run([self.program, *self.argv])
        return [dict(r, **insn) for r in parse(out)]


class FairJob(Job):
    """All cells of some attackers, each with its own call of unic-eval."""

    def run(self, call):
        def one(options):
            try:
                return only(call(Job("", {}, argv("fair", **options), None)),
                            "fair")[0]
            except (RuntimeError, IndexError) as err:
                return f"did not run: {err}"
        return fairness.run_all(fairness.cells(self.key["attackers"]), one, 2,
                                self.key["heavy"])


class PolicyJob(Job):
    """One call of policies.py, which runs unic-policysim for each cell."""

    def run(self, call):
        del call
        here = os.path.dirname(os.path.abspath(__file__))
        out = os.path.join(ROOT, "build", "eval", f"{self.table}.json")
        subprocess.run([os.path.join(here, "policies.py"), "--json", out,
                        *self.argv], check=True, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            return json.load(file)


def value(text):
    try:
        return int(text)
    except ValueError:
        return text


def parse(out):
    return [dict((k, value(v)) for k, v in
                 (word.split("=", 1) for word in line.split()))
            for line in out.splitlines() if line.startswith("kind=")]


def argv(name, flags=(), **options):
    out = [name]
    for key, what in options.items():
        out += [f"--{key}", str(what)]
    return out + [f"--{flag}" for flag in flags]


def only(result, kind):
    return [{k: v for k, v in r.items() if k != "kind"} for r in result
            if r["kind"] == kind]


# ------------------------------------------------------------------ hoarding

SEEDS = (1,)  # of each run of hoard; tables show the means of several


def hoard_rows(job, result):
    run = only(result, "run")[0]
    procs = only(result, "process")
    meek = [p["ops"] for p in procs[1:]]
    held = [p["held_milli"] / 1000 for p in procs[1:]]
    row = dict(job.key)
    row.update(
        jain_meek=f"{run['jain_meek_ppm'] / 1e6:.6f}",
        jain_all=f"{run['jain_all_ppm'] / 1e6:.6f}",
        used_pct=f"{run['used_milli'] / run['entries'] / 10:.3f}",
        greedy_held=f"{procs[0]['held_milli'] / 1000:.1f}",
        meek_held=f"{sum(held) / len(held):.1f}" if meek else "",
        meek_fair=procs[-1]["fair"] if meek else "",
        greedy_ops=procs[0]["ops"],
        meek_ops=f"{sum(meek) / len(meek):.1f}" if meek else "",
        meek_ops_min=min(meek) if meek else "",
        failed=sum(p["failed"] for p in procs))
    row.update({k: run[k] for k in (
        "refused", "reg_p50_us", "reg_p99_us", "reg_max_us", "waits",
        "wait_p50_us", "wait_p99_us", "wait_max_us", "entitled",
        "entitled_late", "bound_us", "notices", "deadlines")})
    tables = {job.table: [row]}
    if job.table == "hoard":
        tables["hoard_process"] = [dict(job.key, **p) for p in procs]
    return tables


def series_rows(job, result):
    out = []
    for r in only(result, "series"):
        held = [int(h) for h in str(r["held"]).split(";")]
        out.append(dict(job.key, at_ms=f"{r['us'] / 1000:.1f}", greedy=held[0],
                        **{f"meek{i}": h for i, h in enumerate(held[1:], 1)}))
    return {"series": out}


def how_of(how, plant):
    return "today" if how == "unic" and plant == "no-revocation" else how


def hoard_job(table, plant, how, meek, load, grace, ms, flags=(), seed=1,
              **more):
    key = dict(how=how, meek=meek, load_pct=load, T_us=grace, ms=ms, seed=seed,
               **more)
    return Job(table, key, argv("hoard", flags, how=how_of(how, plant),
                                meek=meek, load=load, grace=grace, ms=ms,
                                seed=seed, **more),
               series_rows if table == "series" else hoard_rows)


def hoard(quick, plant):
    """Shares, use and latency against the number of processes and the load."""
    meek = (15,) if quick else (1, 3, 7, 15)
    load = (25, 200) if quick else (25, 50, 100, 200, 400)
    return [hoard_job("hoard", plant, how, m, l, 5000,
                      3000 if how == "unic" else 900, seed=seed)
            for how in ("unic", "quota", "today") for m in meek for l in load
            for seed in SEEDS]


def alone(quick, plant):
    """One active process, with and without a reaper that keeps entries free."""
    del quick
    return [hoard_job("alone", plant, "unic", 0, 100, 5000, 300, chunk=1,
                      watermarks=w) for w in (0, 1)]


def tune(quick, plant):
    """What it is that costs processes at their share operations."""
    return [hoard_job("tune", plant, how, m, 200, 5000, 3000, watermarks=w)
            for m in ((3,) if quick else (3, 15)) for w in (1, 0)
            for how in ("gives", "unic")]


def series(quick, plant):
    """Shares over time, from the moment a meek process comes."""
    ms = 1500 if quick else 6000
    return [hoard_job("series", plant, how, 3, 100, 5000 if quick else 20000,
                      ms, ("series",)) for how in ("unic", "quota", "today")]


def wait(quick, plant):
    """REGISTER_WAIT against T, meek processes coming and going, until there are
    enough waits."""
    grace = (1000, 100000) if quick else (1000, 2000, 5000, 10000, 20000,
                                          50000, 100000)
    return [hoard_job("wait", plant, "unic", 7, 100, t,
                      1500 if quick else 6000, 
                      ("churn", f"waits={goals.WAITS}")) for t in grace]


# --------------------------------------------------------------------- grace

def grace_rows(job, result):
    trials = only(result, "trial")
    clear = [t for t in trials if not t["edge"]]
    wrong = [t for t in clear if bool(t["failed"]) != (t["beyond_us"] > 0)]
    slow = sorted(t["took_us"] - t["lone_us"] for t in trials)
    return {"grace": [dict(
        job.key, trials=len(trials),
        noticed=sum(t["noticed"] for t in trials),
        failed=sum(t["failed"] for t in trials),
        beyond=sum(t["beyond_us"] > 0 for t in trials),
        edge=len(trials) - len(clear), unlike_rule=len(wrong),
        retries=sum(t["retries"] for t in trials),
        refreshed=sum(t["refreshed"] for t in trials),
        later_p50_us=slow[len(slow) // 2],
        later_max_us=slow[-1])]}


def grace(quick, plant):
    """Failed transfers against T, each met by one eviction."""
    times = (0, 5000) if quick else (0, 1, 100, 1000, 2000, 5000, 10000, 20000,
                                     50000, 100000)
    jobs = []
    for side in ("local", "remote"):
        for manager in (0, 1):
            flags = ["remote"] if side == "remote" else []
            if manager and plant != "no-manager":
                flags.append("manager")
            jobs += [Job("grace", dict(side=side, manager=manager, T_us=t),
                         argv("grace", flags, grace=t,
                              rounds=25 if quick else 250, seed=7),
                         grace_rows) for t in times]
    return jobs


# ------------------------------------------------------------------- messages

def message_rows(job, result):
    return {"message": [dict(job.key, **only(result, "messages")[0])]}


def message(quick, plant):
    """Evictions of one of two posted buffers, with and without loss on the wire;
    of three, for comparison."""
    many = 20000 if quick else 1000000
    two = 1 if plant == "one-buffer" else 2
    return [Job("message", dict(loss_ppm=loss, seed=seed),
                argv("message", rounds=n, loss=loss, seed=seed, posted=posted),
                message_rows)
            for loss, seed, n, posted in (
                (0, 1, many // 10, two), (0, 1, many // 10, 3),
                (10000, 1, many // 2, two), (10000, 2, many - many // 2, two))]


# ---------------------------------------------------------------------- scale

MRS = 4096
SIZES = [(e, 8, MRS) for e in (64, 256, 1024, 4096, 16384, 65536)] + \
        [(1024, p, MRS) for p in (2, 4, 16, 32, 64, 128, 256, 512, 1024)]
# A place in the region table is as scarce as an entry.
SCARCE_SIZES = [(e, 8, e) for e in (64, 256, 2048)]
QUICK_SIZES = [(64, 8, MRS), (1024, 8, MRS), (65536, 8, MRS), (1024, 2, MRS),
               (1024, 1024, MRS), (64, 8, 64), (2048, 8, 2048)]


def scale_rows(job, result):
    if job.key["mrs"] == MRS:
        return {"scale": [dict(job.key, **r) for r in result]}
    return {"scale": [dict(job.key, operation="reap_scarce",
                           instructions=r["instructions"]) for r in result
                      if r["operation"] == "reap_waiters"]}


def sizes(quick, plant):
    """Instructions against the sizes of tables and the number of processes."""
    jobs = []
    for entries, procs, mrs in (QUICK_SIZES if quick
                                else SIZES + SCARCE_SIZES):
        def rows(job, result):
            if plant == "linear":
                for r in result:
                    if r["operation"] == "lookup":
                        r["instructions"] = str(job.key["entries"])
            return scale_rows(job, result)
        jobs.append(ScaleJob("scale", dict(entries=entries, procs=procs,
                                          mrs=mrs), [], rows))
    return jobs


# ---------------------------------------------------------------- replacement

def points(row):
    return {k: f"{v:.2f}" if isinstance(v, float) else
            "" if v is None else v for k, v in row.items()}


def replacement_rows(job, result):
    del job
    return {"replacement": [points(r) for r in result["regret"]],
            "hints": [points(r) for r in result["hints"]],
            "stream": [dict(points(r), shares=int(r["shares"]))
                       for r in result["hoarder"]]}


def replacement(quick, plant):
    """Policies against Belady's MIN, and what a stream leaves to others."""
    del plant, quick
    return [PolicyJob("replacement", {}, [], replacement_rows)]


def recorded_rows(job, result):
    del job
    return {"recorded": [points(r) for r in result["recorded"]]}


def recorded(quick, plant):
    """The same on traces of real runs."""
    del plant, quick
    return [PolicyJob("recorded", {}, ["--recorded"], recorded_rows)]


# ------------------------------------------------------------------ residency

RECORD, DROP, WORD = 64, 16, 8  # bytes of what crosses the BAR


def each(n, row, *names):
    return {name: f"{row[name] / n:.3f}" for name in names}


def residency_rows(job, result):
    r = only(result, "residency")[0]
    n = r["accesses"]
    records = 2 * r["commands"] + r["events"]
    moved = RECORD * records + DROP * r["drops"] + WORD * r["brought"]
    return {"residency": [dict(
        job.key, buffers=r["buffers"], accesses=n,
        brought=f"{r['brought'] / n / job.key['pages']:.4f}",
        messages=f"{(records + r['drops']) / n:.3f}",
        bytes=f"{moved / n:.1f}", **each(n, r, "misses", "requests"),
        nic_insn=f"{r['nic_insn'] / n:.0f}",
        driver_insn=f"{r['driver_insn'] / n:.0f}",
        us=f"{r['ns'] / n / 1000:.2f}")]}


def residency(quick, plant):
    """What an access costs, against the working set; 256 entries."""
    loads = (50, 90, 400) if quick else (10, 50, 90, 110, 150, 200, 400, 1000)
    jobs = []
    for pages in (1, 16):
        for how in ("resident", "gives", "demand", "table"):
            real = "demand" if (how, plant) == ("table", "no-table") else how
            jobs += [CountedJob(
                "residency", dict(mode=how, pages=pages, load_pct=load),
                argv("residency", how=real, load=load, chunk=pages, grace=5000,
                     rounds=25 if quick else 250, seed=1),
                residency_rows, "tlb/256") for load in loads]
    return jobs


# ---------------------------------------------------------------------- lists

LAYOUTS = ("8 x (512 + 8)", "64 x (512 + 8)", "64 rows of 256, 4,096 apart",
           "16 pieces of 4,000, across pages")
HARD_LAYOUT = 3  # where the list gains least


def list_rows(job, result):
    r = only(result, "list")[0]
    n = r["rounds"]
    return {"lists": [dict(
        job.key, pieces=r["pieces"], bytes=r["bytes"], held=r["held"],
        copied=r["copied"] // n, open_bytes=r["open_bytes"] // n,
        **each(n, r, "commands", "work", "frames"),
        nic_insn=f"{r['nic_insn'] / n:.0f}",
        driver_insn=f"{r['driver_insn'] / n:.0f}",
        us=f"{r['ns'] / n / 1000:.2f}")]}


def lists(quick, plant):
    """One message into a list of pieces: indirect, and what else there is."""
    jobs = []
    for at, layout in enumerate(LAYOUTS):
        if quick and at != HARD_LAYOUT:
            continue
        for how in ("posted", "indirect", "mrs", "split", "bounce"):
            real = "mrs" if (how, plant) == ("posted", "no-list") else how
            jobs.append(CountedJob(
                "lists", dict(layout=layout, how=how),
                argv("lists", how=real, load=at, rounds=2 if quick else 20),
                list_rows))
    return jobs


# ------------------------------------------------------------------------ kio

KIO_MS = 150  # of which the last 30 are measured


def kio_rows(job, result):
    r = only(result, "kio")[0]
    n = r["ops"]
    if not n:  # none done, or refused what it needs beside its buffers
        return {"kio": [dict(job.key, users=r["users"], refused=r["refused"],
                             ops=0, failed=r["failed"])]}
    return {"kio": [dict(
        job.key, users=r["users"], refused=r["refused"], ops=r["ops"],
        failed=r["failed"],
        ops_s=f"{n / 0.03:.0f}",
        jain=f"{r['jain_ppm'] / 1e6:.6f}", p50_us=r["p50_us"],
        p99_us=r["p99_us"], max_us=r["max_us"],
        held=f"{r['held_milli'] / 1000:.1f}",
        hogs_held=f"{r['hog_held_milli'] / 1000:.1f}",
        by_rdma=r["by_rdma"], by_token=r["by_token"],
        **each(n, r, "commands", "crossings"),
        wire_bytes=f"{r['bytes'] / n:.0f}",
        nic_insn=f"{r['nic_insn'] / n:.0f}",
        driver_insn=f"{r['driver_insn'] / n:.0f}",
        kio_insn=f"{r['kio_insn'] / n:.0f}")]}


def kio(quick, plant):
    """The kernel-resident service against user processes with upcalls."""
    jobs = []
    cells = ((256, 1), (64, 15)) if quick else \
        [(256, 0)] + [(e, h) for e in (64, 256, 1024) for h in (1, 7, 15)]
    for entries, hogs in cells:
        for how in ("kio", "kio-rdma", "user") + ("user-64K",) * (not quick):
            real = "user" if plant == "no-kernel" else how
            ms = KIO_MS // 4 if quick else KIO_MS
            jobs.append(CountedJob(
                "kio", dict(how=how, entries=entries, hogs=hogs, ms=ms),
                argv("kio", how=real, meek=hogs, ms=ms, grace=5000),
                kio_rows, f"tlb/{entries}"))
    return jobs


# ------------------------------------------------------------------- fairness

def fair_rows(job, result):
    del job
    return {"fair": [row for row in result.values()
                     if not isinstance(row, str)]}


def fair(quick, plant):
    """What a process gets of its NIC beside others, whatever they do."""
    attackers = fairness.QUICK if quick else tuple(fairness.ATTACKERS)
    return [FairJob("fair", dict(attackers=attackers, heavy=plant == "heavy"),
                    [], fair_rows)]


# ----------------------------------------------------------------------- pain

PAIN_MS = {"choice": 60, "reaper": 200}
PAIN_SEEDS = 10


def pain_rows(job, result):
    return {"pain": [dict(job.key, **only(result, "pain")[0])]}


def pain(quick, plant):
    """What applications lose by regions that go, with pain and without."""
    return [Job("pain", dict(how=how, weight_pct=weight, seed=seed),
                argv("pain", how=how, weight=0 if plant == "no-pain" else weight,
                     seed=seed, ms=PAIN_MS[how], load=120, grace=5000), pain_rows)
            for how in PAIN_MS for weight in (100, 0)
            for seed in range(1, (3 if quick else PAIN_SEEDS) + 1)]


ALL = {"hoard": hoard, "alone": alone, "tune": tune, "series": series, "wait": wait,
       "grace": grace, "message": message, "scale": sizes,
       "residency": residency, "lists": lists, "kio": kio, "fair": fair,
       "replacement": replacement, "recorded": recorded, "pain": pain}
