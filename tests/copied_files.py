"""Files that hold the same text, and what a search and a citation say of them; the texts are made up."""

from __future__ import annotations

from pathlib import Path

from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.values import Citation

REPORT = (
    "The river Aln was measured at Lesbury bridge from April to September. Its mean depth was 1.4 metres, and in the "
    "dry weeks of August it fell to 0.6 metres. Eels were counted in eleven nights: 318 passed the weir, most of them "
    "before midnight. The new ladder was used by salmon, but not by trout. The council pays for another year of "
    "measurements, and asks for a second gauge above the mill, where the banks were washed out by the flood."
)
OTHER = (
    "Bees were kept on the roof of the town hall. In May there were two hives, in July five. The honey was sold at the "
    "market for the benefit of the library, which bought a bookcase for children and a lamp for the reading room."
)
QUESTION = "How many eels passed the weir?"


def letter(text):
    return (
        "Dear colleagues, I have read what was sent to us last week and would like to answer at the next meeting, as "
        "the costs of the gauge seem high to me; please bring the offers of the three firms. Here it is again.\n\n"
        f"{text}\n\nI look forward to seeing you in the small hall, where tea will be served as always. Yours, Ann"
    )


def cited_in(passages, file, quote):
    passage = next(each for each in passages if each.document_id.endswith(file) and quote in each.text)
    start = passage.text.index(quote)
    places = {"passage_id": passage.id, "document_id": passage.document_id, "start": start, "end": start + len(quote)}
    return Citation(n=1, title="", source="", quote=quote, verified=True, **places)


def write(folder, **texts):
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return folder


def found_in(library, query=QUESTION, **how):
    """Names of the files that a search finds, in all three rankings alike."""
    found = library.search(SearchQuery(query, **how))
    names = [{Path(hit.document_id).name for hit in ranking} for ranking in (found.fused, found.dense, found.lexical)]
    assert names[2] <= names[0] == names[1]
    return names[0]
