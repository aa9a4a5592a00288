"""A LangChain retriever or vector store of somebody's own, used as a library."""
