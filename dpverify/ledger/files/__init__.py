"""The files of a paper's folder: their records, and records that are kept so that nothing is parsed twice."""
