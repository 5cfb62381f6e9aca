# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""docs/evidence/mutants.md, of the results that mutants.py recorded."""
import collections
import json
import os

import killers

ROOT = killers.ROOT
EVIDENCE = os.path.join(ROOT, "docs", "evidence")
PAGE = os.path.join(EVIDENCE, "mutants.md")
VERDICTS = os.path.join(ROOT, "tests", "mutation", "mutants.verdicts")
FAMILIES = {"syntax": "Slips of a programmer, by rule over the syntax tree",
            "tokens": "One token of the core is another"}
COMMANDS = {"syntax": "make mutants SAMPLE={sample}", "tokens": "make mutants OF=tokens "
            "SAMPLE={sample}"}
COLUMNS = ("unit tests", "simulator", "not noticed", "too slow", "not run", "texts, counts alone")


def column(row):
    if row["verdict"] == killers.KILLED:
        return COLUMNS[row["by"] == os.path.basename(killers.SIM)]
    return {killers.SURVIVED: COLUMNS[2], killers.TIMEOUT: COLUMNS[3],
            killers.UNREACHED: COLUMNS[4], killers.GOLD: COLUMNS[5]}[row["verdict"]]


def that_count(rows):
    return [r for r in rows if r["verdict"] not in killers.NO_SLIP]


def rate(rows):
    """Killed, of those that are killed or survive."""
    killed = sum(r["verdict"] == killers.KILLED for r in rows)
    return killed / (killed + sum(r["verdict"] in killers.SURVIVORS for r in rows) or 1)


def by(rows, what):
    out = collections.defaultdict(list)
    for r in that_count(rows):
        out[what(r)].append(r)
    return sorted(out.items())


def line(name, rows):
    seen = collections.Counter(column(r) for r in rows)
    return f"| {name} | {len(rows)} | " + " | ".join(str(seen[c]) for c in COLUMNS) + \
        f" | {100 * rate(rows):.0f} % |"


def table(rows):
    out = ["| folder | slips | " + " | ".join(COLUMNS) + " | killed |",
           "| --- " * (len(COLUMNS) + 3) + "|"]
    out += [line(f"`{name}`", some) for name, some in
            by(rows, lambda r: os.path.dirname(r["file"]))]
    out += [line(name, some) for name, some in by(rows, lambda r: r["kind"])]
    return [*out, line("**all**", that_count(rows))]


def said():
    """{key: words} of lines "KEY words"."""
    with open(VERDICTS, encoding="utf-8") as f:
        rows = [text.split(None, 1) for text in f if text.strip() and not text.startswith("#")]
    return {k: words.strip() for k, words in rows}


def survivors(slips):
    known = said()
    for k, r in sorted(slips.items(), key=lambda kr: (kr[1]["file"], kr[1]["line"])):
        if r["verdict"] in (*killers.SURVIVORS, killers.GOLD):
            ran = f"{len(r['ran'])} programs ran it" if r["ran"] else "no program runs it"
            if r["verdict"] == killers.GOLD:
                ran = f"only {r['by']} noticed"
            yield from (f"* `{r['file']}:{r['line']}` {r['kind']}: {r['verdict']}, {ran} (`{k}`): "
                        f"{known.get(k, 'not examined')}", "",
                        f"      - {r['was']}", f"      + {r['now']}", "")


def family(of):
    path = os.path.join(EVIDENCE, f"mutants-{of}.json")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as f:
        found = json.load(f)
    rows = list(found["slips"].values())
    none = collections.Counter(r["verdict"] for r in rows)
    yield from (
        f"## {FAMILIES[of]}", "",
        f"`{COMMANDS[of].format(**found)}`, version {found['version']}: {len(that_count(rows))} of "
        f"{found['sample']} judged, drawn from {found['of']} that can be made; "
        f"**{100 * rate(rows):.1f} %** killed. {none[killers.NO_COMPILE]} that were drawn do not "
        f"compile, {none[killers.SAME]} compile to the same code; others were drawn instead.", "",
        *table(rows), "", "### Survivors", "", *survivors(found["slips"]))


def sentence():
    """What was found of the slips of a programmer, or None."""
    path = os.path.join(EVIDENCE, "mutants-syntax.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        found = json.load(f)
    rows = list(found["slips"].values())
    return (f"{100 * rate(rows):.1f} % of {len(that_count(rows))} are noticed, of version "
            f"{found['version']}")


HEAD = f"""# Mutants

`make mutants` writes this page from the results of a machine's slips, `mutants-syntax.json` and
`mutants-tokens.json`, in which it says for each what ran. What a slip is: `tests/mutation/syntax.py`,
`tokens.py`; how it is judged: `killers.py`. Unit tests come first, {killers.SEEDS:,} seeds of the
simulator see what they leave. "Not noticed": all that run the function pass; "too slow": one takes too
long, the others pass; "not run": no unit test and no seed runs the function. The three are survivors.
"Texts, counts alone": only a test that compares what is written down noticed, which does not count
either way. No kill is entered by hand, and a survivor that no test could notice is one all the same.
"""


def write():
    body = [text for of in FAMILIES for text in family(of)]
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write("\n".join([HEAD, *body]).rstrip() + "\n")
    return 0
