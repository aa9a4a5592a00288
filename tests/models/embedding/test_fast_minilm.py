"""The default embedder in bfloat16, which ingestion takes where it can be had and gives the same vectors."""

import numpy as np
import pytest

from preflight_rag.library import Library
from preflight_rag.models.embedding import fast_minilm as fast
from preflight_rag.models.embedding.minilm import LongMiniLM
from preflight_rag.models.opening import MANY, embedder_for_many
from preflight_rag.state.extras import missing_modules
from preflight_rag.state.values import Document

pytestmark = pytest.mark.slow

needs_openvino = pytest.mark.skipif(
    bool(missing_modules("fast")) or not fast.FLAGS & fast.processor_flags(),
    reason="needs the extra fast, and a processor that multiplies bfloat16",
)


class Turned(fast.FastMiniLM):
    """Gives vectors of something else."""

    def encode_passages(self, passages, progress=None):
        return np.roll(np.eye(len(passages), self.dimension, dtype=np.float32), 1, axis=0)


class Broken(fast.FastMiniLM):
    def encode_passages(self, passages, progress=None):
        raise RuntimeError("Exception from src/inference/src/cpp/core.cpp:135:\nUnable to read the model")


@pytest.mark.parametrize(("kind", "said"), [(Turned, "vectors differ"), (Broken, "cannot embed")])
def test_one_that_differs_or_fails_is_not_taken_and_a_warning_says_so(embedder, caplog, kind, said):
    assert fast._select_if_equal(kind(1), embedder) is embedder
    (line,) = caplog.messages
    assert said in line
    assert "\n" not in line


def test_the_probes_tell_more_than_one_length_apart(embedder):
    counts = [embedder.count_tokens(text) for text in fast.PROBES]
    assert counts == sorted(counts)
    assert counts[0] < 10
    assert counts[-1] > embedder.max_tokens


@pytest.mark.parametrize(
    ("listed", "usable"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16 amx_tile\n", True),
        ("processor\t: 0\nflags\t\t: fpu vme amx_bf16\nbugs\t\t: x\n", True),
        ("flags\t\t: fpu avx2 avx512f\nbugs\t\t: avx512_bf16\n", False),
        ("Features\t: fp asimd bf16\n", False),
    ],
)
def test_what_the_processor_can_do_is_read_off_linuxs_list(tmp_path, listed, usable):
    (tmp_path / "cpuinfo").write_text(listed)
    assert bool(fast.FLAGS & fast.processor_flags(tmp_path / "cpuinfo")) is usable
    assert not fast.processor_flags(tmp_path / "none")


def test_few_passages_and_other_embedders_stay_as_they_are(embedder):
    assert embedder_for_many(embedder, MANY - 1) is embedder
    long = LongMiniLM()
    assert embedder_for_many(long, 10 * MANY) is long


def test_without_a_processor_for_it_it_is_not_taken(embedder, monkeypatch):
    monkeypatch.setattr(fast, "processor_flags", lambda: frozenset({"avx2"}))
    assert embedder_for_many(embedder, MANY) is embedder


@pytest.mark.slow
@needs_openvino
def test_its_vectors_are_those_of_sentence_transformers_but_for_rounding(embedder):
    from sentence_transformers import SentenceTransformer

    from preflight_rag.models.embedding.minilm import weights_folder

    texts = [*fast.PROBES, "Tea.", "", "Green tea contains caffeine and catechins.", "12.5 mg/kg, p < 0.05 (n = 41)"]
    made = embedder_for_many(embedder, MANY)
    assert type(made) is fast.FastMiniLM
    reference = SentenceTransformer(str(weights_folder()), device="cpu").encode(texts, normalize_embeddings=True)
    assert fast.lowest_cosine(made.encode_passages(texts), reference) >= fast.LEAST_COSINE
    assert np.array_equal(made.encode_passages(texts), made.encode_passages(texts))


@needs_openvino
def test_a_large_ingest_takes_it_and_a_question_finds_the_same(tmp_path, embedder, monkeypatch):
    texts = [f"The mill with the number {n} grinds rye." for n in range(MANY)]
    documents = [Document(id=f"d{n}", source="", title="", text=text) for n, text in enumerate(texts)]
    taken, encode = [], fast.FastMiniLM.encode_passages

    def counted(self, passages, progress=None):
        taken.append(len(passages))
        return encode(self, passages, progress)

    with monkeypatch.context() as patch:
        patch.setattr(fast.FastMiniLM, "encode_passages", counted)
        with Library.open(tmp_path / "fast", embedder=embedder, create=True) as library:
            library.add(documents)
            found = library.search(texts[77]).dense
    assert sum(taken) >= MANY
    cosines = embedder.encode_passages(texts) @ embedder.encode_query(texts[77])
    assert found[0].document_id == "d77"
    assert [hit.score for hit in found[:5]] == pytest.approx(sorted(cosines, reverse=True)[:5], abs=2e-3)
