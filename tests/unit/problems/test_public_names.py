"""What the package exports, and that nothing heavy is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dpverify.problems as face
from tests.for_each import for_each


@for_each("name", face.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(face, name).__name__ == name
    assert name in dir(face)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = face.nothing


def test_the_package_alone_loads_no_numba() -> None:
    code = "import sys, dpverify.problems; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
