"""Private Stochastic Non-convex Optimization with Improved Utility Rates (Zhang, Ma, Lou and Xiong): DpageEM."""
