"""PyVacy's DPSGD, used as in its documentation, clips the gradient of a batch, not the gradient of each example."""

from importlib.metadata import version

import torch
from pyvacy.optim import DPSGD

CLIP, MULTIPLIER, BATCH, WIDTH = 0.7, 1.1, 16, 20_000


def released(length):
    """Return the update of a batch in which one gradient has this length and all others are 0."""
    torch.manual_seed(0)
    model = torch.nn.Linear(WIDTH, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = DPSGD(
        l2_norm_clip=CLIP, noise_multiplier=MULTIPLIER, batch_size=BATCH, params=model.parameters(), lr=1.0
    )
    inputs = torch.zeros(BATCH, WIDTH)
    inputs[0, 0] = length
    model(inputs).mean().backward()
    optimizer.step()
    return -model.weight.detach().double().ravel()


print("pyvacy", version("pyvacy"), "torch", torch.__version__, "clip norm", CLIP, "batch", BATCH)
deviation = float(released(0.0).std())
change = float((released(1e3) - released(0.0)).norm())
print(f"one example changes the update by {change:.4f}; clipping of each example allows {CLIP / BATCH:.4f}")
print(f"deviation of the noise: {deviation:.4f}, for a mean of clipped examples {MULTIPLIER * CLIP / BATCH:.4f}")
print(f"noise multiplier for this change: {deviation / change:.4f}; the accountant is given {MULTIPLIER}")
raise SystemExit(0 if deviation / change < MULTIPLIER / 2 else "not shown by this version")
