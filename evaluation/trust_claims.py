"""Whether the claims of an answer are right, by the human annotations of its question (experiment `trust`).

Claims are judged by rule against human annotations, and if a rule can err, it is strict:

- a short answer is right if it contains a name of the answer, or `same_answer` says so of both, with few words more;
  not if it also contains an answer that is known to be false, or if it is one of several and another is not right;
- a yes/no question is answered only by a verdict; a listing has to cite or name every document, and a count to say it;
- if documents disagree, one side alone is wrong;
- the right passage is one with a sentence of the evidence, or any passage of a document that answers as a whole; the
  right quote contains such a sentence, or is a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.datasets.trust import SILENT, TrustQuestion
from preflight_rag.corg.agreement import same_answer
from preflight_rag.text.headers import CONTRADICTED
from preflight_rag.text.sentences import sentence_spans

if TYPE_CHECKING:
    from preflight_rag.state.values import Answer

CLAIMS = ("answered", "listing")
"""Outcomes that claim something."""
UNCOUNTED = (*SILENT, "language", "open")
"""Kinds that do not count as answerable: for an open question no rule can decide whether an answer is right."""
FIRST = 3
LONGER = 12
"""Most additional words of a right short answer beyond a name of the answer; a guess: the rest of its clause."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SEVERAL = "; "
"""Separator of several answers in one headline."""
CELL, BETWEEN = " | ", r"\w{0,60}?"
"""Separator of the cells of a row of evidence, and a pattern for text between them: other cells, names of columns."""
LEAST = 25
"""Least letters and digits of a text that identify its place in a document; a guess: four words."""
VERDICT = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class ShownCitations:
    """A citation as an answer shows it.

    Attributes:
        document: Name of the document.
        title: Its title.
        quote: The shown words.
        passage: The text of their passage.
    """

    document: str
    title: str
    quote: str
    passage: str


@dataclass(frozen=True)
class JudgedAnswer:
    """One answer, and whether its claims are right.

    Attributes:
        question: The question.
        answer: The answer.
        shown: Its citations in their order.
        claimed: Whether it claims anything.
        right: Whether that is right.
        reason: Why, in a few words.
    """

    question: TrustQuestion
    answer: Answer
    shown: tuple[ShownCitations, ...]
    claimed: bool
    right: bool
    reason: str

    @property
    def kind(self) -> str:
        """The question's kind, with questions about pairs of passages marked as such."""
        return f"{self.question.kind}, two passages" if self.question.given else self.question.kind

    @property
    def counts(self) -> bool:
        """Whether the library answers the question, and a rule can decide whether an answer is right."""
        return self.question.kind not in UNCOUNTED and not self.question.given

    @property
    def found(self) -> bool | None:
        """Whether a right passage is among the first quotes'; None if the question is not about a passage."""
        return self._within([item.passage for item in self.shown])

    @property
    def quoted(self) -> bool | None:
        """Whether a right sentence is among the first quotes."""
        return self._within([item.quote for item in self.shown])

    def _within(self, texts: Sequence[str]) -> bool | None:
        """Return whether one of some citations' texts contains the evidence; None for questions without evidence."""
        asked = self.question
        if not asked.answerable or asked.given or asked.kind in ("metadata", "collection"):
            return None
        first = list(zip(self.shown, texts, strict=True))[:FIRST]
        return any(holds_evidence(asked, item, text) for item, text in first)


def judge(question: TrustQuestion, answer: Answer, shown: tuple[ShownCitations, ...]) -> JudgedAnswer:
    """Return an answer with whether its claims are right."""
    return JudgedAnswer(question, answer, shown, *claim_of(question, answer, shown))


def claim_of(question: TrustQuestion, answer: Answer, shown: Sequence[ShownCitations]) -> tuple[bool, bool, str]:
    """Return whether an answer claims something, whether that is right, and why."""
    said = headline(answer)
    if answer.outcome not in CLAIMS:
        return False, False, f"nothing claimed ({answer.outcome})"
    if question.kind in SILENT:
        return True, False, "claimed where there is no answer"
    if question.right:
        verdict = verdict_of(answer)
        return True, verdict == question.right, f"verdict {verdict}" if verdict else "no verdict"
    if question.kind == "disagree":
        both = announced(answer) or side_by_side(question, answer)
        return True, both, "both sides" if both else "one side alone"
    if question.kind == "collection":
        return True, *lists(question, answer, shown)
    if question.kind == "open":
        right = bool(shown) and holds_evidence(question, shown[0], shown[0].passage)
        return True, right, "first quote from the marked turns" if right else "first quote from elsewhere"
    if not said:
        right = bool(shown) and holds_evidence(question, shown[0], shown[0].quote)
        return True, right, "quotes the sentence that answers" if right else "quotes another sentence"
    right = says_all(said, question.answers, question.false)
    return True, right, "says the answer" if right else "says something else"


def headline(answer: Answer) -> str:
    """Return an answer's claim: its short answer, or its several answers, or a listing's text; "" for quotes alone."""
    if answer.outcome == "listing":
        return answer.answer
    if answer.outcome not in CLAIMS:
        return ""
    return answer.short_answer or answer.choice or SEVERAL.join(group.answer for group in answer.groups)


def verdict_of(answer: Answer) -> str | None:
    """Return the yes or no that an answer gives to its question, if it gives one."""
    said = headline(answer) if answer.outcome == "answered" else ""
    found = VERDICT.match(said)
    return found[1].lower() if found else None


def announced(answer: Answer) -> bool:
    """Return whether an answer's text says that sources contradict each other."""
    return CONTRADICTED.rstrip(":") in answer.answer.casefold()


def side_by_side(question: TrustQuestion, answer: Answer) -> bool:
    """Return whether both sides' answers are in the claim, or in groups of different documents."""
    if len(answer.groups) > 1 and answer.outcome in ("answered", "evidence"):
        of = {cited.n: cited.document_id for cited in answer.citations}
        cited = []
        for group in answer.groups:
            cited.append({of[n] for n in group.citations if n in of})
        if any(a and b and a.isdisjoint(b) for a, b in combinations(cited, 2)):
            return True
    said = headline(answer) if answer.outcome == "answered" else ""
    for names in question.answers:
        if not any(holds(said, name) for name in names):
            return False
    return bool(question.answers)


def says_all(said: str, answers: Sequence[Sequence[str]], false: Sequence[str]) -> bool:
    """Return whether a headline gives every right answer, and no other one."""
    several = said.split(SEVERAL)
    for names in answers:
        if not any(says(one, names, false) for one in several):
            return False
    given = [one for one in several if any(says(one, names, false) for names in answers)]
    return len(given) == len(several)


def says(said: str, names: Sequence[str], false: Sequence[str]) -> bool:
    """Return whether a short answer gives one of an answer's names, with few more words, and none that is false.

    `same_answer` accepts a part of a name, e.g. "India" for "Varanasi, India"; so more than half is required.
    """
    really_false = [name for name in false if not any(holds(right, name) for right in names)]
    denied = any(holds(said, name) for name in really_false)
    words = len(tokens(said))
    fitting = [name for name in names if len(tokens(name)) / 2 < words <= len(tokens(name)) + LONGER]
    return not denied and any(holds(said, name) or same_answer(said, name) for name in fitting)


def lists(question: TrustQuestion, answer: Answer, shown: Sequence[ShownCitations]) -> tuple[bool, str]:
    """Return whether a listing has every document, cited or named, or begins with the requested count.

    An answer that is not a listing has to name the titles in its claim.
    """
    if question.answers:
        counts = [word for word in tokens(headline(answer)) if word.isdigit() or word in NUMBERS][:1]
        counted = bool(counts) and counts[0] in {name for names in question.answers for name in names}
        return counted, "says the count" if counted else "does not say the count"
    cited = {item.document for item in shown}
    if answer.outcome != "listing" and headline(answer).count(SEVERAL) >= len(question.documents):
        return False, "says other things, too"
    if answer.outcome != "listing":
        cited = {item.document for item in shown if item.title and item.title.casefold() in headline(answer).casefold()}
    missing = [name for name in question.documents if name not in cited and Path(name).name not in headline(answer)]
    others = len(cited - set(question.documents))
    right = not missing and others <= len(question.documents)
    return right, f"{len(missing)} of {len(question.documents)} documents missing, {others} others"


def holds(text: str, name: str) -> bool:
    """Return whether a text contains a name, word for word; a number only as a whole."""
    words, wanted = tokens(text), tokens(name)
    return bool(wanted) and any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def tokens(text: str) -> list[str]:
    """Return words and whole numbers of a text, without case and thousands' separators."""
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text.casefold().replace("−", "-").replace("–", "-"))
    return re.findall(r"\d+(?:[.:]\d+)*|[^\W\d_]+", plain)


def holds_evidence(question: TrustQuestion, item: ShownCitations, text: str) -> bool:
    """Return whether a document's text contains a sentence or row of the question's evidence, or is part of one."""
    if item.document not in question.documents:
        return False
    squeezed = letters(text)
    return not question.evidence or any(
        stands_in(piece, squeezed) or (len(squeezed) >= LEAST and squeezed in letters(piece))
        for evidence in question.evidence
        for piece in pieces_of(evidence)
    )


def pieces_of(evidence: str) -> list[str]:
    """Return the sentences of evidence that are long enough to identify their place.

    Without any, the whole, such as the row of a table.
    """
    pieces = [] if CELL in evidence else [evidence[a:b] for a, b in sentence_spans(evidence)]
    return [piece for piece in pieces if len(letters(piece)) >= LEAST] or [evidence]


def stands_in(piece: str, squeezed: str) -> bool:
    """Return whether a text's letters and digits contain those of a sentence, or of a row's cells in their order."""
    if CELL not in piece:
        return letters(piece) in squeezed
    return re.search(BETWEEN.join(map(letters, piece.split(CELL))), squeezed) is not None


def letters(text: str) -> str:
    """Return only the letters and digits, so that line breaks and hyphens make no difference."""
    return re.sub(r"[\W_]+", "", text).casefold()
