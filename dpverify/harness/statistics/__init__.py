"""Plans, exact tests and laws of trajectories: the conclusions that a simulation allows."""
