"""BoolQ: yes/no questions typed into a search engine, with the Wikipedia passage that answers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from evaluation.datasets.files import field, find, json_lines
from evaluation.datasets.pairs import pair
from evaluation.datasets.squad import article_key
from evaluation.samples import ReaderPart, Sample, Verdict, reader_part_of
from preflight_rag.state.errors import UnreadableDocument

SOURCE = "github.com/google-research-datasets/boolean-questions"
LICENCE = "CC BY-SA 3.0"
TITLE = "BoolQ, development set"
FILE = "dev.jsonl"


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield each question with its passage.

    Half of them are rewritten with a capital and a question mark.

    dev.jsonl: `question` in lower case, `title`, `answer` (true or false), `passage`.
    """
    for place, record in json_lines(find(folder, FILE, origin=SOURCE)):
        title = field(record, place, "title")
        key = article_key(title)
        if reader_part_of(key) != part:
            continue
        if not isinstance(record.get("answer"), bool):
            raise UnreadableDocument(f"{place}: answer is {record.get('answer')!r:.60}, not true or false")
        verdict: Verdict = "yes" if record["answer"] else "no"
        asked = field(record, place, "question")
        question = f"{asked[:1].upper()}{asked[1:]}?" if rng.random() < 0.5 else asked
        text = field(record, place, "passage")
        yield pair(key, question, title, text, None, True, True, verdict, group=f"boolq {title} {asked}")
