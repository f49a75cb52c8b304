"""Words about claims: each filter takes the words of its own kind and refuses all others."""

from __future__ import annotations

import pytest

from dpverify.cli.claims import chosen, chosen_severities
from dpverify.cli.output import BadInput
from dpverify.ledger.records import SEVERITIES
from dpverify.report.words import STATUSES


def test_without_a_filter_all_pass() -> None:
    statuses, kinds = chosen(None, None)
    assert statuses == frozenset(STATUSES)
    assert {"dp", "rdp", "identity"} <= kinds
    assert chosen_severities(None) is None


def test_a_filter_passes_what_it_names() -> None:
    assert chosen(["proved", "refuted"], ["dp"]) == (
        frozenset({"proved", "refuted"}),
        frozenset({"dp"}),
    )
    assert chosen_severities(["privacy"]) == frozenset({"privacy"})
    assert chosen_severities([*SEVERITIES]) == frozenset(SEVERITIES)


def test_a_word_of_another_kind_is_refused() -> None:
    with pytest.raises(BadInput, match="--status"):
        chosen(["dp"], None)
    with pytest.raises(BadInput, match="--kind"):
        chosen(["proved"], ["dp", "proved"])
    with pytest.raises(BadInput, match="--severity"):
        chosen_severities(["refuted"])
