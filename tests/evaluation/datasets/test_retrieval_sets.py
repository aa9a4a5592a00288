"""Adapters of published data sets, and what they say of files that are wrong."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.datasets import open_dataset
from evaluation.datasets.files import json_lines, judgements, trec_judgements
from evaluation.searching import library_folder
from preflight_rag.state.errors import UnreadableDocument, UsageError


def test_bioasq_is_read_from_gzipped_files(tmp_path: Path) -> None:
    folder = tmp_path / "bioasq"
    folder.mkdir()
    for name, record in {
        "corpus": {"_id": "16083", "title": "Only a title", "text": ""},
        "questions": {"id": "q", "question": "Why?"},
    }.items():
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(json.dumps(record).encode()))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t16083\t1\n", encoding="utf-8")
    collection = open_dataset("bioasq", tmp_path)
    (document,) = collection.documents()
    assert (document.id, document.text) == ("16083", "Only a title")
    assert document.source == "https://pubmed.ncbi.nlm.nih.gov/16083/"
    assert collection.select("all")[0].question == "Why?"


@pytest.mark.parametrize("published", [True, False])
def test_scifact_is_read_in_both_of_its_forms(
    tmp_path: Path, write_lines: Callable[[Path, list[object]], None], published: bool
) -> None:
    folder = tmp_path / "scifact"
    names = ("doc_id", "abstract") if published else ("_id", "sentences")
    write_lines(folder / "corpus.jsonl", [{names[0]: 7, "title": "T", names[1]: ["One. ", "Two."]}])
    claims = [{"id": 1, "claim": "C", "cited_doc_ids": [7]}, {"id": 2, "claim": "D", "cited_doc_ids": []}]
    if published:
        write_lines(folder / "claims_train.jsonl", claims[:1])
        write_lines(folder / "claims_dev.jsonl", claims[1:])
    else:
        write_lines(folder / "claims.jsonl", claims)
    collection = open_dataset("scifact", tmp_path)
    assert [document.text for document in collection.documents()] == ["One. Two."]
    assert [claim.id for claim in collection.samples] == ["1"]
    assert collection.relevance == {"1": {"7": 1}}


def test_a_folder_in_beirs_form_is_read_under_any_name(beir_data: Path) -> None:
    collection = open_dataset("small", beir_data)
    assert collection.relevant("q2") == {"venus"}
    assert [query.id for query in collection.samples] == ["q1", "q2", "q3", "q4"]


def test_the_name_of_the_data_folder_itself_serves(beir_data: Path) -> None:
    assert open_dataset(".", beir_data / "small").name == "small"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bioasq", r"no corpus.jsonl in .*MIRAGE"),
        ("scifact", r"no corpus.jsonl in .*allenai/scifact"),
        ("nothing", r"'nothing' is unknown.*bioasq or scifact.*beir"),
    ],
)
def test_a_missing_file_names_where_it_is_published(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_dataset(name, tmp_path)
    assert caught.match(message)
    assert caught.value.exit_code == 2


def test_without_a_data_folder_the_option_is_named() -> None:
    with pytest.raises(UsageError, match="--data DIR or PREFLIGHT_DATA"):
        open_dataset("bioasq", None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "queries.jsonl line 1 is not JSON"),
        ("[1]", r"line 1 holds '\[1\]', not an object"),
        ('{"text": "a"}', "line 1 has no '_id'. It has text"),
        ('{"_id": "q", "text": ["a"]}', r"line 1: text is \['a'\], not text"),
        ('{"_id": "q", "text": "a"}\n\n{"_id": "q", "text": "b"}', "line 3: the id 'q' stands twice"),
    ],
)
def test_a_bad_query_line_is_named(beir_data: Path, tmp_path: Path, line: str, message: str) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "corpus.jsonl").write_bytes((beir_data / "small" / "corpus.jsonl").read_bytes())
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n", encoding="utf-8")
    (folder / "queries.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(UnreadableDocument, match=message):
        open_dataset("set", tmp_path)


@pytest.mark.parametrize("line", ["q\td", "q\td\thigh", "q d 1"])
def test_a_bad_judgement_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text(f"query-id\tcorpus-id\tscore\n\n{line}\n", encoding="utf-8")
    with pytest.raises(UnreadableDocument, match=r"qrels.tsv line 3 .*Expected: query id"):
        judgements(path)


@pytest.mark.parametrize("content", [b"\x1f\x8b broken", b"no gzip at all", gzip.compress(b'{"a": 1}' * 99)[:-9]])
def test_a_damaged_file_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(UnreadableDocument, match=r"corpus.jsonl.gz cannot be read"):
        list(json_lines(path))


def test_nfcorpus_takes_trecs_judgements_of_all_its_parts(
    tmp_path: Path, write_lines: Callable[[Path, list[object]], None]
) -> None:
    folder = tmp_path / "nfcorpus"
    write_lines(folder / "docs.jsonl", [{"_id": "MED-1", "text": "statin myopathy"}])
    write_lines(folder / "queries.jsonl", [{"_id": "PLAIN-1", "title": "dogs"}, {"_id": "PLAIN-2", "title": "cats"}])
    (folder / "dev.3-2-1.qrel").write_text("PLAIN-1\t0\tMED-1\t3\n", encoding="utf-8")
    (folder / "test.3-2-1.qrel").write_text("PLAIN-2 0 MED-1 1\n", encoding="utf-8")
    collection = open_dataset("nfcorpus", tmp_path)
    assert collection.relevance == {"PLAIN-1": {"MED-1": 3}, "PLAIN-2": {"MED-1": 1}}
    assert [query.question for query in collection.samples] == ["dogs", "cats"]


def test_a_line_that_is_no_trec_judgement_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.qrel").write_text("q 0 d 1\n\nq d 1\n", encoding="utf-8")
    with pytest.raises(UnreadableDocument, match="line 3"):
        trec_judgements(tmp_path / "a.qrel")


def test_cranfields_codes_are_relevant_or_not_and_empty_documents_are_left_out(
    tmp_path: Path, write_lines: Callable[[Path, list[object]], None]
) -> None:
    folder = tmp_path / "cranfield"
    documents = [{"_id": "1", "title": "wing", "text": ""}, {"_id": "2", "title": "", "text": ""}]
    write_lines(folder / "docs.jsonl", documents)
    write_lines(folder / "queries.jsonl", [{"_id": "q", "text": "what of wings"}])
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tcode\nq\t1\t4\nq\t2\t-1\n", encoding="utf-8")
    collection = open_dataset("cranfield", tmp_path)
    assert collection.relevance == {"q": {"1": 1, "2": 0}}
    assert [document.text for document in collection.documents()] == ["wing"]


def test_medquad_asks_each_question_once_and_takes_all_its_answers(
    tmp_path: Path, write_lines: Callable[[Path, list[object]], None]
) -> None:
    pairs = [("a", "What is gout?", "Gout is ..."), ("b", "what is gout? ", "A disease."), ("c", "Who?", "You.")]
    rows = [{"_id": i, "focus": "Gout", "question": q, "answer": a, "url": "u"} for i, q, a in pairs]
    write_lines(tmp_path / "medquad" / "qa_pairs.jsonl", rows)
    collection = open_dataset("medquad", tmp_path)
    assert [query.question for query in collection.samples] == ["What is gout?", "Who?"]
    assert collection.relevant("a") == {"a", "b"}
    assert len(list(collection.documents())) == 3


def test_collections_of_one_mixed_corpus_share_its_library(
    tmp_path: Path, write_lines: Callable[[Path, list[object]], None]
) -> None:
    folder = tmp_path / "biomix"
    write_lines(folder / "corpus.jsonl", [{"_id": "pmid:1", "title": "", "text": "T", "origin": "bioasq_snippets"}])
    queries = [{"_id": f"{origin}:1", "text": "Q", "origin": origin} for origin in ("bioasq", "scifact")]
    write_lines(folder / "queries.jsonl", queries)
    (folder / "qrels.tsv").write_text("h\th\th\nbioasq:1\tpmid:1\t1\n", encoding="utf-8")
    first, second = (open_dataset(f"biomix-{origin}", tmp_path) for origin in ("bioasq", "scifact"))
    assert [query.id for query in first.samples] == ["bioasq:1"]
    assert library_folder(first, "e", tmp_path) == library_folder(second, "e", tmp_path)


def test_translated_questions_are_about_the_paragraph_of_the_original(data_dir: Path) -> None:
    """Fifty questions in five languages and in English, 26 English ones about documents in these languages."""
    found = open_dataset("xquad_en-languages", data_dir)
    by_label = Counter(sample.label for sample in found.samples)
    texts = {document.id: document.text for document in found.documents()}
    across = {f"{language} → en": 10 for language in ("de", "fr", "es", "zh", "ja")}
    assert by_label.total() == 126
    assert across.items() <= by_label.items()
    assert by_label["en → en"] == 50
    assert all(found.relevant(sample.id) <= texts.keys() for sample in found.samples)
    (momus,) = (sample for sample in found.samples if "literarische Kabarett" in sample.question)
    (paragraph,) = found.relevant(momus.id)
    assert "Momus" in texts[paragraph]
    assert momus.label == "de → en"
