"""Evaluation of formula trees to exact numbers and balls."""
