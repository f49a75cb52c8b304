"""Algorithm 4, the momentum put together from a tree's nodes: as printed and as a stream."""
