"""Checks of the guarantees of dpverify's own tools."""
