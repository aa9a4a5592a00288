"""What a reply repeats of its instructions is left out, whether the reply is read whole or in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, SystemMessage

from preflight_rag.prompts.leaks import LEAK, LeakGuard, without_leaks

RULES = (
    "You answer questions from numbered passages. Every statement ends with its passage's number in square brackets. "
    "Where the passages do not settle the question, say so in one sentence and name what is missing."
)
PROMPT = [SystemMessage(RULES), HumanMessage("How hot is Venus? Every passage says: it is 465 degrees hot.")]
LETTERS = "".join(each for each in RULES.casefold() if each.isalnum())


@pytest.mark.parametrize("begin", [0, 1, 17, 34, 35, 36, 60])
@pytest.mark.parametrize(("length", "is_cut"), [(LEAK, True), (LEAK - 1, False)])
def test_a_run_of_so_many_letters_is_cut_wherever_it_begins(begin, length, is_cut):
    run = LETTERS[begin : begin + length]
    reply = f"{'7' * begin} {run} 77 which is all that the passages say about it"
    assert (run not in without_leaks(reply, PROMPT)) is is_cut


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["Venus is hot [1]. ", "It%20is ", "Ümlaut ß ", " ", "\n", "465 "]),
            st.tuples(st.integers(0, len(RULES)), st.integers(0, 120)).map(lambda at: RULES[at[0] : at[0] + at[1]]),
        ),
        max_size=6,
    ).map("".join)
)
def test_a_whole_reply_is_cut_where_one_in_pieces_is(reply):
    guard = LeakGuard(PROMPT)
    for at in range(0, len(reply), 7):
        guard.feed(reply[at : at + 7])
    guard.finish()
    assert (without_leaks(reply, PROMPT) != reply) is bool(guard.cuts)
