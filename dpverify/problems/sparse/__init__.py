"""Sparse rows from file to kernel: containers, scaling, the loss, its gradients over batches."""
