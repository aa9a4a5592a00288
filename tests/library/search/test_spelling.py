"""Spelling by the library's words: what is corrected, and what survives."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import preflight_rag
from preflight_rag.library.index.vocabulary import WORDS, Vocabulary, write_vocabulary
from preflight_rag.library.search.spelling import Speller, is_english, kind_of_edit

DEMO = Path(preflight_rag.__file__).parent / "demo"
TEXTS = [
    "Diabetes and hypertension raise the risk of stroke. Treatment of diabetes with insulin and metformin.",
    "Side effects of atorvastatin and simvastatin include muscle pain; infliximab and methotrexate treat arthritis.",
    "Which patients with rheumatoid arthritis, asthma or pneumonia should receive immunotherapy or chemotherapy?",
    "Symptoms of Alzheimer disease and of multiple sclerosis; diagnosis, prognosis and prevention of metastases.",
    "Warfarin, aspirin and heparin prevent thrombosis. Hyperglycemia and leukemia; prednisone and quinidine.",
    "KRAS and TP53 mutations in colorectal cancer; the microenvironment of tumours; asymptomatic, vaccinated people.",
    "What is known, how does it work, why would it not, when and where has it occurred? Does this drug help children?",
    "Gastrectomy, hepatitis and creatine. Nitrite in the intestine. Thalassaemia, haemorrhage and diarrhoea.",
]

CORRECTED = [
    ("waht is the treatmnt of diabtes?", "what is the treatment of diabetes?"),
    ("Waht are teh side efects of insulin?", "What are the side effects of insulin?"),
    ("Does metformn help patients with diabetes?", "Does metformin help patients with diabetes?"),
    ("simvastatn and muscle pain", "simvastatin and muscle pain"),
    ("Is infliximb better than methotrexte?", "Is infliximab better than methotrexate?"),
    ("rhuematoid arthritis symptons", "rheumatoid arthritis symptoms"),
    ("hypertnsion and stoke", "hypertension and stoke"),
    ("alzhiemer disease diagnossis", "alzheimer disease diagnosis"),
    ("asprin or warfrin for thrombsis", "aspirin or warfarin for thrombosis"),
    ("pnuemonia in chidlren", "pneumonia in children"),
    ("Who should recieve immunotherpy?", "Who should receive immunotherapy?"),
    ("multiple sclerossis progosis", "multiple sclerosis prognosis"),
    ("colorectal cancr with KRAS mutatoins", "colorectal cancer with KRAS mutations"),
    ("chemotheraphy wihtout side effects", "chemotherapy without side effects"),
    ("tumor microenviroment", "tumor microenvironment"),
    ("prevetion of metastses", "prevention of metastases"),
    ("leukmia in children", "leukemia in children"),
    ("assymptomatic people with TP53", "asymptomatic people with TP53"),
    ("hyperglycmia adn insulin", "hyperglycemia and insulin"),
    ("what is the occurence of asthma", "what is the occurrence of asthma"),
    ("diarhoea after gastrectomy", "diarrhoea after gastrectomy"),
    ("arthritis-related pian", "arthritis-related pian"),
    ("Treatmentt of hepatitis not leukemia", "Treatment of hepatitis not leukemia"),
    ("which patiens should not recieve 5 mg aspirin", "which patients should not receive 5 mg aspirin"),
    ("side efects of 20 mg in BRCA1 carriers", "side effects of 20 mg in BRCA1 carriers"),
]  # fmt: skip

SURVIVING = [
    "Is atezolizumab or nivolumab better?",
    "apatinib versus lapatinib and erlotinib",
    "simvstatin with rosuvastatin and pitavastatin",
    "prednisolone and quinine are not prednisone and quinidine",
    "nimodipine, nifedipine, ramipril, telmisartan and omeprazole",
    "cefoxitin, cefazolin, azithromycin and oseltamivir",
    "semaglutide, sitagliptin, empagliflozin and liraglutide",
    "Does Keytruda or Ozempic or Humira cost more?",
    "What does Zolgensma treat?",
    "TP53, BRCA2, p53, IL-6, HER2 and CD8+ cells",
    "EGFR, NRAS, BRAF, mTOR, NF-kB and PD-L1",
    "does nras or braf or egfr or kras or pten matter",
    "mirna, lncrna and ctdna in plasma",
    "hypoglycemia is not hyperglycemia",
    "hypotension after hypertension treatment",
    "gastrostomy or gastrotomy or gastrectomy",
    "hepatosis and hepatitis",
    "creatinine and creatine",
    "nitrate and nitrite",
    "unvaccinated, nonvaccinated and vaccinated people",
    "symptomatic and asymptomatic disease",
    "patients who dont, cant, wont or didnt respond",
    "It isnt, wasnt and never was; neither nor none",
    "no treatment without 1,000 mg at 37.5 °C in 2019 or 3.5x",
    "COVID-19, SARS-CoV-2, 5-HT3, H1N1 and omega-3",
    "Lupus in Xhosa people of KwaZulu",
    "Cuál es el tratamiento de la hipertension con insulina",
    "Was hilft gegen Bluthochdruck und Zuckerkrankheit bei Kindern",
    "糖尿病の治療法は何ですか",
    "Лечение диабета без инсулина",
    'the phrase "diabtes treatmnt" in quotation marks',
    "mail bob@exmple.com about http://diabtes.org/treatmnt and C:\\treatmnt",
    "glioblastoma, claudin, cyclin and heparan sulfate",
    "The kettle, the umbrella and the violin",
    "Does cohesin bind chromatin?",
    "diabetics with a stroke",
    "ABCDEFG diabtse123 x_treatmnt",
    "hela and chia",
    "hyponatremia, hemorrhage and tumors",
]


@pytest.fixture(scope="module")
def speller(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / WORDS
    demo = [(file.name, file.read_text(encoding="utf-8")) for file in sorted(DEMO.glob("*.md"))]
    write_vocabulary(path, [*demo, *((str(n), text) for n, text in enumerate(TEXTS))])
    return Speller(Vocabulary(path))


def test_the_table_has_sixty_questions():
    assert len(CORRECTED) + len(SURVIVING) >= 60


@pytest.mark.parametrize(("typed", "expected"), CORRECTED)
def test_slips_are_corrected(speller, typed, expected):
    spelled = speller.correct(typed)
    assert spelled.text == expected
    assert bool(spelled.corrections) == (typed != expected)


@pytest.mark.parametrize("question", SURVIVING)
def test_what_is_no_slip_survives(speller, question):
    assert (speller.correct(question).text, speller.correct(question).corrections) == (question, ())


def test_suspects_are_what_a_model_may_be_asked_about(speller):
    assert [suspect.word for suspect in speller.suspects("Does diabtes need Humira, BRCA1 or umbrellas?")] == [
        "diabtes"
    ]
    assert speller.suspects("What is the treatment of diabetes?") == []


def test_a_correction_is_told_once_with_its_case(speller):
    spelled = speller.correct("Diabtes? Is diabtes like Diabtes?")
    assert spelled.text == "Diabetes? Is diabetes like Diabtes?"
    assert spelled.corrections == (("Diabtes", "Diabetes"), ("diabtes", "diabetes"))


@pytest.mark.parametrize(
    ("typed", "word", "edit"),
    [
        ("teh", "the", "swapped"),
        ("efect", "effect", "missing"),
        ("paiin", "pain", "doubled"),
        ("paion", "pain", "extra"),
        ("hepatitus", "hepatitis", "vowel"),
        ("patienr", "patient", "near"),
        ("hematoma", "hepatoma", "other"),
    ],
)
def test_kinds_of_slips(typed, word, edit):
    assert kind_of_edit(typed, word) == edit


def test_general_english_is_known():
    assert is_english("Umbrella")
    assert not is_english("treatmnt")


@given(st.text(max_size=80))
def test_any_text_is_taken(speller, text):
    spelled = speller.correct(text)
    assert len(spelled.text.split()) == len(text.split())
