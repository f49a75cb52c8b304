from __future__ import annotations

from pathlib import Path

from dpverify.selftest.guards import TEMPLATE_TESTS, folder_tests, guards
from dpverify.selftest.mutants import ATTEMPTS, attempts, mutants

ROOT = Path(__file__).parents[3]
SOURCE = '''LIMIT = 3
def larger(a: int, b: int) -> int:
    """The larger one, 2."""
    return a + 0 if a > b else -b
'''


def test_each_operator_and_number_of_a_body_is_changed_once() -> None:
    changed = {what for what, _, _ in mutants("a.b", SOURCE)}
    assert changed == {
        "line 4: a + 0 if a > b else -b becomes (-b if a > b else a + 0)",
        "line 4: a > b becomes (a <= b)",
        "line 4: a + 0 becomes (a - 0)",
        "line 4: 0 becomes (1)",
        "line 4: -b becomes (+b)",
    }
    assert all(
        source.count("LIMIT = 3") == 1 and source != SOURCE
        for _, source, _ in mutants("a.b", SOURCE)
    )
    assert list(mutants("a.b", SOURCE)) == list(mutants("a.b", SOURCE))


WORDS = """
def larger(a, b):
    if a < 0:
        raise ValueError(f"a must be at least {a + 1}, {b + 2}" + str(a - 3))
    assert b, a - 4
    return search(a, points=a + 5, budget=LONGEST[budget.name] + 6), b + 1000, a + 7
"""


def test_words_are_left_alone_and_sizes_come_last() -> None:
    changed = [
        what.partition(": ")[2]
        for what, _, function in mutants("a.b", WORDS)
        if function == "larger"
    ]
    first, last = (
        {each.partition(" becomes ")[0] for each in some}
        for some in (changed[:5], changed[5:])
    )
    assert first == {"a < 0", "0", "b + 1000", "a + 7", "7"}
    assert last == {"a + 5", "5", "LONGEST[budget.name] + 6", "6", "1000"}


def test_what_waits_is_changed_too() -> None:
    assert [
        what for what, _, _ in mutants("a.b", "async def one(a):\n    return 1\n")
    ] == ["line 2: 1 becomes (2)"]


def test_a_module_is_guarded_by_its_own_tests_or_by_those_that_import_it_or_its_users() -> (
    None
):
    assert guards(ROOT, "dpverify.selftest.mutants") == [
        "tests/unit/selftest/test_mutants.py"
    ]
    # a whole name would count as an import here
    tested = ".".join(["dpverify", "selftest", "checks"])
    assert guards(ROOT, tested) == ["tests/unit/selftest/test_rates.py"]
    assert guards(ROOT, "dpverify.papers.tools.checks.calibration")[0].startswith(
        "tools:calibration"
    )
    # bounds that serve one of several claims of a file
    privacy = "dpverify.papers.tran2022.privacy"
    assert "tran2022:theorem-4-dp" in guards(ROOT, f"{privacy}.signs_bounds")
    test = "tests/unit/papers/tran2022/run_time/test_orders_bounds.py"
    module = "dpverify.papers.tran2022.run_time.orders_bounds"
    assert guards(ROOT, module) == [test]
    assert guards(ROOT, module, "nothing that is there") == [test]
    assert guards(ROOT, module, "stream_order") == [test, "tran2022:section-5-run-time"]
    used = ".".join(["dpverify", "symbolic", "certify", "comparisons"])
    assert guards(ROOT, used) == ["tests/unit/symbolic/certify/test_equal_places.py"]
    package = ".".join(["dpverify", "papers", "__init__"])
    assert guards(ROOT, package) == ["tests/unit/papers/test_papers.py"]


def test_no_claim_of_the_template_is_asked_which_no_run_has() -> None:
    template = ".".join(["dpverify", "papers", "_template", "noise", "tree_bounds"])
    assert guards(ROOT, template) == [TEMPLATE_TESTS]
    assert (ROOT / TEMPLATE_TESTS).is_file()
    asked = [
        guards(ROOT, f"dpverify.{name}")
        for name in ("harness.derivation_check", "papers.tools.checks.limits")
    ]
    assert not any(name.startswith("_template:") for names in asked for name in names)


def test_a_change_is_a_fault_that_can_be_planted() -> None:
    faults = list(attempts(ROOT, "dpverify.selftest.mutants"))
    assert len(faults) == ATTEMPTS
    assert all(fault.old != fault.new for fault in faults)
    assert len({fault.new for fault in faults}) == ATTEMPTS


def test_all_tests_of_the_nearest_folder_that_has_some_can_be_asked() -> None:
    beside = sorted(Path(__file__).parent.glob("test_*.py"))
    asked = folder_tests(ROOT, "dpverify.selftest.mutants")
    assert asked == [f"tests/unit/selftest/{path.name}" for path in beside]
    above = folder_tests(ROOT, "dpverify.lazy")  # beside whose tests are folders
    assert "tests/unit/test_lazy.py" in above
    assert not any(name.count("/") > 2 for name in above)
