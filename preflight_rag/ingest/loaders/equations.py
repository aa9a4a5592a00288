"""Equations of office documents (OMML, ECMA-376, 22.1) and pages (MathML) in a line: "3/4", "x²", "√(a + b)".

Without what the parts of an equation are to each other, three quarters are 34.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.xml import local
from preflight_rag.text.legends import raised

if TYPE_CHECKING:
    from lxml.etree import _Element

_DEEPEST = 40
"""Parts within each other that are followed; a guess."""
_OPERATORS = ("∑", "∏", "∫")
_DEGREES = ("∘", "°", "o")
_SUM = "∫"
"""The sign of an operator over a range whose file names none."""


def equation(element: _Element) -> str | None:
    """Return the line of an equation's part whose arrangement says something; None for another element."""
    return _line(element, 0) if local(element) in _WRITERS else None


def _line(element: _Element, depth: int) -> str:
    name = local(element)
    if depth > _DEEPEST or name.endswith("Pr"):
        return ""
    if name == "t":
        return element.text or ""
    if name in _WRITERS:
        # Each part is written once: twice at each depth would be 2 to the power of the depth.
        parts = [(local(each), _inner(each, depth)) for each in element if not local(each).endswith("Pr")]
        return _written(name, element, parts)
    return _inner(element, depth)


def _inner(element: _Element, depth: int) -> str:
    return "".join(_line(each, depth + 1) for each in element if local(each))


def _written(name: str, element: _Element, all_parts: list[tuple[str, str]]) -> str:
    parts = dict(all_parts)
    base = parts.get("e", "")
    if name == "f":
        return f"{grouped(parts.get('num', ''))}/{grouped(parts.get('den', ''))}"
    if name == "rad":
        degree = parts.get("deg", "").strip()
        return f"{raised(degree) if degree else ''}√{grouped(base)}"
    if name == "d":
        inner = _value(element, "sepChr", "|").join(text for part, text in all_parts if part == "e")
        return f"{_value(element, 'begChr', '(')}{inner}{_value(element, 'endChr', ')')}"
    if name == "nary":
        below, above = parts.get("sub", ""), parts.get("sup", "")
        bounds = f"_{grouped(below)}" if below else ""
        return f"{_value(element, 'chr', _SUM)}{bounds}{f'^{grouped(above)}' if above else ''} {base}"
    return f"{base}{parts.get('sub', '')}{power(parts.get('sup', ''))}"


def power(text: str) -> str:
    """Return a power above the line, behind a mark where it has characters that are in no font so."""
    above = text.strip()
    if above in _DEGREES:
        return "°"
    return raised(above) if raised(above) != above else f"^{grouped(above)}" if above else ""


_WRITERS = frozenset({"f", "rad", "d", "nary", "sSup", "sSubSup"})


def mathml_line(element: _Element) -> str:
    """Return an element of MathML in a line."""
    return " ".join(_mathml(element, 0).split())


def _mathml(element: _Element, depth: int) -> str:
    name = local(element)
    if depth > _DEEPEST or not name or name.startswith("annotation"):
        return ""
    inner = [_mathml(each, depth + 1) for each in element]
    if name in _MATHML and len(inner) == _MATHML[name]:
        first, second, third = [*inner, "", ""][:3]
        if name == "mfrac":
            return f"{grouped(first)}/{grouped(second)}"
        if name in ("msup", "mover"):
            return f"{first}{power(second)}"
        if name == "mroot":
            return f"{raised(second.strip())}√{grouped(first)}"
        is_range = name == "munderover" or first.strip() in _OPERATORS
        below = f"_{grouped(second)}" if is_range else second
        return f"{first}{below}{power(third)}"
    if name == "msqrt":
        return f"√{grouped(''.join(inner))}"
    if name == "mfenced":
        return f"{element.get('open', '(')}{', '.join(inner)}{element.get('close', ')')}"
    if name == "mo" and (element.text or "").strip() in "+-−=<>≤≥±×·":
        return f" {(element.text or '').strip()} "
    return f"{element.text or ''}{''.join(inner)}" if name in _LEAVES else "".join(inner)


_MATHML = {"mfrac": 2, "msup": 2, "mover": 2, "mroot": 2, "msubsup": 3, "munderover": 3}
"""Elements whose parts are arranged, with how many they have."""
_LEAVES = frozenset({"mi", "mn", "mo", "mtext", "ms"})


def grouped(text: str) -> str:
    """Return a part in brackets where it is more than a figure or a word."""
    plain = text.strip()
    return plain if plain.replace(".", "").replace(",", "").isalnum() or len(plain) == 1 else f"({plain})"


def _value(element: _Element, name: str, default: str) -> str:
    """Return a character that the properties of a part name, else the one that is meant without it."""
    for properties in element:
        if local(properties).endswith("Pr"):
            for each in properties:
                if local(each) == name:
                    return next((str(value) for key, value in each.attrib.items() if str(key).endswith("val")), "")
    return default
