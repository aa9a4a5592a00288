"""Live search of NCBI's PubMed and PMC, in addition to the library's own (CPQA, section III.B).

`EntrezClient` calls E-utilities, and `fetch_documents` tries a ladder of expressions in both databases.
`Library.intern` stores the found documents, and `search.merging.merge` ranks them together with the library's own
results:

    with EntrezClient(email="you@example.org") as client:
        fetched = fetch_documents(client, ['"heart failure" AND metformin', "heart failure OR metformin"])
    stored = library.intern(fetched.documents)
    ranked = merge(library, question, library.candidates(question), stored.passages, new=stored.new)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preflight_rag.pubmed.client import NCBI_URL, EntrezClient, Spacing
    from preflight_rag.pubmed.fetch import FetchResult, fetch_documents
    from preflight_rag.pubmed.replies import SearchReply

__all__ = ["NCBI_URL", "EntrezClient", "FetchResult", "SearchReply", "Spacing", "fetch_documents"]
_HOME = {"FetchResult": "fetch", "fetch_documents": "fetch", "SearchReply": "replies"}


def __getattr__(name: str) -> Any:
    """Import the client when it is first used: a search of a library needs the ladder alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME.get(name, 'client')}", __name__), name)
