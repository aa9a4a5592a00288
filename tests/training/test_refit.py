"""The refit: steps that are finished stay finished, what changed under them is done again, and the report says what."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from preflight_rag.cache import file_sha256
from preflight_rag.state.errors import UsageError
from training.refit import ANSWERS, MEASURES, READER, ROOT, STEPS, Measure, Refit, Step, figures_of, install, main

SETTINGS = "reader.json"
WRITE = (
    "import json, pathlib, sys; name, key, source = sys.argv[1:4];"
    "ran = pathlib.Path('ran.txt'); ran.write_text((ran.read_text() if ran.exists() else '') + key + ' ');"
    "pathlib.Path('broken').exists() and key == 'second' and sys.exit('out of luck');"
    "path = pathlib.Path(name); known = json.loads(path.read_text()) if path.exists() else {};"
    "known[key] = len(pathlib.Path(source).read_text()); path.write_text(json.dumps(known))"
)
"""A step: counts the characters of a file, writes the number under a key, and says that it ran."""


def step(key, source, reads, needs=("letters",)):
    return Step(key, ("-c", WRITE, SETTINGS, key, source), reads, (f"{SETTINGS}#{key}",), needs)


STEPS_HERE = (
    step("first", "reader.txt", ("reader.txt",)),
    step("second", SETTINGS, (f"{SETTINGS}#first",)),
    step("third", "reader.txt", ("reader.txt",)),
)


@pytest.fixture
def root(tmp_path):
    """A folder with a reader, and one with data."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "reader.txt").write_text("abc", encoding="utf-8")
    (tmp_path / "data" / "letters").mkdir(parents=True)
    (tmp_path / "data" / "letters" / "a.txt").write_text("a", encoding="utf-8")
    return tmp_path / "root"


def refit(root, steps=STEPS_HERE):
    return Refit(root.parent / "data", root.parent / "work", steps, (), root)


def ran(root):
    """Which steps ran since this was asked last."""
    path = root / "ran.txt"
    found = path.read_text(encoding="utf-8").split() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def written(root):
    return json.loads((root / SETTINGS).read_text(encoding="utf-8"))


def test_all_steps_run_in_order_and_a_second_time_none(root):
    refit(root).run()
    assert ran(root) == ["first", "second", "third"]
    assert written(root)["first"] == 3
    refit(root).run()
    assert ran(root) == []


def test_a_refit_that_was_cut_off_goes_on_with_the_step_that_failed(root):
    (root / "broken").touch()
    with pytest.raises(UsageError, match="second ended with 1: out of luck") as failed:
        refit(root).run()
    assert "same command again" in failed.value.help
    assert ran(root) == ["first", "second"]
    (root / "broken").unlink()
    refit(root).run()
    assert ran(root) == ["second", "third"]


def test_a_new_reader_runs_what_reads_it_and_what_reads_that(root):
    refit(root).run()
    ran(root)
    (root / "reader.txt").write_text("abcd", encoding="utf-8")
    refit(root).run()
    assert ran(root) == ["first", "second", "third"]
    assert written(root)["first"] == 4


def test_a_step_whose_input_came_out_the_same_is_not_run_again(root):
    refit(root).run()
    ran(root)
    (root / "reader.txt").write_text("xyz", encoding="utf-8")
    refit(root).run()
    assert ran(root) == ["first", "third"]


def test_a_result_that_was_changed_by_hand_is_made_again(root):
    refit(root).run()
    ran(root)
    (root / SETTINGS).write_text(json.dumps(written(root) | {"third": 99}), encoding="utf-8")
    refit(root).run()
    assert ran(root) == ["third"]
    assert written(root)["third"] == 3


def test_data_of_another_size_and_other_arguments_are_another_step(root):
    refit(root).run()
    ran(root)
    (root.parent / "data" / "letters" / "a.txt").write_text("aa", encoding="utf-8")
    refit(root).run()
    assert ran(root) == ["first", "second", "third"]
    changed = (*STEPS_HERE[:2], Step("third", (*STEPS_HERE[2].command, "more"), *_rest(STEPS_HERE[2])))
    refit(root, changed).run()
    assert ran(root) == ["third"]


def _rest(one):
    return one.reads, one.writes, one.data


def test_a_killed_refit_leaves_a_state_that_can_be_read(root):
    first = refit(root)
    first.run()
    (first.file.with_suffix(".tmp")).write_text("{ cut o", encoding="utf-8")
    refit(root).run()
    assert ran(root) == ["first", "second", "third"]


def test_the_report_has_old_and_new_side_by_side_after_an_interruption_too(root):
    (root / SETTINGS).write_text('{"first": 1, "second": 2, "third": 3}', encoding="utf-8")
    (root / "broken").touch()
    with pytest.raises(UsageError):
        refit(root).run()
    (root / "broken").unlink()
    path = refit(root).run()
    text = path.read_text(encoding="utf-8")
    assert "| reader.json#first | 1 | 3 | +2 |" in text
    assert "reader.json#third" not in text
    told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert told["before"]["settings"]["reader.json#first"] == 1
    assert told["after"]["settings"]["reader.json#first"] == 3
    assert set(told["steps"]) == {"first", "second", "third"}


def test_figures_are_measured_before_and_after(root):
    measuring = (
        "import json, pathlib, sys; out = pathlib.Path(sys.argv[-1]); out.mkdir(parents=True);"
        "value = len(pathlib.Path('reader.json').read_text()) if pathlib.Path('reader.json').exists() else 0;"
        "report = {'experiment': 'length', 'dataset': 'settings', 'figures': {'all': {'value': value, 'low': 0}}};"
        "(out / 'manifest.json').write_text(json.dumps({'reports': [report]}))"
    )
    done = Refit(root.parent / "data", root.parent / "work", STEPS_HERE, (Measure("length", ()),), root)
    done._run, run = (
        lambda name, command: run(name, ("-c", measuring, command[-1]) if "eval" in command else command),
        done._run,
    )
    text = done.run().read_text(encoding="utf-8")
    new = len((root / SETTINGS).read_text(encoding="utf-8"))
    assert f"| length, settings: all | 0 | {new} | +{new} |" in text
    assert "low" not in text


def test_figures_have_names_that_say_where_they_are_from():
    figures = {"spans": {"F1": {"value": 0.5, "low": 0.4, "high": 0.6}, "cases": 7}}
    found = figures_of({"reports": [{"experiment": "reading", "dataset": "XQuAD", "figures": figures}]})
    assert found == {"reading, XQuAD: spans F1": 0.5, "reading, XQuAD: spans cases": 7}


@pytest.fixture
def new_reader(tmp_path):
    """A shipped reader and a new one, each with what lies beside it."""
    for name in ("old", "new"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "reader.onnx").write_bytes(name.encode())
        (folder / "reader_tokenizer.json").write_text(f'"{name}"', encoding="utf-8")
        told = {"sha256": file_sha256(folder / "reader.onnx"), "trained": {"steps": len(name)}, "calibration": name}
        (folder / "reader.json").write_text(json.dumps(told), encoding="utf-8")
    return tmp_path / "new" / "reader.onnx", tmp_path / "old" / "reader.onnx"


def test_a_new_reader_takes_the_place_of_the_shipped_one(new_reader):
    new, old = new_reader
    install(new, old)
    told = json.loads(old.with_suffix(".json").read_text(encoding="utf-8"))
    assert old.read_bytes() == b"new"
    assert told["sha256"] == file_sha256(old)
    assert told["calibration"] == "old"
    assert old.with_name("reader_tokenizer.json").read_text(encoding="utf-8") == '"new"'


@pytest.mark.parametrize("gone", ["reader.onnx", "reader.json", "reader_tokenizer.json"])
def test_a_new_reader_without_what_lies_beside_it_is_refused(gone, new_reader):
    new, old = new_reader
    new.with_name(gone).unlink()
    with pytest.raises(UsageError, match=gone):
        install(new, old)
    assert old.read_bytes() == b"old"


def test_settings_of_another_reader_are_refused(new_reader):
    new, old = new_reader
    new.write_bytes(b"newer")
    with pytest.raises(UsageError, match="of another reader"):
        install(new, old)
    assert old.read_bytes() == b"old"


@pytest.mark.parametrize("one", STEPS, ids=lambda one: one.name)
def test_each_real_step_is_a_command_of_this_clone_and_writes_what_ships(one):
    if one.command[0] == "-m":
        assert (ROOT / f"{one.command[1].replace('.', '/')}.py").is_file()
    else:
        assert (ROOT / one.command[0]).is_file()
    for part in (*one.reads, *one.writes):
        file, _, key = part.partition("#")
        assert (ROOT / file).is_file(), part
        assert not key or key in json.loads((ROOT / file).read_text(encoding="utf-8")), part


def test_each_step_comes_after_what_it_reads():
    written_by = {part: place for place, one in enumerate(STEPS) for part in one.writes}
    for place, one in enumerate(STEPS):
        if one.needs_reader:
            earlier = [
                written_by[part] for part in one.reads if part in written_by and STEPS[written_by[part]].needs_reader
            ]
            assert all(at < place for at in earlier), one.name


def test_all_that_the_table_of_training_says_is_made_of_the_reader_is_refitted():
    table = (ROOT / "training" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)[^`]*` \|", table, re.MULTILINE)
    others = {"train_reader", "embedder_graph", "checkpoint", "refit"}
    assert set(rows) - others == ({one.name for one in STEPS} | {"reader_integers"}) - {"answers", "integers"}


def test_the_measures_are_experiments_that_there_are():
    from evaluation.experiments import EXPERIMENTS

    assert {measure.command[0] for measure in MEASURES} <= set(EXPERIMENTS)
    assert ANSWERS
    assert READER


def test_the_real_first_step_leaves_the_shipped_files_as_they_are(tmp_path, capsys):
    """The graph in whole numbers is made anew from the shipped reader: the same bytes."""
    before = {path: file_sha256(ROOT / path) for path in STEPS[0].writes}
    arguments = ["--data", str(tmp_path), "--work", str(tmp_path / "work"), "--step", "integers", "--measure", "none"]
    assert main(arguments) == 0
    assert {path: file_sha256(ROOT / path) for path in STEPS[0].writes} == before
    assert main(arguments) == 0
    assert "integers: finished before" in capsys.readouterr().err


def test_a_step_that_fails_is_one_line_and_exit_1(tmp_path, capsys):
    missing = tmp_path / "nothing"
    arguments = ["--data", str(missing), "--work", str(tmp_path / "work"), "--step", "relations", "--measure", "none"]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "relations ended with" in error
    assert "Traceback" not in error
    assert Path(sys.executable).name not in error.splitlines()[-1]
