"""Ask a library and follow the citations.

Make a library first: `preflight demo` makes `demo-library`, or ingest documents of your own. Then:

    python docs/examples/1_ask.py
    python docs/examples/1_ask.py "Which dose was given to children?" --library my-library --model openai:gpt-4.1-mini
"""

import argparse

from preflight_rag import Preflight, PreflightError

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("question", nargs="?", default="How many people live in Broken Bow?")
parser.add_argument("--library", default="demo-library")
parser.add_argument("--model", default="offline", help="provider:name, or offline: quotes, without a language model")
given = parser.parse_args()

try:
    with Preflight.open(given.library, given.model) as app:
        answer = app.ask(given.question, thread_id="example-1")

        # The text, with [1], [2] where a source stands behind it.
        print(answer.answer)

        # Each citation is a quote that was found word for word in its passage, or says that it was not.
        for citation in answer.citations:
            mark = "found" if citation.verified else "not found in the passage"
            print(f'[{citation.n}] {citation.title} ({citation.source}): "{citation.quote}" ({mark})')
            passage = app.library.passages([citation.passage_id])[0] if citation.verified else None
            if passage:
                assert passage.text[citation.start : citation.end] == citation.quote

        # Several answers, where several things go by the name.
        for group in answer.groups:
            print(f"- {group.entity} ({group.descriptor}): {group.answer}")

        # Why it was read in this way, and what it cost.
        print(f"route: {answer.route.name}, {answer.route.reason}")
        print(f"{answer.receipt.model_calls} model calls, {answer.receipt.seconds:.1f} s")
except PreflightError as error:
    # Every error on purpose is one line that says what to do.
    raise SystemExit(str(error)) from None
