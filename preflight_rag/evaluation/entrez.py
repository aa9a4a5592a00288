"""A stand-in for NCBI's E-utilities over documents that are at hand: Boolean search and records in the same XML.

    with EntrezServer(Entrez(records)) as server:
        EntrezClient(url=server.url).search("pubmed", "metformin AND insulin")

It searches titles and texts by stems, not by PubMed's term mapping, and ranks by how rare the terms found are.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from math import log1p
from operator import and_, or_, sub
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape, quoteattr

from preflight_rag.library.query.ladder import Expression, Operation, Term, parse
from preflight_rag.state.errors import UsageError
from preflight_rag.text.words import words

_PROLOGUE = '<?xml version="1.0" encoding="UTF-8" ?>\n'
_SEARCH_DOCTYPE = (
    '<!DOCTYPE eSearchResult PUBLIC "-//NLM//DTD esearch 20060628//EN" '
    '"https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20060628/esearch.dtd">\n'
)
_RECORDS_DOCTYPE = {
    "pubmed": '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" '
    '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n',
    "pmc": '<!DOCTYPE pmc-articleset PUBLIC "-//NLM//DTD ARTICLE SET 2.0//EN" '
    '"https://dtd.nlm.nih.gov/ncbi/pmc/articleset/nlm-articleset-2.0.dtd">\n',
}
_SETS = {"pubmed": "PubmedArticleSet", "pmc": "pmc-articleset"}
_TITLE_TAGS = ("title", "ti")
_TEXT_TAGS = ("", "all fields", "all", "title/abstract", "tiab", "text word", "tw", "mesh terms", "mesh", "mh")
_TYPE_TAGS = ("filter", "publication type", "pt")
_COMBINED = {"AND": and_, "OR": or_, "NOT": sub}


@dataclass(frozen=True)
class Record:
    """One record of a database: `xml` is its element, `date` like 2021-03 or "" where it has none."""

    database: str
    id: str
    title: str
    text: str
    xml: str
    date: str = ""
    review: bool = False
    has_abstract: bool = True


class Entrez:
    """Search and fetch over records, in memory; replies are E-utilities' XML."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: dict[tuple[str, str], Record] = {(record.database, record.id): record for record in records}
        self._titles = {key: _padded(record.title) for key, record in self.records.items()}
        self._texts = {key: f"{self._titles[key]}|{_padded(record.text)}" for key, record in self.records.items()}
        self._holders: dict[str, set[tuple[str, str]]] = {}
        for key, text in self._texts.items():
            for word in set(text.replace("|", " ").split()):
                self._holders.setdefault(word, set()).add(key)

    def esearch(self, asked: Mapping[str, str]) -> str:
        """The reply to a search: `db`, `term`, and `retmax`, `mindate`, `maxdate` where given."""
        database, term = asked.get("db", ""), asked.get("term", "")
        if database not in _SETS:
            return _search_reply(f"<ERROR>Invalid db name specified: {escape(database)}</ERROR>")
        if not term.strip():
            return _search_reply("<ERROR>Empty term and query_key - nothing todo</ERROR>")
        try:
            tree = parse(term)
        except UsageError as error:
            return _search_reply(f"<ERROR>Invalid query: {escape(error.message)}</ERROR>")
        errors: list[str] = []
        warnings: list[str] = []
        keys = self._matches(tree, database, errors, warnings)
        keys = {key for key in keys if _within(self.records[key].date, asked)}
        ranked = sorted(keys, key=lambda key: (-self._relevance(key, tree), key))
        if not ranked:
            warnings.append("<OutputMessage>No items found.</OutputMessage>")
        shown = ranked[: int(asked.get("retmax", 20))]
        ids = "".join(f"<Id>{name}</Id>\n" for _, name in shown)
        return _search_reply(
            f"<Count>{len(ranked)}</Count><RetMax>{len(shown)}</RetMax><RetStart>0</RetStart><IdList>\n{ids}</IdList>"
            f"<TranslationSet/><QueryTranslation>{escape(term)}</QueryTranslation>"
            + (f"<ErrorList>{''.join(errors)}</ErrorList>" if errors else "")
            + (f"<WarningList>{''.join(warnings)}</WarningList>" if warnings else "")
        )

    def efetch(self, asked: Mapping[str, str]) -> str:
        """The records of `db` whose ids are named in `id`."""
        database = asked.get("db", "")
        if database not in _SETS:
            return (
                f"{_PROLOGUE}<eFetchResult><ERROR>Invalid db name specified: {escape(database)}</ERROR></eFetchResult>"
            )
        parts = []
        for name in asked.get("id", "").split(","):
            record = self.records.get((database, name.strip()))
            if record is not None:
                parts.append(record.xml)
            elif database == "pmc":
                missing = quoteattr(f"The following PMCID is not available: {name}")
                parts.append(f"<Reply Id={quoteattr(name)} error={missing}/>")
        body = "\n".join(parts)
        return f"{_PROLOGUE}{_RECORDS_DOCTYPE[database]}<{_SETS[database]}>{body}</{_SETS[database]}>"

    def _matches(self, tree: Expression, database: str, errors: list[str], warnings: list[str]) -> set[tuple[str, str]]:
        if isinstance(tree, Term):
            return self._term_matches(tree, database, errors, warnings)
        parts = (self._matches(part, database, errors, warnings) for part in tree.parts)
        return reduce(_COMBINED[tree.operator], parts)

    def _term_matches(self, term: Term, database: str, errors: list[str], warnings: list[str]) -> set[tuple[str, str]]:
        tag = term.tag.lower()
        everything = {key for key in self.records if key[0] == database}
        if term.text.lower() == "hasabstract":
            return {key for key in everything if self.records[key].has_abstract}
        if tag in _TYPE_TAGS:
            return {key for key in everything if self.records[key].review} if "review" in term.text.lower() else set()
        if tag not in _TITLE_TAGS + _TEXT_TAGS:
            errors.append(f"<FieldNotFound>{escape(term.tag)}</FieldNotFound>")
        texts = self._titles if tag in _TITLE_TAGS else self._texts
        stems = words(term.text)
        if not stems:
            warnings.append(f"<PhraseIgnored>{escape(term.text)}</PhraseIgnored>")
            return everything
        found = everything.intersection(*(self._holders.get(stem, set()) for stem in stems))
        if tag in _TITLE_TAGS:
            found = {key for key in found if all(f" {stem} " in texts[key] for stem in stems)}
        if term.phrase and len(stems) > 1:
            whole = {key for key in found if f" {' '.join(stems)} " in texts[key]}
            if not whole and found:
                warnings.append(f"<QuotedPhraseNotFound>{escape(term.text)}</QuotedPhraseNotFound>")
            found = whole or found
        for stem in [] if found else stems:
            if not self._holders.get(stem):
                errors.append(f"<PhraseNotFound>{escape(term.text)}</PhraseNotFound>")
                break
        return found

    def _relevance(self, key: tuple[str, str], tree: Expression) -> float:
        """Sum over the expression's terms in the record: rarer ones, and those of the title, count more."""
        counts = Counter(self._texts[key].replace("|", " ").split())
        rarity = {stem: log1p(len(self.records) / len(holders)) for stem, holders in self._asked(tree).items()}
        return sum(
            weight * (counts[stem] / (counts[stem] + 1) + (f" {stem} " in self._titles[key]))
            for stem, weight in rarity.items()
        )

    def _asked(self, tree: Expression) -> dict[str, set[tuple[str, str]]]:
        if isinstance(tree, Operation):
            parts = tree.parts[:1] if tree.operator == "NOT" else tree.parts
            return {stem: holders for part in parts for stem, holders in self._asked(part).items()}
        return {stem: self._holders[stem] for stem in words(tree.text) if self._holders.get(stem)}


@dataclass(frozen=True)
class HttpReply:
    """What goes back for one request."""

    body: str
    status: int = 200
    content_type: str = "text/xml; charset=UTF-8"
    headers: tuple[tuple[str, str], ...] = ()


class EntrezServer:
    """Serves an `Entrez` over HTTP on a free port of this machine while it is open; `url` is the client's."""

    def __init__(self, entrez: Entrez) -> None:
        self.entrez = entrez
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.served = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/entrez/eutils"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def respond(self, utility: str, asked: Mapping[str, str]) -> HttpReply:
        """The reply to one request, such as `esearch.fcgi`."""
        if utility == "esearch.fcgi":
            return HttpReply(self.entrez.esearch(asked))
        if utility == "efetch.fcgi":
            return HttpReply(self.entrez.efetch(asked))
        return HttpReply("<html><body>Not found</body></html>", 404, "text/html")

    def deliver(self, client: BufferedIOBase, body: bytes) -> None:
        """Send a reply's body."""
        client.write(body)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    served: EntrezServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error of the server's."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

    def _answer(self, query: str) -> None:
        asked = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        reply = self.server.served.respond(urlsplit(self.path).path.rsplit("/", 1)[-1], asked)
        body = reply.body.encode()
        self.send_response(reply.status)
        for name, value in (("Content-Type", reply.content_type), *reply.headers):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.server.served.deliver(self.wfile, body)


def _search_reply(inner: str) -> str:
    return f"{_PROLOGUE}{_SEARCH_DOCTYPE}<eSearchResult>{inner}</eSearchResult>\n"


def _padded(text: str) -> str:
    return f" {' '.join(words(text))} "


def _within(date: str, asked: Mapping[str, str]) -> bool:
    """Whether a date lies in the window, both ends included, as far as both are known."""
    if "mindate" not in asked:
        return True
    day = re.sub("-", "/", date)
    low, high = asked["mindate"], asked.get("maxdate", "3000")
    return bool(day) and day[: len(low)] >= low[: len(day)] and day[: len(high)] <= high[: len(day)]
