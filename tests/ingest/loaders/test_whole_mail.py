"""Mails: who wrote which part, HTML, attachments; expected texts are written by hand."""

# ruff: noqa: E501 -- markup and what mail programs write stand on lines of their own length
from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import office_files
import pytest
from whole_documents import mail

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.mail_quotes import attribute_quotes
from preflight_rag.state.values import Document

BILL = "The heating bill was 860 crowns."


def read(path: Path) -> list[Document]:
    return [each for each in load(path) if isinstance(each, Document)]


def said(text: str) -> list[str]:
    """The quoted sentences of a mail."""
    return [line for line in attribute_quotes(text).text.split("\n") if " wrote: " in line]


@pytest.mark.parametrize(
    "introduction",
    [
        "On Mon, 3 Mar 2025 at 08:12, Jon Vale <jon@example.org> wrote:",
        "On 3 Mar 2025, at 8:12 AM, Jon Vale <\njon@example.org> wrote:",
        "Jon Vale wrote on 3 March 2025:",
        "Am Mo., 3. März 2025 um 08:12 Uhr schrieb Jon Vale <jon@example.org>:",
        "Le lun. 3 mars 2025 à 08:12, Jon Vale <jon@example.org> a écrit :",
        "El lun, 3 mar 2025 a las 8:12, Jon Vale (<jon@example.org>) escribió:",
        "Em seg., 3 de mar. de 2025 às 08:12, Jon Vale <jon@example.org> escreveu:",
        "Il giorno lun 3 mar 2025 alle ore 08:12 Jon Vale <jon@example.org> ha scritto:",
        "Op ma 3 mrt 2025 om 08:12 schreef Jon Vale <jon@example.org>:",
        "Op 3 mrt 2025 heeft Jon Vale <jon@example.org> het volgende geschreven:",
        "Den mån 3 mars 2025 kl 08:12 skrev Jon Vale <jon@example.org>:",
        "po 3. 3. 2025 v 8:12 odesílatel Jon Vale <jon@example.org> napsal:",
        "pon., 3 mar 2025 o 08:12 Jon Vale <jon@example.org> napisał(a):",
        "03.03.2025 08:12, Jon Vale пишет:",
        "пн, 3 мар. 2025 г. в 08:12, Jon Vale <jon@example.org>:",
        "Jon Vale <jon@example.org> 于2025年3月3日周一 08:12写道：",
    ],
)
def test_the_writer_of_a_quoted_part(introduction: str) -> None:
    assert said(f"Hello,\n\nnoted.\n\n{introduction}\n> {BILL}\n>\n> Jon\n") == [f"Jon Vale wrote: {BILL}"]


@pytest.mark.parametrize(
    "introduction",
    ["On 3 Mar 2025 Jon Vale wrote:", "Am 3. März 2025 schrieb Jon Vale:", "On 2025-03-03, Jon Vale\n> wrote:"],
)
def test_the_writer_of_a_quoted_part_that_says_it_itself(introduction: str) -> None:
    text = f"Hello,\n\nnoted.\n\n> {introduction}\n> {BILL}\n> We paid it.\n"
    assert said(text) == [f"Jon Vale wrote: {BILL}", "Jon Vale wrote: We paid it."]
    assert attribute_quotes(text).quoted == 1


@pytest.mark.parametrize(
    "first",
    ["In 2019 Jon Vale wrote:", "On 3 Mar 2025 the council wrote to us:", "This is of 3 Mar 2025.", "Jon Vale wrote:"],
)
def test_a_sentence_at_the_top_of_a_quoted_part_names_no_writer(first: str) -> None:
    assert said(f"Hello,\n\nnoted.\n\n> {first}\n> {BILL}\n")[-1] == f"Somebody wrote: {BILL}"


@pytest.mark.parametrize(
    "fields",
    [
        "-----Original Message-----\nFrom: Jon Vale\nSent: Monday, 3 March 2025 08:12\nTo: Mira Holt\nSubject: Heating",
        "________________________________\nVon: Jon Vale <jon@example.org>\nGesendet: Montag, 3. März 2025\nAn: Mira\nBetreff: Heizung",
        "De : Jon Vale\nEnvoyé : lundi 3 mars 2025\nÀ : Mira\nObjet : Chauffage",
        "Von: Jon Vale\nDatum: 3. März 2025\nAn: Mira\nBetreff: Heizung",
        "---------- Forwarded message ---------\nFrom: Jon Vale <jon@example.org>\nDate: Mon, 3 Mar 2025\nSubject: Heating\nTo: Mira",
        "Begin forwarded message:\n\nFrom: Jon Vale <jon@example.org>\nSubject: Heating\nDate: 3 March 2025\nTo: Mira",
        "*Od:* Jon Vale\n*Odesláno:* pondělí 3. března 2025\n*Komu:* Mira\n*Předmět:* Topení",
    ],
)
def test_the_writer_below_fields(fields: str) -> None:
    assert said(f"See below.\n\n{fields}\n\n{BILL}\n\nJon\n") == [f"Jon Vale wrote: {BILL}"]


def test_line_that_its_writer_ended_is_not_joined_to_the_next() -> None:
    quoted = (
        "> 1. repair of the old compressor\n> 2. a new spare compressor, 3,480 euros, with two years of warranty\n"
        "> Delivery takes nine working days.\n>\n> The fitter will bring the tools, the spare parts and the papers of the old\n"
        "> Halden compressor.\n"
    )
    assert said(f"On 3 March 2025, Jon Vale <j@e.org> wrote:\n{quoted}") == [
        "Jon Vale wrote: 1. repair of the old compressor",
        "Jon Vale wrote: 2. a new spare compressor, 3,480 euros, with two years of warranty",
        "Jon Vale wrote: Delivery takes nine working days.",
        "Jon Vale wrote: The fitter will bring the tools, the spare parts and the papers of the old Halden compressor.",
    ]


def test_levels_and_answers_between_have_their_own_writers() -> None:
    text = attribute_quotes(
        "On 3 March 2025, Jon Vale <j@e.org> wrote:\n> Is it cold?\n> On 1 March 2025, Anna Berg <a@e.org> wrote:\n"
        ">> The door was open.\n\nYes.\n\n> And the bill?\n\n860 crowns.\n"
    )
    assert text.text.split("\n\n") == [
        "On 3 March 2025, Jon Vale <j@e.org> wrote:",
        "Jon Vale wrote: Is it cold?",
        "On 1 March 2025, Anna Berg <a@e.org> wrote:",
        "Anna Berg wrote: The door was open.",
        "Yes.",
        "Jon Vale wrote: And the bill?",
        "860 crowns.",
    ]
    assert text.quoted == 3


@pytest.mark.parametrize(
    "text", ["I read that Jon wrote:\n\nnothing was quoted.", "From: here to there\nTo: be honest", "5 > 3 holds."]
)
def test_own_words_are_nobody_elses(text: str) -> None:
    assert attribute_quotes(text).text == text


def test_text_below_an_introduction_without_marks_is_quoted() -> None:
    assert said(f"Yes.\n\nOn 3 Mar 2025 at 08:12, Jon Vale <jon@example.org> wrote:\n\n{BILL}") == [
        f"Jon Vale wrote: {BILL}"
    ]


def test_html_quotes_have_writers(tmp_path: Path) -> None:
    html = (
        "<p>Please set it to 19 degrees.</p><div>On Mon, 3 Mar 2025 at 08:12, Jon Vale &lt;jon@example.org&gt; wrote:</div>"
        f"<blockquote><p>Hello Mira,</p><p>{BILL}</p></blockquote>"
    )
    (document,) = read(mail(tmp_path / "a.eml", html=html))
    assert f"Jon Vale wrote: {BILL}" in document.text
    assert ">" not in document.text.replace("<jon@example.org>", "")


@pytest.mark.parametrize(
    "stub", ["View this mail in your browser.", "Diese Mail im Browser ansehen", "Your mail program shows no HTML."]
)
def test_a_plain_part_that_is_a_stub_stands_for_the_html(tmp_path: Path, stub: str) -> None:
    html = f"<h1>Heating</h1><p>{BILL} It is due on Friday.</p><p>The greenhouse is set to 19 degrees from now on.</p>"
    (document,) = read(mail(tmp_path / "a.eml", stub, html))
    assert BILL in document.text
    assert stub not in document.text


def test_a_plain_part_with_the_text_is_read(tmp_path: Path) -> None:
    (document,) = read(mail(tmp_path / "a.eml", f"{BILL}\nPlease pay.", f"<p>{BILL}<br>Please pay.</p><p>Logo</p>"))
    assert "Logo" not in document.text


def test_attachments_are_documents_under_the_mail(tmp_path: Path) -> None:
    data = office_files.workbook(tmp_path / "w.xlsx").read_bytes()
    path = mail(tmp_path / "a.eml", "See the budget.\nMira", budget__xlsx=data, notes__txt=b"The lamp is lit at six.")
    letter, budget, notes = read(path)
    assert (letter.id, budget.id, notes.id) == (str(path), f"{path}/budget.xlsx", f"{path}/notes.txt")
    assert "Norhaven" in budget.text
    assert notes.title == "notes.txt, attached to “Re: Greenhouse”"
    assert notes.metadata["attached_to"] == "Re: Greenhouse"
    assert letter.metadata["read_report"]["counts"]["attachments"] == 2


def test_a_mail_in_a_mail_is_a_document(tmp_path: Path) -> None:
    inner = office_files.message()
    outer = EmailMessage()
    outer["From"], outer["Subject"] = "Mira Holt <mira@example.org>", "Fwd"
    outer.set_content("See the mail attached.\nMira")
    outer.add_attachment(inner)
    path = tmp_path / "a.eml"
    path.write_bytes(bytes(outer))
    _, forwarded = read(path)
    assert forwarded.id == f"{path}/Depth at the buoys.eml"
    assert forwarded.authors == ("Dmitri Delmar",)


def test_what_of_a_mail_is_not_read_is_said(tmp_path: Path) -> None:
    (letter,) = read(mail(tmp_path / "a.eml", "See these.\nMira", plan__zip=b"PK", scan__jpg=b"\xff\xd8"))
    left = {each["what"]: each["why"] for each in letter.metadata["read_report"]["left_out"]}
    assert left == {
        "attachment plan.zip": "an archive; unpack it first",
        "attachment scan.jpg": "a picture; put it into a PDF to have its text recognised",
    }


def test_names_of_attachments_lead_nowhere_and_are_told_apart(tmp_path: Path) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "Two"
    message.set_content("Two files.\nA")
    for text in (b"The first one.", b"The second one."):
        message.add_attachment(text, maintype="text", subtype="x", filename="../../etc/notes.txt")
    path = tmp_path / "a.eml"
    path.write_bytes(bytes(message))
    assert [each.id for each in read(path)[1:]] == [f"{path}/notes.txt", f"{path}/notes (2).txt"]


@pytest.mark.parametrize(("text", "less"), [("Ok.", ["its text has one line"]), ("Ok.\nMira", [])])
def test_a_mail_of_one_line_is_marked(tmp_path: Path, text: str, less: list[str]) -> None:
    (letter,) = read(mail(tmp_path / "a.eml", text))
    assert letter.metadata["read_report"]["less"] == less
