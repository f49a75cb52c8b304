"""Lines of the proofs of Theorems 6 and 9: the true ones are proved as they are printed, the false ones are not."""

from __future__ import annotations

from dpverify.ledger.load import load_specs
from dpverify.symbolic.elaborate.examination import examine
from tests.for_each import for_each
from tests.unit.papers.text import with_chain

SPECS = load_specs()

PRINTED = [
    "theorem-6-parameters",
    "theorem-6-epsilon",
    "theorem-6-largest-t",
    "theorem-9-parameters",
    "theorem-9-epsilon",
    "theorem-9-display-1",
    "theorem-9-display-eta",
    "theorem-9-largest-t",
    "theorem-9-display-t",
]
WRONG = [
    "theorem-6-display-1",
    "theorem-6-display-t",
    "theorem-9-k",
    "theorem-9-alpha-proof",
]
IDENTITY = "left\n = right"


@for_each("claim", PRINTED)
def test_a_printed_line_is_proved(claim: str) -> None:
    found = examine(SPECS.claim(f"tran2022:{claim}").statement())
    assert found.problems == ()
    assert found.certificate is not None
    assert found.relation == "equal"


@for_each("claim", WRONG)
def test_a_line_that_is_no_identity_is_not_proved(claim: str) -> None:
    found = examine(with_chain(SPECS.claim(f"tran2022:{claim}").statement(), IDENTITY))
    assert found.certificate is None
    assert any(
        "line 2" in problem and "false at" in problem for problem in found.problems
    ), found.problems


@for_each("claim", ["theorem-9-k", "theorem-9-gamma", "abstract-improvement"])
def test_the_proof_of_a_correction_does_not_prove_what_is_printed(claim: str) -> None:
    spec = SPECS.claim(f"tran2022:{claim}")
    proof = spec.proofs.proofs_of(claim)[0]
    assert proof.variant == "amended"
    assert examine(spec.statement({}, "amended")).certificate is not None
    assert (
        examine(with_chain(spec.statement(), proof.chain, let=proof.let)).certificate
        is None
    )
