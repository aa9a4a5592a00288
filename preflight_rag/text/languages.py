"""The language of a text: by its script, and for Latin script by the most common words of each language.

Made to distinguish English from languages that the bundled reader does not read, also in questions of a few words; a
text without a word of any language that is known here, such as names, genes and numbers, is "und".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

UNKNOWN = "und"
"""The ISO 639 code of an undetermined language."""
_WORD = re.compile(r"(?<![^\W\d])[^\W\d_]++(?:['’][^\W\d_]++)*(?!_)")
"""A word; the parts of a name in a program, such as "S_ring", are none."""
_SAMPLE_CHARS = 4_000
"""Characters that are examined; more do not change the result."""
_MIN_SCRIPT_SHARE = 0.3
"""Least share of the letters at which a script other than Latin decides: names in Latin letters occur in texts of all
scripts, single Greek letters in English ones. A guess."""
_LETTERS_PER_CHARACTER = 3
"""Number of letters of an alphabet that one Chinese or Japanese character counts as, about."""
_SCRIPTS = {
    "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CJK": "zh", "CYRILLIC": "ru", "ARABIC": "ar", "HEBREW": "he",
    "GREEK": "el", "DEVANAGARI": "hi", "BENGALI": "bn", "THAI": "th", "TAMIL": "ta", "TELUGU": "te", "GEORGIAN": "ka",
    "ARMENIAN": "hy", "ETHIOPIC": "am", "KHMER": "km", "GUJARATI": "gu", "GURMUKHI": "pa", "KANNADA": "kn",
    "MALAYALAM": "ml", "MYANMAR": "my", "LAO": "lo", "SINHALA": "si", "TIBETAN": "bo",
}  # fmt: skip
"""The main language of a script, by the first word of a letter's Unicode name."""
_COMMON_WORDS = {
    "en": "the of and to in is that it was for on are as with his they at be this have from or had by but what some we "
    "can were all there when use your how said an each she which do their if will up other about out many then them "
    "these so has her would like him into time two more no way could people my than been who its now did made may does "
    "did where why whom whose should because between during after our you i am a any most not",
    "de": "der die und den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat "
    "dass daß sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis "
    "mehr durch man sein wurde wurden sei was wer wo wann warum welche welcher welches wie viel viele gibt kann können "
    "dieser diese dieses ich wir ihr bin hatte waren gegen unter zwischen keine kein wieviel wodurch hilft",
    "fr": "le la les de des du et en un une est que qui dans pour pas au aux sur par avec ce cette ces il elle ils "
    "sont été être mais ou où son sa ses leur plus ne se nous vous je quand comment pourquoi quel quelle quels quelles "
    "combien y a-t-il ont avait était fait comme entre après chez sans aussi quoi c'est qu'est d'une d'un l'on",
    "es": "el la los las de del y en un una que es por con para no se al lo como más pero sus su le ya o este sí "
    "porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante qué cuál cuáles "
    "cuándo cuánto cuántos cuántas dónde cómo quién quiénes fue son está están ha han era ser sido",
    "it": "il lo la gli le di del della dei delle e in un una uno che è per con non si alla come più ma sono nel "
    "nella dal dalla ha anche questo questa quando chi dove perché quale quali quanto quanti quanta era stato stata "
    "essere hanno cosa cos'è qual dopo tra fra",
    "pt": "o a os as de do da dos das e em um uma que é por com para não se ao à como mais mas foi ele ela são na nos "
    "nas pelo pela tem ser quando quem onde qual quais quanto quantos quantas está também já seu sua isso este esta há "
    "você porque após",
    "nl": "de het een en van in is dat op te zijn met voor niet aan er om ook als dan maar bij of uit nog naar door "
    "ze hij werd worden wordt was deze die dit wat wie waar wanneer waarom hoe hoeveel welke kan geen heeft hebben had "
    "tot je ik zij tegen",
    "sv": "och att det som en på är av för med den till inte om ett har de jag var men sig från vi så kan när han hon "
    "eller vad vem vilken vilka vilket hur varför mycket många under efter också där här ska skulle blev",
    "da": "og at det som en på er af for med den til ikke om et har de jeg var men sig fra vi så kan når han hun eller "
    "hvad hvem hvilken hvilke hvor hvornår hvorfor hvordan mange meget efter også der her skal blev mellem",
    "no": "og at det som en på er av for med den til ikke om et har de jeg var men seg fra vi så kan når han hun eller "
    "hva hvem hvilken hvilke hvor når hvorfor hvordan mange mye etter også der her skal ble mellom",
    "fi": "ja on ei se että oli hän mutta ovat kun niin kuin myös joka mitä mikä missä milloin miksi kuinka kuka monta "
    "tai sen ole sekä voi olla olivat tämä jos vain",
    "pl": "i w na z do nie się to jest że o jak po za od ale co przez dla są był było była tego tym który która "
    "które ich czy kto gdzie kiedy dlaczego ile jaki jaka jakie może można oraz przed",
    "cs": "a se na je že v s z do o i k pro ale jako jsou by po byl byla bylo které který která co kdo kde kdy proč "
    "jak kolik jaký jaká jaké nebo také při od tak není má",
    "ro": "și în la cu de pe nu este o un care din că a mai pentru sunt au fost se ce cine unde când cum cât câte dar "
    "sau după prin ale lui",
    "hu": "a az és hogy nem is egy van volt de mint ez ki mi mit hol mikor miért hogyan mennyi hány melyik vagy csak "
    "már meg be kell lehet",
    "tr": "ve bir bu da de için ile ne çok olarak olan daha gibi kadar sonra en nasıl neden nerede kim kaç hangi mi mı "
    "mu mü var değil ise veya nedir kimdir",
    "id": "yang dan di itu dengan untuk tidak ini dari dalam akan pada juga saya adalah ke karena apa siapa mana kapan "
    "mengapa bagaimana berapa oleh atau sebagai telah ada",
}
"""The most common words of a language, and its question words."""
_LANGUAGES_OF_WORD: dict[str, list[str]] = {}
for _code, _text in _COMMON_WORDS.items():
    for _common in dict.fromkeys(_text.split()):
        _LANGUAGES_OF_WORD.setdefault(_common, []).append(_code)
_LANGUAGES_OF_LETTER = {
    "ß": "de", "ä": "de sv fi", "ö": "de sv fi hu tr", "ü": "de tr hu", "ñ": "es", "ã": "pt",
    "õ": "pt", "œ": "fr", "ê": "fr pt", "è": "fr it", "ç": "fr pt tr", "å": "sv da no", "ø": "da no", "æ": "da no",
    "ł": "pl", "ą": "pl", "ę": "pl", "ő": "hu", "ű": "hu", "ş": "tr", "ğ": "tr", "ı": "tr", "ř": "cs", "ě": "cs",
    "ů": "cs", "ț": "ro", "ș": "ro", "ă": "ro",
}  # fmt: skip
"""Languages that use a letter which English does not use."""
_UKRAINIAN = frozenset("іїєґ")
"""Letters that Ukrainian uses and Russian does not."""


def language_of(text: str) -> str:
    """Return the two-letter code of the main language of a text, such as "en" or "zh"; "und" if unknown."""
    text = unicodedata.normalize("NFC", text[:_SAMPLE_CHARS]).casefold()
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return UNKNOWN
    counts = Counter(map(_language_of_script, letters))
    for code in ("zh", "ja"):
        counts[code] *= _LETTERS_PER_CHARACTER
    script = max((code for code in counts if code), key=lambda code: counts[code], default="")
    count = counts[script] if script else 0
    if counts["ja"]:  # Japanese texts have Chinese characters, too
        script, count = "ja", counts["ja"] + counts["zh"]
    if count >= _MIN_SCRIPT_SHARE * sum(counts.values()) and count > 1:
        return "uk" if script == "ru" and _UKRAINIAN & set(letters) else script
    return _language_of_latin_text(text)


def _language_of_script(letter: str) -> str:
    """Return the main language of a letter's script: "ru" for "ж"; "" for Latin and for unknown scripts."""
    first_word = unicodedata.name(letter, "").split(" ")[0].split("-")[0]
    return _SCRIPTS.get(first_word, "")


def _language_of_latin_text(text: str) -> str:
    """Return the language of a casefolded text by its common words and special letters; "und" if none is likely.

    A word counts the less, the more languages share it. In a longer text, enough of the words must be common ones.
    """
    scores, hits = dict.fromkeys(_COMMON_WORDS, 0.0), Counter[str]()
    text_words = _WORD.findall(text)
    for word in text_words:
        codes = _LANGUAGES_OF_WORD.get(word.replace("’", "'"), [])
        hits.update(codes)
        for code in codes:
            scores[code] += 1 / len(codes)
        for letter in set(word) & _LANGUAGES_OF_LETTER.keys():
            codes = _LANGUAGES_OF_LETTER[letter].split()
            for code in codes:
                scores[code] += _LETTER_WEIGHT / len(codes)
    if "¿" in text or "¡" in text:
        scores["es"] += _LETTER_WEIGHT
    best = max(scores, key=lambda code: (scores[code], code == "en"))
    threshold = _LETTER_WEIGHT / len(_COMMON_WORDS) if best == "en" else _MIN_SCORE
    is_long = len(text_words) >= _MANY_WORDS
    if scores[best] < threshold or (is_long and hits[best] < _MIN_COMMON_SHARE * len(text_words)):
        return UNKNOWN
    # Single letters, such as units or marks of a table, are common words of Czech and others by chance.
    common = [word for word in set(text_words) if best in _LANGUAGES_OF_WORD.get(word, ())]
    if best != "en" and is_long and (len(common) < 2 or max(map(len, common)) < 2):
        return UNKNOWN
    return best


_LETTER_WEIGHT = 0.5
"""Weight of a letter that English does not use, relative to a common word of one language; a guess."""
_MIN_SCORE = 0.35
"""Least score of a language other than English: a single word shared by three languages does not reach it. Set on the
tests' short questions."""
_MANY_WORDS = 8
"""Least words of a text of which a share must be common words; a guess."""
_MIN_COMMON_SHARE = 0.15
"""Least share of a text's words that must be common words of the language; texts of the languages above have a third.
"""
