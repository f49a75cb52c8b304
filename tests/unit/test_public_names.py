"""Every public name has a docstring with an example, and the example is true."""

from __future__ import annotations

import doctest

import dpverify
from tests.for_each import for_each

NAMES = sorted(set(dpverify.__all__) - {"__version__"})


def examples(name: str) -> list[doctest.Example]:
    """The examples in the docstring of a public name, those that are skipped among them."""
    documentation = getattr(dpverify, name).__doc__ or ""
    return doctest.DocTestParser().get_examples(documentation)


@for_each("name", NAMES)
def test_it_has_an_example(name: str) -> None:
    assert examples(name), f"dpverify.{name} needs an example in its docstring"


@for_each("name", NAMES)
def test_its_examples_are_true(name: str) -> None:
    found = doctest.DocTestFinder(exclude_empty=True).find(
        getattr(dpverify, name), name, globs={}
    )
    runner = doctest.DocTestRunner()
    for test in found:
        runner.run(test)
    assert runner.failures == 0


def test_the_example_of_the_package_is_true() -> None:
    documentation = dpverify.__doc__ or ""
    runner = doctest.DocTestRunner()
    runner.run(
        doctest.DocTestParser().get_doctest(documentation, {}, "dpverify", None, 0)
    )
    assert runner.tries > 1
    assert runner.failures == 0


def test_an_example_is_skipped_only_if_it_needs_an_extra_or_writes_a_file() -> None:
    skipped = {
        name
        for name in NAMES
        for example in examples(name)
        if doctest.SKIP in example.options
    }
    assert skipped == {"event", "figure"}
