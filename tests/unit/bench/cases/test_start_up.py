from __future__ import annotations

from tests.for_each import for_each
from tests.unit.bench.cases.tiny import told


@for_each("name", ["help", "import"])
def test_commands_run(name: str) -> None:
    """One that fails raises. Which form takes longer depends on the load of the machine, so it is not asserted."""
    told_by_form = told(f"start-up/{name}")
    assert list(told_by_form) == ["python -c pass", "dpverify"]
    assert all(usage.seconds > 0.0 for usage in told_by_form.values())
