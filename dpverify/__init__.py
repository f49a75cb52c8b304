"""Executable checks of papers on differentially private optimization."""
