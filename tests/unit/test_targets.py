"""Objects of users, found by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.targets import TargetError, load_object


def test_an_error_in_the_file_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong_target.py"
    for text, reason in (
        (
            "import math\n\nmath.log(\n    -1.0)\n",
            "ValueError: math domain error (wrong_target.py, line 3)",
        ),
        (
            "def f():\n    return {}[0]\n\nf()\n",
            "KeyError: 0 (wrong_target.py, line 2)",
        ),
        ("import os\nos.fspath(1)\n", "(wrong_target.py, line 2)"),
        ("def make(:\n", "SyntaxError: invalid syntax (wrong_target.py, line 1)"),
    ):
        file.write_text(text, "utf-8")
        with pytest.raises(TargetError) as error:
            load_object(f"{file}:make")
        assert str(error.value).endswith(reason)
    with pytest.raises(
        TargetError, match=r"ModuleNotFoundError: No module named 'no_such_target'$"
    ):
        load_object("no_such_target:make")
