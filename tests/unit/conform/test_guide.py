"""Optimizers of other styles, as docs/your-optimizer.md has them: they pass, and a mistake planted in each is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpverify.conform import Conformance, conformance
from tests.for_each import for_each

GUIDE = Path(__file__).parents[3] / "docs" / "your-optimizer.md"
SECTION = GUIDE.read_text("utf-8").partition("## Optimizers of another style")[2]
SHARED, *BLOCKS = [
    part.partition("```")[0] for part in SECTION.split("```python\n")[1:]
]
MISTAKES = {
    "closure": {  # what leaves has an average of clean gradients in it
        "velocity + released": "velocity + clean",
        "return released": "return released + 0.1 * velocity / BATCH",
    },
    "accumulation": {
        "+= clipped(part).sum(axis=0)": "+= BATCH * noisy(clipped(part).sum(axis=0), rng)"
    },
    "fedavg": {"SIGMA * CLIP / np.sqrt(len(updates))": "SIGMA * CLIP / len(updates)"},
    "adaptive": {"SIGMA * length * rng": "SIGMA * 0.87 * length * rng"},
    "dp_srm": {
        "+ 0.9 * estimate, released": "+ 0.9 * estimate, released + 0.1 * differences.sum(axis=0)"
    },
    "dp_nsgd": {
        "average = (1 - ALPHA) * average": "average = (1 - ALPHA / 2) * average"
    },
    "matrix": {"INVERSE[t, : t + 1]": "INVERSE[t, : t + 1] * (0.8 if t > 3 else 1.0)"},
    "pytorch": {
        "clipped(gradients).sum(axis=0)": "clipped(gradients.sum(axis=0, keepdims=True))[0] * 2"
    },
}


def judged(name: str, changes: dict[str, str]) -> Conformance:
    """Run the guide's block that makes this optimizer, with some of its text changed, and test what it makes."""
    (block,) = (one for one in BLOCKS if f"\n{name} = " in one)
    for old, new in changes.items():
        assert block.count(old) == 1
        block = block.replace(old, new)
    space: dict[str, Any] = {}
    exec(SHARED + block, space)
    return conformance(space[name], space.get("promise", space["PROMISE"]), seed=0)


@pytest.mark.slow
@for_each("name", MISTAKES)
def test_a_style_of_the_guide_passes_and_a_mistake_in_it_is_found(name: str) -> None:
    if name == "pytorch":
        pytest.importorskip("torch", reason="the extra `torch` is not installed")
    right = judged(name, {})
    assert right, str(right)
    assert not judged(name, MISTAKES[name])
