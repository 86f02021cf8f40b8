"""The options of every step that asks models."""

# A field is what `option` returns, and never shared.
# ruff: noqa: RUF009
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import option
from snellen.api.options import RequestOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions(RequestOptions):
    """How the models of a step are reached, and on what terms they are asked."""

    store: Path | str | None = option(
        None, "--store", "response store (default: OUT/store.sqlite)", metavar="FILE"
    )
    fresh: str | None = option(
        None, "--fresh", "ask again under this name, even if replies are stored; the same name "
        "resumes", metavar="NAME",
    )  # fmt: skip
