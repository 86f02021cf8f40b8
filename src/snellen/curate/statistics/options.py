"""What is measured, and how models are asked without the images."""

# A field is what `option` returns, and never shared.
# ruff: noqa: RUF009
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from snellen.api.flags import option
from snellen.api.options import DEFAULT_OUT, RequestOptions, RunOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsOptions:
    """What is measured."""

    by: Sequence[str] | None = None
    """Columns to group by; None takes the data's groups, sources and licences."""
    columns: Mapping[str, str] | None = None
    """Columns of the data file: our name to theirs."""
    read_media: bool = True
    """Whether the headers of images and videos are read."""
    probe: int = 20_000
    """Most closed questions that the text probe is trained and tested on; 0 for no probe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindOptions(RequestOptions):
    """How models are asked without the images."""

    out: Path | str = DEFAULT_OUT
    """Folder for runs."""
    store: Path | str | None = option(
        None, "--store", "response store (default: OUT/store.sqlite)", metavar="FILE"
    )
    fresh: str | None = option(
        None, "--fresh", "ask again under this name, even if replies are stored; the same name "
        "resumes", metavar="NAME",
    )  # fmt: skip
    limit: int | None = option(
        None, "--limit", "ask only N samples, selected at random", metavar="N", parse=int
    )

    def run_options(self) -> RunOptions:
        """The same for `evaluate`, without pages."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return RunOptions(html=False, **values)
