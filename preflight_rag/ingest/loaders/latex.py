"""Read LaTeX sources (.tex) through pylatexenc: what a reader of the printed document sees, with its numbers.

Sections, paragraphs, lists, rows of tables, captions, footnotes, formulas in one line, and references by their numbers.
Commands that the document defines are expanded. Comments are left out; so are included files, which are reported.
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

_BEGIN_DOCUMENT = "\\begin{document}"
_DEFINITION_HEAD = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand|DeclareMathOperator)\*? ?"
    r"\{?\\(?P<name>[A-Za-z]{1,40})\}?"
    r"(?:\[(?P<count>[1-9])\])?(?:\[(?P<default>[^\]\n]{0,200})\])? ?(?=\{)"
    r"|\\def ?\\(?P<short>[A-Za-z]{1,40}) ?(?P<places>(?:#[1-9]){0,9})(?=\{)"
)
"""The head of a definition: "\\newcommand{\\price}[1]" before "{#1 crowns}", "\\def\\kiln" before "{Zaffre}"."""
_MAXIMUM_DEFINITION_LENGTH = 2_000
"""Maximum characters of a definition that is read; longer ones are programs. A guess."""
_MAXIMUM_EXPANDED_LENGTH = 200_000
"""Maximum characters of all expanded definitions: one may use another twice, which uses a third twice, and so on."""
_MAXIMUM_EXPANSION_DEPTH = 10
_DOCUMENT_CLASS = re.compile(r"\\documentclass(?:\[[^\]]{0,300}\])?\{([\w-]{1,40})\}")
_SECTION_COMMANDS = ("chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_DEEPEST_NUMBERED_LEVEL = {
    **dict.fromkeys(("article", "scrartcl", "amsart", "extarticle", "elsarticle", "llncs", "paper", "minimal"), 3),
    **dict.fromkeys(("report", "book", "scrreprt", "scrbook", "memoir", "extreport", "extbook"), 2),
}
"""Index in `_SECTION_COMMANDS` of the deepest numbered level, by class; other classes number in their own ways."""
_CLASSES_WITH_CHAPTERS = ("report", "book", "scrreprt", "scrbook", "memoir", "extreport", "extbook")
_NUMBERING_DEPTH = re.compile(r"\\setcounter\{secnumdepth\}\{(-?\d|-\\maxdimen)\}")
"""The command by which a document sets the deepest numbered level itself."""
_TABLE_ENVIRONMENTS = (
    *("tabular", "tabular*", "tabularx", "tabulary", "longtable", "longtable*", "xltabular", "supertabular", "tabbing"),
)
_LIST_ENVIRONMENTS = ("itemize", "enumerate", "description", "compactitem", "compactenum", "inparaenum", "asparaenum")
_LONGTABLE_PARTS = ("head", "firsthead", "foot", "lastfoot")
"""Names of the parts of a `longtable` that each page repeats, without "end" before them."""
_SKIPPED_ENVIRONMENTS = ("comment", "filecontents", "filecontents*", "tikzpicture", "pgfpicture", "CCSXML")
_SECTION_LEVELS = {index: Level("decimal", ".".join(("%1", "%2", "%3", "%4")[: index + 1])) for index in range(4)}
"""How LaTeX numbers sections, by their level: "1", "1.1", "1.1.1"."""
_ITEM_LEVELS = {
    **{0: Level("decimal", "%1."), 1: Level("lowerLetter", "(%2)"), 2: Level("lowerRoman", "%3.")},
    3: Level("upperLetter", "%4."),
}
"""How LaTeX numbers the items of an "enumerate", by the depth of the list: "1.", "(a)", "i.", "A."."""
_COMMANDS_WITHOUT_TEXT = frozenset(
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
"""Commands whose arguments are not printed, or are read elsewhere."""
_ARGUMENT_PATTERNS = {
    **dict.fromkeys(("caption", "part", *_SECTION_COMMANDS), "*[{"),
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
"""Arguments of commands that pylatexenc does not know, in its notation: "{" is mandatory, "[" and "*" are optional."""
_UNIT_SIGNS = {
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
"""What siunitx prints for the names of units, prefixes and powers; "square" is moved behind its unit."""
_UNIT_PART = re.compile(r"\\([A-Za-z]{1,30})|([^\\\s{}~]+)")
"""A command or a run of plain characters in a unit: "\\metre", "kg"."""
_SPACED_OPERATORS = re.compile(r"[=+<>≤≥±×·≈≠∈→←⇒∼∝]")
_RANGE_OPERATORS = "∑∏∫"  # whose subscript is a lower bound
_SUBTITLE_COMMANDS = ("subtitle", "institute", "affiliation", "affil", "address", "keywords")
_AUTHOR_SEPARATOR = "\x00"
"""Stands between two authors (for `\\and`) until they are split."""
_MAXIMUM_SPAN = 200
"""Maximum columns or rows that a cell spans; a guess at what no table has."""
_UNIT_PREFIXES = ("kilo", "mega", "giga", "tera", "milli", "micro", "nano", "pico", "centi", "deci", "hecto", "per")
_Cell: TypeAlias = tuple[str, int, int]
"""A cell of a table: its text, and the numbers of columns and rows that it spans."""
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_PICTURE_DESCRIPTION = re.compile(r"\balt ?= ?\{?([^{}\],]{1,500})")
"""The description of a picture: "alt={Plan of the quay}"."""
_TABLE_RULES = frozenset({"hline", "toprule", "midrule", "bottomrule", *(f"end{each}" for each in _LONGTABLE_PARTS)})
_LISTING_OPTIONS = re.compile(r"\A[ \t]{0,20}(?:\[[^\]\n]{0,300}\])?(?:\{\w{1,40}\})?[ \t]{0,20}\n")
"""Options and the line's end after the beginning of a program listing: "[language=Python]"."""
_KIND_OF_LABEL = {
    "fig": "Figure",
    "tab": "Table",
    "tbl": "Table",
    "sec": "Section",
    "chap": "Chapter",
    "eq": "Equation",
}
"""What `\\autoref` prints before a number, by the customary prefix of the label: "fig:plan"."""
_FORMULA_LAYOUT = {
    **dict.fromkeys(("left", "right", "big", "Big", "bigl", "bigr", "limits", "nonumber", "notag", "displaystyle"), ""),
    **dict.fromkeys(("quad", "qquad", ",", ";", ":", " "), " "),
    **{"!": "", "\\": "; ", "cr": "; ", "iff": " ⇔ "},
}
"""Text of commands that only lay out a formula: blanks, line ends, or nothing."""
_FORMULA_ACCENTS = ("hat", "bar", "tilde", "vec", "dot", "ddot", "overline")
_EXTRA_SIGNS = {
    **{"pounds": "£", "euro": "€", "EUR": "€", "officialeuro": "€", "yen": "¥", "textrupee": "₹", "textminus": "−"},
    **{"S": "§", "P": "¶", "copyright": "©", "ddag": "‡", "degree": "°", "celsius": "°C", "slash": "/"},
    **{"textless": "<", "textgreater": ">", "textbar": "|", "textquotedbl": '"'},
}
"""Signs printed by commands that pylatexenc does not know."""
_ACCENT_COMMANDS = frozenset((*"`'^\"~=.cvuHkrbdt", "not"))
"""Commands that put an accent on the letter in their argument."""


def load_latex(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a LaTeX source as one document, whose report names the included files.

    Raises:
        UnreadableDocument: Its brackets or environments are nested too deeply.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # It would log each bracket that is not closed.
    source = clean(decode(read_bytes(path, max_bytes), path))
    try:
        reader = _read_source(source)
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


def _read_source(source: str) -> _Reader:
    """Read a source; return the reader that holds its text.

    A source with references to later parts is read twice: the second time, the numbers of these parts are known.
    """
    printed = printed_source(source)
    source, definitions = _take_out_definitions(printed.text, printed.listings)
    begin = source.find(_BEGIN_DOCUMENT)
    preamble, body = (source[:begin], source[begin + len(_BEGIN_DOCUMENT) :]) if begin >= 0 else ("", source)
    context = latexwalker.get_default_latex_context_db()
    context.add_context_category("preflight", **_parser_specifications(definitions), prepend=True)
    reader = _Reader(context, definitions, _Numbering.of(preamble))
    reader.read(preamble, body)
    if reader.has_unknown_reference:
        reader = _Reader(context, definitions, _Numbering.of(preamble), labels=reader.labels)
        reader.read(preamble, body)
    return reader


@dataclass(frozen=True)
class _Definition:
    """A command that a document defines.

    `default` stands for an omitted first argument; it is None if that is mandatory. `body` is the LaTeX source that a
    use stands for, with "#1" to "#9" for the arguments.
    """

    argument_count: int
    default: str | None
    body: str

    def expand(self, arguments: Sequence[str]) -> str:
        """Return the body with the arguments of a use in it."""
        text = self.body
        for number, argument in enumerate(arguments, 1):
            text = text.replace(f"#{number}", argument)
        return text


def _take_out_definitions(source: str, listings: Sequence[tuple[int, int]]) -> tuple[str, dict[str, _Definition]]:
    """Return a source without its definitions of commands, and the definitions by the commands' names.

    Program listings, whose begin and end are given, are left alone: definitions in them are only printed.
    """
    definitions: dict[str, _Definition] = {}
    kept_pieces, position = [], 0
    begins = [begin for begin, _ in listings]
    for match in _DEFINITION_HEAD.finditer(source):
        index = bisect_right(begins, match.start()) - 1
        end_of_listing = listings[index][1] if index >= 0 else 0
        # A definition within a listing, or within another definition, is a part of that.
        if match.start() < max(position, end_of_listing):
            continue
        end = _closing_brace(source, match.end())
        if end < 0:
            continue
        name = match["name"] or match["short"]
        argument_count = int(match["count"] or 0) or (match["places"] or "").count("#")
        definitions[name] = _Definition(argument_count, match["default"], source[match.end() + 1 : end])
        kept_pieces.append(source[position : match.start()])
        position = end + 1
    return "".join(kept_pieces) + source[position:], definitions


def _closing_brace(text: str, start: int) -> int:
    """Return the index of the brace that closes the one at `start`; -1 if a definition would be too long by then."""
    depth, index = 0, start
    limit = min(len(text), start + _MAXIMUM_DEFINITION_LENGTH)
    while index < limit:
        char = text[index]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
        if depth == 0:
            return index
        index += 2 if char == "\\" else 1  # An escaped brace, "\\{", does not count.
    return -1


def _parser_specifications(definitions: dict[str, _Definition]) -> dict[str, Any]:
    """Return the arguments of commands and environments, those of the document included, for pylatexenc."""
    macros = [MacroSpec(name, arguments) for name, arguments in _ARGUMENT_PATTERNS.items()]
    for name, definition in definitions.items():
        first = "" if definition.default is None else "["
        macros.append(MacroSpec(name, first + "{" * (definition.argument_count - len(first))))
    environments = [EnvironmentSpec(name, "[{") for name in ("tabular", "longtable", "longtable*", "supertabular")]
    environments += [EnvironmentSpec(name, "{[{") for name in ("tabular*", "tabularx", "tabulary")]
    environments += [
        EnvironmentSpec(name, "[") for name in ("figure", "figure*", "table", "table*", *_LIST_ENVIRONMENTS)
    ]
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
    """The counters of sections, tables, figures and equations of one document.

    Attributes:
        deepest: Index in `_SECTION_COMMANDS` of the deepest level with a number; -1 if sections have no numbers.
        outermost: Index of the outermost level: 0 for chapters, 1 for sections.
        is_known: Whether the document's class counts as LaTeX's own classes do.
        counts: How many tables, figures and so on were counted, by kind.
    """

    deepest: int
    outermost: int
    is_known: bool
    counts: dict[str, int] = field(default_factory=dict)
    sections: Counter = field(default_factory=lambda: Counter(_SECTION_LEVELS))

    @classmethod
    def of(cls, preamble: str) -> _Numbering:
        """Return the counters of a document, by the class and the depth of numbering that its preamble sets."""
        class_match = _DOCUMENT_CLASS.search(preamble)
        name = class_match[1] if class_match else ""
        depth = _NUMBERING_DEPTH.search(preamble)
        deepest = _DEEPEST_NUMBERED_LEVEL.get(name, -1)
        if depth and deepest >= 0:
            deepest = int(depth[1]) if depth[1].lstrip("-").isdigit() else -1
        outermost = 0 if name in _CLASSES_WITH_CHAPTERS else 1
        is_known = name in _DEEPEST_NUMBERED_LEVEL and "\\numberwithin" not in preamble
        return cls(deepest, outermost, is_known)

    def section(self, level: int) -> str:
        """Count a section of a level (an index in `_SECTION_COMMANDS`); return its number, "" if the level has none."""
        if not self.outermost <= level <= self.deepest:
            return ""
        if level == 0:
            self.counts.clear()
        for outer in range(level - self.outermost):
            self.sections.numbers.setdefault(outer, 0)  # LaTeX numbers a section before the first chapter "0.1".
        return self.sections.next(level - self.outermost)

    def appendix(self) -> None:
        """Number the following sections with letters."""
        self.sections = Counter({**_SECTION_LEVELS, 0: Level("upperLetter", "%1")})

    def next(self, kind: str) -> str:
        """Count a table, figure, equation or footnote; return its number, "" if the class counts in its own way."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if not self.is_known:
            return ""
        chapter = self.sections.numbers.get(0, 0)
        return f"{chapter}.{self.counts[kind]}" if self.outermost == 0 and chapter else str(self.counts[kind])


class _Reader:
    """Reader of one source; it collects the blocks in `parts`, each paragraph followed by its notes.

    `labels` are the numbers that labels stand for, from a first reading.
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
        self.has_unknown_reference = False
        """Whether a reference was read before the number of its label was known."""
        self._context, self._definitions, self._numbering = context, definitions, numbering
        self._labels_of_first_reading = labels or {}
        self._sign_converter = LatexNodes2Text(math_mode="text", keep_comments=False)
        self._words: list[str] = []
        self._notes: list[str] = []
        self._links: list[tuple[str, str]] = []
        self._items = OpenItems()
        self._lists: list[str] = []
        self._item_numbers = Counter(_ITEM_LEVELS)
        self._item_mark = ""
        self._label_number = ""
        """The number that a `\\label` here would stand for: that of the last heading, caption, equation or item."""
        self._caption = self._float_kind = ""
        self._argument_depth = 0
        """How many arguments are being read within each other; their text becomes one line, not blocks."""
        self._expanded_length = self._expansion_depth = self._bibliography_entries = 0

    def read(self, preamble: str, body: str) -> None:
        """Read a document: title, authors and date from the preamble, then the text, then the addresses of links."""
        for node in self._parse(preamble):
            if node.isNodeType(latexwalker.LatexMacroNode):
                self._record_front_matter(node)
        self._add_nodes(self._parse(body))
        self._end_paragraph()
        for line in link_lines(self._links):
            self.parts.add(line, "list")

    def _parse(self, text: str) -> list[Any]:
        """Return the nodes of a LaTeX source."""
        nodes, _, _ = latexwalker.LatexWalker(
            text, latex_context=self._context, tolerant_parsing=True
        ).get_latex_nodes()
        return list(nodes)

    def _record_front_matter(self, node: Any) -> bool:
        """Record a title, authors, a date, or an included file; return whether the command is one of these."""
        name, arguments = node.macroname, _arguments(node)
        if name in ("input", "include", "bibliography", "addbibresource", "subfile"):
            file = arguments[-1].latex_verbatim().strip("{}") if arguments else ""
            if file and "\\" not in file and file not in self.inputs:
                self.inputs.append(file)
        elif name in _SUBTITLE_COMMANDS and arguments:
            self.parts.add(one_line(self._argument_text(arguments[-1])))
        elif name == "title" and arguments:
            self.title = self._argument_text(arguments[-1])
            self.parts.add(self.title, "heading")
        elif name == "date" and arguments:
            self.date = self._argument_text(arguments[-1])
            self.parts.add(self.date)
        elif name == "author" and arguments:
            authors = self._argument_text(arguments[-1]).split(_AUTHOR_SEPARATOR)
            # The lines below an author's name are the affiliation.
            self.authors += [one_line(author.strip().split("\n")[0]) for author in authors if author.strip()]
            self.parts.add("; ".join(map(one_line, authors)))
        else:
            return False
        self._end_paragraph()
        return True

    def _add_nodes(self, nodes: Sequence[Any]) -> None:
        """Append the text of nodes to the current paragraph, and the blocks among them to the document."""
        for node in nodes:
            if node is None:
                continue
            kind = node.nodeType()
            if kind is latexwalker.LatexCharsNode:
                self._add_characters(node.chars)
            elif kind is latexwalker.LatexGroupNode:
                self._add_nodes(node.nodelist)
            elif kind is latexwalker.LatexMathNode:
                self._add_formula(node.nodelist, is_alone=node.displaytype == "display")
            elif kind is latexwalker.LatexMacroNode:
                self._add_command(node)
            elif kind is latexwalker.LatexEnvironmentNode:
                self._add_environment(node)
            elif kind is latexwalker.LatexSpecialsNode and not _BLANK_LINE.search(node.specials_chars):
                self._words.append(self._sign_converter.nodelist_to_text([node]))
            elif kind is latexwalker.LatexSpecialsNode or node.comment_post_space.count("\n") > 1:
                self._end_paragraph()

    def _add_characters(self, text: str) -> None:
        """Append plain characters to the current paragraph; a blank line in them begins another one."""
        first, *others = _BLANK_LINE.split(text)
        self._words.append(first)
        for paragraph in others:
            self._end_paragraph()
            self._words.append(paragraph)

    def _argument_text(self, nodes: Any) -> str:
        """Return the text of an argument; its paragraphs become lines, and its notes follow the current paragraph."""
        outer_words, self._words = self._words, []
        mark, self._item_mark = self._item_mark, ""
        self._argument_depth += 1
        self._add_nodes([nodes] if not isinstance(nodes, list) else nodes)
        self._argument_depth -= 1
        text, self._words, self._item_mark = "".join(self._words), outer_words, mark
        return "\n".join(" ".join(line.split()) for line in text.split("\n\n") if line.strip())

    def _end_paragraph(self) -> None:
        """Append the words so far as a paragraph or a list item, then its notes; in an argument, only separate them."""
        if self._argument_depth:
            self._words.append("\n\n" if self._words else "")
            return
        text = " ".join("".join(self._words).split())
        self._words.clear()
        if any(char.isalnum() for char in text):
            if self._lists and self._item_mark:
                depth = len(self._lists) - 1
                self.parts.add(f"{self._item_mark} {self._items.add(depth, text)}", "list")
                self._item_mark = ""
            else:
                self.parts.add(text)
        notes, self._notes = self._notes, []
        for note in notes:
            self.parts.add(note)

    def _add_block(self, text: str, style: str = "") -> None:
        """End the paragraph, and append a block of a style; in an argument, append only its words."""
        self._end_paragraph()
        if self._argument_depth:
            self._words.append(text)
        else:
            self.parts.add(text, style)

    def _add_command(self, node: Any) -> None:
        """Append what a command prints; a blank line after it ends the paragraph."""
        name, arguments = node.macroname, _arguments(node)
        handler = _COMMANDS.get(name)
        if name in self._definitions:
            self._expansion_depth += 1
            self._add_nodes(self._parse(self._expand(node)))
            self._expansion_depth -= 1
            self._words.append(node.macro_post_space or "")
        elif self._record_front_matter(node) or name in _COMMANDS_WITHOUT_TEXT:
            pass
        elif handler is not None:
            handler(self, name, arguments)
        elif name in _SECTION_COMMANDS and arguments:
            self._add_heading(name, node)
        elif name in ("\\", "newline", "linebreak", "cr", "tabularnewline"):
            self._words.append("\n\n" if self._argument_depth else " ")
        elif name in ("par", "bigskip", "medskip", "smallskip", "newpage", "clearpage", "maketitle"):
            self._end_paragraph()
        else:
            self._add_other_command(node)
        if (node.macro_post_space or "").count("\n") > 1:
            self._end_paragraph()

    def _add_other_command(self, node: Any) -> None:
        """Append what a command without a handler prints: a program, a description, its argument or a sign."""
        name, arguments = node.macroname, _arguments(node)
        if name in ("verb", "lstinline"):
            self._words.append(getattr(node.nodeargd, "verbatim_text", "") or "")
        elif name == "includegraphics":
            description = _PICTURE_DESCRIPTION.search(node.latex_verbatim())
            self.report.count("pictures_described" if description else "pictures_without_text")
            if description:
                self._add_block(f"Picture: {one_line(description[1])}")
        elif arguments and self._sign_of(node) is None:
            self._add_nodes(arguments[-1:])
        else:
            self._words.append(self._sign_of(node) or "")

    def _sign_of(self, node: Any) -> str | None:
        """Return the sign that a command prints, such as a Greek or accented letter; None for one with an argument."""
        if node.macroname in _EXTRA_SIGNS:
            return _EXTRA_SIGNS[node.macroname]
        if _arguments(node) and node.macroname not in _ACCENT_COMMANDS:
            return None
        return str(self._sign_converter.nodelist_to_text([node]))

    def _expand(self, node: Any) -> str:
        """Return the LaTeX source that a command of the document stands for; "" if it would expand without an end."""
        definition = self._definitions[node.macroname]
        arguments = list(node.nodeargd.argnlist or ()) if node.nodeargd is not None else []
        values = []
        for argument in arguments:
            values.append(_argument_source(argument) if argument is not None else definition.default or "")
        text = definition.expand(values)
        self._expanded_length += len(text)
        is_too_deep = self._expansion_depth >= _MAXIMUM_EXPANSION_DEPTH
        return "" if is_too_deep or self._expanded_length > _MAXIMUM_EXPANDED_LENGTH else text

    def _add_heading(self, name: str, node: Any) -> None:
        """Append the heading of a section with its number; `name` is one of `_SECTION_COMMANDS`."""
        self._end_paragraph()
        arguments = node.nodeargd.argnlist
        text = one_line(self._argument_text(arguments[-1]))
        is_starred = arguments[0] is not None
        self._label_number = "" if is_starred else self._numbering.section(_SECTION_COMMANDS.index(name))
        self._items.leave()
        self.parts.add(f"{self._label_number} {text}" if self._label_number else text, "heading")

    def _add_caption(self, name: str, arguments: list[Any]) -> None:
        """Append the caption of a table or figure with its number, and keep it for the rows of the table."""
        text = one_line(self._argument_text(arguments[-1]))
        kind = self._float_kind or "Figure"
        self._label_number = self._numbering.next(kind)
        self._caption = f"{kind} {self._label_number}: {text}" if self._label_number else text
        self._add_block(self._caption)

    def _keep_note(self, name: str, arguments: list[Any]) -> None:
        """Keep a footnote or marginal note for the end of the current paragraph."""
        text = one_line(self._argument_text(arguments[-1]))
        if name in ("footnote", "thanks", "footnotetext", "endnote"):
            self._notes.append(f"Footnote {self._numbering.next('footnote') or len(self._notes) + 1}: {text}")
            self.report.count("footnotes")
        else:
            self._notes.append(f"Note: {text}")

    def _add_link(self, name: str, arguments: list[Any]) -> None:
        """Append the words of a link, and keep its address for the end of the document."""
        target = _argument_source(arguments[0]).replace("\\", "")
        words = one_line(self._argument_text(arguments[1])) if name == "href" else target
        self._words.append(words)
        self._links.append((words, target))

    def _record_label(self, name: str, arguments: list[Any]) -> None:
        """Record that a label stands for the last number, if there was one."""
        if self._label_number:
            self.labels[_argument_source(arguments[-1])] = self._label_number

    def _add_reference(self, name: str, arguments: list[Any]) -> None:
        """Append the number that a label stands for, as the command prints it ("Figure 2", "(3)"); else "[label]"."""
        label = _argument_source(arguments[-1])
        number = self.labels.get(label) or self._labels_of_first_reading.get(label)
        self.has_unknown_reference = self.has_unknown_reference or number is None
        prefix = label.partition(":")[0]
        kind = _KIND_OF_LABEL.get(prefix, "") if name in ("autoref", "cref", "Cref", "vref") else ""
        reference = f"({number})" if number and name == "eqref" else number or f"[{label}]"
        self._words.append(f"{kind} {reference}" if kind else reference)

    def _add_citation(self, name: str, arguments: list[Any]) -> None:
        """Append a citation by the numbers of the bibliography's entries, or by their keys: "[2, lund2019]"."""
        marks = []
        for key in [part.strip() for part in _argument_source(arguments[-1]).split(",")]:
            label = f"cite {key}"
            self.has_unknown_reference = self.has_unknown_reference or label not in self.labels
            marks.append(self.labels.get(label) or self._labels_of_first_reading.get(label) or key)
        self._words.append(f"[{', '.join(marks)}]")

    def _begin_bibliography_entry(self, name: str, arguments: list[Any]) -> None:
        """Begin an entry of the bibliography with its number, "[3] ", and record the number for citations."""
        self._end_paragraph()
        self._bibliography_entries += 1
        number = str(self._bibliography_entries)
        self.labels[f"cite {_argument_source(arguments[-1])}"] = number
        self._words.append(f"[{number}] ")

    def _begin_item(self, name: str, arguments: list[Any]) -> None:
        """Begin a list item with its number, else with "-" and its own label; in an argument, append only the label."""
        self._end_paragraph()
        kind = self._lists[-1] if self._lists else "itemize"
        label = one_line(self._argument_text(arguments[0])) if arguments else ""
        if self._argument_depth:
            self._words.append(f"{label}: " if label else "")
        elif "enum" in kind and not label:
            self._label_number = self._item_mark = (
                self._item_numbers.next(min(self._lists.count(kind), len(_ITEM_LEVELS)) - 1) or "-"
            )
            self._label_number = self._label_number.strip("().")
        else:
            self._item_mark = "-"
            if label:
                self._words.append(f"{label}: " if "desc" in kind else f"{label} ")

    def _add_quantity(self, name: str, arguments: list[Any]) -> None:
        """Append a number, a range or a unit, as siunitx prints it: "3–5 m", "30°", "kg"."""
        texts = [_argument_source(argument) for argument in arguments if not _is_optional(argument)]
        if name in ("si", "unit"):
            self._words.append(_format_unit(texts[-1]))
        elif name == "ang":
            self._words.append(f"{texts[-1]}°")
        else:
            unit = _format_unit(texts.pop()) if name in ("SI", "qty", "SIrange", "qtyrange") else ""
            self._words.append("–".join(map(_format_number, texts)) + (unit if unit in ("°", "") else f" {unit}"))

    def _add_slide_title(self, name: str, arguments: list[Any]) -> None:
        """Append the title of a slide as a heading."""
        self._end_paragraph()
        self.parts.add(one_line(self._argument_text(arguments[-1])), "heading")

    def _separate_authors(self, name: str, arguments: list[Any]) -> None:
        """Append the mark that separates two authors."""
        self._words.append(_AUTHOR_SEPARATOR)

    def _begin_appendix(self, name: str, arguments: list[Any]) -> None:
        """Number the following sections as appendices."""
        self._numbering.appendix()

    def _add_environment(self, node: Any) -> None:
        """Append the contents of an environment, each kind in its own way; drawings are reported as left out."""
        name = node.environmentname
        if name in _SKIPPED_ENVIRONMENTS:
            if "picture" in name:
                self.report.leave_out(f"a drawing ({name})")
        elif name in VERBATIM:
            self._end_paragraph()
            lines = _verbatim_text(node).strip("\n").split("\n")
            self._add_block("\n".join(line.rstrip() for line in lines if line.strip()))
        elif name in _TABLE_ENVIRONMENTS:
            self._add_table(node)
        elif name in _LIST_ENVIRONMENTS or (name.rstrip("*") in ("itemize", "enumerate")):
            self._add_list(node)
        elif _is_formula(node):
            self._label_number = self._numbering.next("equation") if name == "equation" else ""
            self._add_formula(node.nodelist, is_alone=True)
        else:
            self._add_other_environment(node)

    def _add_other_environment(self, node: Any) -> None:
        """Append the text of an environment that is no program, table, list or formula.

        Tables and figures give their captions a kind; an abstract, a bibliography and a slide get a heading.
        """
        name = node.environmentname.rstrip("*")
        self._end_paragraph()
        outer_kind, outer_caption = self._float_kind, self._caption
        if name in ("table", "figure", "wrapfigure", "wraptable", "sidewaystable", "sidewaysfigure"):
            self._float_kind = "Table" if "table" in name else "Figure"
            self._caption = self._caption_below(node.nodelist) if self._float_kind == "Table" else ""
        elif name == "abstract":
            self.parts.add("Abstract", "heading")
        elif name == "thebibliography":
            self.parts.add("References", "heading")
        nodes = list(node.nodelist)
        if name == "frame" and (titles := [argument for argument in _arguments(node) if not _is_optional(argument)]):
            self.parts.add(one_line(self._argument_text(titles[0])), "heading")
        self._add_nodes(nodes)
        self._end_paragraph()
        self._float_kind, self._caption = outer_kind, outer_caption

    def _caption_below(self, nodes: Sequence[Any]) -> str:
        """Return the caption, with its number, that a table has below it; "" if it stands above, or there is none.

        The rows are read before such a caption. Its notes, and what it counts, are counted again when it is reached.
        """
        is_below_table = False
        for node in nodes:
            if node.isNodeType(latexwalker.LatexEnvironmentNode):
                is_below_table = True
            elif node.isNodeType(latexwalker.LatexMacroNode) and node.macroname == "caption" and _arguments(node):
                notes, self._notes = self._notes, []
                counts = dict(self.report.counts), dict(self._numbering.counts)
                text = one_line(self._argument_text(_arguments(node)[-1]))
                number = self._numbering.next("Table")
                text = f"Table {number}: {text}" if number else text
                self._notes, (self.report.counts, self._numbering.counts) = notes, counts
                return text if is_below_table else ""
        return ""

    def _add_list(self, node: Any) -> None:
        """Append the items of a list, each with the texts of the items around it."""
        self._end_paragraph()
        name = node.environmentname.rstrip("*")
        self._lists.append(name)
        mark, self._item_mark = self._item_mark, ""
        depth = self._lists.count(name) - 1
        if "enum" in name:
            # The items of this list, and of those within it, are counted from one again.
            for level in [level for level in self._item_numbers.numbers if level >= depth]:
                del self._item_numbers.numbers[level]
        self._add_nodes(node.nodelist)
        self._end_paragraph()
        self._lists.pop()
        self._item_mark = mark if self._lists else ""
        if not self._lists:
            self._items.leave()

    def _add_table(self, node: Any) -> None:
        """Append the rows of a table with caption and columns' names, and its notes; in an argument, only its words."""
        if self._argument_depth:
            self._words.append("; ".join(" ".join(map(str, row)) for row, _ in self._table_rows(node)))
            return
        self._end_paragraph()
        rows, header_rows = _drop_repeated_headers(self._table_rows(node))
        grid = expand_spans([[(text, columns, 1) for text, columns, _ in row] for row in rows])
        for line in self.report.table(table_lines(grid, caption=self._caption, header_rows=header_rows)):
            self.parts.add(line, "row")
        notes, self._notes = self._notes, []
        for note in notes:
            self.parts.add(note)

    def _table_rows(self, node: Any) -> Iterator[tuple[list[_Cell], set[str]]]:
        """Yield the cells of each row, with the names of the rules and of the ends of `longtable` parts before it.

        A caption within the table is added, and a label recorded, when it is reached.
        """
        cells: list[_Cell] = []
        cell_nodes: list[Any] = []
        rules: set[str] = set()
        for child in [*node.nodelist, None]:  # None ends the last row.
            name = child.macroname if child is not None and child.isNodeType(latexwalker.LatexMacroNode) else ""
            is_special = child is not None and child.isNodeType(latexwalker.LatexSpecialsNode)
            if is_special and child.specials_chars == "&":
                cells.append(self._read_cell(cell_nodes))
                cell_nodes = []
            elif child is None or name in ("\\", "tabularnewline", "cr"):
                cells.append(self._read_cell(cell_nodes))
                yield cells, rules
                cells, cell_nodes, rules = [], [], set()
            elif name in _TABLE_RULES:
                # "\\endhead" may stand after a row that no "\\\\" ends.
                if name.startswith("end") and any(text for text, _, _ in [*cells, self._read_cell(cell_nodes)]):
                    yield [*cells, self._read_cell(cell_nodes)], rules
                    cells, cell_nodes, rules = [], [], set()
                rules.add(name)
            elif name == "caption" and _arguments(child):
                self._float_kind, outer_kind = "Table", self._float_kind
                self._add_caption(name, _arguments(child))
                self._float_kind = outer_kind
            elif name == "label":
                self._record_label(name, _arguments(child))
            else:
                cell_nodes.append(child)

    def _read_cell(self, nodes: list[Any]) -> _Cell:
        """Return the cell of some nodes: its text, and the numbers of columns and rows that it spans."""
        columns = rows = 1
        commands = [node for node in nodes if node.isNodeType(latexwalker.LatexMacroNode)]
        for command in commands:
            arguments = _arguments(command)
            if command.macroname == "multicolumn" and arguments:
                columns = _parse_span(_argument_source(arguments[0]))
                # The contents of such a cell may span several rows, so their commands are looked at, too.
                contents = arguments[-1]
                inner_nodes = contents.nodelist if contents.isNodeType(latexwalker.LatexGroupNode) else [contents]
                commands += [inner for inner in inner_nodes if inner.isNodeType(latexwalker.LatexMacroNode)]
            elif command.macroname == "multirow" and arguments:
                mandatory = [argument for argument in arguments if not _is_optional(argument)]
                rows = _parse_span(_argument_source(mandatory[0]) if mandatory else "1")
        return one_line(self._argument_text(nodes)), columns, rows

    def _add_formula(self, nodes: Sequence[Any], *, is_alone: bool) -> None:
        """Append a formula to the current paragraph; as a block of its own if `is_alone`."""
        text = " ".join(_SPACED_OPERATORS.sub(r" \g<0> ", self._formula_text(nodes)).split())
        if is_alone:
            self._add_block(text)
        else:
            self._words.append(text)

    def _formula_text(self, nodes: Sequence[Any]) -> str:
        """Return a formula on one line: "x² + (a + 1)/b"."""
        units: list[tuple[str, bool]] = []  # characters and parts, each with whether it is a whole part
        for node in nodes:
            if node is None:
                continue
            if node.isNodeType(latexwalker.LatexCharsNode):
                units += [(char, False) for char in "".join(node.chars.split())]
            elif node.isNodeType(latexwalker.LatexGroupNode):
                units.append((self._formula_text(node.nodelist), True))
            elif node.isNodeType(latexwalker.LatexMacroNode):
                units.append((self._formula_command_text(node), True))
            elif node.isNodeType(latexwalker.LatexEnvironmentNode):
                units.append((f" {self._formula_text(node.nodelist)} ", True))
            elif node.isNodeType(latexwalker.LatexSpecialsNode):
                units.append((" " if node.specials_chars == "&" else node.specials_chars, False))
        formula, index = "", 0
        while index < len(units):
            text, is_part = units[index]
            index += 1
            if is_part or text not in "^_" or index == len(units):
                formula += "′" if text == "'" else text
                continue
            script, _ = units[index]
            index += 1
            # The lower bound of a sum or an integral is marked, other subscripts are not: "∑_(i=1)", but "x1".
            is_bound = formula.rstrip()[-1:] in _RANGE_OPERATORS and formula.strip() != ""
            subscript = f"_{grouped(script)}" if is_bound else script
            formula += power(script) if text == "^" else subscript
        return formula

    def _formula_command_text(self, node: Any) -> str:
        """Return the text of a command inside a formula; "" if it prints nothing."""
        name, arguments = node.macroname, _arguments(node)
        if name in self._definitions:
            self._expansion_depth += 1
            nodes: list[Any] = []
            for math in self._parse(f"${self._expand(node)}$"):
                nodes += getattr(math, "nodelist", ())
            text = self._formula_text(nodes)
            self._expansion_depth -= 1
            return text
        if name in ("text", "mbox", "textrm", "textit", "textbf", "intertext"):
            return f" {self._argument_text(arguments[-1])} " if arguments else ""
        if name in _COMMANDS and name not in ("item", "caption"):
            return self._argument_text([node])
        if name in _FORMULA_LAYOUT or name in _EXTRA_SIGNS:
            return _FORMULA_LAYOUT.get(name) or _EXTRA_SIGNS.get(name, "")
        parts = [self._formula_text(getattr(argument, "nodelist", None) or [argument]) for argument in arguments]
        if parts and name not in _FORMULA_ACCENTS:
            return "" if name in _COMMANDS_WITHOUT_TEXT else _arrange_parts(name, parts)
        return str(self._sign_converter.nodelist_to_text([node]))


def _arguments(node: Any) -> list[Any]:
    """Return the arguments that a command or an environment has, without omitted ones and without a star."""
    arguments = node.nodeargd.argnlist if node.nodeargd is not None else None
    return [argument for argument in arguments or () if argument is not None and _argument_source(argument) != "*"]


def _arrange_parts(name: str, parts: list[str]) -> str:
    """Return the parts of a fraction, binomial or root on one line ("a/b", "³√x"); the last part of other commands."""
    if name in ("frac", "dfrac", "tfrac", "cfrac") and len(parts) == 2:
        numerator, denominator = parts
        return f"{grouped(numerator)}/{grouped(denominator)}"
    if name == "binom" and len(parts) == 2:
        return f"C({parts[0]}, {parts[1]})"
    if name == "sqrt":
        degree = power(parts[0]).lstrip("^") if len(parts) > 1 else ""
        return f"{degree}√{grouped(parts[-1])}"
    return parts[-1]


def _is_optional(argument: Any) -> bool:
    """Return whether an argument is optional, that is, in square brackets."""
    return bool(argument.isNodeType(latexwalker.LatexGroupNode) and argument.delimiters[0] == "[")


def _argument_source(argument: Any) -> str:
    """Return the LaTeX source of an argument without the brackets around it."""
    text = str(argument.latex_verbatim()).strip()
    return text[1:-1].strip() if text[:1] + text[-1:] in ("{}", "[]") else text


def _verbatim_text(node: Any) -> str:
    """Return the contents of a program listing, as they stand in the source, without its options."""
    text = getattr(node.nodeargd, "verbatim_text", None)
    if text is None:
        text = "".join(child.latex_verbatim() for child in node.nodelist)
    return _LISTING_OPTIONS.sub("", str(text))


def _is_formula(node: Any) -> bool:
    """Return whether an environment contains a formula, by its first node."""
    return bool(node.nodelist) and bool(node.nodelist[0].parsing_state.in_math_mode)


def _drop_repeated_headers(
    table: Iterator[tuple[list[_Cell], set[str]]],
) -> tuple[list[list[_Cell]], int | None]:
    """Return the rows of a table, and how many of them are its header; None if that is not known.

    `table` yields the cells of each row with the names of the rules before it. Rows without text are left out, and so
    are the headers and footers that a `longtable` repeats on each page.
    """
    rows: list[list[_Cell]] = []
    header_rows: int | None = None
    first_header_rows = 0
    for cells, rules in table:
        if "endfirsthead" in rules:
            first_header_rows = len(rows)
        elif "endhead" in rules:
            header_rows = first_header_rows or len(rows)
            rows = rows[:header_rows]
        elif rules & {"endfoot", "endlastfoot"}:
            rows = rows[: header_rows or first_header_rows]
        elif "midrule" in rules and header_rows is None and rows:
            header_rows = len(rows)
        if any(text for text, _, _ in cells):
            rows.append(_fill_from_above(rows, cells))
    return rows, header_rows


def _fill_from_above(rows: list[list[_Cell]], cells: list[_Cell]) -> list[_Cell]:
    """Return a row's cells; an empty one below a cell that spans its row, too, gets the text of that cell."""
    above: dict[int, tuple[str, int]] = {}  # text and spanned rows of the cells above, by their first column
    column = 0
    for text, columns, row_span in rows[-1] if rows else ():
        above[column] = text, row_span
        column += columns
    filled_cells, column = [], 0
    for text, columns, row_span in cells:
        text_above, row_span_above = above.get(column, ("", 1))
        if not text and row_span_above > 1:
            text, row_span = text_above, row_span_above - 1
        filled_cells.append((text, columns, row_span))
        column += columns
    return filled_cells


def _parse_span(text: str) -> int:
    """Return the number of columns or rows that a source text names; 1 if it names none, or less than one."""
    return max(1, whole_number(text, 1, _MAXIMUM_SPAN))


def _format_number(text: str) -> str:
    """Return a number as siunitx prints it: "3 × 10⁸" for "3e8"."""
    factor, _, exponent = text.partition("e")
    return f"{factor} × 10{power(exponent)}" if exponent else text


def _format_unit(text: str) -> str:
    r"""Return a unit as siunitx prints it: "m/s²" for "\metre\per\square\second"."""
    unit, pending_power = "", ""
    for name, plain in _UNIT_PART.findall(text):
        if name in ("square", "cubic"):
            pending_power = _UNIT_SIGNS[name]
            continue
        unit += _UNIT_SIGNS.get(name, name) if name else plain.replace(".", " ")
        # A power stands after the whole unit, not after its prefix: "\\square\\centi\\metre" is "cm²".
        if name not in _UNIT_PREFIXES:
            unit, pending_power = unit + pending_power, ""
    return unit


_COMMANDS: dict[str, Callable[[_Reader, str, list[Any]], None]] = {
    "appendix": _Reader._begin_appendix,
    "bibitem": _Reader._begin_bibliography_entry,
    "item": _Reader._begin_item,
    "label": _Reader._record_label,
    "and": _Reader._separate_authors,
    **dict.fromkeys(("caption", "captionof"), _Reader._add_caption),
    **dict.fromkeys(("url", "href"), _Reader._add_link),
    **dict.fromkeys(("ref", "autoref", "cref", "Cref", "eqref", "vref", "subref"), _Reader._add_reference),
    **dict.fromkeys(
        ("cite", "citep", "citet", "citealp", "parencite", "textcite", "autocite", "footcite"), _Reader._add_citation
    ),
    **dict.fromkeys(("footnote", "footnotetext", "thanks", "endnote"), _Reader._keep_note),
    **dict.fromkeys(("marginpar", "sidenote", "todo"), _Reader._keep_note),
    **dict.fromkeys(
        ("num", "qty", "SI", "si", "unit", "ang", "SIrange", "qtyrange", "numrange"), _Reader._add_quantity
    ),
    **dict.fromkeys(("frametitle", "framesubtitle"), _Reader._add_slide_title),
}
"""The method that handles a command, by the command's name."""
