"""The pages of a report, from results."""
