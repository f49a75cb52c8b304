"""An optimizer for each pitfall of docs/pitfalls.md: `dpverify conform docs/examples/pitfalls.py:make` rejects all."""

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise

CLIP, SIGMA, BATCH, EXAMPLES = 0.7, 1.1, 8, 64
PROMISE = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=EXAMPLES, batch=BATCH)


def clipped(gradients):
    """Return each gradient clipped to the clip norm."""
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    return gradients * np.minimum(1, CLIP / np.maximum(norms, 1e-12))


def noise(gradients, rng):
    """Return the noise for a sum of clipped gradients."""
    return SIGMA * CLIP * rng.standard_normal(gradients.shape[1])


def poisson(examples, steps, rng, rate=BATCH / EXAMPLES):
    """Draw each example independently with the same probability."""
    return (np.flatnonzero(rng.random(examples) < rate) for _ in range(steps))


def correct(state, gradients, rng):
    """Do a step of DP-SGD without a mistake."""
    return state, (clipped(gradients).sum(axis=0) + noise(gradients, rng)) / BATCH


def stateless(released):
    """Return a step without state from a function that computes the release of a batch."""
    return lambda state, gradients, rng: (state, released(gradients, rng))


def of_sum(total):
    """Return a step with correct noise and a wrong sum of gradients."""
    return stateless(lambda gradients, rng: (total(gradients) + noise(gradients, rng)) / BATCH)


def of_noise(wrong):
    """Return a step with a correct sum of gradients and wrong noise."""
    return stateless(lambda gradients, rng: (clipped(gradients).sum(axis=0) + wrong(gradients, rng)) / BATCH)


def mean_of_batch(gradients):
    """Divide by the size of the batch and multiply by it, which gives NaN for an empty batch."""
    return clipped(gradients).sum(axis=0) / (len(gradients) or np.nan) * len(gradients)


def means_of_four(gradients):
    """Clip the means of four examples instead of each example."""
    means = [gradients[i : i + 4].mean(axis=0, keepdims=True) for i in range(0, len(gradients), 4)]
    return sum((clipped(mean)[0] for mean in means), np.zeros(gradients.shape[1]))


def centred(gradients):
    """Subtract the mean of the batch before clipping, as a normalization layer might."""
    return clipped(gradients - gradients.sum(axis=0) / (len(gradients) or 1)).sum(axis=0)


def with_norm(gradients, rng):
    """Release the mean gradient norm of the batch in the last coordinate, for a plot."""
    released = correct(None, gradients, rng)[1]
    released[-1] = np.linalg.norm(gradients, axis=1).sum() / BATCH
    return released


def in_bfloat16(gradients):
    """Round the clip factors to the eight bits of bfloat16; half of them are rounded up."""
    norms = np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 1e-12)
    mantissa, exponent = np.frexp(np.minimum(1, CLIP / norms))
    return (gradients * np.ldexp(np.round(mantissa * 256) / 256, exponent)).sum(axis=0)


def reused(state, gradients, rng):
    """Use the noise of a step again in the next step."""
    old = noise(gradients, rng) if state is None else state
    return (old if state is None else None), (clipped(gradients).sum(axis=0) + old) / BATCH


def error_feedback(state, gradients, rng):
    """Keep the part of the sum that clipping removes, and add it in later steps."""
    total = gradients.sum(axis=0) + (0 if state is None else state)
    sent = clipped(total[None, :])[0]
    return total - sent, (sent + noise(gradients, rng)) / BATCH


def next_clip(state, gradients, rng):
    """Scale the noise with the clip norm of the next step, which decreases by a tenth if all gradients are clipped."""
    share = np.mean(np.linalg.norm(gradients, axis=1) > CLIP) if len(gradients) else 0.5
    scale = np.exp(-0.2 * (share - 0.5))
    return state, (clipped(gradients).sum(axis=0) + scale * noise(gradients, rng)) / BATCH


def fourth_step(state, gradients, rng):
    """Do not clip in the fourth step."""
    step = 1 if state is None else state
    total = (gradients if step == 4 else clipped(gradients)).sum(axis=0)
    return step + 1, (total + noise(gradients, rng)) / BATCH


def fixed_order(examples, steps, rng):
    """Go through the data in a fixed order, in batches of fixed size."""
    return (np.arange(BATCH) + BATCH * step % examples for step in range(steps))


def rounded_rate(examples, steps, rng):
    """Compute the rate from the number of batches of an epoch, which depends on the number of records."""
    return poisson(examples, steps, rng, 1 / -(-examples // BATCH))


def together(examples, steps, rng):
    """Draw with equal seeds on two ranks, each with half of the data."""
    for half in poisson(examples // 2, steps, rng):
        yield np.concatenate([half, half + examples // 2])


STEPS = {
    "Division by batch size": stateless(lambda g, rng: clipped(g).sum(axis=0) / (len(g) or 1) + noise(g, rng) / BATCH),
    "Sensitivity alignment": of_sum(lambda g: np.hstack([clipped(g[:, :4]), clipped(g[:, 4:])]).sum(axis=0)),
    "Zero-sized batches and non-finite gradients": of_sum(mean_of_batch),
    "Gradient accumulation": of_sum(means_of_four),
    "Cross-example operations": of_sum(centred),
    "Auxiliary information": stateless(with_norm),
    "Randomness and RNG injection": of_noise(lambda g, rng: noise(g, np.random.default_rng(0))),
    "Floating point robustness": stateless(lambda g, rng: correct(None, g, rng)[1].astype(np.float32)),
    "Finite-precision numerical error": of_sum(in_bfloat16),
    "Noise for each part of a batch": of_noise(lambda g, rng: sum(noise(g, rng) for _ in range(4))),
    "Noise a little too small": of_noise(lambda g, rng: 0.96 * noise(g, rng)),
    "The clip norm twice in the noise": of_noise(lambda g, rng: CLIP * noise(g, rng)),
    "Noise that is used again": reused,
    "Gradients that come back": error_feedback,
    "Noise for the next clip norm": next_clip,
    "A late step": fourth_step,
}
BATCHES = {
    "Accounting and batch selection mismatch": (fixed_order, PROMISE),
    "Public and private metadata": (rounded_rate, Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=10, batch=8)),
    "A rate a quarter too large": (lambda n, steps, rng: poisson(n, steps, rng, 1.25 * BATCH / n), PROMISE),
    "Equal seeds on two ranks": (together, PROMISE),
}
REPLACED = Promise(sigma=2 * SIGMA, clip=CLIP, divisor=BATCH, examples=EXAMPLES, batch=BATCH, neighbours="replace-one")


def right():
    """Return the optimizer without a mistake."""
    return PrivateOptimizer(correct, batches=poisson), PROMISE


def make():
    """Return an optimizer and its promise for each pitfall."""
    made = {name: (PrivateOptimizer(step), PROMISE) for name, step in STEPS.items()}
    made |= {name: (PrivateOptimizer(correct, batches=drawn), promise) for name, (drawn, promise) in BATCHES.items()}
    return made | {"Neighboring relation": (PrivateOptimizer(correct), REPLACED)}
