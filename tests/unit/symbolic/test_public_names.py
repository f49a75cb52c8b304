from __future__ import annotations

import subprocess
import sys

import pytest

import dpverify.symbolic
from tests.for_each import for_each


@for_each("name", dpverify.symbolic.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(dpverify.symbolic, name) is not None


def test_unknown_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        dpverify.symbolic.nonsense  # noqa: B018  # the access itself is the test


def test_evaluating_and_deciding_do_not_import_sympy() -> None:
    """Start-up time: a search needs balls, not algebra."""
    code = (
        "import sys\n"
        "from dpverify.symbolic.exact import evaluate\n"
        "from dpverify.symbolic import evaluate_statement\n"
        "assert not {'sympy', 'numpy', 'numba', 'scipy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
