import math
from dataclasses import replace
from fractions import Fraction
from random import Random

from dpverify.ledger.load import load_specs
from dpverify.ledger.records import Amendment, Verdict
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.theorem_derivations import theorem_9
from dpverify.symbolic.derive.derivation import check_derivation, conclude
from dpverify.symbolic.exact.numbers import to_ball, to_value
from dpverify.symbolic.exact.statements import evaluate_statement
from tests.unit.papers.derived import faulty_steps

SPECS = load_specs()


WINDOWS = "(6*G**2 + 2*sqrt(T/N)*(4*G**2 + (1-sqrt(N/T))**2*L**2)/(2-sqrt(N/T)))*log2(1+N/2)/(1-exp(-1))**2"


FRESH_9 = (
    "(R + 13/3*L)*sqrt(N/T) + 2*G*N/T + (7*G + 11/5*L)*(N/T)**(1/4)/sqrt(N)"
    " + 32*(N/T)**(3/4)*sqrt(log(1/delta)*log2(N)"
    f"*(3*G**2*log2(N) + {WINDOWS} + L**2*log2(T+1)))"
)


def amended(claim: str, reading: dict[str, str], **fields: object) -> Statement:
    """State a claim with an amendment of the test's own."""
    spec = SPECS.claim(f"tran2022:{claim}")
    amendment = Amendment(why="test", status="untested", **fields)  # type: ignore[arg-type]  # fields of an amendment
    verdict = Verdict(claim=claim, reading={}, status="untested", amendment=amendment)
    return replace(spec, verdicts=(verdict,)).statement(reading, variant="amended")


def test_theorem_9_does_not_follow_as_printed() -> None:
    statement = SPECS.claim("tran2022:theorem-9").statement({"ordering": "fresh"})
    assert not check_derivation(theorem_9(statement), points=20).complete


def test_the_printed_theorem_9_is_above_the_corrected_one_for_small_delta() -> None:
    reading, rng = {"ordering": "fresh"}, Random(7)
    corrected = amended("theorem-9", reading, formula=FRESH_9, requires=["T >= 4*N", "N >= 2"])
    printed = SPECS.claim("tran2022:theorem-9").statement(reading)
    derivation = theorem_9(corrected)
    assert faulty_steps(derivation, corrected, points=20) == []
    assert conclude(derivation, corrected) == "equal"
    for _ in range(60):
        N = int(10 ** rng.uniform(0.4, 9))
        T = min(max(int(10 ** rng.uniform(0, 3 * math.log10(N))), 4 * N), max(N**3, 4 * N))
        point = {
            "N": Fraction(N),
            "T": Fraction(T),
            "d": Fraction(1),
            "delta": Fraction(1, rng.choice([3, 10, 10**6])),
            "G": Fraction(1),
            "L": Fraction(10) ** rng.randint(-6, 6),
            "R": Fraction(rng.choice([0, 1, 100])),
        }
        (_, ours), (_, theirs) = (evaluate_statement(st, point) for st in (corrected, printed))
        assert float(to_ball(to_value(ours))) < 0.25 * float(to_ball(to_value(theirs)))
