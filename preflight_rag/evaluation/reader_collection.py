"""Collections whose questions the project's reader may have learnt: then only the rest is measured on."""

from __future__ import annotations

from dataclasses import dataclass

from preflight_rag.evaluation.collection import Collection, Query, check_selection
from preflight_rag.evaluation.reader_examples import READ_PARTS, part_of
from preflight_rag.state.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class ReaderCollection(Collection):
    """A collection with known answers to its questions.

    Attributes:
        trained: Whether the reader was trained on a part of the questions. The parts are then those of the training:
            "test" is its test part, "development" its validation part.
    """

    trained: bool = False

    def select(self, part: str, limit: int | None = None) -> tuple[Query, ...]:
        """The part's questions in the order of `Collection.select`, without those that the reader was trained on.

        Raises:
            UsageError: As `Collection.select`.
        """
        if not self.trained:
            return super().select(part, limit)
        check_selection(part, limit)
        found = tuple(query for query in super().select("all") if part_of(query.text) in READ_PARTS[part])
        if not found:
            raise UsageError(f"{self.name} has no question in its {part} part", help="Try --part all.")
        return found[:limit]
