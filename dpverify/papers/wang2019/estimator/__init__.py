"""The gradient estimate of DP-SRM: what one example moves in it, and the law of the noise it carries."""
