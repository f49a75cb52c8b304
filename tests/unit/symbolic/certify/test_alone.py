"""The checker by itself, in a Python that can import neither sympy nor dpverify."""

import json
from pathlib import Path

from dpverify.harness.certificates import write
from dpverify.symbolic.certify.checker import checker_file, k
from tests.unit.symbolic.certify.examples import CLAIMS, certified, check_alone

MOST_LINES = 1_840


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
    assert (
        "refused: changed.json: tran2022:lemma-12-count: body does not reach the claim"
        in found.stdout
    )


def test_the_two_programs_are_short() -> None:
    files = [checker_file(), checker_file().with_name("read_statement.py")]
    assert sum(len(file.read_text().splitlines()) for file in files) <= MOST_LINES
