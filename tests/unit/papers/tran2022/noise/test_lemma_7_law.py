"""What Lemma 7's definitions assume is true of the exact law, and the corrected lemma is below the printed one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpverify.ledger.formula import parse
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise.noise_bounds import squared_decays, window_weights
from dpverify.symbolic.exact.evaluate import evaluate_statement
from dpverify.symbolic.exact.numbers import compare, to_value

SPECS = load_specs()


ONCE = {"ordering": "once"}


def statement(claim: str, reading: dict[str, str] | None = None) -> Statement:
    return SPECS.claim(f"tran2022:{claim}").statement(reading or {}, "printed")


def corrected(
    claim: str, formula: str, reading: dict[str, str] | None = None
) -> Statement:
    return replace(statement(claim, reading), rhs=parse(formula), variant="amended")


def test_what_the_definitions_say_of_nodes_and_weights_is_the_exact_law() -> None:
    for n in (1, 2, 3, 6, 16, 31):
        for alpha in (Fraction(1, n), Fraction(2, n + 1)):
            for gamma in (Fraction(1, 2), Fraction(1, 50)):
                keep, block = 1 - gamma, (1 - alpha) ** n
                for k, c in enumerate(window_weights(6, n, alpha, gamma), start=1):
                    exact = sum(block**j * keep ** (k - 1 - j) for j in range(k))
                    assert compare(c, "=", to_value(exact)) is not False
            for start in range(1, 3 * n):
                size = 2 ** ((start ^ (start + n)).bit_length() - 1)
                p = size - start % size
                window, prefix = _of_runs(p, n - p, alpha), _of_runs(0, start, alpha)
                assert (
                    compare(
                        squared_decays(start + 1, start + n, alpha),
                        "=",
                        to_value(window),
                    )
                    is not False
                )
                assert (
                    compare(squared_decays(1, start, alpha), "=", to_value(prefix))
                    is not False
                )


def _of_runs(p: int, v: int, alpha: Fraction) -> Fraction:
    found = Fraction(0)
    for i in range(max(p, v) + 1):
        found += (1 - alpha) ** (2 * (v + p - p % 2 ** (i + 1))) if p >> i & 1 else 0
        found += (1 - alpha) ** (2 * (v % 2**i)) if v >> i & 1 else 0
    return found


def _value(x: Any) -> Any:
    return x if isinstance(x, Fraction) else x.mid()


def test_the_corrected_lemma_is_below_the_printed_one_for_runs_of_an_epoch_and_more() -> (
    None
):
    formula = (
        "16*alpha*sqrt(d*log(1/delta)*log2(N)*(3*G**2*log2(N)"
        " + (6*G**2 + eta*T*(16*G**2/3 + L**2))*log2(N)/(1-exp(-1))**2"
        " + eta**2*N*T*L**2*log2(T+1)))/epsilon"
    )
    printed, ours = statement("lemma-7", ONCE), corrected("lemma-7", formula, ONCE)
    for n in (2, 3, 64, 1000):
        for steps in (n, n + 1, 2 * n - 1, 100 * n):
            for share in (Fraction(1, 2), Fraction(1, 1000)):
                for smooth in (0, 1, 1000):
                    at: dict[str, Any] = {
                        "N": n,
                        "T": steps,
                        "t": steps,
                        "alpha": Fraction(1, n),
                        "eta": share / n,
                        "G": 1,
                    }
                    at |= {"L": smooth, "d": 5, "delta": Fraction(1, 9), "epsilon": 1}
                    (_, sharp), (_, blunt) = (
                        evaluate_statement(ours, at),
                        evaluate_statement(printed, at),
                    )
                    assert _value(sharp) <= _value(blunt)
