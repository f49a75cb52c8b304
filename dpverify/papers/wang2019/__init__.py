"""Efficient Privacy-Preserving Stochastic Nonconvex Optimization (Wang, Jayaraman, Evans and Gu): DP-SRM."""
