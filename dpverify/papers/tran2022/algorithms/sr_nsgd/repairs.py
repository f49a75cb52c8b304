"""What had to be changed in the box of Algorithm 2 to make it run."""

from __future__ import annotations

from dpverify.papers.tran2022.algorithms.reconstruction.literal import Repair

REPAIRS = (
    Repair(
        "algorithm-2-loop",
        "for r = 0 ... min{N - 1, T - qN}: t <- qN + r_t",
        "t = 1..T; epoch q = 0, 1, ... owns the steps qN + 1 .. (q + 1)N, as in Algorithm 1",
        "as printed the first step is t = 0, which has floor(log2 0) levels and no w_0 to read; r_t is r",
    ),
    Repair(
        "algorithm-2-anchors",
        "the anchor of epoch q is w_{qN}",
        "the anchor of an epoch is the iterate at its first step, w_{qN+1}",
        "w_0 does not exist, and w_{qN} is the iterate at the last step of the epoch before",
    ),
    Repair(
        "algorithm-2-g-nodes",
        "every step i of a node has the anchor w_{qN} and the permutation of the present epoch q",
        "each step has the anchor and the permutation of its own epoch, as section 4 defines F^G",
        "a node that straddles epochs would change its meaning while it is kept, and equation 3 would not hold",
    ),
    Repair(
        "algorithm-2-r-nodes",
        "the same for F^r",
        "each step has the anchor and the permutation of its own epoch",
        "as algorithm-2-g-nodes",
    ),
    Repair(
        "algorithm-2-delta-nodes",
        "the same for F^Delta, with the anchors w_{qN} and w_{(q-1)N}",
        "each step has the anchor of its own epoch, the one before that, and its own permutation",
        "as algorithm-2-g-nodes",
    ),
    Repair(
        "algorithm-2-node-names",
        "zeta_t^G, zeta_t^r, zeta_t^Delta, sampled for every k under one name",
        "one Gaussian for each node",
        "section 4 and appendix E give every node its own noise",
    ),
    Repair(
        "algorithm-2-update",
        "w_t = w_{t-1} - eta m^_t / |m^_t|",
        "w_{t+1} = w_t - eta m^_t / |m^_t|, as in Algorithm 1",
        "the r nodes of step t hold the gradient at w_t, so w_t must be there before m^_t is",
    ),
)
"""Every change, in the order of the box's lines. Algorithm 4 has a list of its own."""
