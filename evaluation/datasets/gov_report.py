"""GovReport: long reports of the GAO and the CRS, with their experts' summaries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluation.datasets.files import collected, entries, field, json_file, json_lines, listed, mapping
from evaluation.datasets.mediqa import summarised
from evaluation.samples import DataSet, Sample, passages_as_corpus
from preflight_rag.state.errors import UsageError

SOURCE = "gov-report-data.github.io"
LICENCE = "public domain (US government)"
QUESTION = "What does the report say?"


def summaries(folder: Path, name: str) -> DataSet:
    """Return reports with their summaries.

    gao/*.json (`id`, `highlight`, `report`: lists of sections) and crs/*.json (`id`, `summary` [paragraphs], `reports`:
    a section) as published, where split_ids/ names the parts: those of its *test.ids; a section has `section_title`,
    `paragraphs`, `subsections`. Or *.jsonl with `report` and `summary` on each line.
    """
    lines = sorted({*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")})
    files = sorted([*folder.glob("gao/*.json"), *folder.glob("crs/*.json")])
    chosen = {line.strip() for ids in folder.glob("split_ids/*test.ids") for line in ids.read_text().splitlines()}
    if not lines and not files:
        raise UsageError(f"there is no gao/*.json in {str(folder)!r}", help=f"The data set is published at {SOURCE}.")
    if lines:
        read = [(place, _of(f"{path.name}/{n}", field(record, place, "report"), field(record, place, "summary")))
                for path in lines for n, (place, record) in enumerate(json_lines(path))]  # fmt: skip
    else:
        read = [(path.name, _published(path)) for path in files if not chosen or path.stem in chosen]
    samples = collected(read, (lines or files)[0])
    return DataSet(name, "GovReport", SOURCE, LICENCE, tuple(lines or files), samples, passages_as_corpus(samples))


def _of(name: str, report: str, summary: str) -> Sample:
    """Return a sample that asks for the summary of a report."""
    return summarised(name, QUESTION, report, {"abstractive": summary})


def _published(path: Path) -> Sample:
    """Return a report from a file of the GAO or the CRS."""
    record = mapping(json_file(path), path.name)
    name = field(record, path.name, "id")
    if "report" in record:
        return _of(name, _text(record, "report", path.name), _text(record, "highlight", path.name))
    report = "\n".join(_lines(mapping(record.get("reports"), path.name), path.name))
    return _of(name, report, "\n".join(listed(record, path.name, "summary")))


def _text(record: dict[str, Any], part: str, place: str) -> str:
    """Return the lines of all sections of a part of a record."""
    return "\n".join(line for section in entries(record, place, part) for line in _lines(section, place))


def _lines(section: dict[str, Any], place: str) -> Iterator[str]:
    """Yield titles and paragraphs of a section, followed by those of its subsections."""
    if title := field(section, place, "section_title", default="").strip():
        yield title
    yield from listed(section, place, "paragraphs")
    for below in entries({"subsections": [], **section}, place, "subsections"):
        yield from _lines(below, place)
