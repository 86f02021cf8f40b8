"""`snellen hub upgrade`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.commands.hub import add_folder
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line


def add(parser: ArgumentParser) -> None:
    add_folder(parser)


def main(arguments: Namespace) -> int:
    from snellen.leaderboard_hub.hub import open_hub

    hub = open_hub(arguments.folder, check=False)
    before = hub.database.revision()
    hub.database.upgrade()
    after = hub.database.revision()
    hub.close()
    done = f"upgraded from schema {before or 'none'} to {after}" if before != after else "current"
    print_line(f"{arguments.folder}: {done}")
    return COMPLETE
