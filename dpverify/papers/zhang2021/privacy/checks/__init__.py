"""Checks of the privacy records against the accountants."""
