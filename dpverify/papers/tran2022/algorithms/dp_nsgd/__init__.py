"""Algorithm 1, DP-NSGD."""
