"""Sources of LaTeX are read as what they print: numbers, tables, notes, formulas, and commands of the author's own."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from loaded_files import load_one, text_and_report

from preflight_rag.ingest.loaders import load
from preflight_rag.state.errors import DocumentError

LAUGHS = "\\newcommand{\\a}{ha}"
for outer, inner in zip("bcdefghijklmnopqrstu", "abcdefghijklmnopqrst", strict=True):
    LAUGHS += f"\\newcommand{{\\{outer}}}{{" + f"\\{inner}" * 9 + "}"
LAUGHS += "\\u words"
HEAD = "\\documentclass{article}\n"


def text_of(folder: Path, body: str, preamble: str = HEAD) -> str:
    (folder / "a.tex").write_text(f"{preamble}\\begin{{document}}\n{body}\n\\end{{document}}\nafter", encoding="utf-8")
    return load_one(folder / "a.tex").text


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("The rent is 4312~crowns --- ``paid'' at V\\'ard\\o{} \\& Br\\\"unn.",
         "The rent is 4312 crowns — “paid” at Várdø & Brünn."),
        ("Kept % with Petra\nin \\emph{the \\textbf{red}} box.", "Kept in the red box."),
        ("10\\,\\% of \\$5\\_a \\verb|x % y|.", "10 % of $5_a x % y."),
        ("Mass $m = \\frac{a+1}{2}$, $x^{2}$ and $\\sqrt{b}$.", "Mass m = (a + 1)/2, x² and √b."),
        ("$\\alpha \\le 3 \\times 10^{8}$ cells", "α ≤ 3 × 10⁸ cells"),
        ("\\SI{4.5}{\\metre} by \\qty{3e5}{\\kilo\\gram\\per\\square\\metre} at \\SIrange{2}{4}{\\celsius}",
         "4.5 m by 3 × 10⁵ kg/m² at 2–4 °C"),
        ("\\unknown{Kept} \\textcolor{red}{words}", "Kept words"),
        ("\\iffalse hidden \\fi Seen.", "Seen."),
        ("One\\\\two", "One two"),
    ],
)  # fmt: skip
def test_words_are_as_printed(tmp_path: Path, source: str, printed: str) -> None:
    assert text_of(tmp_path, source) == printed


def test_sections_items_and_references_have_their_numbers(tmp_path: Path) -> None:
    text = text_of(
        tmp_path,
        "\\section{Rent}\\label{sec:rent} See Section~\\ref{sec:notice} and \\cref{sec:notice}.\n"
        "\\subsection{Deposit} Two months.\n\\section*{Preamble} Free.\n"
        "\\begin{enumerate}\\item Keys\\begin{enumerate}\\item The red one.\\end{enumerate}\\item Oars"
        "\\end{enumerate}\n"
        "\\section{Notice}\\label{sec:notice} Four weeks, by \\ref{sec:rent}, not \\ref{sec:none}.",
    )
    assert text.split("\n\n") == [
        "1 Rent",
        "See Section 2 and Section 2.",
        "1.1 Deposit",
        "Two months.",
        "Preamble",
        "Free.",
        "1. Keys\n(a) Keys: The red one.\n2. Oars",
        "2 Notice",
        "Four weeks, by 1, not [sec:none].",
    ]


@pytest.mark.parametrize(
    ("preamble", "heading"),
    [
        (HEAD, "1 Rent"),
        ("\\documentclass{report}", "0.1 Rent"),
        ("\\documentclass{beamer}", "Rent"),
        (HEAD + "\\setcounter{secnumdepth}{-\\maxdimen}", "Rent"),
        (HEAD + "\\setcounter{secnumdepth}{0}", "Rent"),
    ],
    ids=["article", "report", "beamer", "none", "chapters only"],
)
def test_sections_are_numbered_as_the_class_does(tmp_path: Path, preamble: str, heading: str) -> None:
    assert text_of(tmp_path, "\\section{Rent} Paid.", preamble).split("\n")[0] == heading


def test_tables_are_rows_under_their_caption_and_columns(tmp_path: Path) -> None:
    text, report = text_and_report_of(
        tmp_path,
        "\\begin{table}\\caption{Fees of 2025}\\begin{tabular}{lrr}\\toprule Boat & \\multicolumn{2}{c}{Fee} \\\\"
        "\\cmidrule(lr){2-3} & Summer & Winter \\\\ \\midrule \\multirow{2}{*}{Skiff} & 218 & 118"
        "\\footnote{With ice.}\\\\ & 219 & 119 \\\\ Yawl & 75 & -- \\\\ \\bottomrule \\end{tabular}\\end{table}",
    )
    assert "Table 1, Fees of 2025. | Boat: Skiff | Fee, Summer: 218 | Fee, Winter: 118" in text
    assert "Boat: Skiff | Fee, Summer: 219 | Fee, Winter: 119" in text
    assert "Boat: Yawl | Fee, Summer: 75 | Fee, Winter: –" in text
    assert "Footnote 1: With ice." in text
    assert report["counts"]["rows"] == 3


def text_and_report_of(folder: Path, body: str) -> tuple[str, dict[str, dict[str, int]]]:
    text_of(folder, body)
    return text_and_report(folder / "a.tex")


def test_heads_that_are_repeated_on_each_page_stand_once(tmp_path: Path) -> None:
    text = text_of(
        tmp_path,
        "\\begin{longtable}{ll} Row & Trees \\\\ \\endfirsthead \\multicolumn{2}{l}{continued} \\\\"
        " Row & Trees \\\\ \\endhead"
        " \\multicolumn{2}{r}{over} \\\\ \\endfoot \\endlastfoot A1 & 44 \\\\ A2 & 52 \\\\ \\end{longtable}",
    )
    assert text == "Row: A1 | Trees: 44\nRow: A2 | Trees: 52"


def test_commands_of_the_author_are_written_out(tmp_path: Path) -> None:
    preamble = HEAD + "\\newcommand{\\firm}{Tamm \\& Sons}\\newcommand{\\price}[2][CZK]{#2 #1}\\def\\half{\\frac12}"
    text = text_of(tmp_path, "\\firm{} asks \\price{40} or \\price[EUR]{2} for $\\half$ a day.", preamble)
    assert text == "Tamm & Sons asks 40 CZK or 2 EUR for 1/2 a day."


def test_title_people_notes_links_and_files_elsewhere(tmp_path: Path) -> None:
    preamble = (
        HEAD + "\\title{Lease\\thanks{Signed.}}\\author{Ada Lund\\\\Rowing Club \\and Jon Vesely}\\date{4 March 2025}"
    )
    body = (
        "\\maketitle Paid\\footnote{Late rent costs 17.} to \\href{https://x.example/a%20b}{us} as \\cite{holm,berg}."
        "\\input{annex}\n\\includegraphics[alt={Plan of the quay}]{quay}\n"
        "\\begin{thebibliography}{9}\\bibitem{berg} Berg, 2018.\\bibitem{holm} Holm, 2019.\\end{thebibliography}"
    )
    text_of(tmp_path, body, preamble)
    document = load_one(tmp_path / "a.tex")
    assert (document.title, document.authors, document.date) == ("Lease", ("Ada Lund", "Jon Vesely"), "2025-03-04")
    assert "Paid to us as [2, 1]." in document.text
    for line in ("Footnote 2: Late rent costs 17.", "Picture: Plan of the quay", "[2] Holm, 2019."):
        assert line in document.text.split("\n")
    assert "Link on “us”: https://x.example/a%20b" in document.text
    left_out = document.metadata["read_report"]["left_out"]
    assert [each["what"] for each in left_out] == ["files that it takes in: annex"]


def test_programs_and_slides_keep_their_lines(tmp_path: Path) -> None:
    text = text_of(
        tmp_path,
        "\\begin{frame}{Firing}\\begin{verbatim}\npyro --set 73 % hot\nwait\n\\end{verbatim}\\end{frame}\n"
        "\\begin{lstlisting}[language=Python]\nx = 1\n\\end{lstlisting}",
    )
    assert text == "Firing\n\npyro --set 73 % hot\nwait\n\nx = 1"


@pytest.mark.parametrize(
    "source",
    [
        "{" * 100_000,
        "\\begin{itemize}" * 5_000,
        "\\newcommand{\\a}{" * 5_000,
        "\\newcommand{\\a}{x \\a\\a}\\a words",
        LAUGHS,
        "\\begin{tabular}{l}" + "a&" * 20_000 + "\\end{tabular} words",
        "$" + "x^" * 20_000,
        "\\begin{tabular}{l}\\multirow{99999999}{*}{a} & \\multicolumn{99999999}{l}{b} \\end{tabular}",
        "\\ref{a}" * 5_000,
    ],
    ids=["brackets", "lists", "open definitions", "itself", "laughs", "cells", "powers", "spans", "references"],
)  # fmt: skip
def test_hostile_sources_end_soon(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.tex").write_text(source, encoding="utf-8")
    begin = time.process_time()
    with suppress(DocumentError):
        list(load(tmp_path / "a.tex"))
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("First.\n% \\end{document}\n\nSecond.", "First.\n\nSecond."),
        ("\\begin{verbatim}\n% a \\end{document}\nb\n\\end{verbatim}\nAfter.", "% a \\end{document}\nb\n\nAfter."),
        ("One.\n% \\iffalse old\n\nTwo. \\ifmmode x\\fi\n\nThree.", "One.\n\nTwo. x\n\nThree."),
        ("One.\n%\\begin{comment}\nTwo.\n%\\end{comment}\nThree.", "One. Two. Three."),
        ("One. \\begin{comment}\n50% of two\n\\end{comment}\nThree.", "One. Three."),
        ("\\iffalse A \\else B\\fi", "B"),
        ("\\iftrue A\\else B\\fi", "A"),
        ("\\iffalse A \\ifnum1=1 B\\else C\\fi D \\else E\\fi", "E"),
        ("\\iftrue A \\iffalse B\\else C\\fi\\else D\\fi", "A C"),
        ("\\iffalse A % \\fi\nB \\fi C", "C"),
        ("\\iffalse A without an end", "A without an end"),
        ("\\verb|\\iffalse 5%| stays \\iffalse not\\fi", "\\iffalse 5% stays"),
        ("$a \\iff b$ \\iffalse not\\fi", "a ⇔ b"),
        ("\\centering% why\nWords of 5\\% and 6\\\\% more\nlines", "Words of 5% and 6 lines"),
        ("See \\url{https://x.example/a%20b} % note", "See https://x.example/a%20b"),
    ],
)
def test_comments_and_branches_that_are_switched_off_are_not_read(tmp_path: Path, source: str, printed: str) -> None:
    assert text_of(tmp_path, source).removesuffix("\n\nhttps://x.example/a%20b") == printed


@pytest.mark.parametrize(
    ("preamble", "printed"),
    [
        ("\\newif\\ifdraft\n", "Final."),
        ("\\newif\\ifdraft\\drafttrue\n", "Draft."),
        ("\\newif\\ifdraft\\drafttrue\n% only now:\n\\draftfalse\n", "Final."),
        ("\\newif\\ifdraft\n% \\drafttrue\n", "Final."),
        ("\\let\\ifdraft\\iffalse\n", "Final."),
        ("\\let\\ifdraft=\\iftrue\n", "Draft."),
    ],
)
def test_branch_of_a_condition_of_the_author_is_read_alone(tmp_path: Path, preamble: str, printed: str) -> None:
    assert text_of(tmp_path, "\\ifdraft Draft.\\else Final.\\fi", HEAD + preamble) == printed


@pytest.mark.parametrize(
    "other",
    ["%\\newcommand{\\price}{10 crowns}\n", "\\begin{filecontents}{a.sty}\n\\def\\price{9}\n\\end{filecontents}\n"],
)
def test_definition_in_a_comment_or_another_file_does_not_count(tmp_path: Path, other: str) -> None:
    preamble = f"{HEAD}\\newcommand{{\\price}}{{12 crowns}}\n{other}"
    assert text_of(tmp_path, "The berth costs \\price{} a night.", preamble) == "The berth costs 12 crowns a night."


def test_definition_that_a_program_shows_stays_in_it(tmp_path: Path) -> None:
    source = "\\begin{verbatim}\n\\newcommand{\\price}{10}\n\\end{verbatim}\n\\price{} a night."
    text = text_of(tmp_path, source, HEAD + "\\newcommand{\\price}{12 crowns}\n")
    assert text == "\\newcommand{\\price}{10}\n\n12 crowns a night."


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("\\pounds 7, \\pounds{}8 and 9~\\euro", "£7, £8 and 9 €"),
        ("\\yen 700, \\S 4, \\copyright{} 2024", "¥700, §4, © 2024"),
        ("$\\pounds 7$ or \\SI{5}{\\euro}", "£7 or 5 €"),
        ("x \\textless{} 5, 20\\degree", "x < 5, 20°"),
    ],
)
def test_signs_of_money_and_others_are_kept(tmp_path: Path, source: str, printed: str) -> None:
    assert text_of(tmp_path, source) == printed


@pytest.mark.parametrize(
    "part",
    [
        "\\bibitem{k%d} W.\n", "\\iffalse a ", "\\iftrue a \\else b ", "\\begin{comment} a ", "\\verb|a ", "% a\n",
        "\\iffalse a \\else b \\fi ", "\\url{a%%b} ",
    ],
)  # fmt: skip
def test_twice_the_source_takes_about_twice_as_long(tmp_path: Path, part: str) -> None:
    taken = []
    for count in (5_000, 20_000):
        body = "".join(part % number if "%d" in part else part for number in range(count))
        (tmp_path / "a.tex").write_text(f"{HEAD}\\begin{{document}}\n{body}\n\\end{{document}}", encoding="utf-8")
        start = time.process_time()
        with suppress(DocumentError):
            list(load(tmp_path / "a.tex"))
        taken.append(time.process_time() - start)
    assert taken[1] < 10 * taken[0] + 0.5
