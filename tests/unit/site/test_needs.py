"""What lines of proofs need: conditions read off certificates, where each comes from, and what elaboration says."""

from __future__ import annotations

from pathlib import Path

from dpverify.ledger import load_specs
from dpverify.ledger.formula import parse_relation
from dpverify.ledger.proof_chains import parse_chain
from dpverify.report.origins import Granted, is_obvious, is_same, origin
from dpverify.report.pages.layout import Places
from dpverify.report.pages.proofs import ProofPage
from dpverify.site.needs import certificate_of, needs_of
from dpverify.symbolic.derive.define import expand_definition
from dpverify.symbolic.derive.steps import Step
from dpverify.symbolic.elaborate.examination import condition_text
from dpverify.symbolic.elaborate.formulas import is_guard
from dpverify.symbolic.elaborate.proofs import derivation_of
from dpverify.symbolic.rules import CATALOGUE

CERTIFICATES = Path(__file__).parents[3] / "reports" / "certificates"
PAPER = load_specs().papers["tran2022"]
PAGE = ProofPage.of(PAPER, Places({}), "rules.md")


def needs(claim: str) -> list[dict[int, str]]:
    proofs = PAGE.book.proofs_of(claim)
    certificates = [certificate_of(CERTIFICATES, "tran2022", proof) for proof in proofs]
    assert None not in certificates
    return [
        needs_of(data, proof, PAGE.lines)
        for data, proof in zip(certificates, proofs, strict=True)
        if data
    ]


def test_a_condition_has_the_relation_that_shows_it() -> None:
    granted = [
        Granted(parse_relation(text), "")
        for text in ("N >= 1", "alpha <= 1", "0 < alpha", "t <= T", "2*x < y")
    ]
    granted.append(Granted(parse_relation("T - N >= 0"), "this case"))
    for condition, shown in {
        "t + 1 <= T + 1": "t <= T",
        "0 <= 1 - alpha": "alpha <= 1",
        "N <= T": "T - N >= 0",
        "0 < y/3 - 2*x/3": "2*x < y",
        "t < T": None,
        "t <= T - 1": None,
        "alpha >= 1": None,
        "x < y": None,
    }.items():
        result = origin(parse_relation(condition), granted)
        assert (result.relation if result else None) == (
            parse_relation(shown) if shown else None
        ), condition
    obvious = {
        "0 < N + alpha": True,
        "1 <= 2": True,
        "2 < 2": False,
        "0 <= log(N)": True,
        "0 < log(N)": False,
    }
    obvious |= {
        "0 <= 2*t": False,
        "0 < sqrt(alpha)/N": True,
        "0 <= x**2": True,
        "0 <= x**3": False,
        "N <= 1": False,
    }
    assert {
        text: is_obvious(parse_relation(text), granted) for text in obvious
    } == obvious
    assert is_same(parse_relation("a <= b"), parse_relation("b >= a"))
    assert not is_same(parse_relation("a <= b"), parse_relation("a < b"))


def test_lines_show_the_conditions_of_the_rules_that_they_cite() -> None:
    assert needs("lemma-12-var") == [{3: r"needs $`t + 1 \le T + 1`$ by $`t \le T`$"}]
    fresh = next(
        texts
        for texts in needs("lemma-7")
        if any("by this case" in text for text in texts.values())
    )
    assert any(r"$`N \ge 2`$ by this case" in text for text in fresh.values())


def test_elaboration_finds_the_same_conditions() -> None:
    for claim in ("lemma-12-count", "lemma-12-var", "lemma-7-count-2"):
        (proof,) = PAGE.book.proofs_of(claim)
        (texts,) = needs(claim)
        statement = PAGE.statement(proof)
        assert statement is not None
        steps = [
            link
            for link in derivation_of(expand_definition(statement)).steps
            if not is_guard(link)
        ]
        for line, step in zip(parse_chain(proof.chain).lines, steps, strict=True):
            if isinstance(step, Step) and step.rule in CATALOGUE:
                conditions = CATALOGUE[step.rule].instance(step.where).conditions
                relations = [
                    parse_relation(text)
                    for text in map(condition_text, conditions)
                    if "<" in text
                ]
                shown = [
                    part.partition("`$")[0]
                    for part in texts.get(line.number, "").split("$`")[1:]
                ]
                for relation in relations:
                    granted = [
                        Granted(condition, "") for condition in statement.requires
                    ]
                    granted += [
                        Granted(c, "")
                        for domain in statement.domains.values()
                        for c in domain.constraints
                    ]
                    assert PAGE.lines.latex(relation) in shown or is_obvious(
                        relation, granted
                    ), (claim, relation)
