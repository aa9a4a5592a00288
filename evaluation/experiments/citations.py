"""Experiment `citations`: whether cited passages support an answer's statements, and quotes are verbatim.

A turn is run as in use. Each statement of its answer is checked against the passages that it cites: it is supported if
one of them contains it word for word, or says yes to it according to the extractive reader
(`models.reading.statements`, whatever model wrote the answer). A quote is verbatim if the stored passage contains it at
its place, character for character.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evaluation.bench import of_kinds, open_bench, turn_settings
from evaluation.experiments.reading import open_named
from evaluation.intervals import Estimate, ratio
from evaluation.reading_metrics import holds
from evaluation.report import Report, Table, figures, number
from evaluation.rows import complete
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.models.reading.statements import check
from preflight_rag.state.values import Answer, Passage
from preflight_rag.text.citations import MARK, claims_of_answer
from preflight_rag.text.sentences import sentence_spans

KINDS = ("yes/no", "claim", "short", "list", "long")
MEASURES = {
    "supported": ("supported", "judged"),
    "word for word": ("exact", "judged"),
    "contradicted": ("contradicted", "judged"),
    "quotes verbatim": ("verbatim", "quotes"),
    "gold documents among the cited": ("gold", "cited"),
    "sentences without a citation": ("uncited", "sentences"),
}
"""For each share, what is counted, and out of how many."""
Counts = dict[str, int]
"""Counts of an answer. judged: statements with an available cited passage; exact: of these, those that such a passage
contains word for word; supported: those, and those with a yes from the extractive reader; contradicted: those with a
clear no, and no yes; quotes: citations; verbatim: of these, those whose quote is in the passage at its place; cited:
distinct documents cited, if gold documents are known; gold: of these, gold ones; sentences: of the answer; uncited: of
these, those without a citation.

judged: statements with a cited passage that is there; exact: of these, those that such a passage holds word for word;
supported: those, and those to which the extractive reader finds a yes; contradicted: those to which it clearly finds a
no, and no yes; quotes: citations; verbatim: of these, those whose quote the passage holds at its place; cited: distinct
documents cited, where gold documents are known; gold: of these, gold ones; sentences: of the answer; uncited: of these,
those without a citation.
"""


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Answer each question by the router's choice and check the answer against its passages."""
    settings, answers = turn_settings(run), dict[str, "Answer"]()
    with open_bench(found, run, lambda _: of_kinds(found, run, KINDS)) as bench:
        retrieved = bench.retrieved()
        arm = bench.turns.arm("router", settings, seen=lambda question, answer: answers.update({question.id: answer}))
        rows = bench.ask([arm], lambda question: retrieved[question.id])
        reader = open_named(run.extractive_reader)
        kept = {row.sample for row in complete(rows)}
        counts_of: dict[str, Counts] = {}
        for done, row in enumerate(rows, 1):
            answer = answers.get(row.sample) if row.sample in kept else None
            if answer is not None and not answer.abstained:
                ids = {citation.n: citation.passage_id for citation in answer.citations if citation.passage_id}
                passages = dict(zip(ids, bench.searched.library.passages(list(ids.values())), strict=True))
                question = next(question for question in bench.questions if question.id == row.sample)
                counts_of[row.sample], statements = hold(question, answer, passages, reader)
                details = {**row.details, "statements": statements, "counts": counts_of[row.sample]}
                rows[done - 1] = replace(row, details=details)
            run.progress("statements", done, len(rows))
    groups = {"all": list(counts_of.values())}
    for name, counts in counts_of.items():
        groups.setdefault(answers[name].route.name.replace("_", "/"), []).append(counts)
    shares: dict[str, dict[str, Estimate]] = {}
    numbers: dict[str, Any] = {}
    for name, items in groups.items():
        shares[name] = {}
        for measure, (part, whole) in MEASURES.items():
            parts, wholes = [item[part] for item in items], [item[whole] for item in items]
            shares[name][measure] = ratio(parts, wholes, seed=run.seed)
        stated = sum(item["judged"] for item in items)
        numbers[name] = {"answers": len(items), "statements": stated, **figures(shares[name])}
    numbers["abstained or failed"] = silent = len(rows) - len(counts_of)
    about = (
        f"{len(bench.questions):,} questions ({run.part} part), model {bench.model}; {len(counts_of):,} answers, "
        f"{silent:,} abstentions and failures."
    )
    tables = (_table(shares, numbers),)
    return bench.report("citations", tables, rows, numbers, about=about, k=settings.k, extractive_reader=reader.name)


def hold(
    question: Sample, answer: Answer, passages: Mapping[int, Passage], reader: ExtractiveReader
) -> tuple[Counts, list[dict[str, Any]]]:
    """Return the counts of an answer checked against the passages that it cites, and the result for each statement.

    Args:
        question: The question.
        answer: The turn's answer.
        passages: The cited passages, as stored, by the answer's numbers.
        reader: The reader; one without verdicts counts only verbatim statements.
    """
    claims = claims_of_answer(answer.answer, answer.groups)
    stated = [claim for claim in claims if not passages.keys().isdisjoint(claim.citations)]
    verdicts = check(reader, answer.standalone_question, stated, passages)
    statements = []
    for place, claim in enumerate(stated):
        exact = any(holds(passages[n].text, [claim.text]) for n in claim.citations if n in passages)
        verdict = verdicts[place] if verdicts else None
        supported = exact or bool(verdict and verdict.supported)
        against = bool(verdict and verdict.contradicted) and not exact
        statements.append(
            {"text": claim.text, "citations": list(claim.citations), "exact": exact, "supported": supported,
             "contradicted": against, "score": verdict.score if verdict else None}
        )  # fmt: skip
    verbatim = sum(
        citation.verified and citation.n in passages
        and passages[citation.n].text[citation.start : citation.end] == citation.quote
        for citation in answer.citations
    )  # fmt: skip
    cited = {citation.document_id for citation in answer.citations} if question.documents else set()
    sentences = _sentences(answer.answer)
    counts = {key: sum(bool(row[key]) for row in statements) for key in ("exact", "supported", "contradicted")}
    return {
        "judged": len(statements),
        **counts,
        "quotes": len(answer.citations),
        "verbatim": verbatim,
        "cited": len(cited),
        "gold": len(cited & question.documents),
        "sentences": len(sentences),
        "uncited": sum(not MARK.search(sentence) for sentence in sentences),
    }, statements


def _sentences(text: str) -> list[str]:
    """Return the sentences of an answer, each with the citation marks after it."""
    spans = sentence_spans(text)
    ends = [start for start, _ in spans[1:]] + [len(text)]
    pieces = [text[start:end] for (start, _), end in zip(spans, ends, strict=True)]
    return [piece for piece in pieces if any(map(str.isalpha, MARK.sub("", piece)))]


def _table(shares: Mapping[str, Mapping[str, Estimate]], numbers: Mapping[str, Any]) -> Table:
    """Return the shares over all answers and by route."""
    lines = []
    for name, row in shares.items():
        counts = (str(numbers[name]["answers"]), str(numbers[name]["statements"]))
        lines.append((name, *counts, *(number(estimate, percent=True) for estimate in row.values())))
    note = (
        "Percent of all statements, quotes, documents or sentences of the answers, abstentions aside [95 %: "
        "bootstrap over answers]. Supported: word for word in a cited passage, or by the extractive reader's verdict; "
        "contradicted by that verdict."
    )
    return Table("Answers held to what they cite", ("route", "answers", "statements", *MEASURES), tuple(lines), note)
