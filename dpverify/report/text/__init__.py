"""Formulas and quotes as plain text for a terminal, without TeX and without operators of a programming language."""
