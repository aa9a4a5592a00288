"""JSON lines and tables."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.state.errors import DocumentError
from preflight_rag.state.values import Document


def load_all(path: Path) -> tuple[list[Document], list[str]]:
    items = list(load(path))
    errors = [str(item) for item in items if isinstance(item, DocumentError)]
    return [item for item in items if isinstance(item, Document)], errors


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.ndjson"])
def test_record_fields(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    record = {"_id": 7, "title": "On pain", "text": "Aspirin\u0000 helps.", "year": 2021, "authors": ["A"], "pmid": 12}
    line = (json.dumps(record) + "\n").encode()
    path.write_bytes(gzip.compress(line) if name.endswith("gz") else line)
    ((document,), errors) = load_all(path)
    assert not errors
    assert (document.id, document.title, document.text, document.date) == ("7", "On pain", "Aspirin helps.", "2021")
    assert (document.source, document.authors) == ("PMID 12", ("A",))
    assert document.metadata == {"year": 2021, "authors": ["A"], "pmid": 12, "path": str(path)}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"title": "t", "text": "x"}', "no 'id'"),
        ('{"id": " ", "text": "x"}', "no 'id'"),
        ('{"id": true, "text": "x"}', "no 'id'"),
        ('{"id": "1"}', "no 'text'"),
        ('{"id": "1", "text": " ... "}', "no 'text'"),
        ('{"id": "1", "text": 5}', "no 'text'"),
        ('["id"]', "not an object"),
        ('{"id": "1", ', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"id": "good", "text": "again"}', "already that of line 1"),
    ],
)
def test_bad_record_is_reported_and_others_go_on(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"id": "good", "text": "one"}}\n{line}\n\n{{"id": "last", "text": "two"}}')
    documents, (error,) = load_all(path)
    assert [document.id for document in documents] == ["good", "last"]
    assert "a.jsonl, line 2: " in error
    assert reason in error


def test_record_whose_text_is_empty_has_its_title_as_text(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('{"id": "1", "title": "Only a title", "text": ""}\n', encoding="utf-8")
    (document,) = load(path)
    assert (document.title, document.text) == ("Only a title", "Only a title")


def test_record_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"id": "1", "text": "é"}\n'.encode("cp1252") + b'{"id": "2", "text": "b"}\n')
    documents, (error,) = load_all(path)
    assert [document.id for document in documents] == ["2"]
    assert "line 1: not UTF-8" in error


def test_lone_surrogates_in_json_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "text": "a\\ud800b", "k\\udfff": ["\\udc00"]}')
    ((document,), _) = load_all(path)
    document.model_dump_json().encode("utf-8")
    assert document.text == "id: 1 | k\ufffd: \ufffd\n\na\ufffdb"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marked_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"id": "1", "text": "é"}\n{"id": "2", "text": "ü"}\n'.encode(encoding))
    documents, errors = load_all(path)
    assert ([document.text for document in documents], errors) == (["é", "ü"], [])


def test_rows_with_a_text_column_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,Title,Text,year,topic\n1,On pain,"Aspirin, daily.\nIt helps.",2021,drugs\n2,None,,2020,x\n')
    ((document, other), errors) = load_all(path)
    assert (document.id, document.title, document.date) == ("1", "On pain", "2021")
    assert document.text == "id: 1 | Title: On pain | year: 2021 | topic: drugs\n\nAspirin, daily.\nIt helps."
    table = {"separator": ",", "quote": '"', "decimal": "", "encoding": "utf-8-sig", "header": True}
    assert document.metadata == {"year": "2021", "topic": "drugs", "row": 1, "path": str(path), "table": table}
    assert (other.text, errors) == ("id: 2 | Title: None | year: 2020 | topic: x", [])


def test_record_file_keeps_its_texts_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,Title,Text,year\n1,On pain,"Aspirin, daily.\nIt helps.",2021\n2,None,,2020\n')
    ((document,), (error,)) = load_all(path)
    assert document.text == "Aspirin, daily.\nIt helps."
    assert "row 2: no text in column 'Text'" in error


@pytest.mark.parametrize("length", [300, 500])
def test_fields_beside_articles_are_metadata_and_beside_short_texts_are_read(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.jsonl"
    text = ("The pump of the north hall leaks. " * 20)[:length].strip()
    path.write_text(json.dumps({"id": 7, "title": "Leak", "assignee": "Kim", "tags": ["wet", "old"], "text": text}))
    ((document,), _) = load_all(path)
    above = "" if length == 500 else "id: 7 | title: Leak | assignee: Kim | tags: wet, old\n\n"
    assert document.text == f"{above}{text}"
    assert (document.metadata["assignee"], document.metadata["tags"]) == ("Kim", ["wet", "old"])


def test_rows_of_one_order_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    note = "This part was ordered together with others and came a week later than it had been promised to us."
    path.write_text(f"id,part,note\n9,bolt,{note}\n9,nut,{note}\n")
    documents, errors = load_all(path)
    assert ([each.id for each in documents], errors) == (["9", f"{path}#2"], [])


@pytest.mark.parametrize(
    ("name", "content", "read_as"),
    [
        ("a.csv", "\ufeffA;B\r\nx;1,5\r\ny;2,5\r\n".encode(), (";", ",", "utf-8-sig", True)),
        ("b.csv", "A,B\nx,1.5\ny,2.5\n".encode("utf-16"), (",", ".", "utf-16", True)),
        ("c.csv", "Größe,Maß\nklein,1\ngroß,2\n".encode("cp1252"), (",", "", "cp1252", True)),
        ("d.csv", b"sep=|\nA|B\nx|1\n", ("|", "", "utf-8-sig", True)),
        ("e.csv", b"x,1\ny,2\nz,3\n", (",", "", "utf-8-sig", False)),
        ("f.tsv", b"A\tB\nx, y\t1\n", ("tab", "", "utf-8-sig", True)),
    ],
)
def test_how_a_table_was_read_is_kept(
    tmp_path: Path, name: str, content: bytes, read_as: tuple[str, str, str, bool]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    ((document,), _) = load_all(path)
    table = document.metadata["table"]
    assert (table["separator"], table["decimal"], table["encoding"], table["header"]) == read_as


def test_single_quotes_that_open_cells_are_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,note\n'Boat, red','it''s new'\n'Boat, blue','old'\n")
    ((document,), _) = load_all(path)
    assert document.text == "name: Boat, red | note: it's new\nname: Boat, blue | note: old"


def test_lines_without_ids_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"level": "info", "msg": "up"}\nno json\n{"level": "error", "msg": "down", "at": {"host": "a"}}\n')
    (document,), (error,) = load_all(path)
    assert document.text == "level: info | msg: up\nlevel: error | msg: down | at, host: a"
    assert "line 2: not JSON" in error


def test_texts_without_ids_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    text = "The ferry to Lundholm does not run while the wind blows from the north, as the quay is open there."
    path.write_text(json.dumps({"author": "Kim", "port": "Grimsoy", "body": text}) + "\n")
    ((document,), _) = load_all(path)
    assert (document.id, document.text) == (f"{path}#1", f"author: Kim | port: Grimsoy\n\n{text}")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("sample;mass;length\nA;1,25;3,5\nB;2,75;4,5\nC;10;7\n", ["mass: 1,25", "length: 4,5"]),
        ("name,note\nA,one;;\nB,two;;\n", ["note: one;;", "note: two;;"]),
    ],
    ids=["decimal commas", "semicolons in cells"],
)
def test_what_stands_in_cells_is_no_delimiter(tmp_path: Path, text: str, lines: list[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    ((document,), _) = load_all(path)
    assert all(line in document.text for line in lines), document.text


@pytest.mark.parametrize(("name", "mark"), [("a.tsv", "\t"), ("a.csv", ";"), ("a.csv", "|")])
def test_rows_without_an_id_are_numbered(tmp_path: Path, name: str, mark: str) -> None:
    path = tmp_path / name
    path.write_text(f"content{mark}source\nOne, two{mark}s1\nThree{mark}\n")
    documents, _ = load_all(path)
    assert [(document.id, document.source) for document in documents] == [
        (f"{path}#1", "s1"),
        (f"{path}#2", str(path)),
    ]


def test_longest_column_is_the_text_when_rows_have_ids(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("pmid,note\n11," + "aspirin helps " * 10 + "\n")
    ((document,), _) = load_all(path)
    assert (document.id, document.text[:13]) == ("11", "aspirin helps")


def test_other_tables_are_one_document(tmp_path: Path) -> None:
    path = tmp_path / "cups.csv"
    path.write_text("Stanley Cups,,\nTeam,Location,Cups\nBlues,STL,1\nFlyers,PHI\n")
    ((document,), _) = load_all(path)
    assert document.text == (
        "Stanley Cups\nStanley Cups. | Team: Blues | Location: STL | Cups: 1\nTeam: Flyers | Location: PHI"
    )
    assert (document.id, document.title) == (str(path), "Stanley Cups")


def test_table_in_shift_jis(data_dir: Path) -> None:
    ((document,), _) = load_all(data_dir / "ingest_docs" / "markitdown" / "test_mskanji.csv")
    assert document.text.startswith("名前: 佐藤太郎 | 年齢: 30 | 住所: 東京")


def test_a_column_of_labels_is_no_text_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,content,price\n1,500 ml,3.50\n2,750 ml,4.80\n")
    ((document,), _) = load_all(path)
    assert document.text == "id: 1 | content: 500 ml | price: 3.50\nid: 2 | content: 750 ml | price: 4.80"
