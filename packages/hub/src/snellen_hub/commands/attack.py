"""`snellen hub attack`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option
from snellen.cli.output import OutputOptions, write_document
from snellen.core.errors import COMPLETE, UsageError
from snellen_hub.commands import hub_folder

if TYPE_CHECKING:
    from snellen.report.document import Table
    from snellen_hub.attacks import BoardCopy, Recovered

_ACCOUNTS = (1, 10, 100, 1_000)
_ATTACKS = ("random answers", "one change at a time", "from an 80 % model")
_MOST_DRAWS = 1_000


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen hub attack` takes."""

    folder: str = hub_folder()
    name: str = argument("BENCHMARK", "a benchmark whose answers are hidden")
    draws: int = option(5, "--draws", "boards with other answers that each attack is tried on", metavar="N", parse=int)
    seed: int = option(0, "--seed")


def main(options: Options) -> int:
    """Print how many answers 1, 10, 100 and 1,000 accounts recover with a submission each, on a
    copy of the board whose answers are drawn at random."""
    import numpy as np

    from snellen.report.document import Document, Line
    from snellen_hub.attacks import attack_board, copy_board
    from snellen_hub.hosting import find_hosted_benchmark
    from snellen_hub.hub import open_hub

    if not 1 <= options.draws <= _MOST_DRAWS:
        raise UsageError(f"--draws {options.draws}: expected a number from 1 to {_MOST_DRAWS:,}")
    with open_hub(options.folder) as hub, hub.database.reading() as session:
        board = copy_board(hub.storage, find_hosted_benchmark(session, options.name))
    draws = np.random.default_rng(options.seed)
    found = {accounts: [attack_board(board, accounts, draws) for _ in range(options.draws)] for accounts in _ACCOUNTS}
    public = int(board.is_public.sum())
    line = (
        f"{options.name}: {public:,} public and {len(board.options) - public:,} private "
        f"questions, answers drawn {options.draws} times"
    )
    write_document(Document([Line(line), _table(board, found)]), options)
    return COMPLETE


def _table(board: BoardCopy, found: Mapping[int, Sequence[Recovered]]) -> Table:
    from snellen.report.document import Column, Table

    def rows() -> Iterator[list[str | float]]:
        for part in ("public", "private"):
            for place, attack in enumerate(_ATTACKS):
                yield [
                    f"{attack}, {part}",
                    *(_percent([getattr(each, part)[place] for each in found[n]]) for n in _ACCOUNTS),
                ]
        yield ["finals alone, private", *(_percent([each.finals for each in found[n]]) for n in _ACCOUNTS)]

    chance = 100 * (1 / board.options).mean()
    columns = [Column("accounts"), *(Column(f"{each:,}", "points") for each in _ACCOUNTS)]
    return Table(f"answers recovered in percent, by chance {chance:.1f}", columns, list(rows()))


def _percent(shares: Sequence[float]) -> float:
    return 100 * sum(shares) / len(shares)
