"""What COrg (Lee et al., "COrg: Generating Answers from Complex, Interrelated Contexts") published."""

from __future__ import annotations

from preflight_rag.evaluation.papers import PublishedTable

DISAMBIG, ANSWERS, ENTITIES, EAR = "Disambig-F1", "answer recall", "entity recall", "EAR"
AMBIGDOCS = "AmbigDocs+ (6,000 questions, about eight contexts each; relations, ranking and summaries by GPT-4)"
CONFLICTQA = "ConflictQA+ (1,000 questions; relations, ranking and summaries by GPT-4)"
MODELS = (
    "Llama2 7B", "Llama2 13B", "Llama2 70B", "Llama3 8B", "Llama3 70B", "Mistral 7B", "ChatGPT", "GPT-4o",
)  # fmt: skip
SYSTEMS = ("Base", "Retrieve", "Summarize", "Random", "KMeans", "COrg", "Separate")

_AMBIGDOCS_PLUS = (
    (17.0, 4.2, 18.8, 19.4, 3.6, 22.0, 13.5),
    (16.4, 4.0, 17.2, 14.3, 2.3, 19.9, 14.1),
    (15.0, 11.2, 15.5, 15.7, 5.8, 17.9, 18.7),
    (17.7, 15.2, 18.3, 20.4, 12.8, 21.4, 20.5),
    (10.6, 9.3, 12.0, 11.7, 8.5, 14.6, 22.4),
    (22.9, 18.2, 23.7, 24.0, 14.1, 27.5, 28.8),
    (19.2, 17.9, 24.3, 21.6, 10.6, 29.0, 27.3),
    (19.6, 17.0, 23.9, 25.6, 11.1, 31.4, 32.1),
)
_CONFLICTQA_PLUS = (
    (27.8, 5.8, 28.1, 29.1, 19.3, 32.1, 27.0),
    (30.3, 1.5, 30.7, 30.6, 14.4, 30.8, 37.5),
    (26.7, 9.1, 29.2, 17.0, 9.5, 31.4, 40.1),
    (16.9, 16.3, 17.7, 17.5, 17.0, 22.8, 25.6),
    (18.3, 14.0, 17.9, 21.4, 10.2, 28.7, 35.2),
    (29.4, 22.9, 31.2, 30.9, 26.9, 31.6, 30.3),
    (32.9, 27.6, 31.2, 32.5, 21.7, 35.9, 37.1),
    (32.4, 22.3, 33.7, 35.1, 23.0, 38.3, 38.1),
)
_AMBIGDOCS = (
    (20.0, 4.8, 20.1, 19.4, 5.2, 22.0, 13.5),
    (18.4, 5.1, 19.2, 14.3, 3.8, 19.9, 12.1),
    (17.0, 12.9, 15.9, 5.7, 10.2, 17.9, 18.7),
    (19.7, 14.5, 20.0, 20.9, 11.4, 21.4, 20.5),
    (10.6, 13.7, 14.2, 11.7, 12.1, 14.6, 22.4),
    (25.9, 23.7, 24.8, 24.0, 14.9, 27.5, 28.8),
    (19.2, 15.6, 19.8, 21.2, 14.8, 20.4, 23.1),
    (20.1, 19.2, 20.9, 21.8, 18.4, 23.0, 25.9),
)
_CONFLICTQA = (
    (12.7, 13.1, 9.2, 13.2, 7.9, 14.3, 16.0),
    (10.7, 10.4, 9.8, 10.9, 8.4, 10.6, 13.7),
    (10.2, 11.7, 8.1, 11.4, 8.0, 12.0, 15.3),
    (11.4, 10.7, 10.0, 12.8, 12.1, 17.3, 16.8),
    (9.8, 8.8, 5.7, 12.5, 10.3, 16.3, 18.9),
    (12.3, 10.2, 9.4, 14.0, 12.7, 16.9, 19.4),
    (14.7, 13.9, 10.8, 15.3, 11.6, 16.2, 17.9),
    (16.3, 12.7, 10.5, 16.9, 13.2, 15.8, 20.1),
)
_LLAMA2 = {
    "Base": (51.4, 39.5, 25.7, 17.0, 48.8, 31.3, 19.3, 16.4, 60.5, 37.1, 27.5, 15.0),
    "Retrieve": (44.1, 16.3, 7.9, 4.2, 46.0, 14.9, 7.5, 4.0, 50.0, 27.9, 20.2, 11.2),
    "Summarize": (60.0, 42.1, 24.8, 18.8, 60.4, 39.0, 21.9, 17.2, 61.9, 31.6, 26.0, 15.5),
    "Random": (56.7, 35.8, 27.4, 19.4, 55.9, 25.6, 19.4, 14.3, 58.9, 26.1, 20.9, 15.7),
    "KMeans": (42.6, 14.2, 6.3, 3.6, 40.1, 11.8, 4.0, 2.3, 38.6, 17.6, 8.0, 5.8),
    "COrg": (61.4, 41.2, 34.0, 22.0, 58.3, 39.3, 29.4, 19.9, 63.8, 37.2, 31.7, 17.9),
    "Separate": (66.9, 41.6, 37.3, 13.5, 81.5, 48.1, 35.3, 14.1, 89.0, 35.7, 27.3, 18.7),
}


def _by_model(where: str, data: str, figures: tuple[tuple[float, ...], ...]) -> PublishedTable:
    """A table of Disambig-F1 with a line for each model, turned so that systems are its lines, as in ours."""
    rows = dict(zip(SYSTEMS, zip(*figures, strict=True), strict=True))
    return PublishedTable(where, f"{data}, in Disambig-F1 by a RoBERTa reader", dict.fromkeys(MODELS, DISAMBIG), rows)


TABLES: dict[str, tuple[PublishedTable, ...]] = {
    "corg": (
        _by_model("COrg, Table 5 (AmbigDocs+)", AMBIGDOCS, _AMBIGDOCS_PLUS),
        _by_model("COrg, Table 5 (ConflictQA+)", CONFLICTQA, _CONFLICTQA_PLUS),
        PublishedTable(
            "COrg, Table 6",
            AMBIGDOCS,
            {
                f"{size} {short}": measure
                for size in ("7B", "13B", "70B")
                for short, measure in (("Ans", ANSWERS), ("Ent", ENTITIES), ("EAR", EAR), ("D-F1", DISAMBIG))
            },
            _LLAMA2,
        ),
        _by_model("COrg, Table 10 (AmbigDocs)", "AmbigDocs, distracting contexts alone", _AMBIGDOCS),
        _by_model("COrg, Table 10 (ConflictQA)", "ConflictQA, counterfactual contexts alone", _CONFLICTQA),
    ),
    "corg-stats": (
        PublishedTable(
            "COrg, section 2.2",
            "ten contexts of a web search (Bing) for each question of AmbigDocs, related by GPT-4",
            {"retrieved": "retrieved, by the reader"},
            {
                "ambiguous": (25.2,),
                "duplicated": (34.7,),
                "counterfactual": (12.4,),
                "distracting": (27.7,),
                "coverage": (32.7,),
            },
        ),
    ),
}
