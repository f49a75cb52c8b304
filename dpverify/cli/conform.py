"""``dpverify conform``: whether an optimizer of yours does what its accounting presumes."""

from __future__ import annotations

from dpverify.cli.audit import load_function
from dpverify.cli.output import OK, BadInput

REFUTED = 1


def conform(target: str, /, *, seed: int = 0, alpha: float = 1e-4) -> int:
    """Test an optimizer of yours: its batches, what one example changes, its noise, what its state remembers.

    ``target``: module:function or file.py:function; the function returns a PrivateOptimizer and a Promise, both of
    dpverify.conform. Exit code 1 where a test finds a fault. ``alpha``: most that the chance of a false alarm is.
    """
    make, _ = load_function("TARGET", target)
    from dpverify.conform import PrivateOptimizer, Promise, conformance

    try:
        optimizer, promise = make()
    except Exception as error:
        raise BadInput("TARGET", target, f"raised {type(error).__name__}: {error}") from error
    if not isinstance(optimizer, PrivateOptimizer) or not isinstance(promise, Promise):
        raise BadInput("TARGET", target, "must return a PrivateOptimizer and a Promise")
    try:
        found = conformance(optimizer, promise, seed=seed, alpha=alpha)
    except ValueError as error:
        raise BadInput("TARGET", target, str(error)) from error
    print(found)
    return OK if found else REFUTED
