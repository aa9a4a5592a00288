"""What stands below a question that a document itself asks: lists of questions and answers (FAQs).

"8.1. Does chrony support Windows?" over "No. It is not portable, …" answers "Does chrony work on Windows?" with its
first paragraph, which shares no word with it. The question may be a heading, an underlined line, an item of a list with
its answer behind it, or a line that begins with "Q:". By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from preflight_rag.state.reading import Source
from preflight_rag.text.headings import headings_of
from preflight_rag.text.negation import denies
from preflight_rag.text.other_things import subject_words
from preflight_rag.text.sentences import ITEM_MARK, Span, sentence_spans
from preflight_rag.text.values import asked_kind
from preflight_rag.text.words import words

LEAST_SHARED = 0.6
"""Least share of the words of either question that both have; a guess. Two words have to be shared."""
LEAST_OF_NARROWER = 0.4
"""The same of a document's question that has all words of the user's; it is shown before its answer. A guess."""
MOST_EQUAL = 3
"""Narrower questions that fit equally well of which all are shown; a guess."""
SHORT = 60
"""Characters of a first paragraph to which the next one is joined: "No."; a guess."""
LONGEST = 450
"""Characters of what is shown of an answer; a guess."""
_LEAD = re.compile(
    r"[ \t#*_>|•·-]{0,12}(?P<number>\[?[A-Z]?\.?\d{1,3}(?:\.\d{1,3}){0,3}[\].):]{0,2}[ \t]|[QF][ \t]?\d{0,3}[:.)]"
    r"|Question\b[ \t]?\d{0,3}[:.)])?[ \t*_]{0,4}"
)
"""Marks before a question: "8.1. ", "[B.2] ", "- ", "## ", "Q: ", "Question 3: "."""
_ASKS = re.compile(r"[?？][*_)\"”’ ]{0,4}$")
_MARKED = re.compile(r"[ \t*_]{0,4}(?:Q[ \t]?\d{0,3}[:.)]|Question\b[ \t]?\d{0,3}[:.)])(?=[ \t*_])")
"""The mark of a question of a list, which may be written as a statement: "Q: Some files have clicks."."""
_OPENS_ANSWER = re.compile(r"(?:[ \t*_\n]|[=~-]{3,}(?=[ \t]*\n)|(?:A|Answer)[ \t]?\d{0,3}[:.)](?=[ \t*_\n]))*")
"""What stands between a question and its answer: line ends, an underline, "A:"."""
_BARE_REPLY = re.compile(
    r"\W{0,8}(?:A(?:nswer)?:\s{0,4})?(?:yes|no|maybe|never|sometimes|not yet)\W{0,8}", re.IGNORECASE
)
_LINE_ENDS = re.compile(r"[ \t*_]{0,8}(?:\n|$)")
_RULE = re.compile(r"[=~*_ \t-]{3,}")
_PARAGRAPH_ENDS = re.compile(r"\n[ \t]*\n")
_CAN = re.compile(r"(?:can|could|may) (?:i|we|you|one)\b|is it possible\b|how (?:do|can|could|would|should|to)\b", re.I)
"""Questions for whether and how something can be done: the answer to either answers the other."""
_ASKED_FOR = re.compile(r"(?:how|why|when|where|who)\b", re.IGNORECASE)
_SAYS_LITTLE = frozenset(
    words(
        "work support run use go get have need make possible available allowed want please tell know any there exist"
        " offer provide handle cope mean happen"
    )
)
"""Words of a question that another question may have in other words."""
_SYNONYMS = tuple(
    frozenset(words(group))
    for group in (
        "turn change convert transform",
        "build make create",
        "fix repair solve mend cure",
        "delete remove erase",
        "start launch begin",
        "buy purchase obtain",
    )
)
_MAKES = frozenset().union(*_SYNONYMS[:2])
"""Verbs that mean the same where both questions say what becomes what: "make vinegar from wine", not "make a copy"."""
_BECOMES = re.compile(r"\b(?:from|into|out of|to (?:an?|the))\b", re.IGNORECASE)
_OPPOSITES = tuple(
    (frozenset(words(one)), frozenset(words(other)))
    for one, other in (
        ("start launch begin run", "stop end halt quit"),
        ("enable activate", "disable deactivate"),
        ("add install insert", "remove delete uninstall erase"),
        ("open unlock", "close shut lock"),
        ("allow allowed permit permitted", "forbid forbidden ban banned prohibit prohibited"),
        ("buy purchase", "sell"),
        ("increase raise", "decrease reduce lower"),
        ("join", "leave"),
        ("connect", "disconnect"),
    )
)
_OFF = re.compile(r"\boff\b", re.IGNORECASE)


def quotes_below(question: str, sources: Sequence[Source], most: int = 1) -> list[tuple[int, str]]:
    """Return `(passage, quote)` of what stands below questions that ask nearly the same as a question, nearest first.

    Args:
        question: The question.
        sources: The passages.
        most: The largest number of quotes; of narrower questions that fit as well as the last, more are shown.
    """
    found: list[tuple[float, int, int, bool, str]] = []
    for source in sources:
        spans = sentence_spans(source.text)
        for place, at, asked in _questions(source.text, spans):
            share = _shared(question, asked, source)
            if share < LEAST_OF_NARROWER:
                continue
            begin, end = _answer(source.text, spans, place)
            if begin == end:
                continue
            # Of a narrower question the answer alone would seem to be one to the question.
            is_narrower = share < LEAST_SHARED or _is_narrower(asked, question)
            shown_from = at if is_narrower else begin
            found.append((-share, source.n, shown_from, is_narrower, source.text[shown_from:end]))
    found.sort()
    shown = found[:most]
    if shown and shown[-1][3]:
        equal = [each for each in found[most:] if each[3] and each[0] == shown[-1][0]]
        shown += equal[: MOST_EQUAL - 1]
    return [(n, quote) for _, n, _, _, quote in shown]


def is_question(quote: str) -> bool:
    """Return whether a quote asks something, and so answers nothing."""
    return _ASKS.search(quote) is not None or (_MARKED.match(quote) is not None and "\n" not in quote)


def is_bare_reply(quote: str) -> bool:
    """Return whether a quote is "No." or "Yes." alone, which may be the answer to any question of its document."""
    return _BARE_REPLY.fullmatch(quote) is not None


def _questions(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, int, str]]:
    """Yield the questions of a list of questions: the sentence's place, where it begins, and its words without marks.

    They are alone on their line, or behind a mark or a number, or follow such a question on the same line.
    """
    was_question = False
    for place, (start, end) in enumerate(spans):
        line = _begun_line(text, start)
        is_asked = line is not None and (bool(line[0].strip()) or _LINE_ENDS.match(text, end) is not None)
        follows = was_question and line is None
        was_question = _ASKS.search(text[start:end]) is not None and (is_asked or follows)
        if was_question:
            begin = max(start, line.end()) if line else start
            numbered = line.start("number") if line and line["number"] else begin
            yield place, max(start, numbered), text[begin:end].rstrip("*_ ")


def _begun_line(text: str, start: int) -> re.Match[str] | None:
    """Return the marks at the beginning of the line that a sentence begins; None for one inside a line.

    The splitter may take a number for a sentence of its own.
    """
    lead = _LEAD.match(text, text.rfind("\n", 0, start) + 1)
    return lead if lead and lead.end() >= start else None


def _shared(question: str, asked: str, source: Source) -> float:
    """Return the least share of the words of two questions that both have; 0 where they ask for different things."""
    if asked_kind(asked) != asked_kind(question) and not (_CAN.match(asked) and _CAN.match(question)):
        return 0.0
    first, other = _ASKED_FOR.match(question), _ASKED_FOR.match(asked)
    if first and other and first[0].casefold() != other[0].casefold():
        return 0.0
    if denies(asked) != denies(question) or bool(_OFF.search(asked)) != bool(_OFF.search(question)):
        return 0.0
    own = subject_words(asked)
    # A question for all documents names the one that is meant: "… in Freeciv?".
    titled = frozenset(words(f"{source.title} {PurePath(source.source).stem} {source.heading}"))
    wanted = subject_words(question)
    wanted -= titled - own
    shared = wanted & own
    missing = wanted - own - _SAYS_LITTLE
    # "Is drinking allowed in the barn?" is another question than "Is smoking allowed in the barn?".
    means_all = all(_has_synonym(word, own) for word in missing)
    if not means_all and not (missing <= _MAKES and _make_the_same(question, asked, wanted, own)):
        return 0.0
    if len(shared) < 2 or _are_opposite(wanted, own):
        return 0.0
    return min(len(shared) / len(wanted), len(shared) / len(own))


def _has_synonym(word: str, own: frozenset[str]) -> bool:
    """Return whether some words have one that means the same as a word."""
    return any(word in group and group & own for group in _SYNONYMS)


def _make_the_same(question: str, asked: str, wanted: frozenset[str], own: frozenset[str]) -> bool:
    """Return whether two questions say by different verbs that the same things become each other."""
    makes = bool(_MAKES & wanted) and bool(_MAKES & own) and wanted - _MAKES == own - _MAKES
    return makes and all(_BECOMES.search(each) for each in (question, asked))


def _are_opposite(wanted: frozenset[str], own: frozenset[str]) -> bool:
    """Return whether two questions ask for opposites: "start the pump" and "stop the pump from starting"."""
    for pair in _OPPOSITES:
        for one, other in (pair, pair[::-1]):
            for these, those in ((wanted, own), (own, wanted)):
                if one & these and not other & these and other & those:
                    return True
    return False


def _is_narrower(asked: str, question: str) -> bool:
    """Return whether a document's question has a word that limits it, and the user's has not."""
    wanted = subject_words(question)
    return any(not _has_synonym(word, wanted) for word in subject_words(asked) - wanted - _SAYS_LITTLE - _MAKES)


def _answer(text: str, spans: Sequence[Span], place: int) -> Span:
    """Return where the answer to the question at a place stands: its first paragraph, of a short one the next, too.

    An empty span where another question or heading follows.
    """
    start, end = spans[place]
    for further in spans[place + 1 :]:  # "Is there one for Windows? How do I install it?" has one answer
        if _begun_line(text, further[0]) or not _ASKS.search(text[slice(*further)]):
            break
        end = further[1]
    opens = _OPENS_ANSWER.match(text, end)
    begin = opens.end() if opens else end
    line, item = _begun_line(text, start), ITEM_MARK.match(text, text.rfind("\n", 0, start) + 1)
    headings = {at for at, _ in headings_of(text)}
    asked_end, end = end, begin
    for start, stop in spans[place + 1 :]:
        if stop <= begin:
            continue
        begun = _begun_line(text, start)
        has_number = begun is not None and bool(begun["number"])
        is_new = end == begin or _PARAGRAPH_ENDS.search(text, end, start) is not None
        sentence = text[max(start, begin) : stop]
        if sentence.startswith("#") or _RULE.fullmatch(sentence) or start in headings or stop - begin > LONGEST:
            break
        if has_number and line and line["number"]:
            break
        if _ASKS.search(sentence) and (is_new or (begun and begun[0].strip())):
            break
        if end > begin and is_new and end - begin >= SHORT and text[end - 1] != ":":
            break
        if item and "\n" in text[asked_end:start] and _is_next_item(text, start, item["indent"]):
            break
        end = stop
    return begin, end


def _is_next_item(text: str, start: int, indent: str) -> bool:
    """Return whether a sentence begins an item of a list that is not deeper than an indent."""
    line = ITEM_MARK.match(text, text.rfind("\n", 0, start) + 1)
    return line is not None and len(line["indent"]) <= len(indent)
