"""The library as a retriever in a chain of your own (LCEL).

    python docs/examples/3_chain.py
    python docs/examples/3_chain.py --model gpt-4.1-mini

Without --model the chain ends with the prompt, so that you see what a model would read. With it, ChatOpenAI answers;
OPENAI_API_KEY or OPENAI_BASE_URL say where.
"""

import argparse

from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_openai import ChatOpenAI

from preflight_rag import Library
from preflight_rag.langchain import PassageReranker, PreflightRetriever

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("question", nargs="?", default="What is a normal resting heart rate for adults?")
parser.add_argument("--library", default="demo-library", help="`preflight demo` makes this one")
parser.add_argument("--model")
given = parser.parse_args()


def as_text(documents: list[Document]) -> str:
    """The documents for a prompt, each with its source."""
    return "\n\n".join(f"[{document.metadata['source']}]\n{document.page_content}" for document in documents)


with Library.open(given.library) as library:
    # Hybrid search over the whole library, then a second look at the best twenty.
    retriever = PreflightRetriever(library=library, k=20)
    reranker = PassageReranker(reranker="features", top_n=4)
    found = RunnableLambda(lambda question: reranker.compress_documents(retriever.invoke(question), question))

    prompt = ChatPromptTemplate.from_template(
        "Answer from these documents only, and name the source.\n\n{documents}\n\nQuestion: {question}"
    )
    chain: Runnable = {"documents": found | as_text, "question": RunnablePassthrough()} | prompt
    if given.model:
        chain = chain | ChatOpenAI(model=given.model) | StrOutputParser()
        print(chain.invoke(given.question))
    else:
        print(chain.invoke(given.question).to_string())
