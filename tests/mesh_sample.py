"""A small MeSH file in the form of NLM's descriptor XML."""

HEADINGS = [
    ("D009369", "Neoplasms", ["C04"], ["Cancer", "Tumors", "Neoplasia"]),
    ("D009371", "Neoplasms by Site", ["C04.588"], []),
    ("D001943", "Breast Neoplasms", ["C04.588.180", "C17.800.090.500"], ["Breast Cancer", "Cancer, Breast"]),
    ("D008175", "Lung Neoplasms", ["C04.588.894.797.520"], ["Lung Cancer", "Pulmonary Neoplasms"]),
    ("D002289", "Carcinoma, Non-Small-Cell Lung", ["C04.557.470"], ["Non-Small Cell Lung Cancer", "NSCLC"]),
    ("D007938", "Leukemia", ["C04.557.337"], ["Leucocythaemia"]),
    ("D000163", "Acquired Immunodeficiency Syndrome", ["C20.673.480"], ["AIDS"]),
    ("D003920", "Diabetes Mellitus", ["C18.452.394.750"], []),
    ("D003924", "Diabetes Mellitus, Type 2", ["C18.452.394.750.149"], ["Type 2 Diabetes", "NIDDM"]),
    ("D019161", "Hydroxymethylglutaryl-CoA Reductase Inhibitors", ["D27.505.519"], ["Statins", "Statin"]),
    ("D063806", "Myalgia", ["C23.888.592.612"], ["Muscle Pain", "Pain, Muscle"]),
    ("D005260", "Female", [], []),
]


def record(ui, name, trees, terms):
    written = "".join(
        f'<Term ConceptPreferredTermYN="{"YN"[n > 0]}" IsPermutedTermYN="N"><TermUI>T{n}</TermUI>'
        f"<String>{term}</String></Term>"
        for n, term in enumerate([name, *terms])
    )
    tree = "".join(f"<TreeNumber>{number}</TreeNumber>" for number in trees)
    return (
        f'<DescriptorRecord DescriptorClass="1"><DescriptorUI>{ui}</DescriptorUI>'
        f"<DescriptorName><String>{name}</String></DescriptorName>"
        f"<DateCreated><Year>1999</Year></DateCreated>{f'<TreeNumberList>{tree}</TreeNumberList>' if trees else ''}"
        f'<ConceptList><Concept PreferredConceptYN="Y"><ConceptUI>M1</ConceptUI>'
        f"<ConceptName><String>{name}</String></ConceptName><TermList>{written}</TermList></Concept></ConceptList>"
        "</DescriptorRecord>"
    )


def xml(headings=HEADINGS):
    dtd = "https://www.nlm.nih.gov/databases/dtd/nlmdescriptorrecordset_20250101.dtd"
    return (
        f'<?xml version="1.0"?>\n<!DOCTYPE DescriptorRecordSet SYSTEM "{dtd}">\n'
        f'<DescriptorRecordSet LanguageCode="eng">{"".join(record(*row) for row in headings)}</DescriptorRecordSet>'
    )
