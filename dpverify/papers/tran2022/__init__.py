"""Momentum Aggregation for Private Non-convex ERM (Tran and Cutkosky, NeurIPS 2022)."""
