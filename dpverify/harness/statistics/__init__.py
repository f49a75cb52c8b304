"""Plans, exact tests and laws of trajectories: what a simulation may conclude."""
