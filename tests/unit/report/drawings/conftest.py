"""What the tests of drawings share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from dpverify.report.pages.figures import svg


@pytest.fixture(scope="module")
def plain(request: pytest.FixtureRequest) -> Callable[[str], bytes]:
    """The picture of a module's ``FIGURE``, drawn once."""
    return cache(lambda name: svg(name, request.module.FIGURE))
