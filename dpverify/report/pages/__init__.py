"""Write the pages of a report from results."""
