"""Devices of PyTorch that a target may compute on, and tensors that it releases from there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from dpverify.conform.records import Promise
from dpverify.conform.results import ConformanceTest
from dpverify.foreign import message_of
from dpverify.kernels.check import ArgumentError
from dpverify.problems.networks.oracle import load_torch


def on_host(released: Any) -> Any:
    """Return a tensor of PyTorch as an array, wherever it is and whatever its type; other objects as they are."""
    if not hasattr(released, "detach"):
        return released
    tensor = released.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()  # numpy has no bfloat16


def card_name(device: str) -> str:
    """Return the name of a graphics card, "" for other devices; refuse a device that cannot compute on this machine.

    Computing on a graphics card also starts its generators, so that later tests keep and compare their states.
    """
    torch = load_torch()
    try:
        torch.zeros(1, device=device).cpu()
        return str(torch.cuda.get_device_name(device)) if torch.device(device).type == "cuda" else ""
    except (AssertionError, RuntimeError) as error:  # both are raised for devices that a build does not support
        reason = message_of(error).partition(". ")[0]
        rule = f"must be a device of this machine on which PyTorch computes ({reason[:120]})"
        raise ArgumentError("device", device, rule) from error


def tf32_note(promise: Promise) -> Iterator[ConformanceTest]:
    """State whether a graphics card may have rounded float32 to TF32. A note: what it changes has tests of its own."""
    torch = sys.modules.get("torch")
    if promise.dtype == "float64" or torch is None or not torch.cuda.is_initialized():
        return
    backends = torch.backends
    names = [
        name
        for name, settings in (("matrix products", backends.cuda.matmul), ("convolutions", backends.cudnn))
        if _uses_tf32(backends, settings)
    ]
    text = f"on for {' and '.join(names)}: factors are rounded to 11 bits" if names else "off"
    yield ConformanceTest("TF32", True, f"note: TF32 is {text}", "nothing: this is a setting")


def _uses_tf32(backends: Any, settings: Any) -> bool:
    try:
        return bool(settings.allow_tf32)
    except RuntimeError:  # the setting was changed by its newer name
        precision = settings.fp32_precision
        return str(backends.fp32_precision if precision == "none" else precision) == "tf32"
