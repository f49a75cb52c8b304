"""Opacus' ghost clipping in float32 and bfloat16 releases gradients that are longer than the clip norm."""

import warnings

import opacus
import torch

warnings.simplefilter("ignore")
CLIP, WIDTH, TRIES = 0.7, 16, 50
SETTINGS = {torch.float32: (1e3, 1e4, 1e6), torch.bfloat16: (1e1, 1e2, 1e3), torch.float64: (1e4, 1e6)}


def difference(outputs):
    """Return the loss of an example: its output at position 1 minus its output at position 2."""
    return (outputs[:, 0] - outputs[:, 1]).sum(dim=1)


def longest(mode, dtype, size):
    """Return the norm of the longest released gradient of an example whose activations nearly cancel, without noise."""
    longest = 0.0
    for large, small in size * torch.randn(TRIES, 2, WIDTH, generator=torch.Generator().manual_seed(0)):
        weights = torch.nn.Linear(WIDTH, 1, bias=False, dtype=dtype)
        torch.nn.init.zeros_(weights.weight)
        options = {"noise_multiplier": 0.0, "max_grad_norm": CLIP, "loss_reduction": "sum", "grad_sample_mode": mode}
        options |= {"module": weights, "optimizer": torch.optim.SGD(weights.parameters(), lr=1.0)}
        options |= {"data_loader": torch.utils.data.DataLoader([[0]]), "criterion": difference}
        model, optimizer, *criterion, _ = opacus.PrivacyEngine().make_private(**options)
        gap = small * (2**-5 if dtype == torch.bfloat16 else 2**-12)
        outputs = model(torch.stack([large + gap, large - gap])[None].to(dtype))
        (criterion or [difference])[0](outputs).backward()
        optimizer.step()
        longest = max(longest, float(weights.weight.double().norm()))
    return longest


print("opacus", opacus.__version__, "torch", torch.__version__, "clip norm", CLIP)
found = {(t, s): (longest("ghost", t, s), longest("hooks", t, s)) for t, sizes in SETTINGS.items() for s in sizes}
for (dtype, size), (ghost, hooks) in found.items():
    print(f"{dtype}, activations of {size:g}: ghost clipping releases up to {ghost:.2f}, hooks up to {hooks:.4f}")
raise SystemExit(0 if found[torch.float32, 1e4][0] > 2 * CLIP else "not shown by this version")
