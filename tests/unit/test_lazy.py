"""Front pages: every name that they list is there, and nothing is loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from tests.for_each import for_each

PAGES = [
    "dpverify",
    "dpverify.harness",
    "dpverify.ledger",
    "dpverify.symbolic",
    "dpverify.papers.tran2022.algorithms",
]


@for_each("page", PAGES)
def test_every_name_is_there_and_no_other(page: str) -> None:
    module = import_module(page)
    assert [
        name for name in module.__all__ if getattr(module, name, None) is None
    ] == []
    assert set(dir(module)) | {"__version__"} == set(module.__all__) | {"__version__"}
    with pytest.raises(
        AttributeError, match=f"module '{page}' has no attribute 'nothing'"
    ):
        _ = module.nothing


@for_each("page", PAGES)
def test_a_page_loads_nothing_by_itself(page: str) -> None:
    program = f"import sys, {page}; assert not {{'numba', 'numpy', 'sympy', 'msgspec'}} & set(sys.modules), page"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_name_that_is_also_a_module_is_the_function() -> None:
    program = (
        "from dpverify.papers.tran2022.algorithms import compose, reconstruct; assert callable(compose) "
        "and callable(reconstruct)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
