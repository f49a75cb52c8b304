from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dpverify.ledger.results import Result
from dpverify.report.pages.repository import recorded
from dpverify.report.typesetting import typeset
from tests.for_each import for_each

ROOT = Path(__file__).parents[4]


@for_each(
    ("text", "typed"),
    [
        ("for alpha >= 1/N and 4T >= N.", r"for $\alpha \ge 1/N$ and $4T \ge N$."),
        (
            "at most 2 floor(log2 N) + 3 nodes",
            r"at most $2\lfloor \log_2 N \rfloor + 3$ nodes",
        ),
        ("epsilon <= 7/3 log(1/delta)", r"$\epsilon \le 7/3\log(1/\delta)$"),
        ("1 - (1-alpha)^(t-i), not 1", r"$1 - (1-\alpha)^{t-i}$, not 1"),
        (
            "x in (0, 1/alpha] or [0, alpha), not alpha(0]",
            r"$x$ in $(0, 1/\alpha]$ or $[0, \alpha)$, not alpha(0]",
        ),
        ("sqrt(d log(1/delta))/epsilon", r"$\sqrt{d\log(1/\delta)}/\epsilon$"),
        ("|m-hat_t - m_t| is", r"$|\hat{m}_t - m_t|$ is"),
        (
            "(epsilon, delta)-DP with V_<=2N",
            r"$(\epsilon, \delta)$-DP with $V_{\le 2N}$",
        ),
        (
            "10^-6 or 1e-6 examples; delta = 1e-6",
            r"$10^{-6}$ or 1e-6 examples; $\delta = 10^{-6}$",
        ),
        ("f(w, x) <= |grad F(w_1)|^2", r"$f(w, x) \le |\nabla F(w_1)|^2$"),
        ("the r node of step 2N", "the $r$ node of step $2N$"),
        (
            "|e| < 5/4 |g| of [Wang et al., 2019b]",
            r"$|e| < 5/4|g|$ of [Wang et al., 2019b]",
        ),
        ("b/(m n~) hides O~", r"$b/(m\tilde{n})$ hides $\tilde{O}$"),
        (
            "E|m-hat_t - m_t|^2 <= e_(t+1)",
            r"$\mathbb{E}|\hat{m}_t - m_t|^2 \le e_{t+1}$",
        ),
    ],
)
def test_formulas_are_typeset(text: str, typed: str) -> None:
    assert typeset(text) == typed


@for_each(
    "text",
    [
        "A step of a run, in 3/7 of 5 cases.",
        "Theorem 4, Lemmas 11 and 12, appendix B.1, case A",
        "`alpha >= 1/N` and $x$ and [alpha >= 1](alpha.md#alpha)",
        "k-th, p-value, log-concave, and/or",
        "NOTES_identities.md, compose_count_prefix and OUT(s)",
        "{{ claim('theorem-3-1') }} and {{ figure('a', 'b') }}",
        "the settings (see above) are 2 (of 3)",
        "costs $5 or 6",
        "5 of 20% and 1000000",
    ],
)
def test_words_numbers_and_code_stay(text: str) -> None:
    assert typeset(text) == text


@for_each(
    ("text", "typed"),
    [
        ("At t = 1 log t is no noise", r"At $t = 1$ $\log t$ is no noise"),
        ("At N = 1 V_<=2N = 0, and", r"At $N = 1$ $V_{\le 2N} = 0$, and"),
        ("(alpha = 1) and [1, 2N]", r"($\alpha = 1$) and $[1, 2N]$"),
        ("at epsilon (N = 1)", r"at $\epsilon$ ($N = 1$)"),
    ],
)
def test_neighbouring_formulas_are_not_joined(text: str, typed: str) -> None:
    assert typeset(text) == typed


def test_claims_and_commands_are_code() -> None:
    text = (
        "As theorem-4-dp and tran2022:lemma-12: dpverify explain lemma-12 --at x. Then"
    )
    assert (
        typeset(text)
        == "As `theorem-4-dp` and `tran2022:lemma-12`: `dpverify explain lemma-12 --at x`. Then"
    )


def verdict_texts() -> Iterator[str]:
    """The texts that pages show of recorded verdicts."""
    for run in recorded(ROOT / "reports").values():
        for result in run.results:
            yield from _texts(result)


def _texts(result: Result) -> Iterator[str]:
    # no page shows what the automatic search could not prove
    if "; not proved: " not in result.reason:
        yield result.reason
    yield from result.findings[:3]
    yield from (amended.why for amended in (result.amendment, result.holds) if amended)


LATEX = re.compile(r"\$([^$]*)\$")
COMMANDS = {r"\le": "<=", r"\ge": ">=", r"\ne": "!=", r"\mid": "|", r"\nabla": "grad"}
COMMANDS |= {r"\lfloor": "floor(", r"\rfloor": ")", r"\lceil": "ceil(", r"\rceil": ")"}


def flat(text: str) -> str:
    """Text with nothing but its letters, digits and operators, in their order."""
    text = re.sub(r"(\w)~", r"\1-tilde", text)
    text = re.sub(r"\\(hat|bar|tilde)\{([^{}]*)\}", r"\2-\1", text)
    text = re.sub(r"\\sqrt\{", "sqrt(", text)
    text = re.sub(r"(\d)e\+?(-?)0*(\d)", r"\1*10^\2\3", text).replace(r"\cdot", "*")
    text = re.sub(r"(?<![\d.*])1\*(?=10\^)", "", text)
    text = re.sub(r"\\[a-z]+", lambda found: COMMANDS.get(found[0], found[0][1:]), text)
    return re.sub(r"[\s{}()\[\]\\$`_]|mathrm|mathbb", "", text).replace("log_2", "log2")


def test_typesetting_changes_no_letter_no_digit_and_no_operator_of_any_verdict() -> (
    None
):
    changed = 0
    for text in dict.fromkeys(verdict_texts()):
        typed = typeset(text)
        changed += typed != text
        assert flat(typed) == flat(text), typed
    assert changed > 400


def test_little_ascii_mathematics_is_left_in_verdict_texts() -> None:
    left = 0
    for text in dict.fromkeys(verdict_texts()):
        plain = re.sub(r"`[^`]*`|\$[^$]*\$", " ", typeset(text))
        left += len(
            re.findall(
                r"(?<!\S)[A-Za-z0-9()/^*]*(?:<=|>=|\^|\bsqrt\(|(?<![a-z])(?:alpha|sigma|delta)\b)",
                plain,
            )
        )
    assert left <= 45, "2,583 words before formulas were typeset"
