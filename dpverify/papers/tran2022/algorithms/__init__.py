"""Algorithms 1 to 5 of the paper, as printed and as streams. Public names are loaded lazily.

Code inside dpverify imports these names from the modules that define them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.papers.tran2022.algorithms.aggregation import LinearQueries, aggregate
    from dpverify.papers.tran2022.algorithms.composition import compose, compose_prefix
    from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import (
        DpNsgd,
        DpNsgdCallable,
    )
    from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
    from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
        reconstruct_literal,
    )
    from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
        Nodes,
        nodes_of_leaves,
    )
    from dpverify.papers.tran2022.algorithms.reconstruction.stream import reconstruct
    from dpverify.papers.tran2022.algorithms.scales import (
        Scales,
        printed_scales,
        proof_scales,
    )
    from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import (
        SrNsgd,
        SrNsgdCallable,
    )
    from dpverify.papers.tran2022.algorithms.tree_noise.literal import (
        nodes_of_tape,
        noise_from_nodes,
    )
    from dpverify.papers.tran2022.algorithms.tree_noise.steps import TreeNoise
    from dpverify.papers.tran2022.algorithms.tree_noise.stream import (
        noise_from_generator,
        noise_from_tape,
        whiten,
    )

__all__ = [
    "DpNsgd",
    "DpNsgdCallable",
    "LinearQueries",
    "Nodes",
    "Parameters",
    "Scales",
    "SrNsgd",
    "SrNsgdCallable",
    "SrParameters",
    "TreeNoise",
    "aggregate",
    "compose",
    "compose_prefix",
    "nodes_of_leaves",
    "nodes_of_tape",
    "noise_from_generator",
    "noise_from_nodes",
    "noise_from_tape",
    "printed_scales",
    "proof_scales",
    "reconstruct",
    "reconstruct_literal",
    "whiten",
]

_HOMES = {
    "aggregation": "aggregate LinearQueries",
    "composition": "compose compose_prefix",
    "dp_nsgd.optimizer": "DpNsgdCallable DpNsgd",
    "parameters": "Parameters SrParameters",
    "reconstruction.literal": "reconstruct_literal",
    "reconstruction.nodes": "Nodes nodes_of_leaves",
    "reconstruction.stream": "reconstruct",
    "sr_nsgd.optimizer": "SrNsgdCallable SrNsgd",
    "scales": "Scales printed_scales proof_scales",
    "tree_noise.literal": "nodes_of_tape noise_from_nodes",
    "tree_noise.steps": "TreeNoise",
    "tree_noise.stream": "noise_from_generator noise_from_tape whiten",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
