"""What the four papers published, as data: one module a paper, `TABLES` from an experiment's name to its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PublishedTable:
    """One table or figure of a paper, in the paper's own units (percent where it prints percent).

    Attributes:
        where: Paper and number: "COrg, Table 6".
        made_with: Data, size and model of the paper's run: what differs from ours.
        columns: The paper's columns in order, each with the name of our measure of the same thing; "" where we have
            none.
        rows: Figures by row, named as ours are; None where the paper prints nothing.
        percent: Our measures of the same thing that are shares, to be shown times 100; None: all of them.
    """

    where: str
    made_with: str
    columns: Mapping[str, str]
    rows: Mapping[str, Sequence[float | str | None]]
    percent: frozenset[str] | None = field(default=None)
