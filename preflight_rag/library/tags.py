"""Tags that users give documents."""

from __future__ import annotations

from collections.abc import Sequence

from preflight_rag.state.errors import UsageError

MOST_TAGS, TAG_CHARACTERS = 30, 60  # for one document: guesses, far above what people give


def check_tags(tags: Sequence[str]) -> list[str]:
    """Return the tags as they are stored: with single spaces, without empty ones, none twice (case is ignored).

    Raises:
        UsageError: There are too many, one is too long, or one contains a comma or a quote, which filters give a
            meaning.
    """
    stripped = [" ".join(tag.split()) for tag in tags]
    tag_by_folded = {tag.casefold(): tag for tag in stripped if tag}
    if len(tag_by_folded) > MOST_TAGS:
        raise UsageError(f"{len(tag_by_folded)} tags are too many for one document", help=f"Use {MOST_TAGS} at most.")
    for tag in tag_by_folded.values():
        if len(tag) > TAG_CHARACTERS or any(mark in tag for mark in ',"()|'):
            help = f"Use up to {TAG_CHARACTERS} characters, without commas, quotes, brackets and |."
            raise UsageError(f"{tag[:80]!r} cannot be a tag", help=help)
    return list(tag_by_folded.values())
