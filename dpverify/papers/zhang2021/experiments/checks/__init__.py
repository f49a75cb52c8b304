"""Checks of section 4."""
