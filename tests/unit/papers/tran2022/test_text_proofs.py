"""Proofs as text prove their statement and nothing sharper."""

from __future__ import annotations

from dpverify.symbolic.elaborate.proofs import derivation_of
from tests.for_each import for_each
from tests.unit.papers.tran2022.sharpness import Variant, proves_nothing_sharper

CASES: list[tuple[str, Variant, str]] = [
    ("theorem-4-quadratic", "printed", "epsilon*99/100"),
    ("theorem-4-sufficient", "printed", "sqrt(2*log(1/delta) + epsilon)/epsilon"),
    ("theorem-4-geometric", "printed", "3*alpha*G"),
    ("theorem-4-sensitivity", "amended", "2*alpha*G*(1 + 0.99/(1 - exp(-1)))"),
    ("theorem-8-sensitivity-r", "amended", "2*eta*(N - 1)*L*0.99/(1 - exp(-1))"),
    ("theorem-8-count-first", "amended", "2*floor(log2(N)) + 2"),
    ("theorem-6-v", "amended", "(T/N)*log2(T)"),
    ("theorem-8-count-later-log", "amended", "(T/N)*log2(N)"),
    (
        "lemma-7-var-2",
        "printed",
        "12*alpha**2*delta_G**2*sigma**2*log2(N)**2/(1-exp(-2))**2",
    ),
    (
        "lemma-7-var-3",
        "printed",
        "4*gamma*alpha**2*delta_G**2*sigma**2*T*log2(N)**2/((1-exp(-1))**2*N)",
    ),
    ("lemma-7-var-2-sum", "printed", "1"),
    ("lemma-7-count-2", "amended", "2*log2(N/2)"),
    ("lemma-7-count-5", "amended", "floor(log2(T))"),
    (
        "lemma-7-coefficient",
        "amended",
        "99/100*(1-gamma)**window/(1 - gamma - exp(-1))",
    ),
    (
        "lemma-11",
        "amended",
        "G*sqrt(alpha/(2-alpha)) + 2*eta*L*((N-1)/N)*(N-1) + eta*L*(1-alpha)/alpha",
    ),
    ("lemma-11-sampling", "amended", "0.99*alpha*G**2/(2-alpha)"),
    ("gaussian-divergence-multi", "printed", "z*mu_norm**2/(3*sigma**2)"),
    (
        "theorem-10-factor",
        "printed",
        "exp((z-1)*rho**2*query_gap**2/(2*query_sensitivity**2))",
    ),
    ("theorem-10-rdp-to-dp", "printed", "delta/2"),
    ("theorem-10-dp", "printed", "delta/2"),
    ("theorem-10-dp-intermediate", "amended", "99/100*delta"),
    ("theorem-4-conversion", "printed", "99/100*delta"),
    ("theorem-8-condition", "amended", "epsilon/2"),
    ("theorem-8-count-first-log", "amended", "2*log2(N)"),
    ("theorem-10-factor-bound", "printed", "exp((z-1)*rho**2/2)"),
    ("proposition-13-chord", "printed", "1 - x*(1-exp(-1)) - 1/100"),
    (
        "proposition-14",
        "printed",
        "1/(1-exp(-1))*max(99/100, 1/(alpha*N - log(1/(1-gamma))))",
    ),
    (
        "corollary-15",
        "printed",
        "(1-gamma)**(window-1)/(1-exp(-1))*max(99/100, 1/(alpha*N - log(1/(1-gamma))))",
    ),
    ("proposition-14-special", "printed", "1"),
    ("proposition-14-special-step", "printed", "N*alpha - 1/100"),
    ("proposition-16-mod", "printed", "2**low_bits"),
]


@for_each(("claim", "variant", "sharper"), CASES, ids=[case[0] for case in CASES])
def test_a_proof_proves_its_statement_and_nothing_sharper(
    claim: str, variant: Variant, sharper: str
) -> None:
    proves_nothing_sharper(claim, variant, derivation_of, sharper)
