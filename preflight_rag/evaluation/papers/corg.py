"""What COrg (Lee et al., "COrg: Generating Answers from Complex, Interrelated Contexts") published."""

from __future__ import annotations

from preflight_rag.evaluation.papers import PublishedTable

DISAMBIG, ANSWERS, ENTITIES, EAR = "Disambig-F1", "answer recall", "entity recall", "EAR"
AMBIGDOCS = "AmbigDocs+ (6,000 questions, about eight contexts each; relations, ranking and summaries by GPT-4)"
CONFLICTQA = "ConflictQA+ (1,000 questions of Zhou et al. 2023; relations, ranking and summaries by GPT-4)"
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


def _factors(where: str, relation: str, rows: dict[str, tuple[float, ...]]) -> PublishedTable:
    """A table of one relation's contexts alone, in the order of its columns."""
    columns = {"Ent": ENTITIES, "Ans": ANSWERS, "EAR": EAR, "D-F1": DISAMBIG}
    of_relation = {short: f"{relation} {measure}" for short, measure in columns.items()}
    return PublishedTable(where, "Llama2-7B on 1,000 questions of AmbigDocs+", of_relation, rows)


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
        _by_model(
            "COrg, Table 10 (ConflictQA)",
            "counterfactual contexts alone, of Zhou et al. (2023), which are not those of the data set conflictqa",
            _CONFLICTQA,
        ),
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
    "corg-factors": (
        _factors(
            "COrg, Tables 2 and 8",
            "distracting",
            {
                "base": (52.5, 53.0, 36.8, 21.7),
                "one-shot": (48.4, 61.4, 37.6, 18.2),
                "extra prompt": (53.0, 56.3, 38.3, 27.6),
                "plural": (68.9, 67.9, 42.7, 28.0),
                "plural & extra prompt": (65.6, 72.0, 51.5, 30.6),
                "separation": (64.7, 84.7, 54.5, 30.4),
            },
        ),
        _factors(
            "COrg, Tables 3 and 9",
            "ambiguous",
            {
                "base": (31.0, 49.6, 29.9, 17.2),
                "one-shot": (34.4, 52.2, 32.0, 18.3),
                "extra prompt": (40.7, 50.9, 31.5, 18.4),
                "plural": (45.1, 51.9, 33.2, 20.1),
                "change to distracting": (52.5, 53.0, 36.8, 21.7),
                "change to distracting, plural & extra prompt": (51.6, 77.0, 40.5, 26.6),
                "separation": (55.7, 85.6, 45.0, 28.4),
            },
        ),
        _factors(
            "COrg, Table 4",
            "counterfactual",
            {
                "base": (30.1, 44.6, 28.6, 18.0),
                "one-shot": (36.4, 51.0, 32.6, 20.4),
                "extra prompt": (29.4, 45.2, 27.1, 18.7),
                "plural": (34.8, 50.5, 30.7, 19.8),
                "separation": (51.2, 85.9, 40.8, 26.1),
            },
        ),
    ),
    "corg-ablation": (
        PublishedTable(
            "COrg, Table 11",
            "Llama2-7b-chat on AmbigDocs+, in Disambig-F1",
            {"Score": DISAMBIG},
            {
                "COrg": (22.0,),
                "duplicates kept": (21.6,),
                "undescribed kept": (20.2,),
                "no grouping": (19.1,),
                "no reformulation": (19.9,),
                "without all": (17.0,),
            },
        ),
    ),
    "corg-cost": (
        PublishedTable(
            "COrg, Table 12",
            "Llama-2-7b on AmbigDocs+; all contexts have 1,347.9 tokens, and GPT-4's calls that relate, rank and "
            "summarise are not counted",
            {
                "input tokens": "read, without relating",
                "output tokens": "written, without relating",
                "D-F1 %": "Disambig-F1",
            },
            {
                "Base": ("all contexts", 87.91, 17.0),
                "Retrieve": (773.85, 22.97, 4.2),
                "Summarize": (354.63, 28.18, 18.8),
                "Random": ("all contexts", 121.77, 19.4),
                "KMeans": ("all contexts", 66.29, 3.6),
                "COrg": (752.18, 35.02, 22.0),
                "Separate": ("all contexts", 210.78, 13.5),
            },
            percent=frozenset({"Disambig-F1"}),
        ),
        PublishedTable(
            "COrg, appendix D.4",
            "Llama2-7B on AmbigDocs+",
            {"questions of 6,000": "share of the questions"},
            {"1 group": ("1.2k",), "2 groups": ("3.5k",), "3 groups": ("1.0k",), "4 groups or more": ("0.2k",)},
        ),
    ),
}
