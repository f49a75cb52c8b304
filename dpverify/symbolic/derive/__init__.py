"""Derivations: their steps, premises and conclusions, and controls with one changed constant."""
