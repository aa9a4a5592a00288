"""Questions for an amount of money, and answers that are none: "23 people" is no answer to "How much does it cost?"."""

from __future__ import annotations

import re

from preflight_rag.text.values import DATE, SCALES, with_digits

_VERBS_OF_PAYING = r"costs?|pays?|paid|charge[sd]?|owe[sd]?|spen[dt]s?|earn(?:s|ed)?|donated?|raised"
_NOUNS_FOR_PRICES = r"prices?|fees?|fares?|rents?|costs?|salary|wages?|deposits?|fines?"
_ASKS_MONEY = re.compile(
    rf"\bhow much\b[^?]{{0,120}}\b(?:{_VERBS_OF_PAYING}|{_NOUNS_FOR_PRICES}|worth)\b"
    rf"|\b(?:what|which)\b[^?]{{0,40}}\b(?:{_NOUNS_FOR_PRICES})\b(?! (?:cent(?:er|re)|list|effect))"
    r"|\bwhat (?:do|does|did|will|would|can|could)\b[^?]{0,160}\bcosts?\W{0,5}$",
    re.IGNORECASE,
)
_ASKS_HOW_MUCH = re.compile(r"^\W*(?:and )?how much (?:is|are|was|were|will|would|does|do|did|for)\b", re.IGNORECASE)
"""A question for a price: nothing stands between "how much" and the verb."""
_ASKS_PRICE = re.compile(
    rf"\bwhat(?:['’]s| (?:is|are|was|were)) (?:[\w'’.-]{{1,40}} ){{0,6}}"
    rf"(?:{_NOUNS_FOR_PRICES}|pay|remuneration|stipend|allowance)"
    r"(?= (?:of|for|in|at|per|an?)\b|\W{0,5}$)(?<! to pay)",
    re.IGNORECASE,
)
"""A question whose subject is a price or a wage: "What is the pay of the cook?", not "What fee group is Ann in?"."""
_NO_CHARGE = re.compile(r"(?:none|nil|no(?:ne)? (?:fee|charge|cost)|included|waived|unpaid|voluntary)\b", re.IGNORECASE)
_ASKS_COMPANY_FIGURE = re.compile(
    r"\b(?:what|how (?:much|high|large)) (?:was|were)"
    r" (?:(?!(?:of|from|for|in|with|to)\b)[\w’'.&-]{1,40} ){0,7}"
    r"(?:sales|revenues?|income|profits?|earnings|EBITD?A?R?|expenses|cash flows?|debts?"
    r"|total assets)\b"
    r"(?! (?:tax|statement|report|call|release|team|manager|from|used|made|due|per)\b)",
    re.IGNORECASE,
)
"""A question whose subject is an amount of money in a company's books."""
_ASKS_RELATION = re.compile(
    r"\b(?:growth|gr[eo]w|chang\w+|increas\w+|decreas\w+|decline\w*|r[io]se|f[ea]ll|margins?|per ?cent(?:age)?|rates?"
    r"|shares?|ratio|proportion|compar\w+|driv\w+|reasons?|caus\w+|sources?|main|largest|biggest|types?|kinds?)\b|%",
    re.IGNORECASE,
)
"""Words of a question about an amount in a company's books that something else may answer: "growth", "why"."""
_PERCENTAGE = re.compile(r"(?<![\d.,])\d[\d.,]*+\s?(?:%|per ?cent\b|percentage points?\b)", re.IGNORECASE)
_CURRENCY = re.compile(
    r"[$€£¥₹]|\b(?:pounds?|euros?|dollars?|pence|cents?|yen|yuan|renminbi|won|lira|rubles?|roubles?|pesos?|reais|rand|shekels?|dirhams?|forint|zloty|z\u0142oty|rupees?|francs?|crowns?|kron(?:a|e|or|er)|USD|EUR|GBP|CHF|JPY"
    r"|INR|CAD|AUD|SEK|NOK|DKK|PLN|free|nothing|gratis)\b|\d ?p\b",
    re.IGNORECASE,
)
_FIGURE_WITH_CURRENCY = re.compile(
    r"[$€£¥₹] ?\d|\d ?(?:[$€£¥₹]|p\b|(?:pounds?|euros?|dollars?|pence|cents?|USD|EUR|GBP|CHF)\b)", re.IGNORECASE
)
_BARE_FIGURE = re.compile(r"(?P<minus>[-−–]?)(?P<number>\d[\d.,]*)")
_CURRENCY_OF_COLUMN = re.compile(
    r"(?:^|(?<=\()|(?<!per )(?<!of )(?<= ))"
    r"(?:(?P<sign>(?:US|A|C|NZ|HK)?\$|[€£¥₹])|(?P<code>EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY|CAD|AUD|NZD|INR))"
    r"(?:(?=\))|(?= per [a-z]{3,9}\)?$)|$)"
)
"""The currency in a column's name: "Value (£)", "Fee in USD"."""
_SCALE_OR_COUNT = re.compile(
    r"%|\b(?:rate|thousands?|millions?|billions?|mio|mrd|bn|tsd|no\.|number|count)(?!\w)|'?000|\bk ?[€£$]|[€£$] ?[kmb]",
    re.IGNORECASE,
)
"""Occurs in the name of a column whose numbers are no sums as they stand: "(£000)", "Number of £ shares"."""
_FIGURE_WITH_WORD = re.compile(r"(?<![\w.,])\d[\d.,]*\s?(?P<unit>[^\W\d_]{2,20})")
_WORDS_BEHIND_AMOUNTS = "mn bn percent per each an plus or and to for in at on of a once"
_NO_UNITS = frozenset((*SCALES, *_WORDS_BEHIND_AMOUNTS.split()))
"""Words that may follow an amount of money and are no unit of another thing."""
_TWO_DECIMALS = re.compile(r"\d{1,6}[.,]\d\d")
"""A number with two decimals, as prices are written: "3.50" in a column "Single"."""
_MONEY_WORD = re.compile(
    rf"[$€£¥₹]|\b(?:{_VERBS_OF_PAYING}|{_NOUNS_FOR_PRICES}|priced|rates?|charges|amounts?|totals?|sums?|payments?|paying|payable|dues?|salaries"
    r"|earnings|income|revenues?|sales|spending|expens\w{1,4}|expenditures?|budgets?|values?|worth|balance|premiums?"
    r"|subscriptions?|donations?|grants?|tax(?:es)?|tuition|tickets?|net|gross|turnover|profits?|debts?|loans?|assets|cash"
    r"|purchases?|acquisitions?|dividends?|repurchases?|interest|USD|EUR|GBP|CHF|dollars?|euros?|pounds?)\b",
    re.IGNORECASE,
)
"""A word of a label, column or sentence whose numbers are amounts of money."""


def asks_money(question: str) -> bool:
    """Return whether a question asks for an amount of money by its verb or noun: "How much did it cost?"."""
    return bool(_ASKS_MONEY.search(question))


def asks_sum(question: str) -> bool:
    """Return whether a question asks for an amount of money, or for a price: "How much is the soup?"."""
    return asks_money(question) or asks_price(question) or bool(_ASKS_HOW_MUCH.search(question))


def has_money(text: str) -> bool:
    """Return whether a text has a number with a currency, or is a table's row with a word for amounts of money."""
    return bool(_FIGURE_WITH_CURRENCY.search(text)) or (bool(_MONEY_WORD.search(text)) and " | " in text)


def has_decimals(text: str) -> bool:
    """Return whether a text has a number with two decimals, as prices are written on receipts."""
    return _TWO_DECIMALS.search(text) is not None


def is_price_in(sentence: str, answer: str) -> bool:
    """Return whether an answer is written like a price, and its sentence speaks of one: 9.99 in "the price is 9.99"."""
    return has_decimals(answer) and _MONEY_WORD.search(sentence) is not None


def asks_price(question: str) -> bool:
    """Return whether the subject of a question is a price or a wage, which a name does not answer."""
    return bool(_ASKS_PRICE.search(question))


def has_currency(text: str) -> bool:
    """Return whether a text has the sign or the name of a currency, or says that something is free."""
    return _CURRENCY.search(text) is not None


def is_other_figure(question: str, answer: str) -> bool:
    """Return whether a question asks for an amount of money and the answer is surely none.

    For an amount in a company's books, such as its sales, a percentage and an answer without a number are none.
    """
    if asks_money(question):
        return is_no_money(answer)
    asks_amount = _ASKS_COMPANY_FIGURE.search(question) is not None and _ASKS_RELATION.search(question) is None
    without_percentages = _PERCENTAGE.sub(" ", with_digits(answer))
    has_figure = any(map(str.isdigit, without_percentages))
    return asks_amount and not has_figure and not _CURRENCY.search(answer)


def is_no_money(answer: str) -> bool:
    """Return whether a short answer is surely no amount of money: a day, or a count of something else."""
    if _CURRENCY.search(answer):
        return False
    if any(match["month1"] or match["month2"] or match["month3"] for match in DATE.finditer(answer)):
        return True
    return any(match["unit"].casefold() not in _NO_UNITS for match in _FIGURE_WITH_WORD.finditer(answer))


def may_be_money(cell: str, labels: str) -> bool:
    """Return whether a table's cell may be an amount of money: by a currency, two decimals, or the words of its labels.

    `labels` are the names of its row and column.
    """
    if is_no_money(cell):
        return False
    return bool(_CURRENCY.search(cell) or _MONEY_WORD.search(labels) or _TWO_DECIMALS.fullmatch(cell.strip()))


def is_price(cell: str, labels: str) -> bool:
    """Return whether a table's cell may be a price or a wage: an amount of money, or a word such as "free"."""
    if not any(map(str.isdigit, cell)):
        return bool(_CURRENCY.search(cell) or _NO_CHARGE.match(cell))
    return may_be_money(cell, labels)


def with_currency(cell: str, column: str) -> str:
    """Return a bare number with the currency that its column's name gives: "£9900" for "9900" under "Budget (£)".

    The currency must be all that stands in brackets, or the name's last word. Any other cell is returned unchanged, and
    so is a number whose column has a scale or counts something: "(£000)", "No. of £ shares", "Exchange rate EUR".
    """
    figure, currency = _BARE_FIGURE.fullmatch(cell.strip()), _CURRENCY_OF_COLUMN.search(column)
    if figure is None or currency is None or _SCALE_OR_COUNT.search(column):
        return cell
    if sign := currency["sign"]:
        return f"{figure['minus']}{sign}{figure['number']}"
    return f"{figure[0]} {currency['code']}"
