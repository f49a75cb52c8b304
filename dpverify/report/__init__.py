"""Results to JSON, markdown, figures and terminal tables. Pure functions: nothing is simulated here."""
