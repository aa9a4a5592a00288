"""What a packager and a user of the package meet.

    .venv/bin/python .ci/package.py

- an sdist holds what a packager needs, and a wheel built from it lists the same files as one built from the clone;
- that wheel, with the tested versions, runs the demo in an environment of its own;
- README as an index shows it has no link that leads nowhere;
- installed from the clone, without `-e`, the demo runs from inside the clone;
- mypy and pyright see the package's types from the editable install in .venv.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IN_SDIST = (
    "CHANGELOG.md",
    "constraints.txt",
    "docs/RESULTS.md",
    "evaluation/command.py",
    "langgraph.json",
    "tests/conftest.py",
    "training/README.md",
)
CONSUMER = """
from preflight_rag import Answer, Preflight
from preflight_rag.langchain import PreflightRetriever

def ask(app: Preflight) -> Answer:
    return app.ask("How hot is Venus?")

reveal_type(ask)
wrong: int = PreflightRetriever
"""


def run(*command: object, cwd: Path) -> str:
    """Run a command and give its output; a failure ends everything with what it said."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def build(kind: str, source: Path, out: Path) -> Path:
    """The sdist or wheel that is built from a folder."""
    run(sys.executable, "-m", "build", f"--{kind}", "--outdir", out, source, cwd=out)
    (made,) = out.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return made


def same_files(scratch: Path) -> Path:
    """The wheel from the sdist, which must list the files of the wheel from the clone."""
    # setuptools would put into the wheel what an earlier build left there.
    for left_over in ("build", "preflight_rag.egg-info"):
        shutil.rmtree(ROOT / left_over, ignore_errors=True)
    folders = {name: scratch / name for name in ("sdist", "source", "from-sdist", "from-clone")}
    for folder in folders.values():
        folder.mkdir()
    sdist = build("sdist", ROOT, folders["sdist"])
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
        archive.extractall(folders["source"], filter="data")
    if missing := [name for name in IN_SDIST if name not in names]:
        raise SystemExit(f"the sdist lacks {missing}")
    (source,) = folders["source"].iterdir()
    wheels = [build("wheel", source, folders["from-sdist"]), build("wheel", ROOT, folders["from-clone"])]
    listed = [{name for name in zipfile.ZipFile(wheel).namelist()} for wheel in wheels]
    if others := sorted({name.split("/")[0] for name in listed[0]} & {"evaluation", "training", "tests"}):
        raise SystemExit(f"the wheel has {others}, which are for clones alone")
    if listed[0] != listed[1]:
        raise SystemExit(f"the wheels differ in {sorted(listed[0] ^ listed[1])}")
    tracked = run("git", "ls-files", "preflight_rag", "graph", "nodes", "prompts", "state", cwd=ROOT).split()
    wanted = {name if name.startswith("preflight_rag/") else f"preflight_rag/{name}" for name in tracked}
    links = {f"preflight_rag/{room}" for room in ("graph", "nodes", "prompts", "state")}
    if missing := sorted(wanted - links - listed[0]):
        raise SystemExit(f"the wheel lacks {missing}")
    metadata = next(name for name in listed[0] if name.endswith("METADATA"))
    page = zipfile.ZipFile(wheels[0]).read(metadata).decode()
    if relative := re.findall(r"\]\((?!https?://|#|mailto:)[^)]+\)", page):
        raise SystemExit(f"README on an index would have links that lead nowhere: {relative}")
    return wheels[0]


def demo(python: Path, cwd: Path, library: Path) -> None:
    """The demo, which must answer the first of its questions."""
    said = run(python, "-m", "preflight_rag", "demo", "--library", library, cwd=cwd)
    if "Venus" not in said:
        raise SystemExit(f"the demo did not name Venus:\n{said}")


def consumer(scratch: Path) -> None:
    """A program of somebody else's, checked against the editable install."""
    (scratch / "consumer.py").write_text(CONSUMER, encoding="utf-8")
    for tool in (("mypy", "--cache-dir", scratch / "mypy"), ("pyright", "--pythonpath", sys.executable)):
        command = [sys.executable, "-m", *map(str, tool), "consumer.py"]
        said = subprocess.run(command, cwd=scratch, capture_output=True, text=True).stdout
        seen = re.search(r"[Rr]evealed type is|Type of \"ask\" is", said) and "Answer" in said
        if not seen or not re.search(r"Incompatible types in assignment|is not assignable to", said):
            raise SystemExit(f"{tool[0]} does not see the package's types:\n{said}")


def main() -> None:
    """Every check, in this order."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        consumer(scratch)
        wheel = same_files(scratch)
        run(sys.executable, "-m", "venv", scratch / "clean", cwd=scratch)
        python = scratch / "clean" / "bin" / "python"
        install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        # Without any extra: the demo needs none.
        run(*install, "-c", ROOT / "constraints.txt", wheel, cwd=scratch)
        demo(python, scratch, scratch / "demo-of-the-wheel")
        run(*install, "--no-deps", "--force-reinstall", ROOT, cwd=scratch)
        demo(python, ROOT, scratch / "demo-in-the-clone")
    print("package: sdist, wheel, demo and types are as they should be")


if __name__ == "__main__":
    main()
