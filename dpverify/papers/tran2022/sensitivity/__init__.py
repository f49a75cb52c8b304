"""What one example can change in each node, and how often it is visited."""
