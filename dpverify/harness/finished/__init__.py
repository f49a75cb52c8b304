"""What is left of runs that are over: blocks, hashes of source files, whole runs, and their exit codes."""
