"""optax: an empty batch makes the released update infinite; the noise is divided by the size of the drawn batch."""

from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
import optax

CLIP, MULTIPLIER, DIMENSION = 0.7, 1.1, 20_000
RECORDS, RATE = 64, 1 / 16


def released(batch):
    """Return the update for a batch of zero gradients, which is only noise."""
    private = optax.contrib.differentially_private_aggregate(CLIP, MULTIPLIER, key=0)
    update, _ = private.update(jnp.zeros((batch, DIMENSION)), private.init(jnp.zeros(DIMENSION)))
    return np.asarray(update)


print("optax", version("optax"), "jax", jax.__version__)
for batch in (8, 2, 1, 0):
    noise = released(batch)
    deviation = f"deviation {noise.std():.4f}" if np.isfinite(noise).all() else f"for example {noise[0]}"
    print(f"batch of {batch}: {np.isfinite(noise).mean():.0%} of the numbers are finite, {deviation}")
empty = (1 - RATE) ** RECORDS
print(f"Poisson batches of {RECORDS} records at rate {RATE}: a step is empty with probability {empty:.4f}")
print(f"and some step of 1000 is empty with probability {1 - (1 - empty) ** 1000:.6f}")
raise SystemExit(0 if not np.isfinite(released(0)).any() else "not shown by this version")
