"""The checker by itself, in a Python that can import neither sympy nor dpverify."""

import copy
import json
from pathlib import Path

import pytest

from dpverify.harness.certificates import write
from dpverify.symbolic.certify.checker import checker_file, k
from tests.unit.symbolic.certify.examples import CLAIMS, certified, check_alone
from tests.unit.symbolic.certify.test_attacks import given
from tests.unit.symbolic.certify.test_false_certificates import body, certificate, fact, rule
from tests.unit.symbolic.certify.test_lemmas import about_a_function

MOST_LINES = 1097


def test_it_accepts_what_certify_writes(tmp_path: Path) -> None:
    for key in CLAIMS:
        write(certified(key), tmp_path)
    found = check_alone(tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    assert f"{len(CLAIMS)} of {len(CLAIMS)} accepted" in found.stdout


def test_it_refuses_and_says_where(tmp_path: Path) -> None:
    text = certified(CLAIMS[0]).text
    assert text is not None
    data = json.loads(text)
    data["statement"]["rhs"] = ["+", data["statement"]["rhs"], ["q", "-1"]]
    data["statement"]["seal"] = k.seal(data["statement"], data["table"])
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(data))
    found = check_alone(path)
    assert found.returncode == 1
    assert "refused: changed.json: tran2022:lemma-12-count: body does not reach the claim" in found.stdout


HALF, MINUS_HALF = ["*", ["q", "1/2"], "x"], ["*", ["q", "-1/2"], "x"]
SQUARE = ["^", "x", ["q", "2"]]
BY_RULE = body(fact(">=", SQUARE, *rule("am-gm", a=HALF, b=MINUS_HALF)))
TRUE = certificate({"x": "real"}, ["q", "0"], "<=", SQUARE, **BY_RULE)
FALSE = certificate({"x": "real"}, ["q", "0"], "<=", "x")


@pytest.mark.parametrize(("true", "false", "code"), [(1, 0, 0), (2, 0, 0), (0, 0, 1), (0, 1, 1), (2, 1, 1)])
def test_its_exit_code_is_0_where_all_of_one_file_or_more_are_accepted(
    true: int, false: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in [*((f"a{n}", TRUE) for n in range(true)), *((f"b{n}", FALSE) for n in range(false))]:
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    assert k.main([str(tmp_path)]) == code
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"{true} of {true + false} accepted"
    assert said.count("proved: a0.json; rules: am-gm; definitions: none") == min(true, 1)
    assert sum(line.startswith("refused: b0.json: ") for line in said) == false


def test_it_says_what_a_file_is_given_and_which_definitions_it_uses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"definition": about_a_function(), "claim": given("claim"), "quantity": copy.deepcopy(TRUE)}
    files["quantity"]["statement"] |= {"quantity": "the variance", "definition": "variance"}
    for name, data in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    assert k.main([str(tmp_path / f"{name}.json") for name in files]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "proved: definition.json; rules: none; definitions: g",
        "proved given p: claim.json; rules: none; definitions: none",
        "proved given the variance: quantity.json; rules: am-gm; definitions: variance",
        "3 of 3 accepted",
    ]


def test_it_is_one_short_file_with_few_imports() -> None:
    lines = checker_file().read_text().splitlines()
    assert len(lines) <= MOST_LINES
    imports = [line for line in lines if line.lstrip().startswith(("import ", "from "))]
    allowed = {"__future__", "flint", "functools", "hashlib", "json", "pathlib", "re", "sys"}
    assert {line.split()[1] for line in imports} == allowed
