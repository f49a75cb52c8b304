"""Probability laws of outputs, pairs of laws for neighbouring data sets, and certified divergences between laws."""
