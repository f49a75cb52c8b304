"""One test over a table: `for_each` runs all rows in one pytest item and reports each row that fails."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest
from _pytest._io.saferepr import saferepr
from _pytest.mark.structures import ParameterSet

Test = Callable[..., None]
Row = tuple[str, dict[str, object]]
Table = Callable[[], Sequence[Row]]

TABLES = "tables_of_for_each"


def for_each(
    names: str | Sequence[str],
    values: Iterable[object] | Callable[[], Iterable[object]],
    ids: Iterable[object] | Callable[[Any], object] | None = None,
) -> Callable[[Test], Test]:
    """Run the test with each of the values, like `pytest.mark.parametrize`, but as one item.

    A function in place of the values is called when the test runs. The decorator may be repeated: the test then runs
    with all combinations. Each run has its own store of evidence, `tmp_path` and `monkeypatch`, and an empty `capsys`.
    Other fixtures are shared by the runs. Use `pytest.mark.parametrize` if these fixtures must be fresh, or if a run
    takes more than a second or two.
    """
    split = (
        [name.strip() for name in names.split(",")]
        if isinstance(names, str)
        else list(names)
    )

    if not callable(values):
        values = list(values)  # an iterator would be used up by the first run
    if ids is not None and not callable(ids):
        ids = [str(label) for label in ids]

    @functools.cache
    def rows() -> Sequence[Row]:
        given = list(values() if callable(values) else values)
        labels = ids if isinstance(ids, list) else [None] * len(given)
        label_of = ids if callable(ids) else None
        return [
            _row(split, value, label_of or label)
            for value, label in zip(given, labels, strict=True)
        ]

    def decorate(test: Test) -> Test:
        wrapper = test if hasattr(test, TABLES) else _over_tables(test)
        getattr(wrapper, TABLES).insert(0, rows)
        signature = inspect.signature(wrapper)
        missing = set(split) - signature.parameters.keys()
        assert not missing, f"{test.__name__} has no parameter {sorted(missing)}"
        kept = [
            parameter
            for name, parameter in signature.parameters.items()
            if name not in split
        ]
        wrapper.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]  # read by inspect
        return wrapper

    return decorate


def _over_tables(test: Test) -> Test:
    tables: list[Table] = []

    @functools.wraps(test, updated=())
    def wrapper(*, subtests: pytest.Subtests, **fixtures: Any) -> None:
        combinations = list(product(*(table() for table in tables)))
        if not combinations:
            pytest.skip("there are no values")
        for number, combination in enumerate(combinations):
            arguments = {
                name: value for _, row in combination for name, value in row.items()
            }
            try:
                with _own_state(fixtures, number) as own:
                    test(**own, **arguments)
            except BaseException:
                with subtests.test("-".join(label for label, _ in combination)):
                    raise

    parameters = list(inspect.signature(test).parameters.values())
    parameters.append(inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY))
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect
    wrapper.pytestmark = list(getattr(test, "pytestmark", []))  # type: ignore[attr-defined]  # read by pytest
    setattr(wrapper, TABLES, tables)
    return wrapper


@contextmanager
def _own_state(fixtures: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Yield the fixtures, as fresh as for a separate test."""
    own = dict(fixtures)
    with pytest.MonkeyPatch.context() as patch, unchanged_global_state():
        patch.setenv("DPVERIFY_STORE", f"{os.environ['DPVERIFY_STORE']}-{number}")
        if "monkeypatch" in own:
            own["monkeypatch"] = patch
        if "tmp_path" in own:
            own["tmp_path"] = own["tmp_path"] / str(number)
            own["tmp_path"].mkdir()
        if "capsys" in own:
            own["capsys"].readouterr()
        yield own


@contextmanager
def unchanged_global_state() -> Iterator[None]:
    """Restore mpmath's precision and numpy's print options, and fail if the global generator was used."""
    import mpmath
    import numpy as np

    digits = mpmath.mp.dps
    options = np.get_printoptions()
    before = _global_generator()
    yield
    mpmath.mp.dps = digits
    np.set_printoptions(**options)
    assert _global_generator() == before, (
        "a test seeded numpy's global generator or drew from it"
    )


def _global_generator() -> tuple[bytes, int]:
    import numpy as np

    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002 only read, to see that nobody used it
    return state["key"].tobytes(), state["pos"]


def _row(names: list[str], value: object, label: object) -> Row:
    """Return the label and the values of a row; ``label`` may be a text or a function of each value."""
    values: Sequence[object] = [value]
    if isinstance(value, ParameterSet):
        assert not value.marks, f"for_each applies no marks: {value}"
        label = value.id or label
        values = value.values
    elif len(names) > 1:
        values = list(value)  # type: ignore[call-overload]  # a row of the table
    row = dict(zip(names, values, strict=True))
    if callable(label):
        label = "-".join(str(label(part)) for part in values)
    return str(
        label or ", ".join(f"{name}={saferepr(part, 80)}" for name, part in row.items())
    ), row
