"""Forty follow-ups with their first questions over whole filings, trial reports and an article, without a model.

The answers were written down by reading the documents. They are split by document: the tuning part was looked at while
the rules were made, the test part was only counted.
"""

import sys
from pathlib import Path

import pytest
from question_sets import ask, rows

from preflight_rag import Preflight
from preflight_rag.library import Library

pytestmark = pytest.mark.slow

SET = Path(__file__).with_name("follow_ups.jsonl")
WANTED = 0.6
"""Share of follow-ups with the answer in the first quote."""


@pytest.fixture(scope="module")
def app(data_dir, embedder, tmp_path_factory):
    files = {row["document"] for part in ("tuning", "test") for row in rows(SET, part)}
    papers = sorted((data_dir / "ingest_docs/pmc_pairs").glob("*.nxml"))
    if not papers or not all((data_dir / name).is_file() for name in files):
        pytest.skip("PREFLIGHT_DATA lacks ingest_docs or the filings of financebench")
    folder = tmp_path_factory.mktemp("follow") / "library"
    with Library.open(folder, embedder=embedder, create=True) as library:
        library.ingest([*papers, *sorted(data_dir / name for name in files if not name.endswith(".nxml"))])
    with Preflight.open(folder, "offline") as opened:
        yield opened


@pytest.mark.parametrize("part", ["tuning", "test"])
def test_most_follow_ups_have_the_answer_in_the_first_quote(app, part):
    shown = [ask(app, row) for row in rows(SET, part)]
    sys.stdout.write("\n".join(map(str, shown)))
    assert len(shown) == 20
    assert sum(item.first for item in shown) >= WANTED * len(shown)
