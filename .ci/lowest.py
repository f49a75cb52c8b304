"""Print a constraint for each requirement of pyproject.toml: the lowest version that it allows.

``python .ci/lowest.py > FILE`` and ``pip install -c FILE -e .`` test the declared lower bounds.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)")


def lowest(text: str) -> list[str]:
    """List ``name==version`` for the requirements of the core; each must state a lower bound."""
    constraints = []
    for requirement in tomllib.loads(text)["project"]["dependencies"]:
        match = REQUIREMENT.match(requirement)
        if match is None:
            raise ValueError(
                f"dependencies: {requirement!r} must state a lower bound as name>=version."
            )
        constraints.append(f"{match[1]}=={match[2]}")
    return constraints


if __name__ == "__main__":
    print("\n".join(lowest(PROJECT.read_text(encoding="utf-8"))))
