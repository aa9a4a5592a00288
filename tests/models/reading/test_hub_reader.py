"""Question-answering models of the Hub: a tiny one that is made and trained here, and what is none."""

from __future__ import annotations

import json
import random
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertTokenizerFast,
    CanineConfig,
    CanineForQuestionAnswering,
    CanineTokenizer,
    RobertaConfig,
    RobertaForQuestionAnswering,
    RobertaTokenizerFast,
)
from typer.testing import CliRunner

from preflight_rag import Preflight
from preflight_rag.cli import app
from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.models.reading.hub_reader import HubReader
from preflight_rag.state.errors import ExtractiveReaderError

pytestmark = pytest.mark.slow

NAMES = ("anna", "bert", "carl", "dora", "emil", "fred")
PLACES = ("rome", "oslo", "bern", "lima", "kiev", "cork")
FILLERS = ("the", "nurse", "worked", "in", "old", "city", "of", "slept", "near", "with", "and", "then", "moved")
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "where", *NAMES, *PLACES, *FILLERS, "##s", ".", "?")
PAIR = ("who slept?", "", "then anna slept in the city of rome.")


def example(rng):
    """A question, a passage of fillers that may name a person and a place, and the word that answers, if any does."""
    asked, kind = rng.choice((("who", NAMES), ("where", PLACES)))
    words = rng.choices((*FILLERS, "."), k=rng.randint(4, 30))
    for values in (NAMES, PLACES):
        if rng.random() < 0.6:
            words.insert(rng.randrange(len(words) + 1), rng.choice(values))
    question = f"{asked} {rng.choice(('slept', 'worked', 'moved'))} ?"
    return question, " ".join(words), next((i for i, word in enumerate(words) if word in kind), None)


def trained(model, tokenizer, steps=250):
    """The model after some steps on made-up passages; the rate falls, so that it settles on any processor."""
    rng, optimizer = random.Random(0), torch.optim.Adam(model.parameters(), lr=5e-3)
    rate = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, steps)
    for _ in range(steps):
        rows = [example(rng) for _ in range(32)]
        batch = tokenizer([row[0] for row in rows], [row[1] for row in rows], padding=True, return_tensors="pt")
        right = torch.tensor([0 if at is None else 5 + at for _, _, at in rows])
        loss = model(**batch, start_positions=right, end_positions=right).loss
        loss.backward()
        optimizer.step()
        rate.step()
        optimizer.zero_grad()
    return model.eval()


def config():
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertConfig(vocab_size=len(WORDS), max_position_embeddings=48, initializer_range=0.2, **sizes, **dropout)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Several threads would only wait for each other on models this small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folders(one_thread, tmp_path_factory):
    torch.manual_seed(0)
    base = tmp_path_factory.mktemp("hub")
    (base / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    tokenizer = BertTokenizerFast(str(base / "vocab.txt"))
    reads = trained(BertForQuestionAnswering(config()), tokenizer)
    for name, model in {"reads": reads, "masked": BertForMaskedLM(config())}.items():
        tokenizer.save_pretrained(base / name)
        model.save_pretrained(base / name)
    CanineForQuestionAnswering(
        CanineConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    ).save_pretrained(base / "slow")
    CanineTokenizer().save_pretrained(base / "slow")
    return base


@pytest.fixture(scope="module")
def reader(folders):
    return open_extractive_reader(str(folders / "reads"))


def test_it_is_an_extractive_reader_under_its_name(reader, folders):
    assert isinstance(reader, ExtractiveReader)
    assert reader.name == str(folders / "reads")


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("who slept?", "then anna slept in the city.", "anna"),
        ("where slept?", "the nurse slept in oslo and moved.", "oslo"),
        ("who worked?", "with Carl worked the nurse.", "Carl"),
    ],
)
def test_a_model_that_learned_to_read_answers(reader, question, text, answer):
    (reading,) = reader.read([(question, "", text)])
    assert reading.best.text == answer
    assert text[reading.best.start : reading.best.end] == answer
    assert reading.best.margin > 0
    assert reading.answerable > 0.5
    assert (reading.relevance, reading.verdict, reading.descriptor) == (None, None, None)


def test_no_answer_is_below_a_half(reader):
    (reading,) = reader.read([("who slept?", "", "the city of rome and the old city.")])
    assert reading.answerable < 0.5


def test_answers_stand_in_the_text_and_not_in_the_title(reader):
    (reading,) = reader.read([("who slept?", "carl", "then anna slept in the city of rome.")])
    assert reading.best.text == "anna"
    assert reading.best.start == 5


def test_a_long_passage_is_read_to_its_end(reader):
    text = "the old city of the nurse. " * 60 + "then dora slept."
    (reading,) = reader.read([("who slept?", "", text)])
    assert text[reading.best.start : reading.best.end] == "dora"
    assert reader.reader.window == 46


def test_the_margin_is_the_spans_score_above_the_first_tokens(reader, folders):
    tokenizer = BertTokenizerFast.from_pretrained(folders / "reads")
    model = BertForQuestionAnswering.from_pretrained(folders / "reads").eval()
    with torch.inference_mode():
        output = model(**tokenizer(PAIR[0], PAIR[2], return_tensors="pt"))
    start, end = output.start_logits[0], output.end_logits[0]
    at = 3 + 3 + 1 - 1
    expected = (start[at] + end[at] - start[0] - end[0]).item()
    assert reader.read([PAIR])[0].best.margin == pytest.approx(expected, abs=2e-3)


def test_a_passage_is_read_alike_alone_among_others_and_in_threads(folders, reader):
    others = [("where moved?", "", "the nurse " * n + "moved") for n in range(1, 30, 7)]
    fresh = HubReader(str(folders / "reads"))
    assert fresh.read([*others, PAIR])[-1] == fresh.read([PAIR])[0]
    with ThreadPoolExecutor(4) as pool:
        assert all(found == fresh.read([PAIR]) for found in pool.map(fresh.read, [[PAIR]] * 8))


@pytest.mark.parametrize(
    "pair",
    [
        ("who?", "", ""),
        ("", "", "anna"),
        ("who slept? " * 2000, "", "anna slept"),
        ("who?", "", "?!... --- ***"),
        ("who?", "t" * 4000, "\ud800 anna \udfff"),
        ("谁在睡觉", "", "安娜睡在罗马。"),
    ],
)
def test_odd_input_is_read(reader, pair):
    (reading,) = reader.read([pair])
    assert 0 <= reading.answerable <= 1


def test_robertas_byte_pieces_keep_their_places(tmp_path):
    torch.manual_seed(0)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted({c for c in "abcdefghijklmnopqrstuvwxyz.,?"}), "Ġ"]
    RobertaTokenizerFast(vocab={piece: i for i, piece in enumerate(pieces)}, merges=[]).save_pretrained(tmp_path)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    made = RobertaConfig(vocab_size=len(pieces), max_position_embeddings=66, type_vocab_size=1, pad_token_id=1, **sizes)
    RobertaForQuestionAnswering(made).save_pretrained(tmp_path)
    text = "anna slept in the old city, and carl worked near the river. " * 4
    (reading,) = open_extractive_reader(str(tmp_path)).read([("who slept?", "a title", text)])
    assert reading.spans
    assert all(text[span.start : span.end] == span.text for span in reading.spans)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such-user/no-such-model", "Cannot load the extractive reader 'no-such-user/no-such-model'.*network once"),
        ("", "Cannot load the extractive reader ''"),
        ("masked", "BertForMaskedLM has no trained head for spans.*deepset/roberta-base-squad2"),
        ("slow", "has no fast tokenizer.*tokenizer.json"),
        ("empty", "Cannot load the extractive reader"),
        ("damaged", "Cannot load the extractive reader"),
    ],
)
def test_what_is_no_extractive_reader_is_one_clear_line(name, message, folders):
    (folders / "empty").mkdir(exist_ok=True)
    shutil.copytree(folders / "reads", folders / "damaged", dirs_exist_ok=True)
    (folders / "damaged" / "model.safetensors").write_bytes(b"no weights")
    known = name in {path.name for path in folders.iterdir()}
    with pytest.raises(ExtractiveReaderError, match=message) as caught:
        open_extractive_reader(str(folders / name) if known and name else name)
    assert "\n" not in str(caught.value)


def test_it_answers_for_the_library(folders, own_folder):
    with Preflight.open(own_folder, model="offline", extractive_reader=str(folders / "reads")) as opened:
        answer = opened.ask("How hot is the planet Venus?")
    assert all(citation.verified for citation in answer.citations)


def test_the_command_line_takes_its_name(folders, own_folder):
    arguments = ["ask", "How hot is the planet Venus?", "--library", str(own_folder), "--json"]
    name = {"PREFLIGHT_EXTRACTIVE_READER": str(folders / "reads")}
    assert json.loads(CliRunner().invoke(app, arguments, env=name).stdout)["answer"]
    wrong = CliRunner().invoke(app, arguments, env={"PREFLIGHT_EXTRACTIVE_READER": str(folders / "masked")})
    assert wrong.exit_code == 1
    assert "has no trained head for spans" in wrong.stderr
    assert "Traceback" not in wrong.output


def test_a_model_that_fails_says_so(folders, monkeypatch):
    broken = HubReader(str(folders / "reads"))
    monkeypatch.setattr(broken, "_model", _out_of_memory)
    with pytest.raises(ExtractiveReaderError, match="failed: out of memory"):
        broken.read([PAIR])


def _out_of_memory(**feed):
    raise RuntimeError("out of memory")
