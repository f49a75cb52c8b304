"""What our own tools promise, held against exact values: accountants, conversions, clipping, audits, calibration."""
