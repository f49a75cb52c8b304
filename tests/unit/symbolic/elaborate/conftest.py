"""Specs in which a proof of tran2022 is changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dpverify.ledger.load import bundled_specs, load_specs
from dpverify.ledger.statements import Statement

Changed = Callable[..., Statement]


@pytest.fixture
def changed(tmp_path: Path) -> Changed:
    """The statement of a claim that is proved first, in specs whose proofs have a text replaced."""

    def statement_of(claim: str, old: str, new: str) -> Statement:
        folder = tmp_path / "specs"
        shutil.copytree(
            bundled_specs() / "tran2022", folder / "tran2022", dirs_exist_ok=True
        )
        file = folder / "tran2022" / "proofs.toml"
        text = file.read_text(encoding="utf-8")
        begin = (
            text.index(f'of = "{claim}"\n')
            if old in text.partition(f'of = "{claim}"\n')[2]
            else 0
        )
        assert old in text[begin:], old
        file.write_text(
            text[:begin] + text[begin:].replace(old, new, 1), encoding="utf-8"
        )
        spec = load_specs(folder).claim(f"tran2022:{claim}")
        return spec.statement(
            spec.readings()[0], spec.proofs.proofs_of(claim)[0].variant
        )

    return statement_of
