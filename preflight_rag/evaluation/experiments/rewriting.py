"""Experiment `rewriting`: spelling on questions as they are and with planted slips, and what the ladder finds."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.intervals import Estimate, bootstrap, mean, mean_difference, wilson
from preflight_rag.evaluation.metrics import by_document, measure_rankings
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.evaluation.searching import collection_library, inputs, search_all
from preflight_rag.library.query.ladder import ENOUGH, search_until_enough
from preflight_rag.library.query.spelling import Speller, is_english
from preflight_rag.library.search.fusion import RRF_K, reciprocal_rank_fusion
from preflight_rag.state.errors import UsageError
from preflight_rag.text.concepts import rewrite_by_rules

if TYPE_CHECKING:
    from preflight_rag.library.library import Library
    from preflight_rag.library.search.hybrid import Found

DEPTH = 100
LONG = 6
WEIGHTS = (0.25, 0.5, 1.0)
SLIPS = ("swapped", "missing", "doubled", "vowel")
MEASURE = "nDCG@10"
_WORD = re.compile(r"(?<![\w-])[a-z]{6,}(?![\w-])")


def run(collection: DataSet, run: Run) -> Report:
    """Correct and climb for each query of a part."""
    queries = collection.select(run.part, run.limit)
    with collection_library(collection, run) as library:
        if library.vocabulary is None:
            library.rebuild()
        searched = list(search_all(library, queries, run.progress, name=collection.name, k=DEPTH, candidates=DEPTH))
        asked = [query for query, _ in searched]
        spelling, rows, counts = _spelling(library, asked, run)
        ladder, quality = _ladder(library, collection, searched, run.seed)
        given = inputs(collection, library, k=DEPTH, rrf_k=RRF_K, enough=ENOUGH)
    return Report(
        experiment="rewriting",
        dataset=collection.title,
        about=f"{len(queries):,} questions ({run.part} part), {given['library']['documents']:,} documents.",
        tables=(spelling, ladder),
        rows=tuple(rows),
        figures={"spelling": counts, "ladder": quality},
        inputs=given,
    )


def planted(text: str, speller: Speller, rng: random.Random) -> tuple[str, str, str] | None:
    """A question with one slip in it, the word and the slip; None where no word of the library can hold one."""
    words = [match for match in _WORD.finditer(text) if not speller.vocabulary.unknown([match[0]])]
    rng.shuffle(words)
    for match in words:
        typed = slip(match[0], rng.choice(SLIPS), rng)
        if speller.vocabulary.unknown([typed]) and not is_english(typed):
            return f"{text[: match.start()]}{typed}{text[match.end() :]}", match[0], typed
    return None


def slip(word: str, kind: str, rng: random.Random) -> str:
    """A word with a slip of a kind (one of `SLIPS`) behind its first letter."""
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


def _spelling(
    library: Library, queries: Sequence[Sample], run: Run
) -> tuple[Table, list[dict[str, Any]], dict[str, Any]]:
    """What happens to questions as they are, and to each with one planted slip."""
    if library.vocabulary is None:
        raise UsageError("the library has no vocabulary", help="Run: preflight library rebuild")
    speller, rng = Speller(library.vocabulary), random.Random(run.seed)  # noqa: S311
    rows, outcomes = [], Counter[str]()
    for done, query in enumerate(queries, 1):
        row: dict[str, Any] = {"id": query.id, "question": query.question}
        row["changed"] = [list(pair) for pair in speller.correct(query.question).corrections]
        outcomes["changed" if row["changed"] else "as it was"] += 1
        if found := planted(query.question, speller, rng):
            text, word, typed = found
            meant = dict(speller.correct(text).corrections).get(typed, typed)
            row |= {"planted": typed, "word": word, "outcome": _outcome(word, typed, meant)}
            outcomes[row["outcome"]] += 1
        rows.append(row)
        run.progress("spelling", done, len(queries))
    trials = sum(outcomes[name] for name in ("restored", "left", "another word"))
    shares: dict[str, Estimate] = {"changed as written": wilson(outcomes["changed"], len(queries))}
    shares |= {name: wilson(outcomes[name], trials) for name in ("restored", "left", "another word")}
    cells = tuple((name, number(share, percent=True)) for name, share in shares.items())
    note = (
        "Share of questions in % [95 % interval]. First row: questions as their authors wrote them in which the rules "
        f"changed something, real slips included. Other rows: {trials} questions with one slip each ("
        f"{', '.join(SLIPS)}) planted in a lower-case word of {LONG} letters or more that the library holds."
    )
    return Table("Spelling by rules", ("outcome", "questions"), cells, note), rows, figures(shares)


def _outcome(word: str, typed: str, meant: str) -> str:
    return "restored" if meant == word else "left" if meant == typed else "another word"


def _ladder(
    library: Library, collection: DataSet, searched: Sequence[tuple[Sample, Found]], seed: int
) -> tuple[Table, dict[str, Any]]:
    """The ladder's documents alone, and as a third ranking beside the dense and the BM25 one."""
    rankings: dict[str, dict[str, list[str]]] = {}
    rungs = 0
    for query, found in searched:
        tried = search_until_enough(
            rewrite_by_rules(query.question).expressions, lambda text: (*library.match(text, DEPTH), ""), enough=ENOUGH
        )
        rungs += len(tried.rungs)
        both, third = [by_document(found.dense), by_document(found.lexical)], list(tried.ids)
        rankings.setdefault("ladder alone", {})[query.id] = third
        for weight in (0.0, *WEIGHTS):
            fused = reciprocal_rank_fusion([*both, third], k=RRF_K, weights=[1.0, 1.0, weight])
            name = f"fused, ladder × {weight:g}" if weight else "fused"
            rankings.setdefault(name, {})[query.id] = [item for item, score in fused if score]
    values = {
        name: list(measure_rankings(collection.relevance, found)[MEASURE].values()) for name, found in rankings.items()
    }
    estimates = {name: {MEASURE: bootstrap(mean, value, seed=seed)} for name, value in values.items()}
    for name, value in values.items():
        if name != "fused":
            estimates[name]["difference"] = bootstrap(mean_difference, value, values["fused"], seed=seed)
    rows = tuple(
        (name, number(found[MEASURE]), number(found["difference"], signed=True) if "difference" in found else "–")
        for name, found in estimates.items()
    )
    note = (
        f"Mean over questions [95 % bootstrap interval, differences to fused paired]. Documents, reciprocal rank "
        f"fusion; {rungs / len(searched):.1f} rungs tried a question until {ENOUGH} documents were found."
    )
    table = Table("The ladder in the library", ("ranking", MEASURE, "difference"), rows, note)
    return table, {name: figures(found) for name, found in estimates.items()}
