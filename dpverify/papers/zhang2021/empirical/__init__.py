"""Excess empirical risk: rates, conditions, and the exact recursion of moments on quadratics."""
