"""Formulas in texts: those of quotations, and those in plain letters."""
