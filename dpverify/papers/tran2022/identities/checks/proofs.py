"""The identities proved: what is printed where it is true, else as it is amended."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.harness.derivation_check import Build, DerivationCheck
from dpverify.papers.tran2022.identities import lemma_17_derivations as lemma
from dpverify.papers.tran2022.identities import window_derivations as windows

CHECKS = PaperChecks("tran2022", __name__)

ONCE = {"ordering": "once"}  # the statements under fresh orders are proved in proofs.toml

AMENDED: dict[str, Build] = {
    "lemma-17-hypothesis": lemma.hypothesis,
    "lemma-17-last-line": lemma.as_printed,
}

PRINTED: dict[str, Build] = {
    "lemma-17-window": windows.window_identity,
    "lemma-17-q2": lemma.two_epochs,
    "lemma-17-unrolled": lemma.unrolled,
    "lemma-17-step": lemma.one_step,
    "lemma-17": lemma.as_printed,
    "equation-3": lemma.as_printed,
    "equation-8": lemma.as_printed,
}

CHECKS.add(
    *(
        DerivationCheck(claim, "derivation-once", build=build, variants=("amended",), readings=ONCE)
        for claim, build in AMENDED.items()
    ),
    *(
        DerivationCheck(claim, "derivation-once", build=build, variants=("printed",), readings=ONCE)
        for claim, build in PRINTED.items()
    ),
)
