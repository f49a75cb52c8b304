"""Benchmarks run only when their folder is named, as in `pytest tests/bench`, and then they are timed."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def asked(config: pytest.Config) -> bool:
    """Whether the command line names this folder, or something in it."""
    named = [
        Path(argument.split("::")[0])
        for argument in config.invocation_params.args
        if argument[:1] != "-"
    ]
    return any(
        (config.invocation_params.dir / path).resolve().is_relative_to(HERE)
        for path in named
    )


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if asked(config) else True


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if asked(config) and not config.getoption("collectonly"):
        config.option.benchmark_enable = True
