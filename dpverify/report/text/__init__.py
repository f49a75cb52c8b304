"""Formulas and quotes as plain text for a terminal: no TeX, and no operators of a programming language."""
