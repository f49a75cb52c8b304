"""Integrals and extrema of formulas over real letters, with certified values, and how formulas grow."""
