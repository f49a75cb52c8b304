"""False twins of the lemmas in docs/examples/specs/lemmas2026: off by little, at a boundary, or without a value."""

from __future__ import annotations

DOMAINS = {
    "epsilon": "real, epsilon > 0",
    "delta": "real, 0 < delta < 1",
    "rho": "real, rho > 0",
    "order": "real, order > 1",
    "q": "real, 0 < q <= 1",
    "sigma": "real, sigma > 0",
    "k": "integer, k >= 1",
    "T": "integer, T >= 1",
    "eta": "real, eta > 0",
    "L": "real, L > 0",
    "mu": "real, mu > 0",
    "G": "real, G > 0",
    "R": "real, R > 0",
    "C": "real, C > 0",
    "beta": "real, 0 <= beta < 1",
    "lam": "real, lam >= 0",
    "x": "real",
    "y": "real",
    "c": "real, c > 0",
    "s": "real, s > 0",
}

STEPS = {
    "rate-choice-off": {"eta": "1/sqrt(T)"},
    "two-regimes-off": {"eta": "min(1/L, sqrt(R/(L*T))/sigma)"},
}

TWINS = [
    (
        "zcdp-simple-off",
        "rho + 2*sqrt(rho*log(1/delta)) <= 3*sqrt(rho*log(1/delta))",
        "rho <= 1.01*log(1/delta)",
    ),
    ("union-off", "1 - (1 - delta)**k <= (k - 1)*delta"),
    ("loss-second-off", "exp(epsilon) - 1 <= epsilon + epsilon**2", "epsilon <= 2"),
    ("loss-second-closed", "exp(epsilon) - 1 <= 1.718*epsilon", "epsilon <= 1"),
    (
        "amplified-linear-off",
        "log(1 + q*(exp(epsilon) - 1)) <= q*epsilon",
        "epsilon <= 1",
    ),
    ("amplified-above-off", "log(1 + q*(exp(epsilon) - 1)) >= 1.01*q*epsilon"),
    ("total-variation-off", "(exp(epsilon) - 1)/(exp(epsilon) + 1) <= 0.499*epsilon"),
    (
        "renyi-optimum-zero",
        "rho*lam + log(1/delta)/(lam - 1) >= rho + 2*sqrt(rho*log(1/delta))",
        "lam >= 1",
    ),
    (
        "conversion-off",
        "log(1/delta)/(order - 1) <= log((order - 1)/order) - (log(delta) + log(order))/(order - 1)",
    ),
    (
        "moment-bound-closed",
        "q**2*lam*(lam + 1)/((1 - q)*sigma**2) <= 2*q**2*lam*(lam + 1)/sigma**2",
        "q <= 0.51",
    ),
    ("moment-bound-zero", "q**2/(1 - q) >= q**2"),
    ("clip-zero", "min(1, C/lam)*lam <= C"),
    ("contraction-real", "(1 - eta*mu)**T <= exp(-eta*mu*T)"),
    ("bernoulli-real", "1 - lam*q <= (1 - q)**lam"),
    ("noise-floor-off", "eta**2*G**2*sum((1 - eta*mu)**i, i, 0, T - 1) <= eta*G**2/mu"),
    ("noise-series", "sum((1 - q)**i, i, 0, oo) <= 0.999/q"),
    ("steps-root-off", "sum(1/sqrt(t), t, 1, T) <= 2*sqrt(T) - 1.01"),
    ("steps-harmonic-off", "sum(1/t, t, 1, T) <= 0.999 + log(T)"),
    ("steps-harmonic-late", "sum(1/t, t, 1, T) <= 0.5 + log(T)", "T >= 2"),
    (
        "recursion-off",
        "(1 - 2/T)*4*G**2/T + 4*G**2/T**2 <= 4*G**2/(T + 1) - 4*G**2/T**3",
        "T >= 2",
    ),
    (
        "bias-correction-off",
        "(1 - beta)*sum(beta**(T - i), i, 1, T) = 1 - beta**(T + 1)",
    ),
    ("momentum-noise-off", "sum(((1 - beta)*beta**i)**2, i, 0, T) <= (1 - beta)**2"),
    ("log-negative", "x/(1 + x) <= log(1 + x)", "x >= -1"),
    ("log-second-negative", "log(1 + x) >= x - x**2/2", "x > -1"),
    ("cubic-off", "c**2*(1 - c) <= 0.148"),
    ("rate-choice-off", "eta*L <= 1/4", "T >= 15.9*L**2"),
    ("relaxed-triangle-off", "(x + y)**2 <= (1 + c)*x**2 + y**2/c"),
    (
        "tail-union-off",
        "k*exp(-epsilon*s/2) <= delta",
        "s >= 1.99*log(k/delta)/epsilon",
    ),
    ("tree-height-off", "floor(log2(T)) + 1 <= log2(2*T) - 1/T"),
    ("power-grows-off", "T**2 <= 2**T"),
    (
        "two-regimes-off",
        "2*R/(eta*T) + L*eta*sigma**2 <= 2*L*R/T + 2.9*sigma*sqrt(L*R/T)",
    ),
    ("squares-late", "sum(t**2, t, 1, T) <= T**3/3 + T**2/2 + 0.166*T"),
    ("root-of-square", "sqrt(x**2) <= x"),
    ("odd-root", "x <= x**2 + 0.24"),
]
