from __future__ import annotations

import pytest

from tests.unit.bench.cases.tiny import told


@pytest.mark.parametrize("name", ["help", "import"])
def test_commands_run(name: str) -> None:
    """One that fails raises."""
    empty, ours = told(f"start-up/{name}").values()
    assert 0.0 < empty.seconds < ours.seconds
