"""The utility of DP-SRM: the lines of the proof of Theorem 4.4."""
