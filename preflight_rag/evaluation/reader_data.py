"""The data sets that the reader is trained and measured on: open sets of questions put to passages.

How each falls into parts is told in `reader_examples`.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from preflight_rag.evaluation.long_documents import COVIDQA, EVIDENCE_INFERENCE, texts
from preflight_rag.evaluation.reader_examples import Example, Verdict, overlapping, spans_of, window
from preflight_rag.evaluation.records import find, json_lines
from preflight_rag.evaluation.samples import ReaderPart, Span, reader_part_of
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words

LABELS: dict[str, Verdict] = {"SUPPORT": "yes", "CONTRADICT": "no"}
"""SciFact's labels as verdicts."""
NQ = "github.com/nelson-liu/lost-in-the-middle"
XQUAD = "github.com/google-deepmind/xquad"
RAMDOCS = "github.com/HanNight/RAMDocs"
CLAPNQ = "github.com/primeqa/clapnq"
PUBMEDQA = "github.com/pubmedqa/pubmedqa"
SCIFACT = "github.com/allenai/scifact"
MEDQUAD = "github.com/abachaa/MedQuAD"
POISONEDRAG = "github.com/sleeepeer/PoisonedRAG"
CONFLICTQA = "github.com/OSU-NLP-Group/LLM-Knowledge-Conflict"


def nq(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """NQ-Open with gold passages: the passage, the annotated paragraph, and a hard negative by BM25."""
    from rank_bm25 import BM25Okapi

    entries = [entry for _, entry in json_lines(find(data / "nq_open_oracle", "nq-open-oracle.jsonl", origin=NQ))]
    mine = [entry for entry in entries if reader_part_of(entry["question"]) == part]
    pool = [(entry["ctxs"][0]["title"], entry["ctxs"][0]["text"]) for entry in mine]
    index = BM25Okapi([words(f"{title} {text}") for title, text in pool])
    for own, entry in zip(pool, mine, strict=True):
        question, answers = entry["question"], tuple(entry["answers"])
        gold = entry["nq_annotated_gold"]
        put = [own, (gold["title"], gold["chunked_long_answer"])]
        for title, text in dict.fromkeys(put if part == "train" else put[:1]):
            spans = spans_of(text, answers)
            if spans:
                yield Example(question, question, title, text, spans, True, True, group=f"nq {question}", gold=answers)
        scores = index.get_scores(words(question))
        near = (pool[i] for i in sorted(range(len(pool)), key=lambda i: -scores[i])[:8])
        hard = [item for item in near if item != put[0] and not spans_of(" ".join(item), answers)]
        if hard:
            title, text = rng.choice(hard[:4])
            yield Example(question, question, title, text, (), False, False, group=f"nq {question}", gold=answers)


def xquad(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """XQuAD's English paragraphs; the negative is another paragraph of the article."""
    path = find(data / "xquad_en", "xquad.en.json", origin=XQUAD)
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        title = article.get("title") or article["paragraphs"][0]["context"][:40]
        if reader_part_of(title) != part:
            continue
        paragraphs = [paragraph["context"] for paragraph in article["paragraphs"]]
        shown = title.replace("_", " ") if article.get("title") else ""
        for paragraph in article["paragraphs"]:
            for entry in paragraph["qas"]:
                answers = tuple(answer["text"] for answer in entry["answers"])
                spans = tuple(
                    (answer["answer_start"], answer["answer_start"] + len(answer["text"]))
                    for answer in entry["answers"]
                )
                group = f"xquad {entry['id']}"
                text = paragraph["context"]
                yield Example(title, entry["question"], shown, text, spans, True, True, group=group, gold=answers)
                others = [other for other in paragraphs if other != text and not spans_of(other, answers)]
                other = overlapping(entry["question"], others, rng)
                if other:
                    yield Example(title, entry["question"], shown, other, (), False, False, group=group, gold=answers)


def covidqa(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """COVID-QA: windows of the article with the answer, and without it (a likely one, by shared terms)."""
    documents = {
        document.id: document
        for document in texts(find(data / "covidqa", "documents.jsonl", origin=COVIDQA), "document_id")
        if reader_part_of(document.id) == part
    }
    sentences: dict[str, list[Span]] = {}
    for _, entry in json_lines(find(data / "covidqa", "questions.jsonl", origin=COVIDQA)):
        name = str(entry["document_id"])
        starts = [answer for answer in entry["answers"] if answer["answer_start"] is not None]
        if name not in documents or not starts:
            continue
        text = documents[name].text
        spans = sentences.setdefault(name, sentence_spans(text))
        answers = tuple(answer["text"] for answer in entry["answers"])
        at = (starts[0]["answer_start"], starts[0]["answer_start"] + len(starts[0]["text"]))
        begin, end = window(text, spans, at, rng)
        group, shown = f"covidqa {entry['id']}", documents[name].title
        span = ((at[0] - begin, at[1] - begin),)
        yield Example(name, entry["question"], shown, text[begin:end], span, True, True, group=group, gold=answers)
        windows = [text[slice(*window(text, spans, rng.choice(spans), rng))] for _ in range(24)]
        other = overlapping(entry["question"], [item for item in windows if not spans_of(item, answers)], rng)
        if other:
            yield Example(name, entry["question"], shown, other, (), False, False, group=group, gold=answers)


def ramdocs(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """RAMDocs: right and wrong documents answer, noise does not; what tells things apart is marked where it stands."""
    for _, entry in json_lines(find(data / "ramdocs", "RAMDocs_test.jsonl", origin=RAMDOCS)):
        question = entry["question"]
        if reader_part_of(question) != part:
            continue
        entities = dict(zip(entry["gold_answers"], entry["disambig_entity"], strict=False))
        for document in entry["documents"]:
            text, answers = document["text"], (document["answer"],)
            known = document["type"] != "noise"
            spans = spans_of(text, answers) if known else ()
            if known and not spans:
                continue
            entity = entities.get(document["answer"]) if document["type"] == "correct" else None
            yield Example(
                question, question, "", text, spans, known, known,
                descriptor=descriptor_spans(entity, question, text) if entity else None,
                group=f"ramdocs {question}", gold=answers if known else (),
            )  # fmt: skip


def descriptor_spans(entity: str, question: str, text: str) -> tuple[Span, ...]:
    """Where a text holds what tells an entity ("Broken Bow, Nebraska") from others, for a question with its name."""
    asked = frozenset(words(question))
    parts = [part.strip() for part in re.split(r"[(),]", entity) if frozenset(words(part)) - asked]
    for part in parts[::-1]:
        if spans := spans_of(text, [part], most=3):
            return spans
    telling = [token for part in parts for token in part.split() if frozenset(words(token)) - asked]
    return spans_of(text, telling, most=3)


def clapnq(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """ClapNQ: windows around a selected sentence, and passages that its annotators found no answer in."""
    for kind in ("answerable", "unanswerable"):
        for _, entry in json_lines(find(data / "clapnq", f"clapnq_dev_{kind}.jsonl", origin=CLAPNQ)):
            if reader_part_of(entry["input"]) != part:
                continue
            passage, known = entry["passages"][0], kind == "answerable"
            text = passage["text"]
            selected = [line for output in entry["output"] for line in output.get("selected_sentences") or ()]
            at = next(((i, i + len(line)) for line in selected if (i := text.find(line)) >= 0), None)
            if part == "train" and (known == (at is None)):
                continue
            spans = sentence_spans(text)
            around = at if at and known else rng.choice(spans)
            begin, end = window(text, spans, around, rng) if part == "train" else (0, len(text))
            yield Example(
                entry["input"], entry["input"], passage["title"], text[begin:end],
                None if known else (), known, group=f"clapnq {entry['input']}",
            )  # fmt: skip


def medquad(data: Path, part: ReaderPart, rng: random.Random, most: int = 2000) -> Iterator[Example]:
    """MedQuAD: a question with its answer, and with an answer to another question about the same subject."""
    rows = [row for _, row in json_lines(find(data / "medquad", "qa_pairs.jsonl", origin=MEDQUAD)) if row["answer"]]
    by_focus: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if reader_part_of(row["focus"]) == part:
            by_focus.setdefault(row["focus"], []).append(row)
    several = [rows for rows in by_focus.values() if len({row["qtype"] for row in rows}) > 1]
    for group in rng.sample(several, min(most, len(several))):
        row = rng.choice(group)
        others = [other for other in group if other["qtype"] != row["qtype"]]
        question, name = row["question"], f"medquad {row['_id']}"
        yield Example(
            row["focus"], question, row["focus"], _opening(row["answer"], rng),
            answerable=True, relevant=True, group=name,
        )  # fmt: skip
        text = _opening(rng.choice(others)["answer"], rng)
        yield Example(row["focus"], question, row["focus"], text, (), False, False, group=name)


def _opening(text: str, rng: random.Random) -> str:
    spans = sentence_spans(text)
    begin, end = window(text, spans, spans[0], rng)
    return " ".join(text[begin:end].split())


def pubmedqa(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """PubMedQA: the abstract without its conclusion, and the conclusion alone; "maybe" is neither."""
    path = find(data / "pubmedqa", "ori_pqal.json", origin=PUBMEDQA)
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    entries: dict[str, dict[str, Any]] = json.loads(content)
    for name, entry in entries.items():
        if reader_part_of(name) != part:
            continue
        decision = entry["final_decision"]
        verdict: Verdict = decision if decision in ("yes", "no") else "neither"
        body = " ".join(" ".join(entry["CONTEXTS"]).split()[-190:])
        for text in (body, entry["LONG_ANSWER"]):
            yield Example(name, entry["QUESTION"], "", text, relevant=True, verdict=verdict, group=f"pubmedqa {name}")


def scifact(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """SciFact: a claim with its evidence (supported: yes, contradicted: no) and with a cited abstract that has none."""
    corpus = {str(row["_id"]): row for _, row in json_lines(find(data / "scifact", "corpus.jsonl", origin=SCIFACT))}
    everything = sorted(corpus)
    for _, row in json_lines(find(data / "scifact", "claims.jsonl", origin=SCIFACT)):
        if reader_part_of(row["id"]) != part or row["split"] == "test":
            continue
        told = {str(evidence["doc_id"]): evidence for evidence in row["evidence"]}
        for name in map(str, row["cited_doc_ids"]):
            evidence, lines = told.get(name), corpus[name]["sentences"]
            middle = evidence["sentences"][0] if evidence else rng.randrange(len(lines))
            text = " ".join(line.strip() for line in lines[max(0, middle - 2) : middle + 3])
            verdict: Verdict = LABELS[evidence["label"]] if evidence else "neither"
            yield Example(
                row["id"], row["claim"], corpus[name]["title"], text, relevant=True, verdict=verdict,
                group=f"scifact {row['id']}",
            )  # fmt: skip
            if evidence:
                alone = " ".join(lines[i].strip() for i in evidence["sentences"])
                yield Example(row["id"], row["claim"], "", alone, verdict=verdict, group=f"scifact {row['id']}")
        other = corpus[rng.choice(everything)]
        text = " ".join(line.strip() for line in other["sentences"][:4])
        yield Example(
            row["id"], row["claim"], other["title"], text, (), False, False, "neither", group=f"scifact {row['id']}"
        )


def evidence_inference(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """Evidence Inference: prompts as yes/no questions, put to the marked evidence within its surroundings."""
    folder = data / "evidence_inference"
    articles = texts(find(folder, "articles_txt.jsonl", origin=EVIDENCE_INFERENCE), "pmcid")
    prompts: dict[str, list[dict[str, Any]]] = {}
    for _, row in json_lines(find(folder, "prompts_annotated_v2.jsonl", origin=EVIDENCE_INFERENCE)):
        if reader_part_of(row["pmcid"]) == part:
            prompts.setdefault(row["pmcid"], []).append(row)
    for article in articles:
        spans = sentence_spans(article.text) if article.id in prompts else []
        for row in prompts.get(article.id, []):
            yield from _prompt(row, article, spans, rng)


def _prompt(row: dict[str, Any], article: Document, spans: list[Span], rng: random.Random) -> Iterator[Example]:
    told = next((item for item in row["annotations"] if item["valid_label"] and item["evidence"].strip()), None)
    if told is None or not 20 < len(told["evidence"]) < 900:
        return
    change = told["label_code"]
    if change == 0 and rng.random() < 0.5:
        form, verdict = _alike_or_not(rng)
        question = form.format(i=row["intervention"], o=row["outcome"], c=row["comparator"])
    else:
        up = rng.random() < 0.5 if change == 0 else (change == 1) == (rng.random() < 0.7)
        verb = rng.choice(("increase", "raise", "improve") if up else ("reduce", "decrease", "lower"))
        form = rng.choice(("Does {i} {v} {o} compared with {c}?", "Did {i} {v} {o} more than {c}?", "{i} {v}s {o}."))
        question = form.format(i=row["intervention"], v=verb, o=row["outcome"], c=row["comparator"])
        verdict = "yes" if change == (1 if up else -1) else "no"
    begin, end = window(article.text, spans, (told["start"], told["end"]), rng)
    text = " ".join(article.text[begin:end].split())
    group = f"evidence_inference {row['prompt_id']}"
    yield Example(row["pmcid"], question, "", text, None, True, True, verdict, group=group)
    if rng.random() < 0.4:
        begin, end = window(article.text, spans, rng.choice(spans), rng)
        if told["end"] < begin or end < told["start"]:
            other = " ".join(article.text[begin:end].split())
            yield Example(row["pmcid"], question, "", other, (), False, False, "neither", group=group)


def _alike_or_not(rng: random.Random) -> tuple[str, Verdict]:
    """A question about two treatments that do not differ."""
    asked: list[tuple[str, Verdict]] = [
        ("Is there a difference in {o} between {i} and {c}?", "no"),
        ("Are {i} and {c} similar in {o}?", "yes"),
        ("Is {i} as good as {c} for {o}?", "yes"),
    ]
    return rng.choice(asked)


def conflictqa(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """ConflictQA's passages for and against the statement of a StrategyQA question."""
    for model in ("gpt4", "chatgpt"):
        name = f"conflictQA-strategyQA-{model}.jsonl"
        for _, row in json_lines(find(data / "conflictqa", name, origin=CONFLICTQA)):
            if reader_part_of(row["question"]) != part or (part == "train" and rng.random() < 0.4):
                continue
            known = row["memory_answer"] != row["counter_answer"]
            negative = bool(re.search(r"\b(?:not|no|never|cannot)\b|n['’]t\b", row["memory_answer"]))
            counter = bool(re.search(r"\b(?:not|no|never|cannot)\b|n['’]t\b", row["counter_answer"]))
            if not known or negative == counter:
                continue
            pairs = (("parametric_memory_aligned_evidence", negative), ("counter_memory_aligned_evidence", counter))
            for key, against in pairs:
                if row.get(key):
                    yield Example(
                        row["question"], row["question"], "", " ".join(row[key].split()[:190]),
                        relevant=True, verdict="no" if against else "yes", group=f"conflictqa {row['question']}",
                    )  # fmt: skip


def poisonedrag(data: Path, part: ReaderPart, rng: random.Random) -> Iterator[Example]:
    """PoisonedRAG: passages written to give a wrong answer; to a reader they answer like any other.

    Its questions of MS MARCO are left out: that set is for non-commercial use.
    """
    for _, row in json_lines(find(data / "poisonedrag", "adv_targeted.jsonl", origin=POISONEDRAG)):
        if reader_part_of(row["question"]) != part or row["source"] == "msmarco":
            continue
        answers = (row["incorrect_answer"],)
        group = f"poisonedrag {row['question']}"
        for text in row["adv_texts"]:
            spans = spans_of(text, answers)
            if spans:
                yield Example(row["question"], row["question"], "", text, spans, True, True, group=group, gold=answers)


class DataSet(NamedTuple):
    """How a data set is read, and what it is.

    Attributes:
        read: The examples of a part, from the folder that holds its folder.
        source: Where it is published.
        licence: As stated there.
        title: Its public name.
    """

    read: Callable[[Path, ReaderPart, random.Random], Iterator[Example]]
    source: str
    licence: str
    title: str


SETS = {
    "nq_open_oracle": DataSet(nq, NQ, "MIT; Wikipedia's text CC BY-SA", "NQ-Open with gold passages"),
    "xquad_en": DataSet(xquad, XQUAD, "CC BY-SA 4.0", "XQuAD, English"),
    "covidqa": DataSet(covidqa, COVIDQA, "Apache-2.0; articles CORD-19 and PMC", "COVID-QA"),
    "ramdocs": DataSet(ramdocs, RAMDOCS, "MIT", "RAMDocs"),
    "clapnq": DataSet(clapnq, CLAPNQ, "Apache-2.0; Wikipedia's text CC BY-SA", "ClapNQ"),
    "medquad": DataSet(medquad, MEDQUAD, "CC BY 4.0", "MedQuAD"),
    "pubmedqa": DataSet(pubmedqa, PUBMEDQA, "MIT; abstracts PubMed", "PubMedQA"),
    "scifact": DataSet(scifact, SCIFACT, "claims CC BY 4.0, abstracts ODC-By 1.0", "SciFact"),
    "evidence_inference": DataSet(
        evidence_inference,
        EVIDENCE_INFERENCE,
        "MIT; articles PMC open access, each with its own",
        "Evidence Inference",
    ),
    "conflictqa": DataSet(conflictqa, CONFLICTQA, "Apache-2.0", "ConflictQA"),
    "poisonedrag": DataSet(poisonedrag, POISONEDRAG, "MIT", "PoisonedRAG, passages that give wrong answers"),
}
"""By the name of the folder."""


def examples(name: str, data: Path, part: ReaderPart, seed: int = 0) -> list[Example]:
    """The examples of a data set's part, the same for the same seed.

    Raises:
        UsageError: A file is missing; the message says where it is published.
    """
    return list(SETS[name].read(data, part, random.Random(f"{name} {part} {seed}")))  # noqa: S311
