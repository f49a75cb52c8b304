"""Algorithm 4, the reconstruction of the momentum from the nodes of trees: as printed and as a stream."""
