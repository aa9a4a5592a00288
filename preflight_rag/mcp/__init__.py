"""The library over the Model Context Protocol: tools that ask, search and read, and its documents as resources."""
