"""Algorithm 2, sensitivity-reduced NSGD."""
