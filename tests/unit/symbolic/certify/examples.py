"""Certificates of a few claims, and the checker in a Python that can import neither sympy nor dpverify."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from dpverify.harness.certificates import Certified, certify_claims
from dpverify.ledger import load_specs
from dpverify.symbolic.certify.checker import checker_file, k, rules

CLAIMS = (
    "tran2022:lemma-12-count",
    "tran2022:lemma-12-var",
    "tran2022:proposition-16-mod",
    "tran2022:theorem-6-display-2",
    "tran2022:lemma-5-case-2",
    "tran2022:proposition-13",
    "tran2022:lemma-5",
    "tran2022:theorem-10-integration",
)

OTHERS = 1  # a tenth of the claims without the first

BLOCKED = """
import runpy, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"sympy", "dpverify", "numpy", "mpmath"}:
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Block())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@cache
def certified(key: str) -> Certified:
    """The first verdict of a claim that has a certificate: the stored one, unless something has changed since."""
    specs = load_specs()
    return next(
        one
        for one in certify_claims(specs, [specs.claim(key)], tenth=OTHERS)
        if one.text is not None
    )


def certificate_of(key: str) -> Any:
    """A fresh copy of this certificate."""
    text = certified(key).text
    assert text is not None
    return json.loads(text)


def refusal(data: Any) -> str:
    """Why the checker refuses a certificate; empty if it accepts it."""
    try:
        k.run(data, rules())
    except k.Refused as error:
        return str(error)
    return ""


def check_alone(path: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker by itself."""
    command = [sys.executable, "-I", "-c", BLOCKED, str(checker_file()), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
