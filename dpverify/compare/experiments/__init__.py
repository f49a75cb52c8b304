"""Repeat experiments of papers: tables 2 and 3 and section 6.2 of wang2019, figures 1 and 2 of zhang2021."""
