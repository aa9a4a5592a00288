"""Check a library in PostgreSQL for rows that this program cannot have written."""

from __future__ import annotations

from preflight_rag.ingest.identity import passage_id
from preflight_rag.library.postgres.schema import sees
from preflight_rag.library.postgres.store import CHUNK, PostgresStore

MOST_LISTED = 100
"""Most problems of one kind that are listed; a guess at what is read."""

_TEXTS = f"""
    select p.row, p.id, d.id, p.start, p.text, vector_dims(v.vector)
    from library_passages p left join library_documents d on d.key = p.document
    left join library_vectors v on v.row = p.row
    where {sees("p")} and p.row > %s order by p.row limit %s
"""
_WITHOUT_PASSAGES = f"""
    select id from library_documents d where {sees("d")}
    and not exists (select from library_passages where document = d.key) order by id limit %s
"""
_TWICE = f"select id from library_documents where {sees()} group by id having count(*) > 1 order by id limit %s"
_COUNTS = f"""
    select (select count(*) from library_passages where {sees()}),
        (select count(*) from library_passages where retired is not null and not {sees()}),
        (select coalesce(sum(passages), 0)::bigint from library_pieces)
"""
_UNKNOWN_PIECES = "select count(*) from library_postings where piece not in (select piece from library_pieces)"


def library_problems(store: PostgresStore) -> list[str]:
    """Return the problems of the library, one line each."""
    problems = [f"document {id} has no passage" for (id,) in store.read_rows(_WITHOUT_PASSAGES, [MOST_LISTED])]
    problems += [f"document {id} is there twice" for (id,) in store.read_rows(_TWICE, [MOST_LISTED])]
    problems += _passage_problems(store)
    ((passages, unpurged, listed),) = store.read_rows(_COUNTS)
    # Deleted passages are in the lists until they are purged.
    if listed != passages + unpurged:
        problems.append(f"the words are those of {listed} passages, the library has {passages}")
    ((orphaned,),) = store.read_rows(_UNKNOWN_PIECES)
    if orphaned:
        problems.append(f"posting lists of no piece: {orphaned}")
    return problems


def _passage_problems(store: PostgresStore) -> list[str]:
    """Return passages whose text does not match their id, or that lack a document or a vector of the right length."""
    recorded = store.meta("embedder")
    problems, last = list[str](), -1
    while rows := store.read_rows(_TEXTS, [last, CHUNK]):
        last = rows[-1][0]
        for _, id, document_id, start, text, vector_length in rows:
            if document_id is None:
                problems.append(f"passage {id} is of no document")
            elif passage_id(document_id, start, text) != id:
                problems.append(f"passage {id} of {document_id} is not as it was written")
            if vector_length != recorded["dimension"]:
                problems.append(f"passage {id} has no vector of {recorded['dimension']} numbers")
    return problems[:MOST_LISTED]
