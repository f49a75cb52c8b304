"""What the privacy of DP-SRM rests on: Renyi divergences, sampling, conversion, the noise of its boxes."""
