"""The experiments `cpqa`, `cpqa-sources` and `cpqa-splitters`: their questions, parts, arms and measures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from mesh_sample import xml
from paper_files import passages
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from evaluation.bench import of_kinds, open_bench
from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.experiments import cpqa
from evaluation.experiments.cpqa import (
    NAIVE,
    PARTS,
    SOURCES,
    SPLITTERS,
    macro,
    on_subject,
    subset,
    with_embedders,
)
from evaluation.experiments.sources import second_stage
from evaluation.published import PUBLISHED
from evaluation.query_pipeline import POOL, TOP, PipelineParts, as_it_is, open_pipeline
from evaluation.runs import ExperimentRun
from evaluation.samples import passages_as_corpus
from evaluation.stages import CLOSED_BOOK, NO_CLOSED_BOOK
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import UsageError
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

SUBSET = 24


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return ExperimentRun(limit=3, library_cache=tmp_path_factory.mktemp("cpqa"))


@pytest.fixture(scope="module")
def pubmedqa(data_dir):
    """PubMedQA with the abstracts of a few questions on neoplasms as the corpus."""
    found = open_dataset("pubmedqa", data_dir, QUESTIONS)
    chosen = on_subject(found)[1].select("all", SUBSET)
    tests = on_subject(found)[1].select("test", 3)
    return replace(found, samples=tests, corpus=passages_as_corpus((*tests, *chosen)))


@pytest.fixture(scope="module")
def pipeline(pubmedqa, settings):
    with open_bench(pubmedqa, settings, lambda _: of_kinds(pubmedqa, settings)) as bench, open_pipeline(bench) as made:
        yield bench, made


def test_only_questions_on_neoplasms_are_asked(data_dir):
    found = open_dataset("pubmedqa", data_dir, QUESTIONS)
    told, chosen = on_subject(found)
    assert "MeSH" in told
    assert 0 < len(chosen.samples) < len(found.samples) / 2
    mirage = on_subject(open_dataset("mirage", data_dir, QUESTIONS))[1].samples
    assert 100 < len(mirage) < 1000
    assert any("cancer" in question.question.lower() for question in mirage)


def test_questions_are_of_the_papers_subsets(data_dir):
    """Near the paper's shares of 344 (23, 86, 93, 60, 82), since these are seven tenths of the same five sets."""
    mirage = on_subject(open_dataset("mirage", data_dir, QUESTIONS))[1].samples
    counts = Counter(subset(question.label) for question in mirage)
    published = {"MMLU": 23, "MedQA": 86, "MedMCQA": 93, "PubMedQA": 60, "BioASQ": 82}
    assert counts.keys() == published.keys()
    for name, count in published.items():
        assert counts[name] / counts.total() == pytest.approx(count / 344, abs=0.04)
    assert (subset("pubmedqa"), subset("ramdocs")) == ("PubMedQA", "")


def test_naive_rag_reads_the_whole_texts_of_the_first_documents(pipeline):
    bench, made = pipeline
    for question in bench.questions:
        dense = bench.searched.library.search(SearchQuery(question.question, k=100, candidates=100)).dense
        first = list(dict.fromkeys(hit.document_id for hit in dense))[:TOP]
        assert [source.passage_id for source in made.naive(question)] == first
        assert [source.text for source in made.naive(question)] == [made.documents[name].text for name in first]


def test_each_part_can_be_left_out(pipeline):
    bench, made = pipeline
    question = bench.questions[0]
    alone = made.pool(question, PipelineParts(hybrid=False))
    assert len(alone) <= POOL
    hybrid = made.pool(question, PipelineParts())
    assert hybrid[: len(alone)] == alone
    assert made.client.search("pubmed", as_it_is(question.question)).hits <= 1
    assert set(made.pool(question, PipelineParts(rewriting=False))) <= {*alone, *made.ids.values()}
    fixed = made.passages(question, PipelineParts(splitter=SPLITTERS[0], hybrid=False, second_stage=False))
    seos = made.passages(question, PipelineParts(hybrid=False, second_stage=False))
    assert len(fixed) == len(seos) == TOP
    tokens = bench.searched.library.embedder.count_tokens
    for source in (*fixed, *seos):
        name, _, place = source.passage_id.rpartition(":")
        start, end = map(int, place.split("-"))
        assert made.documents[name].text[start:end] == source.text
    # Fixed chunks begin with the document or 510 tokens on; most abstracts are one such chunk, and several of SEOS.
    assert max(tokens(source.text) for source in seos) <= 254 < max(tokens(source.text) for source in fixed) <= 510


def test_a_retriever_orders_by_its_own_scores(pipeline):
    """Without a second stage, the dense one by cosine: by brute force over all chunks of the pool."""
    bench, made = pipeline
    question = bench.questions[1]
    parts = PipelineParts(second_stage=False)
    method = made.splitters["dense"][parts.splitter]
    asked = method.embedder.encode_query(question.question)
    cosines = {}
    for name in made.pool(question, parts):
        for chunk in method.split(made.documents[name], None):
            text = made.documents[name].text[chunk.start : chunk.end]
            cosines[f"{name}:{chunk.start}-{chunk.end}"] = float(method.embedder.encode_passages([text])[0] @ asked)
    best = sorted(cosines, key=lambda name: -cosines[name])[:TOP]
    assert [source.passage_id for source in made.passages(question, parts)] == best


def test_kinds_of_documents_are_left_out(pipeline):
    bench, made = pipeline
    question = bench.questions[0]
    assert set(made.origins.values()) == {"D1"}
    assert made.pool(question, SOURCES["D1"]) == made.pool(question, PipelineParts())
    assert made.passages(question, PipelineParts(origins=frozenset({"D2"}))) == ()


def test_the_words_of_a_question_as_one_term():
    assert as_it_is('Does "HER2-low" (OR any) cancer recur?') == "Does HER2-low or any cancer recur"


@pytest.mark.parametrize("seed", range(5))
def test_macro_averages_are_sklearns(seed):
    """Over the letters that are right somewhere; a letter that is chosen alone, and no choice (−1), have no row."""
    rng = np.random.default_rng(seed)
    right, chosen = rng.integers(0, 4, 30), rng.integers(-1, 5, 30)
    labels = np.unique(right)
    by_sklearn = precision_recall_fscore_support(right, chosen, labels=labels, average="macro", zero_division=0)[:3]
    ours = [float(column[0]) for column in macro(right[None], chosen[None])]
    assert ours == pytest.approx([accuracy_score(right, chosen), *by_sklearn])


def test_without_a_model_the_parts_are_compared_on_what_naive_rag_gets_wrong(pubmedqa, settings):
    notes = []
    report = cpqa.run(pubmedqa, replace(settings, warn=notes.append))
    assert NO_CLOSED_BOOK in report.about
    assert any(NO_CLOSED_BOOK in note for note in notes)
    naive = {row.sample: row.score for row in report.rows if row.arm == NAIVE}
    negative = report.inputs["negative"]
    assert set(negative) == ({name for name, score in naive.items() if not score} or set(naive))
    for arm in PARTS:
        assert {row.sample for row in report.rows if row.arm == arm and row.condition == "negative"} == set(negative)
    titles = [table.title for table in report.tables]
    assert "Beside CPQA, Table V" in titles
    assert [line[0] for line in report.tables[-1].rows] == [NAIVE, *PARTS]


def test_a_model_rewrites_each_question_and_reads_for_each_arm(pubmedqa, settings, monkeypatch, tmp_path):
    """By count: one rewriting a question, one reading an arm, five arms more for each negative question."""

    def reply(prompt: str) -> str:
        if "SEARCH:" in prompt:
            return "QUESTION: Is cancer cured?\nCONCEPTS: cancer; cure\nSEARCH: cancer AND cure"
        return "CHOICE: C"

    with ScriptedServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        run = replace(settings, limit=2, model="openai:scripted", reply_cache=tmp_path / "replies.db")
        report = cpqa.run(pubmedqa, run)
        asked = server.count()
    negative = len(report.inputs["negative"])
    # The pipeline's own readings of negative questions come from the cache, and so does any prompt that is the same.
    assert 2 + 2 * 3 <= asked <= 2 + 2 * 3 + 4 * negative
    closed = [row for row in report.rows if row.arm == CLOSED_BOOK]
    assert len(closed) == 2
    assert all(passages(row) == [] for row in closed)
    assert not any(row.error for row in report.rows if hasattr(row, "error"))
    assert all(row.details["choice"] == "maybe" for row in report.rows)


def test_table_iii_and_table_iv_are_of_the_negative_questions(pubmedqa, settings):
    sources, split = (run(pubmedqa, settings) for run in (cpqa.sources, cpqa.splitting))
    assert list(dict.fromkeys(row.arm for row in sources.rows)) == list(SOURCES)
    assert "on the" in sources.tables[0].note.lower()
    assert "D2 0" in sources.tables[0].note
    assert sources.tables[1].title == "Beside CPQA, Table III"
    assert {row.arm for row in split.rows} == set(SPLITTERS)
    assert {row.condition for row in split.rows} == {"dense", "BM25", "fused"}
    assert split.tables[1].title == "Beside CPQA, Table IV"


def test_documents_and_passages_have_embedders_of_their_own():
    run = with_embedders(ExperimentRun(embedder="a", document_embedder="b", passage_embedder="c,d"), most=2)
    assert (run.embedder, run.passage_embedder) == ("b", "c,d")
    run = with_embedders(ExperimentRun(embedder="a"))
    assert (run.embedder, run.passage_embedder) == ("a", "a")
    with pytest.raises(UsageError, match="more than 1"):
        with_embedders(ExperimentRun(passage_embedder="c,d"))


def test_table_iv_has_a_column_for_a_second_embedder_and_names_what_ran(pubmedqa, settings):
    run = replace(settings, limit=1, passage_embedder="default, default", rerankers=("reader",))
    report = cpqa.splitting(pubmedqa, run)
    assert {row.condition for row in report.rows} == {"dense", "second dense", "BM25", "fused"}
    assert "second stage: reader" in report.tables[0].note
    assert "here: second dense" in report.tables[1].columns


def test_a_second_stage_is_one():
    with pytest.raises(UsageError, match="2 rerankers"):
        second_stage(ExperimentRun(rerankers=("reader", "features")), "features")
    with pytest.raises(UsageError, match="no second stage"):
        second_stage(ExperimentRun(rerankers=("none",)), "features")
    assert second_stage(ExperimentRun(), "features:bioasq").name.startswith("features")


def test_mesh_tells_which_questions_are_on_neoplasms_where_its_file_is_there(data_dir, tmp_path, monkeypatch):
    """MeSH's tree knows entry terms that no list of words has, as "leucocythaemia" for leukemia."""
    path = tmp_path / "desc2026.xml"
    path.write_text(xml(), encoding="utf-8")
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path))
    found = open_dataset("mirage", data_dir, QUESTIONS)
    asked = ["Is leucocythaemia curable?", "Does aspirin thin blood?", "Is NSCLC curable?"]
    samples = tuple(replace(found.samples[0], id=str(n), question=text) for n, text in enumerate(asked))
    monkeypatch.setenv("PREFLIGHT_MESH", str(path))
    told, chosen = on_subject(replace(found, samples=samples))
    assert "tree of Neoplasms" in told
    assert [sample.id for sample in chosen.samples] == ["0", "2"]


def test_the_papers_average_is_over_questions():
    """Table V's fractions: whole numbers right of 23, 86, 93, 60 and 82 give the printed averages."""
    sizes = (23, 86, 93, 60, 82)
    (table,) = PUBLISHED["cpqa"]
    for *subsets, average in table.rows.values():
        right = [round(share * size / 100) for share, size in zip(subsets, sizes, strict=True)]
        assert [100 * n / size for n, size in zip(right, sizes, strict=True)] == pytest.approx(subsets, abs=0.01)
        assert 100 * sum(right) / sum(sizes) == pytest.approx(average, abs=0.011)
