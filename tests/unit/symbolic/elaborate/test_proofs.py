"""Proofs as text give certificates of the recorded statements, and false ones are refused with the reason."""

from __future__ import annotations

import json

import pytest

from dpverify.harness.recorded_proof import CERTIFICATES, certificate_name
from dpverify.ledger.load import bundled, load_specs
from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.checker import k
from dpverify.symbolic.elaborate.examination import examine
from dpverify.symbolic.elaborate.formulas import ProofError
from dpverify.symbolic.elaborate.proofs import derivation_of
from tests.for_each import for_each

from .conftest import Changed

SPECS = load_specs()


EVERY = 8  # `dpverify certify` writes all
PARTS = 4  # so that workers share them


def _statements() -> list[Statement]:
    """Some statements that have a proof as text: of each claim and variant the first one."""
    found: dict[tuple[str, str], Statement] = {}
    for claim in SPECS.claims():
        for statement in (
            claim.statements() if claim.proofs.proofs_of(claim.record.id) else ()
        ):
            if claim.proofs.find(statement) is not None:
                found.setdefault((claim.key, statement.variant), statement)
    return list(found.values())[::EVERY]


@pytest.mark.parametrize("part", range(PARTS))
def test_the_checker_accepts_certificates_of_the_recorded_statements(part: int) -> None:
    for statement in _statements()[part::PARTS]:
        examination = examine(statement)
        assert examination.problems == (), statement.reference
        assert examination.certificate is not None
        name = certificate_name(statement.key, statement.reading, statement.variant)
        recorded = json.loads(
            (bundled("reports") / CERTIFICATES / name).read_text(encoding="utf-8")
        )
        assert (
            examination.certificate["statement"]["seal"]
            == recorded["statement"]["seal"]
        ), statement.reference
        premises = set(k.given_in(examination.certificate))
        assert premises <= set(k.given_in(recorded)), statement.reference


CHAIN = (
    '<= log2(t + 1)      by popcount-log2\n<= log2(T + 1)      by log2-monotone\n"""\n'
)
FALSE_GIVEN = """<= log2(t + 1) - 1      by given wish
<= log2(T + 1) - 1      by log2-monotone
\"\"\"

[[given]]
id = "wish"
words = "one bit fewer"
says = "popcount(t) <= log2(t + 1) - 1"
"""
LEMMA = '\n[[lemma]]\nid = "log2-monotone"\nchain = """\n   s\n<= s + 1\n"""\n'

FALSE = [
    ("lemma-12-count", CHAIN, FALSE_GIVEN, ["line 2", "is false", "at T ="]),
    (
        "lemma-12-count",
        CHAIN,
        f'{FALSE_GIVEN}requires = ["T < 0"]\n',
        ["line 2", "the condition T < 0 contradicts the domains"],
    ),
    (
        "lemma-12-count",
        CHAIN,
        f"{CHAIN}{LEMMA}",
        ["log2-monotone is a rule; the lemma of this name needs another id"],
    ),
    (
        "lemma-12-count",
        "log2(T + 1)      by",
        "log2(T)      by",
        ["line 3", "not proven: t + 1 <= T", "false at T ="],
    ),
    (
        "lemma-12-count",
        "log2(t + 1)",
        "log2(t)",
        ["line 2", "popcount(n) <= log2(n + 1)", "false at T ="],
    ),
    (
        "lemma-12-count",
        "popcount-log2",
        "popcount-log",
        ["no rule or lemma", "similar names: popcount-log2"],
    ),
    (
        "lemma-12-count",
        "by log2-monotone",
        "by growing",
        ["no rule or lemma", "rules that fit: log2-monotone"],
    ),
    (
        "lemma-12-count",
        "by log2-monotone",
        "by log2-monotone(z = 1)",
        ["has no letter z; it has a, b"],
    ),
    ("lemma-12-count", "popcount(t)", "popcount(u)", ["line 1", "unknown letter 'u'"]),
    (
        "lemma-12-count",
        "popcount(t)",
        "popcounts(t)",
        ["line 1", "unknown function 'popcounts'"],
    ),
    (
        "lemma-12-count",
        "log2(T + 1)      by",
        "log2(T + 2)      by",
        ["the claim says more"],
    ),
    (
        "lemma-12-var",
        "prefix-decays(s = t)",
        "prefix-decays(s = T)",
        ["line 2", "not found"],
    ),
    (
        "lemma-12-var",
        "prefix-decays(s = t)",
        "prefix-decays(u = t)",
        ["has no letter u; it has alpha, s"],
    ),
    (
        "lemma-12-var",
        "node*log2(T + 1)      by",
        "node*log2(T + 1)*99/100 by",
        ["line 3", "false at"],
    ),
    (
        "lemma-12-var",
        "16*alpha**2",
        "1600/101*alpha**2",
        ["the derivation starts from"],
    ),
    ("lemma-12", "d*V*log2(T + 1))\n", "d*V*log2(T))\n", ["line 4", "false at"]),
    (
        "lemma-12",
        "quantity = variance",
        "quantity = noise",
        ["no premise bounds variance"],
    ),
    ("lemma-12", "amended claim lemma-12-var", "amended claim lemma-11", ["line 3"]),
    (
        "lemma-12",
        'gaussian norm(d, variance)"',
        'gaussian norm(d, 2*variance)"',
        ["line 2", "GaussianNorm"],
    ),
    (
        "proposition-13",
        "case y >= 1",
        "case y >= 2",
        ["not proven to cover the domain"],
    ),
    ("proposition-13-chord", "by exp-chord", "by geometric-sum(x = x, m = 3)", ["x"]),
    (
        "proposition-13",
        "case y <= 1",
        "case y <= 2",
        ["exp-chord", "not proven: y <= 1"],
    ),
    (
        "proposition-16",
        "k, 1, top_bit + 1)",
        "k, 1, top_bit)",
        ["line 6", "popcount-digits", "false at"],
    ),
    ("theorem-4-geometric", "<= 4*alpha*G", "<= 3*alpha*G", ["line 6", "false at"]),
    (
        "algorithm-2-delta-g",
        "(1 - alpha)*sum",
        "(1 - alpha)**2*sum",
        ["line 3", "geometric-sum-bound says"],
    ),
    (
        "theorem-8-sensitivity-r",
        "(N - 1)/(1 - exp(-1))",
        "(N - 2)/(1 - exp(-1))",
        ["false at"],
    ),
    ("equation-2", "definition r_win", "definition G_win", ["line 4"]),
    (
        "lemma-11-sampling",
        "given no-cross-terms",
        "given no-terms",
        ["nothing is given as 'no-terms'"],
    ),
    ("theorem-9-gamma", "<= 1/2", "<= 49/100", ["line 3", "false at"]),
    (
        "lemma-5-case-1",
        "-norm(g) + 2*norm(e)",
        "-norm(g) + 99/100*norm(e)",
        ["line 3", "false at"],
    ),
    ("lemma-5-case-1", "by along", "by cosines", ["line 2"]),
    (
        "section-3-momentum-unrolled",
        "momentum-sum(s = t)",
        "momentum-sum(s = t - 1)",
        ["line 2"],
    ),
    (
        "section-3-momentum-unrolled",
        "momentum-sum(s = t)",
        "hypothesis",
        ["no rule or lemma 'hypothesis'"],
    ),
    (
        "section-3-momentum-unrolled",
        "induction(s = 0)",
        "induction(s = 1)",
        ["momentum-sum, base"],
    ),
    (
        "section-3-momentum-unrolled",
        "induction(s = 0)",
        "induction(u = 0)",
        ["names its letter and the first number"],
    ),
    (
        "section-3-momentum-unrolled",
        f"    = 0{' ' * 50}",
        f"    = 1{' ' * 50}",
        ["momentum-sum, base: step 0"],
    ),
    (
        "section-3-momentum-unrolled",
        "+ alpha*grad(s + 1)     by hyp",
        "+ alpha*grad(s)     by hyp",
        ["momentum-sum, step"],
    ),
    (
        "theorem-10-rdp-to-dp",
        "case exp(epsilon) <= ratio",
        "case exp(epsilon) <= ratio/2",
        ["line 2"],
    ),
    (
        "theorem-10-rdp-to-dp",
        "by order(a = D, b = x)",
        "by order(a = D, b = x/2)",
        ["line 3"],
    ),
    (
        "theorem-10-rdp-to-dp",
        "chance*ratio**z*",
        "chance*ratio**(z - 1)*",
        ["an-event"],
    ),
    (
        "theorem-6",
        "<= 16*G*N*sqrt(log2(T + 1))",
        "<= 15*G*N*sqrt(log2(T + 1))",
        ["line 9"],
    ),
    ("theorem-6", "<= 7*L*eta*N/6", "<= 6*L*eta*N/6", ["anchors-fresh-permutations"]),
    (
        "lemma-7-var-5",
        "by set-bits-apart(s = t, k = j, pos = pos)",
        "by set-bits-apart(s = T, k = j, pos = pos)",
        ["line 4"],
    ),
    (
        "lemma-5",
        "<= 3*aligned/2 + 3*error_sum/T",
        "<= 3*aligned/2 + 2*error_sum/T",
        ["line 3"],
    ),
    (
        "lemma-11",
        "quantity = sqrt(moment(drift, 2))",
        "quantity = drift",
        ["line 6", "drift is a vector"],
    ),
    (
        "lemma-11",
        "quantity = sqrt(moment(drift, 2))",
        "changed = drift",
        ["line 6", "changed of change-from-the-anchors"],
    ),
    (
        "lemma-7",
        "under ordering = once",
        "under ordering = fresh",
        ["line 3", "not proven to be equal"],
    ),
    ("lemma-7", "under ordering = once", "under order = once", ["is not there"]),
    (
        "lemma-7",
        "<= 4*length**2*alpha",
        "<= 99/25*length**2*alpha",
        ["square-of-the-difference"],
    ),
    (
        "lemma-12",
        'variance = "measured"',
        'variance = "measured", T = "integer"',
        ["none of the claim's letters"],
    ),
]


@for_each(("claim", "old", "new", "said"), FALSE)
def test_a_false_proof_is_refused_with_the_reason(
    changed: Changed, claim: str, old: str, new: str, said: list[str]
) -> None:
    statement = changed(claim, old, new)
    assert statement.proofs is not None
    assert statement.proofs.find(statement) is not None
    try:
        found = examine(statement)
        problems = "\n".join(found.problems)
        assert found.certificate is None
    except ProofError as error:
        problems = str(error)
    assert [part for part in said if part not in problems] == [], problems


def test_a_lemma_may_not_rest_on_itself(changed: Changed) -> None:
    statement = changed(
        "lemma-12-var",
        "   decays(s)\n<= sum(bit(s, i), i, 0, s)      by power-at-most-one",
        "   decays(s)\n<= log2(s + 1)      by prefix-decays",
    )
    with pytest.raises(ProofError, match="in a circle: prefix-decays -> prefix-decays"):
        derivation_of(statement)


def test_what_has_no_proof_as_text_is_said() -> None:
    with pytest.raises(ProofError, match="no proof as text"):
        derivation_of(SPECS.claim("tran2022:lemma-12").statement())
