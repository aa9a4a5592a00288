"""Dates of real documents, as their first pages state them; what a program saved is no date of a document."""

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.prepare import dated

FILINGS, DOCUMENTS = "financebench/pdfs", "ingest_docs"
STATED = {
    # Of a report on a period the cover states the period's end; of a current report its date; of a release its day.
    f"{FILINGS}/ADOBE_2022_10K.pdf": "2022-12-02",
    f"{FILINGS}/AMAZON_2017_10K.pdf": "2017-12-31",
    f"{FILINGS}/AMCOR_2022_8K_dated-2022-07-01.pdf": "2022-07-01",
    f"{FILINGS}/AMCOR_2023Q2_10Q.pdf": "2022-12-31",
    f"{FILINGS}/AMCOR_2023_10K.pdf": "2023-06-30",
    f"{FILINGS}/AMERICANEXPRESS_2022_10K.pdf": "2022-12-31",
    f"{FILINGS}/BESTBUY_2023_10K.pdf": "2023-01-28",
    f"{FILINGS}/BESTBUY_2024Q2_10Q.pdf": "2023-07-29",
    f"{FILINGS}/BOEING_2022_10K.pdf": "2022-12-31",
    f"{FILINGS}/FOOTLOCKER_2022_8K_dated-2022-05-20.pdf": "2022-05-20",
    f"{FILINGS}/FOOTLOCKER_2022_8K_dated_2022-08-19.pdf": "2022-08-19",
    f"{FILINGS}/JOHNSON_JOHNSON_2022Q4_EARNINGS.pdf": "2023-01-24",
    f"{FILINGS}/JOHNSON_JOHNSON_2023_8K_dated-2023-08-30.pdf": "2023-08-30",
    f"{FILINGS}/MGMRESORTS_2022Q4_EARNINGS.pdf": "2023-02-08",
    f"{FILINGS}/PEPSICO_2023_8K_dated-2023-05-05.pdf": "2023-05-03",
    f"{FILINGS}/PFIZER_2021_10K.pdf": "2021-12-31",
    f"{FILINGS}/Pfizer_2023Q2_10Q.pdf": "2023-07-02",
    f"{FILINGS}/ULTABEAUTY_2023Q4_EARNINGS.pdf": "2023-03-09",
    f"{DOCUMENTS}/markitdown/RECEIPT-2024-TXN-98765_retail_purchase.pdf": "2024-11-23",
    f"{DOCUMENTS}/markitdown/SPARSE-2024-INV-1234_borderless_table.pdf": "2024-11-15",
    f"{DOCUMENTS}/markitdown/movie-theater-booking-2024.pdf": "2024-12-15",
    f"{DOCUMENTS}/markitdown/test_blog.html": "2023-04-21",
    f"{DOCUMENTS}/markitdown/test_outlook_msg.msg": "2024-12-22",
    f"{DOCUMENTS}/py-pdf-samples/021-pdfa__crazyones-pdfa.pdf": "1998-10-14",
    f"{DOCUMENTS}/py-pdf-samples/026-latex-multicolumn__multicolumn.pdf": "2024-01-03",
    f"{DOCUMENTS}/unstructured/eml__email-no-html-content-1.eml": "2022-10-10",
    f"{DOCUMENTS}/unstructured/eml__fake-email-attachment.eml": "2022-12-23",
    f"{DOCUMENTS}/unstructured/pdf__copy-protected.pdf": "2021-06-21",
    f"{DOCUMENTS}/unstructured/pdf__fake-memo.pdf": "2023-05-05",
    f"{DOCUMENTS}/unstructured/pdf__multi-column-2p.pdf": "2020-09-30",
}
UNDATED = (
    *("markitdown/REPAIR-2022-INV-001_multipage.pdf", "markitdown/masterformat_partial_numbering.pdf"),
    *("markitdown/equations.docx", "markitdown/test.docx", "markitdown/test.pptx", "markitdown/test.xlsx"),
    *("unstructured/fake.docx", "unstructured/fake-power-point.pptx", "unstructured/simple.odt"),
    *("unstructured/pdf__layout-parser-paper-with-table.pdf", "unstructured/docx-tables.docx"),
    "py-pdf-samples/012-libreoffice-form__libreoffice-form.pdf",
)
"""Of `DOCUMENTS`: what states no day of its own anywhere on its first page, but was saved on one."""
FROM_TEMPLATES = {"unstructured/fake.docx", "unstructured/fake-power-point.pptx"}
"""Written by libraries, whose templates hold the only time in them."""


@pytest.mark.slow
@pytest.mark.parametrize("name", STATED)
def test_a_real_document_has_the_date_that_it_states(data_dir, name):
    assert dated(next(iter(load(data_dir / name)))).date == STATED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", UNDATED)
def test_when_a_real_file_was_saved_is_not_its_date(data_dir, name):
    found = dated(next(iter(load(data_dir / DOCUMENTS / name))))
    assert found.date is None
    assert ("file_saved" in found.metadata) == (name not in FROM_TEMPLATES)
