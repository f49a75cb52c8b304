"""Checks of the made-up paper whose code leaves, hangs or breaks where no worker process runs it."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from typing import Any

import numpy as np

from dpverify.harness import Check, Context, PaperChecks
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement


class UnspeakableError(Exception):
    """An exception whose own code fails."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __reduce__(self) -> Any:
        raise ValueError("not to be pickled")


def misbehave(how: str) -> None:
    match how:
        case "leaves":
            os._exit(0)
        case "hangs":
            ctypes.PyDLL(None).sleep(600)  # in C, with the interpreter's lock
        case "ignores":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        case "forks":
            if os.fork() == 0:
                time.sleep(600)  # and holds all pipes of its parent open
            os._exit(0)
        case "is-killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "threads":
            threading.Thread(target=time.sleep, args=(600,)).start()
        case "interrupts":
            # as a person would, who waits for what then hangs
            os.kill(os.getppid(), signal.SIGINT)
            ctypes.PyDLL(None).sleep(600)
        case "raises":
            raise UnspeakableError
        case "replaces":
            vars(np.linalg)["norm"] = np.linalg.det
        case "deletes":
            os.closerange(1, 3)
            os.chdir("/")


BLOCKS: dict[str, Any] = {
    "plan-negative": -3,
    "plan-huge": 10**12,
    "plan-nan": float("nan"),
    "plan-none": None,
}
RESULTS: dict[str, Any] = {
    "finish-none": None,
    "finish-status": CheckResult(name="x", method="exhaustive", status="fine"),  # type: ignore[arg-type]
}


class Misbehaving(Check):
    """Does in the stage that its name names, such as ``plan-hangs``, what its name names."""

    method = "exhaustive"

    def _reach(self, stage: str) -> None:
        where, _, how = self.name.partition("-")
        if where == stage:
            misbehave(how)

    def can_judge(self, statement: Statement) -> bool:
        del statement
        self._reach("applies")
        return True

    def cost(self, context: Context) -> float:
        del context
        self._reach("cost")
        return 1.0

    def blocks(self, context: Context) -> Any:
        del context
        self._reach("plan")
        return BLOCKS.get(self.name, 1)

    def run_block(self, context: Context, block: int) -> int:
        del context, block
        self._reach("block")
        return 1

    def fold(self, sofar: Any, part: int) -> int:
        self._reach("fold")
        return (sofar or 0) + part

    def finish(self, context: Context, total: Any) -> Any:
        del context
        self._reach("finish")
        if self.name in RESULTS:
            return RESULTS[self.name]
        return self.result(status="not refuted", n=total)


def checks_named(**names: str) -> PaperChecks:
    checks = PaperChecks("demo", __name__)
    for claim, name in names.items():
        checks.add(Misbehaving(claim, name))
    return checks


STAGES = {
    "sum": "good",
    "root": "plan-leaves",
    "bits": "fold-hangs",
    "empty": "finish-forks",
    "decay": "last",
}
WORKERS = {
    "sum": "good",
    "root": "block-forks",
    "bits": "block-raises",
    "empty": "block-ignores",
    "decay": "block-threads",
}


def load_stages(key: str) -> PaperChecks | None:
    return checks_named(**STAGES) if key == "demo" else None


def load_workers(key: str) -> PaperChecks | None:
    return checks_named(**WORKERS) if key == "demo" else None


def load_costs(key: str) -> PaperChecks | None:
    names = {
        "sum": "finish-deletes",
        "root": "cost-is-killed",
        "decay": "finish-raises",
    }
    return checks_named(**names) if key == "demo" else None


VALUES = {
    "sum": "plan-negative",
    "root": "plan-huge",
    "bits": "plan-nan",
    "empty": "plan-none",
    "decay": "good",
}
RETURNS = {"sum": "finish-none", "root": "finish-status", "decay": "good"}


def load_replacements(key: str) -> PaperChecks | None:
    names = {
        "sum": "good",
        "root": "block-replaces",
        "bits": "finish-replaces",
        "decay": "last",
    }
    return checks_named(**names) if key == "demo" else None


def load_values(key: str) -> PaperChecks | None:
    return checks_named(**VALUES) if key == "demo" else None


def load_returns(key: str) -> PaperChecks | None:
    return checks_named(**RETURNS) if key == "demo" else None


def load_interrupts(key: str) -> PaperChecks | None:
    return (
        checks_named(sum="good", root="finish-interrupts", decay="last")
        if key == "demo"
        else None
    )


def load_applies(key: str) -> PaperChecks | None:
    return checks_named(sum="applies-hangs") if key == "demo" else None


def load_leaves(key: str) -> PaperChecks | None:
    del key
    os._exit(0)


def load_nothing(key: str) -> PaperChecks | None:
    del key
    return None
