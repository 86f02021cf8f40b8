"""The papers whose tables can be imported, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from snellen.core.errors import UnknownName
from snellen.leaderboard_hub.reported_numbers.mmbench import read_mmbench
from snellen.leaderboard_hub.reported_numbers.mme import read_mme
from snellen.leaderboard_hub.reported_numbers.mmt_bench import read_mmt_bench
from snellen.leaderboard_hub.reported_numbers.numbers import ReportedTables
from snellen.leaderboard_hub.reported_numbers.seed_bench import read_seed_bench
from snellen.leaderboard_hub.reported_numbers.vlmevalkit import read_vlmevalkit

PAPERS: Mapping[str, Callable[[], ReportedTables]] = {
    "mme": read_mme,
    "mmbench": read_mmbench,
    "mmt": read_mmt_bench,
    "seed": read_seed_bench,
    "vlmevalkit": read_vlmevalkit,
}


def read_paper(name: str) -> ReportedTables:
    """The boards of a paper. Raises UnknownName."""
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    return PAPERS[name]()
