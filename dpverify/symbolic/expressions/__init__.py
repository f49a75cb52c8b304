"""Expressions of derivations: formula trees in sympy, ranges of variables, and functions such as norms."""
