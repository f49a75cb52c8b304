from __future__ import annotations

from dpverify.report.text.console import in_ascii
from dpverify.report.text.formulas import domains_text, formula_text, prose_text
from tests.for_each import for_each


@for_each(
    ("text", "plain"),
    [
        ("renyi_divergence <= z/(2*sigma**2)", "renyi_divergence ≤ z/(2·σ²)"),
        ("4*alpha*G*sqrt(d*V*log2(T + 1))", "4·α·G·√(d·V·log₂(T + 1))"),
        ("sum(floor(T/2**j), j, 1, oo) - (x - y)", "Σ[j = 1 .. ∞] ⌊T/2^j⌋ - (x - y)"),
        (
            "integral(exp(-x), x, 0, oo) + integral(exp(-x**2), x)",
            "∫[0 .. ∞] exp(-x) dx + (∫ exp(-x²) dx)",
        ),
        ("infimum(z*rho, z, 1, oo)", "inf[1 < z < ∞] z·ρ"),
        ("a*sum(j, j, 1, n)", "a·(Σ[j = 1 .. n] j)"),
        ("(a + b)**(n - 1)/(c/d)", "(a + b)^(n - 1)/(c/d)"),
        ("2**(-3)*x**(1/2)", "2⁻³·x^(1/2)"),
        ("error = O~(sqrt(d)/n)", "error = Õ(√d/n)"),
        ("V = T/N", "V = T/N"),
        ("0 < gamma_0 <= 1", "0 < γ₀ ≤ 1"),
        ("norm(abs(x) + ceil(y))", "‖|x| + ⌈y⌉‖"),
        ("not a formula: alpha >= 1", "not a formula: α ≥ 1"),
    ],
)
def test_formulas_are_plain_text(text: str, plain: str) -> None:
    assert formula_text(text) == plain


@for_each(
    ("text", "plain"),
    [
        ("at alpha >= 1/N, sigma^2 is 4*T", "at α ≥ 1/N, σ² is 4·T"),
        ("theorem-4-gamma and eta_t, w_129", "theorem-4-gamma and η_t, w₁₂₉"),
        ("sqrt(d), 20 G^2/d and 10^45, n^(1/2)", "√d, 20 G²/d and 10⁴⁵, n^(1/2)"),
        ("`C_1` and n<sub>i</sub>", "C₁ and n_i"),
    ],
)
def test_mathematics_in_prose_is_plain_text(text: str, plain: str) -> None:
    assert prose_text(text) == plain


def test_ascii_terminals_get_the_letters_of_a_programming_language() -> None:
    assert (
        in_ascii("4·α·√(d·log₂(T)) ≤ ⌊x₁²⌋, ✗ refuted")
        == "4*alpha*sqrt(d*log2(T)) <= floor(x_1^2), x refuted"
    )


def test_letters_of_one_kind_and_bound_stand_together() -> None:
    domains = [
        "N integer, N >= 1",
        "T integer, T >= 1",
        "alpha real, 0 < alpha <= 1",
        "sigma real, sigma > 0",
        "x real",
    ]
    assert domains_text(domains) == "integer N, T ≥ 1; real 0 < α ≤ 1, x, σ > 0"
