from __future__ import annotations

import numpy as np

from dpverify.privacy.audit.learning import learn


def test_a_rule_counts_alike_in_one_piece_and_in_several_and_in_any_unit() -> None:
    rng = np.random.default_rng(0)
    b = np.repeat([False, True], 2000)[rng.permutation(4000)]
    x = rng.standard_normal((4000, 2))
    x[:, 0] += b
    found = []
    for unit, pieces in ((1.0, 1), (1.0, 7), (1024.0, 1)):
        (bet, *_) = learn(
            unit * x[:2000], b[:2000], 2000, 1e-5, 0.05, serial=False, user=None
        )
        for rows, bits in zip(
            np.array_split(unit * x[2000:], pieces),
            np.array_split(b[2000:], pieces),
            strict=True,
        ):
            bet.judge(rows, bits)
        found.append((bet.right, bet.wrong, bet.trials))
        assert 0 <= bet.wrong < bet.right
        assert bet.epsilon(1e-5, 0.05) > 0.0
    assert len(set(found)) == 1
    assert found[0][2] == 2000
