"""Questions about the documents themselves, by rule: which ones mention something, or who wrote one of them, and when.

"How many reports mention ketamine?" asks for documents; "How many patients were treated?" asks what they say, and so
does "How many studies were included?", which a review answers: a word for documents has to be asked for by what they
mention, or by the library that holds them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from preflight_rag.conversation.document_kinds import KINDS
from preflight_rag.state.reading import Lookup
from preflight_rag.text.lazy_patterns import LazyPattern
from preflight_rag.text.words import words

_SURE = (
    r"(?:documents?|files?|reports?|papers?|articles?|publications?|abstracts?|records?|filings?|memos?|e-?mails?"
    r"|pdfs?)"
)
"""Words for documents that hardly mean anything else."""
_NOUN = (
    rf"(?:{_SURE}|stud(?:y|ies)|trials?|texts?|(?:web ?)?pages?|sources?|(?:press )?releases?|reviews?|transcripts?"
    r"|meetings?)"
)
_OF = r"(?>(?:(?:the|these|those|this|my|our|your|all|all the|any|any of the|of the|of these|of my|of them) )*)"
_HERE = (
    r"(?:in|within|from|of|across) (?:the|this|my|our|your|these) (?:whole )?"
    rf"(?:library|collection|database|corpus|folder|{_NOUN})"
)
_SAYS = (
    r"(?:mention(?:s|ed|ing)?|discuss(?:es|ed|ing)?|contain(?:s|ing)?|talk(?:s|ed|ing)? about"
    r"|speak(?:s|ing)? (?:of|about)|refer(?:s|red|ring)? to|names?|naming|cover(?:s|ed|ing)?|deal(?:s|ing)? with"
    r"|(?:is|are|were) (?:about|on)|have (?:something|anything|information) (?:about|on)|report(?:s|ed|ing)? on"
    r"|cites?|citing|about|on|concern(?:s|ing)?|regarding|says? (?:something|anything) about|includes? the words?"
    r"|uses? the words?)"
)
_TOPIC = r"(?P<topic>[^?]+?)"
_TAIL = r"(?>(?:(?<![\s?.!])[\s?.!]++)?)"
"""The end of a question. It begins where such characters begin: of many, each would be tried as a beginning."""
_END = rf"(?: {_HERE}| (?:do (?:you|we) have|are there|exist|here)){{0,4}}{_TAIL}"
_HAVE = (
    r"(?:(?:do|can) (?:you|we|i) (?:have|know|search|read|hold|ask about)"
    rf"|(?:are|is) (?:there|available|stored|indexed|loaded|{_HERE}|here|known)|have (?:you|we) (?:got|read|indexed)"
    r"|does (?:the|this) (?:library|collection) (?:have|hold|contain))"
)
_ASKED = r"(?:please |(?:can|could|would) you (?:please )?)?"
_SHOW = r"(?:list|show(?: me)?|give me|find(?: me)?|name|enumerate|tell me|display|count)"
_LIST_OF = rf"{_ASKED}{_SHOW} {_OF}(?:list of )?{_OF}"

_LISTINGS = [
    rf"(?:which|what) {_OF}{_NOUN} (?:that |which )?{_SAYS} {_TOPIC}{_END}",
    rf"(?:which|what) {_OF}{_NOUN} (?:is|are) (?:an? )?{_NOUN}(?: (?:or|and) {_NOUN})? (?:of|from|by|about) "
    rf"{_TOPIC}{_END}",
    rf"(?:in )?(?:which|what) {_OF}{_SURE} (?:is|are|was|were|does|do) {_TOPIC} "
    rf"(?:mentioned|discussed|named|covered|described|appear|occur|cited){_END}",
    rf"how many {_OF}{_NOUN} (?:(?:are there|do (?:you|we) have|{_HERE}|that|which|there are) ){{0,4}}"
    rf"{_SAYS} {_TOPIC}{_END}",
    rf"how many {_OF}{_SURE} (?:(?:are|is) )?(?:there|{_HAVE}|{_HERE}){_END}",
    rf"how (?:large|big) is (?:the|this|your) (?:library|collection){_END}",
    rf"{_LIST_OF}{_NOUN} (?:(?:you have|that|which|there are) ){{0,4}}{_SAYS} {_TOPIC}{_END}",
    rf"{_LIST_OF}{_SURE}(?: (?:you have|there are|{_HERE})){{0,4}}{_TAIL}",
    rf"(?:which|what) {_OF}{_SURE} {_HAVE}(?: {_SAYS} {_TOPIC})?{_END}",
    rf"(?:do (?:you|we) have|are there|is there|have you) (?:any|a|some) {_SURE} (?:that )?{_SAYS} {_TOPIC}{_END}",
    rf"(?:do (?:you|we) have|is there|have you) (?:anything|something) (?:about|on) {_TOPIC} {_HERE}{_TAIL}",
    rf"(?:what|which) (?:is|are) (?:in|inside) (?:the|this|your|my) (?:library|collection|folder|database){_TAIL}",
]
_FILTERED = [
    rf"(?:(?:which|what|how many) {_OF}{_NOUN}|{_ASKED}{_SHOW} {_OF}{_NOUN}) (?:(?:are|were|was|is|have|been) ){{0,4}}"
    rf"(?P<filter>(?:(?:published|written|released|dated|authored|from|since|after|before|in|by)\b.*?)){_END}",
    rf"(?:which|what) {_OF}{_NOUN} did (?P<author>.+?) (?:write|publish|author){_END}",
]
_ENTITIES = LazyPattern(
    rf"{_ASKED}(?:{_SHOW}|what are|which) (?:all )?(?:the )?(?:different )?(?P<asked>[\w-]+(?: [\w-]+){{0,2}}?) "
    r"(?:(?:that )?(?:are|were|is|was) )?(?:studied|tested|used|investigated|mentioned|examined|evaluated|named"
    r"|discussed|reported|described|covered|compared) (?:in|by|across) "
    r"(?>(?:(?:all|the|these|those|my|our|your|any) )*)"
    r"(?:library|collection|documents|files|reports|papers|articles|publications|abstracts|records|filings|studies"
    rf"|trials)(?: (?:{_SAYS}|of|in|for) {_TOPIC})?{_TAIL}",
    re.IGNORECASE,
)
_PATTERNS = [LazyPattern(pattern, re.IGNORECASE) for pattern in _LISTINGS]
_FILTER_PATTERNS = [LazyPattern(pattern, re.IGNORECASE) for pattern in _FILTERED]
_YEARS = re.compile(r"\b(?P<how>in|from|since|after|before|of) (?:the year )?(?P<year>(?:19|20)\d\d)\b", re.IGNORECASE)
_BY = re.compile(r"\b(?:by|from) (?P<author>[^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,4})\s*$")
_JOURNAL = re.compile(r"\b(?:in|by) (?:the )?(?:journal )?(?P<journal>[A-Z][\w&.,'’ -]{1,200}+)$")
_STATES = re.compile(r"\S (?:is|are|was|were|has|have|had|did)(?: been)? [a-z]{3,}", re.IGNORECASE)
"""A verb in what seems to be a topic: "How many studies on smoking were included?" asks what a document says."""
_POINTER = re.compile(
    r"\b(?:it|this|that|them|these|those)\b(?: (?:first|originally|initially|last|actually|finally|also))?",
    re.IGNORECASE,
)

_A = (
    r"(?:the|this|that|a|an) "
    r"(?:(?:new|old|latest|last|recent|whole|full|same|present|original|published) |(?P<own>\w+) )?"
    r"(?:paper|article|study|trial|report|document|review|abstract|publication|manuscript|file|pdf|preprint|letter"
    r"|guideline|thesis|survey|memo|e-?mail|press release|filing|(?:web ?)?page|meta-analysis|case report)"
)
"""A document, with the word before it that may say what it is on: "the etoricoxib trial"."""
_CALLED = re.compile(
    r"(?<=\w) (?:paper|article|study|trial|publication|manuscript|preprint|meta-analysis|case report)$", re.IGNORECASE
)
"""The word for a document behind what it is on: "the AZD3199 vs formoterol study"."""
_PUBLISHED = re.compile(r"(?:^|(?<=\s))(?:been published|published|printed|appear(?:ed)?)(?: in)?$", re.IGNORECASE)
_TITLED = r"(?:on|about|of|titled|called|named|entitled|with the title|regarding|concerning|:)"
_WHICH = rf"(?P<noun>{_A})?(?: ?{_TITLED})? ?(?P<which>.*?)"
_OUT = r"(?:published|issued|released|written|dated|appear|come out)"
_GIVE = r"(?:what is|give me|what['’]s) the"
_DATE = ("Published", "Date", "File saved")
_PLACE = ("Journal", "Publisher")
"""Metadata fields that answer "where" for a document. For anything else that is published, "where" means a town."""
_METADATA: list[tuple[tuple[str, ...], str]] = [
    (("First author",), rf"(?:who|what) is (?:the name of )?the (?:first|lead) author of {_WHICH}"),
    (("Last author",), rf"(?:who|what) is (?:the name of )?the (?:last|senior) author of {_WHICH}"),
    (("Authors",), rf"who (?:wrote|authored|has written|(?:is|are|was|were) the authors? of) {_WHICH}"),
    (("Authors",), rf"(?:by whom was|who was) {_WHICH} (?:written|authored)(?: by)?"),
    (("Authors",), rf"(?:what|which) (?:is|are) the (?:names? of the )?authors? of {_WHICH}"),
    (
        ("Journal",),
        rf"(?:in )?(?:what|which) journal (?:was|is|were|did|has) {_WHICH}"
        r"(?: (?:published|appear(?:ed)?|printed|been published))?(?: in)?",
    ),
    (_PLACE, rf"where (?:was|is|has|did) {_WHICH} (?:been )?(?:published|appear)"),
    (("Journal",), rf"(?:what|which) journal (?:published|printed) {_WHICH}"),
    (("Journal",), rf"what is the journal of {_WHICH}"),
    (_DATE, rf"(?:when|(?:in |on )?(?:what|which) (?:year|date|day|month)) (?:was|were|is|did) {_WHICH} {_OUT}"),
    (_DATE, rf"what is the (?:(?:publication|release) (?:date|year)|(?:date|year) of publication) of {_WHICH}"),
    (_DATE, rf"what is the (?:date|year) of (?P<noun>{_A})(?: {_TITLED})? ?(?P<which>.*?)"),
    (("DOI",), rf"{_GIVE} (?:doi|digital object identifier) (?:of|for) {_WHICH}"),
    (("PMID",), rf"{_GIVE} (?:pmid|pubmed id(?:entifier)?) (?:of|for) {_WHICH}"),
    (("PMCID",), rf"{_GIVE} (?:pmcid|pmc id(?:entifier)?) (?:of|for) {_WHICH}"),
    (("Title",), rf"what is the (?:full )?title of {_WHICH}"),
    (("Publisher",), rf"who (?:published|is the publisher of) {_WHICH}"),
    (("Number of pages",), rf"how many pages (?:does|do|has|are in|is) {_WHICH}(?: have)?"),
    (("Keywords",), rf"what are the keywords? of {_WHICH}"),
]
_METADATA_PATTERNS = [(fields, LazyPattern(pattern + _TAIL, re.IGNORECASE)) for fields, pattern in _METADATA]
_SPEAKS_OF_DOCUMENTS = re.compile(
    r"document|file|report|paper|article|publi|abstract|record|filing|memo|mail|pdf|stud|trial|text|page|source|releas"
    r"|review|transcript|meeting|library|collection|database|corpus|folder"
    r"|author|wr[io]t|journal|issued|date|appear|come out|year|doi\b|identifier|pmid|pubmed|pmc|title|keyword",
    re.IGNORECASE,
)
"""Words of which each expression above needs one. A question without any is rejected before those expressions are
compiled.
"""
_OF_DOCUMENTS = ("Journal", "DOI", "PMID", "PMCID")
"""Metadata fields that only documents have. A question for one of them is about a document, whatever noun it uses."""
_SHORT = [
    (("Journal",), r"(?:and )?(?:in )?(?:which|what) journal"),
    (("Authors",), r"(?:and )?(?:who (?:are|were) the authors?|who wrote (?:it|that|this)|by whom)"),
    (_DATE, r"(?:and )?(?:when|when was (?:it|that|this) (?:published|written)|(?:in )?(?:which|what) year)"),
    (("DOI",), r"(?:and )?(?:what is |what's )?(?:the|its) doi"),
    (("Title",), r"(?:and )?what is (?:the|its) title"),
]
"""Short questions about the document mentioned just before. Without that document they are incomplete."""
_POINTED = rf"(?:that|this|those|these) (?P<pointed>(?:[\w-]{{1,30}} ){{0,2}}?{KINDS})"
_POINTED_FIELDS = [
    (
        ("Authors",),
        re.compile(
            r"who (?:wrote|authored|has written|drew up|compiled|made|prepared|(?:is|was) the author of) "
            rf"{_POINTED}\W*",
            re.I,
        ),
    ),
    (("Authors",), re.compile(r"who sent (?:that|this) (?P<pointed>letter|e?-?mail|message)\W*", re.I)),
    (
        _DATE,
        re.compile(
            rf"when (?:was|were) {_POINTED} (?:written|made|issued|published|sent|drawn up|compiled|prepared)\W*", re.I
        ),
    ),
    (
        _DATE,
        re.compile(
            r"when did (?P<author>(?-i:[A-Z])[\w'’.-]{1,30}(?: (?-i:[A-Z])[\w'’.-]{0,30}){0,3}) write "
            rf"(?:the|that|this) (?P<pointed>(?:[\w-]{{1,30}} ){{0,2}}?{KINDS})\W*",
            re.I,
        ),
    ),
]
"""Questions about a document that was just cited, called by its kind: "who wrote that list?"."""
_FRAGMENT = re.compile(
    r"(?:(?:and|or|what about|how about)(?: (?:for|about|on|of))? )+(?P<topic>(?!(?:why|how|what|when|where|who|which"
    r"|is|are|was|were|do|does|did|in|with|after|during|it|that|this)\b)[\w'’ -]{2,60})\W*",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"^[^\"“„«'‘\n]*+[\"“„«'‘](.{3,}?)[\"”“»'’]", re.MULTILINE)
_AROUND = " \"“”„«»'‘’.,:;?!"
_LEAD = re.compile(
    r"^(?=(?:the|an?|any|some|words?|terms?|phrase|name|use|topic)\b)(?:(?:the|a|an|any|some) )?"
    r"(?:words? |terms? |phrase |name )?(?:(?:the )?(?:use|topic) of )?(?:the |a |an )?",
    re.IGNORECASE,
)


def recognise_lookup(question: str) -> Lookup | None:
    """Return the lookup that a question about the documents themselves means; None for one about their content."""
    text = re.sub(r"^(?:and|so|ok|okay|then),? ", "", " ".join(question.split()), flags=re.IGNORECASE)
    if not _SPEAKS_OF_DOCUMENTS.search(text):
        return None
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(text):
            topic = _cleaned(match.groupdict().get("topic") or "")
            return None if _POINTER.fullmatch(topic) or _STATES.search(topic) else Lookup("listing", topic)
    things = _ENTITIES.fullmatch(text)
    if things and words(things["asked"]) and not re.fullmatch(_NOUN, things["asked"], re.IGNORECASE):
        return Lookup("listing", _cleaned(things["topic"] or ""), asked=things["asked"])
    return _filtered(text) or _metadata(text)


def lookup_after(message: str, before: str) -> Lookup | None:
    """Return the lookup of a message that continues one, such as "and naproxen?"; None for any other."""
    text = " ".join(message.split())
    known = recognise_lookup(before) or _shortened(before)
    if known is None:
        return None
    if known.kind == "listing" and known.topic and (match := _FRAGMENT.fullmatch(text)):
        return replace(known, topic=_cleaned(match["topic"]))
    return _shortened(text) if known.kind == "metadata" else None


def pointed_lookup(message: str) -> Lookup | None:
    """Return the lookup of a message about a document that the last answer cites: "who wrote that list?"; else None."""
    text = re.sub(r"^(?:and|so|ok|okay|but|then),? ", "", " ".join(message.split()), flags=re.IGNORECASE)
    for fields, pattern in _POINTED_FIELDS:
        if match := pattern.fullmatch(text):
            author = match.groupdict().get("author") or ""
            return Lookup("metadata", fields=fields, pointed=match["pointed"], author=author)
    return None


def _shortened(text: str) -> Lookup | None:
    """Return the lookup of a short question about the document mentioned before, such as "who wrote it?"."""
    for fields, pattern in _SHORT:
        if re.fullmatch(rf"{pattern}\W*", text, re.IGNORECASE):
            return Lookup("metadata", fields=fields)
    return None


def _filtered(text: str) -> Lookup | None:
    """Return the lookup of documents by author, journal or year."""
    for pattern in _FILTER_PATTERNS:
        if (match := pattern.fullmatch(text)) is None:
            continue
        found = match.groupdict()
        if found.get("author"):
            return Lookup("listing", author=_cleaned(found["author"]))
        rest = found["filter"]
        years = _YEARS.search(rest)
        rest = _YEARS.sub(" ", rest).strip()
        author, journal = _BY.search(rest), _JOURNAL.search(rest)
        if not (years or author or journal):
            return None
        return Lookup(
            "listing",
            author=_cleaned(author["author"]) if author else "",
            journal=_cleaned(journal["journal"]) if journal and not author else "",
            years=(years["how"].lower(), years["year"]) if years else (),
        )
    return None


def _metadata(text: str) -> Lookup | None:
    """Return the lookup of a document's metadata, such as its author or date; None for any other question."""
    for fields, pattern in _METADATA_PATTERNS:
        if match := pattern.fullmatch(text):
            quoted = _QUOTED.search(match["which"])
            unpublished = _PUBLISHED.sub("", match["which"]).rstrip()
            subject = _CALLED.sub("", unpublished)
            which = quoted[1] if quoted else _cleaned(f"{match['own'] or ''} {subject}")
            if not which and not match["noun"]:
                return None
            if _POINTER.fullmatch(which):
                which = ""
            is_document = bool(match["noun"] or quoted or subject != unpublished)
            if fields is _PLACE and not is_document:
                return None
            named = is_document or fields[0] in _OF_DOCUMENTS
            return Lookup("metadata", which, fields=fields, named=named)
    return None


def _cleaned(topic: str) -> str:
    """Return a topic without quotation marks, articles and words such as "in the library"."""
    text = re.sub(rf" {_HERE}$", "", topic.strip(), flags=re.IGNORECASE).strip(_AROUND)
    return _LEAD.sub("", text).strip(_AROUND)
