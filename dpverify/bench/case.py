"""What is measured: a case has forms, one the limit that the others are divided by; groups of cases, a module each.

Nothing heavy is imported: a process that measures sets its threads before it loads numpy.
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

Clock = Literal["thread", "process", "wall"]  # processor time of this thread, of this process, or the time that passes

Kind = Literal["ratio", "seconds", "exponent", "memory", "memory-exponent"]  # what a target is about

Form: TypeAlias = Callable[[], object]  # does the work once; what it returns is dropped, but for a Usage


@dataclass(frozen=True)
class Usage:
    """What a form that runs other processes says of them."""

    peak: int = 0  # most memory that one of them held at a time, in bytes; 0 where nothing is known
    seconds: float | None = None  # what counts as the time of the call, where that is not how long it took
    core_seconds: float = 0.0  # seconds of cores that they used


@dataclass(frozen=True)
class Missing:
    """Stands for a form that cannot be measured here: the row then says why."""

    why: str  # such as "opacus is not installed"


Forms: TypeAlias = Mapping[str, Form | Missing]  # the forms of a case by name


@dataclass(frozen=True)
class Target:
    """A number that a case must reach."""

    form: str  # the form that must reach it
    at_most: float | None = None  # the bound; one of the two
    at_least: float | None = None
    # ``ratio``: seconds of ``form`` over seconds of ``to``. ``seconds``: seconds of one item (a call has ``work`` of
    # them). ``exponent``: of the seconds of a sweep in its size. ``memory``: bytes that a call adds at its peak.
    # ``memory-exponent``: of those bytes in the size of a sweep.
    kind: Kind = "ratio"
    to: str = ""  # the form that a ratio is to; the limit of the case by default
    words: str = ""  # the target as the reader should see it, where its numbers alone do not say it
    at: Sequence[int | float] = ()  # sizes of a sweep at which it must be reached; all of them by default

    def __post_init__(self) -> None:
        """Refuse a target with no bound or two."""
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(f"at_most={self.at_most}, at_least={self.at_least}: a target has one of the two")


@dataclass(frozen=True, eq=False)
class BenchCase:
    """Something that is measured."""

    name: str  # unique in its group, in small letters with hyphens
    title: str  # one line for the reader: what is done
    # ``prepare(seed=..., **parameters)`` makes the input and gives the forms. It runs in a fresh process, once a pass;
    # every form is called once before anything is timed, so that kernels are compiled by then.
    prepare: Callable[..., Forms]
    forms: Sequence[str]  # names of all forms, in the order of the report
    limit: str = ""  # a physical limit, the literal algorithm, or a peer; the first form by default
    parameters: Mapping[str, int | float] = field(default_factory=dict)  # sizes, given to ``prepare`` by name
    targets: Sequence[Target] = ()
    work: float = 1.0  # items of a call (steps, normals, tasks), for seconds per item
    item: str = "call"  # what an item is, in the singular
    # what is read; ``thread`` for kernels of one thread, ``wall`` for several threads and whole commands
    clock: Clock = "thread"
    # forms too slow for every round: timed once in each of the first three passes, and not called before, so that
    # ``prepare`` must have compiled them on something small
    sparse: Sequence[str] = ()
    peers: Sequence[str] = ()  # forms that are not ours: shown and never tested for having become slower
    passes: int | None = None  # at most so many passes; all that the run makes by default
    rounds: int | None = None  # at most so many rounds in a pass; all that the run makes by default
    # the limit is code that users run, not a plain way of doing the work: a comparison of two runs watches it too
    limit_is_ours: bool = False
    long: bool = False  # minutes: only with ``--long``, or when the group is named
    # times that a paper prints of such work on its own machines: words, and pairs of the sweep's size and seconds
    printed: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    sweep: str = ""  # name and parameter of the sweep that it is part of, filled in by :func:`sweep`
    over: str = ""

    def __post_init__(self) -> None:
        """Let the first form be the limit where none is named."""
        object.__setattr__(self, "limit", self.limit or self.forms[0])


def sweep(
    case: BenchCase,
    over: str,
    values: Sequence[int | float],
    *,
    work: Callable[..., float] | None = None,
    also: Callable[[int | float], Mapping[str, int | float]] | None = None,
) -> tuple[BenchCase, ...]:
    """Make a case at several sizes, ``<name>-<over>-<size>``; a power of the size is fitted to each form's times."""
    if len(values) < 2 or list(values) != sorted(set(values)):
        raise ValueError(f"values={list(values)}: a sweep needs two sizes or more, increasing")
    strange = {size for target in case.targets for size in target.at} - set(values)
    if strange:
        raise ValueError(f"at={sorted(strange)}: a target names sizes that the sweep over {list(values)} has not")
    cases = []
    for value in values:
        parameters = {**case.parameters, over: value, **(also(value) if also else {})}
        items = work(**parameters) if work else case.work
        name = f"{case.name}-{over.lower()}-{value}"
        due = [target for target in case.targets if not target.at or value in target.at]
        cases.append(
            replace(case, name=name, parameters=parameters, targets=due, work=items, sweep=case.name, over=over)
        )
    return tuple(cases)


def peer(package: str, build: Callable[[Any], Form]) -> Form | Missing:
    """Make a form of a package that may not be there."""
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
    """A name that is no group."""

    def __init__(self, name: str) -> None:
        near = get_close_matches(name, GROUPS, n=3, cutoff=0.5)
        self.name, self.rule = name, f"is not a group; {'near: ' if near else 'there are: '}{', '.join(near or GROUPS)}"
        super().__init__(f"{name!r} {self.rule}")


@dataclass(frozen=True)
class Group:
    """A group of cases."""

    name: str  # its name on the command line
    title: str  # first line of its module's docstring, without the full stop
    cases: tuple[BenchCase, ...]  # in the order of the report


def load(name: str) -> Group:
    """Load one group."""
    module = import_module(f"dpverify.bench.cases.{name.replace('-', '_')}")
    return Group(name, (module.__doc__ or "").splitlines()[0].rstrip("."), tuple(module.CASES))


def select(names: Sequence[str], *, long: bool = False) -> list[Group]:
    """The groups that a run measures, all by default, without those that have no case to measure."""
    for name in names:
        if name not in GROUPS:
            raise GroupError(name)
    chosen = []
    for name in GROUPS:
        if not names or name in names:
            group = load(name)
            cases = tuple(case for case in group.cases if long or name in names or not case.long)
            chosen.append(Group(name, group.title, cases))
    return [group for group in chosen if group.cases]


LINE = 8  # numbers of a cache line of 64 bytes


def aligned(*shape: int) -> NDArray[np.float64]:
    """Zeros, all of them written, that begin at a whole cache line: across lines, the same work takes longer."""
    import numpy as np

    size = int(np.prod(shape))
    space = np.empty(size + LINE)
    begin = (-space.ctypes.data // 8) % LINE
    out = space[begin : begin + size]
    out[:] = 0.0
    return out.reshape(shape)
