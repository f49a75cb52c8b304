"""The words of derivations: formula trees as sympy expressions, ranges of letters, and data such as norms."""
