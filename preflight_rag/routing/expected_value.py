"""Whether reading in parts, or comparing by COrg, is worth its calls: right answers gained, against calls spent.

Plain reading is not the end of a turn: the look at its answer (`second_look`) has a share of what was lost read again
after all, and of what was right, too. So map/reduce is compared with plain reading *and* that second step. With r the
probability that the key passage stands below the first three, p the share of right answers in one go (by place), m that
in parts, b the best share, n the share of lost answers that show it themselves, s and a the shares of wrong and right
answers that the look has read again, and f the share of those whose key passage is among what it reads:

    first     = (1 - r) p_top + r p_low
    regained  = (n + (1 - n) s f) (b - first) m / b - a first (1 - m / b)
    looking   = (n (M + 1) + (1 - n) s 2) (1 - first) + a first 2
    gain      = m - first - regained
    calls     = M - looking                  (M partitions; one call to reduce takes the place of the plain answer)

Map/reduce is taken where `gain` times the calls that a right answer is worth reaches `calls`. Both are linear in r,
so there is one risk from which on it is. How sure the look has to be is chosen in the same way: the level at which
`regained`, times what a right answer is worth, less `looking` is largest.

COrg is compared with plain reading in the same way. With c the score that the passages need it, G what it gains where
they do, L what it loses where they do not, and C its calls: it is taken where `c G - (1 - c) L`, times what a right
answer is worth, reaches C. G and C are measured; L is what makes the score that the gate was calibrated at the limit
for the usual worth, so that another thoroughness moves the gate, and the usual one leaves it where it was calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from preflight_rag.routing.model_profile import ModelProfile
from preflight_rag.routing.risk_features import TOP

NEVER = 1.0
"""The limit that no risk reaches: risks are probabilities below 1."""
USUAL_WORTH = 45.0
"""Calls that a right answer is worth at a thoroughness of one half. Set on 60 development questions over whole articles
of COVID-QA, where 45 and 50 choose the same: a model that was not measured has 24 % read again, one that loses
nothing 3 %, one with GPT-3.5's losses or steeper ones a third to a half."""
COMPARE_WORTH = 120.0
"""The same for an answer by COrg, which names every side: set by hand, with the gate's calibration."""
USUAL_RISK = 0.25
"""Share of these questions whose key passage is below the first three; the look is chosen for this risk."""
LOOK_CALLS = 2.0
"""Calls of the look's second reading: one for the passages most likely to answer, and one to reduce."""
COMPARE_GAIN, COMPARE_CALLS = 0.194, 2.18
"""COrg's gain over plain reading in answer recall, and its additional calls, on RAMDocs (`eval corg-offline`)."""


@dataclass(frozen=True)
class Look:
    """A threshold for rereading uncited passages, and what rereading brings.

    Attributes:
        sure: Least probability, by the extractive reader, that an uncited passage answers.
        notices: Share of wrong answers for which passages are reread then, in [0, 1].
        alarms: Share of right answers for which they are, too.
    """

    sure: float
    notices: float
    alarms: float


LOOKS = (Look(0.9, 0.13, 0.02), Look(0.8, 0.42, 0.06), Look(0.2, 0.87, 0.21))
"""Measured on 53 of the same questions whose answer was retrieved, with answers made by rule (`eval router`). Between
0.5 and 0.2 no further right answer was read again, and 4 % more of the wrong ones."""
NO_LOOK = Look(1.0, 0.0, 0.0)
"""The look where there is no extractive reader: it never rereads."""
REACHES = 0.94
"""Share of the wrong answers that are read again whose key passage is among the six that are read; measured there."""


@dataclass(frozen=True)
class CompareValue:
    """The expected benefit of COrg for one question.

    Attributes:
        gain: Additional right answers compared with plain reading, in [-1, 1].
        calls: Additional calls.
        limit: The score from which COrg is worth these calls, in [0, 1].
    """

    gain: float
    calls: float
    limit: float


def compare_value(score: float, *, usual_limit: float, thoroughness: float) -> CompareValue:
    """Return the expected benefit of COrg, and the score from which its calls are worth it.

    Args:
        score: Probability that the passages need COrg (`corg.signals`).
        usual_limit: The limit at a thoroughness of one half; 0 means always, 1 never.
        thoroughness: In [0, 1]: at 0 COrg is never used, at 1 wherever it gains anything.
    """
    worth = calls_per_right_answer(thoroughness) * COMPARE_WORTH / USUAL_WORTH
    # COrg is asked for always or never, whatever it gains.
    if not 0 < usual_limit < 1 or not worth:
        return CompareValue(0.0, COMPARE_CALLS, 0.0 if worth and usual_limit <= 0 else NEVER)
    # L such that (c G - (1 - c) L) × worth = C holds at the usual limit for the usual worth; then solved for c.
    lost = (usual_limit * COMPARE_GAIN - COMPARE_CALLS / COMPARE_WORTH) / (1 - usual_limit)
    limit = (COMPARE_CALLS / worth + lost) / (COMPARE_GAIN + lost)
    return CompareValue(score * COMPARE_GAIN - (1 - score) * lost, COMPARE_CALLS, min(NEVER, max(0.0, limit)))


@dataclass(frozen=True)
class PartsValue:
    """The expected benefit of reading in parts for one question.

    Attributes:
        gain: Additional right answers compared with plain reading and its second step, in [-1, 1].
        calls: Additional calls.
        lost: Share of answers that the model loses if the key passage is below the first three.
        limit: The risk from which on parts are worth their calls, in [0, 1].
    """

    gain: float
    calls: float
    lost: float
    limit: float


def parts_value(
    profile: ModelProfile, risk: float, *, passages: int, partitions: int, thoroughness: float, looks: bool = True
) -> PartsValue:
    """Return the expected benefit of map/reduce, and the risk above which it is worth its calls.

    Args:
        profile: The profile of the model that reads.
        risk: Probability that the key passage is below the first three.
        passages: Number of passages that are read; of three at most, none is below the first three.
        partitions: Number of parts that they would be read in.
        thoroughness: In [0, 1]: 0 never reads in parts, 1 always does.
        looks: Whether an extractive reader looks at the plain answer.
    """
    worth = calls_per_right_answer(thoroughness)
    look = choose_look(profile, passages, partitions, thoroughness) if looks else NO_LOOK
    (safe_gain, safe_calls), (low_gain, low_calls) = (
        _gain_of_parts(profile, look, extreme_risk, passages, partitions) for extreme_risk in (0.0, 1.0)
    )
    # An infinite worth times a gain of 0 is no number; a worth of 0 means never, even where parts need fewer calls.
    limit = _risk_limit(safe_gain * worth - safe_calls, low_gain * worth - low_calls) if 0 < worth < inf else NEVER
    gain, calls = _gain_of_parts(profile, look, risk, passages, partitions)
    return PartsValue(gain, calls, lost_share(profile, passages), 0.0 if worth == inf else limit)


def choose_look(profile: ModelProfile, passages: int, partitions: int, thoroughness: float) -> Look:
    """Return the threshold for rereading uncited passages that is worth most for a model, at the usual risk."""
    worth = calls_per_right_answer(thoroughness)
    # All looks would have an infinite value; the last one notices most.
    if worth == inf:
        return LOOKS[-1]

    def value(look: Look) -> float:
        """Return the expected right answers minus the price of the calls."""
        regained, calls = _value_of_look(
            profile, look, _right_share_of_one_call(profile, USUAL_RISK, passages), partitions
        )
        return regained * worth - calls

    return max(LOOKS, key=value)


def lost_share(profile: ModelProfile, passages: int) -> float:
    """Return the share of answers that a model loses if the key passage is not among the first three."""
    top, low = _right_shares_by_place(profile, passages)
    return max(0.0, top - low)


def calls_per_right_answer(thoroughness: float) -> float:
    """Return how many calls one more right answer may cost: 0 at a thoroughness of 0, infinitely many at 1."""
    return inf if thoroughness >= 1 else USUAL_WORTH * thoroughness / (1 - thoroughness)


def _right_shares_by_place(profile: ModelProfile, passages: int) -> tuple[float, float]:
    """Return the shares of right answers with the key passage among the first three, and below (if there are more)."""
    ranks = range(1, passages + 1)
    top = profile.right_at(ranks[:TOP], passages)
    return top, profile.right_at(ranks[TOP:], passages) if passages > TOP else top


def _right_share_of_one_call(profile: ModelProfile, risk: float, passages: int) -> float:
    """Return the share of right answers of one call over all passages, at a risk."""
    top, low = _right_shares_by_place(profile, passages)
    return (1 - risk) * top + risk * low


def _value_of_look(profile: ModelProfile, look: Look, right_share: float, partitions: int) -> tuple[float, float]:
    """Return the expected additional right answers and calls of rereading uncited passages."""
    kept_share = profile.map_reduce / profile.best if profile.best else 0.0
    self_noticed, look_noticed = profile.noticed, (1 - profile.noticed) * look.notices
    regained = (self_noticed + look_noticed * REACHES) * (
        profile.best - right_share
    ) * kept_share - look.alarms * right_share * (1 - kept_share)
    calls = (self_noticed * (partitions + 1) + look_noticed * LOOK_CALLS) * (
        1 - right_share
    ) + look.alarms * right_share * LOOK_CALLS
    return regained, calls


def _gain_of_parts(
    profile: ModelProfile, look: Look, risk: float, passages: int, partitions: int
) -> tuple[float, float]:
    """Return the expected additional right answers and calls of reading in parts, at a risk."""
    right_share = _right_share_of_one_call(profile, risk, passages)
    regained, calls = _value_of_look(profile, look, right_share, partitions)
    return profile.map_reduce - right_share - regained, partitions - calls


def _risk_limit(safe: float, low: float) -> float:
    """Return the risk from which on reading in parts is worth its calls; `NEVER` if it is not even at a risk of 1.

    The value is linear in the risk, from `safe` at a risk of 0 to `low` at a risk of 1.
    """
    if safe >= 0 and low >= 0:
        return 0.0
    if low < 0:
        return NEVER
    return -safe / (low - safe)
