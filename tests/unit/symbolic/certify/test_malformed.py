"""Certificates with parts left out or replaced by data of any type: refused, or accepted with the same statement."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpverify.ledger.load import bundled, bundled_specs
from dpverify.symbolic.certify.checker import k, records_of, rules
from tests.for_each import for_each
from tests.unit.symbolic.certify.test_changed_certificates import changed, walk
from tests.unit.symbolic.certify.test_false_certificates import sealed

CERTIFICATES = bundled("reports") / "certificates"
#: One with a lemma, one with an order, one with definitions and a claim, one with a measured claim and a given fact.
NAMES = (
    "tran2022-algorithm-5-noise-std-printed",
    "zhang2021-section-1-convex-printed",
    "tran2022-equation-1-printed",
    "tran2022-lemma-11-anchor-drift-quotient-printed",
)
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 10**5000, 0.5, float("nan"), "", "x", "\ud800", [], [[]], {}, ["q"], ["q", "1", "2"],
    ["q", "1/0"], ["q", "9" * 5000], ["sum"], ["apply"], ["^", "x"], [None], {"": None},
)  # fmt: skip


def without(data: Any, place: tuple[Any, ...]) -> Any:
    """A copy without the part at a place."""
    copied = copy.deepcopy(data)
    part = copied
    for key in place[:-1]:
        part = part[key]
    del part[place[-1]]
    return copied


def malformed(data: Any) -> Iterator[Any]:
    """The certificate without each of its parts, and with one of the values in the place of each."""
    for count, (place, _) in enumerate(walk(data)):
        if place:
            yield without(data, place)
            yield changed(data, place, VALUES[count % len(VALUES)])


def resealed(data: Any) -> Any:
    """The certificate with seals that fit what it says, if it says something that has a seal."""
    try:
        return sealed(data)
    except Exception:  # noqa: BLE001  whatever malformed data causes
        return data


@for_each("seal", [lambda data: data, resealed], ids=["old seals", "new seals"])
@for_each("name", NAMES)
def test_a_malformed_certificate_is_refused_or_has_the_same_statement(
    name: str, seal: Callable[[Any], Any]
) -> None:
    data = json.loads((CERTIFICATES / f"{name}.json").read_bytes())
    records = records_of(bundled_specs())
    statement = records.bound(k.run(data, rules())).text
    refused = accepted = 0
    for other in malformed(data):
        try:
            assert records.bound(k.run(seal(other), rules())).text == statement
            accepted += 1
        except k.Refused:
            refused += 1
    assert refused > 10 * accepted


NOT_CERTIFICATES = {
    "a key that occurs twice": lambda text: text.replace(
        '"schema": 3', '"schema": 2, "schema": 3', 1
    ),
    "no number": lambda text: text.replace('"schema": 3', '"schema": 3, "x": NaN', 1),
    "a number that is not finite": lambda text: text.replace(
        '"schema": 3', '"schema": 3, "x": -Infinity', 1
    ),
    "a number with a point": lambda text: text.replace(
        '"schema": 3', '"schema": 3.0', 1
    ),
    "an exponent": lambda text: text.replace(
        '"schema": 3', '"schema": 3, "x": 1e400', 1
    ),
    "an integer of 5,000 digits": lambda text: text.replace(
        '"schema": 3', f'"schema": 3, "x": {"9" * 5000}', 1
    ),
    "an encoding that is none": lambda text: text.encode() + b"\xff",
    "more data": lambda text: f"{text} {{}}",
    "depth": lambda text: text.replace(
        '"schema": 3', f'"schema": 3, "x": {"[" * 50_000}{"]" * 50_000}', 1
    ),
}


@for_each("name", NOT_CERTIFICATES)
def test_json_that_can_be_read_in_two_ways_is_refused(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / f"{NAMES[0]}.json"
    text = json.dumps(json.loads((CERTIFICATES / file.name).read_bytes()))
    records = records_of(bundled_specs())
    file.write_text(text)
    records.accepted(file, rules())
    other = NOT_CERTIFICATES[name](text)  # type: ignore[no-untyped-call]
    file.write_bytes(other if isinstance(other, bytes) else other.encode())
    with pytest.raises(k.Refused):
        records.accepted(file, rules())


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    records = records_of(bundled_specs())
    link = tmp_path / "link.json"
    link.symlink_to("/dev/zero")
    for path in (tmp_path, link, tmp_path / "none.json"):
        with pytest.raises(k.Refused, match="no such file"):
            records.accepted(path, rules())


class Broken:
    """Data of a kind that no parser makes."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __getitem__(self, key: str) -> Any:
        raise self.error(key)


ERRORS = (
    KeyError,
    TypeError,
    AttributeError,
    ZeroDivisionError,
    OverflowError,
    MemoryError,
    AssertionError,
)


@for_each("error", ERRORS)
def test_whatever_a_certificate_causes_is_a_refusal(error: type[Exception]) -> None:
    with pytest.raises(k.Refused, match=f"malformed: {error.__name__}"):
        k.run(Broken(error), rules())
    checker = k.run(
        json.loads((CERTIFICATES / f"{NAMES[0]}.json").read_bytes()), rules()
    )
    checker.statement.data = Broken(error)
    with pytest.raises(k.Refused, match=f"malformed: {error.__name__}"):
        records_of(bundled_specs()).bound(checker)
