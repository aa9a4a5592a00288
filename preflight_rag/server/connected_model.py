"""A language model that an operator connects on the page: its address, name and key, stored on this server.

They are stored in `LIBRARY/model.json`, which only its owner can read, and the key is sent only to that address.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from preflight_rag.graph.readers import open_reader
from preflight_rag.models.chat.chat_models import open_chat_model
from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from preflight_rag.app import Preflight
    from preflight_rag.models.protocol import Reader

FILE = "model.json"


@dataclass(frozen=True)
class ModelEntry:
    """A model as entered by an operator; `repr` hides the key."""

    base_url: str
    model: str
    key: SecretStr

    @classmethod
    def read(cls, folder: Path) -> ModelEntry | None:
        """Return the model stored in a library's folder, or None if there is no readable file."""
        try:
            found = json.loads((folder / FILE).read_text(encoding="utf-8"))
            return cls(str(found["base_url"]), str(found["model"]), SecretStr(str(found["key"])))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, folder: Path) -> None:
        """Store the model in a library's folder, in a file that is created readable only for its owner."""
        values = {"base_url": self.base_url, "model": self.model, "key": self.key.get_secret_value()}
        new = folder / f".{FILE}.{secrets.token_hex(4)}"
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(values, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(folder / FILE)
        except OSError as error:
            new.unlink(missing_ok=True)
            help = "Check the folder's permissions."
            raise UsageError(f"the model cannot be kept in {folder.name}: {error.strerror}", help=help) from error

    def open(self, preflight: Preflight) -> Reader:
        """Return a reader with this model, for the settings and the library of an application.

        Raises:
            ModelError: The list of the server's models cannot be read.
        """
        settings, library = preflight.settings, preflight.library
        chat_model = open_chat_model(
            f"openai:{self.model}",
            timeout=settings.deadline,
            temperature=settings.temperature,
            base_url=self.base_url,
            key=self.key.get_secret_value() or None,
        )
        return open_reader(chat_model, library.embedder, settings, library=library)
