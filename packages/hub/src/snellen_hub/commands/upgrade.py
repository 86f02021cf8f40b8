"""`snellen hub upgrade`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    add_folder(parser)


def main(arguments: Namespace) -> int:
    """Bring the schema to that of this version, completely or not at all; a SQLite database is
    copied before. Servers and workers of the hub must be stopped."""
    from snellen_hub.database.schema import SCHEMA, check_known
    from snellen_hub.hub import open_hub

    with open_hub(arguments.folder, check=False) as hub:
        database = hub.database
        before = database.schema()
        check_known(before)
        if before not in (SCHEMA, None) and database.file is not None:
            copy = database.file.with_name(f"{database.file.name}.schema-{before}")
            database.copy(copy)
            print_line(f"the database as it was: {copy}")
        database.upgrade()
        done = f"upgraded from schema {before or 'none'} to {SCHEMA}"
        done = f"current (schema {SCHEMA})" if before == SCHEMA else done
        print_line(f"{arguments.folder}: {done}")
    return COMPLETE
