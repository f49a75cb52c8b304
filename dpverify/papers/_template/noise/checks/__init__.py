"""Checks of the kernel and of the records."""
