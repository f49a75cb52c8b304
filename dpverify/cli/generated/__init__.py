"""Commands whose options are generated from the settings of algorithms."""
