"""What the four papers published: a JSON file for each, with its tables by the experiment that reproduces them.

Its `about` says what its tables lack, and where the paper contradicts itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any


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

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> PublishedTable:
        """Return the table of an entry of a paper's file."""
        percent = values.get("percent")
        return cls(
            where=values["where"],
            made_with=values["made_with"],
            columns=values["columns"],
            rows={name: tuple(figures) for name, figures in values["rows"].items()},
            percent=None if percent is None else frozenset(percent),
        )


@cache
def tables_of(paper: str) -> dict[str, tuple[PublishedTable, ...]]:
    """Return a paper's tables by experiment: of "brief_context", "corg", "cpqa" or "diversity"."""
    content = json.loads(Path(__file__).with_name(f"{paper}.json").read_text(encoding="utf-8"))
    return {
        experiment: tuple(PublishedTable.from_json(table) for table in tables)
        for experiment, tables in content["tables"].items()
    }
