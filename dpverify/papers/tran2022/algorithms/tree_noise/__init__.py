"""Algorithm 1's noise: as a stream, as printed, one step at a time, and with planted faults."""
