"""Checks of dpverify's own tools against exact values: accountants, conversions, clipping, audits, calibration."""
