"""Legal documents: judgements of the Indian and the UK Supreme Court, with their experts' summaries."""

from __future__ import annotations

from pathlib import Path

from evaluation.datasets.files import collected
from evaluation.datasets.mediqa import summarised
from evaluation.samples import DataSet, Sample, passages_as_corpus
from preflight_rag.state.errors import UnreadableDocument, UsageError

SOURCE = "github.com/Law-AI/summarization (Shukla et al. 2022)"
LICENCE = "CC BY 4.0"
QUESTION = "What does the judgement say?"


def summaries(folder: Path, name: str) -> DataSet:
    """Return judgements with their abstractive summaries, of IN-Abs and UK-Abs as published.

    IN-Abs/test-data/judgement/*.txt with test-data/summary/ beside it, UK-Abs/test-data/judgement/*.txt with
    test-data/summary/full/; the two files of a case have one name. A folder without a test part is read from its
    judgement/ and summary/.
    """
    judgements = sorted(folder.glob("**/test-data/judgement/*.txt")) or sorted(folder.glob("**/judgement/*.txt"))
    if not judgements:
        raise UsageError(
            f"there is no judgement/*.txt in {str(folder)!r}", help=f"The data set is published at {SOURCE}."
        )
    read = [(path.name, _of(path, path.relative_to(folder).as_posix())) for path in judgements]
    samples = collected(read, judgements[0])
    return DataSet(name, "legal documents", SOURCE, LICENCE, tuple(judgements), samples, passages_as_corpus(samples))


def _of(path: Path, place: str) -> Sample:
    """Return a judgement with its summary.

    Raises:
        UnreadableDocument: There is no summary of its name, or one of the two is not UTF-8.
    """
    beside = path.parents[1] / "summary"
    summary = next((p for p in (beside / "full" / path.name, beside / path.name) if p.is_file()), None)
    if summary is None:
        raise UnreadableDocument(f"{place} has no summary of its name", help=f"Look into {str(beside)!r}.")
    try:
        judgement, short = (p.read_text(encoding="utf-8-sig").strip() for p in (path, summary))
    except UnicodeDecodeError:
        raise UnreadableDocument(f"{place} or its summary is not UTF-8", help="Save both as UTF-8.") from None
    return summarised(place.removesuffix(".txt"), QUESTION, judgement, {"abstractive": short})
