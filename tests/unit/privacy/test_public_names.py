from __future__ import annotations

import pytest

import dpverify.privacy
from tests.for_each import for_each


@for_each("name", dpverify.privacy.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(dpverify.privacy, name) is not None


def test_unknown_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        dpverify.privacy.nonsense  # noqa: B018  # the access itself is the test
