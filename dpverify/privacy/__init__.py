"""What noise buys: Renyi, zero-concentrated and Gaussian differential privacy, and the passages between them."""
