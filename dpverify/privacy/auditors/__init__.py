"""Tests of auditors: their error rate and their power on distributions whose epsilon is known."""
