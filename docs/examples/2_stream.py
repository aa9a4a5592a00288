"""Show an answer while it is made: the stages as they come, then the text, piece by piece.

python docs/examples/2_stream.py
python docs/examples/2_stream.py --model openai:gpt-4.1-mini

The second question is a follow-up: it is understood from the conversation.
"""

import argparse
import asyncio
import sys

from preflight_rag import Answer, Preflight, PreflightError, ProgressEvent, TokenEvent

QUESTIONS = ("What is a normal resting heart rate for adults?", "And for children?")


async def ask(app: Preflight, question: str) -> Answer:
    """Take one turn and print what happens."""
    print(f"\n> {question}")
    # Leaving this loop early stops the turn; the thread then goes on with the next question.
    async for event in app.astream(question, thread_id="example-2", discard=True):
        if isinstance(event, ProgressEvent):
            parts = f" ({event.done} of {event.total})" if event.total else ""
            print(f"  .. {event.note}{parts}", file=sys.stderr)
        elif isinstance(event, TokenEvent):
            print(event.text, end="", flush=True)
        elif isinstance(event, Answer):
            print(f"\n  {event.route.name}, {len(event.citations)} citations, {event.receipt.seconds:.1f} s")
            return event
    raise RuntimeError("a turn ends with its answer or an error")


async def main() -> None:
    """Ask twice on one thread: the second question is understood from the first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="demo-library", help="`preflight demo` makes this one")
    parser.add_argument("--model", default="offline")
    given = parser.parse_args()
    try:
        with Preflight.open(given.library, given.model) as app:
            for question in QUESTIONS:
                answer = await ask(app, question)
                if answer.standalone_question != question:
                    print(f"  searched for: {answer.standalone_question}")
    except PreflightError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    asyncio.run(main())
