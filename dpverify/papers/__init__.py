"""The papers: each folder holds kernels, bounds and the checks where they meet."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.harness.registry import PaperChecks

SEARCH_SECONDS = {"smoke": 0.12436562317788488, "standard": 2.860417318846139, "full": 218.8423303985057}
"""Core seconds that one search may take in each budget, so that all checks of all papers fit.

It follows from what all checks declare (:func:`dpverify.harness.budget.shares`), and is written down all the same: a
check says what it costs in code, by its readings and corners, so that to derive it is to import every check: two
thirds as long again as loading the code of one claim. A test fails where it is out of date, and says what to write.
"""


def load(key: str) -> PaperChecks | None:
    """Load the checks of one paper.

    Parameters
    ----------
    key : str
        Paper key, such as ``tran2022``.

    Returns
    -------
    PaperChecks or None
        The registry ``CHECKS`` of ``dpverify.papers.<key>.checks``; None where no code is written for the paper yet.
    """
    if not key.isidentifier() or find_spec(f"{__name__}.{key}") is None:
        return None
    checks: PaperChecks = import_module(f"{__name__}.{key}.checks").CHECKS
    return checks
