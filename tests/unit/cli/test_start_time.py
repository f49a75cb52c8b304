"""``import dpverify`` and ``dpverify --help`` answer at once: what is loaded, and how long it takes."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "numba", "sympy", "flint", "hypothesis", "matplotlib", "sklearn", "jinja2", "msgspec"}
IMPORT = "import dpverify"
HELP = "from dpverify.cli import main; main(['--help'])"
VERIFY_HELP = "from dpverify.cli import main; main(['verify', '--help'])"


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def seconds(code: str, times: int = 5) -> float:
    """Processor time of the fastest of a few runs: what the code needs, whatever else the machine is doing."""
    fastest = float("inf")
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        fastest = min(fastest, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return fastest


@pytest.mark.parametrize("code", [IMPORT, HELP, VERIFY_HELP])
def test_nothing_heavy_is_loaded(code: str) -> None:
    loaded = run(f"{code}\nimport sys\nprint('LOADED', *{{name.split('.')[0] for name in sys.modules}})")
    assert HEAVY & set(loaded.rpartition("LOADED")[2].split()) == set()


def test_importing_the_package_loads_no_command_line() -> None:
    assert "cyclopts" not in run(f"{IMPORT}\nimport sys\nprint(*sys.modules)").split()


@pytest.mark.parametrize(("code", "limit"), [(IMPORT, 0.1), (HELP, 0.3), (VERIFY_HELP, 0.3)])
def test_it_takes_no_time(code: str, limit: float) -> None:
    took = seconds(code) - seconds("pass")
    assert took < limit, f"{code}: {took:.3f} s beyond a bare interpreter, at most {limit} s"
