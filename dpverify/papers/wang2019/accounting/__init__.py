"""Upper and lower bounds on the privacy of DP-SRM, its distributed form and the baselines."""
