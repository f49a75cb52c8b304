"""Sparse data sets: containers, scaling, the loss, and its gradients over batches."""
