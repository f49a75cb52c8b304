"""``import dpverify`` and ``dpverify --help`` load nothing heavy; what they take is in the benchmarks of start-up."""

from __future__ import annotations

import subprocess
import sys

from tests.for_each import for_each

HEAVY = {
    "numpy",
    "scipy",
    "numba",
    "sympy",
    "flint",
    "hypothesis",
    "matplotlib",
    "sklearn",
    "jinja2",
    "msgspec",
    "torch",
}
IMPORT = "import dpverify"
HELP = "from dpverify.cli import main; main(['--help'])"
VERIFY_HELP = "from dpverify.cli import main; main(['verify', '--help'])"


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


@for_each("code", [IMPORT, HELP, VERIFY_HELP])
def test_nothing_heavy_is_loaded(code: str) -> None:
    loaded = run(
        f"{code}\nimport sys\nprint('LOADED', *{{name.split('.')[0] for name in sys.modules}})"
    )
    assert HEAVY & set(loaded.rpartition("LOADED")[2].split()) == set()


def test_importing_the_package_loads_no_command_line() -> None:
    assert "cyclopts" not in run(f"{IMPORT}\nimport sys\nprint(*sys.modules)").split()
