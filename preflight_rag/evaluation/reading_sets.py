"""What readers are measured on: the test parts of the sets that the project's own is trained on, and BioASQ."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from preflight_rag.evaluation.datasets import BIOASQ
from preflight_rag.evaluation.reader_data import SETS, examples
from preflight_rag.evaluation.reader_examples import Example, Verdict, spans_of
from preflight_rag.evaluation.records import as_published, find, json_lines
from preflight_rag.evaluation.samples import READ_PARTS, ReaderPart, check_selection, half_of
from preflight_rag.state.errors import UsageError

SNIPPETS = 16
"""Most gold snippets of a question of BioASQ."""
BIOASQ_ITSELF = ("BioASQ 7B-12B, gold snippets", BIOASQ, "BioASQ's terms: measuring only")
"""Title, place of publication and licence of the set that was never trained on."""
WHOLE_ABSTRACTS = "pubmedqa-abstracts"
"""PubMedQA with its conclusions, as a search finds the abstracts; `pubmedqa` leaves out what says the answer."""


@dataclass(frozen=True)
class ReadingSet:
    """Questions with passages, and what is known of each pair.

    Attributes:
        name: What `--dataset` calls it.
        title: Its public name.
        source: Where it is published.
        licence: As its publisher states it.
        files: What it was read from.
        read: The pairs of a part.
    """

    name: str
    title: str
    source: str
    licence: str
    files: tuple[Path, ...]
    read: Callable[[ReaderPart], Sequence[Example]]

    def select(self, part: str, limit: int | None = None) -> list[Example]:
        """The pairs of a part, a question's together; a limit takes questions by the hash of their names.

        Raises:
            UsageError: There is no such part, the limit is below 1, or no pair is left.
        """
        check_selection(part, limit)
        groups: dict[str, list[Example]] = {}
        for named in READ_PARTS[part]:
            for example in self.read(named):
                groups.setdefault(example.group, []).append(example)
        chosen = sorted(groups, key=lambda name: hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest())
        if not chosen:
            raise UsageError(f"{self.name} has no question in its {part} part", help="Try --part all.")
        return [example for name in chosen[:limit] for example in groups[name]]


def open_dataset(name: str, data: Path | None) -> ReadingSet:
    """The data set in the folder `data/name`.

    Raises:
        UsageError: No such data set, or its folder is missing; the message says where it is published.
    """
    known = {key: (found.title, found.source, found.licence) for key, found in SETS.items()}
    known |= {"bioasq": BIOASQ_ITSELF}
    known[WHOLE_ABSTRACTS] = ("PubMedQA, abstracts with their conclusions", *known["pubmedqa"][1:])
    if name not in known:
        raise UsageError(f"the data set {name!r} has no passages to read", help=f"Choose {' or '.join(known)}.")
    title, source, licence = known[name]
    folder = name.partition("-")[0]
    if data is None or not (data / folder).is_dir():
        raise UsageError(
            f"no folder with the data set {name!r}",
            help=f"Give --data DIR or PREFLIGHT_DATA, where DIR/{folder} holds the files of {source}.",
        )
    files = tuple(sorted(path for path in (data / folder).iterdir() if ".json" in path.name))

    def read(part: ReaderPart) -> Sequence[Example]:
        with as_published(name):
            if name == "bioasq":
                return list(bioasq(data, part))
            found = examples(folder, data, part)
            return _abstracts(found, whole=name == WHOLE_ABSTRACTS) if folder == "pubmedqa" else found

    return ReadingSet(name, title, source, licence, files, read)


def _abstracts(found: Sequence[Example], *, whole: bool) -> list[Example]:
    """PubMedQA's questions with the abstract: without its conclusion, which is the second example, or whole."""
    parts: dict[str, list[Example]] = {}
    for example in found:
        parts.setdefault(example.group, []).append(example)
    return [replace(body, text=f"{body.text} {end.text}") if whole else body for body, end in parts.values()]


def bioasq(data: Path, part: ReaderPart) -> Iterator[Example]:
    """BioASQ's factoid, list and yes/no questions with their gold snippets; never trained on.

    Its halves are those of the other experiments. Of a list question each entry counts as an answer. A snippet without
    an answer's words is of unknown answerability: it may answer in other words.
    """
    for _, entry in json_lines(find(data / "bioasq", "questions.jsonl", origin=BIOASQ)):
        if (half_of(entry["id"]) == "test") != (part == "test"):
            continue
        told, verdict = bioasq_answers(entry)
        if not told and verdict is None:
            continue
        texts = list(dict.fromkeys(snippet["text"].strip() for snippet in entry["snippets"]))
        for text in filter(None, texts[:SNIPPETS]):
            spans = spans_of(text, told)
            yield Example(
                entry["id"], entry["question"], "", text, spans or None, True if spans else None, True, verdict,
                group=f"bioasq {entry['id']}", gold=told,
            )  # fmt: skip


def bioasq_answers(entry: dict[str, Any]) -> tuple[tuple[str, ...], Verdict | None]:
    """The answers of a factoid or list question, or the verdict of a yes/no question; neither for other types."""
    exact = entry.get("exact_answer")
    if entry["type"] == "yesno" and isinstance(exact, str):
        return (), "yes" if exact.strip().casefold().startswith("yes") else "no"
    if entry["type"] in ("factoid", "list") and isinstance(exact, list):
        names = (name for item in exact for name in (item if isinstance(item, list) else [item]))
        return tuple(dict.fromkeys(name.strip() for name in names if name.strip())), None
    return (), None
