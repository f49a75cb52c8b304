from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from dpverify.bench.case import (
    GROUPS,
    BenchCase,
    GroupError,
    Missing,
    Target,
    load,
    peer,
    select,
    sweep,
)
from dpverify.bench.measure import YARDSTICK
from tests.for_each import for_each
from tests.unit.bench.runs import case, nothing


@for_each("bounds", [{}, {"at_most": 1.0, "at_least": 1.0}])
def test_a_target_has_one_bound(bounds: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="one of the two"):
        Target("ours", **bounds)  # type: ignore[arg-type]  # bounds are bounds


def test_a_sweep_is_a_case_per_size() -> None:
    template = BenchCase(
        "sum", "The sum", nothing, ("limit", "ours"), parameters={"d": 2}
    )
    small, large = sweep(
        template,
        "T",
        (10, 1000),
        work=lambda *, T, d, **_: T * d,
        also=lambda T: {"N": T / 10},
    )
    assert (small.name, large.name) == ("sum-t-10", "sum-t-1000")
    assert large.parameters == {"d": 2, "T": 1000, "N": 100}
    assert (small.work, large.work) == (20, 2000)
    assert {each.sweep for each in (small, large)} == {"sum"}
    assert small.over == "T"


def test_a_target_of_a_sweep_holds_at_the_sizes_that_it_names() -> None:
    everywhere, there = (
        Target("ours", at_most=5.0),
        Target("ours", at_most=2.0, at=(1000,)),
    )
    small, large = sweep(case(targets=[everywhere, there]), "T", (10, 1000))
    assert list(small.targets) == [everywhere]
    assert list(large.targets) == [everywhere, there]
    with pytest.raises(ValueError, match=r"at=\[1000\]: a target names sizes"):
        sweep(case(targets=[there]), "T", (10, 100))


@for_each("values", [(1,), (2, 1), (1, 1)])
def test_a_sweep_needs_increasing_sizes(values: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="increasing"):
        sweep(case(), "T", values)


def test_a_peer_that_is_not_there_says_so() -> None:
    found = peer("no_such_package_at_all", lambda module: module.run)
    assert found == Missing("no_such_package_at_all is not installed")
    assert callable(peer("math", lambda module: module.gamma))


def test_the_first_form_is_the_limit_where_none_is_named() -> None:
    assert case(forms=("ours", "limit")).limit == "ours"
    assert case(forms=("ours", "limit"), limit="limit").limit == "limit"


@for_each("name", GROUPS)
def test_every_group_is_there_and_its_forms_are_told(name: str) -> None:
    group = load(name)
    assert group.title
    assert group.cases
    names = [each.name for each in group.cases]
    assert len(names) == len(set(names))
    for each in group.cases:
        told = {
            form for target in each.targets for form in (target.form, target.to) if form
        }
        timed = {*each.forms, *([YARDSTICK] if each.limit_is_ours else [])}
        assert {each.limit, *each.sparse, *each.peers} <= set(each.forms)
        assert told <= timed
        # it goes to a process of its own
        assert pickle.loads(pickle.dumps(each)).name == each.name
        assert each.name == each.name.lower().replace("_", "-").replace(" ", "-")


def test_an_unknown_group_is_told_what_is_near() -> None:
    with pytest.raises(GroupError, match=r"'nois' is not a group; near: noise"):
        select(["nois"])
    with pytest.raises(GroupError, match="there are: scaling, noise"):
        select(["zzz"])


def test_long_cases_only_when_asked_for() -> None:
    assert "verification" not in [group.name for group in select([])]
    assert "verification" in [group.name for group in select([], long=True)]
    assert [group.name for group in select(["verification"])] == ["verification"]


def test_listing_cases_loads_nothing_heavy() -> None:
    code = """import sys
from dpverify.bench.case import select
select([], long=True)
print(*{name.split('.')[0] for name in sys.modules})"""
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert {"numpy", "scipy", "numba", "sympy", "matplotlib", "msgspec"} & set(
        loaded
    ) == set()
