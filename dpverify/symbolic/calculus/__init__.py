"""Certified integrals and extrema of formulas over real variables, and bounds on the growth of formulas."""
