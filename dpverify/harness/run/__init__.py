"""From claims to results: which checks, with what share, in which process, and the verdict."""
