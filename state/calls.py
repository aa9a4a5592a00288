"""Settings that the caller of one turn may choose, over HTTP, in Studio, through a tool or a graph.

A caller may choose numbers and methods. Files, addresses, models to load, and the limits that protect the machine are
set by the operator when the application is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from preflight_rag.state.context import ABOUT, Settings
from preflight_rag.state.errors import UsageError

CHOICES = tuple(name for name, about in ABOUT.items() if about.who == "caller")
"""Settings that callers may choose."""
RERANKERS = ("features", "reader", "none")
"""Rerankers without a model to load; any other name would load one."""
PREFIX = "preflight_"
PLAIN = ("k", "where", "library")
"""Names that are read from a run's `configurable` without the prefix; all others need it, since the surrounding chain
or graph may have a setting of that name."""


def checked_choices(given: Mapping[str, Any], own: Settings | None = None) -> dict[str, Any]:
    """Check that a caller may choose these settings, and return them without those that are None.

    Args:
        given: Names and values.
        own: The operator's settings. A caller may also name the operator's reranker; NCBI, which receives the question
            and whose documents are stored, is used only if the operator's settings allow it.

    Raises:
        UsageError: A setting is unknown, not for callers, not switched on, or has a wrong value.
    """
    if own is not None and given.get("pubmed") and not own.pubmed:
        raise UsageError("PubMed is not searched here", help="It is switched on where the server is started: --pubmed.")
    for name, value in given.items():
        if name not in CHOICES:
            why = "is set where the server is started" if name in Settings.model_fields else "is not known"
            raise UsageError(
                f"the setting {name[:80]!r} {why}", help="Callers may set route, k, where and similar settings."
            )
        offered = (*RERANKERS, own.reranker) if own else RERANKERS
        if name == "reranker" and value is not None and value not in offered:
            raise UsageError(f"reranker={str(value)[:80]!r} is not offered", help=f"Use {', '.join(RERANKERS)}.")
    choices = {name: value for name, value in given.items() if value is not None}
    Settings.read({}, **choices)  # raises an error for a wrong value
    return choices


def narrowed(own: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return the settings of one call: the application's (`own`), with the call's changes; None changes nothing.

    The call's conditions (`where`) are added to the application's: a call can see fewer documents, never more.

    Raises:
        UsageError: A setting is unknown, or a value is wrong.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    checked = Settings.read({}, **given)
    changed = {name: getattr(checked, name) for name in given}
    if "where" in changed:
        changed["where"] = tuple(dict.fromkeys((*own.where, *changed["where"])))
    return own.model_copy(update=changed)


def joined_instructions(own: str, *callers: str) -> str:
    """Join writing instructions, each once, in lines: the operator's (`own`) first, then those of callers."""
    # A caller's instructions may begin with the operator's, which are its default.
    texts = [own.strip(), *(text.removeprefix(own).strip() for text in callers)]
    return "\n".join(dict.fromkeys(filter(None, texts)))


def configured(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return our settings in the `configurable` of a run's config: `k`, `where`, `library`, and names with the prefix.

    Other names belong to other parts of the chain or the graph, and are ignored.
    """
    given: Mapping[str, Any] = (config or {}).get("configurable") or {}
    plain = {name: given[name] for name in PLAIN if given.get(name) is not None}
    ours = {name.removeprefix(PREFIX): value for name, value in given.items() if name.startswith(PREFIX)}
    return plain | {name: value for name, value in ours.items() if value is not None}


def chosen_of(offered: object, name: object) -> Any:
    """Return the library that a call uses: the only one offered, or the one of a mapping that the call names.

    Error messages do not list the offered names: they may be other users'.

    Raises:
        UsageError: No name is given, it is not offered, or nothing is offered.
    """
    setting = 'config={"configurable": {"library": NAME}}'
    if not isinstance(offered, Mapping):
        if name is not None:
            raise UsageError(
                f"the library {str(name)[:80]!r} cannot be chosen here", help="There is only one; leave the name out."
            )
        return offered
    if name is None:
        raise UsageError("no library is named", help=f"Give {setting}.")
    if not isinstance(name, str) or name not in offered:
        raise UsageError(f"the library {str(name)[:80]!r} is not offered here", help=f"Give another name: {setting}.")
    return offered[name]
