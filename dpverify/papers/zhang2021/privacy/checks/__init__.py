"""Where the records on privacy meet the accountants."""
