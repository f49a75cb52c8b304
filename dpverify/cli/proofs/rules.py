"""``dpverify rules``: the rules that a line of a proof may cite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.cli.output import OK, BadInput

if TYPE_CHECKING:
    from dpverify.symbolic.rules import Rule


def rules(*words: str) -> int:
    """List the rules that a line of a proof may cite.

    Each rule is printed with its two sides, its side conditions, the reason why it is true, and its proof in Coq.

    Parameters
    ----------
    words
        Only rules with all of these words in their name, their formulas or their reason, such as popcount or
        "geometric sum". Default: all rules.
    """
    from dpverify.symbolic.certify.checker import rules as checked_rules
    from dpverify.symbolic.elaborate.present import rule_lines
    from dpverify.symbolic.rules import CATALOGUE

    bases = {rule["name"]: rule["basis"] for rule in checked_rules()}
    texts = {rule.name: rule_lines(rule, bases.get(rule.name)) for rule in CATALOGUE.values()}
    chosen = [name for name in texts if _has_all(CATALOGUE[name], texts[name], words)]
    if not chosen:
        raise BadInput("WORD", repr(" ".join(words)), f"must be in one of the {len(texts)} rules: dpverify rules")
    print("\n".join(line for name in chosen for line in texts[name]))
    return OK


def _has_all(rule: Rule, lines: list[str], words: tuple[str, ...]) -> bool:
    text = " ".join([rule.name.replace("-", " "), *lines]).lower()
    return all(part in text for word in words for part in word.lower().split())
