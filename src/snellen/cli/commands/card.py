"""`snellen card`."""

from __future__ import annotations

from argparse import Namespace

from snellen.cli.main import COMPLETE


def main(arguments: Namespace) -> int:
    from snellen.api.card import protocol_card

    card = protocol_card(arguments.name)
    if arguments.json:
        import msgspec

        print(msgspec.json.encode(card).decode())
        return COMPLETE
    from snellen.report.console import Terminal
    from snellen.report.terminal.protocol_card import print_card

    print_card(card, Terminal())
    return COMPLETE
