"""The node `retrieve`."""

from types import SimpleNamespace

import pytest
from langgraph.runtime import Runtime
from word_reader import WordReader

from preflight_rag.conversation.follow_ups import new_names
from preflight_rag.library import Library
from preflight_rag.models.reading.extractive_reader import PassageReading
from preflight_rag.nodes.retrieve import _has_edition, _other_years, retrieve
from preflight_rag.state.context import Context, Settings
from preflight_rag.state.values import Document

QUERY = {"queries": ["How hot is the planet Venus?"]}
CHAT = SimpleNamespace(by_rule=False)


class OnePassage(WordReader):
    """Surely finds the answer in one text, and hardly in any other."""

    def __init__(self, text):
        super().__init__()
        self.text = text

    def read(self, pairs):
        self.pairs += pairs
        shares = [0.99 if text == self.text else 0.01 for _, _, text in pairs]
        return [PassageReading((), share, share) for share in shares]


async def test_the_passages_that_go_on_are_references_with_both_rankings(library):
    update = await retrieve(QUERY, Runtime(context=Context(library=library)))
    refs = update["passage_refs"]
    assert [ref["rank"] for ref in refs] == list(range(1, 17))
    assert "venus" in refs[0]["source"]
    assert all(len(ref["preview"]) <= 120 and ref["tokens"] > 0 for ref in refs)
    assert len(update["rankings"]["dense"]) == 16
    assert library.passages([refs[0]["id"]])[0].title == refs[0]["title"]


async def test_every_reference_has_its_cosine(library):
    update = await retrieve(QUERY, Runtime(context=Context(library=library, settings=Settings(k=40, candidates=5))))
    cosines = {ref["id"]: ref["cosine"] for ref in update["passage_refs"]}
    assert all(-1 <= cosine <= 1.001 for cosine in cosines.values())
    dense = [cosines[i] for i in update["rankings"]["dense"] if i in cosines]
    assert dense == sorted(dense, reverse=True)


async def test_what_is_kept_from_a_language_model_is_recorded_and_the_rest_numbered_anew(library):
    everything = await retrieve(QUERY, Runtime(context=Context(library=library)))
    chat = SimpleNamespace(by_rule=False)
    context = Context(chat, library, Settings(prune=0.6), extractive=WordReader())
    update = await retrieve(QUERY, Runtime(context=context))
    found = {ref["rank"]: ref["id"] for ref in everything["passage_refs"]}
    pruned = {passage["rank"]: passage["passage_id"] for passage in update["pruned"]}
    kept = [ref["id"] for ref in update["passage_refs"]]
    assert everything["pruned"] == []
    assert pruned.items() <= found.items()
    assert kept == [name for rank, name in found.items() if rank not in pruned]
    assert [ref["rank"] for ref in update["passage_refs"]] == list(range(1, len(kept) + 1))


async def test_a_follow_up_is_searched_for_in_the_document_that_it_goes_on_about(library):
    found = await retrieve(QUERY, Runtime(context=Context(library=library)))
    document = found["passage_refs"][-1]["document_id"]
    state = {**QUERY, "question": "And how hot is it?", "continued": [document]}
    update = await retrieve(state, Runtime(context=Context(library=library)))
    own = [ref["document_id"] == document for ref in update["passage_refs"]]
    assert own == sorted(own, reverse=True)
    assert own[0]


async def test_a_follow_up_that_is_not_understood_is_searched_for_in_the_document_before_alone(library):
    found = await retrieve(QUERY, Runtime(context=Context(library=library)))
    document = found["passage_refs"][-1]["document_id"]
    asked = f"{QUERY['queries'][0]} And how hot is it?"
    state = {"queries": [asked], "question": "And how hot is it?", "continued": [document]}
    update = await retrieve(state, Runtime(context=Context(library=library)))
    assert {ref["document_id"] for ref in update["passage_refs"]} == {document}


async def test_a_follow_up_that_names_something_else_is_searched_for_everywhere(library):
    found = await retrieve(QUERY, Runtime(context=Context(library=library)))
    document = found["passage_refs"][-1]["document_id"]
    state = {**QUERY, "question": "And for Foot Locker?", "continued": [document]}
    update = await retrieve(state, Runtime(context=Context(library=library)))
    assert [ref["id"] for ref in update["passage_refs"]] == [ref["id"] for ref in found["passage_refs"]]


@pytest.mark.parametrize(
    ("message", "asked", "everywhere"),
    [
        ("why did it crack?", "Why did the figurehead crack?", True),
        ("how much is it?", "How much is the figurehead?", False),  # it adds no word
        ("why was it painted?", "Why was the figurehead painted?", False),  # no document speaks of that
        ("is it in the budget?", "Is the figurehead in the budget?", False),  # the document before speaks of that
    ],
)
async def test_what_a_follow_up_adds_is_searched_for_everywhere_if_only_another_document_has_it(
    embedder, tmp_path, message, asked, everywhere
):
    documents = [
        Document(id="budget", source="b.txt", title="Budget", text="The figurehead is in the budget with 9500."),
        Document(id="report", source="r.txt", title="Condition", text="The figurehead has a crack, since it dried."),
    ]
    earlier = {"question": "What is wrong with the figurehead?", "answer": "a [1]", "citations": [], "groups": []}
    state = {"queries": [asked], "question": message, "continued": ["budget"], "earlier": earlier}
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add(documents)
        update = await retrieve(state, Runtime(context=Context(library=library)))
    # A document as short as this one is read with the others behind it.
    assert [ref["document_id"] for ref in update["passage_refs"]][:: -1 if everywhere else 1] == ["budget", "report"]


@pytest.mark.parametrize(
    ("before", "asked", "found", "is_other"),
    [
        ("Price list 2025", "And in 2024?", "Price list 2024", True),
        ("Price list 2025", "And in 2024?", "Minutes 2024", False),
        ("Price list 2025", "And in 2025?", "Price list 2024", False),
        ("Price list", "And in 2024?", "Price list 2024", False),
    ],
)
def test_a_year_of_another_edition_widens_the_search(before, asked, found, is_other):
    def of(title):
        return SimpleNamespace(chosen=[SimpleNamespace(passage=SimpleNamespace(title=title))])

    years = _other_years(of(before), new_names(asked))
    assert (bool(years) and _has_edition(of(found), of(before), years)) is is_other


async def test_of_a_slow_models_few_passages_a_reading_chooses_among_all_that_were_asked_for(library):
    everything = await retrieve(QUERY, Runtime(context=Context(library=library)))
    last = library.passages([everything["passage_refs"][-1]["id"]])[0]
    reader = OnePassage(last.text)
    context = Context(CHAT, library, Settings(k=3), extractive=reader, asked_k=16)
    update = await retrieve(QUERY, Runtime(context=context))
    found = [ref["id"] for ref in everything["passage_refs"]]
    assert [ref["id"] for ref in update["passage_refs"]] == [*found[:2], last.id]
    assert [ref["rank"] for ref in update["passage_refs"]] == [1, 2, 3]
    assert len(reader.pairs) == 16


@pytest.mark.parametrize(
    ("reader", "settings", "asked_k"),
    [
        (SimpleNamespace(by_rule=True), Settings(k=3), 16),
        (SimpleNamespace(by_rule=False), Settings(k=16), 16),
        (SimpleNamespace(by_rule=False), Settings(k=3), 3),
        (SimpleNamespace(by_rule=False), Settings(k=3, choose_by_reading=False), 16),
        (SimpleNamespace(by_rule=False), Settings(budget_tokens=1_000_000), 16),
    ],
)
async def test_nothing_is_read_where_it_would_choose_nothing(library, reader, settings, asked_k):
    extractive = WordReader()
    context = Context(reader, library, settings, extractive=extractive, asked_k=asked_k)
    plain = await retrieve(QUERY, Runtime(context=Context(library=library, settings=settings)))
    update = await retrieve(QUERY, Runtime(context=context))
    assert extractive.pairs == []
    assert [ref["id"] for ref in update["passage_refs"]] == [ref["id"] for ref in plain["passage_refs"]]


async def test_a_budget_that_no_first_passage_fits_into_is_looked_for_further_down(library):
    everything = await retrieve(QUERY, Runtime(context=Context(library=library, settings=Settings(k=40))))
    lengths = [ref["tokens"] for ref in everything["passage_refs"]]
    first = next(place for place, tokens in enumerate(lengths) if place and tokens < min(lengths[:place]))
    settings = Settings(k=first, budget_tokens=lengths[first])
    context = Context(CHAT, library, settings, extractive=WordReader())
    update = await retrieve(QUERY, Runtime(context=context))
    assert update["passage_refs"][0]["id"] == everything["passage_refs"][first]["id"]
