"""What another checkout reads of the same files, and what of the processor it takes: nothing lost, and how fast.

    git archive COMMIT | tar -x -C ../before
    python benchmarks/ingest_versions.py ../before FILES... [--rounds 3] [--most 400] [--ingested 60] [--list X.md]

Both versions read and split all files, and ingest the smallest of them into new libraries, in processes of their own,
in turns within one run, every other round in the opposite order; what is compared is processor time, of processes that
read, too (Linux alone). "Ours" is this checkout's as a multiple of the other's: of a whole ingest, of it by passage
(what was not read before has to be embedded now), and of reading and splitting alone. Then the words of each file's
passages are counted, and those are listed that ours has fewer times: lost, unless the same stands there in another
form. `--list` writes the differences of every file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 12
"""Words of a file that are listed."""
CHILD = """
import json, resource, sys, time
from pathlib import Path

def processor():
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = 0
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            living += sum(map(int, fields[11:15])) / 100  # its own, and those of its children that have ended
    return time.process_time() + ended.ru_utime + ended.ru_stime + living

from preflight_rag.library import Library
from preflight_rag.state.values import Document
try:
    from preflight_rag.ingest.loaders import load
    from preflight_rag.ingest.splitting import open_splitter
except ModuleNotFoundError:  # as the rooms were
    from preflight_rag.library.loaders import load
    from preflight_rag.library.splitting import open_splitter

files, folder, what = [Path(each) for each in json.loads(Path(sys.argv[1]).read_text())], Path(sys.argv[2]), sys.argv[3]
texts, failed = {}, []
with Library.open(folder / "library", create=True) as library:
    library.embedder.encode_passages([("", "warm")])
    splitter = open_splitter("sentence", library.embedder)
    began = processor()
    if what == "ingest":
        library.ingest(files)
    else:
        for file in files:
            try:
                for document in load(file):
                    if isinstance(document, Document):
                        found = [f"{document.title} {each.text}" for each in splitter.split(document)]
                        texts.setdefault(str(file), []).extend(found)
                    else:
                        failed.append(str(file))
            except Exception:
                failed.append(str(file))
    used = processor() - began
    passages = library.stats()["passages"]
print(json.dumps({"used": used, "failed": failed, "texts": texts, "passages": passages}))
"""


@dataclass
class Version:
    """What was measured of a checkout.

    Attributes:
        reading: Processor seconds of reading and splitting, by round.
        whole: Of a whole ingest of some of the files, by round.
        passages: Of that ingest.
        texts: By file, its passages.
        failed: Files that could not be read, or not all of them.
    """

    reading: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    passages: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


def child(checkout: Path, files: Path, what: str) -> dict[str, Any]:
    """Read or ingest the files by a checkout, in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
        command = [sys.executable, "-c", CHILD, str(files), scratch, what]
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=scratch, env=environment)
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def measure(checkout: Path, files: Path, ingested: Path, version: Version) -> None:
    """Read all files by a checkout, and ingest some."""
    read = child(checkout, files, "read")
    version.reading.append(read["used"])
    version.texts, version.failed = read["texts"], read["failed"]
    whole = child(checkout, ingested, "ingest")
    version.whole.append(whole["used"])
    version.passages = whole["passages"]


def words_of(passages: list[str]) -> Counter[str]:
    """Count the words of passages, whatever stands between them."""
    return Counter(re.findall(r"\w+", " ".join(passages).casefold()))


def differences(name: str, before: Version, after: Version) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return words of a file that ours lacks altogether, that it has fewer times, and that it has and the other not."""
    old, new = words_of(before.texts.get(name, [])), words_of(after.texts.get(name, []))
    gone = Counter({word: count for word, count in old.items() if word not in new})
    fewer = Counter({word: count - new[word] for word, count in old.items() if 0 < new[word] < count})
    return gone, fewer, Counter({word: count for word, count in new.items() if word not in old})


def collected(given: list[Path], most: int) -> list[Path]:
    """Return the files of files and folders, the smallest first."""
    found = {file for path in given for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()}
    return sorted(found, key=lambda file: (file.stat().st_size, str(file)))[:most]


def some(words: Counter[str]) -> str:
    """Return the most frequent words, with how many there are."""
    named = ", ".join(word for word, _ in words.most_common(SHOWN))
    return f"{len(words)}: {named}{' …' if len(words) > SHOWN else ''}" if words else "0"


def ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median of a round's ratios."""
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def main() -> None:
    """Measure and compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("files", nargs="+", type=Path, help="files and folders that both read")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, default=400, help="so many files, the smallest")
    parser.add_argument("--ingested", type=int, default=60, help="of them so many are ingested, the smallest")
    parser.add_argument("--list", type=Path, help="where the differences of each file are written")
    given = parser.parse_args()
    files = collected([path.resolve() for path in given.files], given.most)
    versions = {given.before.resolve(): Version(), ROOT: Version()}
    with tempfile.TemporaryDirectory() as scratch:
        names, some_names = Path(scratch) / "files.json", Path(scratch) / "ingested.json"
        names.write_text(json.dumps([str(file) for file in files]), encoding="utf-8")
        some_names.write_text(json.dumps([str(file) for file in files[: given.ingested]]), encoding="utf-8")
        for number in range(given.rounds):
            for checkout in list(versions)[:: -1 if number % 2 else 1]:
                measure(checkout, names, some_names, versions[checkout])
    before, after = versions.values()
    print("| version | whole ingest, s | reading and splitting, s | passages | files not read |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, version in (("before", before), ("ours", after)):
        row = (
            f"{median(version.whole):.1f} | {median(version.reading):.1f} | {version.passages} | {len(version.failed)}"
        )
        print(f"| {name} | {row} |")
    whole, share = ratio(after.whole, before.whole), before.passages / max(after.passages, 1)
    print(
        f"\nours: {whole:.2f} of the processor time of a whole ingest, {whole * share:.2f} of it by passage; ", end=""
    )
    print(f"{ratio(after.reading, before.reading):.2f} of reading and splitting ({len(files)} files)\n")
    lines = ["| file | passages before, ours | words gone | fewer | new |", "| --- | --- | --- | --- | --- |"]
    same = lost = 0
    for file in files:
        gone, fewer, new = differences(str(file), before, after)
        lost += bool(gone)
        if not (gone or fewer or new):
            same += 1
            continue
        counts = f"{len(before.texts.get(str(file), []))}, {len(after.texts.get(str(file), []))}"
        lines.append(f"| {file.name} | {counts} | {some(gone)} | {some(fewer)} | {some(new)} |")
    print(f"{same} files with the same words; {len(lines) - 2} with others, {lost} of them lack a word that was there")
    if given.list:
        given.list.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
