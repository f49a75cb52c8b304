"""Statements that are true by their form are found, in the records and in what a run says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dpverify.ledger import check_specs, load_specs
from dpverify.ledger.trivial import identical_sides, restated_conditions
from tests.for_each import for_each

Write = Callable[..., Path]

CLAIM = """
[[claim]]
id = "remark-9"
where = "Remark 9"
source = "full"
quote = "x"
kind = "identity"
"""
VERDICT = """
[[verdict]]
claim = "remark-9"
status = "refuted"
severity = "misprint"
reason = "It is."
[verdict.amendment]
status = "proved"
why = "It is."
"""


def written(write: Write, claim: str, amendment: str, status: str = "") -> Path:
    folder = write(extra=f"{CLAIM}{claim}")
    verdict = VERDICT + amendment
    if status:
        verdict = f'[[verdict]]\nclaim = "remark-9"\nstatus = "{status}"\n'
    path = folder / "toy2024" / "verdicts.toml"
    path.write_text(f"{path.read_text()}\n{verdict}", encoding="utf-8")
    return folder


@for_each(
    ("claim", "amendment"),
    [
        ('lhs = "T"\nrelation = "<="\nprinted = "T - 1"', 'formula = "T"'),
        ('lhs = "2*N"\nrelation = "="\nprinted = "2*N - 1"', 'formula = "N*2"'),
        ('lhs = "N + T"\nrelation = "="\nprinted = "N"', 'formula = "T + N"'),
        (
            'lhs = "N*V"\nrelation = ">="\nprinted = "T"',
            'formula = "N*(T + 1)"\nlet = [{symbol = "V", value = "T + 1"}]',
        ),
    ],
)
def test_an_amendment_with_identical_sides_is_refused(
    write: Write, claim: str, amendment: str
) -> None:
    (finding,) = check_specs(written(write, claim, amendment))
    assert finding.level == "error"
    assert "remark-9: amendment.formula: " in finding.text
    assert "identical sides prove nothing" in finding.text


@for_each("relation", ["=", "<=", ">=", "O", "O~"])
def test_a_printed_claim_with_identical_sides_cannot_be_pinned_as_true(
    write: Write, relation: str
) -> None:
    claim = f'lhs = "N*T"\nrelation = "{relation}"\nprinted = "T*N"'
    (finding,) = check_specs(written(write, claim, "", "proved"))
    assert "remark-9: status: T*N: both sides are this formula" in finding.text


@for_each("relation", ["<", ">"])
def test_a_strict_inequality_of_identical_sides_is_a_false_statement(
    write: Write, relation: str
) -> None:
    folder = written(
        write, f'lhs = "N"\nrelation = "{relation}"\nprinted = "N"', "", "proved"
    )
    assert [
        finding for finding in check_specs(folder) if finding.level == "error"
    ] == []


def test_an_identity_that_needs_algebra_is_a_statement(write: Write) -> None:
    claim = 'lhs = "(N + T)**2"\nrelation = "="\nprinted = "N**2 + 2*N*T + T**2"'
    folder = written(write, claim, "", "proved")
    assert [
        finding for finding in check_specs(folder) if finding.level == "error"
    ] == []


RESTATES = 'requires = ["T >= N**2"]'


def test_an_amendment_that_requires_what_it_claims_says_so(write: Write) -> None:
    claim = 'lhs = "sqrt(T)"\nrelation = ">="\nprinted = "N"'
    (finding,) = check_specs(written(write, claim, RESTATES))
    assert (
        "remark-9: amendment.requires: T >= N**2: the condition is what the amendment claims"
        in finding.text
    )
    folder = written(write, claim, f"only_restates = true\n{RESTATES}")
    assert check_specs(folder) == []
    spec = load_specs(folder).claim("toy2024:remark-9")
    printed = spec.statement()
    assert restated_conditions(spec.statement({}, "amended"), printed)
    assert restated_conditions(printed, printed) == ()
    assert identical_sides(spec.statement({}, "amended")) == ""


@for_each(
    ("claim", "conditions", "restates"),
    [
        (
            'lhs = "max(N, N**2/2)"\nrelation = "<="\nprinted = "T"',
            '"N <= T", "N**2 <= 2*T"',
            True,
        ),
        (
            'lhs = "max(N, N**2/2)"\nrelation = "<="\nprinted = "T"',
            '"N**2 <= 2*T"',
            False,
        ),
        (
            'lhs = "min(N, T)"\nrelation = ">="\nprinted = "2"',
            '"N >= 2", "T >= 2"',
            True,
        ),
        ('lhs = "sqrt(T)"\nrelation = ">="\nprinted = "N"', '"T >= 2*N**2"', False),
        (
            'lhs = "sqrt(2)*3*N"\nrelation = "O"\nprinted = "sqrt(T)"',
            '"T >= N**2"',
            True,
        ),
        ('lhs = "3*N"\nrelation = "O"\nprinted = "sqrt(T)"', '"T >= N**3"', False),
    ],
)
def test_a_bound_on_a_maximum_is_a_bound_on_each_argument(
    write: Write, claim: str, conditions: str, restates: bool
) -> None:
    findings = check_specs(written(write, claim, f"requires = [{conditions}]"))
    assert ["only_restates" in finding.text for finding in findings] == [
        True
    ] * restates


def test_a_condition_that_the_claim_has_already_is_not_a_restatement(
    write: Write,
) -> None:
    claim = (
        'lhs = "sqrt(T)"\nrelation = ">="\nprinted = "N + 1"\nrequires = ["T >= N**2"]'
    )
    assert check_specs(written(write, claim, 'formula = "N"')) == []


def test_no_record_of_ours_is_true_by_its_form() -> None:
    assert [finding for finding in check_specs() if finding.level == "error"] == []
