"""The long regular expressions of the library: what each matches, and what it must not."""

import pytest

from preflight_rag.library.loaders import html, layout, pdf, pdf_tables
from preflight_rag.library.query import spelling
from preflight_rag.library.search import summary


@pytest.mark.parametrize(
    ("matches", "example", "other"),
    [
        (html._CHARSET.search, b'<meta charset="utf-8">', b"<p>charset=utf-8</p>"),
        (layout._OPEN_END.search, "the effects of the", "the effects."),
        (pdf._NO_TITLE.fullmatch, "Microsoft Word - draft.doc", "Aspirin and stroke"),
        (pdf._FIGURES_BEHIND.search, "Net sales 3,909 3,673", "It rose in 2021 for the first time"),
        (pdf_tables._FIGURE.fullmatch, "$(3,115)", "3 patients"),
        (spelling._PREFIX.match, "hypotension", "tension"),
        (spelling._SUFFIX.search, "colectomy", "colon"),
        (summary._CAPTION.match, "Figure 2. Survival by arm", "Figures of speech were used."),
        (summary._LABEL.match, "Table 3.", "Table 3. Baseline characteristics of the patients"),
        (summary._REFERENCE.search, "Smith J, Jones K. Aspirin. doi 10.1000/1", "Smith found that aspirin helps."),
        (summary._NOTICE.search, "All rights reserved.", "The rights of patients were respected."),
        (summary._BACK_MATTER.match, "Conflicts of interest", "Interest in the drug has grown"),
        (summary._LEANS.match, "However, this was not so.", "Aspirin lowers fever."),
    ],
)
def test_a_pattern_matches_its_example_and_not_the_other(matches, example, other):
    assert matches(example)
    assert not matches(other)
