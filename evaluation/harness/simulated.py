"""A simulated reader with a known positional bias: a chat model without language skills, for testing the harness.

It knows in advance which passages contain each question's answer, finds them among the passages of a prompt, and
notices such a key passage with a probability that depends on its place alone: high at both ends and low in the middle,
as in language models (Liu et al., Lost in the Middle, 2023). Its figures say nothing about any language model; tables
with them show its name, which begins with "simulated".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult

from evaluation.samples import Sample
from preflight_rag.prompts import answer_group, map_context, relate_contexts, rewrite
from preflight_rag.prompts.fences import fenced, letter, material
from preflight_rag.prompts.replies import NO_INFORMATION, NOT_FOUND
from preflight_rag.text.plural import plural_question

NAME = "simulated"
_PASSAGE = re.compile(r'<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>', re.DOTALL)
_CONTEXT = re.compile(r"^Context(\d+)\nTitle: .*\n(?:Date: .*\n)?Text: (.*)$", re.MULTILINE)
_EXTRACT = re.compile(r"<extract>\n(.*?)\n</extract>", re.DOTALL)
_STATED = re.compile(r"The answer is (.+?) \[(\d+)\]\.")
_OPTION = re.compile(r"^\(?([A-Z])[.):] (.+)$", re.MULTILINE)
_ASKED = re.compile(r"^Question: (.+)$", re.MULTILINE)
_QUOTED = 12


@dataclass(frozen=True)
class ReadingBias:
    """How the simulated reader reads.

    Of `count` passages, the one at `place` (from 0) is noticed with probability

        edge − (edge − middle) · min(1, (count − 1) / (full − 1)) · (1 − |2x − 1| ** sharpness),   x = place/(count − 1)

    Attributes:
        edge: Probability at both ends, and for a passage that is alone.
        middle: Probability in the exact middle of `full` passages or more; with fewer the dip is less deep.
        full: Number of passages at which the dip has its full depth.
        sharpness: How narrow the dip's shoulders are; with 2 it is a parabola.
        prior: Probability of being right without a key passage, by guessing among options or from memory.
        resolves: Probability of preferring the key passage to one that was noticed too and gives a wrong answer.
        seed: Seed of all draws.
    """

    edge: float = 0.95
    middle: float = 0.5
    full: int = 16
    sharpness: float = 2.0
    prior: float = 0.3
    resolves: float = 0.8
    seed: int = 0

    def noticed(self, place: int, count: int) -> float:
        """Return the probability that the passage at `place` (from 0) of `count` is noticed."""
        if count < 2:
            return self.edge
        depth = min(1.0, (count - 1) / max(1, self.full - 1))
        dip: float = 1 - abs(2 * place / (count - 1) - 1) ** self.sharpness
        return self.edge - (self.edge - self.middle) * depth * dip

    def expected(self, place: int, count: int) -> float:
        """Return the expected accuracy for a key passage at `place`, with options and without wrong passages."""
        noticed = self.noticed(place, count)
        return noticed + (1 - noticed) * self.prior


@dataclass(frozen=True)
class KnownAnswers:
    """The simulation's knowledge of a question: the answer, and which texts give it or a wrong one."""

    id: str
    right: str
    wrong: tuple[str, ...]
    keys: tuple[str, ...]
    misleading: Mapping[str, str]

    @classmethod
    def of(cls, question: Sample, documents: Mapping[str, str]) -> KnownAnswers:
        """Return the knowledge from the roles of a question's passages, and the texts of its gold documents."""
        right = question.right or (question.answers[0][0] if question.answers else "")
        gold = [given.text for given in question.given if given.role in ("gold", "support", "contradict")]
        gold += [documents[name] for name in sorted(question.documents) if name in documents]
        misleading = {_plain(given.text): given.answer for given in question.given if given.role == "wrong"}
        wrong = question.wrong or tuple(option for option in question.options if option != right)
        return cls(question.id, right, wrong, tuple(map(_plain, gold)), misleading)

    def says(self, text: str) -> str | None:
        """Return the answer that a passage, or a part of one, gives; None if it gives none."""
        plain = _plain(text)
        if any(plain in key or key in plain for key in self.keys if plain and key):
            return self.right
        stated = (answer for answer in (self.right, *self.misleading.values()) if f"The answer is {answer}" in text)
        if answer := next(stated, None):
            return answer
        return next((answer for passage, answer in self.misleading.items() if passage and passage in plain), None)


class SimulatedChat(BaseChatModel):
    """A chat model that answers the prompts of this package, and others that use their tags and `Question: ` lines.

    Every draw depends on the seed and the question alone, so the same question is as hard in every arm, at every place
    and in every partition.
    """

    bias: ReadingBias
    questions: Mapping[str, KnownAnswers]
    """Known answers by the question's text, in the singular and in the plural."""

    @classmethod
    def of(
        cls, questions: Iterable[Sample], bias: ReadingBias | None = None, documents: Mapping[str, str] | None = None
    ) -> SimulatedChat:
        """Return a simulation that knows these questions; `documents` are texts of gold documents by id."""
        known: dict[str, KnownAnswers] = {}
        for question in questions:
            known[_plain(question.question)] = of = KnownAnswers.of(question, documents or {})
            known.setdefault(_plain(plural_question(question.question) or ""), of)
        return cls(bias=bias or ReadingBias(), questions=known)

    @property
    def model_name(self) -> str:
        """The model's name in reports."""
        return f"{NAME} reader (U-shaped positional bias)"

    @property
    def _llm_type(self) -> str:
        return NAME

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {**asdict(self.bias), "questions": self._digest}

    @cached_property
    def _digest(self) -> str:
        """Hash of the known questions, part of the cache key."""
        return hashlib.sha256(repr(sorted(self.questions.items(), key=lambda item: item[0])).encode()).hexdigest()

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        text = self._reply(str(messages[0].text), str(messages[-1].text))
        read, written = count_tokens_approximately(messages), count_tokens_approximately([AIMessage(text)])
        usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        message = AIMessage(text, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message, generation_info={"finish_reason": "stop"})])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)

    def _reply(self, system: str, prompt: str) -> str:
        """Return the reply to a prompt by the kind of prompt, which its system message tells."""
        if system == rewrite.SYSTEM:
            return f"QUESTION: {prompt.split('<message>')[-1].split('</message>')[0].strip()}"
        if system == answer_group.PLURAL_SYSTEM:
            return str(_ASKED.findall(prompt)[-1])
        known = self._known(prompt)
        if known is None:
            return NOT_FOUND
        if system == relate_contexts.SYSTEM:
            return _relations(known, _CONTEXT.findall(prompt))
        passages = [(int(n), text) for n, text in _PASSAGE.findall(prompt)]
        if extracts := _EXTRACT.findall(prompt):
            stated = [(answer, int(n)) for extract in extracts for answer, n in _STATED.findall(extract)]
        else:
            stated = self._noticed(known, passages)
        if system == map_context.SYSTEM:
            side = self._side(known, stated)
            lines = [f"The answer is {answer} [{n}]." for answer, n in stated]
            return "\n".join([*lines, f"ANSWER: {side or 'none'}"]) if lines else NO_INFORMATION
        options = [text.strip() for _, text in _OPTION.findall(prompt.split("<options>")[-1])]
        return self._answer(known, stated, options, dict(passages))

    def _known(self, prompt: str) -> KnownAnswers | None:
        """Return the known answers to the question in a prompt; None if it is not known."""
        for asked in _ASKED.findall(prompt):
            if (known := self.questions.get(_plain(asked))) is not None:
                return known
        text = _plain(prompt)
        return next((known for asked, known in self.questions.items() if asked and fenced(asked) in text), None)

    def _noticed(self, known: KnownAnswers, passages: Sequence[tuple[int, str]]) -> list[tuple[str, int]]:
        """Return the answers `(answer, number)` of the passages that this model, by its bias of position, notices."""
        found = []
        for place, (n, text) in enumerate(passages):
            answer = known.says(text)
            kind = "key" if answer == known.right else "misleading"
            if answer and self._draw(known, kind) < self.bias.noticed(place, len(passages)):
                found.append((answer, n))
        return found

    def _answer(
        self,
        known: KnownAnswers,
        stated: Sequence[tuple[str, int]],
        options: Sequence[str],
        passages: Mapping[int, str],
    ) -> str:
        """Return a reply with the chosen answer, else one from memory or a guess, and its citation and quote."""
        chosen = self._side(known, stated)
        if chosen is None and not options and passages:
            return NOT_FOUND
        others = [option for option in options or known.wrong if option != known.right]
        answer = chosen or (known.right if self._draw(known, "prior") < self.bias.prior else "")
        if not answer or (options and answer not in options):
            if not others:
                return NOT_FOUND
            answer = others[int(self._draw(known, "guess") * len(others))]
        cited = next((n for one, n in stated if one == answer), None)
        lines = [f"The answer is {answer} [{cited}]." if cited else f"The answer is {answer}."]
        if answer in options:
            lines.append(f"CHOICE: {letter(list(options).index(answer))}")
        if cited is not None and cited in passages:
            lines += ["QUOTES", f'[{cited}] "{" ".join(passages[cited].split()[:_QUOTED])}"']
        return "\n".join(lines)

    def _side(self, known: KnownAnswers, stated: Sequence[tuple[str, int]]) -> str | None:
        """Return the answer that is chosen from those noticed."""
        answers = {answer for answer, _ in stated}
        wrong = sorted(answers - {known.right})
        if known.right in answers and (not wrong or self._draw(known, "resolves") < self.bias.resolves):
            return known.right
        return wrong[0] if wrong else None

    def _draw(self, known: KnownAnswers, what: str) -> float:
        """Return a number in [0, 1) for a question; the same for each prompt about it."""
        digest = hashlib.sha256(f"{self.bias.seed}|{known.id}|{what}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64


def _relations(known: KnownAnswers, contexts: Sequence[tuple[str, str]]) -> str:
    """Return a reply for `relate_contexts`: contexts of one entity without descriptor, differing in their answers."""
    answers = {n: known.says(text) for n, text in contexts}
    pivot = answers.get("1")
    lines = []
    for n, answer in list(answers.items())[1:]:
        kind = "Irrelevant" if not (answer and pivot) else "Duplicated" if answer == pivot else "Counterfactual"
        lines.append(f"Context{n} - {kind}")
    return "\n".join([*lines, *(f"Context{n}: it | none | {answer or 'none'}" for n, answer in answers.items())])


def _plain(text: str) -> str:
    """Return a text without fences and with single spaces, to compare it with prompts."""
    return " ".join(material(text).split())
