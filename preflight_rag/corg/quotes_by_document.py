"""Quotes of several documents about a yes/no question, each labelled with its document.

Without a language model a "yes" is not claimed, and two documents may differ; the user has to see which document says
which (COrg, section 1: each answer with the context that it holds in). The labels are used where COrg's route was not
taken, and where it was taken and no answer of a group was certain enough for a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from preflight_rag.corg.group_answers import with_file_names
from preflight_rag.state.reading import Draft, Source
from preflight_rag.state.schema import EntryState
from preflight_rag.text.citations import quoted
from preflight_rag.text.headers import ABOUT_THIS, CLOSEST, SEVERAL, only_says_near
from preflight_rag.text.question_forms import form_of
from preflight_rag.text.quotes import plain
from preflight_rag.text.tables import is_row


def labelled_by_document(
    question: str, draft: Draft, sources: Sequence[Source], *, compared: bool = False
) -> tuple[Draft, list[EntryState]]:
    """Return a draft with the title of its document before each unclaimed quote, and an entry for each quote.

    The draft is returned unchanged, with [], if it makes claims, quotes one document, an unknown passage or a row, or
    if the line above its quotes says more than that they are near; and for other than yes/no questions, unless
    `compared`.

    Args:
        question: The standalone question.
        draft: The answer.
        sources: The passages that were read.
        compared: Whether the documents were compared before; then quotes are labelled for every question.
    """
    by_number = {source.n: source for source in sources}
    cited = [by_number[n] for n, _ in draft.quotes if n in by_number]
    lead = draft.text.split("\n\n")[0]
    if (
        draft.claims
        or not only_says_near(lead)
        or len({source.document_id for source in cited}) < 2
        or len(cited) < len(draft.quotes)
        or not (compared or form_of(question) == "verdict")
        or any(is_row(quote) for _, quote in draft.quotes)
    ):
        return draft, []
    labels = with_file_names({source.n: source.title for source in cited}, by_number)
    lines, entries = [SEVERAL if compared and lead in (ABOUT_THIS, CLOSEST) else lead], []
    for n, quote in draft.quotes:
        line = quoted(n, plain(quote))
        lines.append(f"**{labels[n]}**: {line}" if labels[n] else line)
        entries.append(EntryState(entity=labels[n], descriptor=None, answer=plain(quote), ranks=[n]))
    return replace(draft, text="\n\n".join(lines)), entries
