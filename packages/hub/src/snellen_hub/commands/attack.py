"""`snellen hub attack`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import whole_number
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder

_ACCOUNTS = (1, 10, 100, 1_000)
_ATTACKS = ("random answers", "one change at a time", "from an 80 % model")


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("name", metavar="BENCHMARK", help="a benchmark whose answers are hidden")
    parser.add_argument(
        "--draws", type=whole_number(1, 1_000), default=5, metavar="N",
        help="boards with other answers that each attack is tried on (default: 5)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the draws")


def main(arguments: Namespace) -> int:
    """Print how many answers 1, 10, 100 and 1,000 accounts recover with a submission each, on a
    copy of the board whose answers are drawn at random."""
    import numpy as np

    from snellen_hub.attacks import attack_board, check_by_hub, copy_board
    from snellen_hub.hosting import find_hosted_benchmark
    from snellen_hub.hub import open_hub

    with open_hub(arguments.folder) as hub, hub.database.reading() as session:
        board = copy_board(hub.storage, find_hosted_benchmark(session, arguments.name))
    draws = np.random.default_rng(arguments.seed)
    numbers = check_by_hub(board, draws)
    found = {
        accounts: [attack_board(board, accounts, draws) for _ in range(arguments.draws)]
        for accounts in _ACCOUNTS
    }
    public = int(board.is_public.sum())
    print_line(
        f"{arguments.name}: {public:,} public and {len(board.options) - public:,} private "
        f"questions, answers drawn {arguments.draws} times; {numbers} numbers are those that a "
        f"hub shows\nanswers recovered in percent, by chance {100 * (1 / board.options).mean():.1f}"
    )
    rows = {"accounts": [f"{each:,}" for each in _ACCOUNTS]}
    for part in ("public", "private"):
        for place, attack in enumerate(_ATTACKS):
            rows[f"{attack}, {part}"] = [
                _percent([getattr(each, part)[place] for each in found[n]]) for n in _ACCOUNTS
            ]
    rows["finals alone, private"] = [_percent([e.finals for e in found[n]]) for n in _ACCOUNTS]
    for label, cells in rows.items():
        print_line(f"{label:<30}" + "".join(f"{cell:>8}" for cell in cells))
    return COMPLETE


def _percent(shares: Sequence[float]) -> str:
    return f"{100 * sum(shares) / len(shares):.1f}"
