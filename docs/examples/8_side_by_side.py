"""Several questions at once, as an agent's step asks them; then a follow-up to one of them.

    python docs/examples/8_side_by_side.py
    python docs/examples/8_side_by_side.py --model openai:gpt-4.1-mini

Each question has a thread of its own, so none waits for another. A thread is gone on with by whoever names it.
"""

import argparse
import asyncio

from preflight_rag import Answer, Preflight, PreflightError

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--library", default="demo-library", help="`preflight demo` makes this one")
parser.add_argument("--model", default="offline")
given = parser.parse_args()
QUESTIONS = (
    "What is a normal resting heart rate for adults?",
    "How deep is Lake Baikal?",
    "Who discovered penicillin?",
)


async def ask(app: Preflight, question: str, **options: object) -> Answer | None:
    """One question; one that fails leaves the others alone."""
    try:
        return await app.aask(question, **options)
    except PreflightError as error:
        print(f"! {question}: {error}")
        if error.retryable and error.thread_id:  # what had been done is not done again
            return await asyncio.to_thread(app.resume, error.thread_id)
        return None


async def main() -> None:
    """Ask all, then go on with the first."""
    with Preflight.open(given.library, given.model) as app:
        answers = await asyncio.gather(*[ask(app, question) for question in QUESTIONS])
        for question, answer in zip(QUESTIONS, answers, strict=True):
            if answer:
                sources = [citation.source for citation in answer.citations]
                print(f"> {question}\n{answer.answer}\n  {sources}, thread {answer.thread_id}\n")
        if first := answers[0]:
            more = await ask(app, "And for children?", thread_id=first.thread_id)
            print("> And for children?", "=", more and more.standalone_question)
            app.delete_thread(first.thread_id)  # nothing of it is kept


if __name__ == "__main__":
    asyncio.run(main())
