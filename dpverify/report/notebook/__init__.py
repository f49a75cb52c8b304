"""Results as shown by Python prompts and notebooks."""
