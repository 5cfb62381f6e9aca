#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Does each rule of syntax.py and tokens.py make its slips of a small text, and no other;
are drawing, judging and counting what mutants.py says?"""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "runner"))

import functions  # noqa: E402
import graph      # noqa: E402
import killers    # noqa: E402
import mutant     # noqa: E402
import mutants    # noqa: E402
import report     # noqa: E402
import syntax     # noqa: E402
import tokens     # noqa: E402

DECLARED = """\
typedef unsigned int uint;
struct pair { uint head, tail; uint *free; char name[4]; };
int f(int, int, char *), g(void);
void h(uint first, struct pair *p), nothing(void);
void *memcpy(void *, const void *, unsigned long);
#define CHECK(x) do { if (!(x)) nothing(); } while (0)
#define LIMIT 7
"""


def slips(text, kind):
    """What becomes of the lines of @text behind the declarations, by the rule @kind."""
    whole = DECLARED + text
    out = []
    for m in syntax.slips("t.c", whole, ["-x", "c", "-w"]):
        after = mutant.applied(m, whole)
        assert after.count("\n") == whole.count("\n"), m
        assert after.startswith(DECLARED), m
        if m.kind == kind:
            out.append(mutant.shown(m, whole)[1])
    return out


def inside(text, kind, arguments="int a, int b, int c"):
    """Of a body of a function on one line."""
    begin, end = f"int t({arguments}) {{ ", " }"
    out = slips(begin + text + end + "\n", kind)
    return sorted(o.removeprefix(begin).removesuffix(end.strip()).strip() for o in out)


def test_one_conjunct_is_dropped():
    assert inside("return a && b;", "conjunct") == ["return a;", "return b;"]
    assert inside("return a && b && c;", "conjunct") == [
        "return a && b;", "return a && c;", "return b && c;"]
    assert inside("return a || (b && c);", "conjunct") == [
        "return (b && c);", "return a || (b);", "return a || (c);", "return a;"]
    assert inside("return a & b;", "conjunct") == []


def test_guard_is_negated():
    assert inside("if (a) return 1; else if (b > 1) return 2; return 3;", "guard") == [
        "if (!(a)) return 1; else if (b > 1) return 2; return 3;",
        "if (a) return 1; else if (!(b > 1)) return 2; return 3;"]
    assert inside("while (a) a = g();", "guard") == []


def test_call_without_result_is_skipped():
    assert inside("nothing(); if (a) g(); (void)g(); return g();", "call") == [
        "(void)0; if (a) g(); (void)g(); return g();",
        "nothing(); if (a) (void)0; (void)g(); return g();",
        "nothing(); if (a) g(); (void)0; return g();"]
    assert inside("b = g(); return b;", "call") == []
    assert inside("switch (a) { case 1: nothing(); }", "call") == ["switch (a) { case 1: (void)0; }"]


def test_arguments_of_one_type_change_places():
    assert inside("return f(a, b + 1, 0);", "arguments") == ["return f(b + 1, a, 0);"]
    assert inside("return f(a, a, 0);", "arguments") == []
    assert inside("return f(a, f(b, c, 0), 0);", "arguments") == [
        "return f(a, f(c, b, 0), 0);", "return f(f(b, c, 0), a, 0);"]


def test_bound_is_moved():
    assert inside("return a < b;", "bound") == ["return a <= b;"]
    assert inside("return a <= b || a > LIMIT || b >= c;", "bound") == [
        "return a < b || a > LIMIT || b >= c;", "return a <= b || a > LIMIT || b > c;",
        "return a <= b || a >= LIMIT || b >= c;"]
    assert inside("return a << b;", "bound") == []


def test_decrement_is_forgotten():
    assert inside("a--; --b; c -= 2; a += 1;", "decrement") == [
        "(void)0; --b; c -= 2; a += 1;", "a--; (void)0; c -= 2; a += 1;",
        "a--; --b; (void)0; a += 1;"]
    assert inside("if (!--a) return 1;", "decrement") == ["if (!a) return 1;"]
    assert inside("return f(a--, 1, 0);", "decrement") == ["return f(a, 1, 0);"]


def test_step_of_a_loop_is_left():
    assert inside("while (a--) nothing();", "decrement") == []
    assert inside("for (; a; a--) nothing();", "decrement") == []
    assert inside("while (a) a--;", "decrement") == ["while (a) (void)0;"]


def test_stale_one_of_two_variables():
    told = "int len, int old_len, char *lens, int size"
    assert inside("return len + size;", "stale", told) == ["return old_len + size;"]
    assert inside("int len2 = len; return len2;", "stale", "int len, char len0") == [
        "int len2 = len; return len;"]
    assert inside("{ int later; } return late;", "stale", "int late") == []
    assert inside("len = 1; old_len++; return size;", "stale", told) == []
    assert inside("return head;", "stale", "int head, int tail") == ["return tail;"]


def test_stale_one_of_two_fields():
    told = "struct pair *p, struct pair q"
    assert inside("return p->head + q.tail;", "stale", told) == [
        "return p->head + q.head;", "return p->tail + q.tail;"]
    assert inside("p->head = 1; return *p->free;", "stale", told) == []


def test_field_of_a_copy_is_skipped():
    told = "struct pair *p, struct pair *q"
    assert inside("p->head = q->head; p->tail = q->head;", "field", told) == [
        "(void)0; p->tail = q->head;"]
    made = inside("struct pair s = { .head = q->head, .tail = q->tail };", "field", told)
    assert made == ["struct pair s = { .head = q->head, };", "struct pair s = { .tail = q->tail };"]
    for copy in ("*p = *q", "memcpy(p, q, sizeof(*p))"):
        made = inside(copy + ";", "field", told)
        assert len(made) == 4 and all(copy + "; __builtin_memcpy" in m for m in made), made
        assert sum("kept_.name" in m for m in made) == 1
    assert inside("p->free = 0;", "field", told) == []


def test_copy_but_for_a_field_is_made():
    """What the rule writes does what it says."""
    with tempfile.TemporaryDirectory() as folder:
        text = DECLARED + "int t(struct pair *p, const struct pair *q)\n{\n\t*p = *q;\n\treturn 0;\n}\n"
        m = next(m for m in syntax.slips("t.c", text, ["-x", "c", "-w"]) if "kept_.tail" in m.new)
        path = os.path.join(folder, "t.c")
        with open(path, "w", encoding="ascii") as f:
            f.write(mutant.applied(m, text) + "int main(void) { struct pair p = { 1, 2 }, "
                    "q = { 3, 4 }; t(&p, &q); return p.head != 3 || p.tail != 2; }\n")
        assert os.system(f"gcc -w {path} -o {path}.run && {path}.run") == 0


def test_macro_is_left_alone():
    for kind in ("conjunct", "guard", "call", "bound", "stale"):
        assert inside("CHECK(a && a < b && f(a, b, 0)); return 0;", kind) == [], kind


def test_what_cannot_be_read_is_told():
    try:
        syntax.slips("t.c", "missing_t x;\n", ["-x", "c", "-w"])
    except ValueError as e:
        assert "t.c" in str(e)
    else:
        assert False


def test_letters_of_many_bytes_move_nothing():
    assert slips("/* \u00e9\u00e9\u00e9 */\nint t(int a, int b)\n{\n\treturn a < b;\n}\n", "bound") == [
        "return a <= b;"]


def test_slip_keeps_its_lines():
    assert len(slips("int t(int a, int b)\n{\n\treturn a &&\n\t       b;\n}\n", "conjunct")) == 2


def test_tokens_change_one():
    text = "int t(int a)\n{\n\treturn a == 2;\n}\n"
    said = {mutant.shown(m, text)[1] for m in tokens.mutants_of("t.c", text)}
    assert said == {"return a != 2;", "return a == 3;", "return a == 1;"}


def test_folders_have_their_shares():
    assert mutants.shares({"a": 600, "b": 300, "c": 100}, 10) == {"a": 6, "b": 3, "c": 1}
    assert sum(mutants.shares({"a": 333, "b": 333, "c": 334}, 500).values()) == 500


def test_version_draws():
    slip = [(mutant.Mutant("d/f.c", n, 1, "", "guard", n), f"{n:016x}") for n in range(50)]
    drawn = [[k for _, k in mutants.draw({"d/f.c": list(slip)}, seed)["d"]] for seed in
             ("one", "one", "two")]
    assert drawn[0] == drawn[1] != drawn[2] and sorted(drawn[0]) == sorted(drawn[2])


def test_what_is_no_slip_is_drawn_again():
    lots = {"d": [(n, str(n)) for n in range(5)]}
    sample = mutants.Sample(lots, {"d": 2}, {"0": {"verdict": killers.SAME}})
    assert [sample.next(), sample.next(), sample.next()] == [(1, "1"), (2, "2"), None]
    sample.end("1", {"verdict": killers.NO_COMPILE})
    assert sample.next() == (3, "3")
    sample.end("2", {"verdict": killers.KILLED})
    sample.end("3", {"verdict": killers.SURVIVED})
    assert sample.next() is None


def rows(**verdicts):
    return [{"file": "firmware/nic.c", "kind": "guard", "verdict": v, "by": "test_nic"}
            for v, n in verdicts.items() for _ in range(n)]


def test_only_kills_and_survivors_count():
    some = rows(killed=17, survived=1)
    for verdict in (killers.TIMEOUT, killers.UNREACHED):
        some += [{**some[0], "verdict": verdict}]
    none = [{**some[0], "verdict": v} for v in (*killers.NO_SLIP, killers.GOLD)]
    assert report.rate(some) == report.rate(some + none) == 17 / 20
    assert "| 21 | 17 | 0 | 1 | 1 | 1 | 1 | 85 % |" in report.table(some + none)[-1]


def test_commands_of_make_are_a_graph():
    g = graph.Graph("gcc -c a.c -o b/a.o\ngcc -c m.c -o b/m.o\nrm -f b/r.a && ar rcs b/r.a b/a.o\n"
                    "gcc b/m.o b/r.a -lx -o b/p\nld -r b/a.o -o b/s.o && objcopy -G x b/s.o\n")
    assert sorted(g.above({"b/a.o"})) == ["b/a.o", "b/p", "b/r.a", "b/s.o"]
    assert g.below("b/p", g.above({"b/a.o"})) == ["b/a.o", "b/r.a", "b/p"]
    assert sorted(g.objects()) == ["b/a.o", "b/m.o"]


def test_error_kills_and_too_slow_does_not():
    def run(command):
        return killers.run_test("/", killers.Program("bin/sh", "sh", ("-c", command)), 1)

    assert run("exit 0") is None
    assert run("exit 1") == run("kill -SEGV $$") == killers.KILLED
    assert run("while :; do :; done") == killers.TIMEOUT


if __name__ == "__main__":
    sys.exit(functions.run_all(globals()))
