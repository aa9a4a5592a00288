"""Overviews of documents by rule: the kind, the main sentence and the readers, from the title, the file and the text.

Nothing is guessed: readers that the document does not name are left out, and the sentence is the document's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from preflight_rag.library.search import roles
from preflight_rag.library.search.summary import LONGEST, can_stand, of_passages
from preflight_rag.state.values import Passage
from preflight_rag.text.quotes import plain

LOOKED_AT = 40
"""Passages of a document of which an overview is made, about 20 pages: a guess."""
TOP_LINES = 12
"""Lines at a document's beginning that may name its kind; a guess."""
GIST_TOKENS = 120
"""Maximum tokens of the sentence that represents a paper; a guess."""
RECIPIENT_FIELD_CHARACTERS, RECIPIENT_SENTENCE_CHARACTERS = 4000, 20_000
"""Characters at a document's beginning in which a field or a sentence may name its readers; guesses."""

_KIND_NAMES = {
    "invoice": "Invoice", "receipt": "Receipt", "quotation": "Quotation", "purchase order": "Purchase order",
    "booking": "Booking", "agreement": "Agreement", "contract": "Contract", "lease": "Lease", "minutes": "Minutes",
    "agenda": "Agenda", "policy": "Policy", "guideline": "Guideline", "guide": "Guide", "manual": "Manual",
    "instructions": "Instructions", "leaflet": "Leaflet", "price list": "Price list", "form": "Form",
    "claim form": "Claim form", "order form": "Order form", "application form": "Application form",
    "application": "Application", "questionnaire": "Questionnaire", "certificate": "Certificate", "thesis": "Thesis",
    "press release": "Press release", "annual report": "Annual report", "medical report": "Medical report",
    "report": "Report", "memo": "Memo", "memorandum": "Memo", "newsletter": "Newsletter", "specification":
    "Specification", "recipe": "Recipe", "timetable": "Timetable", "syllabus": "Syllabus",
    "faq": "Questions and answers", "curriculum vitae": "Curriculum vitae", "resume": "Curriculum vitae",
}  # fmt: skip
"""Nouns by which a document calls itself, and the name of its kind; longer nouns count before shorter ones."""
_FILE_KINDS = {
    "pdf": "PDF", "docx": "Word document", "odt": "Text document", "rtf": "Text document", "pptx": "Slides",
    "odp": "Slides", "xlsx": "Spreadsheet", "xls": "Spreadsheet", "ods": "Spreadsheet", "csv": "Table", "tsv": "Table",
    "html": "Web page", "htm": "Web page", "xhtml": "Web page", "epub": "E-book", "eml": "E-mail", "msg": "E-mail",
    "nxml": "Article", "xml": "XML file", "json": "JSON file", "jsonl": "Record", "md": "Note", "txt": "Text",
    "ipynb": "Notebook", "log": "Log", "fodt": "Text document", "fods": "Spreadsheet", "fodp": "Slides",
    "ppsx": "Slides", "tex": "LaTeX document",
}  # fmt: skip
_RECIPIENT_FIELD = re.compile(
    r"^[ \t]*(?:prepared for|issued to|bill(?:ed)? to|sold to|ship to|attention|attn|to|for|customer(?: name)?|client"
    r"(?: name)?|patient(?: name)?|insured(?: name)?|guest(?: name)?|tenant|employee(?: name)?|recipient|audience"
    r"|intended (?:audience|for)): {0,3}(?P<who>[^\W\d_][^\n|]{1,79})$",
    re.IGNORECASE | re.MULTILINE,
)
_RECIPIENT_SENTENCE = re.compile(
    r"\b(?:is|are|was|were) (?:intended|meant|written|designed|made) (?:mainly |primarily |only )?for "
    r"(?P<who>[^.;:()\n]{3,80})"
    r"|\b(?:this|the) (?:guide|manual|leaflet|document|policy|handbook|book|paper|note) is for "
    r"(?P<whom>[^.;:()\n]{3,80})",
    re.IGNORECASE,
)
_LONGEST_KINDS_FIRST = sorted(_KIND_NAMES, key=len, reverse=True)
_END_OF_KIND_PHRASE = re.compile(
    r" (?:of|for|on|to|about|between|with|from|and|in|at|by|no|number)\b|[:,;–]| - ", re.IGNORECASE
)
"""The end of the noun phrase that names a document's kind: "Delivery agreement | for pumps"."""
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Overview:
    """A short description of a document.

    Attributes:
        what: The document's kind, as its text or else its file type names it: "Invoice", "Web page".
        gist: The sentence that represents the document; "" if it has no sentences.
        audience: The readers that the document names for itself; "" if it names none.
    """

    what: str
    gist: str
    audience: str


def overview_of(
    title: str, name: str, kind: str, fields: Sequence[str], passages: Sequence[Passage], count: Callable[[str], int]
) -> Overview:
    """Return the overview of a document: its kind, its most important sentence and its readers.

    Args:
        title: The document's title.
        name: Its file name, or its source.
        kind: Its file extension without the dot; "" for none.
        fields: The identifiers on its card, such as "doi".
        passages: Its first passages, in order.
        count: Counts tokens.
    """
    text = "\n".join(passage.text for passage in passages)
    return Overview(_kind(title, name, kind, fields, text), _gist(title, passages, count), _audience(text))


def _kind(title: str, name: str, kind: str, fields: Sequence[str], text: str) -> str:
    """Return a document's kind, such as "Report", by its title, by a short line at its top or by its file's name.

    If none of these names a kind, the file's extension `kind` does; "Document" without an extension. A document with an
    identifier such as a DOI is an article.
    """
    if {"doi", "pmid", "pmcid"} & set(fields):
        return "Article"
    lines = [line.strip(" #*\t") for line in text.split("\n") if line.strip()][:TOP_LINES]
    short_lines = [line for line in lines if len(line.split()) <= 5 and not re.search(r"[|:#.]", line)]
    beginning_of_title = _END_OF_KIND_PHRASE.split(title, maxsplit=1)[0]
    for phrase in (beginning_of_title, *(_END_OF_KIND_PHRASE.split(line)[0] for line in short_lines)):
        if noun := _kind_at_end(_lower_case_words(phrase)):
            return _KIND_NAMES[noun]
    file_words = _lower_case_words(PurePath(name).stem.replace("_", " "))
    noun = _kind_at_end(file_words)
    noun = noun or next((known for known in _LONGEST_KINDS_FIRST if f"{file_words} ".startswith(f"{known} ")), "")
    if noun:
        return _KIND_NAMES[noun]
    return _FILE_KINDS.get(kind, f"{kind.upper()} file" if kind else "Document")


def _lower_case_words(text: str) -> str:
    """Return the words of a text in lower case, with single spaces between them and without figures."""
    return " ".join(_WORD.findall(text)).casefold()


def _kind_at_end(words: str) -> str:
    """Return the longest noun for a kind of document with which some words end, "annual report"; "" for none."""
    return next((noun for noun in _LONGEST_KINDS_FIRST if f" {words}".endswith(f" {noun}")), "")


def _gist(title: str, passages: Sequence[Passage], count: Callable[[str], int]) -> str:
    """Return the sentence that represents a document: a paper's conclusion, else the first whole sentence; or ""."""
    sentences = [
        sentence for sentence in of_passages(passages, count) if can_stand(sentence.text) and sentence.tokens <= LONGEST
    ]
    core_indices = roles.core(sentences, GIST_TOKENS)
    if core_indices:
        first_core = min((sentences[index] for index in core_indices), key=lambda sentence: sentence.place)
        return plain(" ".join(first_core.text.split()))
    texts = (sentence.text for sentence in sentences)
    first_text = next((text for text in texts if text.strip(" .") != title.strip(" .")), "")
    return plain(" ".join(first_text.split()))


def _audience(text: str) -> str:
    """Return the readers for whom a text says that it was written, "people at home"; "" if it does not say so."""
    match = _RECIPIENT_FIELD.search(text[:RECIPIENT_FIELD_CHARACTERS])
    match = match or _RECIPIENT_SENTENCE.search(text[:RECIPIENT_SENTENCE_CHARACTERS])
    if match is None:
        return ""
    groups = match.groupdict()
    return " ".join((groups.get("who") or groups.get("whom") or "").split()).rstrip(" .,")
