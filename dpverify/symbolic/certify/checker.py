"""The stand-alone checker, loaded from its file: certificates are written with its own idea of equal expressions."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

from dpverify.ledger.load import bundled_specs

#: Where the checker and the catalogue of rules lie, in the folder of specs.
FOLDER = "proofs"


def checker_file(specs: Path | None = None) -> Path:
    """Path of the checker."""
    return (bundled_specs() if specs is None else specs) / FOLDER / "check_certificate.py"


@cache
def checker() -> Any:
    """The checker as a module."""
    spec = importlib.util.spec_from_file_location("check_certificate", checker_file())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def rules() -> list[dict[str, Any]]:
    """The catalogue of rules, as the checker reads it."""
    found: list[dict[str, Any]] = json.loads(checker_file().with_name("rules.json").read_text())["rules"]
    return found
