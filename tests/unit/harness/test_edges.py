from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpverify.harness import BUDGETS, Context, ExhaustiveCheck, SearchCheck
from dpverify.harness.exact_results import edge_at, with_edge
from dpverify.harness.run.judge import judge
from dpverify.ledger import Specs, load_specs
from dpverify.ledger.check_results import CheckResult, Counterexample, Number
from dpverify.ledger.errors import SpecError
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.records import Severity
from dpverify.ledger.statements import Statement
from tests.for_each import for_each

EDGES = (parse_relation("n <= 1"), parse_relation("n < s"))


def test_a_point_lies_at_the_first_edge_that_holds_and_whose_letters_it_has() -> None:
    assert edge_at(EDGES, {"n": Fraction(1), "s": Fraction(3)}) == "n <= 1"
    assert edge_at(EDGES, {"n": Fraction(2), "s": Fraction(3)}) == "n < s"
    assert edge_at(EDGES, {"n": Fraction(3), "s": Fraction(3)}) == ""
    assert edge_at(EDGES, {"n": Fraction(2)}) == ""
    assert edge_at(EDGES, {"s": Fraction(2)}) is None
    assert edge_at((), {"n": Fraction(1)}) is None


def test_a_point_does_not_lie_at_an_edge_that_no_number_of_bits_decides() -> None:
    assert edge_at((parse_relation("sqrt(n)**2 <= n"),), {"n": Fraction(2)}) == ""


def test_a_counterexample_lies_at_an_edge_by_its_exact_numbers() -> None:
    # the float is below a third
    third, one = Number(exact="1/3", float=1 / 3), Number(float=1.0)
    example = Counterexample(
        kind="smallest",
        parameters={"x": third, "y": Number(float=2.5)},
        lhs=one,
        rhs=one,
    )
    assert with_edge(example, (parse_relation("3*x >= 1"),)).edge == "3*x >= 1"
    assert with_edge(example, (parse_relation("2*y >= 5"),)).edge == "2*y >= 5"


@for_each(
    ("severity", "at", "fault"),
    [
        ("boundary", [1], ""),
        ("boundary", [1, 2], "it fails away from every boundary too, at s=2"),
        ("privacy", [1, 2], ""),
        ("privacy", [1], "every counterexample lies at a boundary (s <= 1)"),
        ("misprint", [1], "every counterexample lies at a boundary (s <= 1)"),
        ("privacy", [], ""),
    ],
)
def test_what_falls_is_held_against_the_counterexamples(
    demo: Specs, severity: Severity, at: list[int], fault: str
) -> None:
    spec = demo.claim("demo:bits")
    verdicts = tuple(
        type(v)(
            **{**{f: getattr(v, f) for f in v.__struct_fields__}, "severity": severity}
        )
        for v in spec.verdicts
    )
    spec = replace(spec, verdicts=verdicts, edges=(parse_relation("s <= 1"),))
    one = Number(float=1.0)
    examples = [
        Counterexample(
            kind="smallest",
            parameters={"s": Number(exact=str(s), float=float(s))},
            lhs=one,
            rhs=one,
        )
        for s in at
    ]
    found = CheckResult(
        name="points", method="exhaustive", status="refuted", counterexamples=examples
    )
    assert judge(spec, {}, [found], [], "hash").misjudged == fault


@for_each("last", [1, 4])
def test_points_and_a_search_look_for_a_counterexample_away_from_the_edges(
    statements: dict[str, Statement], last: int
) -> None:
    """A statement that fails up to n = last, of which n <= 1 is an edge: only one that fails beyond has another."""
    wrong = replace(
        statements["sum"],
        requires=(parse_relation(f"n <= {last}"),),
        edges=EDGES[:1],
        rhs=parse("-1"),
    )
    for check in (
        ExhaustiveCheck(
            "sum", "all", points=lambda _: [{"n": n} for n in range(1, last + 1)]
        ),
        SearchCheck("sum", "search", region={"n": (1, 9)}),
    ):
        context = Context(wrong, BUDGETS["smoke"], 0, check.name)
        result = check.finish(context, [check.run_block(context, 0)])
        assert result.status == "refuted"
        away = [e for e in result.counterexamples if float(e.parameters["n"].float) > 1]
        assert bool(away) == (last > 1), check.name


@for_each(
    ("old", "new"),
    [
        (
            'status = "refuted"\nseverity = "constant"\nfindings',
            'status = "refuted"\nfindings',
        ),
        (
            'claim = "root"\nstatus = "not refuted"',
            'claim = "root"\nstatus = "not refuted"\nseverity = "privacy"',
        ),
        (
            '[[verdict]]\nclaim = "root"',
            '[[edge]]\nwhen = "unheard <= 1"\n\n[[verdict]]\nclaim = "root"',
        ),
    ],
)
def test_what_falls_is_said_of_refuted_claims_alone_and_an_edge_is_about_known_letters(
    demo: Specs, tmp_path: Path, old: str, new: str
) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    for file in (demo.directory / "demo").iterdir():
        text = file.read_text()
        if file.name == "verdicts.toml":
            assert old in text
            text = text.replace(old, new)
        (folder / file.name).write_text(text)
    with pytest.raises(SpecError, match=r"severity|unheard"):
        load_specs(tmp_path)
