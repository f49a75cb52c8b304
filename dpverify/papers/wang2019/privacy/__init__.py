"""Foundations of DP-SRM's privacy: Renyi divergences, sampling, conversion, and the noise of its boxes."""
