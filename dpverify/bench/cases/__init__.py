"""What is measured, a group of cases per file."""
