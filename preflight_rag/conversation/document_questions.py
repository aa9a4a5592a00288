"""Questions that a document answers, made by rule of its own words: sentences, cells of tables, fields, its card.

Each comes with the words that its answer has to have, so that whoever offers it can ask it first and see whether the
reader finds them. Nothing here says that a question is answered; `is_answered` judges what came of asking.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from preflight_rag.conversation.suggestions import parts, topic_of
from preflight_rag.library.storage.cards import card_id
from preflight_rag.state.values import Answer, Passage
from preflight_rag.text.inert import inert_line
from preflight_rag.text.overlap import compared_words, holds_words
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import Cell, is_figure, is_row, parse_row

LONGEST_QUESTION = 170
"""Characters of a question that a person reads at a glance; a guess."""
LONGEST_SENTENCE = 300
"""Characters of a sentence that one question can be made of; a guess."""
FORM_FIELDS = 4
"""Fields from which a document is a form, whose fields are asked for first; a guess."""
MOST_OF_A_KIND = 6
"""Candidates of each kind: each is asked before it is shown, which takes a fraction of a second. A guess."""

_MONTH = (
    "(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul"
    "|Aug|Sept?|Oct|Nov|Dec)"
)
_DATE = rf"(?P<value>(?:\d{{1,2}} )?(?:{_MONTH} )?(?:\d{{1,2}}, )?(?:1\d|20)\d\d)(?![\d–-])"
_NAME = r"^(?P<name>[A-Z][^,;:()\[\]|\"“”\n]{1,60}?)"
_BE = r"(?P<be>is|are|was|were)"
_ABOUT = r"(?:about |around |nearly |roughly |approximately |over |more than |at least |only )?"
_AMOUNT = r"(?P<value>(?:[$€£¥]|US\$|EUR |USD |GBP )?\d(?:[\d.,]*\d)?(?: ?%)?)"
_COUNT = (
    r"(?P<value>\d(?:[\d.,]*\d)?(?: (?:million|billion|thousand))?|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|fifteen|twenty|thirty|forty|fifty|sixty)"
)
_PARTICIPLE = (
    r"(?P<verb>(?:(?:first|officially|originally|finally) )?(?:[a-z]+ed|built|born|founded|made|held|sold|sent|lit|won"
    r"|begun|written|given|taken|set|found|left|lost|paid|drawn|grown|broken|put|cut|hit|shot|laid|bought|brought))"
)
_PAST = {
    "opened": "open", "closed": "close", "began": "begin", "started": "start", "ended": "end", "died": "die",
    "expired": "expire", "launched": "launch", "appeared": "appear", "arrived": "arrive", "retired": "retire",
    "closes": "close", "expires": "expire", "begins": "begin", "starts": "start", "ends": "end",
}  # fmt: skip
_COUNTED = {
    "has": "have", "have": "have", "had": "have", "contains": "contain", "contain": "contain", "holds": "hold",
    "hold": "hold", "employs": "employ", "employ": "employ", "employed": "employ", "comprises": "comprise",
    "included": "include", "includes": "include", "carries": "carry", "seats": "seat", "covers": "cover",
}  # fmt: skip
_SINGULAR = frozenset(word for word in _COUNTED if word.endswith("s") and word != "seats") | {"seats", "has"}
_WHEN_DONE = re.compile(rf"{_NAME} (?P<be>was|were) {_PARTICIPLE}(?P<rest> [^,;:]{{0,40}}?)? (?:on|in) {_DATE}")
_WHEN_DID = re.compile(rf"{_NAME} (?P<verb>{'|'.join(_PAST)}) (?:on|in) {_DATE}")
_WHEN_IS = re.compile(rf"{_NAME} {_BE} (?:on )?(?P<value>(?:\d{{1,2}} )?{_MONTH} (?:\d{{1,2}}, )?(?:1\d|20)\d\d)\b")
_HOW_LARGE = re.compile(
    rf"{_NAME} {_BE} {_ABOUT}{_AMOUNT} (?:\w+ ){{1,2}}(?P<verb>long|high|tall|wide|deep|old|thick|heavy)\b"
)
_HOW_MANY = re.compile(
    rf"{_NAME} (?P<verb>{'|'.join(_COUNTED)}) {_ABOUT}{_COUNT} (?P<rest>(?:[a-z-]+ ){{0,2}}[a-z]{{3,}}s)\b(?! of\b)"
)
_HOW_MUCH = re.compile(rf"{_NAME} (?P<verb>costs?) {_ABOUT}{_AMOUNT}")
_AMOUNTS_TO = re.compile(
    rf"{_NAME} {_BE} {_ABOUT}{_AMOUNT}(?=[ .])(?! (?:\w+ ){{1,2}}(?:long|high|tall|wide|deep|old)\b)"
    r"(?! (?:[\w.-]+ ){0,2}(?:[a-z]{3,}er|more|less|worse|above|below|than|ahead|behind|up|down)\b)"
)
"""Matches "The monthly rent is 1,850 EUR."; not "Sales were 3% lower than last year.", whose figure is a difference."""
_PLACE = r"(?:in|on|at|near) (?P<value>(?:the )?[A-Z][^,;.]{2,60})"
_WHERE_DONE = re.compile(rf"{_NAME} {_BE} (?P<verb>located|situated|based|headquartered) {_PLACE}")
_WHERE_DOES = re.compile(rf"{_NAME} (?P<verb>stands?|lies?) {_PLACE}")
_WHY = re.compile(rf"{_NAME} {_BE} (?P<verb>[a-z]+(?: [a-z]+){{0,3}}) because (?P<value>[^,;.]{{8,120}})")
_WHAT = re.compile(rf"{_NAME} {_BE} (?P<value>(?:an?|the|one of) [^.]{{10,}})")
_NOT_NAMES = re.compile(
    r"^(?:it|they|he|she|we|i|you|this|these|those|that|there|here|what|who|when|where|why|how|if|in|on|at|for|after"
    r"|before|since|while|during|as|by|with|from|to|one|some|many|most|each|both|all|no|our|my|its|his|her|their|your"
    r"|another|other|such|so|but|and|or|yet|not|then|also|because|although|though|however|figure|table|fig|section|note"
    r"|only|every|any|either|neither|none|nothing|today|now|once|first|last|next|again|between|indicate|please|see|two|three|four|five"
    r"|the (?:first|second|third|last|next|other|others|former|latter|same|rest|result|results|reason|aim)$|lanes?\b"
    r"|below|above|thus|hence|therefore|moreover|furthermore|consequently|indeed|instead|finally|additionally|similarly"
    r"|likewise|overall|typically|generally|usually|often|sometimes|recently|currently|\w+ing (?:the|a|an)\b|.*\bthere$"
    r")\b",
    re.IGNORECASE,
)
"""What begins a sentence and names nothing that a person would ask about by itself: "It", "The other", "Lanes 1 and 2",
"Mitigating the spread", "Between May and June there", "Thus f"; not "The other branch"."""
_NO_DEFINITION = re.compile(
    r"(?:(?:the|one of (?:the|its|our|their)) (?:most|least|first|second|third|last|next|only|same|main|key|best|worst"
    r"|mainstay|result|cause|reason|(?!forest|harvest|interest|request|contest|conquest|protest|priest|guest|chest)"
    r"[a-z]{3,}est)"
    r"|the \d|an? (?:[a-z]+ly )?(?:important|major|effective|key|bold|fine|national|popular|common|critical|significant"
    r"|useful|promising|good|valuable|serious|great|big|potent|strong|likely|possible|potential|better|practical|simple"
    r"|new|novel|attractive|suitable|reliable|powerful|rare|frequent))\b"
)
"""What a sentence says of a thing that it does not say what it is: "the most common site", "the softest with 1", "an
important cause"; not "the study of rocks"."""
_JUDGED_HEAD = re.compile(
    r"(?:advantage|alternative|answer|attempt|benefit|breakthrough|candidate|case|cause|challenge|choice|combination|concern"
    r"|consequence|contributor|coup|difference|disappointment|discovery|example|exception|factor|failure|favou?rite|focus|goal|idea"
    r"|improvement|increase|issue|lot|matter|measure|member|mistake|mystery|need|number|objective|option|part|pity|place"
    r"|predictor|priority|problem|question|reason|response|result|sign|source|step|success|surprise|target|threat|time|way"
    r"|winner|wonder)s?$"
)
"""Nouns that judge a thing or give its part in something: "a discovery made by chance" says not what penicillin is."""
_HEAD_NOUN = re.compile(
    r"(?:an?|the|one of(?: the| its)?) (?P<head>[^,;()]*?)"
    r"(?= (?:of|for|that|which|who|whose|in|on|at|with|to|by|from|where|when|and|or|between|among|used|made|\w{3,}ed)\b"
    r"|[,;().]|$)"
)
"""Matches "a chronic skin disorder| that is incurable", whose last word before the bar says what it is."""
_ACT = re.compile(
    r"(?:application|use|introduction|addition|lack|presence|absence|amount|number|aim|purpose|goal) of\b"
)
"""Names of acts and amounts, of which nobody asks what they are."""
_DONE_BY_AUTHORS = re.compile(r"(?:chosen|used|selected|taken|made|given|included|excluded|omitted|shown|noted|done)$")
"""Steps of a method, for whose reasons nobody asks who has not read of them."""
LONGEST_NAME = 4
"""Words of a thing of which it is asked what it is, without its article; a guess."""
LONGEST_VALUE = 8
"""Words of a field's value; what is longer is prose. A guess."""
_CLAUSE = re.compile(
    r"\b(?:that|which|who|whom|whose|where|whether|if|when|while|because|said|says|is|are|was|were|has|have|had|can|may|will|must"
    r"|but|than|not)\b"
)
_PERSON = re.compile(
    r"\b(?:actor|actress|artist|author|chemist|composer|director|doctor|economist|engineer|explorer|king|lawyer|manager"
    r"|mathematician|minister|musician|nurse|painter|philosopher|physician|physicist|poet|politician|president|professor"
    r"|queen|scientist|singer|surgeon|teacher|writer)\b"
)
_FIELD = re.compile(
    r"^[ \t]*(?P<label>[A-Z][A-Za-z]*(?: [A-Za-z]+){0,3}): {1,3}(?P<value>\S[^\n]{0,79})$", re.MULTILINE
)
_NO_FIELD = re.compile(
    r"^(?:note|warning|example|description|remark|caution|tip|important|source|figure|table|abstract|keyword|background"
    r"|method|result|conclusion|objective|question|answer|appendix|chapter|section|part|step)s?\b"
    r"|^(?:name|number|period|size|limit|most|least|last|completed|checked|signed)$"
    r"|^(?:most|least|completed|checked|signed|please|see|also|not)\b|\b(?:earned|updated|modified|used|attached|online)$"
    r"|^(?:it|he|she|we|they|you|this|that)\b"
    r"|\b(?:by|to|from|of|for|in|on|at|and|or|the|no|nr|ref|qty|amt|desc|is|are|was|were)$",
    re.IGNORECASE,
)
"""Labels that open prose, or that no question can be made of: "Appendix A", "Most recently updated", "Name" alone."""
_TELLING_LABEL = re.compile(
    r"\b(?:total|subtotal|amount|price|cost|rent|fee|due|balance|deposit|date|deadline|number|name|address|period|term"
    r"|venue|vehicle|diagnosis|manufacturer|supplier|customer|doctor|chair|owner|speed|weight|size|pressure|limit)\b",
    re.IGNORECASE,
)
"""Labels that people ask for, before others; set by reading twenty forms made for it."""
_UNIT = re.compile(r"[_ ](?:eur|usd|gbp|chf|kg|km|cm|mm|pct|percent)$", re.IGNORECASE)
_MAILS = frozenset({"eml", "msg", "mbox"})
"""Kinds of files that have a sender."""
_WITH_PROPERTIES = frozenset(
    {"pdf", "docx", "docm", "odt", "rtf", "pptx", "odp", "xlsx", "xlsm", "xls", "ods", "ppsx", "fodt", "fods", "fodp"}
)
"""Kinds of files whose properties name one person as author: whoever saved the file, or the program."""
_PERSON_NAME = re.compile(r"(?!.*\.(?:com|org|net|io)\b)(?!.* - )[^\W\d_][\w.'’-]*,? [\w.,'’ -]{1,60}")
"""Matches "Ada B. Thorne"; not "GitHub", "Kaleidoscope - kscope.io"."""
_CODE = re.compile(r"\S{25}")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_COLUMN = re.compile(r"(?=.*[A-Za-z]{3})[A-Za-z][\w /-]{1,30}|(?:1\d|20)\d\d")
_MEASURE = re.compile(
    r"(?:age|amount|area|assets|balance|budget|capacity|cost|costs|deposit|depth|distance|dose|duration|earnings|expenses|fee"
    r"|frequency|half-life|height|income|length|limit|mass|population|power|premium|pressure|price|profit|rate|rent"
    r"|revenue|revenues|salary|salaries|sales|score|size|speed|temperature|time|turnover|(?<!p-)(?<!p )value|version"
    r"|voltage|volume|wage|weight|width|yield)$",
    re.IGNORECASE,
)
"""Last words of columns that a thing has one of, so that "the … of" it is English: "list price"; not "votes for"."""
_NUMERAL = re.compile(r"[ivxlc]+|[a-z]|\w{0,3}\d\w*", re.IGNORECASE)
_SUM = re.compile(r"(?:sub-?|grand )?totals?\b|other\b|all\b", re.IGNORECASE)
"""Rows that are about no thing of their own: "the cost of Subtotal"."""
_PART_OF_METHOD = re.compile(
    r"(?:(?:the|and|study|patients?|participants?|subjects|materials?|methods?|data|statistical|statistics?|analys[ie]s"
    r"|procedures?|conclusions?|significance|abbreviations?|outcomes?|setting|design|sample|sheet\d*|collection"
    r"|measures?|variables|studied|results?|limitations|chemicals|ethics|population|principal|findings|test(?:ing|s)?"
    r"|chapter|content|\d+)\b[ ,/&:-]*)+",
    re.IGNORECASE,
)
"""Headings that papers and sheets have alike: "Materials and Methods", "sheet1"; not "patients with asthma"."""
_LABEL = re.compile(r"[^\W\d_][\w .'’/&-]{1,50}")
_CELL = re.compile(r"(?=[^\n()\[\]]{1,60}$)[^\w\n]*\w.*")


@dataclass(frozen=True)
class Candidate:
    """A question that a document may answer.

    Attributes:
        question: As a person would ask it.
        passages: Of which one has to be cited first.
        expected: Words that the answer, or the quote that stands first, has to hold; "" for a whole part's subject.
        named: Whether it names what it is about, so that it can be asked of a whole library, too.
        topic: The heading that it is about, "" for none; the heading alone is no answer.
    """

    question: str
    passages: frozenset[str]
    expected: str
    named: bool
    topic: str = ""


def candidates(
    title: str, authors: Sequence[str], document_id: str, passages: Sequence[Passage], kind: str = ""
) -> list[Candidate]:
    """Return the questions that a document may answer, the best candidates first.

    Args:
        title: The document's title, "" if it has none.
        authors: The document's authors, from its metadata card.
        document_id: The document's id.
        passages: The document's passages, in text order.
        kind: The ending of its file without the dot, such as "pdf"; "" where it came from no file.
    """
    fields = _firsts(_of_fields(passages))
    if len(fields) < FORM_FIELDS:  # outside of forms, most of what stands before a colon is no field
        fields = [each for each in fields if _TELLING_LABEL.search(each.question)]
    sentences, cells = list(_turn_about(_of_sentences(passages))), _firsts(_of_cells(passages))
    card = list(_of_card(title, authors, document_id, kind))
    ordered = [*sentences[:1], *card, *sentences[1:4], *cells[:3], *fields, *sentences[4:], *cells[3:]]
    if len(fields) >= FORM_FIELDS:
        ordered = [*fields[:3], *ordered]
    else:
        # Of an article nobody asks for "the date"; of an invoice they do.
        ordered = [each for each in ordered if each.question != "What is the date?"]
    ordered += _firsts(_of_headings(title, passages))
    found: dict[str, Candidate] = {}
    for each in ordered:
        plain = each.question == inert_line(each.question) and len(each.question) <= LONGEST_QUESTION
        if plain:
            found.setdefault(each.question.casefold(), each)
    return list(found.values())


def is_answered(candidate: Candidate, answer: Answer) -> bool:
    """Return whether the first quote of an answer states what the document says about the question's subject."""
    if answer.outcome not in ("answered", "evidence") or not answer.citations:
        return False
    first = answer.citations[0]
    if not first.verified or first.passage_id not in candidate.passages:
        return False
    if candidate.topic and set(compared_words(first.quote)) <= set(compared_words(candidate.topic)):
        return False
    expected = compared_words(candidate.expected)
    if answer.outcome == "answered" and answer.short_answer and expected:
        short = compared_words(answer.short_answer)
        return holds_words(expected, short) or holds_words(short, expected)
    return not expected or holds_words(expected, compared_words(first.quote))


def _firsts(found: Iterator[Candidate]) -> list[Candidate]:
    """Return the first few candidates of one kind."""
    return [each for _, each in zip(range(MOST_OF_A_KIND), found, strict=False)]


def _turn_about(kinds: dict[str, list[Candidate]]) -> Iterator[Candidate]:
    """Yield the first candidate of each kind, then the second of each, so that the first few differ in kind."""
    for row in zip_longest(*kinds.values()):
        yield from (each for each in row if each is not None)


def _of_sentences(passages: Sequence[Passage]) -> dict[str, list[Candidate]]:
    """Return the questions that can be made of sentences, grouped by the rule that made them."""
    found: dict[str, list[Candidate]] = {name: [] for name in _RULES}
    reached = 0
    lower = _written_small(passages)
    for passage in passages:
        for start, end in sentence_spans(passage.text):
            if passage.start + start < reached:
                continue
            reached = passage.start + end
            sentence = " ".join(passage.text[start:end].split())
            if len(sentence) > LONGEST_SENTENCE or is_row(sentence) or not sentence.endswith("."):
                continue
            for rule, (pattern, write) in _RULES.items():
                match = pattern.match(sentence)
                if match is None or len(found[rule]) >= MOST_OF_A_KIND or not _is_name(match["name"]):
                    continue
                name = _within(match["name"], lower)
                if question := write(match, name):
                    named = bool(re.search(r"[A-Z]", name)) or " " not in name
                    value = match["value"] if rule != "what" else " ".join(match["value"].split()[:5])
                    found[rule].append(Candidate(question, frozenset([passage.id]), value.strip(), named))
                break
    return found


def _written_small(passages: Sequence[Passage]) -> set[str]:
    """Return the words that occur within sentences more often in lower case than with a capital.

    A company's name in a web address, which is in lower case, has to stay a name.
    """
    small, capital = Counter[str](), Counter[str]()
    for passage in passages:
        small.update(re.findall(r"\b[a-z]+\b", passage.text))
        capital.update(word.lower() for word in re.findall(r"(?<=[a-z] )[A-Z][a-z]+\b", passage.text))
    return {word for word, count in small.items() if count > capital[word]}


def _is_name(name: str) -> bool:
    """Return whether the beginning of a sentence is a name, rather than a clause or a word such as "this"."""
    return len(name.split()) <= 8 and not _NOT_NAMES.match(name) and not _CLAUSE.search(name)


def _within(name: str, lower: set[str]) -> str:
    """Return a name as it is written within a sentence: with a lower-case article, and common words in lower case."""
    first, _, rest = name.partition(" ")
    small = first in ("The", "A", "An") or (first.lower() in lower and not re.match(r"[A-Z]", rest))
    return f"{first.lower()} {rest}".strip() if small else name


def _when_done(match: re.Match[str], name: str) -> str:
    """Return the question "When was NAME founded?" for a matched sentence; "" if it cannot be made."""
    rest = match["rest"] or ""
    return (
        "" if re.search(r"\b(?:and|that|which|by|but)\b", rest) else f"When {match['be']} {name} {match['verb']}{rest}?"
    )


def _when_did(match: re.Match[str], name: str) -> str:
    """Return the question "When did NAME open?" for a matched sentence; "" if it cannot be made."""
    does = "does" if match["verb"].endswith("s") else "did"
    return f"When {does} {name} {_PAST[match['verb']]}?"


def _how_many(match: re.Match[str], name: str) -> str:
    """Return the question "How many … does NAME have?" for a matched sentence; "" if it cannot be made."""
    verb = match["verb"]
    does = "did" if verb in ("had", "employed", "included") else "does" if verb in _SINGULAR else "do"
    return f"How many {match['rest']} {does} {name} {_COUNTED[verb]}?"


def _how_much(match: re.Match[str], name: str) -> str:
    """Return the question for an amount of money in a matched sentence; "" if it cannot be made."""
    return f"How much {'does' if match['verb'] == 'costs' else 'do'} {name} cost?"


def _with_article(name: str) -> str:
    """Return what a sentence names without an article so that a question can: "Hire of the hall", "the hire of …"."""
    bare = re.match(r"[A-Z][a-z]+(?= (?:of|for|per) )", name)
    return f"the {name[0].lower()}{name[1:]}" if bare else name


def _what(match: re.Match[str], name: str) -> str:
    """Return the question "What is NAME?" or "Who is NAME?" for a matched definition; "" if it cannot be made."""
    value, bare = match["value"], re.sub(r"^(?:the|an?) ", "", name)
    if _NO_DEFINITION.match(value) or len(bare.split()) > LONGEST_NAME or _ACT.match(bare):
        return ""
    head = _HEAD_NOUN.match(value)
    if head is None or _JUDGED_HEAD.search(head["head"]):
        return ""
    if _PERSON.search(value[:60]):
        return f"Who {match['be']} {name}?"
    # "Penicillin was a …" tells what happened; only what is gone, as the Silk Road, is defined in the past tense.
    is_gone = match["be"] in ("is", "are") or re.match(r"(?:the|an?) [A-Z]", name)
    return f"What {match['be']} {name}?" if is_gone else ""


def _why(match: re.Match[str], name: str) -> str:
    """Return the question "Why …?" for a matched sentence that states a reason; "" if it cannot be made."""
    return "" if _DONE_BY_AUTHORS.search(match["verb"]) else f"Why {match['be']} {name} {match['verb']}?"


def _where_does(match: re.Match[str], name: str) -> str:
    """Return the question "Where does NAME …?" for a matched sentence."""
    verb = match["verb"]
    return f"Where {'does' if verb.endswith('s') else 'do'} {name} {verb.removesuffix('s')}?"


_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], str], str]]
_RULES: dict[str, _Rule] = {
    "when done": (_WHEN_DONE, _when_done),
    "when did": (_WHEN_DID, _when_did),
    "when is": (_WHEN_IS, lambda match, name: f"When {match['be']} {name}?"),
    "how large": (_HOW_LARGE, lambda match, name: f"How {match['verb']} {match['be']} {name}?"),
    "how many": (_HOW_MANY, _how_many),
    "how much": (_HOW_MUCH, _how_much),
    "amounts to": (_AMOUNTS_TO, lambda match, name: f"What {match['be']} {_with_article(name)}?"),
    "where done": (_WHERE_DONE, lambda match, name: f"Where {match['be']} {name} {match['verb']}?"),
    "where does": (_WHERE_DOES, _where_does),
    "why": (_WHY, _why),
    "what": (_WHAT, _what),
}
"""Patterns that turn a sentence into a question. The first match counts; rules for one specific thing come before the
general "What is …?".
"""


def _of_cells(passages: Sequence[Passage]) -> Iterator[Candidate]:
    """Yield, for one cell of each row, the question for its column's value of the thing that the row describes."""
    for passage in passages:
        for line in passage.text.split("\n"):
            row = parse_row(line) if is_row(line) else None
            if row is None or len(row.cells) < 2:
                continue
            label, *others = [cell for cell in row.cells if cell.text.strip()]
            described = [cell for cell in others if _COLUMN.fullmatch(cell.column) and _CELL.fullmatch(cell.text)]
            asked = [cell for cell in described if _MEASURE.search(_column(cell)) or _YEAR.fullmatch(cell.column)]
            cell = next((cell for cell in asked if is_figure(cell.text)), asked[0] if asked else None)
            about = label.text.strip(" .:")
            # A second label, as "Goats | Female", says what the first does not.
            is_one = all(cell.column for cell in others) and not _NUMERAL.fullmatch(about)
            if cell is None or not is_one or is_figure(about) or not _LABEL.fullmatch(about) or _SUM.match(about):
                continue
            column = _asked_label(_column(cell))
            if year := _YEAR.fullmatch(column):
                question = f"What was {about} in {year[0]}?"
            else:
                question = f"What {_is_or_are(column)} the {column} of {about}?"
            yield Candidate(question, frozenset([passage.id]), cell.text, True)


def _column(cell: Cell) -> str:
    """Return a column's name in words, without its unit: "price" of "price_eur"."""
    return _UNIT.sub("", cell.column).replace("_", " ")


def _of_fields(passages: Sequence[Passage]) -> Iterator[Candidate]:
    """Yield a question for each field of a form: "Policy number: HX-20931"; those that people ask for come first."""
    seen: set[str] = set()
    later = []
    for passage in passages:
        for match in _FIELD.finditer(passage.text):
            label, value = match["label"], match["value"].strip()
            is_one = ": " not in value and not value.endswith((":", "-")) and not is_row(value)
            begins = re.match(r"(?:this|these|it|as|if) ", value, re.IGNORECASE)
            is_prose = len(value.split()) > LONGEST_VALUE or bool(begins)
            is_prose = is_prose or (label.isupper() and value.isupper() and not re.search(r"\d", value))
            tells = is_one and not is_prose and re.search(r"[\dA-Z]", value)
            if label in seen or not tells or _NO_FIELD.search(label):
                continue
            seen.add(label)
            asked = _asked_label(label)
            field = Candidate(f"What {_is_or_are(asked)} the {asked}?", frozenset([passage.id]), value, False)
            if _TELLING_LABEL.search(label):
                yield field
            elif " " in label:
                later.append(field)
    yield from later


def _of_card(title: str, authors: Sequence[str], document_id: str, kind: str) -> Iterator[Candidate]:
    """Yield the question for the authors of a paper, book or article; none for a mail, a form or an office file."""
    if not title or not authors or kind in _MAILS or not _PERSON_NAME.fullmatch(authors[0]):
        return
    if len(authors) == 1 and kind in _WITH_PROPERTIES:
        return
    called = f"“{title.rstrip('.*')}”"
    question = f"Who wrote {called}?" if len(authors) == 1 else f"Who are the authors of {called}?"
    yield Candidate(question, frozenset([card_id(document_id)]), authors[0], True)


def _of_headings(title: str, passages: Sequence[Passage]) -> Iterator[Candidate]:
    """Yield a question about each section that has a heading of its own."""
    under: dict[str, set[str]] = {}
    for passage in passages:
        for heading, _, _ in parts(passage):
            under.setdefault(heading, set()).add(passage.id)
    for heading, found in under.items():
        topic = topic_of(heading)
        if not topic or heading.strip() == title.strip() or _CODE.search(topic) or _PART_OF_METHOD.fullmatch(topic):
            continue
        yield Candidate(f"What does the document say about {topic}?", frozenset(found), "", False, topic)


def _is_or_are(label: str) -> str:
    """Return the verb for a label: "are" if it looks like a plural."""
    return "are" if re.search(r"[^su]s$", label) else "is"


def _asked_label(label: str) -> str:
    """Return a label as it is written within a question: in lower case, except for acronyms."""
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in label.split())
