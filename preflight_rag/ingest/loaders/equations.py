"""Write equations of office documents (OMML, ECMA-376, 22.1) and web pages (MathML) as a line: "3/4", "x²", "√(a + b)".

The bare text of their elements would be wrong: three quarters would read "34".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.xml import local
from preflight_rag.text.legends import raised

if TYPE_CHECKING:
    from lxml.etree import _Element

_MAXIMUM_DEPTH = 40
"""Maximum depth of nested elements that are read; a guess."""
_RANGE_OPERATORS = ("∑", "∏", "∫")  # whose subscript is a lower bound
_DEGREE_SIGNS = ("∘", "°", "o")  # signs that are set as an exponent to mean degrees
_DEFAULT_OPERATOR = "∫"
"""The sign of an operator with bounds where the file names none."""


def equation(element: _Element) -> str | None:
    """Return an element of an OMML equation as a line; None if its text can be read child by child, as in a sum."""
    return _linear_text(element, 0) if local(element) in _ARRANGED_ELEMENTS else None


def _linear_text(element: _Element, depth: int) -> str:
    """Return an element of OMML as a line; "" for properties, and below the maximum depth."""
    name = local(element)
    if depth > _MAXIMUM_DEPTH or name.endswith("Pr"):
        return ""
    if name == "t":
        return element.text or ""
    if name in _ARRANGED_ELEMENTS:
        # Each part is read only once: reading it twice at each level would take time in 2 to the power of the depth.
        parts = [(local(part), _text_of_children(part, depth)) for part in element if not local(part).endswith("Pr")]
        return _arranged_text(name, element, parts)
    return _text_of_children(element, depth)


def _text_of_children(element: _Element, depth: int) -> str:
    """Return the joined texts of an element's children as a line."""
    return "".join(_linear_text(child, depth + 1) for child in element if local(child))


def _arranged_text(name: str, element: _Element, all_parts: list[tuple[str, str]]) -> str:
    """Return a fraction, root, bracket, operator with bounds, or base with scripts as a line, of its named parts."""
    parts = dict(all_parts)
    base = parts.get("e", "")
    if name == "f":
        return f"{grouped(parts.get('num', ''))}/{grouped(parts.get('den', ''))}"
    if name == "rad":
        degree = parts.get("deg", "").strip()
        return f"{raised(degree) if degree else ''}√{grouped(base)}"
    if name == "d":
        inner = _property_value(element, "sepChr", "|").join(text for part, text in all_parts if part == "e")
        return f"{_property_value(element, 'begChr', '(')}{inner}{_property_value(element, 'endChr', ')')}"
    if name == "nary":
        lower_bound, upper_bound = parts.get("sub", ""), parts.get("sup", "")
        lower = f"_{grouped(lower_bound)}" if lower_bound else ""
        upper = f"^{grouped(upper_bound)}" if upper_bound else ""
        return f"{_property_value(element, 'chr', _DEFAULT_OPERATOR)}{lower}{upper} {base}"
    return f"{base}{parts.get('sub', '')}{power(parts.get('sup', ''))}"


def power(text: str) -> str:
    """Return an exponent in raised characters, "²"; as "^(a+b)" if there are none for it; "" for an empty one."""
    exponent = text.strip()
    if exponent in _DEGREE_SIGNS:
        return "°"
    if raised(exponent) != exponent:
        return raised(exponent)
    return f"^{grouped(exponent)}" if exponent else ""


_ARRANGED_ELEMENTS = frozenset({"f", "rad", "d", "nary", "sSup", "sSubSup"})
"""OMML elements whose parts are arranged: fractions, roots, brackets, operators with bounds, and scripts."""


def mathml_line(element: _Element) -> str:
    """Return a MathML equation as a line, with single blanks."""
    return " ".join(_mathml_text(element, 0).split())


def _mathml_text(element: _Element, depth: int) -> str:
    """Return an element of MathML as a line; "" for annotations, and below the maximum depth."""
    name = local(element)
    if depth > _MAXIMUM_DEPTH or not name or name.startswith("annotation"):
        return ""
    parts = [_mathml_text(child, depth + 1) for child in element]
    if name in _PART_COUNTS and len(parts) == _PART_COUNTS[name]:
        first, second, third = [*parts, ""][:3]
        if name == "mfrac":
            return f"{grouped(first)}/{grouped(second)}"
        if name in ("msup", "mover"):
            return f"{first}{power(second)}"
        if name == "mroot":
            return f"{raised(second.strip())}√{grouped(first)}"
        has_bounds = name == "munderover" or first.strip() in _RANGE_OPERATORS
        below = f"_{grouped(second)}" if has_bounds else second
        return f"{first}{below}{power(third)}"
    if name == "msqrt":
        return f"√{grouped(''.join(parts))}"
    if name == "mfenced":
        return f"{element.get('open', '(')}{', '.join(parts)}{element.get('close', ')')}"
    if name == "mo" and (element.text or "").strip() in "+-−=<>≤≥±×·":
        return f" {(element.text or '').strip()} "
    return f"{element.text or ''}{''.join(parts)}" if name in _TEXT_ELEMENTS else "".join(parts)


_PART_COUNTS = {"mfrac": 2, "msup": 2, "mover": 2, "mroot": 2, "msubsup": 3, "munderover": 3}
"""MathML elements whose parts are arranged, and how many parts they must have."""
_TEXT_ELEMENTS = frozenset({"mi", "mn", "mo", "mtext", "ms"})
"""MathML elements that contain text."""


def grouped(text: str) -> str:
    """Return a part of an equation in brackets, unless it is a single number, word or sign."""
    part = text.strip()
    is_single = part.replace(".", "").replace(",", "").isalnum() or len(part) == 1
    return part if is_single else f"({part})"


def _property_value(element: _Element, name: str, default: str) -> str:
    """Return the value of a property of an OMML element, "" if it is empty; the default if it is not set."""
    for properties in element:
        if local(properties).endswith("Pr"):
            for setting in properties:
                if local(setting) == name:
                    return next((str(value) for key, value in setting.attrib.items() if str(key).endswith("val")), "")
    return default
