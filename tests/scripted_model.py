"""A scripted chat model that answers every prompt of the product and of the experiments in the form it asks for.

What it says is taken from the prompt: the beginning of the first passage, the first option, one relation for all
contexts. So everything that reads replies has something to read, and a whole run can be asked over HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evaluation.experiments import corg_build, pairs
from preflight_rag.prompts import (
    answer_group,
    answer_plain,
    map_context,
    reduce_context,
    relate_contexts,
    rewrite,
)

WORDS = 12
_PASSAGE = re.compile(r'<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>', re.DOTALL)
_EXTRACT = re.compile(r"<extract>\n(.*?)\n</extract>", re.DOTALL)
_CONTEXT = re.compile(r"^Context(\d+)$", re.MULTILINE)
_OPTION = re.compile(r"^\(?([A-Z])[.):] (.+)$", re.MULTILINE)
_MESSAGE = re.compile(r"<message>\s*(.*?)\s*</message>", re.DOTALL)


def reply(body: Mapping[str, Any]) -> str:
    """The reply to a request, as `ScriptedServer` takes a script."""
    system, prompt = str(body["messages"][0]["content"]), str(body["messages"][-1]["content"])
    if system == rewrite.SYSTEM:
        return f"QUESTION: {_MESSAGE.findall(prompt)[-1]}"
    if system == answer_group.PLURAL_SYSTEM:
        return prompt.removeprefix("Question: ")
    if system == relate_contexts.SYSTEM:
        return _related([int(n) for n in _CONTEXT.findall(prompt)])
    if system == corg_build.SYSTEM:
        return _context(prompt)
    if system == corg_build.SUB_SYSTEM:
        return _sub_questions(prompt)
    if system == pairs.SYSTEM:
        return f"What is known about {_beginning(_PASSAGE.findall(prompt)[0][1], 4)}?"
    if system == map_context.SYSTEM:
        return _extract(prompt)
    return _answer(prompt) + ("\nCHOICE: A" if "<options>" in prompt else "")


def read(body: Mapping[str, Any], said: str) -> tuple[str, bool]:
    """What kind of reply this is, and whether the product's own parser reads all of it that was asked for."""
    system, prompt = str(body["messages"][0]["content"]), str(body["messages"][-1]["content"])
    options = [text for _, text in _OPTION.findall(prompt.split("<options>")[-1])] if "<options>" in prompt else []
    if system == relate_contexts.SYSTEM:
        contexts = [int(n) for n in _CONTEXT.findall(prompt)]
        told = relate_contexts.parse(said, len(contexts))
        notes = all(n in told.notes and told.notes[n].answer for n in contexts)
        return "relation", notes and set(told.kinds) == set(contexts[1:])
    if system == map_context.SYSTEM:
        extract = map_context.parse(said, options)
        return "extract", bool(extract.text and extract.answer)
    if system == answer_group.SYSTEM:
        draft = answer_group.parse(said)
    elif system.startswith(answer_plain.SYSTEM):
        draft = answer_plain.parse(said, options)
    elif system.startswith(reduce_context.SYSTEM):
        draft = reduce_context.parse(said, options)
    else:
        return "other", True
    cited = bool(draft.quotes) or system.startswith(reduce_context.SYSTEM)
    return "answer", draft.found and bool(draft.text) and cited and (not options or draft.choice in options)


def _answer(prompt: str) -> str:
    """The first extract as it is; else the first passage's beginning, cited and quoted; else no more than a word."""
    if extracts := _EXTRACT.findall(prompt):
        return str(extracts[0]).split("\nANSWER:")[0]
    if not (passages := _PASSAGE.findall(prompt)):
        return "ANSWER: unknown"
    n, text = passages[0]
    said = _beginning(text, WORDS)
    return f'{said} [{n}].\nQUOTES\n[{n}] "{said}"'


def _extract(prompt: str) -> str:
    """The first passage's beginning, cited, and what it answers: the first option, or the beginning's first words."""
    answer = "A" if "<options>" in prompt else _beginning(_PASSAGE.findall(prompt)[0][1], 3)
    return f"{_answer(prompt)}\nANSWER: {answer}"


def _related(contexts: list[int]) -> str:
    kinds = [f"Context{n} - Duplicated" for n in contexts[1:]]
    return "\n".join([*(f"Context{n}: it | Null | something" for n in contexts), *kinds])


def _context(prompt: str) -> str:
    """A context that holds its answer at its beginning, which is what a question over it is answered with."""
    (answer,) = re.findall(r"^Answer: (.*)$", prompt, re.MULTILINE)
    return f"Context: {answer}, as is well known."


def _sub_questions(prompt: str) -> str:
    """As many questions as there are answers, none of which holds one."""
    (answers,) = re.findall(r"^Answers: (.*)$", prompt, re.MULTILINE)
    return " // ".join(f"which one is meant in part {'i' * n}?" for n, _ in enumerate(answers.split("; "), 1))


def _beginning(text: str, words: int) -> str:
    return " ".join(text.split()[:words]).rstrip(".,;:?!\"'")
