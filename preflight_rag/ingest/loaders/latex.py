"""Sources of LaTeX (.tex) through pylatexenc: what a reader of the printed document sees, with its numbers.

Sections, paragraphs, lists, rows of tables, captions, footnotes, formulas in a line, references to what has a number.
Commands that the document defines are written out. Comments are left out; so are files that it takes in, which are
reported.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pylatexenc import latexwalker
from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.macrospec import EnvironmentSpec, MacroSpec, VerbatimArgsParser

from preflight_rag.ingest.loaders.encoding import decode
from preflight_rag.ingest.loaders.equations import grouped, power
from preflight_rag.ingest.loaders.fields import clean, file_document, iso_date, link_lines, one_line, whole_number
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.latex_source import VERBATIM, printed_source
from preflight_rag.ingest.loaders.nested_lists import OpenItems
from preflight_rag.ingest.loaders.numbering import Counter, Level
from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.tables import expand_spans, table_lines

_BEGIN = "\\begin{document}"
_DEFINED = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand|DeclareMathOperator)\*? ?"
    r"\{?\\(?P<name>[A-Za-z]{1,40})\}?"
    r"(?:\[(?P<count>[1-9])\])?(?:\[(?P<default>[^\]\n]{0,200})\])? ?(?=\{)"
    r"|\\def ?\\(?P<short>[A-Za-z]{1,40}) ?(?P<places>(?:#[1-9]){0,9})(?=\{)"
)
"""The head of a definition: "\\newcommand{\\price}[1]" before "{#1 crowns}", "\\def\\kiln" before "{Zaffre}"."""
_LONGEST_DEFINITION = 2_000
"""Characters of a definition; a guess, longer ones are programs."""
_MOST_WRITTEN = 200_000
"""Characters that definitions are written out to, since one may use another twice, and that a third twice."""
_DEEPEST_DEFINITION = 10
_CLASS = re.compile(r"\\documentclass(?:\[[^\]]{0,300}\])?\{([\w-]{1,40})\}")
_LEVELS = ("chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_NUMBERED_TO = {
    **dict.fromkeys(("article", "scrartcl", "amsart", "extarticle", "elsarticle", "llncs", "paper", "minimal"), 3),
    **dict.fromkeys(("report", "book", "scrreprt", "scrbook", "memoir", "extreport", "extbook"), 2),
}
"""How deep the classes number their sections, by the places of `_LEVELS`; others number them in their own ways."""
_WITH_CHAPTERS = ("report", "book", "scrreprt", "scrbook", "memoir", "extreport", "extbook")
_DEPTH = re.compile(r"\\setcounter\{secnumdepth\}\{(-?\d|-\\maxdimen)\}")
_TABLES = (
    "tabular",
    "tabular*",
    "tabularx",
    "tabulary",
    "longtable",
    "longtable*",
    "xltabular",
    "supertabular",
    "tabbing",
)
_LISTS = ("itemize", "enumerate", "description", "compactitem", "compactenum", "inparaenum", "asparaenum")
_ENDS = ("head", "firsthead", "foot", "lastfoot")
"""What `longtable` repeats on each page."""
_UNREAD = ("comment", "filecontents", "filecontents*", "tikzpicture", "pgfpicture", "CCSXML")
_SECTIONS = {place: Level("decimal", ".".join(f"%{each}" for each in range(1, place + 2))) for place in range(4)}
_ITEMS = {
    **{0: Level("decimal", "%1."), 1: Level("lowerLetter", "(%2)"), 2: Level("lowerRoman", "%3.")},
    3: Level("upperLetter", "%4."),
}
"""How LaTeX numbers the items of an "enumerate", by its depth."""
_WITHOUT_WORDS = frozenset(
    (
        *("title", "author", "date", "input", "include", "InputIfFileExists", "bibliography", "addbibresource"),
        *("nocite", "bibliographystyle", "hspace", "vspace", "vskip", "hskip", "setlength", "addtolength"),
        *("setcounter", "addtocounter", "newlength", "newcounter", "rule", "looseness", "pagestyle"),
        *("thispagestyle", "pagenumbering", "usepackage", "documentclass", "hypersetup", "captionsetup"),
        *("sisetup", "lstset", "graphicspath", "newtheorem", "theoremstyle", "newenvironment"),
        *("renewenvironment", "numberwithin", "geometry", "urlstyle", "definecolor", "color", "rowcolor"),
        *("columncolor", "cellcolor", "phantom", "hphantom", "vphantom", "cline", "cmidrule", "addlinespace"),
        *("fontsize", "linespread", "setstretch", "addcontentsline", "markboth", "markright", "index"),
        *("hyphenation", "usetheme", "titleformat", "titlespacing", "lhead", "rhead", "chead", "lfoot"),
        *("rfoot", "cfoot", "fancyhead", "fancyfoot", "fancyhf", "setbeamertemplate", "pgfplotsset", "tikzset"),
        *("usetikzlibrary", "setbeamercolor", "enlargethispage"),
    )
)
"""Commands whose arguments are no words of the document, or are read elsewhere."""
_ARGUMENTS = {
    **dict.fromkeys(("caption", "part", *_LEVELS), "*[{"),
    **dict.fromkeys(("footnote", "footnotetext", "thanks", "marginpar", "sidenote", "todo", "endnote"), "[{"),
    **dict.fromkeys(("num", "unit", "si", "ang", "cite", "frametitle", "framesubtitle", "bibitem"), "[{"),
    **dict.fromkeys(("subtitle", "institute", "affiliation", "affil", "address", "keywords"), "[{"),
    **dict.fromkeys(("citep", "citet", "parencite", "textcite", "citealp", "autocite", "footcite"), "*[[{"),
    **dict.fromkeys(("autoref", "cref", "Cref", "eqref", "pageref", "nameref", "vref", "subref"), "*{"),
    **dict.fromkeys(("href", "textcolor", "colorbox", "hypertarget", "texorpdfstring", "foreignlanguage"), "{{"),
    **{"qty": "[{{", "SI": "[{{", "SIrange": "[{{{", "qtyrange": "[{{{", "numrange": "[{{"},
    **{"multicolumn": "{{{", "multirow": "[{[{[{", "item": "[", "includegraphics": "*[[{"},
    **dict.fromkeys(("ensuremath", "mbox", "InputIfFileExists", "cline", "newlength", "newcounter", "geometry"), "{"),
    **dict.fromkeys(("bibliography", "addbibresource", "graphicspath", "numberwithin", "index", "hyphenation"), "{"),
    **dict.fromkeys(("pagestyle", "thispagestyle", "pagenumbering", "urlstyle", "linespread", "setstretch"), "{"),
    **dict.fromkeys(("rowcolor", "columncolor", "cellcolor", "color", "usetheme", "usetikzlibrary"), "[{"),
    **dict.fromkeys(("captionsetup", "sisetup", "lstset", "hypersetup", "pgfplotsset", "tikzset"), "[{"),
    **dict.fromkeys(("lhead", "rhead", "chead", "lfoot", "rfoot", "cfoot", "fancyhead", "fancyfoot"), "[{"),
    **dict.fromkeys(("setlength", "addtolength", "setcounter", "addtocounter", "fontsize", "markboth"), "{{"),
    **{"definecolor": "{{{", "addcontentsline": "{{{", "newtheorem": "*{[{[", "cmidrule": "[{", "rule": "[{{"},
    **{"newenvironment": "{[[{{", "renewenvironment": "{[[{{", "setbeamertemplate": "{[{", "setbeamercolor": "{{"},
    **{"titleformat": "*{[{{{{", "titlespacing": "*{{{{", "scalebox": "{{", "resizebox": "*{{{"},
    **{"raisebox": "{[[{", "parbox": "[[[{{", "makebox": "[[{", "framebox": "[[{", "addlinespace": "["},
}
"""The arguments of commands that pylatexenc does not know, in its notation: "{" one that must be there, "[" one that
may."""
_UNITS = {
    **{"metre": "m", "meter": "m", "gram": "g", "kilogram": "kg", "second": "s", "minute": "min", "hour": "h"},
    **{"day": "d", "litre": "l", "liter": "L", "kelvin": "K", "celsius": "°C", "degreeCelsius": "°C", "degree": "°"},
    **{"percent": "%", "ampere": "A", "volt": "V", "watt": "W", "ohm": "Ω", "hertz": "Hz", "newton": "N", "joule": "J"},
    **{"pascal": "Pa", "bar": "bar", "mole": "mol", "molar": "M", "tonne": "t", "hectare": "ha", "electronvolt": "eV"},
    **{"candela": "cd", "lumen": "lm", "lux": "lx", "farad": "F", "tesla": "T", "weber": "Wb", "henry": "H"},
    **{"becquerel": "Bq", "gray": "Gy", "sievert": "Sv", "decibel": "dB", "byte": "B", "bit": "bit"},
    **{"euro": "€", "pounds": "£"},
    **{"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "milli": "m", "micro": "µ", "nano": "n", "pico": "p"},
    **{"centi": "c", "deci": "d", "hecto": "h", "per": "/", "square": "²", "cubic": "³", "squared": "²", "cubed": "³"},
}
"""What siunitx prints for the names of units and of what stands before them; "square" is moved behind its unit."""
_UNIT = re.compile(r"\\([A-Za-z]{1,30})|([^\\\s{}~]+)")
_PADDED = re.compile(r"[=+<>≤≥±×·≈≠∈→←⇒∼∝]")
_OPERATORS = "∑∏∫"
_BELOW_TITLE = ("subtitle", "institute", "affiliation", "affil", "address", "keywords")
_AUTHORS = "\x00"
"""Stands between two authors while they are read."""
_MOST_SPANNED = 200
"""Columns or rows of a cell; a guess at what no table has."""
_PREFIXES = ("kilo", "mega", "giga", "tera", "milli", "micro", "nano", "pico", "centi", "deci", "hecto", "per")
_Cell: TypeAlias = tuple[str, int, int]
"""A cell of a table: its text, and the numbers of columns and rows that it spans."""
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_ALTERNATIVE = re.compile(r"\balt ?= ?\{?([^{}\],]{1,500})")
"""The description of a picture: "alt={Plan of the quay}"."""
_RULES = frozenset({"hline", "toprule", "midrule", "bottomrule", *(f"end{each}" for each in _ENDS)})
_OPTIONS = re.compile(r"\A[ \t]{0,20}(?:\[[^\]\n]{0,300}\])?(?:\{\w{1,40}\})?[ \t]{0,20}\n")
"""What stands behind the beginning of a program: "[language=Python]" and the end of the line."""
_KINDS = {"fig": "Figure", "tab": "Table", "tbl": "Table", "sec": "Section", "chap": "Chapter", "eq": "Equation"}
"""What `\\autoref` writes before a number, by how authors begin their labels."""
_IN_FORMULAS = {
    **dict.fromkeys(("left", "right", "big", "Big", "bigl", "bigr", "limits", "nonumber", "notag", "displaystyle"), ""),
    **dict.fromkeys(("quad", "qquad", ",", ";", ":", " "), " "),
    **{"!": "", "\\": "; ", "cr": "; ", "iff": " ⇔ "},
}
"""What commands inside a formula come to that only place it."""
_ACCENTS = ("hat", "bar", "tilde", "vec", "dot", "ddot", "overline")
_SIGNS = {
    **{"pounds": "£", "euro": "€", "EUR": "€", "officialeuro": "€", "yen": "¥", "textrupee": "₹", "textminus": "−"},
    **{"S": "§", "P": "¶", "copyright": "©", "ddag": "‡", "degree": "°", "celsius": "°C", "slash": "/"},
    **{"textless": "<", "textgreater": ">", "textbar": "|", "textquotedbl": '"'},
}
"""What commands print that pylatexenc does not know."""
_ACCENTED = frozenset((*"`'^\"~=.cvuHkrbdt", "not"))
"""Commands that put an accent on the letter behind them."""


def load_latex(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a LaTeX source as one document.

    Raises:
        UnreadableDocument: Its brackets or environments are nested too deeply.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # it tells of each bracket that is not closed
    source = clean(decode(read_bytes(path, max_bytes), path))
    try:
        reader = _read(source)
    except RecursionError as error:
        raise UnreadableDocument(f"{path} is nested too deeply to be read") from error
    if reader.inputs:
        reader.report.leave_out(
            f"files that it takes in: {', '.join(reader.inputs)}", "each is read when it is given itself"
        )
    yield file_document(
        path,
        reader.parts.joined(),
        title=reader.title,
        date=iso_date(reader.date),
        authors=tuple(reader.authors),
        metadata=reader.parts.metadata(),
        report=reader.report,
    )


def _read(source: str) -> _Reader:
    """Read a source; once more with the numbers of the first time where it refers to what comes later."""
    printed = printed_source(source)
    source, definitions = _definitions(printed.text, printed.literal)
    begin = source.find(_BEGIN)
    preamble, body = (source[:begin], source[begin + len(_BEGIN) :]) if begin >= 0 else ("", source)
    context = latexwalker.get_default_latex_context_db()
    context.add_context_category("preflight", **_specs(definitions), prepend=True)
    reader = _Reader(context, definitions, _Numbering.of(preamble))
    reader.read(preamble, body)
    if reader.is_waiting:
        labels = reader.labels
        reader = _Reader(context, definitions, _Numbering.of(preamble), labels)
        reader.read(preamble, body)
    return reader


@dataclass(frozen=True)
class _Definition:
    """A command that a document defines."""

    arguments: int
    default: str | None
    body: str

    def written(self, arguments: Sequence[str]) -> str:
        """Return what stands for a use of it."""
        text = self.body
        for number, argument in enumerate(arguments, 1):
            text = text.replace(f"#{number}", argument)
        return text


def _definitions(source: str, literal: Sequence[tuple[int, int]]) -> tuple[str, dict[str, _Definition]]:
    """Return a source without its definitions of commands, and these by name.

    Args:
        source: The source without comments.
        literal: Where programs begin and end in it, which define nothing.
    """
    found: dict[str, _Definition] = {}
    kept, at = [], 0
    begins = [begin for begin, _ in literal]
    for match in _DEFINED.finditer(source):
        program = bisect_right(begins, match.start()) - 1
        if match.start() < at or (program >= 0 and match.start() < literal[program][1]):
            continue
        end = _closing(source, match.end())
        if end < 0:
            continue
        name = match["name"] or match["short"]
        count = int(match["count"] or 0) or (match["places"] or "").count("#")
        found[name] = _Definition(count, match["default"], source[match.end() + 1 : end])
        kept.append(source[at : match.start()])
        at = end + 1
    return "".join(kept) + source[at:], found


def _closing(text: str, start: int) -> int:
    """Return the place of the bracket that closes the one at a place; -1 where it is far away."""
    depth, at = 0, start
    last = min(len(text), start + _LONGEST_DEFINITION)
    while at < last:
        char = text[at]
        depth += (char == "{") - (char == "}")
        if not depth:
            return at
        at += 2 if char == "\\" else 1
    return -1


def _specs(definitions: dict[str, _Definition]) -> dict[str, Any]:
    """Return what pylatexenc has to know of commands and environments."""
    macros = [MacroSpec(name, arguments) for name, arguments in _ARGUMENTS.items()]
    macros += [
        MacroSpec(name, "{" * each.arguments if each.default is None else "[" + "{" * (each.arguments - 1))
        for name, each in definitions.items()
    ]
    environments = [EnvironmentSpec(name, "[{") for name in ("tabular", "longtable", "longtable*", "supertabular")]
    environments += [EnvironmentSpec(name, "{[{") for name in ("tabular*", "tabularx", "tabulary")]
    environments += [EnvironmentSpec(name, "[") for name in ("figure", "figure*", "table", "table*", *_LISTS)]
    environments += [
        EnvironmentSpec("xltabular", "[{{"),
        EnvironmentSpec("minipage", "[[[{"),
        EnvironmentSpec("multicols", "{"),
        EnvironmentSpec("thebibliography", "{"),
        EnvironmentSpec("wrapfigure", "[{[{"),
        EnvironmentSpec("frame", "[{"),
        *(EnvironmentSpec(name, args_parser=VerbatimArgsParser(verbatim_arg_type="verbatim-environment"))
          for name in ("Verbatim", "minted", "tikzpicture", "filecontents", "filecontents*")),
    ]  # fmt: skip
    return {"macros": macros, "environments": environments}


@dataclass
class _Numbering:
    """The numbers of sections, tables, figures and equations of one document.

    Attributes:
        deepest: The place in `_LEVELS` of the deepest level with a number; -1 where no section has one.
        outermost: The place of the outermost level.
        is_known: Whether the document's class counts as LaTeX's own classes do.
    """

    deepest: int
    outermost: int
    is_known: bool
    counts: dict[str, int] = field(default_factory=dict)
    sections: Counter = field(default_factory=lambda: Counter(_SECTIONS))

    @classmethod
    def of(cls, preamble: str) -> _Numbering:
        """Return how a document numbers, by its class and the depth that it sets."""
        named = _CLASS.search(preamble)
        name = named[1] if named else ""
        depth = _DEPTH.search(preamble)
        deepest = _NUMBERED_TO.get(name, -1)
        if depth and deepest >= 0:
            deepest = int(depth[1]) if depth[1].lstrip("-").isdigit() else -1
        return cls(
            deepest, 0 if name in _WITH_CHAPTERS else 1, name in _NUMBERED_TO and "\\numberwithin" not in preamble
        )

    def section(self, level: int) -> str:
        """Count a section, and return its number; "" where its level has none."""
        if not self.outermost <= level <= self.deepest:
            return ""
        if level == 0:
            self.counts.clear()
        for outer in range(level - self.outermost):
            self.sections.numbers.setdefault(outer, 0)  # as LaTeX has it: "0.1" before the first chapter
        return self.sections.next(level - self.outermost)

    def appendix(self) -> None:
        """Number the following sections with letters."""
        self.sections = Counter({**_SECTIONS, 0: Level("upperLetter", "%1")})

    def next(self, kind: str) -> str:
        """Count a table, a figure or an equation, and return its number; "" in a class that counts otherwise."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if not self.is_known:
            return ""
        chapter = self.sections.numbers.get(0, 0)
        return f"{chapter}.{self.counts[kind]}" if self.outermost == 0 and chapter else str(self.counts[kind])


class _Reader:
    """Appends the blocks of a source, each paragraph followed by its notes.

    Args:
        context: What pylatexenc knows of commands.
        definitions: The commands that the document defines.
        numbering: What has come to which number.
        labels: The numbers of what has a label, from a first reading.
    """

    def __init__(
        self,
        context: Any,
        definitions: dict[str, _Definition],
        numbering: _Numbering,
        labels: dict[str, str] | None = None,
    ) -> None:
        self.parts, self.report = Parts(), ReadReport()
        self.title, self.date, self.authors = "", "", list[str]()
        self.inputs: list[str] = []
        self.labels: dict[str, str] = {}
        self.is_waiting = False
        """Whether something was referred to before its number was known."""
        self._context, self._definitions, self._numbering = context, definitions, numbering
        self._known = labels or {}
        self._symbols = LatexNodes2Text(math_mode="text", keep_comments=False)
        self._words: list[str] = []
        self._notes: list[str] = []
        self._links: list[tuple[str, str]] = []
        self._items = OpenItems()
        self._lists: list[str] = []
        self._numbers = Counter(_ITEMS)
        self._mark = ""
        self._number = ""
        self._caption = self._floating = ""
        self._inside = 0
        self._written = self._using = self._entries = 0

    def read(self, preamble: str, body: str) -> None:
        """Read a document: what the preamble says about it, then its text."""
        for node in self._nodes(preamble):
            if node.isNodeType(latexwalker.LatexMacroNode):
                self._about(node)
        self._add(self._nodes(body))
        self._end_paragraph()
        for line in link_lines(self._links):
            self.parts.add(line, "list")

    def _nodes(self, text: str) -> list[Any]:
        nodes, _, _ = latexwalker.LatexWalker(
            text, latex_context=self._context, tolerant_parsing=True
        ).get_latex_nodes()
        return list(nodes)

    def _about(self, node: Any) -> bool:
        """Note a title, authors, a date, or a file that is taken in; return whether the command is one of these."""
        name, arguments = node.macroname, _arguments(node)
        if name in ("input", "include", "bibliography", "addbibresource", "subfile"):
            file = arguments[-1].latex_verbatim().strip("{}") if arguments else ""
            if file and "\\" not in file and file not in self.inputs:
                self.inputs.append(file)
        elif name in _BELOW_TITLE and arguments:
            self.parts.add(one_line(self._line(arguments[-1])))
        elif name == "title" and arguments:
            self.title = self._line(arguments[-1])
            self.parts.add(self.title, "heading")
        elif name == "date" and arguments:
            self.date = self._line(arguments[-1])
            self.parts.add(self.date)
        elif name == "author" and arguments:
            named = self._line(arguments[-1])
            self.authors += [one_line(each.strip().split("\n")[0]) for each in named.split(_AUTHORS) if each.strip()]
            self.parts.add("; ".join(one_line(each) for each in named.split(_AUTHORS)))
        else:
            return False
        self._end_paragraph()
        return True

    def _add(self, nodes: Sequence[Any]) -> None:
        """Append what nodes say to the paragraph, and the blocks among them to the document."""
        for node in nodes:
            if node is None:
                continue
            kind = node.nodeType()
            if kind is latexwalker.LatexCharsNode:
                self._add_characters(node.chars)
            elif kind is latexwalker.LatexGroupNode:
                self._add(node.nodelist)
            elif kind is latexwalker.LatexMathNode:
                self._add_formula(node.nodelist, is_alone=node.displaytype == "display")
            elif kind is latexwalker.LatexMacroNode:
                self._add_command(node)
            elif kind is latexwalker.LatexEnvironmentNode:
                self._add_environment(node)
            elif kind is latexwalker.LatexSpecialsNode and not _PARAGRAPH.search(node.specials_chars):
                self._words.append(self._symbols.nodelist_to_text([node]))
            elif kind is latexwalker.LatexSpecialsNode or node.comment_post_space.count("\n") > 1:
                self._end_paragraph()

    def _add_characters(self, text: str) -> None:
        """Append characters; a blank line ends the paragraph."""
        first, *others = _PARAGRAPH.split(text)
        self._words.append(first)
        for each in others:
            self._end_paragraph()
            self._words.append(each)

    def _line(self, nodes: Any) -> str:
        """Return what an argument says on one line; its line breaks stay, its notes come behind the paragraph."""
        before, self._words = self._words, []
        mark, self._mark = self._mark, ""
        self._inside += 1
        self._add([nodes] if not isinstance(nodes, list) else nodes)
        self._inside -= 1
        found, self._words, self._mark = "".join(self._words), before, mark
        return "\n".join(" ".join(line.split()) for line in found.split("\n\n") if line.strip())

    def _end_paragraph(self) -> None:
        """Append the words so far as a paragraph or a list's item, then its notes; inside a line only part them."""
        if self._inside:
            self._words.append("\n\n" if self._words else "")
            return
        text = " ".join("".join(self._words).split())
        self._words.clear()
        if any(char.isalnum() for char in text):
            if self._lists and self._mark:
                depth = len(self._lists) - 1
                self.parts.add(f"{self._mark} {self._items.add(depth, text)}", "list")
                self._mark = ""
            else:
                self.parts.add(text)
        notes, self._notes = self._notes, []
        for note in notes:
            self.parts.add(note)

    def _add_block(self, text: str, style: str = "") -> None:
        """Append a block that is no paragraph; inside a line its words."""
        self._end_paragraph()
        if self._inside:
            self._words.append(text)
        else:
            self.parts.add(text, style)

    def _add_command(self, node: Any) -> None:
        """Append what a command prints."""
        name, arguments = node.macroname, _arguments(node)
        handler = _COMMANDS.get(name)
        if name in self._definitions:
            self._using += 1
            self._add(self._nodes(self._written_out(node)))
            self._using -= 1
            self._words.append(node.macro_post_space or "")
        elif self._about(node) or name in _WITHOUT_WORDS:
            pass
        elif handler is not None:
            handler(self, name, arguments)
        elif name in _LEVELS and arguments:
            self._add_heading(name, node)
        elif name in ("\\", "newline", "linebreak", "cr", "tabularnewline"):
            self._words.append("\n\n" if self._inside else " ")
        elif name in ("par", "bigskip", "medskip", "smallskip", "newpage", "clearpage", "maketitle"):
            self._end_paragraph()
        else:
            self._add_unknown(node)
        if (node.macro_post_space or "").count("\n") > 1:
            self._end_paragraph()

    def _add_unknown(self, node: Any) -> None:
        """Append what a command prints that is a sign, a picture or only changes how its argument looks."""
        name, arguments = node.macroname, _arguments(node)
        if name in ("verb", "lstinline"):
            self._words.append(getattr(node.nodeargd, "verbatim_text", "") or "")
        elif name == "includegraphics":
            described = _ALTERNATIVE.search(node.latex_verbatim())
            self.report.count("pictures_described" if described else "pictures_without_text")
            if described:
                self._add_block(f"Picture: {one_line(described[1])}")
        elif arguments and self._symbol(node) is None:
            self._add(arguments[-1:])
        else:
            self._words.append(self._symbol(node) or "")

    def _symbol(self, node: Any) -> str | None:
        """Return the sign of a command, such as a Greek letter or one with an accent; None if its argument is words."""
        if node.macroname in _SIGNS:
            return _SIGNS[node.macroname]
        if _arguments(node) and node.macroname not in _ACCENTED:
            return None
        return str(self._symbols.nodelist_to_text([node]))

    def _written_out(self, node: Any) -> str:
        """Return what a command of the document's own stands for; "" where that leads to ever more."""
        definition = self._definitions[node.macroname]
        found = list(node.nodeargd.argnlist or ()) if node.nodeargd is not None else []
        given = [_source(each) if each is not None else definition.default or "" for each in found]
        text = definition.written(given)
        self._written += len(text)
        return text if self._using < _DEEPEST_DEFINITION and self._written <= _MOST_WRITTEN else ""

    def _add_heading(self, name: str, node: Any) -> None:
        """Append the heading of a section."""
        self._end_paragraph()
        arguments = node.nodeargd.argnlist
        text = one_line(self._line(arguments[-1]))
        is_starred = arguments[0] is not None
        self._number = "" if is_starred else self._numbering.section(_LEVELS.index(name))
        self._items.leave()
        self.parts.add(f"{self._number} {text}" if self._number else text, "heading")

    def _add_caption(self, name: str, arguments: list[Any]) -> None:
        """Append the caption of a table or a figure, which a table's rows begin with."""
        text = one_line(self._line(arguments[-1]))
        kind = self._floating or "Figure"
        self._number = self._numbering.next(kind)
        self._caption = f"{kind} {self._number}: {text}" if self._number else text
        self._add_block(self._caption)

    def _add_note(self, name: str, arguments: list[Any]) -> None:
        """Keep a note for the end of its paragraph."""
        text = one_line(self._line(arguments[-1]))
        if name in ("footnote", "thanks", "footnotetext", "endnote"):
            self._notes.append(f"Footnote {self._numbering.next('footnote') or len(self._notes) + 1}: {text}")
            self.report.count("footnotes")
        else:
            self._notes.append(f"Note: {text}")

    def _add_link(self, name: str, arguments: list[Any]) -> None:
        """Append the words of a link; where it leads stands behind the text."""
        target = _source(arguments[0]).replace("\\", "")
        words = one_line(self._line(arguments[1])) if name == "href" else target
        self._words.append(words)
        self._links.append((words, target))

    def _add_label(self, name: str, arguments: list[Any]) -> None:
        """Note which number a label stands for."""
        if self._number:
            self.labels[_source(arguments[-1])] = self._number

    def _add_reference(self, name: str, arguments: list[Any]) -> None:
        """Append the number that a label stands for; the label itself where it has none."""
        label = _source(arguments[-1])
        number = self.labels.get(label) or self._known.get(label)
        self.is_waiting = self.is_waiting or number is None
        kind = _KINDS.get(label.partition(":")[0], "") if name in ("autoref", "cref", "Cref", "vref") else ""
        shown = f"({number})" if number and name == "eqref" else number or f"[{label}]"
        self._words.append(f"{kind} {shown}" if kind else shown)

    def _add_citation(self, name: str, arguments: list[Any]) -> None:
        """Append a citation by the numbers of the bibliography's entries, or by their keys."""
        keys = [each.strip() for each in _source(arguments[-1]).split(",")]
        self.is_waiting = self.is_waiting or any(f"cite {each}" not in self.labels for each in keys)
        found = [self.labels.get(f"cite {each}") or self._known.get(f"cite {each}") or each for each in keys]
        self._words.append(f"[{', '.join(found)}]")

    def _add_entry(self, name: str, arguments: list[Any]) -> None:
        """Begin an entry of the bibliography."""
        self._end_paragraph()
        self._entries += 1
        number = str(self._entries)
        self.labels[f"cite {_source(arguments[-1])}"] = number
        self._words.append(f"[{number}] ")

    def _begin_item(self, name: str, arguments: list[Any]) -> None:
        """Begin an item of a list."""
        self._end_paragraph()
        kind = self._lists[-1] if self._lists else "itemize"
        own = one_line(self._line(arguments[0])) if arguments else ""
        if self._inside:
            self._words.append(f"{own}: " if own else "")
        elif "enum" in kind and not own:
            self._number = self._mark = self._numbers.next(min(self._lists.count(kind), len(_ITEMS)) - 1) or "-"
            self._number = self._number.strip("().")
        else:
            self._mark = "-"
            self._words.append(f"{own}: " if own and "desc" in kind else f"{own} " if own else "")

    def _add_quantity(self, name: str, arguments: list[Any]) -> None:
        """Append a number with its unit, as siunitx prints it."""
        texts = [_source(each) for each in arguments if not _is_optional(each)]
        if name in ("si", "unit"):
            self._words.append(_unit(texts[-1]))
        elif name == "ang":
            self._words.append(f"{texts[-1]}°")
        else:
            unit = _unit(texts.pop()) if name in ("SI", "qty", "SIrange", "qtyrange") else ""
            self._words.append("–".join(map(_number, texts)) + (unit if unit in ("°", "") else f" {unit}"))

    def _add_title_of_slide(self, name: str, arguments: list[Any]) -> None:
        """Append the title of a slide as a heading."""
        self._end_paragraph()
        self.parts.add(one_line(self._line(arguments[-1])), "heading")

    def _part_names(self, name: str, arguments: list[Any]) -> None:
        """Part two authors."""
        self._words.append(_AUTHORS)

    def _choose_letters(self, name: str, arguments: list[Any]) -> None:
        """Number what follows as an appendix."""
        self._numbering.appendix()

    def _add_environment(self, node: Any) -> None:
        """Append what an environment holds."""
        name = node.environmentname
        if name in _UNREAD:
            self.report.leave_out(f"a drawing ({name})") if "picture" in name else None
        elif name in VERBATIM:
            self._end_paragraph()
            lines = _verbatim(node).strip("\n").split("\n")
            self._add_block("\n".join(line.rstrip() for line in lines if line.strip()))
        elif name in _TABLES:
            self._add_table(node)
        elif name in _LISTS or (name.rstrip("*") in ("itemize", "enumerate")):
            self._add_list(node)
        elif _is_formula(node):
            self._number = self._numbering.next("equation") if name == "equation" else ""
            self._add_formula(node.nodelist, is_alone=True)
        else:
            self._add_inner(node)

    def _add_inner(self, node: Any) -> None:
        """Append the text of an environment that is none of those with a form of their own."""
        name = node.environmentname.rstrip("*")
        self._end_paragraph()
        before, caption = self._floating, self._caption
        if name in ("table", "figure", "wrapfigure", "wraptable", "sidewaystable", "sidewaysfigure"):
            self._floating = "Table" if "table" in name else "Figure"
            self._caption = self._caption_below(node.nodelist) if self._floating == "Table" else ""
        elif name == "abstract":
            self.parts.add("Abstract", "heading")
        elif name == "thebibliography":
            self.parts.add("References", "heading")
        nodes = list(node.nodelist)
        if name == "frame" and (titled := [each for each in _arguments(node) if not _is_optional(each)]):
            self.parts.add(one_line(self._line(titled[0])), "heading")
        self._add(nodes)
        self._end_paragraph()
        self._floating, self._caption = before, caption

    def _caption_below(self, nodes: Sequence[Any]) -> str:
        """Return the caption that a table has below it; "" where it stands above, or there is none."""
        seen = False
        for node in nodes:
            if node.isNodeType(latexwalker.LatexEnvironmentNode):
                seen = True
            elif node.isNodeType(latexwalker.LatexMacroNode) and node.macroname == "caption" and _arguments(node):
                notes, self._notes = self._notes, []
                counts = dict(self.report.counts), dict(self._numbering.counts)
                text = one_line(self._line(_arguments(node)[-1]))
                number = self._numbering.next("Table")
                text = f"Table {number}: {text}" if number else text
                self._notes, (self.report.counts, self._numbering.counts) = notes, counts
                return text if seen else ""
        return ""

    def _add_list(self, node: Any) -> None:
        """Append a list's items, each with the items around it."""
        self._end_paragraph()
        name = node.environmentname.rstrip("*")
        self._lists.append(name)
        mark, self._mark = self._mark, ""
        depth = self._lists.count(name) - 1
        if "enum" in name:
            for inner in [each for each in self._numbers.numbers if each >= depth]:
                del self._numbers.numbers[inner]
        self._add(node.nodelist)
        self._end_paragraph()
        self._lists.pop()
        self._mark = mark if self._lists else ""
        if not self._lists:
            self._items.leave()

    def _add_table(self, node: Any) -> None:
        """Append the rows of a table."""
        if self._inside:
            self._words.append("; ".join(" ".join(map(str, row)) for row, _ in self._rows(node)))
            return
        self._end_paragraph()
        rows, header = _without_repeated_heads(self._rows(node))
        grid = expand_spans([[(text, wide, 1) for text, wide, _ in row] for row in rows])
        for line in self.report.table(table_lines(grid, caption=self._caption, header_rows=header)):
            self.parts.add(line, "row")
        notes, self._notes = self._notes, []
        for note in notes:
            self.parts.add(note)

    def _rows(self, node: Any) -> Iterator[tuple[list[_Cell], set[str]]]:
        """Yield the cells `(text, columns, rows)` of each row, with the rules and marks that stand before it."""
        cells: list[_Cell] = []
        cell: list[Any] = []
        before: set[str] = set()
        for each in [*node.nodelist, None]:
            name = each.macroname if each is not None and each.isNodeType(latexwalker.LatexMacroNode) else ""
            is_bar = each is not None and each.isNodeType(latexwalker.LatexSpecialsNode) and each.specials_chars == "&"
            if is_bar:
                cells.append(self._cell(cell))
                cell = []
            elif each is None or name in ("\\", "tabularnewline", "cr"):
                cells.append(self._cell(cell))
                yield cells, before
                cells, cell, before = [], [], set()
            elif name in _RULES:
                if name.startswith("end") and any(text for text, _, _ in [*cells, self._cell(cell)]):
                    yield [*cells, self._cell(cell)], before
                    cells, cell, before = [], [], set()
                before.add(name)
            elif name == "caption" and _arguments(each):
                self._floating, outer = "Table", self._floating
                self._add_caption(name, _arguments(each))
                self._floating = outer
            elif name == "label":
                self._add_label(name, _arguments(each))
            else:
                cell.append(each)

    def _cell(self, nodes: list[Any]) -> _Cell:
        """Return a cell: its text, and the numbers of columns and rows that it spans."""
        columns = rows = 1
        spanning = [each for each in nodes if each.isNodeType(latexwalker.LatexMacroNode)]
        for each in spanning:
            given = _arguments(each)
            if each.macroname == "multicolumn" and given:
                columns = _whole(_source(given[0]))
                given = given[-1].nodelist if given[-1].isNodeType(latexwalker.LatexGroupNode) else [given[-1]]
                spanning += [inner for inner in given if inner.isNodeType(latexwalker.LatexMacroNode)]
            elif each.macroname == "multirow" and given:
                rows = _whole(next((_source(one) for one in given if not _is_optional(one)), "1"))
        return one_line(self._line(nodes)), columns, rows

    def _add_formula(self, nodes: Sequence[Any], *, is_alone: bool) -> None:
        """Append a formula to the paragraph, or as one."""
        text = " ".join(_PADDED.sub(r" \g<0> ", self._formula(nodes)).split())
        if is_alone:
            self._add_block(text)
        else:
            self._words.append(text)

    def _formula(self, nodes: Sequence[Any]) -> str:
        """Return a formula in a line: "x² + (a + 1)/b"."""
        units: list[tuple[str, bool]] = []
        for node in nodes:
            if node is None:
                continue
            if node.isNodeType(latexwalker.LatexCharsNode):
                units += [(char, False) for char in "".join(node.chars.split())]
            elif node.isNodeType(latexwalker.LatexGroupNode):
                units.append((self._formula(node.nodelist), True))
            elif node.isNodeType(latexwalker.LatexMacroNode):
                units.append((self._formula_command(node), True))
            elif node.isNodeType(latexwalker.LatexEnvironmentNode):
                units.append((f" {self._formula(node.nodelist)} ", True))
            elif node.isNodeType(latexwalker.LatexSpecialsNode):
                units.append((" " if node.specials_chars == "&" else node.specials_chars, False))
        found, at = "", 0
        while at < len(units):
            text, is_whole = units[at]
            at += 1
            if is_whole or text not in "^_" or at == len(units):
                found += "′" if text == "'" else text
                continue
            other = units[at][0]
            at += 1
            is_range = found.rstrip()[-1:] in _OPERATORS and found.strip() != ""
            below = f"_{grouped(other)}" if is_range else other
            found += power(other) if text == "^" else below
        return found

    def _formula_command(self, node: Any) -> str:
        """Return what a command inside a formula says."""
        name, arguments = node.macroname, _arguments(node)
        if name in self._definitions:
            self._using += 1
            written = self._nodes(f"${self._written_out(node)}$")
            found = self._formula([each for math in written for each in getattr(math, "nodelist", ())])
            self._using -= 1
            return found
        if name in ("text", "mbox", "textrm", "textit", "textbf", "intertext"):
            return f" {self._line(arguments[-1])} " if arguments else ""
        if name in _COMMANDS and name not in ("item", "caption"):
            return self._line([node])
        if name in _IN_FORMULAS or name in _SIGNS:
            return _IN_FORMULAS.get(name) or _SIGNS.get(name, "")
        inner = [self._formula(getattr(each, "nodelist", None) or [each]) for each in arguments]
        if inner and name not in _ACCENTS:
            return "" if name in _WITHOUT_WORDS else _arranged(name, inner)
        return str(self._symbols.nodelist_to_text([node]))


def _arguments(node: Any) -> list[Any]:
    """Return the arguments of a command or an environment that are there, without a star."""
    found = node.nodeargd.argnlist if node.nodeargd is not None else None
    return [each for each in found or () if each is not None and _source(each) != "*"]


def _arranged(name: str, inner: list[str]) -> str:
    """Return the parts of a fraction or a root in a line; of another command the last part."""
    if name in ("frac", "dfrac", "tfrac", "cfrac") and len(inner) == 2:
        return f"{grouped(inner[0])}/{grouped(inner[1])}"
    if name == "binom" and len(inner) == 2:
        return f"C({inner[0]}, {inner[1]})"
    if name == "sqrt":
        return f"{power(inner[0]).lstrip('^') if len(inner) > 1 else ''}√{grouped(inner[-1])}"
    return inner[-1]


def _is_optional(argument: Any) -> bool:
    """Return whether an argument stands in square brackets."""
    return bool(argument.isNodeType(latexwalker.LatexGroupNode) and argument.delimiters[0] == "[")


def _source(argument: Any) -> str:
    """Return the source of an argument without its brackets."""
    text = str(argument.latex_verbatim()).strip()
    return text[1:-1].strip() if text[:1] + text[-1:] in ("{}", "[]") else text


def _verbatim(node: Any) -> str:
    """Return the lines of a program, as they stand in the source."""
    text = getattr(node.nodeargd, "verbatim_text", None)
    if text is None:
        text = "".join(each.latex_verbatim() for each in node.nodelist)
    return _OPTIONS.sub("", str(text))


def _is_formula(node: Any) -> bool:
    """Return whether an environment holds a formula."""
    return any(each.parsing_state.in_math_mode for each in node.nodelist[:1])


def _without_repeated_heads(
    table: Iterator[tuple[list[_Cell], set[str]]],
) -> tuple[list[list[_Cell]], int | None]:
    """Return a table's rows and how many of them are its header, without what `longtable` repeats on each page."""
    rows: list[list[_Cell]] = []
    header: int | None = None
    first = 0
    for cells, before in table:
        if "endfirsthead" in before:
            first = len(rows)
        elif "endhead" in before:
            header = first or len(rows)
            rows = rows[:header]
        elif before & {"endfoot", "endlastfoot"}:
            rows = rows[: header or first]
        elif "midrule" in before and header is None and rows:
            header = len(rows)
        if any(text for text, _, _ in cells):
            rows.append(_below(rows, cells))
    return rows, header


def _below(rows: list[list[_Cell]], cells: list[_Cell]) -> list[_Cell]:
    """Return a row's cells, the empty ones with the text of a cell above that spans their row, too."""
    above = {}
    place = 0
    for text, wide, deep in rows[-1] if rows else ():
        above[place] = text, wide, deep
        place += wide
    found, place = [], 0
    for text, wide, deep in cells:
        over = above.get(place, ("", 1, 1))
        found.append((over[0], wide, over[2] - 1) if not text and over[2] > 1 else (text, wide, deep))
        place += wide
    return found


def _whole(text: str) -> int:
    return max(1, whole_number(text, 1, _MOST_SPANNED))


def _number(text: str) -> str:
    """Return a number as siunitx prints it: "3 × 10⁸" of "3e8"."""
    whole, _, exponent = text.partition("e")
    return f"{whole} × 10{power(exponent)}" if exponent else text


def _unit(text: str) -> str:
    """Return a unit as siunitx prints it, such as "m/s²" of its names."""
    found, behind = "", ""
    for match in _UNIT.finditer(text):
        name, plain = match[1], match[2]
        if name in ("square", "cubic"):
            behind = _UNITS[name]
            continue
        found += _UNITS.get(name, name) if name else plain.replace(".", " ")
        if name not in _PREFIXES:
            found, behind = found + behind, ""
    return found


_COMMANDS: dict[str, Callable[[_Reader, str, list[Any]], None]] = {
    "appendix": _Reader._choose_letters,
    "bibitem": _Reader._add_entry,
    "item": _Reader._begin_item,
    "label": _Reader._add_label,
    "and": _Reader._part_names,
    **dict.fromkeys(("caption", "captionof"), _Reader._add_caption),
    **dict.fromkeys(("url", "href"), _Reader._add_link),
    **dict.fromkeys(("ref", "autoref", "cref", "Cref", "eqref", "vref", "subref"), _Reader._add_reference),
    **dict.fromkeys(
        ("cite", "citep", "citet", "citealp", "parencite", "textcite", "autocite", "footcite"), _Reader._add_citation
    ),
    **dict.fromkeys(("footnote", "footnotetext", "thanks", "endnote"), _Reader._add_note),
    **dict.fromkeys(("marginpar", "sidenote", "todo"), _Reader._add_note),
    **dict.fromkeys(
        ("num", "qty", "SI", "si", "unit", "ang", "SIrange", "qtyrange", "numrange"), _Reader._add_quantity
    ),
    **dict.fromkeys(("frametitle", "framesubtitle"), _Reader._add_title_of_slide),
}
"""What is done with a command, by its name."""
