"""The project's own reader on its real model: odd input, damage, threads, processes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evaluation.datasets import TRAINING
from preflight_rag.cache import file_sha256
from preflight_rag.models.reading import bundled_reader
from preflight_rag.models.reading.bundled_reader import BundledReader, Calibration
from preflight_rag.state.errors import ExtractiveReaderError
from preflight_rag.text.words import encodable

pytestmark = pytest.mark.slow

PAIR = ("Where does the red kite nest?", "Red kites", "In this valley the red kite nests in old oak trees.")
OTHERS = [
    ("Who found it?", "", "It was found by Ada in 1843, " + "and then forgotten again, " * n + "so they say.")
    for n in (1, 5, 60)
]


@pytest.fixture(scope="module")
def reader():
    return BundledReader()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The package's files in a folder where they may be damaged."""
    for name in ("MODEL", "TOKENIZER", "SETTINGS"):
        monkeypatch.setattr(bundled_reader, name, Path(shutil.copy(getattr(bundled_reader, name), tmp_path)))
    bundled_reader.reader_settings.cache_clear()
    yield tmp_path
    bundled_reader.reader_settings.cache_clear()


def test_it_says_something_of_every_head(reader):
    (reading,) = reader.read([PAIR])
    assert PAIR[2][reading.best.start : reading.best.end] == reading.best.text
    assert 0 <= reading.answerable <= 1
    assert 0 <= reading.relevance <= 1
    assert sum(reading.verdict) == pytest.approx(1, abs=1e-3)


def test_a_passage_is_read_alike_alone_and_among_others(reader):
    assert reader.read([*OTHERS, PAIR, *OTHERS])[3] == reader.read([PAIR])[0]


def test_threads_read_alike(reader):
    fresh, expected = BundledReader(), reader.read([*OTHERS, PAIR])
    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(fresh.read, [[*OTHERS, PAIR]] * 4))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_changes_nothing(threads, reader):
    assert BundledReader(threads=threads).read([*OTHERS, PAIR]) == reader.read([*OTHERS, PAIR])


def test_fresh_processes_read_alike(reader):
    program = (
        "import json, sys\nfrom preflight_rag.models.reading.bundled_reader import BundledReader\n"
        "print(BundledReader().read([tuple(pair) for pair in json.loads(sys.argv[1])]))"
    )
    call = [sys.executable, "-c", program, json.dumps([*OTHERS, PAIR])]
    first, second = (subprocess.run(call, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first == second == f"{reader.read([*OTHERS, PAIR])}\n"


@pytest.mark.parametrize(
    ("question", "title", "text"),
    [
        ("Who?", "", "Ada"),
        ("Who?", "", "word " * 10_000),
        ("Who?", "", ""),
        ("Who?", "A title", ""),
        ("", "", "Ada flew a kite."),
        ("   ", "", "Ada flew a kite."),
        ("Who?", "", "?!... --- ***"),
        ("?!", "", "Ada flew a kite."),
        ("who flew a kite", "", "Ada flew a kite."),
        ("who " * 2000, "", "Ada flew a kite."),
        ("Who?", "title " * 2000, "Ada flew a kite."),
        ("Wer ließ den Drachen steigen?", "", "Ada ließ am Flussufer einen Drachen steigen."),
        ("谁放风筝？", "", "艾达在河边放风筝。"),
        ("من طيّر الطائرة الورقية؟", "", "طيّرت آدا طائرة ورقية."),
        ("Who?", "", "🪁🪁 ‮Ada‬ \x00\x07 flew\u200b"),
        ("Who? \udc80", "\ud800", "Ada \udfff flew \ud83d a kite."),
        ("Who?", "", "a" * 20_000),
    ],
)
def test_odd_input_is_read(question, title, text, reader):
    (reading,) = reader.read([(question, title, text)])
    assert 0 <= reading.answerable <= 1
    assert all(encodable(text)[span.start : span.end] == span.text for span in reading.spans)
    assert bool(reading.spans) == any(character.isalnum() for character in text)


def test_no_pairs_no_readings(reader):
    assert reader.read([]) == []


def test_without_a_span_nothing_answers(reader):
    assert reader.read([("Who?", "", "?!")])[0].answerable == 0.0
    assert Calibration(1.0, 1.0, 0.0, 0.5).probability(5.0, None) == 0.0
    assert Calibration(1.0, 2.0, -1.0, 0.5).probability(0.0, 0.5) == 0.5


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("reader.onnx", b"not a model", "reader.onnx is damaged. Install the package again"),
        ("reader.onnx", None, "the reader's model cannot be loaded: .*reader.onnx.*Install the package again"),
        ("reader_tokenizer.json", b"{", "the reader's model cannot be loaded"),
        ("reader_tokenizer.json", None, "the reader's model cannot be loaded: .*reader_tokenizer.json"),
        ("reader.json", b"{", "reader.json cannot be read"),
        ("reader.json", b"{}", "reader.json cannot be read: 'sha256'"),
        ("reader.json", b'{"sha256": "0", "calibration": {"bias": 1}}', "reader.json cannot be read"),
        ("reader.json", None, "reader.json cannot be read"),
    ],
)
def test_damage_is_one_clear_line(file, content, message, package):
    if content is None:
        (package / file).unlink()
    else:
        (package / file).write_bytes(content)
    with pytest.raises(ExtractiveReaderError, match=message) as caught:
        BundledReader().read([PAIR])
    assert "\n" not in str(caught.value)


def test_another_model_is_not_held_to_the_packages_checksum(package, reader):
    (package / "other.onnx").write_bytes(b"not a model")
    with pytest.raises(ExtractiveReaderError, match="cannot be loaded"):
        BundledReader(package / "other.onnx").read([PAIR])
    shutil.copy(package / "reader.onnx", package / "other.onnx")
    (other,), (own,) = BundledReader(package / "other.onnx").read([PAIR]), reader.read([PAIR])
    assert [(span.start, span.end) for span in other.spans] == [(span.start, span.end) for span in own.spans]
    assert other.answerable == pytest.approx(own.answerable, abs=0.001)


def test_the_files_are_small_enough_to_ship():
    files = (bundled_reader.MODEL, bundled_reader.TOKENIZER, bundled_reader.SETTINGS)
    assert sum(path.stat().st_size for path in files) <= 25_000_000


def test_the_settings_say_what_the_model_is():
    found = bundled_reader.reader_settings()
    assert found.sha256 == file_sha256(bundled_reader.MODEL)
    assert 0 < found.calibration.threshold < 1
    trained = json.loads(bundled_reader.SETTINGS.read_text(encoding="utf-8"))["trained"]
    assert set(trained["examples"]) <= set(TRAINING)
