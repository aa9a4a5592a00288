"""Languages of questions and passages; the Declaration of Human Rights says its first article in each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from preflight_rag.text.languages import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the capital of France?", "en"),
        ("How many patients were in the trial?", "en"),
        ("aspirin dose in children", "en"),
        ("Who was Die Antwoord's producer?", "en"),
        ("What does the El Niño do to the climate?", "en"),
        ("Is β-carotene in the diet of the patients?", "en"),
        ("The role of de novo mutations in café workers", "en"),
        ("Was ist Penicillin?", "de"),
        ("Wer entdeckte das Penicillin?", "de"),
        ("Wie viele Patienten nahmen teil?", "de"),
        ("Erhöht Ketamin den Blutdruck?", "de"),
        ("Où est la tour Eiffel ?", "fr"),
        ("Quelle est la dose d'ibuprofène ?", "fr"),
        ("¿Dónde está la torre Eiffel?", "es"),
        ("Chi ha scoperto la penicillina?", "it"),
        ("Quem descobriu a penicilina?", "pt"),
        ("Wie heeft penicilline ontdekt?", "nl"),
        ("青霉素是谁发现的？", "zh"),
        ("谁发现了 penicillin?", "zh"),
        ("ペニシリンを発見したのは誰ですか", "ja"),
        ("페니실린을 발견한 사람은 누구입니까?", "ko"),
        ("Кто открыл пенициллин?", "ru"),
        ("من اكتشف البنسلين؟", "ar"),
        ("BRCA1 TP53 EGFR", "und"),
        ("ibuprofen 400 mg", "und"),
        ("3.5 (2.1–4.0)", "und"),
        ("", "und"),
        ("TNF-α", "und"),
        ("#: S_cloud (poison cloud) ^: S_trap (polymorph trap) }: S_pool (water) Q: S_ring (ring)", "und"),
        ("Mode: JT9A | FEC: K=32, r=1/2 | (n,k): (206,72) | Q: 8 | Duration (s): 49.0 | Threshold (dB): -26", "und"),
        ("length 12 s width 4 s depth 3 s speed 20 s weight", "und"),
    ],
)
def test_language_of_short_texts(text: str, language: str) -> None:
    assert language_of(text) == language


NAMES = {
    "English": "en",
    "German, Standard (1996)": "de",
    "French": "fr",
    "Spanish": "es",
    "Italian": "it",
    "Portuguese (Portugal)": "pt",
    "Dutch": "nl",
    "Swedish": "sv",
    "Finnish": "fi",
    "Polish": "pl",
    "Czech": "cs",
    "Hungarian": "hu",
    "Turkish": "tr",
    "Chinese, Mandarin (Simplified)": "zh",
    "Japanese": "ja",
    "Korean": "ko",
    "Russian": "ru",
    "Greek (monotonic)": "el",
    "Hebrew": "he",
}


def test_first_article_in_many_languages(data_dir: Path) -> None:
    path = data_dir / "ingest_docs" / "unstructured" / "language-docs__UDHR_first_article_all.txt"
    blocks = re.split(r"\n\s*\n", path.read_text(encoding="utf-8").replace("\r", ""))
    articles = {name: text for name, _, text in (block.strip().partition("\n") for block in blocks)}
    found = {name: language_of(articles[name]) for name in NAMES if name in articles}
    assert len(found) >= 17
    assert found == {name: NAMES[name] for name in found}
    # Of all 400 languages, the ones that are taken for English are few.
    taken = [name for name, text in articles.items() if language_of(text) == "en" and "English" not in name]
    assert len(taken) <= 0.05 * len(articles), taken


def test_english_passages_are_english(data_dir: Path) -> None:
    for path in sorted((data_dir / "ingest_docs" / "pmc_pairs").glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        assert language_of(text) == "en"
        assert language_of(text[2000:2400]) == "en"
