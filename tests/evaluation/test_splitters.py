"""The experiment `splitting`: what chunks cover within a budget, and data sets that mark answers in documents."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from evaluation.datasets import ROLES, SPANS, open_dataset
from evaluation.datasets.financebench import on_page
from evaluation.experiments import run
from evaluation.experiments.splitters import OURS, Chunk, best_first, methods, span_recall, word_pieces
from evaluation.runs import ExperimentRun
from evaluation.vector_cache import CachedEmbedder, cached_embedder
from preflight_rag.models.embedding.embedder import Embedder, PassageInput, Progress
from preflight_rag.models.embedding.minilm import LongMiniLM
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow

TEXT = "Venus is hot. Its air is dense. Mars is cold. Its air is thin."


def chunk(start: int, end: int) -> Chunk:
    return Chunk(start, end, start, end)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(4, ["Mars is cold."]), (6, ["Mars is cold.", "Venus is"]), (8, ["Mars is cold.", "Venus is hot."])],
)
def test_the_last_chunk_is_cut_at_the_budget(embedder: Embedder, budget: int, expected: list[str]) -> None:
    chunks = [chunk(0, 13), chunk(32, 45)]
    taken = best_first(word_pieces(embedder, TEXT), chunks, [1, 0], budget)
    assert [TEXT[start:end] for start, end in taken] == expected


def test_what_is_repeated_is_counted_again(embedder: Embedder) -> None:
    taken = best_first(word_pieces(embedder, TEXT), [chunk(0, 13), chunk(0, 31)], [0, 1], 6)
    assert [TEXT[start:end] for start, end in taken] == ["Venus is hot.", "Venus is"]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((((0, 8),),), 1.0),
        ((((0, 13),),), 7 / 11),
        ((((32, 45),),), 0.0),
        ((((32, 45),), ((0, 8),)), 1.0),
        ((((0, 8), (32, 36)),), 7 / 11),
    ],
)
def test_recall_is_that_of_the_best_alternative(answers: tuple, expected: float) -> None:
    assert span_recall(TEXT, answers, [(0, 8), (3, 8)]) == pytest.approx(expected)


def test_every_splitter_hands_on_every_word(embedder: Embedder) -> None:
    text = " ".join(f"Sentence number {n} tells of patient {n} and of dose {n}." for n in range(120))
    pieces = word_pieces(embedder, text)
    splitters = methods(embedder, LongMiniLM())
    assert len(splitters) == 8
    for method in splitters.values():
        chunks = method.split(Document(id="d", text=text, source="s"), pieces)
        taken = best_first(pieces, chunks, range(len(chunks)), 10**6)
        assert span_recall(text, (((0, len(text)),),), taken) == 1.0
    fixed = splitters["fixed 512, overlap 128"].split(Document(id="d", text=text, source="s"), pieces)
    assert pieces.count(fixed[0].start, fixed[0].end) == 510
    assert pieces.count(fixed[1].start, fixed[0].end) == 128


def test_chunks_of_512_tokens_are_read_to_their_end(embedder: Embedder) -> None:
    """The last words of one change its vector, which they do not where 256 tokens are read."""
    words = " ".join(["word"] * 450)
    long = LongMiniLM()
    for reads, differs in ((embedder, False), (long, True)):
        one, other = reads.encode_passages([f"{words} Venus is hot.", f"{words} Gout hurts."])
        assert bool(np.linalg.norm(one - other) > 1e-4) is differs
    for name, method in methods(embedder, long).items():
        assert method.embedder is (long if "512" in name or "382" in name else embedder)
    assert not any("512" in name for name in methods(embedder))


def test_a_quote_is_found_by_its_letters_on_its_page() -> None:
    text = "Total assets 5,308. Net in-\ncome was $ 12.\n\nNet income was 12."
    document = Document(id="d", text=text, source="s", pages=((1, 0), (2, 44)))
    found = on_page(document, "net income\nwas 12", 1)
    assert found is not None
    assert text[found[0] : found[1]] == "Net in-\ncome was $ 12"
    assert on_page(document, "total assets", 2) is on_page(document, "total assets", 3) is None


def test_vectors_are_made_once(embedder: Embedder, tmp_path: Path) -> None:
    class Counts(CachedEmbedder):
        made = 0

        def _encode(self, inputs: list[PassageInput], progress: Progress | None) -> np.ndarray:
            return super()._encode(inputs, lambda done: setattr(self, "made", done))

    for made in (2, 0):
        cached = Counts(embedder, tmp_path / "vectors.db")
        rows = cached.encode_passages(["One.", "Two.", "One."])
        assert (cached.made, rows.shape) == (made, (3, 384))
        assert rows[2] == pytest.approx(embedder.encode_passages(["One."])[0], abs=1e-5)
        cached.close()


def test_threads_share_the_vectors(embedder: Embedder, tmp_path: Path) -> None:
    texts = [f"Passage {n}." for n in range(12)]
    alone = embedder.encode_passages(texts)
    with closing(CachedEmbedder(embedder, tmp_path / "vectors.db")) as cached, ThreadPoolExecutor(4) as threads:
        shared = list(threads.map(lambda n: cached.encode_passages([texts[n % 12]]), range(48)))
    assert np.allclose(np.concatenate(shared), np.tile(alone, (4, 1)), atol=1e-5)


def test_a_runs_vectors_lie_beside_its_libraries(embedder: Embedder, tmp_path: Path) -> None:
    with cached_embedder(ExperimentRun(library_cache=tmp_path)) as cached:
        assert (cached.name, cached.revision, cached.dimension) == (embedder.name, embedder.revision, 384)
    assert [path.name for path in tmp_path.iterdir()] == [f"vectors-{embedder.revision}.db"]


@pytest.fixture
def covidqa(tmp_path: Path, write_lines) -> Path:
    answer = "The planet Venus is the hottest one of all."
    text = f"{'The ship was slow and the sea was calm. ' * 40}{answer} {'The crew ate bread and fish. ' * 40}"
    write_lines(tmp_path / "covidqa" / "documents.jsonl", [{"document_id": "d", "text": text}])
    marked = [{"text": answer, "answer_start": text.index(answer)}]
    question = {"document_id": "d", "question": "Which planet is the hottest?"}
    records = [{"id": n, "answers": marked, **question} for n in range(6)]
    write_lines(tmp_path / "covidqa" / "questions.jsonl", [*records, {"id": 6, "answers": [], **question}])
    return tmp_path


def test_every_splitter_finds_a_plain_answer(covidqa: Path, tmp_path: Path) -> None:
    settings = ExperimentRun(part="all", library_cache=tmp_path / "cache")
    (report,) = run("splitting", covidqa, ["covidqa"], settings)
    assert len({row.sample for row in report.rows}) == 6
    recall = report.figures["Span recall"]
    assert recall["means"]["sentence windows"]["256"]["value"] == recall["means"][OURS]["256"]["value"] == 1.0
    less = recall["paired"][f"256: {OURS} − sentence windows"]["difference"]
    assert less == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert [report] == run("splitting", covidqa, ["covidqa"], settings)


def test_marked_turns_are_stretches_of_a_meetings_lines(tmp_path: Path, write_lines) -> None:
    turns = [{"speaker": "A", "content": "Hello."}, {"speaker": "B", "content": "Lunch is at noon."}]
    asked = [{"query": "What?", "relevant_text_span": []}, {"query": "When?", "relevant_text_span": [["1", "5"]]}]
    meeting = {"meeting_transcripts": turns, "specific_query_list": asked, "general_query_list": []}
    write_lines(tmp_path / "qmsum" / "val.jsonl", [meeting])
    collection = open_dataset("qmsum", tmp_path, SPANS)
    ((document, answers),) = collection.read(["val-0"])
    assert document.text == "A: Hello.\nB: Lunch is at noon.\n"
    assert answers == {"val-0-1": (((10, len(document.text)),),)}
    assert [question.id for question in collection.select("all")] == ["val-0-1"]
    assert list(collection.documents()) == [document]


def test_a_data_set_without_marked_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'bioasq' marks no answers in documents\. Choose covidqa or"):
        run("splitting", tmp_path, ["bioasq"], ExperimentRun())


@pytest.mark.parametrize("name", ROLES[SPANS])
def test_answers_lie_in_the_documents(data_dir: Path, name: str) -> None:
    collection = open_dataset(name, data_dir, SPANS)
    # Evidence that is a table of a PDF is not found as it was printed: its rows have column names beside their cells.
    asked = collection.select("development")[:10]
    read = ((sample, *found) for sample in asked for found in collection.read([sample.document]))
    first, document, answers = next(item for item in read if item[2])
    assert set(answers) <= {sample.id for sample in collection.samples if sample.document == first.document}
    for alternatives in answers.values():
        for start, end in (stretch for stretches in alternatives for stretch in stretches):
            assert 0 <= start < end <= len(document.text)
    parts = [{question.id for question in collection.select(part)} for part in ("test", "development")]
    assert not set.intersection(*parts)
