from __future__ import annotations

from fractions import Fraction

from dpverify.ledger.formula import Num, latex, parse, parse_relation
from tests.for_each import for_each

LETTERS = {
    **{
        name: rf"\{name}"
        for name in ("alpha", "gamma", "delta", "sigma", "epsilon", "eta")
    },
    "V2": "V_{>2N}",
    "pi": r"\pi^q",
    "pi_t": r"\pi^{q}_t",
    "prime": "D'",
    "distance": r"\|D^\prime\|",
    "change": r"\nabla f(w_t) - \nabla f(w_0)",
    "ratio": r"\sigma^2/\Delta^2",
    "error": r"\|m - \nabla F\|^2",
}


@for_each(
    ("text", "wanted"),
    [
        ("4*alpha*G*sigma*sqrt(d*V*log2(T))", r"4 \alpha G \sigma \sqrt{d V \log_2 T}"),
        ("1/(2*sigma**2)", r"\frac{1}{2 \sigma^{2}}"),
        (
            "max(1, 1/(alpha*N))/(1 - exp(-1))",
            r"\frac{\max\left(1, \frac{1}{\alpha N}\right)}{1 - \exp(-1)}",
        ),
        (
            "sum((1 - alpha)**(N*i), i, 0, oo)",
            r"\sum_{i=0}^{\infty} (1 - \alpha)^{N i}",
        ),
        ("integral(exp(-x), x, 0, oo)", r"\int_{0}^{\infty} \exp(-x) \, dx"),
        (
            "integral(a + x, x)*b",
            r"\left(\int_{-\infty}^{\infty} (a + x) \, dx\right) b",
        ),
        (
            "infimum(a*z + b/z, z, 1, oo)",
            r"\inf_{1 < z < \infty} \left(a z + \frac{b}{z}\right)",
        ),
        ("supremum(a*z, z, 0, 1)*b", r"\left(\sup_{0 < z < 1} a z\right) b"),
        ("sum(a + b, i, 0, n)", r"\sum_{i=0}^{n} (a + b)"),
        ("sum(a, i, 0, 1)*b", r"\left(\sum_{i=0}^{1} a\right) b"),
        ("b*sum(a, i, 0, 1)", r"b \sum_{i=0}^{1} a"),
        ("1 + sum(gamma**2**i, i, 1, R)", r"1 + \sum_{i=1}^{R} \gamma^{2^{i}}"),
        (
            "bit(s, i)*gamma**(2*mod(s, 2**i))",
            r"\mathrm{bit}_{i}(s) \gamma^{2 (s \bmod 2^{i})}",
        ),
        ("mod(a*b, c)", r"(a b) \bmod c"),
        ("mod(a, b) + 1", r"(a \bmod b) + 1"),
        ("floor(T/2**j)", r"\left\lfloor \frac{T}{2^{j}}\right\rfloor"),
        (
            "floor(a) + ceil(b) + abs(c)",
            r"\lfloor a \rfloor + \lceil b \rceil + \lvert c \rvert",
        ),
        ("floor(a)**2", r"\lfloor a \rfloor^{2}"),
        ("d**(1/4)", "d^{1/4}"),
        ("d**-(1/4)", "d^{-1/4}"),
        ("d**(-1/4)", "d^{-1/4}"),
        ("d**((a + 1)/4)", r"d^{\frac{a + 1}{4}}"),
        ("d**-1", "d^{-1}"),
        (
            "log(1/delta)**(1/4)",
            r"\left(\log\left(\frac{1}{\delta}\right)\right)^{1/4}",
        ),
        ("log2(T)*x", r"\log_2(T) x"),
        ("(1 + log2(T))*x", r"(1 + \log_2 T) x"),
        ("log2(T) + x", r"\log_2 T + x"),
        ("log2(T)**2", r"(\log_2 T)^{2}"),
        ("log(a + b)", r"\log(a + b)"),
        ("a + (b - c)", "a + b - c"),
        ("a - (b - c)", "a - (b - c)"),
        ("a - (b + c)", "a - (b + c)"),
        ("a*(b*c)", "a b c"),
        ("a/b*c", r"\frac{a}{b} c"),
        ("a/(b/c)", r"\frac{a}{\frac{b}{c}}"),
        ("(a + b)*2", r"(a + b) \cdot 2"),
        ("2*3**k", r"2 \cdot 3^{k}"),
        ("2*(1/3)", r"2 \cdot \frac{1}{3}"),
        ("4*(T/N)", r"4 \frac{T}{N}"),
        ("-a**2", "-a^{2}"),
        ("(-a)**2", "(-a)^{2}"),
        ("-(a + b)", "-(a + b)"),
        ("-a + b", "-a + b"),
        ("a + -b", "a + (-b)"),
        ("a + (-b + c)", "a + (-b + c)"),
        ("a - -b", "a - (-b)"),
        ("--a", "-(-a)"),
        ("a*-b", "a (-b)"),
        ("-a*b", "-a b"),
        ("x + -a*b", "x + (-a b)"),
        ("x*(-a*b)", "x (-a) b"),
        ("(-a*b)**2", "(-a b)^{2}"),
        ("(-a + b)*c", "(-a + b) c"),
        ("exp(-alpha*N)", r"\exp(-\alpha N)"),
        ("-2/3*x + y", r"-\frac{2}{3} x + y"),
        ("y - 2/3*x", r"y - \frac{2}{3} x"),
        ("y + -2/3", r"y + \left(-\frac{2}{3}\right)"),
        ("(a/b)**2", r"\left(\frac{a}{b}\right)^{2}"),
        ("(a*b)**2", "(a b)^{2}"),
        ("(a**b)**c", "(a^{b})^{c}"),
        ("V2**2", "V_{>2N}^{2}"),
        ("pi**2", r"(\pi^q)^{2}"),
        ("pi_t**2", r"(\pi^{q}_t)^{2}"),
        ("prime**2", "(D')^{2}"),
        ("distance**2", r"\|D^\prime\|^{2}"),
        ("x - change", r"x - (\nabla f(w_t) - \nabla f(w_0))"),
        ("change - x", r"\nabla f(w_t) - \nabla f(w_0) - x"),
        ("gamma*change**2", r"\gamma (\nabla f(w_t) - \nabla f(w_0))^{2}"),
        ("log(change)", r"\log(\nabla f(w_t) - \nabla f(w_0))"),
        ("2*ratio*x + ratio", r"2 (\sigma^2/\Delta^2) x + \sigma^2/\Delta^2"),
        ("x*error", r"x \|m - \nabla F\|^2"),
        ("0.1*x", "0.1 x"),
        ("step_size", r"\mathrm{step\_size}"),
        ("oo", r"\infty"),
    ],
)
def test_shape_is_kept(text: str, wanted: str) -> None:
    assert latex(parse(text), LETTERS) == wanted


def test_functions_of_the_paper() -> None:
    heads = {"F": "F", "G": "G_{[#1,#2]}"}
    assert latex(parse("F(a, 1/b)"), {}, heads) == r"F\left(a, \frac{1}{b}\right)"
    assert latex(parse("G(1, t - 1)"), {}, heads) == "G_{[1,t - 1]}"
    assert latex(parse("other(a)"), {}, heads) == r"\mathrm{other}(a)"


def test_an_argument_is_not_taken_for_a_place() -> None:
    assert latex(parse("G(a, b)"), {"a": "#2"}, {"G": "G_{#1,#2}"}) == "G_{#2,b}"


def test_comparisons() -> None:
    assert latex(parse_relation("0 < alpha <= 1"), LETTERS) == r"0 < \alpha \le 1"
    assert latex(parse_relation("a >= b"), {}) == r"a \ge b"
    assert latex(parse_relation("a == b"), {}) == "a = b"


def test_numbers_that_no_text_gives() -> None:
    assert latex(Num(Fraction(-1, 3)), {}) == r"-\frac{1}{3}"
    assert latex(Num(Fraction(-5, 2)), {}) == "-2.5"
