"""A part of a record's statement that no form has, since it is multiplied by 0 or cancels, must have a value too."""

from pathlib import Path
from typing import Any

from dpverify.symbolic.certify.checker import k, reader, rules
from tests.for_each import for_each
from tests.unit.symbolic.certify.test_false_certificates import (
    ZERO,
    body,
    certificate,
    fact,
    minus,
    power,
    q,
    rule,
    sealed,
)

SYMBOLS = """
[paper]
key = "toy"
[symbols.x]
domain = "real"
[symbols.y]
domain = "real"
[symbols.n]
domain = "integer"
[functions.f]
arity = 1
"""
SQUARE = power("y", q("2"))
BY_RULE = fact(
    ">=", SQUARE, *rule("am-gm", a=["*", q("1/2"), "y"], b=["*", q("-1/2"), "y"])
)
#: A formula, its value wherever it has one, and a condition under which it has; empty where there is none.
FORMULAS: dict[str, tuple[str, str, str]] = {
    "a power times 0": ("0*x**(-1)", "0", "x > 0"),
    "a quotient times 0": ("0/x", "0", "x < 0"),
    "a logarithm times 0": ("0*log(x)", "0", "x > 0"),
    "a root times 0": ("0*sqrt(x)", "0", "x >= 0"),
    "a floor times 0": ("0*floor(1/x)", "0", "x > 0"),
    "a binary logarithm times 0": ("log2(x)*(y - y)", "0", "x > 0"),
    "a remainder times 0": ("0*mod(y, x)", "0", "x > 0"),
    "a difference of quotients": ("1/x - 1/x", "0", "x > 0"),
    "a difference of logarithms": ("log(x) - log(x)", "0", "x > 0"),
    "a difference of roots": ("sqrt(x) - sqrt(x)", "0", "x >= 0"),
    "a quotient to the power 0": ("(1/x)**0", "1", "x > 0"),
    "a logarithm to the power 0": ("log(x)**0", "1", "x > 0"),
    "an exponent of 1": ("1**log(x)", "1", "x > 0"),
    "an exponent that is 0 times something": ("2**(0/x)", "1", "x > 0"),
    "the larger of two numbers": ("max(0, 0/x - 1)", "0", "x > 0"),
    "the smaller of two numbers": ("min(0, 1 + 0*log(x))", "0", "x > 0"),
    "a place of a function that is 0": ("0*f(1/x)", "0", "x > 0"),
    "a number": ("0*log(0)", "0", ""),
    "a division by 0": ("0/0", "0", ""),
    "a power of 0": ("0*0**(-1)", "0", ""),
    "a term of a short sum": ("0*sum(1/i, i, 0, 3)", "0", ""),
    "a term of a sum": ("0*sum(1/(i + x), i, 0, n)", "0", "x > 0"),
    "the length of a sum": ("0*sum(i, i, 0, x)", "0", ""),
    "the end of a sum": ("0*sum(i, i, 0, floor(1/x))", "0", "x > 0"),
    "a series": ("0*sum(2**i, i, 0, oo)", "0", ""),
    "an integral": ("0*integral(v**2, v)", "0", ""),
    "a bit of a number that is not whole": ("0*bit(x, 0)", "0", ""),
    "a bit of a negative number": ("0*bit(n, 0)", "0", "n >= 0"),
    "a binomial": ("0*binomial(n, 2)", "0", "n >= 0"),
}
PREFIX: dict[str, list[Any]] = {
    "x > 0": ["<", ZERO, "x"],
    "x < 0": ["<", "x", ZERO],
    "x >= 0": ["<=", ZERO, "x"],
    "n >= 0": ["<=", ZERO, "n"],
}


def square(value: str, *conditions: Any) -> Any:
    """That 0 <= y**2 + value, where nothing is left of the formula but its value."""
    right = ["+", SQUARE, q(value)]
    facts = [BY_RULE, fact(">=", right, "combine", [], [["1", [SQUARE]], [value, []]])]
    letters = {"x": "real", "y": "real", "n": "integer"}
    data = certificate(letters, ZERO, "<=", right, *conditions, **body(*facts))
    data["statement"] |= {"claim": "toy:a", "name": "toy:a"}
    return data


def refusal(data: Any, folder: Path, claim: str, definitions: str = "") -> str:
    """Why a certificate is not accepted as one of a claim; empty if it is."""
    (folder / "toy").mkdir(exist_ok=True)
    (folder / "toy" / "claims.toml").write_text(
        f'{SYMBOLS}[[claim]]\nid = "a"\n{claim}\n'
    )
    (folder / "toy" / "definitions.toml").write_text(definitions)
    try:
        reader().Records(folder).bound(k.run(sealed(data), rules()))
    except k.Refused as error:
        return str(error)
    return ""


@for_each("name", FORMULAS)
def test_a_part_of_a_side_that_may_have_no_value_is_refused(
    name: str, tmp_path: Path
) -> None:
    formula, value, condition = FORMULAS[name]
    claim = f'lhs = "0"\nrelation = "<="\nprinted = "y**2 + {formula}"'
    assert refusal(square(value), tmp_path, claim)
    turned = f'lhs = "{formula} - {value}"\nrelation = "<="\nprinted = "y**2 + {value}"'
    assert refusal(square(value), tmp_path, turned)
    if condition:
        given = square(value, PREFIX[condition])
        given["statement"]["local"] = (
            {"letters": {"f": "sequence"}, "conditions": []} if "f(" in formula else {}
        )
        given["statement"]["local"] = given["statement"]["local"] or {
            "letters": {},
            "conditions": [],
        }
        assert refusal(given, tmp_path, f'{claim}\nrequires = ["{condition}"]') == ""


def test_a_part_of_what_is_measured_that_may_have_no_value_is_refused(
    tmp_path: Path,
) -> None:
    """The definition of what is measured is the left side."""
    definition = '[[definition]]\nname = "cost"\nformula = "0*log(x)"\n'
    claim = 'quantity = "cost"\nrelation = "<="\nprinted = "y**2 + 1"'
    assert "a logarithm may be undefined" in refusal(
        square("1"), tmp_path, claim, definition
    )
    assert not refusal(
        square("1", PREFIX["x > 0"]),
        tmp_path,
        f'{claim}\nrequires = ["x > 0"]',
        definition,
    )


def test_a_part_of_a_symbol_that_may_have_no_value_is_refused(tmp_path: Path) -> None:
    claim = 'lhs = "0"\nrelation = "<="\nprinted = "y**2 + n"\nlet = [{symbol = "n", value = "0/x"}]'
    data = square("0")
    del data["statement"]["letters"]["n"]
    assert "a power may be undefined" in refusal(data, tmp_path, claim)


def test_a_part_of_a_definition_that_may_have_no_value_is_refused(
    tmp_path: Path,
) -> None:
    """The record says nothing of f(0): f(0) = 7 is not proven from f(t) = 7 + 0/t."""
    at = ["apply", "f", ZERO]
    said = {
        "kind": "definition",
        "letters": {"t": "integer"},
        "conditions": [],
        "relation": "=",
        "rhs": q("7"),
    }
    words = {"name": "f(t) = 7 + 0/t", "lhs": ["apply", "f", "t"]}
    used = fact("=", minus(at, q("7")), "instance", "premise", "d", {"t": ZERO})
    data = certificate({}, at, "=", q("7"), **body(used))
    local = {"letters": {"f": "sequence"}, "conditions": []}
    data["statement"] |= {
        "claim": "toy:a",
        "name": "toy:a",
        "premises": {"d": said | words},
        "local": local,
    }
    claim = 'lhs = "f(0)"\nrelation = "="\nprinted = "7"'
    record = '[[definition]]\nname = "f"\nat = "f(t)"\nletters = {t = {domain = "integer"}}\nformula = '
    assert "a power may be undefined" in refusal(
        data, tmp_path, claim, f'{record}"7 + 0/t"\n'
    )
    data["statement"]["premises"]["d"]["name"] = "f(t) = 7 + 0*t"
    assert refusal(data, tmp_path, claim, f'{record}"7 + 0*t"\n') == ""
