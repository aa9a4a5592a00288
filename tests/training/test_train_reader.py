"""Training the reader: targets, losses, a few steps, and the model that is written."""

from __future__ import annotations

import argparse
import json
import random
import time

import numpy as np
import onnxruntime
import pytest
import torch

from evaluation.datasets import TRAINING, examples
from evaluation.datasets.pairs import pair
from preflight_rag.cache import file_sha256
from preflight_rag.models.embedding.minilm import weights_folder
from preflight_rag.models.reading.bundled_reader import BundledReader
from preflight_rag.models.reading.extractive_reader import OUTPUTS, load_tokenizer, padded, windows
from preflight_rag.state.errors import UsageError
from training import train_reader
from training.reader_network import UNKNOWN, Targets, export, loss
from training.train_reader import (
    BATCH,
    FINAL,
    UNCALIBRATED,
    Trainer,
    _clock,
    batches,
    feed_of,
    part_of_rate,
    positions,
    prepare,
    record,
    stages,
    targets,
)

pytestmark = pytest.mark.slow

TEXT = "It was built in 1843 by Ada, in Estmoor."
KITE = pair("k", "When was it built?", "Kites", TEXT, ((16, 20),), True, True, "yes", ((32, 39),))
NOTHING = pair("k", "Who sold it?", "", TEXT, (), False, None, None, None)
UNMARKED = pair("k", "Is it old?", "", TEXT, None, True, None, "neither", ())


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer(weights_folder() / "tokenizer.json")


def perfect(found, strength=30.0):
    """Outputs that say what the targets ask for."""
    tokens = []
    for right in (found.answers, found.descriptors):
        for side in (0, 1):
            marks = torch.zeros(found.allowed.shape)
            for row, (place, *_) in enumerate(right[:, :, side].tolist()):
                marks[row, max(0, place)] = 1.0
            tokens.append(strength * (marks - 0.5))
    scores = torch.zeros(len(found.answerable), 5)
    scores[:, 0] = strength * (found.answerable.float() - 0.5)
    scores[:, 1] = strength * (found.relevant.float() - 0.5)
    for row, verdict in enumerate(found.verdict.tolist()):
        if verdict != UNKNOWN:
            scores[row, 2 + verdict] = strength
    return [*tokens, scores]


def test_targets_mark_the_answers_tokens(tokenizer):
    found = targets(prepare([KITE, NOTHING, UNMARKED]))
    (window,) = windows([(KITE.question, KITE.passage.title, KITE.passage.text)], tokenizer)
    first, last = found.answers[0, 0].tolist()
    assert tokenizer.decode(window.ids[first : last + 1]) == "1843"
    assert found.answers[1:].tolist() == [[[0, 0]], [[UNKNOWN, UNKNOWN]]]
    assert found.descriptors[1:].tolist() == [[[UNKNOWN, UNKNOWN]], [[0, 0]]]
    assert found.answerable.tolist() == [1, 0, 1]
    assert found.relevant.tolist() == [1, UNKNOWN, UNKNOWN]
    assert found.verdict.tolist() == [0, UNKNOWN, 2]


def test_positions_need_the_whole_answer(tokenizer):
    (window,) = windows([(KITE.question, "", TEXT)], tokenizer)
    assert len(positions(window, [(16, 20), (24, 27)])) == 2
    (first, *_) = windows([(KITE.question, "", f"{'long ' * 400}{TEXT}")], tokenizer)
    assert positions(first, [(2016, 2020)]) == []


def test_an_answer_beyond_the_window_is_not_trained_on():
    far = pair("k", "When?", "", f"{'long ' * 400}{TEXT}", ((2016, 2020),), True)
    assert [item.example for item in prepare([far, NOTHING])] == [NOTHING]


def test_the_loss_falls_to_nothing_where_all_is_right():
    found = targets(prepare([KITE, NOTHING, UNMARKED]))
    assert loss(perfect(found), found).item() == pytest.approx(0, abs=1e-3)
    assert loss([-output for output in perfect(found)], found).item() > 10


def test_a_span_from_one_mention_to_the_next_is_wrong():
    right = torch.tensor([[[1, 2], [4, 5]]])
    one, unknown = torch.ones(1, 6, dtype=torch.bool), torch.full((1,), UNKNOWN)
    found = Targets(one, right, torch.full((1, 1, 2), UNKNOWN), unknown, unknown, unknown)

    def cost(first, last):
        start, end = (torch.full((1, 6), -9.0).index_fill(1, torch.tensor([at]), 9.0) for at in (first, last))
        return loss([start, end, start, end, torch.zeros(1, 5)], found).item()

    assert max(cost(1, 2), cost(4, 5)) < 0.01
    assert cost(1, 5) > 5


def test_what_is_not_known_costs_nothing():
    none, unknown = torch.full((2, 1, 2), UNKNOWN), torch.full((2,), UNKNOWN)
    found = Targets(torch.ones(2, 6, dtype=torch.bool), none, none, unknown, unknown, unknown)
    assert loss([*torch.randn(4, 2, 6), torch.randn(2, 5)], found).item() == 0


def test_batches_hold_every_example_once_and_alike_in_length(reader_data):
    prepared = prepare(examples("xquad_en", reader_data, "train") + examples("scifact", reader_data, "train"))
    found = batches(prepared, random.Random(0))
    assert sorted(id(item) for batch in found for item in batch) == sorted(map(id, prepared))
    assert max(map(len, found)) <= BATCH
    spread = [max(lengths) - min(lengths) for lengths in ([len(i.window.ids) for i in batch] for batch in found)]
    everything = [len(item.window.ids) for item in prepared]
    assert np.mean(spread) < (max(everything) - min(everything)) / 2


def test_stages_begin_with_made_questions_and_go_through_every_set(reader_data, monkeypatch):
    monkeypatch.setattr(train_reader, "EACH_TABLE", 30)
    found = dict(stages(reader_data, 2))
    assert list(found) == ["cloze", "epoch 1", "epoch 2"]
    groups = {example.id.split()[0] for example in found["epoch 1"] if example.id}
    assert groups == {"nq", "xquad", *(name.partition("-")[0] for name in TRAINING)} - {"nq_open_oracle", "xquad_en"}
    assert found["epoch 1"] != found["epoch 2"]
    assert any(" | " in example.passage.text for example in found["epoch 1"])


def test_a_training_that_goes_on_begins_with_the_annotated_sets(reader_data, monkeypatch):
    monkeypatch.setattr(train_reader, "EACH_TABLE", 30)
    assert [name for name, _ in stages(reader_data, 1, made_first=False)] == ["epoch 1"]


@pytest.fixture(scope="module")
def trained(reader_data, tmp_path_factory):
    """Folder and network of a training on few examples."""
    folder = tmp_path_factory.mktemp("trained")
    few = [("cloze", [KITE, NOTHING] * 4), ("epoch 1", [KITE, UNMARKED] * 4)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_reader, "stages", lambda data, epochs, made_first, cache: iter(few))
        network = train_reader.train(reader_data, folder / "reader.onnx")
    return folder, network


def test_the_model_that_is_written_says_what_the_network_says(trained, tokenizer):
    folder, network = trained
    session = onnxruntime.InferenceSession(str(folder / "reader.onnx"), providers=["CPUExecutionProvider"])
    assert tuple(output.name for output in session.get_outputs()) == OUTPUTS
    feed = padded(
        windows([(KITE.question, KITE.passage.title, TEXT), (NOTHING.question, "", f"{TEXT} {TEXT}")], tokenizer)
    )
    with torch.inference_mode():
        expected = network(**{name: torch.from_numpy(value) for name, value in feed.items()})
    for found, right in zip(session.run(None, feed), expected, strict=True):
        assert found.shape == right.shape
        kept = feed["attention_mask"].astype(bool) if found.shape[1] != 5 else slice(None)
        np.testing.assert_allclose(found[kept], right.numpy()[kept], atol=0.25)


def test_beside_the_model_stands_what_it_is(trained, reader_data):
    folder, _ = trained
    told = json.loads((folder / "reader.json").read_text(encoding="utf-8"))
    assert told["sha256"] == file_sha256(folder / "reader.onnx")
    assert told["calibration"] == UNCALIBRATED
    assert told["trained"]["steps"] == 2
    assert told["trained"]["examples"] == {name: len(examples(name, reader_data, "train")) for name in TRAINING}
    assert json.loads((folder / "reader_integers.json").read_text(encoding="utf-8"))["sha256"] == told["sha256"]
    files = {"reader.onnx", "reader.json", "reader_tokenizer.json", "reader_integers.onnx", "reader_integers.json"}
    assert {path.name for path in folder.iterdir()} == files


def test_what_else_the_settings_say_is_kept(tmp_path, reader_data):
    (tmp_path / "reader.onnx").write_bytes(b"model")
    (tmp_path / "reader.json").write_text('{"sha256": "old", "calibration": {"bias": 1}}', encoding="utf-8")
    record(tmp_path / "reader.onnx", reader_data, Trainer(7))
    told = json.loads((tmp_path / "reader.json").read_text(encoding="utf-8"))
    assert told["calibration"] == {"bias": 1}
    assert told["sha256"] == file_sha256(tmp_path / "reader.onnx")


def test_the_model_that_is_written_reads(trained):
    (reading,) = BundledReader(trained[0] / "reader.onnx").read([(KITE.question, KITE.passage.title, TEXT)])
    assert TEXT[reading.best.start : reading.best.end] == reading.best.text


def test_a_training_that_was_cut_off_goes_on(tmp_path):
    batch = prepare([KITE, NOTHING])
    whole, first, rest = Trainer(3), Trainer(3), Trainer(3)
    for trainer, steps in ((whole, 3), (first, 2)):
        torch.manual_seed(1)
        for _ in range(steps):
            trainer.run(batch)
    first.save(tmp_path / "training.pt")
    torch.manual_seed(2)
    rest.resume(tmp_path / "training.pt")
    rest.run(batch)
    assert rest.step == 3
    for name, value in whole.average.items():
        torch.testing.assert_close(rest.average[name], value)


def test_some_steps_make_the_loss_fall():
    batch = prepare([KITE, NOTHING, UNMARKED] * 2)
    trainer = Trainer(8)
    trainer.run(batch)
    first = trainer.recent
    for _ in range(7):
        trainer.run(batch)
    with torch.inference_mode():
        outputs = trainer.network.eval()(**feed_of([item.window for item in batch]))
    assert loss(outputs, targets(batch)).item() < first
    assert trainer.step == 8


def test_the_rate_rises_then_falls_to_nothing_by_the_end():
    rates = [part_of_rate(step / 60, 60) for step in range(60)]
    assert rates[:3] == pytest.approx([1 / 3, 2 / 3, 1])
    assert rates[3:] == sorted(rates[3:], reverse=True)
    assert 0 < rates[-1] < 1 / 50
    assert part_of_rate(1, 60) == 0


def test_a_training_with_an_end_is_finished_by_then():
    batch, trainer = prepare([NOTHING]), Trainer(1000, until=time.time() + 1)
    trainer.run(batch)
    while not trainer.finished and trainer.step < 1000:
        trainer.run(batch)
    assert trainer.finished
    assert trainer.step < 1000


def test_an_end_far_off_leaves_the_plan_as_it_is():
    batch, trainer = prepare([NOTHING]), Trainer(10, until=time.time() + 10 * FINAL)
    trainer.run(batch)
    assert trainer.done == pytest.approx(0.1)


def test_a_training_goes_on_from_weights(tmp_path):
    first = Trainer(2)
    first.run(prepare([KITE]))
    export(first.averaged(), tmp_path / "reader.onnx")
    second = Trainer(2, tmp_path / "reader.onnx")
    for name, value in first.average.items():
        # Eight bits with a scale a row: the error is at most half a step.
        step = value.abs().max() / 127
        torch.testing.assert_close(second.learned[name].detach(), value, atol=float(step), rtol=0)
    assert second.rate < first.rate


def test_a_state_of_another_plan_is_refused(tmp_path):
    one, other = Trainer(2), Trainer(2)
    one.about["plan"], other.about["plan"] = "a", "b"
    one.save(tmp_path / "training.pt")
    with pytest.raises(UsageError, match="other data or settings") as refused:
        other.resume(tmp_path / "training.pt")
    assert "--from" in (refused.value.help or "")


def test_the_faster_number_format_is_taken(capsys):
    trainer = Trainer(2)
    trainer.choose_precision(prepare([KITE]))
    assert trainer.precision in capsys.readouterr().err.rpartition("taken: ")[2]
    assert trainer.step == 0


@pytest.mark.parametrize(("text", "right"), [("00:00", True), ("23:59", True), ("24:00", False), ("noon", False)])
def test_a_time_of_day(text, right):
    if not right:
        with pytest.raises(argparse.ArgumentTypeError):
            _clock(text)
        return
    assert 0 < _clock(text) - time.time() <= 24 * 3600
    assert time.strftime("%H:%M", time.localtime(_clock(text))) == text


def test_a_prepared_example_has_the_window_that_it_was_made_of(tokenizer):
    (item,) = prepare([KITE])
    (window,) = windows([(KITE.question, KITE.passage.title, KITE.passage.text)], tokenizer)
    assert item.window == window
    assert item.tokens == len(window.ids)


def test_padding_to_few_widths_changes_no_loss():
    trainer, batch = Trainer(1), prepare([KITE, NOTHING])
    trainer.network.eval()
    found = targets(batch)
    narrow = {name: torch.from_numpy(value) for name, value in padded([item.window for item in batch]).items()}
    wide = feed_of([item.window for item in batch])
    tokens = narrow["input_ids"].shape[1]
    assert wide["input_ids"].shape[1] % 16 == 0
    assert wide["input_ids"].shape[1] > tokens
    cut = Targets(found.allowed[:, :tokens], found.answers, found.descriptors, found.answerable, found.relevant,
                  found.verdict)  # fmt: skip
    with torch.inference_mode():
        assert loss(trainer.network(**wide), found).item() == pytest.approx(
            loss(trainer.network(**narrow), cut).item(), abs=1e-4
        )
