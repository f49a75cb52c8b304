"""Set-up of all tests: the environment in the header, and isolation, so that no state leaks between tests."""

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

# Deadlines depend on the machine, so there is none. Derandomized runs draw the same
# examples on every machine.
settings.register_profile(
    "dpverify",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dpverify")

# A shell may start the tests in the background, with Ctrl-C ignored; processes that
# tests start would inherit this.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Sympy and Hypothesis make many objects and few reference cycles; garbage collection
# took a tenth of the time.
gc.set_threshold(20_000, 20, 20)

STORES = count()

Key = tuple[Path, Path, tuple[bytes, ...]]
KEPT: dict[Key, PaperSpec] = {}


def read_once(folder: Path, problems: Problems) -> PaperSpec | None:
    """Read a paper. A bundled paper is read again only if its files or the working directory change.

    Some hundred tests load the specs, and checking every formula of four papers takes most of a second.
    """
    if folder.parent != load.bundled_specs():
        return read_paper(folder, problems)
    before = len(problems)
    key = (
        folder,
        Path.cwd(),
        tuple(file.read_bytes() for file in sorted(folder.glob("*.toml"))),
    )
    paper = KEPT.get(key) or read_paper(folder, problems)
    if paper is not None and len(problems) == before:
        KEPT[key] = paper
    return paper


read_paper, load._read_paper = load._read_paper, read_once


def pytest_report_header() -> str:
    packages = ("numpy", "numba", "sympy", "python-flint", "hypothesis")
    return f"environment: {platform.machine()}, " + ", ".join(
        f"{name} {version(name)}" for name in packages
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of cores plus one, because many tests wait for processes that they have started."""
    return usable_cores() + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of a file in one process of pytest-xdist, because they share the set-up of the file."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


NAMED_BY_WATCHER = """
import sys
running = ""
for line in sys.stdin:
    running = line.strip()
if running:
    print(f"pytest ended, by a crash or a signal, while it ran {running}", file=sys.stderr)
"""


class NamesTheRunningTest:
    """Send the name of the running test to a small process, which prints it if this process crashes.

    A bad index in a kernel can cause such a crash. pytest-xdist does the same for its workers.
    """

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-S", "-c", NAMED_BY_WATCHER]
        self.watcher = subprocess.Popen(
            command, stdin=subprocess.PIPE, bufsize=0, start_new_session=True
        )

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
    """Register the plugin if tests run in this process."""
    if not getattr(config.option, "numprocesses", None) and not hasattr(
        config, "workerinput"
    ):
        config.pluginmanager.register(NamesTheRunningTest())


def pytest_collection_finish() -> None:
    """Exclude the objects that exist now from garbage collection; all tests share them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _same_global_state() -> Iterator[None]:
    with unchanged_global_state():
        yield


@pytest.fixture(autouse=True)
def _own_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Use a new store for each test, so that no result of another test or of the user is reused."""
    monkeypatch.setenv(
        "DPVERIFY_STORE",
        str(tmp_path_factory.getbasetemp() / f"store-{next(STORES)}.sqlite"),
    )
