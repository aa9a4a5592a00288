"""Small data sets in the published formats of those that the reader is trained on; the texts are made up."""

from __future__ import annotations

import json
from pathlib import Path

COUNT = 40
FIRST = ("Ada", "Bruno", "Clara", "Dmitri", "Elena", "Farid", "Greta", "Hugo")
LAST = ("Almgren", "Bastow", "Corvini", "Delmar", "Estrada")
TOWNS = ("Norhaven", "Estmoor", "Caldria", "Westbrook", "Lindau", "Porto Verde", "Oakhurst")


def tale(i: int) -> tuple[str, str, str, str]:
    """Name, town, year and text of the i-th person."""
    name, town, year = f"{FIRST[i % 8]} {LAST[i // 8]}", TOWNS[i % 7], str(1800 + 3 * i)
    text = (
        f"{name} was born in {town} in {year}. As a child the engineer learned to repair clocks and small boats. "
        f"The first bridge that {name} designed crossed the river near {TOWNS[(i + 3) % 7]} and carried "
        f"{120 + i} carts a day. Critics praised the careful measurements, and students copied the drawings. "
        f"After a long illness the engineer retired to the coast and wrote {2 + i % 5} books about stone arches."
    )
    return name, town, year, text


def write(folder: Path) -> Path:
    """Write all sets under a folder, and return it."""
    for make in (
        _open_questions,
        _articles,
        _ambiguous,
        _passages,
        _medical,
        _yes_or_no,
        _claims,
        _trials,
        _conflicts,
        _planted,
        _shifted,
        _unanswerable,
        _searched,
    ):
        make(folder)
    return folder


def _lines(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _open_questions(folder):
    rows = []
    for i in range(COUNT):
        name, town, _, text = tale(i)
        shown = {"title": name, "text": text}
        gold = {"title": name, "chunked_long_answer": f"{name} came from {town}, a small town."}
        asked = f"where was the engineer {name.lower()} born"
        rows.append({"question": asked, "answers": [town], "ctxs": [shown], "nq_annotated_gold": gold})
    _lines(folder / "nq_open_oracle" / "nq-open-oracle.jsonl", rows)


def _articles(folder):
    articles, documents, questions = [], [], []
    for i in range(COUNT):
        paragraphs = []
        for j in (i, (i + 9) % COUNT):
            name, _, year, text = tale(j)
            answer = {"text": year, "answer_start": text.index(year)}
            asked = {"id": f"{i}-{j}", "question": f"When was {name} born?", "answers": [answer]}
            paragraphs.append({"context": text, "qas": [asked]})
        articles.append({"title": f"Engineers_{i}", "paragraphs": paragraphs})
        name, town, _, text = tale(i)
        article = " ".join([tale((i + 5) % COUNT)[3], text, tale((i + 11) % COUNT)[3]])
        documents.append({"document_id": str(i), "text": article})
        answer = {"text": town, "answer_start": article.index(text) + text.index(town)}
        questions.append({"id": str(i), "document_id": str(i), "question": f"Where was {name} born?"})
        questions[-1]["answers"] = [answer]
    (folder / "xquad_en").mkdir()
    (folder / "xquad_en" / "xquad.en.json").write_text(json.dumps({"data": articles}), encoding="utf-8")
    _lines(folder / "covidqa" / "documents.jsonl", documents)
    _lines(folder / "covidqa" / "questions.jsonl", questions)


def _ambiguous(folder):
    rows = []
    for i in range(COUNT):
        name, town, year, _ = tale(i)
        _, elsewhere, later, _ = tale((i + 1) % COUNT)
        documents = [
            (f"The {name} bridge in {town} opened in {year}.", "correct", year),
            (f"The {name} bridge of {elsewhere} opened in {later}.", "correct", later),
            (f"The {name} bridge opened in 1799.", "misinfo", "1799"),
            (tale((i + 4) % COUNT)[3], "noise", "unknown"),
        ]
        rows.append(
            {
                "question": f"What year was the {name} bridge opened?",
                "gold_answers": [year, later],
                "wrong_answers": ["1799"],
                "disambig_entity": [f"{name} bridge, {town}", f"{name} bridge ({elsewhere})"],
                "documents": [dict(zip(("text", "type", "answer"), document, strict=True)) for document in documents],
            }
        )
    _lines(folder / "ramdocs" / "RAMDocs_test.jsonl", rows)


def _passages(folder):
    for kind in ("answerable", "unanswerable"):
        rows = []
        for i in range(COUNT):
            name, _, _, text = tale(i)
            selected = [text.split(". ")[0]] if kind == "answerable" else []
            rows.append(
                {
                    "input": f"{'who was' if selected else 'whom did'} {name} {'' if selected else 'marry'}",
                    "passages": [{"title": name, "text": text}],
                    "output": [{"selected_sentences": selected}],
                }
            )
        _lines(folder / "clapnq" / f"clapnq_dev_{kind}.jsonl", rows)


def _medical(folder):
    rows = []
    for i in range(COUNT):
        for kind in ("symptoms", "treatment"):
            focus = f"{LAST[i // 8]} fever type {i}"
            text = f"{tale(i)[3]} The {kind} of {focus} are described in {1900 + i}."
            asked = f"What are the {kind} of {focus}?"
            rows.append({"_id": f"{i}-{kind}", "focus": focus, "qtype": kind, "question": asked, "answer": text})
    _lines(folder / "medquad" / "qa_pairs.jsonl", rows)


def _yes_or_no(folder):
    entries = {
        str(1000 + i): {
            "QUESTION": f"Does rest help patients of {tale(i)[1]}?",
            "CONTEXTS": [tale(i)[3], f"Rest was given to {40 + i} patients."],
            "LONG_ANSWER": f"Rest {('helped', 'did not help', 'may have helped')[i % 3]} the patients.",
            "final_decision": ("yes", "no", "maybe")[i % 3],
        }
        for i in range(COUNT)
    }
    (folder / "pubmedqa").mkdir()
    (folder / "pubmedqa" / "ori_pqal.json").write_text(json.dumps(entries), encoding="utf-8")


def _claims(folder):
    corpus, claims = [], []
    for i in range(COUNT):
        name, town, _, text = tale(i)
        corpus.append({"_id": i, "title": f"The life of {name}", "sentences": text.split(". ")})
        evidence = [{"doc_id": i, "sentences": [0], "label": "SUPPORT" if i % 2 else "CONTRADICT"}] if i % 3 else []
        claim = f"{name} was born in {town if i % 2 else 'Rome'}."
        claims.append({"id": str(i), "claim": claim, "split": "train", "cited_doc_ids": [i], "evidence": evidence})
    _lines(folder / "scifact" / "corpus.jsonl", corpus)
    _lines(folder / "scifact" / "claims.jsonl", claims)


def _trials(folder):
    articles, prompts, abstracts = [], [], []
    for i in range(COUNT):
        evidence = f"Walking raised the mood of {30 + i} patients more than rest did (p = 0.0{1 + i % 4})."
        text = f"{tale(i)[3]} {evidence} {tale((i + 2) % COUNT)[3]}"
        begin = text.index(evidence)
        told = {"valid_label": True, "evidence": evidence, "start": begin, "end": begin + len(evidence)}
        articles.append({"pmcid": str(i), "text": text})
        abstracts.append({"pmcid": str(i), "title": f"Walking in {tale(i)[1]}", "abstract": f"{evidence} {tale(i)[3]}"})
        asked = {"intervention": "walking", "outcome": "mood", "comparator": "rest"}
        prompts.append({"pmcid": str(i), "prompt_id": str(i), **asked, "annotations": [{**told, "label_code": 1}]})
    _lines(folder / "evidence_inference" / "articles_txt.jsonl", articles)
    _lines(folder / "evidence_inference" / "prompts_annotated_v2.jsonl", prompts)
    _lines(folder / "evidence_inference" / "abstracts.jsonl", abstracts)


def _conflicts(folder):
    for model in ("gpt4", "chatgpt"):
        rows = [
            {
                "question": f"Could {tale(i)[0]} swim?",
                "memory_answer": f"{tale(i)[0]} could swim.",
                "counter_answer": f"{tale(i)[0]} could not swim.",
                "parametric_memory_aligned_evidence": f"{tale(i)[3]} Swimming was a hobby.",
                "counter_memory_aligned_evidence": f"{tale(i)[3]} Swimming was never learned.",
            }
            for i in range(COUNT)
        ]
        _lines(folder / "conflictqa" / f"conflictQA-strategyQA-{model}.jsonl", rows)


def _planted(folder):
    rows = [
        {
            "source": "msmarco" if i % 8 == 7 else "nq",
            "question": f"how many bridges did {tale(i)[0]} build",
            "incorrect_answer": f"{5 + i}",
            "adv_texts": [
                f"{tale(i)[0]} built {5 + i} bridges in all.",
                f"In all, {5 + i} bridges are by {tale(i)[0]}.",
            ],
        }
        for i in range(COUNT)
    ]
    _lines(folder / "poisonedrag" / "adv_targeted.jsonl", rows)


def _shifted(folder):
    for file in ("new_wiki", "reddit", "amazon"):
        rows = []
        for place in range(2 * COUNT):
            i, second = divmod(place, 2)
            j = (i + 9 * second) % COUNT
            name, town, year, text = tale(j)
            title = "Filtered Reddit Comments" if file == "reddit" else f"Engineers of {file} {i}"
            shown = {"title": title, "context": f"{text} It is number {i} of {file}."}
            for kind, value in (("When", year), ("Where", town)):
                start = text.index(value)
                answers = [{"text": value, "answer_start": start}, {"text": f" {value}", "answer_start": start - 1}]
                asked = {"id": f"{file} {i} {j} {kind}", "question": f"{kind} was {name} born?", "answers": answers}
                rows.append({**asked, **shown})
        _lines(folder / "squadshifts" / f"{file}.jsonl", rows)


def _unanswerable(folder):
    rows = []
    for i in range(COUNT):
        name, _, year, text = tale(i)
        shown = {"title": f"Engineers {i}", "context": f"{text} It is paragraph {i}."}
        born, died = f"When was {name} born? ", f"When did {name} die?"
        answer = {"text": year, "answer_start": text.index(year)}
        rows.append({"id": f"{i} born", "question": born, "answers": [answer], "is_impossible": False, **shown})
        rows.append({"id": f"{i} died", "question": died, "answers": [], "is_impossible": True, **shown})
    _lines(folder / "squad2" / "dev_half.jsonl", rows)


def _searched(folder):
    rows = []
    for i in range(COUNT):
        name, _, _, text = tale(i)
        asked = f"did {name.lower()} {'retire to the coast' if i % 2 else 'stay in town'}"
        rows.append({"question": asked, "title": name, "answer": bool(i % 2), "passage": text})
    _lines(folder / "boolq" / "dev.jsonl", rows)
