"""What the paper BriefContext (Zhang et al., npj Digital Medicine 8:239, 2025) published.

Figures 5 and 6 are drawn without numbers, and so are the standard deviations of Figure 2; what stands in the text of
the others is here. Supplementary Tables 1 to 4 are those of the preprint. Its Supplementary Table 1 averages to other
accuracies than the journal's text gives (for 16 documents 56.38 and 60.00 against 57.66 and 60.41, Mixtral), so both
stand here. Its Supplementary Table 4 has its axes swapped: TP 426, FP 423, FN 34 and TN 235 follow from the text's
precision and recall; as the table prints them, the two would be 92.61 and 50.18.
"""

from __future__ import annotations

from preflight_rag.evaluation.papers import PublishedTable
from preflight_rag.evaluation.stages import CLOSED_BOOK, MAP_REDUCE, RAG

MIXTRAL, GPT = "Mixtral-7x8b", "GPT-3.5-turbo-0125"
PLACES = ("0 %", "25 %", "50 %", "75 %", "100 %")
CONTROLLED = "20 % of PubMedQA (105 questions), MedCPT over PubMed and 18 textbooks"

_POSITIONS = (
    (59.05, 57.14, 61.90, 62.86, 61.90, 56.59, 55.24, 59.05),
    (56.19, 56.20, 54.29, 59.05, 48.57, 59.05, 49.52, 57.14),
    (55.24, 57.14, 52.38, 57.14, 46.67, 60.95, 48.57, 59.05),
    (56.19, 58.10, 56.19, 60.00, 50.48, 60.00, 48.57, 59.05),
    (57.14, 59.05, 57.14, 60.95, 59.05, 60.95, 58.10, 60.00),
)
_CONFLICTS = (
    (13.04, 78.26, 8.70, "17 of 23", 5.71, 74.29, 20.00, "22 of 35"),
    (30.00, 60.00, 10.00, "15 of 20", 36.36, 48.48, 15.14, "23 of 33"),
    (28.57, 61.90, 9.52, "16 of 21", 28.57, 67.86, 3.57, "18 of 28"),
    (38.10, 47.62, 14.29, "16 of 21", 33.33, 54.55, 12.12, "23 of 33"),
    (22.73, 72.73, 4.55, "18 of 22", 23.53, 58.82, 17.65, "25 of 34"),
    (8.70, 86.96, 4.35, "20 of 23", 15.62, 84.38, 0.00, "26 of 32"),
    (42.86, 47.62, 9.52, "16 of 21", 28.12, 62.50, 9.38, "24 of 32"),
    (40.00, 40.00, 20.00, "19 of 25", 28.00, 60.00, 12.00, "15 of 25"),
    (42.86, 47.62, 9.52, "17 of 21", 42.86, 42.86, 14.28, "23 of 28"),
    (45.00, 45.00, 10.00, "17 of 20", 30.30, 54.55, 15.15, "26 of 33"),
)
_INTEGRATION = {
    "Llama2-70B-chat": ((42.60, 42.20, 61.17, 48.66), (43.08, 50.40, 73.95, 55.81), (52.00, 63.60, 83.82, 66.47)),
    "Llama3-70B-instruct": ((70.93, 59.00, 83.01, 70.98), (68.67, 71.60, 89.97, 76.75), (68.29, 79.00, 89.81, 79.03)),
    MIXTRAL: ((56.28, 35.20, 77.51, 56.33), (56.42, 67.60, 87.54, 70.52), (58.60, 67.40, 90.61, 72.20)),
    GPT: ((55.25, 36.00, 74.27, 55.17), (54.41, 67.40, 85.76, 69.19), (54.35, 75.40, 87.77, 72.51)),
}

TABLES: dict[str, tuple[PublishedTable, ...]] = {
    "positions": (
        PublishedTable(
            where="BriefContext, Supplementary Table 1 and Fig. 2",
            made_with=f"{CONTROLLED}; the key passage at each place",
            columns={
                f"{model}, {size}, {arm}": f"{size}, {arm}"
                for model in (MIXTRAL, GPT)
                for size in (8, 16)
                for arm in (RAG, MAP_REDUCE)
            },
            rows=dict(zip(PLACES, _POSITIONS, strict=True)),
        ),
        PublishedTable(
            where="BriefContext, the journal's text on Fig. 2",
            made_with=f"{CONTROLLED}; means over places and runs, whose number is not given: p < .05 for {MIXTRAL}, "
            f"p < .01 for {GPT}; the preprint's table averages to 56.38 and 60.00, 53.33 and 59.51, 52.00 and 58.86",
            columns={
                f"{MIXTRAL}, 16": "16, mean of the places",
                f"{GPT}, 8": "8, mean of the places",
                f"{GPT}, 16": "",
            },
            rows={RAG: (57.66, 54.82, 52.12), MAP_REDUCE: (60.41, 58.11, 58.51)},
        ),
    ),
    "conflicts": (
        PublishedTable(
            where="BriefContext, Supplementary Table 2 and Fig. 4",
            made_with=f"{CONTROLLED}; the last row by the text",
            columns={
                f"{model}: {what}": ours
                for model in (MIXTRAL, GPT)
                for what, ours in (("win", "win"), ("tie", "tie"), ("lose", "lose"), ("resolved", ""))
            },
            rows={
                **dict(
                    zip(
                        (f"k={size},{place.replace(' ', '')}" for size in (8, 16) for place in PLACES),
                        _CONFLICTS,
                        strict=True,
                    )
                ),
                "all": (None, None, None, "171 of 217", None, None, None, "225 of 313"),
            },
        ),
    ),
    "integration": tuple(
        PublishedTable(
            where=f"BriefContext, Supplementary Table 3 and Fig. 3, {model}",
            made_with="MIRAGE's MedMCQA, PubMedQA and BioASQ-Y/N whole, 16 passages by MedCPT over PubMed and "
            "textbooks; CoT and RAG as MIRAGE published them",
            columns={"MedMCQA": "MedMCQA", "PubMedQA": "PubMedQA*", "BioASQ": "BioASQ-Y/N", "mean": ""},
            rows=dict(zip((CLOSED_BOOK, RAG, MAP_REDUCE), rows, strict=True)),
        )
        for model, rows in _INTEGRATION.items()
    ),
    "preflight": (
        PublishedTable(
            where="BriefContext, Supplementary Table 4 and section 2.5",
            made_with="1,118 questions of PubMedQA and BioASQ, MedCPT over PubMed",
            columns={
                "TP": "",
                "FP": "",
                "FN": "",
                "TN": "",
                "precision": "precision",
                "recall": "recall",
                "F1": "f1",
                "flagged": "flagged_share",
            },
            rows={"IoU rule": (426, 423, 34, 235, 50.18, 92.61, 65.09, None)},
        ),
    ),
    "cost": (
        PublishedTable(
            where="BriefContext, section 5.2",
            made_with="8 records a question, MedCPT over PubMed",
            columns={"tokens read": "tokens read", "tokens written": "tokens written"},
            rows={RAG: (3066.0, 183.0), MAP_REDUCE: (5496.5, 247.5)},
            percent=frozenset(),
        ),
    ),
    "open-ended": (
        PublishedTable(
            where="BriefContext, section 2.2",
            made_with="48 questions written from StatPearls, judged by three physicians",
            columns={"win": "win", "tie": "tie", "lose": "lose"},
            rows={f"{MAP_REDUCE} against {RAG}": (29.2, 58.3, 12.5)},
        ),
    ),
}
