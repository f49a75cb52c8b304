from collections.abc import Callable
from dataclasses import replace

from dpverify.ledger.load import load_specs
from dpverify.ledger.records import Amendment, Let, Verdict
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility import step_derivations as line
from dpverify.symbolic.derive.derivation import Derivation, check_derivation, conclude
from tests.for_each import for_each
from tests.unit.papers.derived import faulty_steps

Build = Callable[[Statement], Derivation]


SPECS = load_specs()


PRINTED: list[tuple[str, Build]] = [
    ("theorem-6-parameters", line.weight_from_steps),
    ("theorem-6-epsilon", line.below_one),
    ("theorem-6-largest-t", line.steps_from_weight),
    ("theorem-9-parameters", line.weight_from_steps),
    ("theorem-9-epsilon", line.below_one),
    ("theorem-9-display-1", line.absorb),
    ("theorem-9-display-eta", line.root_of_three),
    ("theorem-9-largest-t", line.steps_from_weight),
    ("theorem-9-display-t", line.identity),
]


WRONG = ["theorem-6-display-1", "theorem-6-display-t", "theorem-9-k", "theorem-9-alpha-proof"]


def amended(claim: str, reading: dict[str, str], **fields: object) -> Statement:
    """State a claim with an amendment of the test's own."""
    spec = SPECS.claim(f"tran2022:{claim}")
    amendment = Amendment(why="test", status="untested", **fields)  # type: ignore[arg-type]  # fields of an amendment
    verdict = Verdict(claim=claim, reading={}, status="untested", amendment=amendment)
    return replace(spec, verdicts=(verdict,)).statement(reading, variant="amended")


@for_each(("claim", "build"), PRINTED)
def test_a_printed_line_is_derived(claim: str, build: Build) -> None:
    statement = SPECS.claim(f"tran2022:{claim}").statement({})
    derivation = build(statement)
    assert faulty_steps(derivation, statement, points=20) == []
    assert conclude(derivation, statement) == "equal"


@for_each("claim", WRONG)
def test_a_line_that_is_no_identity_is_not_derived(claim: str) -> None:
    derivation = line.identity(SPECS.claim(f"tran2022:{claim}").statement({}))
    assert not check_derivation(derivation, points=20).complete


def test_k_with_the_root_is_an_identity() -> None:
    printed = (
        "12*K*G*alpha*sqrt(d)/epsilon + 8*K*(G+2*L)*alpha*sqrt(eta*d*T)/epsilon + K*alpha*eta*L*sqrt(3*d*T*N)/epsilon"
    )
    let = [Let(symbol="K", value="16*log2(T)*sqrt(log(1/delta))")]
    statement = amended("theorem-9-k", {}, formula=printed, let=let)
    derivation = line.identity(statement)
    assert check_derivation(derivation, points=20).complete
    assert conclude(derivation, statement) == "equal"


def test_gamma_is_at_most_a_half_from_four_epochs_on() -> None:
    statement = amended("theorem-9-gamma", {}, formula="1/2", requires=["T >= 4*N"])
    derivation = line.half(statement)
    assert check_derivation(derivation, points=20).complete
    assert conclude(derivation, statement) == "equal"


def test_the_improvement_needs_a_large_epsilon_n() -> None:
    statement = amended(
        "abstract-improvement", {}, formula="d**(1/4)/sqrt(epsilon*N)", requires=["epsilon*N >= sqrt(d)"]
    )
    derivation = line.improvement(statement)
    assert check_derivation(derivation, points=20).complete
    assert conclude(derivation, SPECS.claim("tran2022:abstract-improvement").statement({})) != "equal"
