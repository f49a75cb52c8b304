"""The utility of DP-SRM: Theorems 4.4 and 5.2, the lines of their proofs, comparisons, and simulations."""
