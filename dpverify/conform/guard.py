"""Wrap an optimizer so that errors of its code become findings and do not end the tests.

The optimizer may compute on any PyTorch device. Released tensors are converted to numpy arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np

from dpverify.conform.promise import Promise
from dpverify.conform.records import (
    ConformanceTest,
    PrivateOptimizer,
    Release,
    untested_result,
)
from dpverify.conform.replay.generators import GlobalGenerator, Tape
from dpverify.foreign import (
    ForeignError,
    foreign_cause,
    foreign_code,
    message_of,
    replacements,
)
from dpverify.kernels.check import ArgumentError
from dpverify.problems.networks.oracle import load_torch


def to_numpy(released: Any) -> Any:
    """Convert a PyTorch tensor of any device and type to an array; return other objects unchanged."""
    if not hasattr(released, "detach"):
        return released
    tensor = released.detach().cpu()
    # numpy has no bfloat16
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def card_name(device: str) -> str:
    """Return the name of a graphics card, or "" for other devices; raise if PyTorch cannot compute on the device.

    The computation also initializes the generators of a graphics card, so that later tests can compare and restore
    their states.
    """
    torch = load_torch()
    try:
        torch.zeros(1, device=device).cpu()
        return (
            str(torch.cuda.get_device_name(device))
            if torch.device(device).type == "cuda"
            else ""
        )
    # raised for devices that this build does not support
    except (AssertionError, RuntimeError) as error:
        reason = message_of(error).partition(". ")[0]
        rule = f"must be a device of this machine on which PyTorch computes ({reason[:120]})"
        raise ArgumentError("device", device, rule) from error


def tf32_note(promise: Promise) -> Iterator[ConformanceTest]:
    """Yield a note that says whether a graphics card may round float32 to TF32. Other tests measure the effect."""
    torch = sys.modules.get("torch")
    if promise.dtype == "float64" or torch is None or not torch.cuda.is_initialized():
        return
    backends = torch.backends
    names = [
        name
        for name, settings in (
            ("matrix products", backends.cuda.matmul),
            ("convolutions", backends.cudnn),
        )
        if _uses_tf32(backends, settings)
    ]
    text = (
        f"on for {' and '.join(names)}: factors are rounded to 11 bits"
        if names
        else "off"
    )
    yield ConformanceTest(
        "TF32", True, f"note: TF32 is {text}", "nothing: this is a setting"
    )


def _uses_tf32(backends: Any, settings: Any) -> bool:
    try:
        return bool(settings.allow_tf32)
    except RuntimeError:
        # the setting was changed through its newer name, fp32_precision
        precision = settings.fp32_precision
        return (
            str(backends.fp32_precision if precision == "none" else precision) == "tf32"
        )


LIBRARIES = ("random", "numpy", "torch", "jax")
"""Libraries whose normal numbers are replaced, each by a module in ``replay``. None is imported for this purpose."""


@contextmanager
def replay_normals(tape: Tape) -> Iterator[None]:
    """Replace the normal numbers of all generators and libraries by those of a tape within the block."""
    with ExitStack() as stack:
        for library in LIBRARIES:
            if library in sys.modules:
                module = import_module(f"dpverify.conform.replay.{library}_draws")
                stack.enter_context(module.replay_normals(tape))
        yield


@dataclass(frozen=True)
class GuardedState:
    """State of an optimizer, the number of steps taken, and the clip length of the last step."""

    step: int
    state: Any
    clip_length: float

    def __deepcopy__(self, memo: dict[int, Any]) -> GuardedState:
        """Copy only the optimizer's state. States are copied before each step, and this is three times as fast."""
        return GuardedState(self.step, deepcopy(self.state, memo), self.clip_length)


class GuardedOptimizer:
    """Call the code of an optimizer, check the form of its results, and count releases that are not finite.

    Releases are rescaled to the promised clip length: a vector is multiplied by ``promise.clip`` over the clip length
    of its step. A statistic is scaled so that its noise has the deviation of the vector's noise, and is appended.
    """

    def __init__(self, optimizer: PrivateOptimizer, promise: Promise) -> None:
        self._optimizer = optimizer
        self._promise = promise
        self._shape = (promise.dimension,)
        self.release_count = 0
        self.non_finite_count = 0
        self._first_non_finite = ""
        # seeded from the given generator before each step
        self.shared_generators: Sequence[GlobalGenerator] = ()
        batches = None if optimizer.batches is None else self._batches
        self.optimizer = PrivateOptimizer(self._step, self._start, batches)

    def _start(self) -> Any:
        with foreign_code("start"):
            return GuardedState(0, self._optimizer.start(), self._promise.clip)

    def _step(
        self, state: GuardedState, gradients: Any, rng: np.random.Generator
    ) -> tuple[GuardedState, Any]:
        """Take a step; the released vector is float64 and has the promised shape.

        If ``rng`` is a tape, all normal numbers come from it, whichever library draws them.
        """
        size = len(gradients)
        for generator in self.shared_generators:
            generator.seed(int(rng.integers(2**63)))
        with (
            foreign_code("step"),
            replay_normals(rng) if isinstance(rng, Tape) else nullcontext(),
        ):
            inner_state, output = self._optimizer.step(state.state, gradients, rng)
            release = output if isinstance(output, Release) else Release(output)
            vector = np.asarray(to_numpy(release.vector), dtype=float)
            statistic = np.asarray(to_numpy(release.statistic), dtype=float).reshape(-1)
        if vector.shape != self._shape:
            raise ForeignError(
                "step",
                f"must release a vector of the shape {self._shape}, got {vector.shape}",
            )
        clip_length = self._clip_length(release, state.step)
        released = np.concatenate(
            [
                vector * (self._promise.clip / clip_length),
                self._scaled_statistic(statistic),
            ]
        )
        self.release_count += 1
        if not np.isfinite(released).all():
            self.non_finite_count += 1
            number = released[np.flatnonzero(~np.isfinite(released))[0]]
            self._first_non_finite = (
                self._first_non_finite or f"{number} from a batch of {size} gradients"
            )
        return GuardedState(state.step + 1, inner_state, clip_length), released

    def _clip_length(self, release: Release, step: int) -> float:
        """Return the clip length of the step: the released one if it is adaptive, otherwise the promised one."""
        schedule = self._promise.clip_schedule
        length = release.clip_length
        if self._promise.adaptive_clip:
            if length is None or not 0 < float(length) < np.inf:
                raise ForeignError(
                    "step",
                    f"must release its clip length, finite and above 0, got {length}",
                )
            return float(length)
        if length is not None:
            raise ForeignError(
                "step",
                "releases a clip length, which a promise without adaptive_clip does not allow",
            )
        return (
            self._promise.clip
            if schedule is None
            else float(schedule[min(step, len(schedule) - 1)])
        )

    def _scaled_statistic(self, statistic: Any) -> Any:
        promised_statistic = self._promise.statistic
        size = 0 if promised_statistic is None else promised_statistic.size
        if len(statistic) != size:
            raise ForeignError(
                "step",
                f"must release a statistic of {size} numbers, got {len(statistic)}",
            )
        return (
            statistic
            if promised_statistic is None
            else statistic * (self._promise.deviation / promised_statistic.deviation)
        )

    def _batches(
        self, examples: int, steps: int, rng: np.random.Generator
    ) -> Iterable[Any]:
        """Return at most ``steps`` batches; the optimizer's iterator may be infinite."""
        assert self._optimizer.batches is not None
        with foreign_code("batches"):
            return [
                np.asarray(to_numpy(batch))
                for batch in islice(
                    self._optimizer.batches(examples, steps, rng), steps
                )
            ]

    def finite_test(self) -> ConformanceTest:
        """Test whether every number released so far was finite."""
        finding = f"each of {self.release_count} released vectors is finite"
        if self.non_finite_count:
            finding = (
                f"{self.non_finite_count} of {self.release_count} released vectors are not "
                f"finite; the first has {self._first_non_finite}"
            )
        sees = "NaN and infinite numbers in any vector that these tests saw"
        return ConformanceTest(
            "finite numbers", not self.non_finite_count, finding, sees
        )


def copy_state(state: Any) -> Any:
    """Copy a state of an optimizer."""
    with foreign_code("the copy of a state"):
        return deepcopy(state)


def last_clip_length(state: Any) -> float:
    """Return the clip length of the last step, or 0 if the optimizer is not guarded."""
    return state.clip_length if isinstance(state, GuardedState) else 0.0


def guarded_tests(
    name: str, tests: Iterable[ConformanceTest]
) -> Iterator[ConformanceTest]:
    """Yield ``tests``, then a finding if foreign code did not return or replaced functions that the tests use."""
    reason = ""
    try:
        yield from tests
    except ForeignError as error:
        yield failed_call_test(name, error)
    except MemoryError:
        yield untested_result(name, "this process has no memory left")
    except (Exception, SystemExit) as error:
        reason = foreign_cause(error)
        if not reason:
            raise
    reason = reason or replacements()
    if reason:
        yield ConformanceTest(
            f"code of the tests in {name}",
            False,
            f"the code {reason}",
            "a replaced function of dpverify, numpy or scipy, and exceptions between calls",
            error=reason,
        )


def failed_call_test(context: str, error: ForeignError) -> ConformanceTest:
    """Return the finding that a call of foreign code did not return, which ended the tests of this kind."""
    sees = "a call that raises, exits or does not return"
    return ConformanceTest(
        f"calls in {context}", False, str(error), sees, error=str(error)
    )
