"""Experiment `rewriting`: spelling correction of unchanged questions and of planted slips, and the ladder's results."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from evaluation.compare import compare
from evaluation.metrics import by_document, ranking_rows
from evaluation.report import Report
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searching import collection_library, inputs, search_all
from preflight_rag.library.library import Library
from preflight_rag.library.search.fusion import RRF_K, reciprocal_rank_fusion
from preflight_rag.library.search.hybrid import Rankings
from preflight_rag.library.search.spelling import Speller, is_english
from preflight_rag.pubmed.ladder import ENOUGH, search_until_enough
from preflight_rag.text.concepts import rewrite_by_rules

DEPTH = 100
WEIGHTS = (0.0, 0.25, 0.5, 1.0)
"""Weights of the ladder beside the dense and the BM25 ranking."""
SLIPS = ("swapped", "missing", "doubled", "vowel")
OUTCOMES = ("restored", "left", "another word")
_WORD = re.compile(r"(?<![\w-])[a-z]{6,}(?![\w-])")


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Correct each query of a part, and search for it down the ladder."""
    samples = found.select(run.part, run.limit)
    with collection_library(found, run) as library:
        if library.vocabulary is None:
            library.rebuild()
        searched = list(search_all(library, samples, run.progress, name=found.name, k=DEPTH, candidates=DEPTH))
        spelled = list(_spelled(library, [sample for sample, _ in searched], run))
        rankings, rungs = _rankings(library, searched)
        given = inputs(found, library, k=DEPTH, rrf_k=RRF_K, enough=ENOUGH)
    ranked = ranking_rows(found.relevance, rankings, {"nDCG@10": "nDCG@10"})
    spelling = compare(spelled, by="arm", pairs=[], seed=run.seed)
    ladder = compare(ranked, by="measure", baseline="fused", seed=run.seed, wilson=False)
    trials = sum(row.condition == OUTCOMES[0] for row in spelled)
    note = (
        "Share of questions in % [95 % interval]. First row: questions as their authors wrote them in which the rules "
        f"changed something, real slips included. Other rows: {trials} questions with one slip each "
        f"({', '.join(SLIPS)}) planted in a lower-case word of 6 letters or more that the library holds."
    )
    ladder_note = (
        "Mean over questions [95 % bootstrap interval, differences to fused paired]. Documents, reciprocal rank "
        f"fusion; {rungs / len(searched):.1f} rungs tried a question until {ENOUGH} documents were found."
    )
    return Report(
        experiment="rewriting",
        dataset=found.title,
        about=f"{len(samples):,} questions ({run.part} part), {given['library']['documents']:,} documents.",
        tables=(
            spelling.means("Spelling by rules", note, head="outcome", intervals=""),
            ladder.means(
                "The ladder in the library", ladder_note, head="ranking", percent=False, intervals="", differences=True
            ),
        ),
        rows=(*spelled, *ranked),
        figures={"spelling": spelling.figures, "ladder": ladder.figures},
        inputs=given,
    )


def planted(text: str, speller: Speller, rng: random.Random) -> tuple[str, str, str] | None:
    """Return a question with one slip in it, the word and the slip; None if no word of the library can have one."""
    words = [match for match in _WORD.finditer(text) if not speller.vocabulary.unknown([match[0]])]
    rng.shuffle(words)
    for match in words:
        typed = slip(match[0], rng.choice(SLIPS), rng)
        if speller.vocabulary.unknown([typed]) and not is_english(typed):
            return f"{text[: match.start()]}{typed}{text[match.end() :]}", match[0], typed
    return None


def slip(word: str, kind: str, rng: random.Random) -> str:
    """Return a word with a slip of a kind (one of `SLIPS`) after its first letter."""
    at = rng.randrange(1, len(word) - 1)
    if kind == "swapped":
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == "missing":
        return word[:at] + word[at + 1 :]
    vowels = [i for i in range(1, len(word)) if word[i] in "aeiou"]
    if kind == "vowel" and vowels:
        at = rng.choice(vowels)
        return word[:at] + rng.choice("aeiou".replace(word[at], "")) + word[at + 1 :]
    return word[:at] + word[at] + word[at:]


def _spelled(library: Library, samples: Sequence[Sample], run: ExperimentRun) -> Iterator[ScoreRow]:
    """Yield whether an unchanged question was altered, and the outcome for one planted slip."""
    vocabulary = library.vocabulary
    assert vocabulary is not None  # noqa: S101  # rebuilt where there was none
    speller, rng = Speller(vocabulary), random.Random(run.seed)  # noqa: S311
    for sample in run.each(samples, "spelling"):
        changed = [list(pair) for pair in speller.correct(sample.question).corrections]
        details = {"question": sample.question, "changed": changed}
        yield ScoreRow(sample.id, "changed as written", "questions", float(bool(changed)), details=details)
        if found := planted(sample.question, speller, rng):
            text, word, typed = found
            meant = dict(speller.correct(text).corrections).get(typed, typed)
            outcome = "restored" if meant == word else "left" if meant == typed else "another word"
            slip_made = {"planted": typed, "word": word}
            yield from (ScoreRow(sample.id, o, "questions", float(o == outcome), details=slip_made) for o in OUTCOMES)


def _rankings(
    library: Library, searched: Sequence[tuple[Sample, Rankings]]
) -> tuple[dict[str, dict[str, list[str]]], int]:
    """Return the ladder's documents alone and as a third ranking beside dense and BM25, and the number of rungs."""
    rankings: dict[str, dict[str, list[str]]] = {}
    rungs = 0
    for sample, found in searched:
        tried = search_until_enough(
            rewrite_by_rules(sample.question, frequency=lambda text: library.match(text, 1)[1]).expressions,
            lambda text: (*library.match(text, DEPTH), ""),
            enough=ENOUGH,
        )
        rungs += len(tried.rungs)
        both, third = [by_document(found.dense), by_document(found.lexical)], list(tried.ids)
        rankings.setdefault("ladder alone", {})[sample.id] = third
        for weight in WEIGHTS:
            fused = reciprocal_rank_fusion([*both, third], k=RRF_K, weights=[1.0, 1.0, weight])
            name = f"fused, ladder × {weight:g}" if weight else "fused"
            rankings.setdefault(name, {})[sample.id] = [item for item, score in fused if score]
    return rankings, rungs
