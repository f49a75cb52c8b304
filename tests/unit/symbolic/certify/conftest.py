"""Certificates of a few claims."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.symbolic.certify.examples import CLAIMS, certified


@pytest.fixture(params=CLAIMS)
def certificate(request: pytest.FixtureRequest) -> Callable[[], Any]:
    """A fresh copy of a certificate, each time it is called."""
    text = certified(request.param).text
    assert text is not None
    return lambda: json.loads(text)
