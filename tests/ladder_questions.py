"""Eighty questions as people ask them, and what a search for each has to hold on to: written by reading the questions.

Attributes of a row: who asks; the question; its core concepts, which stay whole and stay in every rung that joins by
AND; modifiers, which may be in the first rungs and leave before any core concept does; words that are no subject
(verbs, the asker, courtesy) and stand in no rung. What is in none of the three may be kept or left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from preflight_rag.text.boolean import Expression, SearchTerm, parse


@dataclass(frozen=True)
class LadderQuestion:
    """One question with what its ladder has to keep, may drop, and must not hold."""

    asker: str
    question: str
    core: tuple[str, ...]
    modifiers: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


_LAY = (
    (
        "My mom has stage 4 non-small cell lung cancer, is there anything that can help her breathe better?",
        "non-small cell lung cancer; breathe",
        "stage 4",
        "mom; anything; help; better",
    ),
    ("Can I take ibuprofen while I'm on blood pressure pills?", "ibuprofen; blood pressure pills", "", "take"),
    ("How long does it take for chemo to work for breast cancer?", "chemo; breast cancer", "", "long; take; work"),
    (
        "Why am I always so tired after radiation for prostate cancer?",
        "tired; radiation; prostate cancer",
        "",
        "always; so",
    ),
    (
        "What foods should I avoid if I have kidney disease and diabetes?",
        "foods; kidney disease; diabetes",
        "",
        "avoid",
    ),
    ("Is it normal to lose your hair with tamoxifen?", "hair; tamoxifen", "", "normal; lose"),
    (
        "My dad was just diagnosed with pancreatic cancer that has spread to the liver. How long does he have?",
        "pancreatic cancer; liver",
        "",
        "dad; just; diagnosed; spread; long",
    ),
    ("Does drinking coffee cause stomach ulcers?", "coffee; stomach ulcers", "", "cause"),
    ("I keep getting migraines during my period, what can I do?", "migraines; period", "", "keep; getting"),
    ("Are statins safe for someone with liver problems?", "statins; liver problems", "", "safe; someone"),
    (
        "What's the best treatment for a slipped disc in your lower back?",
        "slipped disc; lower back",
        "treatment",
        "best",
    ),
    ("Can a child with asthma get the flu shot?", "asthma; flu shot", "child", "get"),
    (
        "Please tell me everything about the side effects of Keytruda",
        "Keytruda",
        "side effects",
        "please; tell; everything",
    ),
    ("Should I worry about a lump in my armpit that doesn't hurt?", "lump; armpit", "", "worry"),
    (
        "I'm 68 and my doctor wants to put me on blood thinners for atrial fibrillation. Do I really need them?",
        "blood thinners; atrial fibrillation",
        "68",
        "doctor; wants; put; really; need",
    ),
    ("how do you get rid of toenail fungus for good", "toenail fungus", "", "get; rid; good"),
    ("Does vitamin D help with depression in the winter?", "vitamin D; depression", "winter", "help"),
    ("Is it true that sugar feeds cancer?", "sugar; cancer", "", "true; feeds"),
    (
        "What are the early warning signs of ovarian cancer in young women?",
        "ovarian cancer",
        "early; warning signs; young women",
        "",
    ),
    ("Can you drink alcohol when taking metformin?", "alcohol; metformin", "", "drink; taking"),
)
_EXPERT = (
    (
        "What is the mechanism of resistance to osimertinib in EGFR-mutant non-small cell lung cancer?",
        "resistance; osimertinib; non-small cell lung cancer",
        "",
        "mechanism",
    ),
    (
        "Does adjuvant pembrolizumab improve recurrence-free survival in resected stage III melanoma?",
        "pembrolizumab; recurrence-free survival; melanoma",
        "adjuvant; resected; stage III",
        "improve",
    ),
    (
        "Is sacubitril/valsartan superior to enalapril in heart failure with reduced ejection fraction?",
        "sacubitril; enalapril; heart failure; ejection fraction",
        "",
        "superior",
    ),
    (
        "Which genes are associated with early-onset Alzheimer's disease?",
        "genes; Alzheimer's disease",
        "early-onset",
        "associated",
    ),
    (
        "What is the role of HER2-low status in the selection of trastuzumab deruxtecan for metastatic breast cancer?",
        "HER2-low; trastuzumab deruxtecan; breast cancer",
        "metastatic",
        "role",
    ),
    (
        "Is there an association between proton pump inhibitor use and dementia in elderly patients?",
        "proton pump inhibitor; dementia",
        "elderly patients",
        "association; use",
    ),
    (
        "How does SGLT2 inhibition reduce hospitalization for heart failure in patients with type 2 diabetes?",
        "SGLT2 inhibition; hospitalization; heart failure; type 2 diabetes",
        "patients",
        "reduce",
    ),
    (
        "What is the efficacy of CAR-T cell therapy in relapsed or refractory diffuse large B-cell lymphoma?",
        "CAR-T cell therapy; diffuse large B-cell lymphoma",
        "relapsed; refractory",
        "efficacy",
    ),
    (
        "Can liquid biopsy detect minimal residual disease after curative resection of colorectal cancer?",
        "liquid biopsy; minimal residual disease; colorectal cancer",
        "",
        "detect",
    ),
    (
        "What is the optimal duration of dual antiplatelet therapy after drug-eluting stent implantation?",
        "dual antiplatelet therapy; drug-eluting stent",
        "duration",
        "optimal",
    ),
    (
        "Are PARP inhibitors effective in BRCA-mutated castration-resistant prostate cancer?",
        "PARP inhibitors; castration-resistant prostate cancer",
        "",
        "effective",
    ),
    (
        "Does metformin lower the incidence of hepatocellular carcinoma in patients with chronic hepatitis C?",
        "metformin; hepatocellular carcinoma; hepatitis C",
        "incidence; patients; chronic",
        "lower",
    ),
    (
        "What is the prevalence of KRAS G12C mutations in advanced pancreatic ductal adenocarcinoma?",
        "KRAS G12C mutations; pancreatic ductal adenocarcinoma",
        "prevalence; advanced",
        "",
    ),
    (
        "Compare rituximab with cyclophosphamide for induction of remission in ANCA-associated vasculitis.",
        "rituximab; cyclophosphamide; ANCA-associated vasculitis",
        "",
        "compare",
    ),
    (
        "Is low-dose CT screening cost-effective for lung cancer in heavy smokers?",
        "low-dose CT screening; lung cancer",
        "cost-effective; heavy smokers",
        "",
    ),
    (
        "Which biomarkers predict response to immune checkpoint blockade in triple-negative breast cancer?",
        "biomarkers; immune checkpoint blockade; triple-negative breast cancer",
        "",
        "predict",
    ),
    (
        "What is known about the interaction of warfarin with St. John's wort?",
        "warfarin; John's wort",
        "",
        "known",
    ),
    (
        "Does intrathecal nusinersen improve motor function in children with spinal muscular atrophy type 1?",
        "nusinersen; motor function; spinal muscular atrophy type 1",
        "intrathecal; children",
        "improve",
    ),
    (
        "How is tumor mutational burden measured in clinical practice?",
        "tumor mutational burden",
        "clinical practice",
        "measured",
    ),
    (
        "What adverse events were reported with high-dose interleukin-2 in metastatic renal cell carcinoma?",
        "interleukin-2; renal cell carcinoma",
        "adverse events; high-dose; metastatic",
        "reported",
    ),
)


_NEW_LAY = (
    (
        "Does aspirin prevent colorectal cancer in people with Lynch syndrome?",
        "aspirin; colorectal cancer; Lynch syndrome",
        "people",
        "prevent",
    ),
    ("What causes lung cancer?", "lung cancer", "", "causes"),
    ("Can stress make my eczema worse?", "stress; eczema", "", "make; worse"),
    ("Is it safe to fly with a blood clot in the leg?", "fly; blood clot; leg", "", "safe"),
    (
        "My grandmother forgets everything since her stroke, is this dementia?",
        "stroke; dementia",
        "",
        "grandmother; everything",
    ),
    ("Will chemotherapy make me infertile?", "chemotherapy; infertile", "", "make"),
    ("Are there natural ways to bring down high blood pressure?", "high blood pressure", "natural", "ways; bring"),
    ("Which painkiller can I take with warfarin?", "painkiller; warfarin", "", "take"),
    ("Why do my ankles swell when I take amlodipine?", "ankles; amlodipine", "", "take"),
    ("How soon after a heart attack can you drive again?", "heart attack; drive", "", "soon"),
    ("Does removing the ovaries lower the risk of breast cancer?", "ovaries; breast cancer", "risk", "lower"),
    ("Should toddlers with a peanut allergy carry an EpiPen?", "peanut allergy; EpiPen", "toddlers", "carry"),
    ("What happens if kidney stones are left untreated?", "kidney stones", "untreated", "happens"),
    ("I was told my PSA is 9, do I need a biopsy?", "PSA; biopsy", "9", "told; need"),
    ("Can turmeric interfere with chemotherapy?", "turmeric; chemotherapy", "", ""),
    ("Is bladder cancer hereditary?", "bladder cancer", "", ""),
    ("How many hours of sleep does a teenager with epilepsy need?", "sleep; epilepsy", "teenager; hours", "many; need"),
    ("Does green tea help with weight loss?", "green tea; weight loss", "", "help"),
    ("What are the symptoms of thyroid cancer in men?", "thyroid cancer", "symptoms; men", ""),
    ("Can I breastfeed while taking antidepressants?", "breastfeed; antidepressants", "", "taking"),
)
_NEW_EXPERT = (
    (
        "Does semaglutide reduce cardiovascular events in obese patients without diabetes?",
        "semaglutide; cardiovascular events; diabetes",
        "obese; patients",
        "reduce",
    ),
    (
        "Is circulating tumor DNA predictive of recurrence in stage II colon cancer?",
        "circulating tumor DNA; recurrence; colon cancer",
        "stage II",
        "",
    ),
    ("Which BRAF inhibitors cross the blood-brain barrier?", "BRAF inhibitors; blood-brain barrier", "", ""),
    (
        "What is the effect of vitamin D supplementation on fracture risk in elderly women?",
        "vitamin D supplementation; fracture",
        "elderly; women",
        "effect",
    ),
    (
        "Does neoadjuvant nivolumab improve event-free survival in resectable non-small cell lung cancer?",
        "nivolumab; event-free survival; non-small cell lung cancer",
        "neoadjuvant; resectable",
        "improve",
    ),
    ("What is the target of the drug olaparib?", "olaparib", "", ""),
    ("Is TP53 mutated in Li-Fraumeni syndrome?", "TP53; Li-Fraumeni syndrome", "", ""),
    (
        "Does intraoperative radiotherapy compare with whole breast irradiation in early breast cancer?",
        "intraoperative radiotherapy; whole breast irradiation; breast cancer",
        "early",
        "compare",
    ),
    (
        "Which microRNAs regulate epithelial-mesenchymal transition in hepatocellular carcinoma?",
        "microRNAs; epithelial-mesenchymal transition; hepatocellular carcinoma",
        "",
        "regulate",
    ),
    (
        "Can ctDNA monitoring guide adjuvant chemotherapy after resection of pancreatic cancer?",
        "ctDNA monitoring; chemotherapy; pancreatic cancer",
        "adjuvant",
        "guide",
    ),
    (
        "What is the incidence of febrile neutropenia with docetaxel in metastatic prostate cancer?",
        "febrile neutropenia; docetaxel; prostate cancer",
        "incidence; metastatic",
        "",
    ),
    (
        "Does Helicobacter pylori eradication prevent gastric cancer?",
        "Helicobacter pylori eradication; gastric cancer",
        "",
        "prevent",
    ),
    (
        "How does obesity affect response to anti-PD-1 therapy in melanoma?",
        "obesity; anti-PD-1 therapy; melanoma",
        "response",
        "affect",
    ),
    (
        "What are the resistance mechanisms to imatinib in gastrointestinal stromal tumors?",
        "resistance; imatinib; gastrointestinal stromal tumors",
        "",
        "",
    ),
    (
        "Is sentinel lymph node biopsy necessary in elderly patients with breast cancer?",
        "sentinel lymph node biopsy; breast cancer",
        "elderly; patients",
        "necessary",
    ),
    (
        "Does low-molecular-weight heparin reduce venous thromboembolism in ambulatory cancer patients?",
        "low-molecular-weight heparin; venous thromboembolism; cancer",
        "ambulatory; patients",
        "reduce",
    ),
    (
        "What is the role of MGMT methylation in glioblastoma treated with temozolomide?",
        "MGMT methylation; glioblastoma; temozolomide",
        "",
        "role; treated",
    ),
    ("Which gene fusions are targetable in thyroid cancer?", "gene fusions; thyroid cancer", "", ""),
    (
        "Does preoperative anemia worsen survival after esophagectomy?",
        "anemia; esophagectomy",
        "preoperative; survival",
        "",
    ),
    (
        "Are checkpoint inhibitors safe in patients with autoimmune hepatitis?",
        "checkpoint inhibitors; autoimmune hepatitis",
        "patients",
        "safe",
    ),
)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";") if part.strip())


def _rows(**groups: tuple[tuple[str, str, str, str], ...]) -> tuple[LadderQuestion, ...]:
    return tuple(
        LadderQuestion(asker, question, _listed(core), _listed(modifiers), _listed(gone))
        for asker, rows in groups.items()
        for question, core, modifiers, gone in rows
    )


QUESTIONS = _rows(lay=_LAY, expert=_EXPERT)
"""The rules' words were chosen with these in view."""
NEW_QUESTIONS = _rows(lay=_NEW_LAY, expert=_NEW_EXPERT)
"""Nothing was chosen on these, but for the first two of the lay ones, which were reported as faults."""


RULES = (
    "every core concept is in the first rung",
    "core concepts stay whole",
    "modifiers leave before core concepts",
    "every core concept stays in every rung",
    "no verbs, askers or courtesy",
    "the last rung is an OR of the core, or the one core concept",
    "no quotation marks",
)


def rules_kept(row: LadderQuestion, ladder: tuple[str, ...]) -> dict[str, bool]:
    """Which of the rules a ladder keeps, all of them said of words and parsed expressions."""
    if not ladder:
        return dict.fromkeys(RULES, False)
    trees = [parse(text) for text in ladder]
    *joined, last = [[_words(term.text) for term in _terms(tree)] for tree in trees]
    joined = joined or [last]
    needed_terms = [[_words(term.text) for term in _needed(tree)] for tree in trees[:-1] or trees]
    core, modifiers = ([_words(text) for text in part] for part in (row.core, row.modifiers))
    words_of_core = {word for phrase in core for word in phrase}
    every = [word for terms in (*joined, last) for term in terms for word in term]

    def held(phrase: list[str], terms: list[list[str]]) -> bool:
        return any(_inside(phrase, term) for term in terms)

    def cut(phrase: list[str], terms: list[list[str]]) -> bool:
        others = [word for other in core if other != phrase for word in other]
        own = [word for word in phrase if word not in others]
        return not held(phrase, terms) and any(word in term for word in own for term in terms)

    gone = [word for text in row.gone for word in _words(text) if word not in words_of_core]
    return dict(
        zip(
            RULES,
            (
                all(held(phrase, joined[0]) for phrase in core),
                not any(cut(phrase, terms) for phrase in core for terms in joined),
                not any(
                    held(modifier, terms) and not all(held(phrase, needed) for phrase in core)
                    for modifier in modifiers
                    for terms, needed in zip(joined, needed_terms, strict=True)
                ),
                all(held(phrase, terms) for phrase in core for terms in (*joined, last)),
                not any(word in every for word in gone),
                all(held(phrase, last) for phrase in core)
                and (len(core) == len(last) == 1 or getattr(trees[-1], "operator", "") == "OR"),
                not any(term.phrase and len(term.text.split()) > 1 for tree in trees for term in _terms(tree)),
            ),
            strict=True,
        )
    )


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _inside(phrase: list[str], term: list[str]) -> bool:
    return any(term[at : at + len(phrase)] == phrase for at in range(len(term) - len(phrase) + 1))


def _terms(tree: Expression) -> list[SearchTerm]:
    if isinstance(tree, SearchTerm):
        return [tree]
    return [term for part in tree.parts for term in _terms(part)]


def _needed(tree: Expression) -> list[SearchTerm]:
    """The terms that every match holds, none of which is an alternative to another."""
    if isinstance(tree, SearchTerm):
        return [tree]
    return [term for part in tree.parts for term in _needed(part)] if tree.operator == "AND" else []
