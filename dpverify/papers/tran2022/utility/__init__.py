"""Lemma 5 and Theorems 6 and 9: derivations, simulations, and the sizes from which the bounds are not vacuous."""
