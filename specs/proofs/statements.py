"""Turns the statements of ``rules.json`` into Coq propositions, ``statements.v``.

With ``--check`` it says whether that file is what it would write; with ``--rests`` it writes a file that holds every
proof against its proposition and asks Coq which axioms they rest on.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FUNCTIONS = {
    "exp": "exp", "log": "ln", "log2": "log2", "sqrt": "sqrt", "abs": "Rabs", "floor": "floor", "ceil": "ceiling",
    "max": "Rmax", "min": "Rmin", "mod": "modulo", "bit": "bit", "popcount": "popcount",
    "binomial": "binomial",
}  # fmt: skip
TYPES = {
    "real": "R",
    "integer": "R",
    "sequence": "R -> R",
    "bits": "R -> R",
    "vector": "vector",
    "random": "outcome P -> vector",
}
RELATIONS = {"<=": "<=", "<": "<", "=": "=", "!=": "<>"}
TAKEN = {"R", "S", "O", "Z", "N", "Q", "E", "P", "dim"}


def letter(name: str) -> str:
    """The letter in Coq, where some names are taken."""
    return name + "_" if name in TAKEN else name


def number(text: str) -> str:
    """Write a rational number."""
    value = Fraction(text)
    return f"({value.numerator})" if value.denominator == 1 else f"({value.numerator} / {value.denominator})"


def expression(e: Any) -> str:
    """Write an expression."""
    if isinstance(e, str):
        return "PI" if e == "pi" else letter(e)
    head, *args = e
    if head == "q":
        return number(args[0])
    if head in {"+", "*"}:
        return "(" + f" {head} ".join(map(expression, args)) + ")"
    if head == "^":
        return power(*args)
    if head == "sum":
        return total(args, "sum_over", "series")
    if head == "integral":
        return f"(integral {integrand(args)})"
    if head == "apply":
        return f"({letter(args[0])} {' '.join(map(expression, args[1:]))})"
    if head == "if":
        (relation, a, b), yes, no = args
        if relation != "<=":
            raise ValueError(f"a choice by {relation}")
        return f"(if Rle_dec {expression(a)} {expression(b)} then {expression(yes)} else {expression(no)})"
    if head in {"norm", "inner"}:
        return f"({'euclid' if head == 'norm' else 'inner'} dim {' '.join(vector(arg, 'plus_vector') for arg in args)})"
    if head == "moment":
        return f"(moment P dim {vector(args[0], 'plus_random P')} {expression(args[1])})"
    return f"({FUNCTIONS[head]} {' '.join(map(expression, args))})"


def power(base: Any, exponent: Any) -> str:
    """Write a power: a literal whole exponent as repeated multiplication, any other by the definition."""
    if exponent[:1] == ["q"] and Fraction(exponent[1]).denominator == 1:
        n = int(exponent[1])
        plain = expression(base) if abs(n) == 1 else f"({expression(base)} ^ {abs(n)})"
        return f"(/ {plain})" if n < 0 else plain
    return f"(power {expression(base)} {expression(exponent)})"


def total(args: list[Any], finite: str, infinite: str) -> str:
    """Write a sum."""
    index, lo, hi, term = args
    body = f"(fun {letter(index)} => {expression(term)})"
    return (
        f"({infinite} {expression(lo)} {body})"
        if hi == "oo"
        else f"({finite} {expression(lo)} {expression(hi)} {body})"
    )


def integrand(args: list[Any]) -> str:
    """Write what is integrated, over all real numbers."""
    v, lo, hi, term = args
    if (lo, hi) != ("-oo", "oo"):
        raise ValueError(f"an integral from {lo} to {hi}")
    return f"(fun {letter(v)} => {expression(term)})"


def vector(e: Any, plus: str) -> str:
    """Write a sum of vectors."""
    if isinstance(e, str):
        return letter(e)
    head, u, w = e
    if head != "+":
        raise ValueError(f"a vector by {head}")
    return f"({plus} {vector(u, plus)} {vector(w, plus)})"


def condition(c: Any, letters: dict[str, str]) -> str:
    """Write a condition."""
    head, *args = c
    if head in RELATIONS:
        return f"{expression(args[0])} {RELATIONS[head]} {expression(args[1])}"
    if head == "integer":
        return f"is_integer {expression(args[0])}"
    if head == "forall":
        index, lo, hi, inside = args
        i = letter(index)
        upper = "" if hi == "oo" else f" -> {i} <= {expression(hi)}"
        return f"(forall {i} : R, is_integer {i} -> {expression(lo)} <= {i}{upper} -> {condition(inside, letters)})"
    if args[0] == "set-bits":
        return f"lists_set_bits {letter(args[1])} {expression(args[2])}"
    if args[0] == "bernstein":
        return f"bernstein_order {' '.join(map(expression, args[1:]))}"
    if args[0] == "gaussian-norm":
        return f"centred_vector P dim {letter(args[1])} {' '.join(map(expression, args[2:]))}"
    if letters[args[1]] == "random":
        return f"random_vector P dim {letter(args[1])}"
    if letters[args[1]] == "vector":
        return ""  # the type of the letter says it
    raise ValueError(f"unknown condition {c}")


def limits(e: Any) -> list[str]:
    """Write that the infinite sums and integrals in an expression converge."""
    if isinstance(e, str):
        return []
    found = [text for arg in e[1:] for text in limits(arg)]
    if e[0] == "sum" and e[3] == "oo":
        found.append(total(e[1:], "", "converges")[1:-1])
    if e[0] == "integral":
        found.append(f"integrable {integrand(e[1:])}")
    return found


def statement(rule: dict[str, Any]) -> str:
    """Write a rule as a proposition: where its conditions hold, its limits exist and its relation holds."""
    letters = " ".join(f"({letter(name)} : {TYPES[kind]})" for name, kind in rule["letters"].items())
    if {"vector", "random"} & set(rule["letters"].values()):
        letters = "(dim : nat) " + letters
    if "random" in rule["letters"].values():
        letters = "(P : probability) " + letters
    conditions = [text for c in rule["conditions"] if (text := condition(c, rule["letters"]))]
    claims = limits(rule["lhs"]) + limits(rule["rhs"])
    claims.append(f"{expression(rule['lhs'])} {RELATIONS[rule['relation']]} {expression(rule['rhs'])}")
    lines = [f"  {text} ->" for text in conditions] + ["  " + " /\\ ".join(claims)]
    name = rule["name"].replace("-", "_")
    return f"Definition {name}_statement : Prop :=\n  forall {letters},\n" + "\n".join(lines) + "."


def rests(proved: list[dict[str, Any]]) -> str:
    """Write a file that takes all proofs together, each as a proof of its proposition, and asks for their axioms."""
    modules = sorted({rule["basis"]["coq"].removesuffix(".v") for rule in proved})
    names = [rule["name"].replace("-", "_") for rule in proved]
    terms = [
        f"  ({rule['basis']['coq'].removesuffix('.v')}.{name} : statements.{name}_statement)"
        for rule, name in zip(proved, names, strict=True)
    ]
    return (
        f"Require statements {' '.join(modules)}.\nDefinition all := (\n"
        + ",\n".join(terms)
        + ").\nPrint Assumptions all.\n"
    )


def main() -> int:
    """Write the file, or compare it."""
    rules = json.loads((HERE / "rules.json").read_text(encoding="utf-8"))["rules"]
    proved = [rule for rule in rules if "coq" in rule["basis"]]
    head = (
        "(* Written by statements.py from rules.json. *)\n"
        "From Coq Require Import Reals.\nRequire Import semantics.\nOpen Scope R_scope.\n\n"
    )
    text = head + "\n\n".join(map(statement, proved)) + "\n"
    if "--rests" in sys.argv:
        sys.stdout.write(rests(proved))
        return 0
    if "--check" in sys.argv:
        if (HERE / "statements.v").read_text(encoding="utf-8") == text:
            return 0
        sys.stderr.write("statements.v is not what statements.py makes of rules.json: run statements.py.\n")
        return 1
    (HERE / "statements.v").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
