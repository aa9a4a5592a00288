"""Fit the weights for the probability that a keyless answer is right: `preflight_rag/offline/confidence.json`.

    python -m training.confidence --data DIR --library-cache DIR [--limit N] [--cases FILE] [--out FILE]

Questions are those of the development part of `preflight eval trust`, asked of its library of whole documents, and of
published sets asked of one mixed library (`MixedLibrary`): some of them have no answer there, because their documents
are left out. None was used to train the reader, and none is of the test part of `eval trust`. The answer that the
reader ranks first is right or wrong by the names of the right answers; a logistic model predicts that from
`answer_features`. Probabilities are calibrated (Platt, 1999) on predictions for questions that the model had not seen.
A claim is made from the least probability at which `RIGHT` of such claims were right; an answer that a rule forbids to
claim does not count there. Yes/no questions have no model: on these questions no feature distinguished a right "yes"
from a wrong one (`offline.verdicts`). Reading takes minutes to an hour, fitting seconds: `--cases` stores the readings
in a file, and reads them from there if it exists.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.datasets import QUESTIONS, open_dataset, trust
from evaluation.reading_metrics import is_right
from evaluation.samples import digest, half_of, reader_part_of
from evaluation.trust_library import development_library
from preflight_rag import Preflight
from preflight_rag.corg.agreement import same_answer
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.offline.answers import AnswerReader
from preflight_rag.offline.confidence import WEIGHTS, question_terms
from preflight_rag.state.context import Settings
from preflight_rag.state.values import Document
from preflight_rag.text.question_forms import form_of

RIGHT = 0.86
"""Least share of right claims, on questions that the model had not seen, at which a claim is made."""
EVIDENCE = 0.03
"""Least probability at which quotes are shown: below it were 1 % of the answerable questions and 46 % of the others."""
BIOASQ, OTHERS = 300, 900
"""Number of BioASQ's questions, and of other documents of the corpus in the mixed library."""
QUESTIONS_ASKED = 600
"""Questions asked of the mixed library, drawn with a fixed seed: half an hour on two quiet cores."""
REGULARISATION = 0.02
"""scikit-learn's C, chosen by the area under the curve on held-out folds of the same questions, and by how many claims
reach `RIGHT` there."""
FOLDS = 10
LATER = ("not_offered", "asked_already", "denied")
"""Features that can only veto a claim (`offline.confidence.VETOES`)."""


@dataclass(frozen=True)
class LibraryQuestion:
    """A question with the names of its answer, and whether the library contains the answer."""

    question: str
    names: tuple[str, ...]
    answerable: bool = True


@dataclass(frozen=True)
class CandidateAnswer:
    """An answer that the reader found to one question.

    Attributes:
        of: The number of its question.
        right: Whether it is one of the right answers.
        features: The result of `answer_features`, with `SUPPORTED`.
        claimable: Whether no rule forbids to claim it, whatever its probability.
    """

    of: int
    right: bool
    features: dict[str, float]
    claimable: bool = True


class MixedLibrary:
    """The mixed library's documents, by id, and the questions asked of it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.documents: dict[str, Document] = {}
        self.questions: list[LibraryQuestion] = []
        self.add_open_questions()
        self.add_articles()
        self.add_covid_articles()
        self.add_bioasq()
        random.Random(3).shuffle(self.questions)  # noqa: S311

    def add(self, name: str, title: str, text: str) -> None:
        """Add a document."""
        self.documents[name] = Document(id=name, title=title, text=text, source=name)

    def add_open_questions(self) -> None:
        """Add NQ-Open's questions over gold passages, of which every second one is left out."""
        for sample in open_dataset("nq_open_oracle", self.data, QUESTIONS).samples:
            if reader_part_of(sample.key) != "train":
                gone = left_out(sample.id, 2)
                if not gone:
                    self.add(sample.id, sample.passage.title, sample.passage.text)
                self.questions.append(LibraryQuestion(sample.question, sample.names, not gone))

    def add_articles(self) -> None:
        """Add XQuAD's paragraphs, joined to articles again, of which every fourth one is left out."""
        articles: dict[str, dict[str, str]] = {}
        for sample in open_dataset("xquad_en", self.data, QUESTIONS).samples:
            if reader_part_of(sample.key) != "train":
                articles.setdefault(sample.key, {})[sample.passage.id] = sample.passage.text
                self.questions.append(LibraryQuestion(sample.question, sample.names, not left_out(sample.key, 4)))
        for name, paragraphs in articles.items():
            if not left_out(name, 4):
                self.add(f"article {name}", name.replace("_", " "), "\n\n".join(paragraphs.values()))

    def add_covid_articles(self) -> None:
        """Add COVID-QA's articles of the reader's validation part, whole."""
        found = open_dataset("covidqa", self.data, QUESTIONS)
        wanted = {article.id for article in found.documents() if reader_part_of(article.id) == "validation"}
        for article in found.documents():
            if article.id in wanted:
                self.add(f"covidqa {article.id}", article.title, article.text)
        self.questions += [LibraryQuestion(s.question, s.names) for s in found.samples if s.documents <= wanted]

    def add_bioasq(self) -> None:
        """Add BioASQ's factoid questions of the development half; the documents of every fourth one are left out."""
        found = open_dataset("biomix-bioasq", self.data, QUESTIONS)
        samples = [s for s in found.samples if half_of(s.id) == "development" and s.kind == "short"][:BIOASQ]
        absent = {name for sample in samples[::4] for name in sample.documents}
        wanted = {name for sample in samples for name in sample.documents} - absent
        others = 0
        for document in found.documents():
            other = document.id not in absent | wanted and others < OTHERS
            others += other
            if other or document.id in wanted:
                self.add(document.id, document.title, document.text)
        self.questions += [LibraryQuestion(s.question, s.names, bool(i % 4)) for i, s in enumerate(samples)]


def left_out(name: str, of: int) -> bool:
    """Return whether a name is in the share of 1 / `of` that is left out, by the second byte of its SHA-256."""
    return digest(name)[1] % of == 0


def of_trust(data: Path) -> list[LibraryQuestion]:
    """Return the development questions of `eval trust` that passages, or no documents, answer."""
    found = trust.open_dataset(trust.NAME, data)
    kinds = {"fact", "number", "table", "comparison", *trust.SILENT}
    questions = []
    for asked in found.select("development"):
        if asked.kind in kinds and not asked.given and not asked.before:
            names = tuple(chain.from_iterable(asked.answers))
            questions.append(LibraryQuestion(asked.question, names, asked.answerable))
    return questions


def gather(app: Preflight, questions: Sequence[LibraryQuestion], first: int) -> Iterator[CandidateAnswer]:
    """Ask a library the questions, numbered from `first` on, and yield the reader's answers."""
    reader: Any = app.reader
    answers: AnswerReader = reader.drafts._answers
    settings = Settings(rewrite="off", rerank_deadline=600)
    for number, asked in enumerate(questions, first):
        if form_of(asked.question) == "verdict":
            continue
        sources = retrieve_passages(app.library, [asked.question], settings).sources()
        read, terms = answers.read(asked.question, sources), question_terms(asked.question, app.library, sources)
        judgement = answers.judgement(asked.question, read, terms)
        allowed = judgement.claimable()
        for place, (group, features) in enumerate(zip(judgement.groups, judgement.all_features(), strict=True)):
            named = any(same_answer(group.text, name) or is_right(group.text, [name]) for name in asked.names)
            yield CandidateAnswer(number, asked.answerable and named, features, place in allowed)


def logistic() -> Any:
    """Return an untrained model: standardised features and logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(C=REGULARISATION, max_iter=3000))


def fit(cases: Sequence[CandidateAnswer]) -> dict[str, Any]:
    """Return the model with its calibration and thresholds.

    Its figures on questions that it had not seen are printed.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict

    names = [name for name in cases[0].features if name not in LATER]
    values = np.array([[case.features[name] for name in names] for case in cases])
    truth, groups = np.array([case.right for case in cases], int), np.array([case.of for case in cases])
    folds = GroupKFold(min(FOLDS, len(set(groups))))
    unseen = cross_val_predict(logistic(), values, truth, groups=groups, cv=folds, method="predict_proba")[:, 1]
    odds = np.log(unseen / (1 - unseen))
    first = likeliest(groups, unseen)
    platt = LogisticRegression(C=1e6).fit(odds[first, None], truth[first])
    scale, shift = float(platt.coef_[0, 0]), float(platt.intercept_[0])
    calibrated = 1 / (1 + np.exp(-(scale * odds + shift)))
    allowed = np.flatnonzero([case.claimable for case in cases])
    claims = allowed[likeliest(groups[allowed], unseen[allowed])]
    sure, right = calibrated[claims], truth[claims]
    steps = [step / 100 for step in range(50, 96)]
    good = [step for step in steps if (sure >= step).any() and right[sure >= step].mean() >= RIGHT]
    answered = good[0] if good else steps[-1]
    sys.stdout.write(f"{len(first)} questions, {truth[first].mean():.1%} right first, {len(claims)} may be claimed\n")
    for step in sorted({answered, *steps[::5]}):
        made = right[sure >= step]
        share = f"{made.mean():.1%}" if len(made) else "none"
        mark = ", taken" if step == answered else ""
        sys.stdout.write(f"from {step:.2f} on {len(made)} claims, {share} right{mark}\n")
    model = logistic().fit(values, truth)
    weights = scale * model[-1].coef_[0] / model[0].scale_
    bias = scale * float(model[-1].intercept_[0]) + shift - float((weights * model[0].mean_).sum())
    return {
        "bias": round(bias, 4),
        "weights": {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)},
        "answered": answered,
        "evidence": EVIDENCE,
    }


def likeliest(groups: np.ndarray, probabilities: np.ndarray) -> list[int]:
    """Return the index of the likeliest answer to each question.

    Args:
        groups: The number of each answer's question, of shape (answers,).
        probabilities: The probability of each answer, of the same shape.
    """
    best: dict[int, int] = {}
    for place, number in enumerate(groups.tolist()):
        if number not in best or probabilities[place] > probabilities[best[number]]:
            best[number] = place
    return list(best.values())


def libraries(data: Path, cache: Path) -> Iterator[tuple[Preflight, list[LibraryQuestion]]]:
    """Yield both libraries, opened, with their questions."""
    made = MixedLibrary(data)
    records = cache / "mixed.jsonl"
    lines = (json.dumps({"id": d.id, "title": d.title, "text": d.text}) for d in made.documents.values())
    records.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with Preflight.open(cache / "mixed", "offline", create=True) as app:
        app.ingest([records])
        yield app, made.questions[:QUESTIONS_ASKED]
    with development_library(data, cache) as app:
        yield app, of_trust(data)


def main(arguments: Sequence[str] | None = None) -> None:
    """Gather the cases of both libraries, fit, and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m training.confidence", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds a folder of each data set")
    parser.add_argument("--library-cache", type=Path, required=True, help="where the libraries are kept")
    parser.add_argument("--limit", type=int, help="questions of each library; all by default")
    parser.add_argument(
        "--cases", type=Path, help="file in which the answers that were read are kept; if it exists, it is read"
    )
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where the weights are written")
    options = parser.parse_args(arguments)
    cases: list[CandidateAnswer] = []
    if options.cases and options.cases.is_file():
        cases = [CandidateAnswer(**case) for case in json.loads(options.cases.read_text(encoding="utf-8"))]
    else:
        options.library_cache.mkdir(parents=True, exist_ok=True)
        for first, (app, questions) in enumerate(libraries(options.data, options.library_cache)):
            cases += gather(app, questions[: options.limit], first * 1_000_000)
        if options.cases:
            options.cases.write_text(json.dumps([asdict(case) for case in cases]) + "\n", encoding="utf-8")
    options.out.write_text(json.dumps(fit(cases), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
