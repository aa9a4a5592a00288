"""Regular expressions that are so long that each needs an example that it matches and one that it must not."""

import re

from preflight_rag.text.lazy_patterns import LazyPattern

LONG = 80


def long_patterns(modules):
    """(module's name, pattern's name) of each."""
    return {
        (module.__name__, name)
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, re.Pattern | LazyPattern) and len(value.pattern) > LONG
    }
