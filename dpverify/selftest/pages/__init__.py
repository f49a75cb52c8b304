"""Pages of what ``dpverify selftest`` recorded."""
