"""Derivations: their steps, premises and conclusion, and constants moved against them."""
