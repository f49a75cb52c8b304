"""Benchmark cases. A case times several forms of the same work and divides by the time of one form, the limit.

Each module of ``dpverify.bench.cases`` defines a group of cases. This module imports nothing heavy, because a measuring
process must set its number of threads before it loads numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# processor time of this thread or process, or wall time
Clock = Literal["thread", "process", "wall"]

# quantity that a target bounds
Kind = Literal["ratio", "seconds", "exponent", "memory", "memory-exponent"]

# does the work once; the result is ignored unless it is a Usage
Form: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Usage:
    """Resources used by the child processes of a form."""

    peak: int = 0  # peak memory of the largest process in bytes; 0 if unknown
    seconds: float | None = None  # time of the call, if not the measured duration
    core_seconds: float = 0.0  # processor time of the processes


@dataclass(frozen=True)
class Missing:
    """Placeholder for a form that cannot be measured here, with the reason."""

    why: str  # such as "opacus is not installed"


Forms: TypeAlias = Mapping[str, Form | Missing]  # form name -> form


@dataclass(frozen=True)
class Target:
    """A bound that a form of a case must satisfy."""

    form: str  # the form that must satisfy the bound
    at_most: float | None = None  # exactly one of at_most and at_least is set
    at_least: float | None = None
    # ``ratio``: seconds of ``form`` over seconds of ``to``. ``seconds``: seconds per
    # item (a call has ``work`` items). ``exponent``: growth of the seconds with the
    # size of a sweep. ``memory``: bytes that a call adds at its peak.
    # ``memory-exponent``: growth of these bytes with the size of a sweep.
    kind: Kind = "ratio"
    to: str = ""  # denominator of a ratio; by default the limit of the case
    words: str = ""  # description for the reader, if the number is not self-explanatory
    # sizes of a sweep to which it applies; by default all
    at: Sequence[int | float] = ()

    def __post_init__(self) -> None:
        """Raise ValueError unless the target has exactly one bound."""
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(
                f"at_most={self.at_most}, at_least={self.at_least}: a target has one of the two"
            )


@dataclass(frozen=True, eq=False)
class BenchCase:
    """A benchmark: several forms of the same work."""

    name: str  # unique in its group; lower case with hyphens
    title: str  # description of the work in one line
    # ``prepare(seed=..., **parameters)`` makes the input and returns the forms. It runs
    # once per pass in a fresh process. Forms that are not in ``sparse`` are called once
    # before any form is timed, so that kernels are compiled.
    prepare: Callable[..., Forms]
    forms: Sequence[str]  # names of all forms, in the order of the report
    # reference form: a physical limit, the literal
    # algorithm, or a peer; by default the first form
    limit: str = ""
    # sizes, passed to ``prepare`` by name
    parameters: Mapping[str, int | float] = field(default_factory=dict)
    targets: Sequence[Target] = ()
    work: float = 1.0  # items per call (steps, normals, tasks), for seconds per item
    item: str = "call"  # name of an item, in the singular
    # clock; ``thread`` for single-threaded kernels,
    # ``wall`` for several threads and whole commands
    clock: Clock = "thread"
    # forms too slow for every round: timed once in each of the first three passes,
    # without a warm-up call, so that ``prepare`` must compile them on a small input
    sparse: Sequence[str] = ()
    # forms of other libraries: shown, but not checked for slowdowns
    peers: Sequence[str] = ()
    passes: int | None = None  # at most this many passes; by default those of the run
    # at most this many rounds per pass; by default those of the run
    rounds: int | None = None
    # the limit is code of ours, which a comparison of two runs checks too
    limit_is_ours: bool = False
    # takes minutes: run only with ``--long`` or if the group is named
    long: bool = False
    # times printed in a paper for this work on other
    # machines: source -> pairs of size and seconds
    printed: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    # name and parameter of the sweep of which the case is a part, set by :func:`sweep`
    sweep: str = ""
    over: str = ""

    def __post_init__(self) -> None:
        """Use the first form as the limit by default."""
        object.__setattr__(self, "limit", self.limit or self.forms[0])


def sweep(
    case: BenchCase,
    over: str,
    values: Sequence[int | float],
    *,
    work: Callable[..., float] | None = None,
    also: Callable[[int | float], Mapping[str, int | float]] | None = None,
) -> tuple[BenchCase, ...]:
    """Return a case at several sizes, named ``<name>-<over>-<size>``; reports fit a power of the size to the times."""
    if len(values) < 2 or list(values) != sorted(set(values)):
        raise ValueError(
            f"values={list(values)}: a sweep needs two sizes or more, increasing"
        )
    strange = {size for target in case.targets for size in target.at} - set(values)
    if strange:
        raise ValueError(
            f"at={sorted(strange)}: a target names sizes that the sweep over {list(values)} has not"
        )
    cases = []
    for value in values:
        parameters = {**case.parameters, over: value, **(also(value) if also else {})}
        items = work(**parameters) if work else case.work
        name = f"{case.name}-{over.lower()}-{value}"
        due = [target for target in case.targets if not target.at or value in target.at]
        cases.append(
            replace(
                case,
                name=name,
                parameters=parameters,
                targets=due,
                work=items,
                sweep=case.name,
                over=over,
            )
        )
    return tuple(cases)


def peer(package: str, build: Callable[[Any], Form]) -> Form | Missing:
    """Return a form that uses a package, or Missing if the package is not installed."""
    try:
        module = import_module(package)
    except ImportError:
        return Missing(f"{package.partition('.')[0]} is not installed")
    return build(module)


GROUPS = (
    "scaling",
    "noise",
    "optimizers",
    "recursive",
    "sparse",
    "networks",
    "reconstruction",
    "parties",
    "monte-carlo",
    "accounting",
    "audit",
    "start-up",
    "verification",
)


class GroupError(ValueError):
    """Raised for a name that is not a group."""

    def __init__(self, name: str) -> None:
        near = get_close_matches(name, GROUPS, n=3, cutoff=0.5)
        self.name = name
        self.rule = f"is not a group; {'near: ' if near else 'there are: '}{', '.join(near or GROUPS)}"
        super().__init__(f"{name!r} {self.rule}")


@dataclass(frozen=True)
class Group:
    """A group of cases."""

    name: str  # name on the command line
    title: str  # first line of the module's docstring, without the period
    cases: tuple[BenchCase, ...]  # in the order of the report


def load(name: str) -> Group:
    """Load one group."""
    module = import_module(f"dpverify.bench.cases.{name.replace('-', '_')}")
    return Group(
        name, (module.__doc__ or "").splitlines()[0].rstrip("."), tuple(module.CASES)
    )


def select(names: Sequence[str], *, long: bool = False) -> list[Group]:
    """Return the groups that a run measures, by default all; groups without a case to measure are omitted."""
    for name in names:
        if name not in GROUPS:
            raise GroupError(name)
    chosen = []
    for name in GROUPS:
        if not names or name in names:
            group = load(name)
            cases = tuple(
                case for case in group.cases if long or name in names or not case.long
            )
            chosen.append(Group(name, group.title, cases))
    return [group for group in chosen if group.cases]


LINE = 8  # float64 numbers per cache line of 64 bytes


def aligned(*shape: int) -> NDArray[np.float64]:
    """Return written zeros that are aligned to a cache line, since unaligned access is slower."""
    import numpy as np

    size = int(np.prod(shape))
    space = np.empty(size + LINE)
    begin = (-space.ctypes.data // 8) % LINE
    out = space[begin : begin + size]
    out[:] = 0.0
    return out.reshape(shape)
