"""Results as Python prompts and notebooks show them."""
