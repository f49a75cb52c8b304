"""Checks of the proved constants against the accountant."""
