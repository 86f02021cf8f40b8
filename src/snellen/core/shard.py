"""A shard: one of several equal parts of a run that machines without a cluster ask independently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from snellen.core.errors import UsageError

_FORM = re.compile(r"(\d+)/(\d+)")
_FOLDER = re.compile(r"shard-(\d+)-of-(\d+)")


class RunShard(Struct, frozen=True, omit_defaults=True):
    """Shard `index` of `count`, counted from 1."""

    index: int
    count: int
    samples: int = 0
    """Samples of the whole run; 0 before they are counted."""

    @classmethod
    def parse(cls, text: str) -> RunShard:
        """Read `3/8`. Raises UsageError."""
        found = _FORM.fullmatch(text.strip())
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            advice = "; of a SLURM array that begins with 1: --array=1-8" if found and not int(found[1]) else ""
            raise UsageError(
                f"--shard {text!r}: expected K/N, the K-th of N shards, counted from 1, such as 3/8{advice}"
            )
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def of_folder(cls, path: Path) -> RunShard | None:
        """The shard whose folder this is, by its name; None if it is no shard's."""
        found = _FOLDER.fullmatch(path.name)
        return cls(int(found[1]), int(found[2])) if found else None

    @property
    def text(self) -> str:
        return f"{self.index}/{self.count}"

    @property
    def folder(self) -> str:
        """Name of the folder, inside that of the results, with the runs and the store of the shard.
        No two shards write the same file, so that a file system without locks does no harm."""
        return f"shard-{self.index}-of-{self.count}"

    def of_run(self, units: Sequence[Sequence[str]]) -> RunShard:
        """The shard with the number of samples of its run. Raises UsageError if the run has fewer
        units than shards, so that this one is empty."""
        if len(units) < self.index:
            raise UsageError(
                f"shard {self.text} is empty: the run has fewer questions (those of one unit count once) than shards, "
                f"namely {len(units)}"
            )
        return structs.replace(self, samples=sum(map(len, units)))

    def notice(self, samples: int) -> str:
        """A sentence for readers of the shard's numbers alone."""
        return (
            f"shard {self.text}: {samples:,} of the {self.samples:,} samples of the run; `snellen merge` joins the "
            "shards"
        )

    def select(self, units: Sequence[Sequence[str]]) -> set[str]:
        """The ids of this shard, of units whose samples stay together: every `count`-th unit."""
        return {id for unit in units[self.index - 1 :: self.count] for id in unit}


def find_shard_folders(results: Path) -> list[Path]:
    """The folders of shards in a folder of results, by their numbers."""
    shards = {path: shard for path in results.iterdir() if (shard := RunShard.of_folder(path)) and path.is_dir()}
    return sorted(shards, key=lambda path: (shards[path].count, shards[path].index))
