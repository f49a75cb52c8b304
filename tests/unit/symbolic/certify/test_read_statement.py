"""A certificate is bound to the statement that the records say: another statement is refused, whatever it bears."""

import contextlib
import copy
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpverify.ledger.load import bundled_specs
from dpverify.symbolic.certify.checker import checker_file, k, reader, records_of, rules
from tests.for_each import for_each
from tests.unit.symbolic.certify.examples import CLAIMS, certified
from tests.unit.symbolic.certify.test_false_certificates import (
    body,
    certificate,
    fact,
    minus,
    power,
    rule,
    sealed,
)

TWO = ["q", "2"]
CLAIMS_FILE = """
[paper]
key = "toy"
[symbols.x]
domain = "real, 1 <= x"
[symbols.y]
domain = "real"
[symbols.z]
domain = "real, z >= 0"
[symbols.n]
domain = "integer, n >= 1"
[functions.f]
arity = 1
[[claim]]
id = "square"
lhs = "0"
relation = "<="
printed = "y**2"
[[claim]]
id = "bounded"
lhs = "1"
relation = "<="
printed = "x"
requires = ["x <= 3"]
[[claim]]
id = "solved"
lhs = "4"
relation = "<="
printed = "twice"
let = [{symbol = "twice", value = "2*x"}]
requires = ["x >= 2"]
[symbols.twice]
domain = "real"
[[claim]]
id = "function"
lhs = "f(2)"
relation = "="
printed = "7"
[[claim]]
id = "read"
lhs = "0"
relation = "<="
printed = "y**2"
reading = [{name = "order", choices = ["fresh", "once"]}]
"""
VERDICTS_FILE = """
[[verdict]]
claim = "square"
[verdict.amendment]
formula = "y**2 + 1"
"""
DEFINITIONS_FILE = """
[[definition]]
name = "f"
part = "start"
at = "f(1)"
formula = "7"
[[definition]]
name = "f"
part = "step"
at = "f(t)"
formula = "f(t-1)"
letters = {t = {domain = "integer"}}
requires = ["t >= 2"]
"""
HALF, MINUS_HALF = ["*", ["q", "1/2"], "y"], ["*", ["q", "-1/2"], "y"]
SQUARE = power("y", TWO)
BY_RULE = fact(">=", SQUARE, *rule("am-gm", a=HALF, b=MINUS_HALF))


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    folder = tmp_path / "specs"
    (folder / "toy").mkdir(parents=True)
    for name, text in (
        ("claims", CLAIMS_FILE),
        ("verdicts", VERDICTS_FILE),
        ("definitions", DEFINITIONS_FILE),
    ):
        (folder / "toy" / f"{name}.toml").write_text(text)
    return folder


def of(name: str, data: Any, **fields: Any) -> Any:
    """The certificate as one of a claim."""
    data["statement"] |= {"claim": f"toy:{name}", "name": f"toy:{name}", **fields}
    return sealed(data)


def square(**fields: Any) -> Any:
    return of(
        "square",
        certificate({"y": "real"}, ["q", "0"], "<=", SQUARE, **body(BY_RULE)),
        **fields,
    )


def refused(data: Any, specs: Path) -> str:
    """Why a certificate is not accepted as one of its claim; empty if it is."""
    try:
        records_of.__wrapped__(specs).bound(k.run(data, rules()))
    except k.Refused as error:
        return str(error)
    return ""


def test_what_a_quantity_without_a_definition_is_said_to_be_is_given() -> None:
    assert list(k.given_in(square(quantity="variance"))) == ["variance is 0"]


@pytest.mark.parametrize(
    ("argued", "words"), [("", ""), ("argued = true", "another quantity")]
)
def test_a_quantity_is_not_what_its_definition_only_argues(
    argued: str, words: str, specs: Path
) -> None:
    claims, definitions = (
        specs / "toy" / "claims.toml",
        specs / "toy" / "definitions.toml",
    )
    claims.write_text(claims.read_text().replace('lhs = "0"', 'quantity = "loss"', 1))
    definitions.write_text(
        f'{DEFINITIONS_FILE}[[definition]]\nname = "loss"\nformula = "0"\n{argued}\n'
    )
    assert words in refused(square(), specs)
    assert bool(refused(square(), specs)) == bool(argued)


@pytest.mark.parametrize(
    ("right", "reason"),
    [
        ("pi*y**2", "pi is the number here"),
        ("pi()*y**2", "pi is a function that certificates do not have"),
        ("erf(y)", "erf is a function that certificates do not have"),
        ("tanh(y)", "tanh is a function that certificates do not have"),
        ("gamma(y)", "gamma is a function that certificates do not have"),
    ],
)  # fmt: skip
def test_functions_that_certificates_lack_are_refused_and_not_read_as_letters(
    right: str, reason: str, specs: Path
) -> None:
    claims = specs / "toy" / "claims.toml"
    claims.write_text(
        claims.read_text().replace('printed = "y**2"', f'printed = "{right}"', 1)
    )
    assert reason in refused(square(), specs)


def bounded(*conditions: Any, kind: str = "real") -> Any:
    return of(
        "bounded",
        certificate(
            {"x": kind}, ["q", "1"], "<=", "x", ["<=", ["q", "1"], "x"], *conditions
        ),
    )


def solved(factor: str) -> Any:
    double = ["*", ["q", factor], "x"]
    terms = [[factor, [minus("x", TWO)]], [str(2 * int(factor) - 4), []]]
    used = fact(">=", minus(double, ["q", "4"]), "combine", [], terms)
    return of(
        "solved",
        certificate(
            {"x": "real"}, ["q", "4"], "<=", double, ["<=", TWO, "x"], **body(used)
        ),
    )


def test_what_the_record_says_is_accepted(specs: Path) -> None:
    assert refused(square(), specs) == ""
    assert refused(bounded(), specs) == ""
    assert refused(solved("2"), specs) == ""


DIVISORS: dict[str, tuple[str, str, str]] = {
    "a divisor that can be 0": ("1/z", "z", ""),
    "no divisor that the record names": ("1/z", "", "not granted"),
    "an expression by which nothing is divided": (
        "1/z",
        "z + 1",
        "not infinite where it is 0",
    ),
    "a side that is finite where the divisor is 0": (
        "min(1, 1/z)",
        "z",
        "not infinite where it is 0",
    ),
    "a divisor under a factor that can be 0": (
        "z*(1/z)",
        "z",
        "not infinite where it is 0",
    ),
    "a divisor that can be below 0": ("1/y", "y", "not known to be at least 0"),
}


@for_each("name", DIVISORS)
def test_where_a_divisor_of_the_record_is_0_nothing_is_claimed(
    name: str, specs: Path
) -> None:
    """The certificate proves 0 <= 1/z, or of another letter, only where the letter is positive."""
    printed, divisor, words = DIVISORS[name]
    letter = "y" if "y" in printed else "z"
    field = f'\ndivisors = ["{divisor}"]' if divisor else ""
    text = CLAIMS_FILE.replace('printed = "y**2"', f'printed = "{printed}"{field}', 1)
    (specs / "toy" / "claims.toml").write_text(text)
    inverse = power(letter, ["q", "-1"])
    used = fact(">=", inverse, "combine", [], [["1", [inverse]]])
    positive = ["<", ["q", "0"], letter]
    data = certificate(
        {letter: "real"}, ["q", "0"], "<=", inverse, positive, **body(used)
    )
    why = refused(of("square", data), specs)
    assert words in why
    assert bool(words) == bool(why)


def trivial(claim: str) -> Any:
    return of(claim, certificate({"x": "real"}, "x", "<=", "x"))


OTHERS: dict[str, tuple[Any, str]] = {
    "identical sides": (trivial("square"), "x is no real"),
    "a narrower condition": (bounded(["<=", "x", TWO]), "not granted"),
    "a narrower kind of number": (bounded(kind="integer"), "x is no integer"),
    "another claim": (square(claim="toy:bounded"), "y is no real"),
    "no claim": (square(claim="toy:other"), "no claim"),
    "no paper": (square(claim="other:square"), "no paper"),
    "a path for a paper": (square(claim="../toy:square"), "no paper"),
    "the amended statement": (square(variant="amended"), "another right side"),
    "a statement that nobody made": (square(variant="held"), "no statement"),
    "a reading that is none": (square(reading={"order": "fresh"}), "no reading"),
    "a choice that is none": (
        square(claim="toy:read", reading={"order": "never"}),
        "no reading",
    ),
    "a quantity": (square(quantity="variance"), "another quantity"),
    "another definition of a symbol": (solved("3"), "another right side"),
}


@for_each("name", OTHERS)
def test_another_statement_is_refused(name: str, specs: Path) -> None:
    data, words = OTHERS[name]
    assert words in refused(sealed(copy.deepcopy(data)), specs)


def test_a_letter_of_the_statement_is_no_letter_of_the_proof(specs: Path) -> None:
    """For y >= 0 alone, y <= y**2 + y; as a letter of the proof, its sign is not listed among what is given."""
    data = of("square", certificate({}, ["q", "0"], "<=", SQUARE, **body(BY_RULE)))
    data["statement"]["local"] = {
        "letters": {"y": "real"},
        "conditions": [[">=", "y", ["q", "0"]]],
    }
    assert "y of the statement is a letter of the proof alone" in refused(
        sealed(data), specs
    )


def defined(*others: Any) -> list[Any]:
    """The definitions of f as premises, and others."""
    step = ["apply", "f", minus("t", ["q", "1"])]
    said = {"kind": "definition", "letters": {}, "conditions": [], "relation": "="}
    first = said | {
        "name": "f(1) = 7",
        "lhs": ["apply", "f", ["q", "1"]],
        "rhs": ["q", "7"],
    }
    later = said | {
        "name": "f(t) = f(t-1) for t >= 2",
        "lhs": ["apply", "f", "t"],
        "rhs": step,
    }
    later |= {"letters": {"t": "integer"}, "conditions": [[">=", "t", TWO]]}
    return [first, later, *others]


def function(premises: list[Any]) -> Any:
    """That f(2) = 7, from the definitions of f."""
    first = minus(["apply", "f", ["q", "1"]], ["q", "7"])
    step = minus(["apply", "f", TWO], ["apply", "f", ["q", "1"]])
    facts = [
        fact("=", first, "instance", "premise", "0", {}),
        fact("=", step, "instance", "premise", "1", {"t": TWO}),
        fact(
            "=",
            minus(["apply", "f", TWO], ["q", "7"]),
            "combine",
            [],
            [["1", [first]], ["1", [step]]],
        ),
    ]
    data = certificate({}, ["apply", "f", TWO], "=", ["q", "7"], **body(*facts))
    data["statement"]["premises"] = {str(i): one for i, one in enumerate(premises)}
    data["statement"]["local"] = {"letters": {"f": "sequence"}, "conditions": []}
    return of("function", data)


def test_the_definitions_are_those_of_the_record(specs: Path) -> None:
    assert refused(function(defined()), specs) == ""


@pytest.mark.parametrize("name", ["f(1) = 7", "f(t) = f(t-1) for t >= 2"])
def test_a_changed_definition_is_refused(name: str, specs: Path) -> None:
    """The certificate proves its statement from its own definition, which the record does not have."""
    file = specs / "toy" / "definitions.toml"
    text = file.read_text()
    file.write_text(
        text.replace('"7"', '"8"')
        if name == "f(1) = 7"
        else text.replace("f(t-1)", "f(t-1) + 1")
    )
    assert "is not what the record says" in refused(function(defined()), specs)


Change = Callable[[Any], None]


def _narrow(statement: Any) -> None:
    statement["conditions"].append(
        ["<=", next(iter(statement["letters"])), ["q", "1/7"]]
    )


def _trivial(statement: Any) -> None:
    statement["lhs"] = statement["rhs"]


def _variant(statement: Any) -> None:
    statement["variant"] = {"printed": "amended"}.get(statement["variant"], "printed")


def _claim(statement: Any) -> None:
    statement["claim"] = (
        "tran2022:theorem-10"
        if "theorem-10" not in statement["claim"]
        else "wang2019:lemma-3-7"
    )


CHANGES: dict[str, Change] = {
    "narrow": _narrow,
    "trivial": _trivial,
    "variant": _variant,
    "claim": _claim,
}


@for_each("change", CHANGES)
@for_each("claim", CLAIMS)
def test_a_changed_statement_of_a_real_certificate_is_refused(
    claim: str, change: str
) -> None:
    data = json.loads(certified(claim).text or "")
    assert refused(data, bundled_specs()) == ""
    CHANGES[change](data["statement"])
    assert refused(sealed(data), bundled_specs())


def read(specs: Path, *files: Path) -> tuple[int, str]:
    """Exit code and output of the program."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = reader().main(["--specs", str(specs), *map(str, files)])
    return code, output.getvalue()


def test_the_program_prints_the_statement_in_the_words_of_the_record(
    specs: Path, tmp_path: Path
) -> None:
    file = tmp_path / "toy-square-printed.json"
    file.write_text(json.dumps(square()))
    assert read(specs, file) == (
        0,
        "proved: toy:square (printed): 0 <= y**2; for y: real; rules: am-gm\n1 of 1 accepted\n",
    )


@for_each(("true", "false", "code"), [(1, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)])
def test_its_exit_code_is_0_where_all_of_one_file_or_more_are_accepted(
    true: int, false: int, code: int, specs: Path, tmp_path: Path
) -> None:
    files = []
    if true:
        files.append(tmp_path / "toy-square-printed.json")
        files[-1].write_text(json.dumps(square()))
    if false:
        files.append(tmp_path / "toy-bounded-printed.json")
        files[-1].write_text(json.dumps(bounded(["<=", "x", TWO])))
    found, output = read(specs, *files)
    assert found == code
    assert output.endswith(f"{true} of {true + false} accepted\n")


#: Certificates that a reviewer wrote to have something false called proved: why, with records of their own or the real
#: ones, and the files that must be refused.
FALSE = json.loads(Path(__file__).with_name("false_certificates.json").read_text())


@for_each("name", FALSE)
def test_a_false_certificate_is_refused(name: str, tmp_path: Path) -> None:
    case = FALSE[name]
    specs = bundled_specs()
    if case["records"]:
        specs = tmp_path / "specs"
        (specs / "toy").mkdir(parents=True)
        for file, text in case["records"].items():
            (specs / "toy" / f"{file}.toml").write_text(text)
    paths = [tmp_path / file for file in case["certificates"]]
    for path in paths:
        path.write_text(json.dumps(case["certificates"][path.name]))
    code, output = read(specs, *paths)
    refused = {
        line.split(":")[1].strip()
        for line in output.splitlines()
        if line.startswith("refused: ")
    }
    assert code == 1
    assert refused == set(case["refused"]), f"{case['why']}: {output}"


def test_what_is_given_is_printed_with_its_formula_on_lines_of_their_own(
    specs: Path, tmp_path: Path
) -> None:
    """A name cannot hide what is assumed, nor print a line that looks like a verdict."""
    given = {
        "kind": "given",
        "name": "0 <= 1\nproved: toy:bounded",
        "letters": {},
        "conditions": [],
    }
    premise = given | {"lhs": "y", "relation": "<=", "rhs": ["q", "7"]}
    data = of(
        "square", certificate({"y": "real"}, ["q", "0"], "<=", SQUARE, **body(BY_RULE))
    )
    data["statement"]["premises"] = {"p": premise}
    file = tmp_path / "toy-square-printed.json"
    file.write_text(json.dumps(sealed(data)))
    _, output = read(specs, file)
    assert output.splitlines()[1] == "  given 0 <= 1 proved: toy:bounded: y <= 7"
    assert not any(line.startswith("proved:") for line in output.splitlines())


def test_what_a_lemma_takes_as_given_is_printed_at_the_values_at_which_it_is_used(
    specs: Path, tmp_path: Path
) -> None:
    """The lemma's letters stand for all numbers, but the premise need not hold for all of them."""
    halves = {
        name: ["*", ["q", part], "z"] for name, part in (("a", "1/2"), ("b", "-1/2"))
    }
    proof = body(fact(">=", power("z", TWO), *rule("am-gm", **halves)))
    lemma = certificate({"z": "real"}, ["q", "0"], "<=", power("z", TWO), **proof)[
        "statement"
    ] | {"name": "lemma"}
    premise = {"kind": "given", "name": "p", "letters": {}, "conditions": []}
    lemma["premises"] = {
        "p": premise | {"lhs": "z", "relation": "<=", "rhs": ["q", "7"]}
    }
    use = fact(
        ">=", SQUARE, "instance", "lemma", "lemma", {"z": ["*", ["q", "-1"], "y"]}
    )
    data = of(
        "square",
        certificate(
            {"y": "real"}, ["q", "0"], "<=", SQUARE, lemmas=[lemma], **body(use)
        ),
    )
    file = tmp_path / "toy-square-printed.json"
    file.write_text(json.dumps(data))
    _, output = read(specs, file)
    assert output.splitlines()[1] == "  given p: z <= 7; at z = (-1 * y)"


def test_a_given_premise_is_no_measured_claim(specs: Path, tmp_path: Path) -> None:
    """Its own name is printed, and not that of a claim that it bears."""
    given = {
        "kind": "given",
        "name": "p",
        "measured": True,
        "letters": {"x": "real"},
        "conditions": [],
    }
    data = of(
        "square", certificate({"y": "real"}, ["q", "0"], "<=", SQUARE, **body(BY_RULE))
    )
    premise = given | {"claim": "toy:bounded", "reading": {}, "variant": "printed"}
    data["statement"]["premises"] = {
        "p": premise | {"lhs": "x", "relation": "<=", "rhs": ["q", "7"]}
    }
    file = tmp_path / "toy-square-printed.json"
    file.write_text(json.dumps(sealed(data)))
    code, output = read(specs, file)
    assert code == 0
    assert output.startswith("proved given p: toy:square")
    assert output.splitlines()[1] == "  given p: x <= 7; for all x: real"


def test_a_name_that_holds_the_name_of_a_claim_is_refused(specs: Path) -> None:
    premise = {"kind": "given", "name": " toy:bounded", "letters": {}, "conditions": []}
    data = of(
        "square", certificate({"y": "real"}, ["q", "0"], "<=", SQUARE, **body(BY_RULE))
    )
    data["statement"]["premises"] = {
        "p": premise | {"lhs": "y", "relation": "<=", "rhs": ["q", "7"]}
    }
    assert "the name of a claim" in refused(sealed(data), specs)


def test_two_symbols_of_one_name_are_refused(specs: Path) -> None:
    """The symbol pi is called pi_, since pi is the number."""
    file = specs / "toy" / "claims.toml"
    symbols = "".join(f'[symbols.{name}]\ndomain = "real"\n' for name in ("pi", "pi_"))
    file.write_text(file.read_text().replace("[symbols.y]", f"{symbols}[symbols.y]"))
    assert "two symbols are one letter" in refused(square(), specs)


UNREADABLE = {
    "deep": "[" * 100_000,
    "deep expression": json.dumps({"schema": 3}).replace(
        "3", '3, "table": ' + "[" * 900 + "]" * 900
    ),
    "text": "no JSON",
    "number": "7",
    "earlier": json.dumps({"schema": 2}),
}


@for_each("name", UNREADABLE)
def test_a_file_that_is_no_certificate_is_refused(
    name: str, specs: Path, tmp_path: Path
) -> None:
    file = tmp_path / "toy-square-printed.json"
    file.write_text(UNREADABLE[name])
    code, output = read(specs, file)
    assert code == 1
    assert output.startswith("refused: toy-square-printed.json: ")


def test_a_file_under_another_name_is_refused(specs: Path, tmp_path: Path) -> None:
    file = tmp_path / "toy-bounded-printed.json"
    file.write_text(json.dumps(square()))
    code, output = read(specs, file)
    assert code == 1
    assert "stored under the name of another" in output


def test_the_programs_import_the_standard_library_and_flint_alone() -> None:
    files = [checker_file(), checker_file().with_name("read_statement.py")]
    lines = [line.strip() for file in files for line in file.read_text().splitlines()]
    imports = {
        line.split()[1] for line in lines if line.startswith(("import ", "from "))
    }
    own = {"check_certificate", "read_statement"}
    assert imports - own - sys.stdlib_module_names == {"flint"}
