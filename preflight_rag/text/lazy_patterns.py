"""Regular expressions that are compiled at their first use."""

from __future__ import annotations

import re
from functools import cached_property


class LazyPattern:
    """A regular expression that is compiled at its first use, as few questions need it and compiling takes long.

    `pattern` and `flags` are the arguments of `re.compile`.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self.flags = pattern, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self.pattern, self.flags)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of the whole text, or None, as `re.Pattern.fullmatch` does."""
        return self.compiled.fullmatch(text)
