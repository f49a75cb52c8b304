"""Start a process that measures, hand it a request, and give its answers as they come."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
from collections.abc import Generator
from typing import IO

import msgspec

from dpverify.bench.child import Answer, Request
from dpverify.bench.commands import ONE_THREAD, environment_of, python

PATIENCE = 10.0
"""Seconds that a process has to end after Ctrl-C."""

Answers = Generator[Answer, None, None]


def ask(request: Request) -> Answers:
    """Run a request in a fresh process; if it dies, the case under way has failed, and a new one does the rest.

    In the order of the cases: that one begins, then what became of it.
    """
    left = list(request.cases)
    while left:
        under_way, code = "", 0
        for each in _once(msgspec.structs.replace(request, cases=left)):
            if isinstance(each, int):
                code = each
                continue
            yield each
            finished = each.error or each.measured is not None or each.added is not None
            under_way = "" if finished else each.case
            if finished:
                left.remove(each.case)
        if not left:
            return
        failed = under_way or left[0]
        yield Answer(case=failed, error=f"the process that measured it ended with exit code {code}")
        left.remove(failed)


def _once(request: Request) -> Generator[Answer | int, None, None]:
    """The answers of one process, then its exit code."""
    words = python("-m", "dpverify.bench.child")
    environment = {**environment_of(None), **ONE_THREAD}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        try:
            yield from _talk(process, msgspec.json.encode(request))
            yield process.wait()
        finally:
            _end(process)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that was not heard to its end; Ctrl-C first, so that it ends the commands that it runs."""
    for how in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)


def _talk(process: subprocess.Popen[bytes], request: bytes) -> Generator[Answer, None, None]:
    given, answers = process.stdin, process.stdout
    if given is None or answers is None:
        raise RuntimeError("process: it was started without pipes")
    _send(given, request)
    for line in answers:
        yield msgspec.json.decode(line, type=Answer)


def _send(pipe: IO[bytes], request: bytes) -> None:
    try:
        pipe.write(request)
        pipe.close()
    except BrokenPipeError:  # it died at once; its exit code tells
        return
