from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.library import Library
from preflight_rag.library.index.dense import DenseIndex, write_dense
from preflight_rag.library.search.filter_index import FilterIndex, SqliteValues
from preflight_rag.library.search.filters import Condition, Filter
from preflight_rag.library.search.fusion import with_recency
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.search.retriever import LibraryRetriever
from preflight_rag.state.errors import UsageError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Document, Passage
from preflight_rag.text.dates import known_date

DOCUMENTS = [
    Document(
        id="statins",
        text="Statins lower LDL cholesterol and prevent heart attacks.",
        source="https://example.org/statins",
        title="Statins in primary prevention",
        date="2021-03-12",
        authors=("Ada Byron", "Grace Hopper"),
        metadata={"journal": "BMJ", "mesh": ["Cholesterol, LDL", "Heart Diseases"], "impact": 7.5, "open": True},
    ),
    Document(
        id="aspirin",
        text="Aspirin prevents heart attacks and may cause bleeding.",
        source="aspirin.txt",
        title="Aspirin",
        date="2018",
        authors=("Alan Turing",),
        metadata={"Journal": "Lancet", "mesh": ["Aspirin"], "impact": "12", "accepted": "12 May 2017"},
    ),
    Document(
        id="zinc",
        text="Zinc may shorten the common cold; it does not prevent heart attacks.",
        source="zinc.txt",
        metadata={"journal": "BMJ Open", "open": False, 'odd "key"': "50% a_b"},
    ),
    Document(id="old", text="Bloodletting was used against heart attacks.", source="old.txt", date="1 May 1820"),
]
ALL = {"statins", "aspirin", "zinc", "old"}

TABLE = [
    ("year>=2020", {"statins"}),
    ("year >= 2018", {"statins", "aspirin"}),
    ("YEAR=2018", {"aspirin"}),
    ("date>=2018-06", {"statins", "aspirin"}),
    ("date > 2018-06", {"statins"}),
    ("date<2018", {"old"}),
    ("date < 2018-06", {"old"}),
    ("date <= 2018-06", {"aspirin", "old"}),
    ("date = March 2021", {"statins"}),
    ("date != 2021", {"aspirin", "zinc", "old"}),
    ("date", {"statins", "aspirin", "old"}),
    ("!date", {"zinc"}),
    ("date ~ may", {"old"}),
    ("year in (2018, 2021)", {"statins", "aspirin"}),
    ("journal = bmj", {"statins"}),
    ("JOURNAL=Lancet", {"aspirin"}),
    ("journal ~ bmj", {"statins", "zinc"}),
    ("journal != BMJ", {"aspirin", "zinc", "old"}),
    ("journal in (BMJ, 'the lancet', Lancet)", {"statins", "aspirin"}),
    ('mesh = "Cholesterol, LDL"', {"statins"}),
    ('mesh in ("Cholesterol, LDL", Aspirin)', {"statins", "aspirin"}),
    ("!mesh", {"zinc", "old"}),
    ("author = grace hopper", {"statins"}),
    ("authors ~ turing", {"aspirin"}),
    ("title ~ primary", {"statins"}),
    ("source ~ .txt", {"aspirin", "zinc", "old"}),
    ("id = zinc", {"zinc"}),
    ("impact > 7", {"statins", "aspirin"}),
    ("impact = 7.50", {"statins"}),
    ("impact < 10", {"statins"}),
    ("open = true", {"statins"}),
    ("open = false", {"zinc"}),
    ("accepted < 2018", {"aspirin"}),
    ("accepted = 2017", {"aspirin"}),
    ("page", set()),
    ("page >= 2", set()),
    ('odd "key" = "50% a_b"', {"zinc"}),
    ("journal = ' OR 1=1 --", set()),
]
WRONG = [
    ("year>=soon", "'soon' is not a date in a known form"),
    ("date = 31/31/2021", "not a date in a known form"),
    ("impact > high", "neither a number nor a date"),
    ("page = three", "'page' is a number, not 'three'"),
    ("page > 2021-03", "neither a number nor a date"),
    ("journal = ", "has no value"),
    ("mesh in ()", "takes a set of values"),
    ("= 3", "cannot be read"),
    ("", "cannot be read"),
    ("(a)", "cannot be read"),
]


@pytest.fixture(scope="module")
def papers(embedder, tmp_path_factory):
    with Library.open(tmp_path_factory.mktemp("papers") / "library", embedder=embedder, create=True) as library:
        library.add(DOCUMENTS)
        yield library


def found_by(library, where, **options):
    return {hit.document_id for hit in library.search(SearchQuery("heart attacks", where=where, **options)).fused}


@pytest.mark.parametrize(("text", "expected"), TABLE)
def test_a_filter_finds_what_fits(papers, text, expected):
    where = Filter.parse([text])
    assert found_by(papers, where) == expected


@pytest.mark.parametrize(("text", "expected"), TABLE)
def test_metadata_in_memory_fit_as_those_in_the_library(text, expected):
    where = Filter.parse([text])
    columns = {item.id: item.model_dump(include={"id", "title", "source", "date", "authors"}) for item in DOCUMENTS}
    assert {item.id for item in DOCUMENTS if where.fits(item.metadata | columns[item.id])} == expected


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_filter_that_cannot_be_used(text, message):
    with pytest.raises(UsageError, match=message) as error:
        Filter.parse([text])
    assert error.value.help


def test_a_field_that_does_not_exist_is_named_with_those_that_do(papers):
    with pytest.raises(UsageError, match="No document has the field 'jornal'") as error:
        papers.search(SearchQuery("heart", where=Filter.parse(["jornal != BMJ"])))
    assert error.value.help.startswith("Did you mean journal? Fields here, for --where: journal, ")
    assert {"year", "mesh", "impact", "title"} <= set(papers.fields)


def test_several_conditions_must_all_hold(papers):
    where = Filter.parse(["mesh", "impact > 1", "year < 2020"])
    assert found_by(papers, where) == {"aspirin"}
    assert str(where) == "mesh and impact > 1 and year < 2020"


def test_since_and_until_leave_undated_documents_out_and_say_so(papers):
    where = Filter.parse([], since="March 2018", until=2021)
    assert found_by(papers, where) == {"statins", "aspirin"}
    assert papers.filter_note(where).endswith("; documents without a date are left out: 1")
    with pytest.raises(UsageError, match="'last week' is not a date in a known form"):
        Filter.parse([], since="last week")


def test_no_condition_is_no_filter(papers):
    assert Filter.parse([]) is None
    assert found_by(papers, None) == ALL


def test_where_nothing_fits_the_search_is_empty_and_says_why(papers):
    found = papers.search(SearchQuery("heart", where=Filter.parse([], since="2030")))
    assert found.dense == found.lexical == found.fused == ()
    assert found.note.startswith("No passage fits the filter: date >= 2030")
    assert papers.candidates(SearchQuery("heart", where=Filter.parse([], since="2030"))) == []


def test_a_set_of_headings_as_a_condition(papers):
    subtree = Filter((Condition("mesh", "in", frozenset({"Heart Diseases", "Heart Failure"})),))
    assert found_by(papers, subtree) == {"statins"}
    assert found_by(papers, subtree & Filter.parse(["year < 2000"])) == set()
    with pytest.raises(UsageError, match="takes a set of values"):
        Condition("mesh", "in", "Aspirin")


def test_passages_that_fit_are_told_by_id(papers):
    ids = [hit.passage_id for hit in papers.search("heart attacks").fused]
    documents = [passage.document_id for passage in papers.passages(papers.fitting(ids, Filter.parse(["mesh"])))]
    assert sorted(documents) == ["aspirin", "statins"]


def test_a_new_document_is_seen_by_a_filter_that_was_used_before(embedder, tmp_path):
    where = Filter.parse(["year >= 2020"])
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add(DOCUMENTS)
        assert found_by(library, where) == {"statins"}
        library.add([Document(id="new", text="New heart pills.", source="new", date="2024")])
        library.delete_document("statins")
        assert found_by(library, where) == {"new"}


def test_metadata_of_passages_count_as_well(library, own_folder, embedder):
    with Library.open(own_folder, embedder=embedder) as own:
        own._store._connection.execute("""UPDATE passages SET metadata = '{"section": ["Methods"]}' WHERE row = 2""")
        assert FilterIndex(SqliteValues(own._store)).rows(Filter.parse(["section = methods"])).tolist() == [2]
        assert (
            len(FilterIndex(SqliteValues(own._store)).rows(Filter.parse(["!section"]))) == own.stats()["passages"] - 1
        )


def test_the_date_inside_a_document_is_stored_with_where_it_is_from(embedder, tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "memo.txt").write_text("MEMORANDUM\n\nPublished: 5 May 2023\n\nTo all staff: heart pills.")
    (folder / "note.md").write_text("---\ndate: 2020-01-02\n---\n# Note\n\nHeart pills.")
    (folder / "plain.txt").write_text("Heart pills in 1999 and 2001.")
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.ingest(folder)
        found = {item["title"]: (item["date"], item["metadata"].get("date_from")) for item in library.documents()}
        assert found == {
            "MEMORANDUM": ("2023-05-05", "text"),
            "Note": ("2020-01-02", "metadata"),
            "plain": (None, None),
        }
        assert library.ingest(folder).skipped == 3
        assert len(found_by(library, Filter.parse(["date_from = text"], since="May 2023"))) == 1


def test_when_a_file_was_saved_is_no_date_of_the_document(embedder, tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, text in (("undated", "Heart pills."), ("dated", "MEMORANDUM\n\nPublished: 5 May 2023\n\nHeart pills.")):
        pdf = FPDF()
        pdf.set_creation_date(datetime(2025, 12, 5, tzinfo=UTC))
        pdf.add_page()
        pdf.set_font("helvetica", size=12)
        pdf.multi_cell(0, 8, text)
        pdf.output(str(folder / f"{name}.pdf"))
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.ingest(folder)
        found = {
            Path(item["source"]).stem: (item["date"], item["metadata"]["file_saved"]) for item in library.documents()
        }
        assert found == {"undated": (None, "2025-12-05"), "dated": ("2023-05-05", "2025-12-05")}
        assert found_by(library, Filter.parse([], since="2024")) == set()
        assert len(found_by(library, Filter.parse(["file_saved >= 2025-12"]))) == 2
        assert {entry.saved for entry in library.catalogue.documents()[0]} == {"2025-12-05"}


@given(st.data())
def test_search_within_rows_is_complete(library, data):
    index = library._index.get()
    chosen = data.draw(st.sets(st.sampled_from(index.rows.tolist())))
    n = data.draw(st.integers(1, 20))
    query = data.draw(st.sampled_from(["aspirin bleeding", "the heart and the brain", "what is known about risk?"]))
    among = index.positions(np.array(sorted(chosen), dtype=np.int64))
    vector = library.embedder.encode_query(query)
    for ranked, everything in (
        (index.search_dense(vector, n, among=among), index.search_dense(vector, len(index.rows))),
        (index.search_lexical(query, n, among=among), index.search_lexical(query, len(index.rows))),
    ):
        expected = [score for row, score in everything.pairs() if row in chosen][:n]
        assert ranked.scores.tolist() == pytest.approx(expected, abs=1e-5)
        assert set(ranked.keys.tolist()) <= chosen


@pytest.mark.parametrize("share", [0.001, 0.02, 0.5, 1.0])
def test_search_within_positions_of_a_compressed_index_is_complete(tmp_path, share):
    generator = np.random.default_rng(0)
    vectors = generator.standard_normal((3000, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    write_dense(tmp_path / "dense", vectors, flat_limit=100)
    among = np.sort(generator.choice(3000, int(3000 * share), replace=False))
    found = DenseIndex(tmp_path / "dense").search(vectors[0], 10, among=among)
    exact = np.sort(vectors[among] @ vectors[0])[::-1][:10]
    assert {position for position, _ in found} <= set(among.tolist())
    assert [score for _, score in found] == pytest.approx(exact.tolist(), abs=0.02)


@pytest.mark.parametrize("count", [1, 3, 40, 400])
def test_few_and_many_rows_of_the_lexical_index(tmp_path, count):
    from preflight_rag.library.index.lexical import LexicalIndex, write_lexical

    folder = tmp_path / "lexical"
    folder.mkdir()
    write_lexical(folder, [(row, "", f"fever {'aspirin ' * (row % 7)} case{row}") for row in range(1, 401)])
    index = LexicalIndex(folder)
    rows = np.arange(400, 400 - count, -1)
    everything = [hit for hit in index.search("aspirin fever", 400) if hit[0] in set(rows.tolist())]
    for indexed in (True, False):
        index._has_row_terms = indexed
        found = index.search("aspirin fever", 5, among=rows)
        assert [score for _, score in found] == pytest.approx([score for _, score in everything[:5]])


DATES = st.none() | st.integers(1900, 2030).map(str) | st.dates(date(1900, 1, 1), date(2030, 1, 1)).map(str)


def candidates_of(dates):
    return [
        Candidate(Passage(id=f"p{rank:03d}", document_id="d", text="t", date=day), rank, 1 / (60 + rank), 0.5)
        for rank, day in enumerate(dates, 1)
    ]


@given(st.lists(DATES, max_size=30), st.floats(0, 1))
def test_recency_keeps_all_candidates_and_ranks_them_anew(dates, weight):
    given_ = candidates_of(dates)
    ranked = with_recency(given_, weight)
    assert {item.passage.id for item in ranked} == {item.passage.id for item in given_}
    assert [item.rank for item in ranked] == list(range(1, len(given_) + 1))
    assert [item.score for item in ranked] == sorted((item.score for item in ranked), reverse=True)
    assert with_recency(given_, 0) == given_


@given(st.lists(DATES, min_size=2, max_size=30), st.floats(0.01, 1))
def test_an_older_passage_never_overtakes_a_newer_one(dates, weight):
    place = {item.passage.id: item.rank for item in with_recency(candidates_of(dates), weight)}
    days = [known_date(day) for day in dates]
    for first in range(len(dates)):
        for second in range(first + 1, len(dates)):
            older = days[second] is None or (days[first] and days[second].latest < days[first].latest)
            if older:
                assert place[f"p{first + 1:03d}"] < place[f"p{second + 1:03d}"]


def test_recency_brings_the_newest_forward_and_refuses_other_weights():
    ranked = with_recency(candidates_of(["2001", None, "2002", "2024-05"]), 1.0)
    assert [item.passage.date for item in ranked[:2]] == ["2001", "2024-05"]
    with pytest.raises(UsageError, match=r"recency = 1\.5 is outside"):
        with_recency([], 1.5)


def test_the_retriever_takes_filters_and_recency(papers):
    retriever = LibraryRetriever(library=papers, k=4, where=("source ~ .txt",), since="1800", recency=1.0)
    assert retriever.invoke("heart attacks")[0].metadata["document_id"] == "aspirin"
    with pytest.raises(UsageError, match="No document has the field"):
        LibraryRetriever(library=papers, where=("colour = red",)).invoke("heart")


def test_a_compressed_library_is_searched_by_the_stored_vectors_of_what_fits(own_folder, embedder):
    where = Filter.parse(["title ~ a"])
    with Library.open(own_folder, embedder=embedder, flat_limit=1) as own:
        own.rebuild()
        found = own.search(SearchQuery("aspirin", k=5, where=where))
        stored = own._store.passage_vectors(embedder.dimension)
        vectors = stored[:]
        fits = np.isin(stored.rows, FilterIndex(SqliteValues(own._store)).rows(where))
    exact = np.sort(vectors[fits] @ embedder.encode_query("aspirin"))[::-1][:5]
    assert [hit.score for hit in found.dense] == pytest.approx(exact.tolist(), abs=1e-5)


def test_an_undated_document_of_an_older_version_is_dated_at_the_next_ingest(embedder, tmp_path):
    document = Document(id="memo", text="MEMORANDUM\n\nPublished: 5 May 2023\n\nHeart pills.", source="memo")
    with Library.open(tmp_path / "library", embedder=embedder, create=True) as library:
        library.add([document])
        library._store._connection.execute("UPDATE documents SET date = NULL, content_hash = 'of an older version'")
        assert found_by(library, Filter.parse(["!date"])) == {"memo"}
        assert library.add([document]).updated == 1
        assert found_by(library, Filter.parse(["date = 2023-05-05"])) == {"memo"}
        assert library.add([document]).skipped == 1
