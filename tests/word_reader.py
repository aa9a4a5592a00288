"""An extractive reader whose judgement can be foretold: by the words that a passage shares with what is asked.

It stands where a test is about what is done with readings; `models.reading.bundled_reader` is tested by itself.
"""

from __future__ import annotations

from preflight_rag.models.reading.extractive_reader import EVEN, PassageReading
from preflight_rag.text.words import words


class WordReader:
    """Answerability and relevance are the share of the question's words in the passage.

    The verdict is no for a passage with a word of `against`, else yes for a share of at least `yes`, else neither. With
    `heads=False` it has neither relevance nor verdict, as a SQuAD-v2 model. `pairs` are all that were read.
    """

    name = "words"
    threshold = EVEN

    def __init__(self, *, yes=0.7, against=(), heads=True):
        self.yes, self.against, self.heads, self.pairs = yes, set(against), heads, []

    def read(self, pairs):
        self.pairs += pairs
        return [self._reading(*pair) for pair in pairs]

    def _reading(self, question, title, text):
        asked, there = set(words(question)), set(words(f"{title} {text}"))
        share = round(len(asked & there) / max(1, len(asked)), 3)
        if not self.heads:
            return PassageReading((), share)
        no = bool(self.against & there)
        verdict = (0.1, 0.8, 0.1) if no else (0.9, 0.05, 0.05) if share >= self.yes else (0.2, 0.1, 0.7)
        return PassageReading((), share, share, verdict)
