"""The libraries and models that `langgraph dev` offers, from which assistants choose by name.

    PREFLIGHT_LIBRARY=papers                             the library, instead of ./my-library or the demo's
    PREFLIGHT_LIBRARIES="papers;trials=/data/trials"     further ones; by the folder's name, unless another is given;
                                                         postgresql://... is one in a database
    PREFLIGHT_MODELS="openai:gpt-4.1-mini;ollama:qwen3"  further models
    PREFLIGHT_THREADS=postgresql://...                   where conversations are stored, instead of threads.db

Every client of the server can configure an assistant, so paths and models outside of this list are refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight_rag.library.opening import LibraryPlace
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.state.errors import UsageError

LIBRARY, LIBRARIES = "PREFLIGHT_LIBRARY", "PREFLIGHT_LIBRARIES"
THREADS = "PREFLIGHT_THREADS"
MODEL, MODELS = "PREFLIGHT_MODEL", "PREFLIGHT_MODELS"


@dataclass(frozen=True)
class Offered:
    """The libraries and models that callers may choose.

    Attributes:
        libraries: Folders, and databases, by name, that of the operator's own library first.
        models: Names; the first is the operator's own, "" for the environment's.
    """

    libraries: Mapping[str, Path | LibraryPlace]
    models: tuple[str, ...]

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> Offered:
        """Read the libraries and models from the environment's variables.

        Raises:
            UsageError: Two libraries have the same name.
        """
        environ = os.environ if environ is None else environ
        own, listed = own_place(environ), _listed_libraries(environ)
        listed_names_of_own = [name for name, place in listed if _identity(place) == _identity(own)]
        own_name = listed_names_of_own[0] if listed_names_of_own else _default_name(own)
        libraries = {own_name: own}
        for name, place in listed:
            if _identity(libraries.setdefault(name, place)) != _identity(place):
                help = f"Write name=folder for one of them, as in {name}-2={place}."
                raise UsageError(f"{LIBRARIES} has two libraries named {name!r}", help=help)
        models = [environ.get(MODEL) or "", OFFLINE, *_split_entries(environ, MODELS)]
        return cls(libraries, tuple(dict.fromkeys(models)))

    def library(self, name: str) -> Path | LibraryPlace:
        """Return the place of the library of this name.

        Raises:
            UsageError: No library of that name is offered.
        """
        if name not in self.libraries:
            raise _not_offered("library", name, self.libraries, LIBRARIES)
        return self.libraries[name]

    def check_model(self, name: str) -> None:
        """Raise UsageError unless the model is among those offered."""
        if name not in self.models:
            raise _not_offered("model", name, filter(None, self.models), MODELS)


def own_place(environ: Mapping[str, str] | None = None) -> Path | LibraryPlace:
    """Return the folder or the address of the operator's own library.

    It is PREFLIGHT_LIBRARY, else ./my-library if there is one, else the first of PREFLIGHT_LIBRARIES, else the demo's.
    ./library was the command line's default before; a library there is still opened.
    """
    environ = os.environ if environ is None else environ
    if own := environ.get(LIBRARY):
        return _read_place(own)
    for folder in (Path("my-library"), Path("library")):
        if (folder / "library.db").is_file():
            return folder
    listed = [place for _, place in _listed_libraries(environ)]
    return listed[0] if listed else Path("demo-library")


def _not_offered(kind: str, name: str, offered: Iterable[str], variable: str) -> UsageError:
    """Return the error for a name that the server does not offer."""
    help = f"Choose one of: {', '.join(offered)}. {variable} offers others, where the server is started."
    return UsageError(f"the {kind} {name[:80]!r} is not offered here", help=help)


def _listed_libraries(environ: Mapping[str, str]) -> list[tuple[str, Path | LibraryPlace]]:
    """Return the name, and the folder or address, of each library that PREFLIGHT_LIBRARIES lists."""
    libraries = []
    for entry in _split_entries(environ, LIBRARIES):
        name, equals, place_text = (part.strip() for part in entry.partition("="))
        is_named = equals and "://" not in name  # an address may contain "=" itself
        place = _read_place(place_text if is_named else entry)
        libraries.append((name if is_named else _default_name(place), place))
    return libraries


def _read_place(text: str) -> Path | LibraryPlace:
    """Return the folder, or the database address, that a text is."""
    place = LibraryPlace.read(text)
    return Path(text) if place.url is None else place


def _default_name(place: Path | LibraryPlace) -> str:
    """Return the default name of a library: that of its folder."""
    return (place if isinstance(place, Path) else place.folder).absolute().name


def _identity(place: Path | LibraryPlace) -> Path | str:
    """Return a library's absolute folder or its address, which is the same for a library that is listed twice."""
    return place.absolute() if isinstance(place, Path) else place.given


def _split_entries(environ: Mapping[str, str], variable: str) -> list[str]:
    """Return the entries of an environment variable, which are separated by semicolons."""
    return [part.strip() for part in environ.get(variable, "").split(";") if part.strip()]
