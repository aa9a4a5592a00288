"""Fit the weights by which evidence is ordered: `preflight_rag/offline/sentence_order.json`.

    python -m training.sentence_order --data DIR --library-cache DIR [--limit N] [--cases FILE] [--out FILE]

Questions are those of the development part of `preflight eval trust`, over its library of whole documents, and of the
validation part of SQuADShifts' Wikipedia and of SQuAD 2.0, over whole articles. The reader was trained on none of them.
The probability that a sentence is the one to show first is a softmax over the sentences of its question; the weights
give those that answer the largest share, with a penalty on their squares (after standardisation). The penalties of
rules are not fitted: they are for what few of these questions have.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from evaluation.datasets import examples, trust
from evaluation.samples import ReaderPart, Sample
from evaluation.trust_claims import letters, pieces_of, stands_in
from evaluation.trust_library import development_library
from preflight_rag import Preflight
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.offline.answers import AnswerReader
from preflight_rag.offline.evidence import order_features, shown_sentences
from preflight_rag.offline.sentence_order import WEIGHTS, SentenceFeatures
from preflight_rag.state.context import Settings
from preflight_rag.text.sentence_fit import SentenceFit
from preflight_rag.text.sentences import sentence_spans
from training.reader_negatives import articles_of

SEED = 3
ARTICLES = ("squadshifts-new_wiki", "squad2")
ASKED = 300
"""Questions over articles, drawn with a fixed seed."""
REGULARISATION = 2.0
"""Weight of the squares of the standardised weights, against the questions' summed log likelihood; a guess."""
FOLDS = 5
LEAST_LETTERS = 24
"""Letters of a sentence that is a part of a longer piece of evidence."""
UNIT = 3.0
"""Log odds of a penalty of 1, which sets the unit of all weights. Fitted to the same questions, those for seeming to
be about another subject counted 1, those for being plainly about something else 3 to 4."""

IsRight: TypeAlias = Callable[[str], bool]
"""Returns whether a sentence answers."""


@dataclass(frozen=True)
class OrderCase:
    """A sentence that may be shown for a question.

    Attributes:
        of: The number of its question.
        right: Whether it answers.
        features: Its features, by name.
        penalty: The sum of the rules' penalties.
    """

    of: int
    right: bool
    features: dict[str, float]
    penalty: float = 0.0


def of_trust(data: Path) -> list[tuple[str, IsRight]]:
    """Return the development questions of `eval trust` that sentences answer."""
    found = []
    for asked in trust.open_dataset(trust.NAME, data).select("development"):
        if asked.evidence and asked.answerable and not asked.given and not asked.before:
            found.append((asked.question, _is_evidence(asked.evidence)))
    return found


def _is_evidence(evidence: Sequence[str]) -> IsRight:
    """Return whether a sentence contains a piece of some evidence, or is a part of one."""
    pieces = [piece for text in evidence for piece in pieces_of(text)]

    def is_right(sentence: str) -> bool:
        own = letters(sentence)
        is_part = len(own) >= LEAST_LETTERS
        return any(stands_in(piece, own) or (is_part and own in letters(piece)) for piece in pieces)

    return is_right


def of_articles(data: Path) -> list[tuple[str, IsRight]]:
    """Return questions over articles of Wikipedia with marked answers, of the reader's validation part."""
    asked = [each for name in ARTICLES for each in examples(name, data, "validation", 0) if each.passage.spans]
    drawn = random.Random(SEED).sample(asked, min(ASKED, len(asked)))  # noqa: S311
    return [(each.question, _is_marked(each)) for each in drawn]


def _is_marked(sample: Sample) -> IsRight:
    """Return whether a sentence is one with a marked answer."""
    text, spans = sample.passage.text, sample.passage.spans or ()
    marked = set()
    for start, end in sentence_spans(text):
        if any(start <= first and last <= end for first, last in spans):
            marked.add(" ".join(text[start:end].split()))
    return lambda sentence: any(own in " ".join(sentence.split()) for own in marked)


def gather(app: Preflight, questions: Sequence[tuple[str, IsRight]], first: int) -> Iterator[OrderCase]:
    """Ask a library the questions, numbered from `first` on, and yield the sentences that may be shown."""
    reader: Any = app.reader
    answers: AnswerReader = reader.drafts._answers
    settings = Settings(rewrite="off", rerank_deadline=600)
    for number, (question, is_right) in enumerate(questions, first):
        sources = retrieve_passages(app.library, [question], settings).sources()
        read = answers.read(question, sources)
        fit = SentenceFit(question, sources)
        ranked = shown_sentences(answers.compared(question, read, fit), fit)
        features, penalties = order_features(ranked, read, fit)
        for item, known, penalty in zip(ranked, features, penalties, strict=True):
            yield OrderCase(number, is_right(item.sentence.text), asdict(known), penalty)


def fitted(cases: Sequence[OrderCase]) -> dict[str, Any]:
    """Return the weights, and for how many questions a right sentence is first and among three, on unseen folds."""
    names = [field.name for field in fields(SentenceFeatures)]
    values = np.array([[case.features[name] for name in names] for case in cases])
    penalties = UNIT * np.array([case.penalty for case in cases])
    right, groups = np.array([case.right for case in cases]), np.array([case.of for case in cases])
    places = [np.flatnonzero(groups == group) for group in dict.fromkeys(groups.tolist())]
    answered = [mine for mine in places if right[mine].any()]
    first = three = 0
    for fold in range(FOLDS):
        known = [mine for at, mine in enumerate(answered) if at % FOLDS != fold]
        weights = _weights(values, penalties, right, known)
        for mine in answered[fold::FOLDS]:
            order = np.argsort(penalties[mine] - values[mine] @ weights, kind="stable")
            first += bool(right[mine][order[0]])
            three += bool(right[mine][order[:3]].any())
    weights = _weights(values, penalties, right, answered) / UNIT
    sys.stdout.write(f"{len(answered)} of {len(places)} questions; first {first}, among three {three}\n")
    return {"weights": {name: round(weight, 4) for name, weight in zip(names, weights.tolist(), strict=True)}}


def _weights(values: np.ndarray, penalties: np.ndarray, right: np.ndarray, asked: Sequence[np.ndarray]) -> np.ndarray:
    """Return the weight of each feature, in log odds.

    Args:
        values: The features, of shape (sentences, features).
        penalties: The penalties in log odds, of shape (sentences,).
        right: Whether a sentence answers, of the same shape.
        asked: The places of each question's sentences, one of which at least answers.
    """
    from scipy.optimize import minimize

    deviation = values.std(axis=0) + 1e-6
    scaled = values / deviation

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient."""
        value, slope = REGULARISATION * float(weights @ weights) / 2, REGULARISATION * weights
        for mine in asked:
            logits = scaled[mine] @ weights - penalties[mine]
            chances = np.exp(logits - logits.max())
            chances /= chances.sum()
            share = chances[right[mine]].sum()
            value -= float(np.log(share))
            slope = slope + scaled[mine].T @ (chances - np.where(right[mine], chances / share, 0.0))
        return value, slope

    found = minimize(loss, np.zeros(values.shape[1]), jac=True, method="L-BFGS-B")
    weights: np.ndarray = found.x / deviation
    return weights


def libraries(data: Path, cache: Path) -> Iterator[tuple[Preflight, list[tuple[str, IsRight]]]]:
    """Yield both libraries, opened, with their questions."""
    parts: tuple[ReaderPart, ...] = ("train", "validation")
    asked = [each for part in parts for name in ARTICLES for each in examples(name, data, part, 0)]
    records = cache / "ordered.jsonl"
    lines = (json.dumps({"id": key, "title": title, "text": text}) for key, (title, text) in articles_of(asked).items())
    records.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with Preflight.open(cache / "ordered", "offline", create=True) as app:
        app.ingest([records])
        yield app, of_articles(data)
    with development_library(data, cache) as app:
        yield app, of_trust(data)


def main(arguments: Sequence[str] | None = None) -> None:
    """Gather the cases of both libraries, fit, and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m training.sentence_order", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds a folder of each data set")
    parser.add_argument("--library-cache", type=Path, required=True, help="where the libraries are kept")
    parser.add_argument("--limit", type=int, help="questions of each library; all by default")
    parser.add_argument("--cases", type=Path, help="file in which the cases are kept; if it exists, it is read")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where the weights are written")
    options = parser.parse_args(arguments)
    if options.cases and options.cases.is_file():
        cases = [OrderCase(**case) for case in json.loads(options.cases.read_text(encoding="utf-8"))]
    else:
        options.library_cache.mkdir(parents=True, exist_ok=True)
        cases = []
        for first, (app, questions) in enumerate(libraries(options.data, options.library_cache)):
            cases += gather(app, questions[: options.limit], first * 1_000_000)
        if options.cases:
            options.cases.write_text(json.dumps([asdict(case) for case in cases]) + "\n", encoding="utf-8")
    options.out.write_text(json.dumps(fitted(cases), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
