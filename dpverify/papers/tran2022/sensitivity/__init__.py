"""Effect of one example on each node, and the number of its visits."""
