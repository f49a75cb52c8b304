"""The stand-alone checker, loaded from its file: certificates are written in its expressions and forms."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from dpverify.ledger import bundled_specs

#: An expression, and a form, of the checker.
Expr: TypeAlias = Any
Form: TypeAlias = Any


def checker_file() -> Path:
    """Path of the checker."""
    return bundled_specs() / "proofs" / "check_certificate.py"


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("check_certificate", checker_file())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: The checker as a module.
k = _loaded()


@cache
def rules() -> list[dict[str, Any]]:
    """The catalogue of rules, as the checker reads it."""
    found: list[dict[str, Any]] = json.loads(checker_file().with_name("rules.json").read_text())["rules"]
    return found
