"""`keys add|list|revoke`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import DEFAULT_LIBRARY, JsonOption, LibraryOption, app, command
from preflight_rag.state.errors import UsageError

keys = typer.Typer(help="Manage the keys of a server's users.", no_args_is_help=True)
app.add_typer(keys, name="keys")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key's owner.")]


@keys.command("add", epilog="Example: preflight keys add anna --write --library my-library")
@command
def add_key(
    name: NameArgument,
    library: LibraryOption = DEFAULT_LIBRARY,
    write: Annotated[bool, typer.Option("--write", help="Allow uploading and deleting documents.")] = False,
    admin: Annotated[bool, typer.Option("--admin", help="Also allow connecting a language model on the page.")] = False,
) -> None:
    """Create a key and print it once; from then on the server requires a key."""
    from preflight_rag.server.access import KeyRing

    typer.echo(KeyRing(library.folder).add(name, write=write, admin=admin))
    typer.echo("preflight: keep it; it is stored as a hash and cannot be shown again", err=True)


@keys.command("list", epilog="Example: preflight keys list --library my-library")
@command
def list_keys(library: LibraryOption = DEFAULT_LIBRARY, json: JsonOption = False) -> None:
    """List the owners of all keys."""
    from contextlib import closing

    from preflight_rag.server.access import KeyRing

    with closing(KeyRing(library.folder)) as ring:
        rows = ring.all()
    if json:
        show.as_json([asdict(row) for row in rows])
        return
    if not rows:
        typer.echo("There are no keys; a server on this machine needs none.")
    for row in rows:
        may = "may change documents and the model" if row.admin else "may change documents" if row.write else "may ask"
        typer.echo(f"{row.name}  {may}  {row.created}")


@keys.command("revoke", epilog="Example: preflight keys revoke anna --library my-library")
@command
def revoke_key(name: NameArgument, library: LibraryOption = DEFAULT_LIBRARY) -> None:
    """Revoke a key at once; its owner's conversations stay."""
    from preflight_rag.server.access import KeyRing

    if not KeyRing(library.folder).revoke(name):
        raise UsageError(f"there is no key {name[:80]!r}", help="See `preflight keys list`.")
    typer.echo(f"revoked the key of {name}")
