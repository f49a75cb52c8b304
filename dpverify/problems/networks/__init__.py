"""PyTorch networks as gradient oracles. They need an extra (``pip install -e '.[torch]'``) and are loaded on use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.problems.networks.architectures import make_network
    from dpverify.problems.networks.oracle import NetworkGradients

__all__ = ["NetworkGradients", "make_network"]

__getattr__, __dir__ = lazy_names(
    __name__, {"architectures": "make_network", "oracle": "NetworkGradients"}
)
