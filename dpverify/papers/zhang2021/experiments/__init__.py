"""Experiments of section 4."""
