"""Units: the papers' formulas agree or are explained, and a formula that lost a factor is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpverify.cli import main
from dpverify.ledger import PaperSpec, Statement, load_specs
from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Num, Sum
from dpverify.ledger.units.check import _result_of, check_units
from dpverify.ledger.units.reader import StatedUnits
from dpverify.ledger.units.scaling import UNITLESS, read_units
from tests.for_each import for_each

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"
UNDETERMINED = {
    "tran2022": ["algorithm-4-assignment", "theorem-4-root"],  # about any two numbers
    "wang2019": [],
    "zhang2021": [],
    "field": [],
    "abadi2016": [],
}
"""Claims whose units are not determined."""
MISMATCHES = {"tran2022": 8, "wang2019": 6, "zhang2021": 17, "field": 0, "abadi2016": 0}
"""Pairs of terms that differ, all in records that ``units.toml`` explains: one more in such a record is an error."""
DROPPED = {"tran2022": 369, "wang2019": 519, "zhang2021": 144}
"""Factors with a unit in consistent claims that are not normalised: each is dropped, and the check must report it."""


def without_a_factor(node: Formula, names: set[str]) -> Iterator[Formula]:
    """Yield the formula with one of the letters replaced by 1, for each place of one of them."""
    match node:
        case Name(name) if name in names:
            yield Num(Fraction(1))
        case Neg(arg):
            yield from map(Neg, without_a_factor(arg, names))
        case Bin(operator, left, right):
            yield from (
                Bin(operator, damaged, right)
                for damaged in without_a_factor(left, names)
            )
            yield from (
                Bin(operator, left, damaged)
                for damaged in without_a_factor(right, names)
            )
        case Call(name, args):
            for place, arg in enumerate(args):
                for damaged in without_a_factor(arg, names):
                    yield Call(name, (*args[:place], damaged, *args[place + 1 :]))
        case Sum(body, index, lo, hi):
            yield from (
                type(node)(damaged, index, lo, hi)
                for damaged in without_a_factor(body, names)
            )
        case _:
            return


def damaged_statements(paper: PaperSpec, stated: StatedUnits) -> Iterator[Statement]:
    """Yield each consistent statement with one factor dropped that has a unit."""
    for claim in paper.claims.values():
        for statement in claim.statements():
            is_order = statement.relation in ("O", "O~")
            if (
                statement.rhs is None
                or is_order
                or claim.record.id in stated.normalised
            ):
                continue
            if _result_of(statement, stated).status == "consistent":
                names = {
                    name
                    for name in statement.symbols
                    if stated.unit_of(name, claim.record.id) not in (None, UNITLESS)
                }
                for damaged in without_a_factor(statement.rhs, names):
                    yield replace(statement, rhs=damaged)
                for damaged in (
                    without_a_factor(statement.lhs, names)
                    if statement.lhs is not None
                    else ()
                ):
                    yield replace(statement, lhs=damaged)


def test_the_papers_agree_or_are_explained_and_each_dropped_factor_is_reported() -> (
    None
):
    papers = dict(load_specs().papers)
    papers |= load_specs(EXAMPLES / "specs").papers
    papers |= load_specs(EXAMPLES / "abadi2016/abadi2016/specs").papers
    for key, claims in UNDETERMINED.items():
        units = check_units(papers[key])
        assert units.is_as_expected, "\n".join(units.lines())
        assert (
            sum(len(result.mismatches) for result in units.results) == MISMATCHES[key]
        )
        undetermined = [
            result.of for result in units.results if result.status == "not determined"
        ]
        assert [of for of in undetermined if of in papers[key].claims] == claims
    dropped: Counter[str] = Counter()
    for key in DROPPED:
        stated = StatedUnits(papers[key], read_units(load_specs().directory / key))
        for statement in damaged_statements(papers[key], stated):
            assert _result_of(statement, stated).status == "inconsistent", (
                statement.key,
                str(statement.rhs),
            )
            dropped[key] += 1
    assert dropped == DROPPED


CLAIMS = """
[paper]
key = "units2026"
title = "Units"
authors = ["A"]
venue = "V"
texts = {{full = "text"}}

[symbols]
G = {{latex = "G", domain = "real, G > 0", meaning = "bound on gradients"}}
L = {{latex = "L", domain = "real, L >= 0", meaning = "smoothness"}}
R = {{latex = "R", domain = "real, R >= 0", meaning = "first excess"}}
T = {{latex = "T", domain = "integer, T >= 1", meaning = "steps"}}
q = {{latex = "q", domain = "real, 0 < q < 1", meaning = "rate"}}
x = {{latex = "x", domain = "real, x > 0", meaning = "unknown"}}
y = {{latex = "y", domain = "real, y > 0", meaning = "unknown"}}

[functions.f]
latex = "f"
arity = 1
meaning = "a gradient at a step"

[quantities.error]
latex = "e"
meaning = "norm of an error"

[[claim]]
id = "lemma-1"
where = "Lemma 1"
source = "full"
quote = "a"
kind = "inequality"
{fields}
"""
UNITS = """
[[unit]]
names = ["G", "f", "error"]
loss = 1
length = -1

[[unit]]
names = ["L"]
loss = 1
length = -2

[[unit]]
names = ["R"]
loss = 1
"""
GRADIENT = "(loss 1, length -1)"
AGREES = "1 consistent"
OPEN = "1 not determined"


def sides(left: str, right: str, extra: str = "", relation: str = "<=") -> str:
    return f'lhs = "{left}"\nrelation = "{relation}"\nprinted = "{right}"\n{extra}'


@for_each(
    ("fields", "units", "texts"),
    [
        (sides("G**2", "2*L*R"), "", [AGREES]),
        (
            sides("G", "2*L*R"),
            "",
            [
                f"the two sides: `G` scales with {GRADIENT}, but `2*L*R` scales with (loss 2, length -2)"
            ],
        ),
        (
            sides("G", "sqrt(2*L*R) + q*L"),
            "",
            ["`sqrt(2*L*R)` scales with", "but `q*L` scales with (loss 1, length -2)"],
        ),
        (
            sides("log(G)", "T"),
            "",
            [f"`G` scales with {GRADIENT}, but must be a plain number in `log(G)`"],
        ),
        (sides("log(G**2/(L*R))", "T"), "", [AGREES]),
        (sides("floor(G)", "T"), "", ["must be a plain number in `floor(G)`"]),
        (sides("G**T", "1"), "", ["must be a plain number in `G**T`"]),
        (sides("(G**2/(L*R))**T", "q**T"), "", [AGREES]),
        (sides("max(G, 0)", "sum(f(i), i, 1, T)"), "", [AGREES]),
        (sides("max(G, 1)", "G"), "", ["but `1` has no unit"]),
        (sides("integral(density(z, G)*abs(z), z)", "G"), "", [AGREES]),
        (sides("integral(density(z, G)*abs(z), z)", "L"), "", ["but `L` scales with"]),
        (
            sides("supremum(z*L - z**2*q, z, 0, G)", "G*L"),
            "",
            ["but `z**2*q` scales with (loss 2, length -2)"],
        ),
        (sides("supremum(z*L, z, 0, G)", "G*L"), "", [AGREES]),
        (sides("mean_of(normal_law(0, G))", "G"), "", [AGREES]),
        (
            sides("variance_of(normal_law(0, G))", "G"),
            "",
            ["scales with (loss 2, length -2)"],
        ),
        (sides("renyi(normal_law(0, G), normal_law(G, G), 2)", "T"), "", [AGREES]),
        (
            sides("renyi(normal_law(0, G), normal_law(R, G), 2)", "T"),
            "",
            ["`R` scales with (loss 1), but `G` scales with"],
        ),
        ('quantity = "error"\nrelation = "<="\nprinted = "2*G"', "", [AGREES]),
        (
            'quantity = "error"\nrelation = "<="\nprinted = "2*R"',
            "",
            ["`error` scales with"],
        ),
        # conditions, choices of parameters, and units that they determine
        (sides("x*L", "G", 'requires = ["x == G/L"]'), "", [AGREES]),
        (
            sides("x*L", "G", 'requires = ["x == R/L"]'),
            "",
            ["`x*L` scales with (loss 1), but `G` scales with"],
        ),
        (
            sides("x*L", "G", 'let = [{symbol = "x", value = "sqrt(R/L)"}]'),
            "",
            [AGREES],
        ),
        (sides("x*y", "G", 'requires = ["x**2*y == R*L", "y <= q"]'), "", [AGREES]),
        (
            sides("x*L", "G"),
            "",
            [OPEN, "lemma-1: not determined: no comparison tests a stated unit"],
        ),
        (sides("x**2", "x*y"), "", [OPEN, "no unit is known for x, y"]),
        # units that are 1: by a condition, by a declared normalisation, and in the
        # constant of an order
        (sides("G + 1", "2*L*R", 'requires = ["G == 1"]'), "", [AGREES]),
        (
            sides("G + 1", "2*L", 'requires = ["G == 1"]'),
            "",
            ["but `2*L` scales with (loss 1, length -2)"],
        ),
        (
            sides("G", "L"),
            '[[normalised]]\nof = ["lemma-1"]\nlength = 1\nwhy = "w"',
            [AGREES],
        ),
        (
            sides("G", "q"),
            '[[normalised]]\nof = ["lemma-1"]\nlength = 1\nwhy = "w"',
            ["but `q` has no unit"],
        ),
        (sides("G", "1/sqrt(T)", 'hides = ["G"]', "O"), "", [AGREES]),
        (
            sides("G", "1/sqrt(T)", 'hides = ["L"]', "O"),
            "",
            ["but `1/sqrt(T)` has no unit"],
        ),
        ('statement = "G is small."', "", ["1 in words"]),
        # what units.toml must not say
        (
            sides("G", "G"),
            '[[expected]]\nof = ["lemma-1"]\nwhy = "w"',
            ["the units of 'lemma-1' agree"],
        ),
        (sides("G", "G"), '[[unit]]\nnames = ["H"]', ["the paper has no letter 'H'"]),
        (
            sides("G", "G"),
            '[[normalised]]\nof = ["lemma-2"]\nwhy = "w"',
            ["the paper has no record 'lemma-2'"],
        ),
    ],
)
def test_terms_that_differ_are_named(
    fields: str,
    units: str,
    texts: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "specs" / "units2026"
    folder.mkdir(parents=True)
    (folder / "claims.toml").write_text(CLAIMS.format(fields=fields), encoding="utf-8")
    (folder / "units.toml").write_text(UNITS + units, encoding="utf-8")
    code = main(["units", "units2026", "--undetermined", "--specs", str(folder.parent)])
    out = capsys.readouterr().out
    assert all(text in out for text in texts), out
    is_in_order = texts[0] in (AGREES, OPEN, "1 in words")
    assert code == (0 if is_in_order else 1)
    assert is_in_order == ("0 inconsistent" in out and "units.toml:" not in out)
