"""Algorithm 1's noise: as a stream, as printed, step by step, and with planted faults."""
