"""Replay normal numbers of PyTorch at the level of its operators, for all functions and modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dpverify.conform.replay.generators import Tape

STANDARD_OPERATORS = (torch.ops.aten.randn, torch.ops.aten.randn_like)
IN_PLACE_OPERATOR = torch.ops.aten.normal_  # (tensor, mean, std)
PARAMETER_OPERATOR = torch.ops.aten.normal  # (mean, std)


class _ReplayMode(TorchDispatchMode):  # type: ignore[no-untyped-call]  # of its own subclass hook
    """Replace the normal numbers that operators draw by those of a tape; their generators advance as usual."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tape = tape

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run an operator, and replace its result if it draws normal numbers."""
        options = kwargs or {}
        result = func(*args, **options)
        operator = getattr(func, "overloadpacket", None)
        if operator in STANDARD_OPERATORS:
            return self._replace_numbers(result, (), {})
        if operator is IN_PLACE_OPERATOR:
            return self._replace_numbers(result, args[1:], options)
        if operator is PARAMETER_OPERATOR:
            return self._replace_numbers(result, args, options)
        return result

    def _replace_numbers(
        self, result: torch.Tensor, parameters: Sequence[Any], options: dict[str, Any]
    ) -> torch.Tensor:
        mean = parameters[0] if parameters else options.get("mean", 0.0)
        deviation = parameters[1] if len(parameters) > 1 else options.get("std", 1.0)
        numbers = torch.as_tensor(
            self.tape.take(result.numel()), device=result.device
        ).reshape(result.shape)
        return result.copy_(mean + deviation * numbers)


@contextmanager
def replay_normals(tape: Tape) -> Iterator[None]:
    """Play a tape to PyTorch operators, with and without an explicit generator."""
    with _ReplayMode(tape):
        yield
