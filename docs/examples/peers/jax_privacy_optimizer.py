"""jax_privacy: its execution plan for DP-SGD, as it comes."""

import dp_accounting
import jax
import numpy as np
from jax_privacy.batch_selection import PartitionType
from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig

from dpverify.conform import PrivateOptimizer, Promise

jax.config.update("jax_enable_x64", True)
CLIP, SIGMA, BATCH, EXAMPLES, STEPS = 0.7, 1.1, 16, 208, 8


def plan(seed=0, iterations=STEPS):
    """One band and examples that are independent of each other: DP-SGD with Poisson batches."""
    return BandMFExecutionPlanConfig(
        iterations=iterations,
        strategy=np.array([1.0]),
        epsilon=None,
        delta=None,
        noise_multiplier=SIGMA,
        l2_clip_norm=CLIP,
        rescale_to_unit_norm=False,
        normalize_by=BATCH,
        sampling_prob=BATCH / EXAMPLES,
        partition_type=PartitionType.INDEPENDENT,
        accountant=dp_accounting.pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE),
        dtype=np.float64,
        noise_seed=seed,
    ).plan


def clipped_sum(gradients):
    """The plan's clipped sum for a loss whose gradients are these."""
    loss = plan().clipped_grad(lambda weights, example: (weights * example[0]).sum())
    return loss(np.zeros(gradients.shape[1]), gradients) if len(gradients) else np.zeros(gradients.shape[1])


JITTED_SUM = jax.jit(clipped_sum)
JITTED_NOISE = jax.jit(plan().noise_addition_transform.update)  # the seed is part of the noise's memory


def step(memory, gradients, rng):
    """One step of the plan, whose noise has a seed from the generator that is given."""
    total = np.asarray(JITTED_SUM(np.array(gradients)))
    noise = plan(int(rng.integers(2**31))).noise_addition_transform if memory is None else None
    released, memory = JITTED_NOISE(total, noise.init(total) if noise else memory)
    return memory, np.asarray(released)


def batches(examples, steps, rng):
    """The plan's batches."""
    return plan(iterations=steps).batch_selection_strategy.batch_iterator(examples, rng)


def make():
    """jax_privacy, BandMFExecutionPlanConfig with one band: DP-SGD with Poisson batches, in double precision."""
    promise = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, steps=STEPS, examples=EXAMPLES, batch=BATCH)
    return PrivateOptimizer(step, batches=batches), promise
