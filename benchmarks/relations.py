"""How right relations are, and what they cost, with a model that errs: one call for notes, or a call for each pivot.

    python benchmarks/relations.py --data DIR [--limit 100] [--model gguf:PATH]

A scripted server knows from RAMDocs' labels what each context is about and what it answers; of a share of the contexts
that name their thing it takes the descriptor away, so that all relations occur. It writes the note of each context and
labels its relation to the first one, with planted errors, drawn anew for every call:

- misread: a note loses its descriptor, gets another's, or gets another's answer; the labels of that reply follow it;
- mislabelled: a label is another one than its notes say;
- reworded: a descriptor is written in other words than on the line before; labels don't suffer from it.

Each way to relate (`corg_mode`) is asked about the same contexts. Right: the share of the pairs of contexts that have
an answer whose relation is the table's (COrg, section 2.1, appendix C.1). F1 is of counterfactual pairs, which decide
the groups.

With `--model` a language model reads the same contexts as they stand in the data set, and `notes` and `careful` are
compared, by each question's share of right pairs. RAMDocs says whether two contexts are about one thing and whether
they give one answer, not which words describe it, so a relation is right where it says these two (`TRUTHS` of the
experiment `relations`). Usable: no call failed, and every relation that was asked for could be read.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from langchain_openai import ChatOpenAI  # noqa: E402
from paper_table import TABLE, relation  # noqa: E402

from evaluation.bench import given_sources  # noqa: E402
from evaluation.datasets import QUESTIONS, open_dataset  # noqa: E402
from evaluation.experiments.relations import TRUTHS, things_of  # noqa: E402
from evaluation.intervals import Estimate, average, wilson  # noqa: E402
from evaluation.reading_metrics import words_of  # noqa: E402
from evaluation.report import number  # noqa: E402
from evaluation.samples import Sample  # noqa: E402
from preflight_rag.corg.relations import CONTEXT_OVERHEAD, relate_all  # noqa: E402
from preflight_rag.models.chat.chat_models import model_name, open_chat_model  # noqa: E402
from preflight_rag.models.chat.chat_reader import ChatReader  # noqa: E402
from preflight_rag.models.protocol import Reader  # noqa: E402
from preflight_rag.state.context import CorgMode, Settings  # noqa: E402
from preflight_rag.state.reading import ContextNote, Source  # noqa: E402
from preflight_rag.testing.scripted_server import ScriptedServer, prompt_of  # noqa: E402

UNDESCRIBED = 0.25
"""Share of the contexts whose descriptor is taken away; a guess at what real passages leave out."""
_BLOCK = re.compile(r"^Context(\d+)\nTitle: .*\n(?:Date: .*\n)?Text: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Errors:
    """Probabilities of each planted error, for one note or one label."""

    misread: float = 0.0
    mislabelled: float = 0.0
    reworded: float = 0.0


@dataclass(frozen=True)
class Case:
    """A question whose contexts' relations are known."""

    question: str
    sources: tuple[Source, ...]
    notes: Mapping[int, ContextNote]

    def truth(self) -> Iterator[tuple[frozenset[int], str]]:
        """Yield every two contexts that have an answer, with their true relation."""
        for a, b in combinations(self.notes, 2):
            yield frozenset({a, b}), relation(self.notes[a], self.notes[b])


def case_of(sample: Sample, draw: random.Random) -> Case | None:
    """Return a sample's contexts whose things the data set names, numbers in front; None for fewer than two."""
    about, given = things_of(sample), dict(enumerate(sample.given, 1))
    if len(about) < 2:
        return None
    sources = tuple(
        replace(source, title="", text=f"{source.n} {source.text}")
        for source in given_sources(sample)
        if source.n in about
    )
    notes = {
        n: ContextNote(
            n, "it", None if draw.random() < UNDESCRIBED else f"of {thing}", " ".join(given[n].answer.split())
        )
        for n, thing in about.items()
    }
    return Case(" ".join(sample.question.split()), sources, notes)


def replies(cases: list[Case], errors: Errors, seed: int) -> Any:
    """Return the script of a model that misreads, rewords and mislabels as often as `errors` says."""
    known, draw = {case.question: case for case in cases}, random.Random(seed)
    kinds = sorted(set(TABLE.values()))

    def reply(body: dict[str, Any]) -> str:
        prompt = prompt_of(body)
        case = known[re.findall(r"^Question: (.+)$", prompt, re.MULTILINE)[-1]]
        read = {int(n): misread(case, int(text.split()[0])) for n, text in _BLOCK.findall(prompt)}
        lines = [f"Context{n}: {x.entity} | {worded(x)} | {x.answer or 'Null'}" for n, x in read.items()]
        pivot, *others = read
        for n in others:
            kind = relation(read[pivot], read[n]) if read[pivot].answer and read[n].answer else "irrelevant"
            if draw.random() < errors.mislabelled:
                kind = draw.choice([other for other in kinds if other != kind])
            lines.append(f"Context{n} - {kind.capitalize()}")
        return "\n".join(lines)

    def misread(case: Case, n: int) -> ContextNote:
        note, other = case.notes[n], case.notes[draw.choice([*case.notes])]
        if draw.random() >= errors.misread:
            return note
        wrong = [replace(note, descriptor=None), replace(note, descriptor=other.descriptor),
                 replace(note, answer=other.answer)]  # fmt: skip
        return draw.choice(wrong)

    def worded(note: ContextNote) -> str:
        if note.descriptor is None:
            return "Null"
        return f"the one {note.descriptor}" if draw.random() < errors.reworded else note.descriptor

    return reply


async def measured(cases: list[Case], mode: CorgMode, url: str) -> tuple[float, ...]:
    """Share of right relations, precision, recall and F1 of counterfactual pairs, calls and tokens of a question."""
    reader = ChatReader(ChatOpenAI(base_url=url, api_key="k", model="scripted", max_retries=0))
    right, calls, tokens = [], [], []
    found = told = both = 0
    for case in cases:
        sources = {source.n: source for source in case.sources}
        sizes = {n: reader.count_tokens(source.text) + CONTEXT_OVERHEAD for n, source in sources.items()}
        related = await relate_all(reader, case.question, sources, sizes, Settings(corg_mode=mode))
        kinds = {frozenset((edge.a, edge.b)): edge.kind for edge in related.relations}
        for pair, kind in case.truth():
            said = kinds.get(pair)
            right.append(kind == said)
            found, told = found + (kind == "counterfactual"), told + (said == "counterfactual")
            both += kind == said == "counterfactual"
        calls.append(sum(usage.calls for usage in related.spent))
        tokens.append(sum(usage.input_tokens + usage.output_tokens for usage in related.spent))
    return fmean(right), 2 * both / max(1, found + told), fmean(calls), fmean(tokens)


@dataclass(frozen=True)
class RealCase:
    """A question with contexts as the data set has them.

    Attributes:
        question: The question.
        sources: The contexts of which the data set says what they are about.
        truth: For every two of them by number a key of `TRUTHS`.
    """

    question: str
    sources: tuple[Source, ...]
    truth: Mapping[frozenset[int], str]


def real_case_of(sample: Sample) -> RealCase | None:
    """Return a sample's contexts whose things the data set names, and how pairs relate; None for fewer than two."""
    about, given = things_of(sample), dict(enumerate(sample.given, 1))
    if len(about) < 2:
        return None
    truth = {}
    for a, b in combinations(about, 2):
        same_answer = words_of(given[a].answer) == words_of(given[b].answer)
        same_thing = about[a] == about[b]
        kind = "duplicated" if same_answer else "counterfactual"
        truth[frozenset({a, b})] = kind if same_thing else "different things"
    return RealCase(sample.question, tuple(s for s in given_sources(sample) if s.n in about), truth)


@dataclass(frozen=True)
class Outcome:
    """What a model made of one question's contexts.

    Attributes:
        usable: Whether no call failed and every relation that was asked for could be read.
        right: Share of the pairs whose relation is right; a pair without one, as of a context that the model finds
            irrelevant, is wrong.
        calls: Of the model.
        tokens: Read and written.
    """

    usable: bool
    right: float
    calls: int
    tokens: int


async def outcome_of(reader: Reader, case: RealCase, mode: CorgMode) -> Outcome:
    """Have a model relate a question's contexts."""
    sources = {source.n: source for source in case.sources}
    sizes = {n: reader.count_tokens(source.text) + CONTEXT_OVERHEAD for n, source in sources.items()}
    related = await relate_all(reader, case.question, sources, sizes, Settings(corg_mode=mode))
    kinds = {frozenset((edge.a, edge.b)): edge.kind for edge in related.relations}
    return Outcome(
        not related.gaps,
        fmean(kinds.get(pair) in TRUTHS[truth] for pair, truth in case.truth.items()),
        sum(usage.calls for usage in related.spent),
        sum(usage.input_tokens + usage.output_tokens for usage in related.spent),
    )


async def by_model(cases: list[RealCase], name: str, deadline: float) -> None:
    """Print what a language model makes of the cases by `notes` and by `careful`, after each question."""
    reader = ChatReader(open_chat_model(model_name(name), timeout=deadline), deadline=deadline)
    modes: tuple[CorgMode, ...] = ("notes", "careful")
    found: dict[CorgMode, list[Outcome]] = {mode: [] for mode in modes}
    for done, case in enumerate(cases, 1):
        for mode in modes:
            found[mode].append(await outcome_of(reader, case, mode))
        print(f"\n{done} questions, {sum(len(each.truth) for each in cases[:done])} pairs\n")
        print("| mode | usable % | right % | calls | tokens |\n| --- | ---: | ---: | ---: | ---: |")
        for mode, outcomes in found.items():
            usable = wilson(sum(each.usable for each in outcomes), len(outcomes))
            right, calls = _mean([each.right for each in outcomes]), fmean(each.calls for each in outcomes)
            tokens = fmean(each.tokens for each in outcomes)
            shares = f"{number(usable, percent=True)} | {number(right, percent=True)}"
            print(f"| {mode} | {shares} | {calls:.2f} | {tokens:,.0f} |")
        for truth in TRUTHS:
            shares = [fmean(kind == truth for kind in each.truth.values()) for each in cases[:done]]
            print(f"| all called {truth} | – | {number(_mean(shares), percent=True)} | 0 | 0 |")
        apart = [a.right - b.right for a, b in zip(found["notes"], found["careful"], strict=True)]
        print(f"\nnotes − careful: {number(_mean(apart), percent=True, signed=True)}", flush=True)


def _mean(values: list[float]) -> Estimate:
    return average(values, seed=0)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--model", help="provider:name of a language model; without it the scripted one")
    parser.add_argument("--contexts", type=int, nargs=2, default=(2, 99), help="fewest and most of a question for it")
    parser.add_argument("--deadline", type=float, default=3600.0, help="seconds of one call of it")
    options = parser.parse_args()
    draw = random.Random(0)
    samples = open_dataset("ramdocs", options.data, QUESTIONS).select("test")
    if options.model:
        fewest, most = options.contexts
        real = [case for sample in samples if (case := real_case_of(sample)) is not None]
        real = [case for case in real if fewest <= len(case.sources) <= most]
        asyncio.run(by_model(real[: options.limit], options.model, options.deadline))
        return
    cases = [case for sample in samples if (case := case_of(sample, draw)) is not None][: options.limit]
    grid = (Errors(), Errors(misread=0.1), Errors(mislabelled=0.1), Errors(reworded=0.1), Errors(0.05, 0.05, 0.05),
            Errors(0.1, 0.1, 0.1), Errors(0.2, 0.2, 0.1))  # fmt: skip
    print(f"{len(cases)} questions\n\n| misread / mislabelled / reworded % | mode | right % | F1 % | calls | tokens |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for errors in grid:
        shown = " / ".join(f"{100 * share:g}" for share in (errors.misread, errors.mislabelled, errors.reworded))
        for mode in get_args(CorgMode):
            with ScriptedServer(replies(cases, errors, seed=1)) as server:
                right, f1, calls, tokens = asyncio.run(measured(cases, mode, server.url))
            print(
                f"| {shown} | {mode} | {100 * right:.1f} | {100 * f1:.1f} | {calls:.2f} | {tokens:,.0f} |", flush=True
            )


if __name__ == "__main__":
    main()
