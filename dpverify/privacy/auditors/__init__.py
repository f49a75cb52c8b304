"""Audits of auditors: their error rate and their power on laws whose epsilon is known."""
