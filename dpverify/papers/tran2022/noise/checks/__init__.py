"""Checks of this topic."""
