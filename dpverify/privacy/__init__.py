"""Privacy accounting: Renyi, zero-concentrated and Gaussian differential privacy, and conversions between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.privacy.accounting import epsilon, event, sigma
    from dpverify.privacy.batches import BatchSteps, batch_epsilon
    from dpverify.privacy.conversions import (
        classic_epsilon,
        improved_epsilon,
        tight_epsilon,
        zcdp_epsilon,
    )
    from dpverify.privacy.gaussian import compose_mu, delta_of, epsilon_of, mu_of
    from dpverify.privacy.gaussian_safe import composed_epsilon
    from dpverify.privacy.growing_budget import GrowingBudget, shared_epsilon
    from dpverify.privacy.selection import RunCount, selected_epsilon
    from dpverify.privacy.subsampling import (
        gaussian_rdp,
        poisson_gaussian_epsilon,
        poisson_gaussian_rdp,
        sampled_epsilon,
        sampled_std,
        without_replacement_rdp,
    )

_HOMES = {
    "accounting": "epsilon event sigma",
    "batches": "BatchSteps batch_epsilon",
    "conversions": "classic_epsilon improved_epsilon tight_epsilon zcdp_epsilon",
    "gaussian": "compose_mu delta_of epsilon_of mu_of",
    "gaussian_safe": "composed_epsilon",
    "growing_budget": "GrowingBudget shared_epsilon",
    "subsampling": (
        "poisson_gaussian_epsilon sampled_epsilon sampled_std gaussian_rdp poisson_gaussian_rdp without_replacement_rdp"
    ),
    "selection": "RunCount selected_epsilon",
}

__all__ = [
    "BatchSteps",
    "GrowingBudget",
    "RunCount",
    "batch_epsilon",
    "classic_epsilon",
    "compose_mu",
    "composed_epsilon",
    "delta_of",
    "epsilon",
    "epsilon_of",
    "event",
    "gaussian_rdp",
    "improved_epsilon",
    "mu_of",
    "poisson_gaussian_epsilon",
    "poisson_gaussian_rdp",
    "sampled_epsilon",
    "sampled_std",
    "selected_epsilon",
    "shared_epsilon",
    "sigma",
    "tight_epsilon",
    "without_replacement_rdp",
    "zcdp_epsilon",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
