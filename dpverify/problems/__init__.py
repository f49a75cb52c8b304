"""Losses with certified constants, data sets, and neighbouring data sets."""
