"""The stand-alone checker and statement reader, loaded from their files: certificates are written in its forms."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from flint import fmpq

from dpverify.ledger import bundled_specs

#: An expression, and a form, of the checker.
Expr: TypeAlias = Any
Form: TypeAlias = Any


def checker_file() -> Path:
    """Path of the checker."""
    return bundled_specs() / "proofs" / "check_certificate.py"


def _loaded(name: str) -> Any:
    """The program of a name as a module, under which the other one imports it."""
    spec = importlib.util.spec_from_file_location(name, checker_file().with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


#: The checker as a module.
k = _loaded("check_certificate")

#: Expressions, and a form, that modules hold: there are no others when a certificate is begun, whatever was imported.
HOLE: Expr = k.letter("HOLE")
ZERO: Expr = k.rational(0)
UNIT: Expr = k.rational(1)
HALF: Form = k.constant(fmpq(1, 2))
_FIRST = {id(table): dict(table) for table in (k.ROWS, k.FORMS)}


def forget_expressions() -> None:
    """Forget all expressions but these, and what was computed of them: terms stand in the order they are met in."""
    for table in (k.ROWS, k.FORMS):
        table.clear()
        table.update(_FIRST[id(table)])
    form = k.Form
    for function in (k.alone, k.letters_in, k.number_sign, form.__neg__, form.parts, form.key, form.content):
        function.cache_clear()


@cache
def reader() -> Any:
    """The statement reader as a module; loaded when it is needed."""
    return _loaded("read_statement")


@cache
def records_of(folder: Path) -> Any:
    """The records of a specs folder, as the statement reader reads them."""
    return reader().Records(folder)


@cache
def rules() -> list[dict[str, Any]]:
    """The catalogue of rules, as the checker reads it."""
    catalogue: list[dict[str, Any]] = json.loads(checker_file().with_name("rules.json").read_text())["rules"]
    return catalogue
