"""The long regular expressions of the library: what each matches, and what it must not."""

import pytest

from preflight_rag.ingest.loaders import fields, formulas, html, layout, mail, mail_quotes, pdf, pdf_tables, settings
from preflight_rag.library.search import roles, spelling, summary


@pytest.mark.parametrize(
    ("matches", "example", "other"),
    [
        (html._CHARSET.search, b'<meta charset="utf-8">', b"<p>charset=utf-8</p>"),
        (html._NOT_SHOWN.search, "color: red; display : none", "display: block; opacity: 0.5; font-size: 10px"),
        (fields._FORM.match, "Insured name Gabriel Diaz", "Name That Tune"),
        (fields._FILLED_IN.search, "BOOKING ORDER Print Date 12/15/2024", "The Year of the Flood"),
        (formulas.WITHOUT_VALUE.search, b'<c r="D2"><f>B2*C2</f></c>', b'<c r="D2"><f>B2*C2</f><v>50</v></c>'),
        (mail._STUB.search, "View this mail in your browser.", "The bill was 860 crowns."),
        (mail_quotes._WROTE.search, "Am 3. März schrieb Jon Vale:", "Jon Vale asked:"),
        (mail_quotes._ADDRESS.search, "Jon Vale <jon@example.org>", "Jon Vale @ the harbour"),
        (mail_quotes._BEFORE_A_NAME.match, ", Jon Vale", "Jon Vale"),
        (mail_quotes._FIELD.match, "*Gesendet:* Montag", "Gesendet wird am Montag"),
        (layout._OPEN_END.search, "the effects of the", "the effects."),
        (pdf._NO_TITLE.fullmatch, "Microsoft Word - draft.doc", "Aspirin and stroke"),
        (pdf._FIGURES_BEHIND.search, "Net sales 3,909 3,673", "It rose in 2021 for the first time"),
        (pdf_tables._FIGURE.fullmatch, "$(3,115)", "3 patients"),
        (settings._KEY.match, "  - port: 8443", "listen 80;"),
        (settings._KEY.match, "[[mirror]]", "no section"),
        (spelling._PREFIX.match, "hypotension", "tension"),
        (spelling._SUFFIX.search, "colectomy", "colon"),
        (summary._CAPTION.match, "Figure 2. Survival by arm", "Figures of speech were used."),
        (summary._LABEL.match, "Table 3.", "Table 3. Baseline characteristics of the patients"),
        (summary._REFERENCE.search, "Smith J, Jones K. Aspirin. doi 10.1000/1", "Smith found that aspirin helps."),
        (summary._NOTICE.search, "All rights reserved.", "The rights of patients were respected."),
        (summary._BACK_MATTER.match, "Conflicts of interest", "Interest in the drug has grown"),
        (roles._OTHERS.search, "Several large studies were done", "Our study was done in 2012"),
        (roles._OTHERS.search, "It fell (Smith and Jones 2004)", "It fell (p = 0.04)"),
        *[
            (roles._AIM[number].search, example, "Aspirin has been used since 1899.")
            for number, example in enumerate(
                (
                    "The aim of this trial was to compare two doses.",
                    "Here we examine two doses.",
                    "A trial was designed to find the dose.",
                    "This phase II study explored two doses.",
                    "To compare two doses of aspirin.",
                )
            )
        ],
        (roles._METHOD[0].search, "A total of 70 subjects took part", "Seventy is a number"),
        (roles._METHOD[1].search, "They were randomly allocated", "Doses are low"),
        (roles._METHOD[2].search, "Blood was collected", "Blood is red"),
        (roles._RESULT[0].search, "no significant difference", "a significant burden of disease"),
        (roles._RESULT[1].search, "pain decreased", "pain is common"),
        (roles._CONCLUSION[1].search, "These results suggest a benefit", "The suggestion was made"),
        (roles._HEADINGS["method"].fullmatch, "materials and methods", "results"),
        (summary._LEANS.match, "However, this was not so.", "Aspirin lowers fever."),
    ],
)
def test_a_pattern_matches_its_example_and_not_the_other(matches, example, other):
    assert matches(example)
    assert not matches(other)
