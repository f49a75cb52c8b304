"""Code must be readable: one assignment in a line, nouns for values, the formatter's layout."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.density import Density, density

ROOT = Path(__file__).parents[2]

LIMITS = {
    "files": 705,
    "lines of imports, in percent": 7.91,
    "tokens": 841_000,
    "tokens of a code line": 7.9,
    "assignments to several names, in percent": 3.0,
    "names that are pronouns or participles, in percent": 1.5,
    "lines that the formatter leaves alone": 20,
}
"""The first four are close to what there is today. CONTRIBUTING.md says what to do if a feature needs more."""

PACKED = '''
"""Not counted."""
import math
found, other = 1, 2  # fmt: skip
total = found
'''


def test_the_package_is_not_packed() -> None:
    excesses = list(density((ROOT / "dpverify").rglob("*.py")).excesses(LIMITS))
    assert not excesses, "\n".join(
        [*excesses, 'What to do: CONTRIBUTING.md, "The package stays small"']
    )


def test_what_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "packed.py"
    file.write_text(PACKED, encoding="utf-8")
    counts = density([file])
    expected = Density(
        files=1,
        lines=5,
        imports=1,
        tokens=12,
        code_lines=3,
        assignments=2,
        parallel=1,
        names=3,
        pronouns=2,
        skipped=1,
    )
    assert counts == expected
    limits = dict.fromkeys(LIMITS, 0.5)
    assert [text.partition(":")[0] for text in counts.excesses(limits)] == list(LIMITS)
