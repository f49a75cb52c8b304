"""What every test shares: the environment in the header, and no state that leaks from one test into the next."""

from __future__ import annotations

import gc
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dpverify.ledger import load
from dpverify.ledger.errors import Problems
from dpverify.ledger.specs import PaperSpec
from dpverify.processes import usable_cores
from tests.for_each import unchanged_global_state

# A deadline measures the machine, not the code; the draws of a run are the same on every machine.
settings.register_profile("dpverify", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dpverify")

# Whoever runs the tests may have Ctrl-C ignored, as a shell does in the background, and so would what tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Sympy and Hypothesis make few reference cycles among many objects: a tenth of the time went into looking for them.
gc.set_threshold(20_000, 20, 20)

STORES = count()

Key = tuple[Path, Path, tuple[bytes, ...]]
KEPT: dict[Key, PaperSpec] = {}


def read_once(folder: Path, problems: Problems) -> PaperSpec | None:
    """Read a paper; a bundled one once while its files, and where it is seen from, are the same.

    Some hundred tests load the specs, and to check every formula of four papers takes most of a second.
    """
    if folder.parent != load.bundled_specs():
        return read_paper(folder, problems)
    before = len(problems)
    key = (folder, Path.cwd(), tuple(file.read_bytes() for file in sorted(folder.glob("*.toml"))))
    paper = KEPT.get(key) or read_paper(folder, problems)
    if paper is not None and len(problems) == before:
        KEPT[key] = paper
    return paper


read_paper, load._read_paper = load._read_paper, read_once


def pytest_report_header() -> str:
    packages = ("numpy", "numba", "sympy", "python-flint", "hypothesis")
    return f"environment: {platform.machine()}, " + ", ".join(f"{name} {version(name)}" for name in packages)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: many a test waits for processes that it has started."""
    return usable_cores() + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of a file to one process of pytest-xdist: they share what the file sets up."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


NAMED_BY_WATCHER = """
import sys
running = ""
for line in sys.stdin:
    running = line.strip()
if running:
    print(f"pytest died while it ran {running}", file=sys.stderr)
"""


class NamesTheRunningTest:
    """Tell a small process which test runs; it prints the name if this process dies, as after a kernel's bad index.

    pytest-xdist does the same for its workers.
    """

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-S", "-c", NAMED_BY_WATCHER]
        self.watcher = subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0, start_new_session=True)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.tell(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        self.tell("")

    def pytest_unconfigure(self) -> None:
        assert self.watcher.stdin is not None
        self.watcher.stdin.close()
        self.watcher.wait()

    def tell(self, running: str) -> None:
        assert self.watcher.stdin is not None
        self.watcher.stdin.write(f"{running}\n".encode(errors="replace"))


def pytest_configure(config: pytest.Config) -> None:
    """Watch over tests that run in this process."""
    if not getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NamesTheRunningTest())


def pytest_collection_finish() -> None:
    """What all tests share is there until they end: let no search for garbage walk through it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _same_global_state() -> Iterator[None]:
    with unchanged_global_state():
        yield


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let no run answer from what another test, or the user, had judged before."""
    monkeypatch.setenv("DPVERIFY_STORE", str(tmp_path_factory.getbasetemp() / f"store-{next(STORES)}.sqlite"))
