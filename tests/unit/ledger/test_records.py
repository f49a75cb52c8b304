from __future__ import annotations

import msgspec
import pytest

from dpverify.ledger.records import Function, encode

TEXT = b"""{
 "latex": "G",
 "arity": 2,
 "meaning": "a gain"
}
"""


def test_a_record_is_indented_by_one_and_ends_a_line() -> None:
    record = Function(latex="G", arity=2, meaning="a gain")
    assert encode(record) == TEXT
    assert msgspec.json.decode(TEXT, type=Function) == record


def test_a_field_that_is_not_there_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `more`"):
        msgspec.json.decode(
            TEXT.replace(b'"arity": 2', b'"arity": 2, "more": 1'), type=Function
        )
