"""`preflight doctor` with a model's file: what it has room for, how fast it is, and which forms can be asked of it."""

from small_model import model_path
from typer.testing import CliRunner

from preflight_rag.cli.doctor import language_model
from preflight_rag.cli.main import app


def test_doctor_says_context_speed_and_forms():
    found = {finding.what: finding for finding in language_model(f"gguf:{model_path()}")}
    assert found["model"].state == "ok"
    assert "of 8,192 tokens, at once " in found["model: context"].found
    assert found["model: speed"].found.startswith("reads ")
    assert found["model: forms"].state == "ok"


def test_doctor_says_what_is_wrong_with_a_file_in_a_line(tmp_path, monkeypatch):
    (tmp_path / "notes.gguf").write_text("no model")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["doctor", "--model", "gguf:notes.gguf", "--library", "none"])
    assert done.exit_code == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("problem model")]
    assert "'notes.gguf' is not a GGUF file" in line
