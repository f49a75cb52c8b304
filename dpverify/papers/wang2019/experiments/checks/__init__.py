"""Checks of section 6."""
