"""What a line of a proof lacks, for its author."""

from __future__ import annotations


class ProofError(ValueError):
    """A line of a proof cannot be read as a step: which line, and what was tried."""

    def __init__(self, where: str, line: int, text: str, problem: str) -> None:
        super().__init__(where, line, text, problem)
        self.where = where  # the proof or lemma
        self.line = line  # from 1; 0 where it is not about one line
        self.text = text
        self.problem = problem

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        shown = f"{self.text}: " if self.text else ""
        return f"{self.where}: {place}{shown}{self.problem}"
