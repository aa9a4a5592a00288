"""A LangChain retriever or vector store of another program, used as a library."""
