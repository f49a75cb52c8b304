"""Experiments of papers with networks: private methods at equal privacy, accuracy over iterations, over seeds."""
