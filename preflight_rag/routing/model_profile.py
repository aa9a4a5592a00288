"""Profile of a language model: its share of right answers by the key passage's place in one prompt.

BriefContext (Zhang et al., npj Digital Medicine 8:239, 2025, Fig. 2) puts the passage that answers at five places of
the prompt and measures how often the model answers correctly, in one call and in parts. `preflight profile` measures a
small version of this for one model (`profiling.py`), and keeps the result in the user's cache. A model that was never
measured gets the mean of the two models of the paper.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.cache import cache_dir
from preflight_rag.state.errors import LibraryError, UsageError, system_help

if TYPE_CHECKING:
    from preflight_rag.models.protocol import Reader

PASSAGES = 16
"""Number of passages among which the places of a profile were measured."""
NOTICED = 0.0
"""Assumed share of lost answers that can be noticed, because the reply finds nothing or cites nothing that supports it.
0 until a model is measured: it may state all of what it loses wrongly, with a citation."""


@dataclass(frozen=True)
class ModelProfile:
    """A model's share of right answers by the place of the passage with the answer.

    Attributes:
        model: The model's name; empty for the profile of a model that was not measured.
        grounds: The source of the measurement, for a decision's reason.
        plain: Share of right answers in [0, 1] by the key passage's place, from 0 (the first passage) to 1 (the
        last), if all passages are read in one call; by ascending place, at least two places.
        map_reduce: Share of right answers if the passages are read in parts, over all places.
        noticed: Share of the answers lost by plain reading whose loss is noticeable (`NOTICED`), in [0, 1].
        counts: Number of questions behind each share of `plain`, in their order; empty if only shares are known.
        tokens: Tokens that the model read and wrote during the measurement.
        seconds: Duration of the measurement.
    """

    model: str
    grounds: str
    plain: Mapping[float, float]
    map_reduce: float
    noticed: float = NOTICED
    counts: Sequence[int] = ()
    tokens: int = 0
    seconds: float = 0.0

    def right_at(self, ranks: Sequence[int], passages: int) -> float:
        """Return the mean share of right answers with the key passage at one of these ranks (from 1) among `passages`.

        Between two measured places the share is interpolated.
        """
        import numpy as np

        places = [(rank - 1) / max(passages - 1, 1) for rank in ranks]
        return float(np.interp(places, list(self.plain), list(self.plain.values())).mean())

    @property
    def best(self) -> float:
        """The largest measured share: the model's accuracy with the key passage at its best place."""
        return max(self.map_reduce, *self.plain.values())

    def to_json(self) -> dict[str, Any]:
        """Return the profile in the form of its file."""
        # As pairs, since keys of a JSON object are texts.
        plain = [[place, right] for place, right in self.plain.items()]
        return {**asdict(replace(self, plain={})), "plain": plain, "counts": list(self.counts)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ModelProfile:
        """Return the profile in a mapping of the form of `to_json`.

        Raises:
            ValueError: The mapping has another form, fewer than two places, or a share outside [0, 1].
        """
        try:
            plain = {float(place): float(right) for place, right in fields["plain"]}
            profile = cls(
                model=str(fields["model"]),
                grounds=str(fields["grounds"]),
                # `np.interp` needs ascending places.
                plain=dict(sorted(plain.items())),
                map_reduce=float(fields["map_reduce"]),
                noticed=float(fields["noticed"]),
                counts=tuple(int(count) for count in fields["counts"]),
                tokens=int(fields["tokens"]),
                seconds=float(fields["seconds"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no {error}") from error
        shares = (*profile.plain, *profile.plain.values(), profile.map_reduce, profile.noticed)
        if len(plain) < 2 or not all(0 <= share <= 1 for share in shares):
            raise ValueError("a share is out of range")
        return profile


UNMEASURED = ModelProfile(
    model="",
    grounds="two models of the BriefContext paper",
    plain={0.0: 0.5857, 0.25: 0.519, 0.5: 0.5048, 0.75: 0.5238, 1.0: 0.5762},
    map_reduce=0.5857,
)
"""Supplementary Table 1 at 16 passages: means of Mixtral-7x8b and GPT-3.5-turbo at each percentile. That their parts
answer more (59.43 %) than plain reading at its best place is ignored: another model need not gain as much."""


def profile_of(model: str) -> ModelProfile:
    """Return a model's measured profile; a typical profile for a model that was not measured.

    Raises:
        UsageError: The file with the measurement cannot be read.
    """
    path = profile_path(model)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return UNMEASURED
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", help=system_help(error)) from None
    try:
        return ModelProfile.from_json(json.loads(text))
    except ValueError as error:
        raise UsageError(
            f"{path} is not a profile of a model ({error})", help="Run `preflight profile` again, or delete the file."
        ) from None


def profile_of_reader(reader: Reader | None) -> ModelProfile:
    """Return the profile of a reader's model; a typical profile without a reader, or for a reader without a model."""
    return UNMEASURED if reader is None or reader.by_rule else profile_of(reader.name)


def keep_profile(profile: ModelProfile) -> Path:
    """Store a measured profile, and return its path; the file is replaced as a whole.

    Raises:
        LibraryError: The folder cannot be written.
    """
    path = profile_path(profile.model)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(json.dumps(profile.to_json(), indent=1) + "\n", encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise LibraryError(f"{path} cannot be written: {error.strerror}", help=system_help(error)) from None
    return path


def profile_path(model: str) -> Path:
    """Return the file in the user's cache that holds the profile of a model of this name."""
    # A model's name may contain slashes and colons, which a file's name must not.
    name = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return cache_dir() / "profiles" / f"{name}.json"
