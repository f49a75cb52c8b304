"""The drawings, one kind per file. Each takes columns of numbers and gives a figure; none computes evidence."""
