from __future__ import annotations

from pathlib import Path

from dpverify.selftest.mutants import attempt, guards, mutants

ROOT = Path(__file__).parents[3]
SOURCE = '''LIMIT = 3
def larger(a: int, b: int) -> int:
    """The larger one, 2."""
    return a + 0 if a > b else -b
'''


def test_each_operator_and_number_of_a_body_is_changed_once() -> None:
    changed = {what for what, _ in mutants("a.b", SOURCE)}
    assert changed == {
        "line 4: a + 0 if a > b else -b becomes (-b if a > b else a + 0)",
        "line 4: a > b becomes (a <= b)",
        "line 4: a + 0 becomes (a - 0)",
        "line 4: 0 becomes (1)",
        "line 4: -b becomes (+b)",
    }
    assert all(source.count("LIMIT = 3") == 1 and source != SOURCE for _, source in mutants("a.b", SOURCE))
    assert list(mutants("a.b", SOURCE)) == list(mutants("a.b", SOURCE))


def test_what_waits_is_changed_too() -> None:
    assert [what for what, _ in mutants("a.b", "async def one(a):\n    return 1\n")] == ["line 2: 1 becomes (2)"]


def test_a_module_is_guarded_by_its_own_tests_or_by_those_that_import_it_or_its_users() -> None:
    assert guards(ROOT, "dpverify.selftest.mutants") == ["tests/unit/selftest/test_mutants.py"]
    assert guards(ROOT, "dpverify.selftest.searching") == ["tests/unit/selftest/test_searching.py"]
    assert guards(ROOT, "dpverify.papers.tools.checks.calibration")[0].startswith("tools:calibration")
    noise = "dpverify.papers.tran2022.noise"  # a derivation that serves the last of three claims
    assert "tran2022:lemma-12-var" in guards(ROOT, f"{noise}.tree_noise_derivations")
    place = ".".join(["dpverify", "symbolic", "certify", "place"])  # a whole name would count as an import here
    assert guards(ROOT, place) == ["tests/unit/symbolic/certify/test_orders.py"]
    package = ".".join(["dpverify", "papers", "__init__"])
    assert guards(ROOT, package) == ["tests/unit/papers/test_papers.py"]


def test_a_change_is_a_fault_that_can_be_planted() -> None:
    fault = attempt(ROOT, "dpverify.selftest.mutants", 0)
    assert fault is not None
    assert fault.old != fault.new
    assert attempt(ROOT, "dpverify.selftest.mutants", 10**6) is None
