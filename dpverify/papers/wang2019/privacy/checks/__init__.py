"""Checks of wang2019's statements on privacy."""
