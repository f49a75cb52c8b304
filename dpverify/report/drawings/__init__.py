"""The drawings. A drawing turns columns of numbers into a figure and computes no evidence."""
