"""Settings files: every value stands with its section, records are rows, comments stay beside what they explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load

YAML = """\
# gateway of the plant

listen:
  host: 0.0.0.0
  port: 8443   # behind the firewall
enabled: yes
version: 1.10
alerts:
  - name: high-temp
    limit: 82
    # on duty
    notify: ops@plant.example
  - name: low-flow
    limit: 3
    notify: water@plant.example
"""
TOML = """\
[server]
# seconds
timeout = 30
ports = [80, 443]
ratio = 1.50

[[mirror]]
name = "north"
url = "https://n.example"

[[mirror]]
name = "south"
url = "https://s.example"
"""
INI = "[smtp]\nhost = mail.example\n; by the hour\nrate : 300\n\n[limits]\nsize_mb=25\n"


def lines_of(folder: Path, name: str, content: str) -> list[str]:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    (document,) = load(path)
    assert not isinstance(document, Exception), document
    return document.text.split("\n")


def test_values_stand_with_their_section_as_they_are_written(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "gateway.yaml", YAML)
    assert lines[0] == "gateway of the plant"
    assert "listen, host: 0.0.0.0" in lines
    assert "listen, port: 8443 (behind the firewall)" in lines
    assert "enabled: yes" in lines
    assert "version: 1.10" in lines


def test_entry_of_a_list_is_one_row_with_its_comment(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "gateway.yml", YAML)
    assert "alerts. | name: high-temp | limit: 82 | notify: ops@plant.example (on duty)" in lines
    assert any("low-flow" in line and "water@plant.example" in line and "82" not in line for line in lines)


def test_toml_and_ini_name_the_section(tmp_path: Path) -> None:
    toml = lines_of(tmp_path, "a.toml", TOML)
    assert "server, timeout: 30 (seconds)" in toml
    assert "server, ports: 80, 443" in toml
    assert "server, ratio: 1.50" in toml
    assert any("south" in line and "https://s.example" in line and "north" not in line for line in toml)
    ini = lines_of(tmp_path, "b.ini", INI)
    assert ini == ["smtp, host: mail.example", "smtp, rate: 300 (by the hour)", "limits, size_mb: 25"]
    assert lines_of(tmp_path, "c.properties", "db.url=jdbc:x\ndb.pool=8\n") == ["db.url: jdbc:x", "db.pool: 8"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nginx.conf", "server {\n  listen 80;\n}"),
        ("template.yaml", "port: {{ .Values.port }}"),
        ("twice.conf", "[web]\nListen=80\nListen=443"),
        ("cycle.yaml", "a: &a\n  b: *a"),
        ("torn.toml", "[server\nport = 80"),
        ("deep.yaml", "a: " + "{a: " * 300),
        ("prose.yml", "No setting stands in this file."),
    ],
)
def test_what_no_parser_takes_stays_text(tmp_path: Path, name: str, content: str) -> None:
    assert "\n".join(lines_of(tmp_path, name, content)).split() == content.split()


def test_yaml_that_repeats_itself_without_end_is_not_written_out(tmp_path: Path) -> None:
    levels = ['l0: &l0 ["x", "x"]', *(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9))]
    assert len("\n".join(lines_of(tmp_path, "bomb.yaml", "\n".join(levels)))) < 2000


def test_every_document_and_every_comment_of_a_file_is_kept(tmp_path: Path) -> None:
    text = "kind: Service\nports: {web: 80}\n---\nkind: Secret  # rotated in May\n# kept by the team of Imre\n"
    whole = "\n".join(lines_of(tmp_path, "two.yaml", text))
    for word in ("Service", "80", "Secret", "rotated in May", "kept by the team of Imre"):
        assert word in whole
