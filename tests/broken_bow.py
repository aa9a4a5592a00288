"""Documents that say facts such as "A1" (in state A live 1,001 people), and a scripted reader that knows them."""

import re

from paper_table import relation

from preflight_rag.state.reading import ContextNote
from preflight_rag.state.values import Document
from preflight_rag.testing.scripted_server import prompt_of

QUESTION = "How many people live in Broken Bow?"
STATES = {"A": "Nebraska", "B": "Oklahoma", "C": "Texas", "-": None}


def text_of(n, fact):
    """A passage that says a fact such as "A1": in state A live 1001 people."""
    state, people = STATES[fact[0]], f"{int(fact[1:]) + 1000:,}" if fact[1:] else None
    said = f"{people} people live in Broken Bow" if people else "Bows are broken by wet strings"
    return f"Broken Bow, {state}" if state else "Broken Bow", f"{said}. Survey number {n * 111} says so."


def documents(facts):
    """One for each fact, in order, a year apart."""
    said = [text_of(n, fact) for n, fact in enumerate(facts, 1)]
    return [
        Document(id=f"d{n}", source=f"d{n}", title=title, text=text, date=f"{2000 + n}-01-01")
        for n, (title, text) in enumerate(said, 1)
    ]


def fact_of(block, facts):
    number = int(re.search(r"Survey number (\d+)", block)[1]) // 111
    fact = facts[number - 1]
    return ContextNote(number, "Broken Bow", STATES[fact[0]], f"{int(fact[1:]) + 1000:,}" if fact[1:] else None)


def script(facts, *, notes=False, answer=None):
    """A reader that relates by the facts, and answers a group with one line for each of its passages."""

    def reply(body):
        prompt = prompt_of(body)
        blocks = re.findall(r"^Context(\d+)\n(.*?)(?=^Context\d+\n|\Z)", prompt, re.DOTALL | re.MULTILINE)
        if blocks:
            known = {int(n): fact_of(block, facts) for n, block in blocks}
            pivot, *others = known.values()
            kinds = [relation(pivot, other) if pivot.answer and other.answer else "none" for other in others]
            lines = [f"Context{n} - {kind.capitalize()}" for n, kind in zip(list(known)[1:], kinds, strict=True)]
            if notes:
                lines += [
                    f"Context{n}: {x.entity} | {x.descriptor or 'none'} | {x.answer or 'none'}"
                    for n, x in known.items()
                ]
            return "\n".join(lines)
        if answer:
            return answer
        passages = re.findall(r'<passage n="(\d+)".*?>\n(.*?)\n</passage>', prompt, re.DOTALL)
        if passages and not any("Survey number" in text for _, text in passages):
            return f"{passages[0][1]} [1]"
        lines = [
            f"Broken Bow ({fact_of(text, facts).descriptor}): {fact_of(text, facts).answer} [{n}]"
            for n, text in passages
        ]
        return "\n".join([*lines, "QUOTES", *(f'[{n}] "{text.split(".")[0]}"' for n, text in passages)])

    return reply


def relation_calls(server):
    return server.count("Context2\n")
