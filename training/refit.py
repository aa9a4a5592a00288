"""Fit everything that depends on the reader's weights anew, by one command that runs unattended.

    python -m training.refit --data DIR --work DIR [--reader FILE] [--measure NAME] [--all]

or `make refit DATA=DIR`. It measures the shipped state, installs a new reader if `--reader` names one, runs all steps
that depend on the reader's weights, in the order in which they need each other's results, stores the answers that must
be the same on every machine, and measures again. `report.md` and `report.json` in `--work` show the changes: settings
and figures, old and new side by side.

A finished step is skipped as long as the reader, its inputs, its own module and its data are the same and its outputs
are unchanged: an interrupted refit continues with its current step. `state.json` in `--work` records this. Figures are
measured on the test parts, settings fitted on the validation or development parts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from preflight_rag.cache import file_sha256
from preflight_rag.state.errors import PreflightError, UsageError

ROOT = Path(__file__).parents[1]
READING = "preflight_rag/models/reading"
READER, SETTINGS = f"{READING}/reader.onnx", f"{READING}/reader.json"
INTEGERS = (f"{READING}/reader_integers.onnx", f"{READING}/reader_integers.json")
TOKENIZER = f"{READING}/reader_tokenizer.json"
CALIBRATION, SUPPORT, PRUNING = (f"{SETTINGS}#{key}" for key in ("calibration", "support", "prune"))
RELATIONS, SIGNALS = "preflight_rag/offline/relations.json#spans", "preflight_rag/corg/signals.json#reader"
CONFIDENCE, RISK = "preflight_rag/offline/confidence.json", "preflight_rag/routing/risk.json"
READING_ORDER = "preflight_rag/library/search/reading_order.json"
SENTENCE_ORDER = "preflight_rag/offline/sentence_order.json"
RERANKER = "preflight_rag/models/reranking/feature_reranker.json"
ANSWERS = "tests/models/reading/reader_answers.json"
STATE, REPORT, LOGS, STAMP = "state.json", "report", "logs", "installed"
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class Step:
    """One command, its inputs, and its outputs.

    Attributes:
        name: The step's name.
        command: Arguments of the Python interpreter; `{data}` and `{work}` are replaced by the folders.
        reads: Its inputs among the outputs of other steps: files below the root, or one key of a JSON file, "FILE#KEY".
        writes: Its outputs, in the same form.
        data: Folders of the data sets that it reads.
        needs_reader: Whether its result depends on the reader's weights; other steps run only on request.
    """

    name: str
    command: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    data: tuple[str, ...] = ()
    needs_reader: bool = True


@dataclass(frozen=True)
class Measure:
    """An experiment whose figures the report shows: arguments of `preflight eval`."""

    name: str
    command: tuple[str, ...]
    data: tuple[str, ...] = ()


def _module(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module of this package."""
    return ("-m", f"training.{name}", *arguments)


DATA, CACHE = ("--data", "{data}"), ("--library-cache", "{work}/libraries")
STEPS = (
    Step("integers", _module("reader_integers"), (READER,), INTEGERS),
    Step(
        "calibrate_reader", _module("calibrate_reader", *DATA, "--write"), (READER,), (CALIBRATION,),
        ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs", "clapnq"),
    ),
    Step(
        "reader_thresholds", _module("reader_thresholds", *DATA, *CACHE), (READER, CALIBRATION), (SUPPORT, PRUNING),
        ("nq_open_oracle", "biomix", "bioasq", "scifact", "clapnq", "xquad_en", "covidqa", "ramdocs", "pubmedqa"),
    ),
    Step("relations", _module("relations", *DATA), (READER, CALIBRATION), (RELATIONS,), ("ramdocs",)),
    Step(
        "signals", _module("signals", *DATA, *CACHE), (READER, CALIBRATION, RELATIONS), (SIGNALS,),
        ("ramdocs", "conflictqa", "bioasq", "biomix", "nq_open_oracle", "scifact"),
    ),
    Step(
        "reading_order", _module("reading_order", *DATA, *CACHE), (READER, CALIBRATION), (READING_ORDER,),
        ("covidqa", "evidence_inference", "nq_open_oracle", "bioasq"),
    ),
    Step(
        "sentence_order", _module("sentence_order", *DATA, *CACHE), (READER, CALIBRATION), (SENTENCE_ORDER,),
        ("squadshifts", "squad2"),
    ),
    Step("train_preflight", _module("train_preflight", *DATA, *CACHE), (RERANKER,), (RISK,), needs_reader=False),
    Step("train_reranker", _module("train_reranker", *DATA, *CACHE), (), (RERANKER,), needs_reader=False),
    Step(
        "confidence", _module("confidence", *DATA, *CACHE),
        (READER, CALIBRATION, SUPPORT, RELATIONS, SIGNALS, RERANKER), (CONFIDENCE,),
        ("nq_open_oracle", "xquad_en", "covidqa", "biomix", "bioasq"),
    ),
    Step("answers", ("tests/models/reading/test_reader_determinism.py",), (READER, CALIBRATION), (ANSWERS,)),
)  # fmt: skip
"""The steps, in the order in which they run."""
READ_SETS = (
    "squadshifts-new_wiki", "squadshifts-reddit", "squadshifts-amazon", "xquad_en", "squad2", "nq_open_oracle",
    "covidqa", "ramdocs", "clapnq", "boolq", "pubmedqa", "bioasq",
)  # fmt: skip
_TEST = (*DATA, "--part", "test")
MEASURES = (
    Measure("reading", ("reading", *_TEST, *(part for name in READ_SETS for part in ("--dataset", name)))),
    Measure("statements", ("statements", *_TEST)),
    Measure("relations", ("relations", *_TEST)),
    Measure("routing", ("routing", *_TEST, *CACHE)),
    Measure("trust", ("trust", *_TEST)),
)
"""The measurements before and after, each taking minutes to an hour."""


class Refit:
    """A refit in a folder of its own, which can be interrupted and continued.

    Args:
        data: Folder of the data sets.
        work: Folder of the state, logs, libraries and the report.
        steps: The steps, in order.
        measures: The measurements before and after.
        root: The clone of the repository.
    """

    def __init__(
        self,
        data: Path,
        work: Path,
        steps: Sequence[Step] = STEPS,
        measures: Sequence[Measure] = MEASURES,
        root: Path = ROOT,
    ) -> None:
        self.data, self.work, self.root = data.resolve(), work.resolve(), root
        self.steps, self.measures = steps, measures
        self.work.mkdir(parents=True, exist_ok=True)
        self.file = self.work / STATE
        known = json.loads(self.file.read_text(encoding="utf-8")) if self.file.is_file() else {}
        self.state: dict[str, Any] = {"finished": {}, "ran": {}, BEFORE: None} | known

    def run(self, reader: Path | None = None) -> Path:
        """Run the remaining steps, write the report, and return its path.

        Args:
            reader: A new reader.onnx, which replaces the shipped one.

        Raises:
            UsageError: A step failed, or a file that must lie beside the new reader is missing.
        """
        if self.state[BEFORE] is None:
            # The state for comparison, stored before anything is written, however often the refit is interrupted.
            self._keep(**{BEFORE: {"settings": self.settings(), "figures": self._measure(BEFORE)}, "ran": {}})
        if reader:
            install(reader, self.root / READER)
        for step in self.steps:
            self._do(step)
        after = {"settings": self.settings(), "figures": self._measure(AFTER)}
        path = write_report(self.work, self.state[BEFORE], after, self.state["ran"], [step.name for step in self.steps])
        self._keep(**{BEFORE: None})
        return path

    def settings(self) -> dict[str, Any]:
        """Return all JSON that the steps write, with the checksum of the reader, by file and key."""
        found: dict[str, Any] = {}
        for part in dict.fromkeys(part for step in self.steps for part in step.writes):
            file, _, _ = part.partition("#")
            if file.endswith(".json") and file not in (INTEGERS[1], ANSWERS):
                found[part] = _value(self.root, part)
        if (self.root / READER).is_file():
            found[READER] = file_sha256(self.root / READER)
        return found

    def _do(self, step: Step) -> None:
        """Run a step unless its result is there already."""
        wanted = self._fingerprint(step)
        known = self.state["finished"].get(step.name, {})
        if known.get("fingerprint") == wanted and known["wrote"] == self._hashes(step.writes):
            _say(f"{step.name}: finished before")
            return
        seconds = self._run(step.name, step.command)
        finished = {"fingerprint": wanted, "wrote": self._hashes(step.writes), "seconds": seconds}
        self._keep(
            finished=self.state["finished"] | {step.name: finished}, ran=self.state["ran"] | {step.name: seconds}
        )

    def _measure(self, when: str) -> dict[str, float]:
        """Return the figures of all measures by name; each is measured once for an installed state."""
        found: dict[str, float] = {}
        for measure in self.measures:
            wanted = self._installed(measure)
            folders = [self.work / "measured" / each / measure.name for each in (when, BEFORE, AFTER)]
            known = [out for out in folders if _content(out / STAMP) == wanted]
            out = known[0] if known else folders[0]
            if not known:
                shutil.rmtree(out, ignore_errors=True)
                self._run(
                    f"{when} {measure.name}", ("-m", "preflight_rag", "eval", *measure.command, "--out", str(out))
                )
                (out / STAMP).write_text(wanted, encoding="utf-8")
            found |= figures_of(json.loads((out / "manifest.json").read_text(encoding="utf-8")))
        return found

    def _installed(self, measure: Measure) -> str:
        """Return a hash of the parts of the package that a measure depends on."""
        written = chain.from_iterable(step.writes for step in self.steps)
        parts = [part for part in written if part != ANSWERS]
        return _digest([measure.command, self._hashes([READER, *parts])])

    def _fingerprint(self, step: Step) -> str:
        """Return a hash of everything that a step's result depends on: code, inputs, and data by name and size."""
        named = [argument for argument in step.command if argument.startswith("training.")]
        code = [self.root / f"{name.replace('.', '/')}.py" for name in named]
        sizes = []
        for folder in step.data:
            for file in sorted((self.data / folder).rglob("*")):
                if file.is_file():
                    sizes.append((str(file.relative_to(self.data)), file.stat().st_size))
        sources = [file_sha256(file) for file in code if file.is_file()]
        return _digest([step.name, step.command, self._hashes(step.reads), sizes, sources])

    def _hashes(self, parts: Sequence[str]) -> dict[str, str]:
        """Return the hash of each part of the package."""
        return {part: _digest(_value(self.root, part)) for part in parts}

    def _run(self, name: str, command: Sequence[str]) -> float:
        """Run a command with this interpreter, its output going into a log, and return the seconds that it took."""
        log = self.work / LOGS / f"{name.replace(' ', '-')}.log"
        log.parent.mkdir(exist_ok=True)
        filled = [part.replace("{data}", str(self.data)).replace("{work}", str(self.work)) for part in command]
        _say(f"{name}: python {' '.join(filled)}")
        began = time.monotonic()
        with log.open("w", encoding="utf-8") as file:
            done = subprocess.run(  # noqa: S603
                [sys.executable, *filled], cwd=self.root, stdout=file, stderr=subprocess.STDOUT, check=False
            )
        if done.returncode:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no output"]
            raise UsageError(
                f"{name} ended with {done.returncode}: {lines[-1]:.300}",
                help=f"Read {log}, and give the same command again: what is finished is not done again.",
            )
        return round(time.monotonic() - began, 1)

    def _keep(self, **values: Any) -> None:
        """Update the state, also on disk; a process that is killed here leaves the old or the new file."""
        self.state |= values
        scratch = self.file.with_suffix(".tmp")
        scratch.write_text(json.dumps(self.state, indent=1) + "\n", encoding="utf-8")
        os.replace(scratch, self.file)


def install(new: Path, reader: Path) -> None:
    """Replace the shipped reader, its tokenizer and the record of its training by new ones.

    Raises:
        UsageError: A file that has to lie beside the new reader is missing or of another reader.
    """
    settings, tokenizer = new.with_suffix(".json"), new.with_name(f"{new.stem}_tokenizer.json")
    missing = [path.name for path in (new, settings, tokenizer) if not path.is_file()]
    if missing:
        raise UsageError(
            f"there is no {' and no '.join(missing)} in {str(new.parent)!r}",
            help="Name the file that training.train_reader --out wrote, with what it wrote beside it.",
        )
    checksum = file_sha256(new)
    stored = json.loads(settings.read_text(encoding="utf-8"))
    if stored.get("sha256") != checksum:
        raise UsageError(f"{settings.name} is of another reader than {new.name}", help="Write both anew.")
    if file_sha256(reader) == checksum:
        return
    kept = json.loads(reader.with_suffix(".json").read_text(encoding="utf-8"))
    kept |= {"sha256": checksum, "trained": stored["trained"]}
    for source, target in ((tokenizer, reader.with_name(f"{reader.stem}_tokenizer.json")), (new, reader)):
        scratch = target.with_suffix(".tmp")
        shutil.copyfile(source, scratch)
        os.replace(scratch, target)
    reader.with_suffix(".json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _value(root: Path, part: str) -> Any:
    """Return the content of a JSON file or of a key in it, or another file's checksum; None if it does not exist."""
    file, _, key = part.partition("#")
    path = root / file
    if not path.is_file():
        return None
    if path.suffix != ".json":
        return file_sha256(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    return content.get(key) if key else content


def _content(path: Path) -> str | None:
    """Return a file's text; None if there is no file."""
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _digest(value: Any) -> str:
    """Return a short hash of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def figures_of(manifest: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of an experiment's manifest by name, without the ends of their intervals."""
    found: dict[str, float] = {}
    for report in manifest["reports"]:
        for name, value in flat(report["figures"]).items():
            if isinstance(value, (int, float)) and name.rpartition(" ")[2] not in ("low", "high"):
                found[f"{report['experiment']}, {report['dataset']}: {name.removesuffix(' value')}"] = value
    return found


def flat(value: Any, name: str = "") -> dict[str, Any]:
    """Return the leaves of nested objects and lists, by their paths of keys."""
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list):
        inner = {str(place): item for place, item in enumerate(value)}.items()
    else:
        return {name: value}
    return {path: leaf for key, item in inner for path, leaf in flat(item, f"{name} {key}".strip()).items()}


def write_report(
    work: Path, before: Mapping[str, Any], after: Mapping[str, Any], ran: Mapping[str, float], steps: Sequence[str]
) -> Path:
    """Write the changes as Markdown and as JSON, and return the path of the Markdown."""
    changed = {kind: _both(flat(before[kind]), flat(after[kind])) for kind in ("settings", "figures")}
    facts = {
        "steps": {name: {"seconds": ran[name]} if name in ran else {"seconds": None} for name in steps},
        BEFORE: before,
        AFTER: after,
    }
    (work / f"{REPORT}.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    lines = ["# What the new reader changed", "", "| step | seconds |", "| --- | --- |"]
    lines += [f"| {name} | {ran.get(name, 'finished before')} |" for name in steps]
    for kind, head in (("figures", "Figures, on the test parts"), ("settings", "Settings")):
        rows = [row for row in changed[kind] if kind == "figures" or row[1] != row[2]]
        lines += ["", f"## {head}", ""]
        lines += ["| what | old | new | difference |", "| --- | --- | --- | --- |"] if rows else ["Nothing changed."]
        lines += [f"| {name} | {_shown(old)} | {_shown(new)} | {_difference(old, new)} |" for name, old, new in rows]
    path = work / f"{REPORT}.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _both(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return each name with its old and its new value."""
    return [(name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new])]


def _shown(value: Any) -> str:
    """Return a value as a short text for a table."""
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "/")[:80]


def _difference(old: Any, new: Any) -> str:
    """Return the difference of two numbers with its sign; empty for other values."""
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (old, new))
    return f"{new - old:+.4g}" if numbers else ""


def _say(text: str) -> None:
    """Print a line with the time on standard error."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Refit, and print where the report is; return 1 if a step failed."""
    parser = argparse.ArgumentParser(prog="python -m training.refit", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder of the state, logs, libraries and report")
    parser.add_argument("--reader", type=Path, help="a new reader.onnx, as training.train_reader --out wrote it")
    parser.add_argument("--step", action="append", choices=[step.name for step in STEPS], help="only this; repeat")
    parser.add_argument(
        "--measure",
        action="append",
        choices=[*(measure.name for measure in MEASURES), "none"],
        help="only this; repeat",
    )
    parser.add_argument("--all", action="store_true", help="also what the reader does not decide on")
    options = parser.parse_args(arguments)
    steps = [
        step for step in STEPS if (step.name in options.step if options.step else step.needs_reader or options.all)
    ]
    measures = [measure for measure in MEASURES if not options.measure or measure.name in options.measure]
    try:
        path = Refit(options.data, options.work, steps, measures).run(options.reader)
    except PreflightError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _say(f"report: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
