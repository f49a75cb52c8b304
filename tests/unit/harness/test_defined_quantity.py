"""A claim about a measured quantity is proved from what the record says it is, and from nothing else."""

from __future__ import annotations

from pathlib import Path

from sympy import Rational, Sum, Symbol

from dpverify.harness import BUDGETS, Context, DerivationCheck
from dpverify.ledger import load_specs
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.define import cite_fact
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.translation import sympy_symbols
from tests.for_each import for_each

SPECS = """
[paper]
key = "toy"
title = "A toy"
authors = ["A"]
venue = "here"
texts = {full = "toy.md"}

[symbols.N]
latex = "N"
domain = "integer, N >= 1"
meaning = "steps of an epoch"

[symbols.eta]
latex = "e"
domain = "real, eta > 0"
meaning = "length of a step"

[quantities.way]
latex = "W"
meaning = "distance of two iterates of one epoch"

[quantities.detour]
latex = "D"
meaning = "twice that"

[[claim]]
id = "lemma-1"
where = "Lemma 1"
source = "full"
quote = "at most"
kind = "inequality"
quantity = "way"
relation = "<="
printed = "eta*N"
"""

DEFINED = """
[[definition]]
name = "way"
formula = "sum(eta, j, 1, k)"
letters = {k = {latex = "k", domain = "integer, k >= 0, k <= N", meaning = "steps between them"}}
where = "section 1"
quote = "steps of length eta"
words = "k steps"

[[definition]]
name = "detour"
formula = "2*sum(eta, j, 1, k)"
letters = {k = {latex = "k", domain = "integer, k >= 0, k <= N", meaning = "steps between them"}}
where = "section 1"
quote = "steps of length eta"
words = "twice k steps"

[[fact]]
name = "no-farther"
citation = "Anybody (1900)"
lhs = "eta*k"
relation = "<="
formula = "eta*N"
letters = {k = {latex = "k", domain = "integer, k >= 0, k <= N", meaning = "steps"}}
words = "an epoch is the longest"
"""

j, k = Symbol("j", integer=True), Symbol("k", integer=True, nonnegative=True)


def statement(folder: Path, definitions: str = DEFINED) -> Statement:
    (folder / "toy").mkdir()
    (folder / "toy" / "claims.toml").write_text(SPECS)
    (folder / "toy" / "definitions.toml").write_text(definitions)
    return load_specs(folder).claim("toy:lemma-1").statement()


def chain(
    given: Statement, *, first: object = 1, most: object = None, factor: object = 1
) -> Derivation:
    n, eta = (sympy_symbols(given)[name] for name in ("N", "eta"))
    most = n if most is None else most
    steps = (
        Step(
            factor * eta * k,
            "=",
            "sum-constant",
            {"c": factor * eta, "lo": first, "hi": k},
        ),
        Step(factor * eta * most, "<=", "order", {"a": k, "b": most}),
    )
    ranges = {
        "N": integer(1, 60),
        "eta": real(0, 5, open_lo=True),
        "k": integer(0, most),
    }
    start = Sum(factor * eta, (j, first, k))
    return Derivation("steps", "ours", ranges, (k <= most,), start, steps, local=("k",))


def judged(given: Statement, derivation: Derivation) -> CheckResult:
    check = DerivationCheck("lemma-1", "derivation", build=lambda _: derivation)
    context = Context(given, BUDGETS["smoke"], 0, check.name)
    return check.finish(context, [check.run_block(context, 0)])


def test_what_starts_from_the_definition_is_proved_and_names_it(tmp_path: Path) -> None:
    given = statement(tmp_path)
    result = judged(given, chain(given))
    assert (result.status, result.given) == ("proved", [])
    assert result.definitions == ["way = sum(eta, j, 1, k) for k >= 0, k <= N"]


def test_without_a_record_it_is_given(tmp_path: Path) -> None:
    given = statement(tmp_path, "")
    result = judged(given, chain(given))
    assert result.status == "proved given"
    assert "way is sum(i, 1, k, eta)" in result.given
    assert result.definitions == []


@for_each(
    ("old", "new", "why"),
    [
        # another formula
        (
            "sum(eta, j, 1, k)",
            "sum(2*eta, j, 1, k)",
            "the derivation starts from something else",
        ),
        # more than the chain looks at
        ("k >= 0, k <= N", "k >= 0, k <= N + 1", "it assumes k <= N"),
        ("k >= 0, k <= N", "k >= 0", "it assumes k <= N"),
        # nothing where N is 1
        ("k >= 0, k <= N", "k >= 1, k <= N - 1", "not proven that there are k"),
        (
            'words = "k steps"',
            'words = "k"\\nrequires = ["N >= 2"]',
            "its definition asks for N >= 2",
        ),
        (
            "sum(eta, j, 1, k)",
            "sum(eta, j, 1, k)*N/(N-1)*(N-1)/N",
            "has a value in the definition",
        ),
    ],
)
def test_a_changed_record_moves_the_verdict(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    given = statement(tmp_path, DEFINED.replace(old, new.replace("\\n", "\n"), 1))
    result = judged(given, chain(given))
    assert result.status == "inconclusive"
    assert why in f"{result.message}; {result.error}"


def test_another_start_is_refused(tmp_path: Path) -> None:
    given = statement(tmp_path)
    half = judged(given, chain(given, factor=Rational(1, 2)))
    assert half.status == "inconclusive"
    assert "the derivation starts from" in half.error
    fewer = judged(given, chain(given, first=2))
    assert fewer.status == "inconclusive"


def test_assumptions_on_its_letters_are_those_of_the_record(tmp_path: Path) -> None:
    given = statement(tmp_path)
    n = sympy_symbols(given)["N"]
    result = judged(given, chain(given, most=n / 2))
    assert result.status == "inconclusive"
    assert "it assumes k <= N/2" in result.error


def test_the_definition_of_another_quantity_does_not_serve(tmp_path: Path) -> None:
    given = statement(
        tmp_path, DEFINED.replace('name = "way"', 'name = "detour"\npart = "old"', 1)
    )
    result = judged(given, chain(given))
    assert result.status == "proved given"
    swapped = DEFINED.replace('name = "way"', 'name = "x"').replace(
        'name = "detour"', 'name = "way"'
    )
    swapped = swapped.replace('name = "x"', 'name = "detour"')
    (tmp_path / "other").mkdir()
    given = statement(tmp_path / "other", swapped)
    assert judged(given, chain(given)).status == "inconclusive"


def test_a_fact_of_the_literature_stays_given_and_is_cited(tmp_path: Path) -> None:
    given = statement(tmp_path)
    fact, right = cite_fact(given, "no-farther"), chain(given)
    last = Step(fact.rhs, "<=", "premise", {}, ("no-farther",))
    result = judged(given, Derivation("cited", "ours", right.variables, right.assumptions, right.start,
                                      (right.steps[0], last), {"no-farther": fact}, local=("k",)))  # fmt: skip
    assert (result.status, result.given) == (
        "proved given",
        ["an epoch is the longest (Anybody (1900))"],
    )
