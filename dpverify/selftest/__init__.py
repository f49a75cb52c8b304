"""Faults planted in this code, one at a time in a copy of the checkout, and whether claims and tests notice them."""
