"""`snellen hub doctor`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import add_json
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder

_LABELS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "--fix", action="store_true",
        help="delete old files that nothing refers to, and queue stuck submissions again",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="do not read every file to see whether it is intact"
    )
    add_json(parser)


def main(arguments: Namespace) -> int:
    """Check a hub; returns INCOMPLETE if there are problems, warnings not counted."""
    from snellen_hub.doctor.examine import examine_hub
    from snellen_hub.hub import open_hub

    findings = []
    with open_hub(arguments.folder, check=False) as hub:
        for finding in examine_hub(hub, fix=arguments.fix, quick=arguments.quick):
            findings.append(finding)
            if not arguments.json:
                label = _LABELS[finding.level]
                print_line(f"{label}  {finding.what}: {finding.detail}", flush=True)
    if arguments.json:
        print(json.dumps([finding._asdict() for finding in findings]))
    return INCOMPLETE if any(each.level == "problem" for each in findings) else COMPLETE
