"""Requests for the noise of DP-SRM, its baselines and DPageEM: as printed, and as certified by the accountant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from dpverify.algorithms.registry import algorithm_named
from dpverify.algorithms.settings import SettingInfo, fraction, whole
from dpverify.calibrate.records import (
    BatchCalibration,
    CalibrationRequest,
    NoiseRow,
    real,
)
from dpverify.calibrate.tables import ROWS
from dpverify.kernels import check
from dpverify.papers.wang2019.accounting.runs import (
    AccountedNoise,
    BatchRun,
    account_noise,
    least_noise,
    lemma_condition,
    printed_noise,
    printed_order,
)
from dpverify.papers.zhang2021.accounting.constants import PROVEN
from dpverify.privacy import accounting
from dpverify.privacy.batches import MOST_STEPS, check_delta, check_epsilon
from dpverify.privacy.schedule import Schedule, Scheme


class BatchRequest(CalibrationRequest, frozen=True, kw_only=True):
    """A request for a method on batches. The length of the run is given in steps T, or in passes over the data."""

    steps: Annotated[
        int | None, SettingInfo("T", "Number of steps.", whole(1, MOST_STEPS))
    ] = None
    epochs: Annotated[
        int | None,
        SettingInfo(
            "T/N",
            "Number of passes over the data, instead of steps.",
            whole(1, MOST_STEPS),
        ),
    ] = None
    lipschitz: Annotated[
        float,
        SettingInfo(
            "G",
            "Lipschitz constant of the loss, or the clip length of gradients.",
            check.positive,
        ),
    ] = 1.0

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        super().__post_init__()

    def run(self) -> BatchRun:
        """Return the run for the accountant."""
        raise NotImplementedError(f"{type(self).__name__} must define run.")

    def noises(self, run: BatchRun) -> dict[str, AccountedNoise]:
        """Return the noises of the paper, by their names in ``ROWS``."""
        method = algorithm_named(self.algorithm)
        ratio = method.printed_ratio(
            run.examples, run.batch, run.steps, self.epsilon, self.delta
        )
        return {
            "tracked": account_noise(run, ratio * run.examples / run.batch, self.delta)
        }

    def warnings(
        self, run: BatchRun, noises: Mapping[str, AccountedNoise]
    ) -> Iterator[str]:
        """Yield a warning for each condition of the paper that fails."""
        del run, noises
        return iter(())

    def step_count(self, gradients: int) -> int:
        """Return T, given the number of example gradients in a step."""
        if (self.steps is None) == (self.epochs is None):
            raise check.ArgumentError(
                "steps or epochs", self.steps, "must be given, and not both"
            )
        return self.steps or max(1, round((self.epochs or 0) * self.n / gradients))

    def descent(self, batch: int) -> BatchRun:
        """Return a run of noisy descent on batches."""
        check.whole(1, self.n, batch=batch)
        return BatchRun(
            "descent",
            self.n,
            self.step_count(batch),
            batch,
            batch,
            lipschitz=self.lipschitz,
        )

    def answer(self) -> BatchCalibration:
        """Return the calibration."""
        return calibrate_batches(self)


class FullBatchRequest(BatchRequest, frozen=True, kw_only=True):
    """A request for DP-GD."""

    def run(self) -> BatchRun:
        """Return the run on all examples."""
        return self.descent(self.n)


class SingleExampleRequest(BatchRequest, frozen=True, kw_only=True):
    """A request for RRPSGD."""

    def run(self) -> BatchRun:
        """Return the run on single examples."""
        return self.descent(1)


class SampledRequest(BatchRequest, frozen=True, kw_only=True):
    """A request for DP-SGD."""

    batch: Annotated[int, SettingInfo("b", "Batch size.", whole(1))]
    sampling: Annotated[
        Scheme | None,
        SettingInfo("sampling", "How batches are drawn, for another row of the table."),
    ] = None
    largest_batch: Annotated[
        int | None,
        SettingInfo(
            "B_max", "Size at which truncated Poisson samples are cut.", whole(1)
        ),
    ] = None

    def run(self) -> BatchRun:
        """Return the run on batches."""
        return self.descent(self.batch)

    def noises(self, run: BatchRun) -> dict[str, AccountedNoise]:
        """Return the noise of the paper, and the noise for Poisson samples with add-remove neighbours."""
        how: dict[str, Any] = {
            "steps": run.steps,
            "rate": run.rate(run.batch),
            "sampling": "poisson",
        }
        multiplier = accounting.sigma(self.epsilon, self.delta, **how)
        bounds = accounting.epsilon(multiplier, self.delta, **how)
        # one example changes the sum by C, not by 2C
        half = AccountedNoise(multiplier * run.examples / (2 * run.batch), bounds)
        noises = super().noises(run) | {"poisson": half}
        if self.sampling is not None:
            schedule = self.schedule(run, self.sampling)
            multiplier = schedule.sigma_for(self.epsilon, self.delta)
            bounds = replace(schedule, sigma=multiplier).epsilon(self.delta)
            noises[self.sampling] = AccountedNoise(
                multiplier * run.examples / (2 * run.batch), bounds
            )
        elif self.largest_batch is not None:
            raise check.ArgumentError(
                "largest_batch",
                self.largest_batch,
                "belongs to sampling=truncated-poisson",
            )
        return noises

    def schedule(self, run: BatchRun, sampling: Scheme) -> Schedule:
        """Return the sampling scheme as in practice; an epoch has as many steps as there are full batches."""
        keeps_rate = sampling in ("truncated-poisson", "random-allocation")
        rate = run.rate(run.batch) if keeps_rate else 1.0 / (run.examples // run.batch)
        return Schedule(
            sampling,
            1.0,
            run.steps,
            rate,
            neighbours="replace-one"
            if sampling in ("fixed", "shuffled")
            else "add-remove",
            examples=run.examples if sampling == "truncated-poisson" else None,
            largest_batch=self.largest_batch,
        )


class StageRequest(BatchRequest, frozen=True, kw_only=True):
    """A request for DPageEM, whose stage k has 2^k T^0 steps."""

    batch: Annotated[int, SettingInfo("B", "Batch size.", whole(1))]
    steps: Annotated[
        int,
        SettingInfo(
            "T^0", "Steps; stage k has 2^k times as many.", whole(1, MOST_STEPS)
        ),
    ]
    stages: Annotated[
        int, SettingInfo("K", "Number of stages.", whole(1, MOST_STEPS.bit_length()))
    ]
    epochs: int | None = None  # T^0 and K determine the number of steps

    def run(self) -> BatchRun:
        """Return the run of all stages."""
        steps = self.steps * ((2 << self.stages) - 2)
        check.whole(1, self.n, batch=self.batch)
        return BatchRun(
            "descent", self.n, steps, self.batch, self.batch, lipschitz=self.lipschitz
        )

    def noises(self, run: BatchRun) -> dict[str, AccountedNoise]:
        """Return the noise of equation 4."""
        constant = (
            float(PROVEN["batches"])
            * math.sqrt(-run.steps * math.log(self.delta))
            / self.epsilon
            / 2
        )
        return {"constant": account_noise(run, constant, self.delta)}

    def warnings(
        self, run: BatchRun, noises: Mapping[str, AccountedNoise]
    ) -> Iterator[str]:
        """Yield a warning if epsilon is outside the region in which the constant is valid."""
        del noises
        largest = min(run.rate(run.batch) ** 2 * run.steps, -math.log(self.delta))
        if not self.epsilon < largest:
            yield f"the constant of equation 4 is for epsilon below {largest:.4g} here, (B/n)^2 T and log(1/delta)"


class SrmRequest(BatchRequest, frozen=True, kw_only=True):
    """A request for DP-SRM, which evaluates the gradients of each batch at two points."""

    batch: Annotated[int, SettingInfo("b", "Batch size.", whole(1))]
    gamma: Annotated[
        float,
        SettingInfo(
            "gamma", "Weight of the new gradient in the estimate.", check.weight
        ),
    ]
    zeta: Annotated[
        float,
        SettingInfo(
            "zeta",
            "The accuracy zeta, or the clip length of gradient changes.",
            check.positive,
        ),
    ]
    batch_0: Annotated[
        int | None,
        SettingInfo(
            "b_0", "Size of the first batch.", whole(1), default="that of the others"
        ),
    ] = None
    beta: Annotated[
        float,
        SettingInfo(
            "beta", "Share of epsilon in the conversion from Rényi DP.", fraction
        ),
    ] = 0.5

    @property
    def party_count(self) -> int:
        """Number of parties that hold the data."""
        return 1

    def run(self) -> BatchRun:
        """Return the run of the algorithm's box."""
        n = self.n
        batch = check.whole(1, n, batch=self.batch)
        first = (
            batch if self.batch_0 is None else check.whole(1, n, batch_0=self.batch_0)
        )
        steps = self.step_count(2 * batch)
        numbers = self.gamma, self.zeta, self.lipschitz, self.party_count
        return BatchRun("recursive", n, steps, batch, first, *numbers)

    def noises(self, run: BatchRun) -> dict[str, AccountedNoise]:
        """Return the noise that the algorithm's box prints, and the one that the theorem prints."""
        return {
            name: account_noise(
                run,
                printed_noise(run, self.epsilon, self.delta, self.beta, box=box),
                self.delta,
            )
            for name, box in (("printed", True), ("proof", False))
        }

    def warnings(
        self, run: BatchRun, noises: Mapping[str, AccountedNoise]
    ) -> Iterator[str]:
        """Yield a warning for each batch size at which Lemma 3.7, the basis of the printed noise, does not apply."""
        order = printed_order(self.epsilon, self.delta, self.beta)
        for name in ("printed", "proof"):
            for batch in sorted({run.batch_0, run.batch}):
                condition = lemma_condition(run, batch, noises[name].noise, order)
                if not condition.holds:
                    order_words = f"alpha - 1 = {condition.order:.4g}, at most {condition.most:.4g} by it"
                    numbers = f"sigma'^2 = {condition.ratio:.4g} and {order_words}"
                    yield f"Lemma 3.7 may not be used for the noise {ROWS[name]} at batches of {batch}: {numbers}"


class DdpRequest(SrmRequest, frozen=True, kw_only=True):
    """A request for DDP-SRM."""

    parties: Annotated[int, SettingInfo("m", "Number of parties.", whole(1))]

    @property
    def party_count(self) -> int:
        """Number of parties that hold the data."""
        return self.parties


def calibrate_batches(request: BatchRequest) -> BatchCalibration:
    """Calibrate the noise of a run to (epsilon, delta), for replace-one neighbours."""
    run = request.run()
    epsilon = request.epsilon
    delta = request.delta
    rows = request.noises(run)
    rows["exact"] = least_noise(run, epsilon, delta)
    return BatchCalibration(
        algorithm=request.algorithm,
        epsilon=epsilon,
        delta=delta,
        n=run.examples,
        steps=run.steps,
        batch=run.batch,
        batch_0=run.batch_0,
        rate=run.rate(run.batch),
        parties=run.parties,
        noise={name: _row(run, row, epsilon) for name, row in rows.items()},
        warnings=list(request.warnings(run, rows)),
        lipschitz=request.lipschitz,
    )


def _row(run: BatchRun, accounted: AccountedNoise, epsilon: float) -> NoiseRow:
    first, later = run.deviations(accounted.noise)
    bounds = real(accounted.epsilon.lower), real(accounted.epsilon.upper)
    certified = accounted.epsilon.upper <= epsilon
    return NoiseRow(
        noise=real(accounted.noise),
        std_0=real(first),
        std=real(later),
        epsilon=bounds,
        certified=certified,
    )
