"""`snellen hub host`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("name", metavar="BENCHMARK", help="a benchmark of the hub")
    parser.add_argument("account", metavar="ACCOUNT", nargs="?", help="name of an account")
    parser.add_argument(
        "--role", default="host", metavar="ROLE",
        help="host, who sets the phases (default), or owner, who names hosts too",
    )  # fmt: skip
    parser.add_argument("--remove", action="store_true", help="let it manage the benchmark no more")


def main(arguments: Namespace) -> int:
    """Let an account manage one benchmark; without ACCOUNT, print who does."""
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.hosting import find_hosted_benchmark
    from snellen_hub.hosts import read_hosts, set_host
    from snellen_hub.hub import open_hub

    with open_hub(arguments.folder) as hub, hub.database.writing() as session:
        row = find_hosted_benchmark(session, arguments.name)
        if arguments.account:
            role = "" if arguments.remove else arguments.role
            lines = [set_host(session, row, arguments.account, role)]
            note_action(session, "host", subject=row.name, done=lines[0])
        else:
            lines = [f"{host.account.name}: {host.role}" for host in read_hosts(session, row)]
    for line in lines or ["nobody but the owners of the hub"]:
        print_line(f"{arguments.name}: {line}")
    return COMPLETE
