"""The bundled reader's network in whole numbers: it says what the floats say, or they are taken."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from preflight_rag.models.onnx import one_core_session
from preflight_rag.models.processor import processor_flags
from preflight_rag.models.reading import bundled_reader, integer_network
from preflight_rag.models.reading.bundled_reader import MODEL, TOKENIZER, BundledReader, reader_settings
from preflight_rag.models.reading.extractive_reader import OUTPUTS, load_tokenizer, padded, windows
from preflight_rag.models.reading.integer_network import FLAGS, integer_session, window_feed

pytestmark = pytest.mark.slow

needs_integers = pytest.mark.skipif(
    not FLAGS & processor_flags(), reason="needs a processor that adds up products of eight bits"
)
CASES = json.loads(Path(__file__).with_name("reader_answers.json").read_text(encoding="utf-8"))
PAIRS = [(case["question"], case["title"], case["text"]) for case in CASES]
PAIRS += [(question, title, f"{text} " * 12) for question, title, text in PAIRS[:4]]
FILES = (MODEL, MODEL.with_name("reader_integers.onnx"), MODEL.with_name("reader_integers.json"))


@pytest.fixture
def folder(tmp_path):
    """The network's files where they may be damaged."""
    for path in FILES:
        shutil.copy(path, tmp_path)
    return tmp_path


def opened(folder):
    return integer_session(folder / MODEL.name, reader_settings().sha256)


@needs_integers
def test_whole_numbers_say_what_floats_say(folder):
    session, floats = opened(folder), one_core_session(MODEL)
    for window in windows(PAIRS, load_tokenizer(TOKENIZER)):
        expected = floats.run(OUTPUTS, padded([window]))
        found = session.run(OUTPUTS, window_feed(window.ids, window.types))
        for some, others in zip(found, expected, strict=True):
            assert some.shape == others.shape
            np.testing.assert_allclose(some, others, atol=0.01)


@needs_integers
def test_a_reader_reads_with_it_as_with_floats(monkeypatch):
    with_integers = BundledReader().read(PAIRS)
    assert "attention_mask" not in bundled_reader._open_network(None)._inputs
    monkeypatch.setattr(bundled_reader, "_NETWORKS", bundled_reader.SharedModels())
    monkeypatch.setattr(integer_network, "FLAGS", frozenset())
    with_floats = BundledReader().read(PAIRS)
    assert "attention_mask" in bundled_reader._open_network(None)._inputs
    for some, others in zip(with_integers, with_floats, strict=True):
        assert [span.text for span in some.spans] == [span.text for span in others.spans]
        assert some.answerable == pytest.approx(others.answerable, abs=0.0005)
        assert some.relevance == pytest.approx(others.relevance, abs=0.002)
        assert some.verdict == pytest.approx(others.verdict, abs=0.002)


def test_without_such_instructions_it_is_not_opened(folder, monkeypatch, caplog):
    monkeypatch.setattr(integer_network, "processor_flags", lambda: frozenset({"avx2", "avx512f"}))
    assert opened(folder) is None
    assert not caplog.messages


def turned(kept):
    kept["probes"][1]["outputs"]["start"].reverse()
    return kept


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "reader_integers.onnx").unlink(), "cannot be used"),
        (lambda folder: (folder / "reader_integers.onnx").write_bytes(b"none"), "cannot be used"),
        (lambda folder: (folder / "reader_integers.json").write_text("{}"), "cannot be used"),
        (lambda folder: _rewritten(folder, lambda kept: kept | {"sha256": "0"}), "is of another reader.onnx"),
        (lambda folder: _rewritten(folder, turned), "differs"),
    ],
)
def test_what_is_wrong_with_it_is_a_warning_and_floats_are_taken(change, said, folder, monkeypatch, caplog):
    monkeypatch.setattr(integer_network, "processor_flags", lambda: FLAGS)
    change(folder)
    assert opened(folder) is None
    (line,) = caplog.messages
    assert said in line
    assert "\n" not in line


def _rewritten(folder, change):
    path = folder / "reader_integers.json"
    path.write_text(json.dumps(change(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")


def test_the_texts_that_are_compared_are_of_different_lengths_and_hold_an_answer():
    probes = json.loads(FILES[2].read_text(encoding="utf-8"))["probes"]
    lengths = [len(probe["ids"]) for probe in probes]
    assert lengths[0] < 30 < 60 < lengths[-1]
    assert all(np.argmax(probe["outputs"]["start"]) for probe in probes)
