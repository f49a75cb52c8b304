"""A way to write damaged variants of the small sound paper in ``toy2024``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SOUND = Path(__file__).with_name("toy2024")


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the folder with each (old, new) replaced; an old text that is not there is a mistake of the test."""

    def write_folder(
        *edits: tuple[str, str],
        verdict_edits: tuple[tuple[str, str], ...] = (),
        extra: str = "",
        key: str = "toy2024",
    ) -> Path:
        claims, verdicts = (
            path.read_text(encoding="utf-8") for path in sorted(SOUND.glob("*.toml"))
        )
        for old, new in edits:
            assert old in claims, old
            claims = claims.replace(old, new, 1)
        for old, new in verdict_edits:
            assert old in verdicts, old
            verdicts = verdicts.replace(old, new, 1)
        folder = tmp_path / "specs" / key
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "claims.toml").write_text(claims + extra, encoding="utf-8")
        (folder / "verdicts.toml").write_text(verdicts, encoding="utf-8")
        return folder.parent

    return write_folder
