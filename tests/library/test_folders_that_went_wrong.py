"""Small folders that were read wrongly: each is a library of its own, asked what its row or line says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from preflight_rag import Preflight


def job_line(number: int, day: int) -> str:
    time = f"{number % 24:02d}:{number % 60:02d}:07"
    return f"2025-02-{day:02d} {time} INFO worker-{number % 7} job {9000 + number} finished in {100 + number} ms"


LOG = [job_line(number, 1 + number // 40) for number in range(300)]
LOG += ["2025-02-09 03:14:07 ERROR worker-3 job 9871 failed: disk quota of volume lavender exceeded"]
LOG += [job_line(number, 10) for number in range(900, 1000)]
PLANT = {
    "site": "Kestrel plant",
    "lines": [
        {
            "name": "Line A",
            "machines": [
                {"tag": "PU-07", "kind": "pump", "limits": {"pressure_bar": 16, "temp_c": 80}},
                {"tag": "PU-08", "kind": "pump", "limits": {"pressure_bar": 10, "temp_c": 60}},
            ],
        },
        {"name": "Line B", "machines": [{"tag": "FN-02", "kind": "fan", "limits": {"rpm": 1450, "temp_c": 55}}]},
    ],
}
FOLDERS: dict[str, dict[str, str]] = {
    "equal ids": {
        "complaints.csv": "id,body\n"
        "1,A guest complained that the breakfast room closes at nine although the sign says ten.\n"
        "2,A guest complained that the pool was not heated during the first week of May.\n",
        "tickets.csv": "id,body\n"
        "1,The lift in the north tower stops between floors when the door sensor is wet.\n"
        "2,The lamp over gate four flickers after rain and was replaced twice this spring.\n",
    },
    "columns beside a text": {
        "parts.csv": "sku,description,supplier,price_eur,text\n"
        'GX-2210,Ball valve,Norrland Valves,48.50,"Brass ball valve for cold water lines up to sixteen bar."\n'
        "GX-2290,Check valve,Ostwald Armatures,61.20,"
        '"Spring loaded check valve that keeps water from flowing back."\n'
        'GX-3105,Gate valve,Norrland Valves,92.00,"Cast iron gate valve for buried mains with a square key."\n'
    },
    "a table in Markdown": {
        "plans.md": "# Plans of the tool shop\n\nEach plan is billed every month. Prices are without tax.\n\n"
        "| Plan | Price | Machines | Support hours |\n|------|------:|---------:|--------------|\n"
        "| Starter | 12 | 3 | weekdays 9-12 |\n| Workshop | 39 | 15 | weekdays 8-18 |\n"
        "| Factory | 149 | 120 | every day 0-24 |\n\nPlans can be changed at the end of a month.\n"
    },
    "a log": {"server.txt": "\n".join(LOG)},
    "records in records": {"plant.json": json.dumps(PLANT)},
    "semicolons and a mark": {
        "lager.csv": '\ufeff"Artikel; Nr";Bezeichnung;Menge;Preis\r\n'
        '"A-17";"Schraube ""lang""\nverzinkt";1.200;0,35\r\n'
        '"A-18";"Mutter";800;0,12\r\n"A-19";"Scheibe; groß";95;1,05\r\n'
    },
}
QUESTIONS = [
    ("equal ids", "Why does the lift stop between floors?", "door sensor is wet"),
    ("columns beside a text", "What is the price of GX-2290?", "61.20"),
    ("columns beside a text", "Who is the supplier of the check valve?", "Ostwald Armatures"),
    ("columns beside a text", "Which parts come from Norrland Valves?", "Norrland Valves"),
    ("columns beside a text", "GX-3105", "GX-3105 | description: Gate valve"),
    ("a table in Markdown", "What is the price of the Workshop plan?", "Plan: Workshop | Price: 39"),
    ("a table in Markdown", "How many machines does the Factory plan have?", "Machines: 120"),
    ("a log", "Which worker failed?", "ERROR worker-3 job 9871 failed"),
    ("a log", "What happened to job 9871?", "disk quota of volume lavender exceeded"),
    ("records in records", "What is the pressure limit of PU-08?", "tag: PU-08"),
    ("records in records", "Which machines are on Line B?", "tag: FN-02"),
    ("semicolons and a mark", "How many A-18 are in stock?", "Menge: 800"),
    ("semicolons and a mark", "What is the price of the Scheibe?", "Preis: 1,05"),
]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("folders")
    for name, files in FOLDERS.items():
        (root / name).mkdir()
        for file, content in files.items():
            (root / name / file).write_bytes(content.encode())
        with Preflight.open(root / f"library of {name}", model="offline", create=True) as app:
            assert app.ingest([root / name]).failed == []
    return root


@pytest.mark.parametrize(("folder", "question", "expected"), QUESTIONS)
def test_what_is_shown_first_is_the_row_or_line(libraries: Path, folder: str, question: str, expected: str) -> None:
    with Preflight.open(libraries / f"library of {folder}", model="offline") as app:
        answer = app.ask(question)
        (passage,) = app.library.passages([answer.citations[0].passage_id])
    first = answer.citations[0]
    assert expected in first.quote, answer.answer
    assert first.verified
    assert passage.text[first.start : first.end] == first.quote
    assert answer.outcome in ("answered", "evidence")
