"""Checks of the theorems on stability against exact runs on neighbouring data."""
