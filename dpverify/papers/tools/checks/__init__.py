"""Checks of what our own tools promise."""
