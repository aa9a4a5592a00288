"""MeSH from NLM's descriptor XML."""

import gzip

import pytest
from mesh_sample import HEADINGS, xml

from preflight_rag.pubmed.mesh import Mesh, read_descriptors
from preflight_rag.state.errors import UnreadableDocument, UsageError
from preflight_rag.text.boolean import expand


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mesh")
    (folder / "desc2025.xml").write_text(xml(), encoding="utf-8")
    return Mesh.open(folder / "desc2025.xml", cache=folder / "cache")


@pytest.mark.parametrize("term", ["Breast Neoplasms", "breast cancers", "Cancer, Breast", "d001943"])
def test_a_descriptor_by_any_of_its_terms(mesh, term):
    assert mesh.descriptor(term).name == "Breast Neoplasms"
    assert len(mesh) == len(HEADINGS)


def test_synonyms_are_in_natural_order(mesh):
    assert mesh.synonyms("Breast cancer") == ("Breast Neoplasms",)
    assert mesh.synonyms("muscle pain") == ("Myalgia",)
    assert mesh.synonyms("zebra") == ()


@pytest.mark.parametrize("subtree", ["Neoplasms", "cancer", "C04", "c04"])
def test_a_subtree_by_name_or_number(mesh, subtree):
    assert mesh.under(subtree) == {name for _, name, trees, _ in HEADINGS if any(t.startswith("C04") for t in trees)}


def test_the_edge_of_a_subtree(mesh):
    assert mesh.under("C04.588") == {"Neoplasms by Site", "Breast Neoplasms", "Lung Neoplasms"}
    assert mesh.under("Diabetes Mellitus") == {"Diabetes Mellitus", "Diabetes Mellitus, Type 2"}
    assert mesh.under("Female") == {"Female"}


@pytest.mark.parametrize(("subtree", "says"), [("Neoplasmas", "'Neoplasms'"), ("C99", "C99"), ("", "heading")])
def test_an_unknown_subtree_names_what_is_written_alike(mesh, subtree, says):
    with pytest.raises(UsageError, match=says):
        mesh.under(subtree)


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("Do statins cause muscle pain?", ["Hydroxymethylglutaryl-CoA Reductase Inhibitors", "Myalgia"]),
        ("Non-small cell lung cancer and type 2 diabetes", [HEADINGS[4][1], "Diabetes Mellitus, Type 2"]),
        ("hearing aids", []),
        ("AIDS", ["Acquired Immunodeficiency Syndrome"]),
        ("", []),
    ],
)
def test_mentions(mesh, text, headings):
    assert [found.name for found in mesh.mentions(text)] == headings


@pytest.mark.parametrize(("text", "about"), [("Is lung cancer curable?", True), ("Is AIDS curable?", False)])
def test_questions_and_documents_of_a_subtree(mesh, text, about):
    assert mesh.about(text, "Neoplasms") is about


def test_expressions_get_synonyms_and_the_heading(mesh):
    expanded = expand('statins AND "muscle pain"', mesh.alternatives)
    assert '(statins OR "Hydroxymethylglutaryl-CoA Reductase Inhibitors" OR "Statin" OR' in expanded
    assert expanded.endswith('AND ("muscle pain" OR "Myalgia" OR "Myalgia"[MeSH Terms])')


def test_a_compressed_file_is_read_once(tmp_path, monkeypatch):
    (tmp_path / "desc.gz").write_bytes(gzip.compress(xml().encode()))
    assert len(Mesh.open(tmp_path / "desc.gz", cache=tmp_path / "cache")) == len(HEADINGS)
    monkeypatch.setattr("preflight_rag.pubmed.mesh.read_descriptors", None)
    assert Mesh.open(tmp_path / "desc.gz", cache=tmp_path / "cache").descriptor("NSCLC")
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_changed_file_is_read_again(tmp_path):
    path = tmp_path / "desc.xml"
    path.write_text(xml(HEADINGS[:1]), encoding="utf-8")
    assert len(Mesh.open(path, cache=tmp_path / "cache")) == 1
    path.write_text(xml(HEADINGS[:2]), encoding="utf-8")
    assert len(Mesh.open(path, cache=tmp_path / "cache")) == 2


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (None, UsageError, "no MeSH file"),
        (b"<DescriptorRecordSet/>", UsageError, "holds no descriptor"),
        (b"<DescriptorRecordSet>", UnreadableDocument, "cannot be read"),
        (b"\x1f\x8bnot gzip", UnreadableDocument, "cannot be read"),
        (b"", UnreadableDocument, "cannot be read"),
    ],
)
def test_a_bad_file_is_named(tmp_path, content, error, says):
    path = tmp_path / "desc.xml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=says):
        Mesh.open(path, cache=tmp_path / "cache")


def test_reading_holds_one_record_at_a_time(tmp_path):
    (tmp_path / "d.xml").write_text(xml(), encoding="utf-8")
    descriptors = read_descriptors(tmp_path / "d.xml")
    assert next(descriptors).name == "Neoplasms"
    assert sum(1 for _ in descriptors) == len(HEADINGS) - 1
