"""The counterexample search finds planted violations of the kinds that proofs in this field get wrong."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpverify.harness import BUDGETS, Context, Point, SearchCheck
from dpverify.ledger import Specs
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.statements import Statement
from tests.for_each import for_each

DOMAINS = {
    "N": "integer, N >= 1",
    "T": "integer, T >= 1",
    "t": "integer, 1 <= t <= T",
    "alpha": "real, 0 < alpha <= 1",
}


@dataclass(frozen=True)
class Trap:
    """A statement ``lhs <= rhs`` that is false only at the points that its name describes."""

    name: str
    symbols: tuple[str, ...]
    lhs: str
    rhs: str
    smallest: dict[str, Fraction]
    requires: tuple[str, ...] = ()


def at(**values: str) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in values.items()}


TRAPS = [
    Trap("at T = 1", ("T",), "1", "T*log2(T) + 1/2", at(T="1")),
    Trap(
        "below a power of two",
        ("T",),
        "floor(log2(T + 1))",
        "floor(log2(T)) + 1/2",
        at(T="1"),
    ),
    Trap("only beyond 1023", ("T",), "T", "1023", at(T="1024")),
    Trap("only beyond 2**19", ("T",), "T", "2**19", at(T="524289")),
    Trap("T no multiple of N", ("N", "T"), "ceil(T/N)", "T/N", at(N="2", T="1")),
    Trap(
        "T no multiple of N, T > N",
        ("N", "T"),
        "ceil(T/N)",
        "T/N",
        at(N="2", T="3"),
        ("T > N",),
    ),
    Trap(
        "alpha at 1/N",
        ("N", "alpha"),
        "1/(alpha*N)",
        "99/100",
        at(N="1", alpha="1"),
        ("alpha >= 1/N",),
    ),
    Trap(
        "alpha at 1/N for large N",
        ("N", "alpha"),
        "1/(alpha*N)",
        "99/100",
        at(N="100", alpha="1/100"),
        ("alpha >= 1/N", "N >= 100"),
    ),
    Trap("small alpha", ("alpha",), "1", "10**6*alpha", at(alpha="1/1000001")),
    Trap("alpha near 1", ("alpha",), "alpha", "1 - 10**(-6)", at(alpha="1")),
    Trap("the last step", ("T", "t"), "t", "T - 1", at(T="1", t="1")),
    Trap(
        "the last step of long runs",
        ("T", "t"),
        "t",
        "max(T - 1, 900)",
        at(T="901", t="901"),
    ),
    Trap(
        "one prime", ("T",), "1 + mod(T, 97)", "97*min(1, mod(T, 97)) + 1/2", at(T="97")
    ),
    Trap(
        "a ridge",
        ("N", "alpha"),
        "1/(1 + 10**4*(alpha*N - 1)**2)",
        "9/10",
        at(N="1", alpha="1"),
    ),
]


def statement(demo: Specs, trap: Trap) -> Statement:
    from dataclasses import replace

    from dpverify.ledger.vocabulary import parse_domain

    return replace(
        demo.claim("demo:root").statement(),
        lhs=parse(trap.lhs),
        relation="<=",
        rhs=parse(trap.rhs),
        requires=tuple(parse_relation(text) for text in trap.requires),
        domains={name: parse_domain(DOMAINS[name]) for name in trap.symbols},
    )


@for_each("trap", TRAPS, ids=lambda trap: trap.name)
@for_each("seed", [0, 1])
def test_a_smoke_search_finds_the_trap_and_shrinks_it(
    demo: Specs, trap: Trap, seed: int
) -> None:
    context = Context(statement(demo, trap), BUDGETS["smoke"], seed, "search")
    check = SearchCheck("root", "search")
    result = check.finish(context, [check.run_block(context, 0)])
    assert result.status == "refuted", result.message
    (smallest,) = [c for c in result.counterexamples if c.kind == "smallest"]
    assert {
        name: Fraction(n.exact or "") for name, n in smallest.parameters.items()
    } == trap.smallest


@for_each("seed", [0, 1])
def test_the_sharpest_point_of_a_true_bound_is_found_within_a_percent(
    demo: Specs, seed: int
) -> None:
    """As in Proposition 13, the bound is tight only along alpha N = 1, in the limit of large N."""
    trap = Trap(
        "",
        ("N", "alpha"),
        "1/(1 - (1 - alpha)**N)",
        "1/(1 - exp(-1))*max(1, 1/(alpha*N))",
        {},
    )

    def left(point: Point, _: Statement) -> Fraction:
        return 1 / (1 - (1 - point["alpha"]) ** int(point["N"]))

    check = SearchCheck("root", "search", lhs=left, region={"N": (1, 4096)})
    context = Context(statement(demo, trap), BUDGETS["smoke"], seed, "search")
    result = check.finish(context, [check.run_block(context, 0)])
    assert result.status == "not refuted"
    assert result.slack is not None
    assert 1.0 < float(result.slack.min.float) < 1.01
