"""The pattern of words that are built like the name of a drug."""

from __future__ import annotations

import re

DRUG = re.compile(
    r"(?:mab|nib|pril|prilat|sartan|statin|azole|cillin|mycin|micin|kacin|vir|olol|alol|gliptin|glutide|gliflozin"
    r"|glitazone|glinide|parib|ciclib|zomib|limus|platin|rubicin|taxel|cept|stim|dipine|floxacin|oxacin|cycline|triptan"
    r"|setron|lukast|xaban|gatran|parin|grel|grelor|fibrate|dronate|barbital|azepam|azolam|caine|sone|solone|onide|terol"
    r"|tropium|profen|coxib|oxetine|triptyline|ipramine|peridol|perazine|ridone|vudine|citabine|trexate|trexed|mustine"
    r"|sulfan|kinra|leucel|tecan|poside|bactam|penem|fungin|quine|thiazide|semide|zosin|afil|tadine|rizine|tidine|idine"
    r"|plase|relin|tocin|pressin|stat|vaptan|ivacaftor|caftor|siran|nersen|gene|vec|lisib|degib|clax|stinel|orexant"
    r"|gepant|ditan|erone|trel|estrel|oxifene|zepine|pidem|racetam|gabalin|fentanil|orphan|codone|morphone|tilin|formin|bitril)s?$"
    r"|^(?:cef|ceph|sulfa|gli)\w{4}"
)
"""Endings, and a few beginnings, of generic names: stems of the WHO's list and those of common older drugs."""
