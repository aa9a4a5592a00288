"""README for package indices: its links, which are relative in the repository, lead to the repository from there.

Everything else of the build is in pyproject.toml.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HOME = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]


def absolute(match: re.Match[str]) -> str:
    """A Markdown link or image to a file of the repository, as an address."""
    mark, text, target = match.groups()
    view = "raw" if mark else "blob"
    return f"{mark}[{text}]({HOME}/{view}/main/{target})"


README = Path("README.md").read_text(encoding="utf-8")
setup(
    long_description=re.sub(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)\s]+)\)", absolute, README),
    long_description_content_type="text/markdown",
)
