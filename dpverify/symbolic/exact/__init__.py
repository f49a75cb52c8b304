"""Formula trees to exact numbers and balls."""
