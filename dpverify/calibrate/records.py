"""Requests for a calibration, with checks, and records of the results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from dpverify.algorithms.settings import SettingInfo, fraction, options, whole
from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.ledger.records import Record
from dpverify.shared_types import Ordering
from dpverify.shown import ShownAsTable

if TYPE_CHECKING:
    from dpverify.papers.tran2022.accounting.noise import TheoremParameters, UnitNoise


class CalibrationRequest(Record, frozen=True, kw_only=True):
    """A request to ``dpverify calibrate`` for the noise that gives (epsilon, delta); subclasses define the run."""

    algorithm: str
    n: Annotated[int, SettingInfo("N", "Number of examples.", whole(1, MOST_STEPS - 1))]
    epsilon: Annotated[float, SettingInfo("epsilon", "Target epsilon.", check.positive)]
    delta: Annotated[float, SettingInfo("delta", "Target delta.", fraction)]

    def __post_init__(self) -> None:
        for name, option in options(type(self)).items():
            if getattr(self, name) is not None:
                option.checked(getattr(self, name))

    def answer(self) -> Record:
        """Return the calibration."""
        raise NotImplementedError(f"{type(self).__name__} must define answer.")


class CalibrateRequest(CalibrationRequest, frozen=True, kw_only=True):
    """A request for Algorithm 1 of tran2022."""

    d: Annotated[int, SettingInfo("d", "Dimension.", whole(1, MOST_STEPS - 1))]
    steps: Annotated[
        int | None,
        SettingInfo(
            "T",
            "Number of steps.",
            whole(1, MOST_STEPS - 1),
            default="the T that the utility theorem prints",
        ),
    ] = None
    epochs: Annotated[
        int | None,
        SettingInfo(
            "T/N", "Number of passes over the data, instead of steps.", whole(1)
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
    smoothness: Annotated[
        float, SettingInfo("L", "Smoothness constant of the loss.", check.not_negative)
    ] = 1.0
    alpha: Annotated[
        float | None,
        SettingInfo(
            "alpha",
            "Momentum weight of the new gradient.",
            check.weight,
            default="as the theorem prints it",
        ),
    ] = None
    eta: Annotated[
        float | None,
        SettingInfo(
            "eta", "Step size.", check.positive, default="as the theorem prints it"
        ),
    ] = None
    ordering: Annotated[
        Ordering,
        SettingInfo(
            "ordering",
            "Order of the examples: a fresh permutation in every epoch, or one for all.",
        ),
    ] = "fresh"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None and self.epochs is not None:
            lengths = f"steps={self.steps} and epochs={self.epochs}"
            raise check.ArgumentError(
                "steps or epochs", lengths, "must be given, not both"
            )
        if self.epochs is not None:
            check.whole(1, (MOST_STEPS - 1) // self.n, epochs=self.epochs)

    prints_condition: ClassVar[bool] = True
    """Whether the privacy theorem states the condition delta >= exp(-epsilon)."""

    @property
    def cross_weight(self) -> float | None:
        """Gamma; None for Algorithm 1, for which the accountant uses the theorem's value."""
        return None

    def theorem(self) -> TheoremParameters:
        """Return the parameters that the utility theorem prints for this budget."""
        from dpverify.papers.tran2022.accounting.noise import theorem_6

        return theorem_6(self.n, self.d, self.epsilon, self.delta, self.asked_steps)

    def unit_noise(self) -> UnitNoise:
        """Return the run for the accountant, per unit of sigma."""
        from dpverify.calibrate.calibrate import accounted_run
        from dpverify.papers.tran2022.accounting.noise import unit_noise

        return unit_noise(self.algorithm, accounted_run(self, self.theorem()))

    @property
    def asked_steps(self) -> int | None:
        """T, if it was given in steps or epochs."""
        return self.steps if self.epochs is None else self.epochs * self.n

    @property
    def log_delta(self) -> float:
        """log(1/delta), above 0."""
        return -math.log(self.delta)

    def answer(self) -> Calibration:
        """Return the calibration."""
        # imported here because it needs compiled kernels
        from dpverify.calibrate.calibrate import calibrate

        return calibrate(self)


class SrCalibrateRequest(CalibrateRequest, frozen=True, kw_only=True):
    """A request for Algorithm 2 of tran2022."""

    gamma: Annotated[
        float | None,
        SettingInfo(
            "gamma",
            "Cross-batch weight.",
            check.proportion,
            default="as the theorem prints it",
        ),
    ] = None

    prints_condition: ClassVar[bool] = False

    @property
    def cross_weight(self) -> float | None:
        """Gamma."""
        return self.gamma

    def theorem(self) -> TheoremParameters:
        """Return the parameters that the utility theorem prints for this budget."""
        from dpverify.papers.tran2022.accounting.noise import theorem_9

        return theorem_9(self.n, self.d, self.epsilon, self.delta, self.asked_steps)


Real = float | str  # a number; infinity is the string "inf"


class Trio(Record, frozen=True, kw_only=True):
    """One quantity as the paper prints it, as its proof supports it, and as the accountant certifies it."""

    printed: Real
    proof: Real
    exact: Real


class RunParameters(Record, frozen=True, kw_only=True):
    """The run that is calibrated."""

    n: int
    d: int
    steps: int
    alpha: float
    gamma: float
    eta: float
    lipschitz: float
    smoothness: float
    ordering: str


class Theorem(Record, frozen=True, kw_only=True):
    """Parameters that the utility theorem prints for this budget: T, and alpha, gamma and eta for the run's T."""

    claim: str
    steps: float
    alpha: Real
    gamma: float
    eta: float


class Calibration(ShownAsTable, Record, frozen=True, kw_only=True):
    """The result of a calibration of Algorithm 1 or 2 of tran2022."""

    shown_by: ClassVar[str] = "dpverify.calibrate.tables:calibration_table"

    schema: Literal[1] = 1
    algorithm: str
    epsilon: float  # the requested epsilon
    delta: float
    run: RunParameters
    theorem: Theorem
    # Noise multipliers of the paper's box. ``exact`` is certified; the others are from
    # the paper and its proof.
    sigma: Trio
    # standard deviations of each kind of node, in units of the gradient
    node_std: dict[str, Trio]
    # certified epsilon that the printed sigma gives at this delta, rounded up
    epsilon_bought: Real
    delta_bought: float  # delta that the printed sigma gives at this epsilon
    bought: Trio  # epsilon that each of the three sigmas gives at this delta
    # whether each of the three sigmas gives (epsilon,
    # delta), by the accountant's upper bound
    certified: dict[str, bool]
    # the accountant's lower and upper bound on the
    # Gaussian privacy parameter at ``sigma.exact``
    mu: tuple[float, float]
    # its lower and upper bound on epsilon at ``sigma.exact`` and this delta; the upper
    # bound is the guarantee
    epsilon_bounds: tuple[float, float]
    # No sigma up to the first gives (epsilon, delta) by this analysis; the second is
    # ``sigma.exact``. For sr-nsgd the analysis adds up the largest change of each node,
    # which a single loss need not attain in all nodes at once.
    sigma_bounds: tuple[float, float]
    warnings: list[str] = []  # printed or necessary conditions that fail


def real(value: float) -> Real:
    """Return a float, or "inf" for a value that is not finite."""
    return value if math.isfinite(value) else "inf"


class NoiseRow(Record, frozen=True, kw_only=True):
    """A noise and the epsilon that it gives."""

    noise: Real  # standard deviation over the sensitivity of a mean over all data
    # standard deviation of a coordinate of the
    # noise: of the first estimate, and of later ones
    std_0: Real
    std: Real
    # lower and upper bound on the smallest epsilon; the upper bound is the guarantee
    epsilon: tuple[Real, Real]
    certified: bool


class BatchCalibration(ShownAsTable, Record, frozen=True, kw_only=True):
    """The result of a calibration of a method on batches."""

    shown_by: ClassVar[str] = "dpverify.calibrate.tables:batch_calibration_table"

    schema: Literal[1] = 1
    algorithm: str
    epsilon: float
    delta: float
    n: int
    steps: int
    batch: int
    batch_0: int
    rate: float  # largest probability that an example is in a later batch
    parties: int
    # "exact" is the smallest certified noise. DP-SRM also has
    # "printed" and "proof". Its baselines have "tracked", from
    # section 6.1 or their own papers. DPageEM has "constant".
    noise: dict[str, NoiseRow]
    warnings: list[str] = []  # conditions of the printed theorem that fail
    lipschitz: float = 1.0  # clip length of gradients
