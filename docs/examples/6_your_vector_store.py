"""Your own vector store, or any LangChain retriever, in the library's place.

    python docs/examples/6_your_vector_store.py
    python docs/examples/6_your_vector_store.py --model openai:gpt-4.1-mini

Nothing is ingested: each question goes to your store. What it returns is kept as passages in a small database (a
temporary one, or in --folder), so that quotes can be checked and later turns can come back to them.
"""

import argparse

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from preflight_rag import Preflight
from preflight_rag.langchain import open_embedder

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--model", default="offline")
parser.add_argument("--folder", help="where conversations are kept; without it they end with the program")
given = parser.parse_args()

# Any store does: Chroma, Qdrant, PGVector ... This one needs no server, and the embedder that comes with Preflight.
store = InMemoryVectorStore(open_embedder())
store.add_documents(
    [
        Document(
            "Children were given a dose of 5 mg a day for two weeks. The trial had 60 of them.",
            metadata={"source": "trial.pdf", "title": "Trial 7", "page": 3, "date": "2023-04-01"},
        ),
        Document(
            "Side effects were mild: headache in 4 of 60 children, and no one left the trial.",
            metadata={"source": "trial.pdf", "title": "Trial 7", "page": 9, "date": "2023-04-01"},
        ),
        Document("The canteen is open from 11 to 14 o'clock.", metadata={"source": "canteen.md"}),
    ]
)

with Preflight.from_retriever(store, given.model, folder=given.folder) as app:
    for question in ("Which dose was given to children?", "How many children had a headache?"):
        answer = app.ask(question, thread_id="example-6")
        print(f"> {question}\n{answer.answer}")
        for citation in answer.citations:
            print(f"  [{citation.n}] {citation.title}, {citation.source}, page {citation.page}, {citation.date}")

    # Search works as well: your store's order, BM25 over what it returned, and both fused.
    found = app.search("canteen hours", k=3)
    print([(hit.document_id, hit.rank) for hit in found.fused], found.preflight.route)
