"""Write results as JSON, markdown, figures and terminal tables. This package simulates nothing."""
