"""Cross-encoders: a tiny one that is made here, and what is none."""

from __future__ import annotations

import numpy as np
import pytest
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast

from preflight_rag.models.opening import open_reranker
from preflight_rag.models.reranking.cross_encoder import CrossEncoderReranker, title_and_text
from preflight_rag.models.reranking.rerankers import rerank
from preflight_rag.state.errors import RerankerError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage

pytestmark = pytest.mark.slow

QUESTION = "what lowers fever"
TEXTS = ("aspirin lowers fever", "tea contains caffeine", "green tea", "fever " * 300, "", "aspirin")
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "what", "lowers", "fever", "aspirin", "tea", "contains", "green")


def candidates(texts=TEXTS, title=""):
    return [
        Candidate(Passage(id=str(i), document_id=str(i), text=text, title=title), rank=i, score=1 / i, cosine=0.5)
        for i, text in enumerate(texts, 1)
    ]


def save(folder, model):
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    model.eval().save_pretrained(folder)
    return str(folder)


def config(**changes):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    return BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **sizes, **changes)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    import torch

    torch.manual_seed(0)
    base = tmp_path_factory.mktemp("cross")
    return {
        "one": save(base / "one", BertForSequenceClassification(config(num_labels=1))),
        "three": save(base / "three", BertForSequenceClassification(config(num_labels=3))),
        "bare": save(base / "bare", BertModel(config())),
    }


@pytest.fixture(scope="module")
def tiny(folders):
    return open_reranker(folders["one"], batch_size=2)


def test_scores_are_the_models_own(tiny, folders):
    import torch

    tokenizer = BertTokenizerFast.from_pretrained(folders["one"])
    model = BertForSequenceClassification.from_pretrained(folders["one"]).eval()
    with torch.inference_mode():
        expected = [
            model(**tokenizer(QUESTION, text, truncation=True, max_length=32, return_tensors="pt")).logits.item()
            for text in TEXTS
        ]
    np.testing.assert_allclose(tiny.score(QUESTION, candidates()), expected, atol=1e-5)


def test_it_reads_no_more_than_its_window(tiny):
    assert tiny.window == 32
    assert np.isfinite(tiny.score("fever " * 4000, candidates())).all()
    assert tiny.score(QUESTION, []).shape == (0,)


def test_the_order_is_that_of_the_scores_whatever_the_batches(tiny, folders):
    orders = [
        [c.rank for c in rerank(reranker, QUESTION, candidates(), limit=6, deadline=60).order]
        for reranker in (tiny, CrossEncoderReranker(folders["one"], batch_size=6))
    ]
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("title", "text", "read"),
    [
        ("Aspirin", "It lowers fever.", "Aspirin. It lowers fever."),
        ("Fever?", "Aspirin.", "Fever? Aspirin."),
        ("Aspirin", "Aspirin lowers fever.", "Aspirin lowers fever."),
        (" ", "Tea.", "Tea."),
    ],
)
def test_a_title_goes_before_the_text(title, text, read):
    assert title_and_text(Passage(id="1", document_id="1", text=text, title=title)) == read


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no-such-user/no-such-model", "Cannot load the cross-encoder 'no-such-user/no-such-model'"),
        ("medcpt", "Cannot load the cross-encoder 'ncbi/MedCPT-Cross-Encoder'.*needs a network once"),
        ("three", "gives 3 numbers"),
        ("bare", "not a reranker"),
    ],
)
def test_what_is_no_cross_encoder_is_one_clear_line(spec, message, folders):
    with pytest.raises(RerankerError, match=message) as caught:
        open_reranker(folders.get(spec, spec))
    assert "\n" not in str(caught.value)


def test_a_model_that_fails_says_so(tiny, monkeypatch):
    monkeypatch.setattr(tiny._model, "predict", _out_of_memory)
    with pytest.raises(RerankerError, match="failed: out of memory"):
        tiny.score(QUESTION, candidates())


def _out_of_memory(*args, **options):
    raise RuntimeError("out of memory")
