"""The gradient estimate of DP-SRM: its sensitivity to one example, and the law of its noise."""
