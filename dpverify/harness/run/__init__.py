"""From claims to verdicts: selection of checks, shares of the budget, processes, and judgement."""
