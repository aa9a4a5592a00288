"""Libraries in a PostgreSQL server of the tests' own."""

from __future__ import annotations

import pytest

from preflight_rag.library.opening import open_library


@pytest.fixture
def url(vector_postgres, tmp_path, monkeypatch):
    """The address of an empty database."""
    monkeypatch.setenv("PREFLIGHT_HOME", str(tmp_path / "home"))
    return vector_postgres.database()


@pytest.fixture
def opened(url, embedder):
    """Opens the library there, as often as it is called; all are closed at the end."""
    libraries = []

    def open_again(**options):
        libraries.append(open_library(url, **{"embedder": embedder, "create": True, **options}))
        return libraries[-1]

    yield open_again
    for library in libraries:
        library.close()


@pytest.fixture
def rows(url):
    """What a statement reads in the database."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        yield lambda statement, *values: connection.execute(statement, values).fetchall()
