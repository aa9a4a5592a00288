"""The figures published in the four papers: a JSON file for each, with its tables by the reproducing experiment.

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
    """One table or figure of a paper, in the paper's own units (percent if it prints percent).

    Attributes:
        where: Paper and number: "COrg, Table 6".
        made_with: Data, size and model of the paper's run, as far as they differ from ours.
        columns: The paper's columns in order, each with the name of our corresponding measure; "" if there is none.
        rows: Figures by row, with our names; None if the paper prints nothing.
        percent: Our corresponding measures that are shares, to be shown times 100; None: all of them.
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
    """Return a paper's tables by experiment; `paper` is "brief_context", "corg", "cpqa" or "diversity"."""
    content = json.loads(Path(__file__).with_name(f"{paper}.json").read_text(encoding="utf-8"))
    return {
        experiment: tuple(PublishedTable.from_json(table) for table in tables)
        for experiment, tables in content["tables"].items()
    }
