"""Questions of reviewers about a paper, each answered in one sentence from the verdicts of a run."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import msgspec

from dpverify.ledger.chapters import Chapter, Passage
from dpverify.ledger.load import QUESTIONS, bundled_specs
from dpverify.ledger.records import Record

PAGE = "questions.md"  # page in the folder of a paper's pages


class Question(Record, frozen=True, kw_only=True):
    """A question with its answer, which is a passage: a template, and what a run must show for it to be true."""

    title: str
    rests_on: list[str]
    text: str

    @property
    def chapter(self) -> Chapter:
        """The question as a chapter of one passage."""
        return Chapter(title=self.title, passage=[Passage(rests_on=self.rests_on, text=self.text)])


class QuestionsFile(Record, frozen=True, kw_only=True):
    """All of ``questions.toml``."""

    question: list[Question]


@cache
def questions(key: str) -> list[Question]:
    """Return the questions about a bundled paper, in their order."""
    path = bundled_specs() / key / QUESTIONS
    return msgspec.toml.decode(path.read_bytes(), type=QuestionsFile).question if path.is_file() else []


def has_questions(key: str, claims: Collection[str]) -> bool:
    """Return whether a paper has a page of questions. A run must have all claims that they are about."""
    conditions = [condition for question in questions(key) for condition in question.chapter.passage[0].conditions()]
    return bool(conditions) and all(condition.about.partition("[")[0] in claims for condition in conditions)
