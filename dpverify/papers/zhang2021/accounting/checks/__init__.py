"""Where the constants that we name meet the accountant."""
