"""The options of the steps that ask models."""

# A field is what `option` returns, and never shared.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import option, parse_pairs
from snellen.api.options import RequestOptions
from snellen.core.model import AnyModel


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions(StepOptions):
    """How the models of a filter are reached and asked."""

    circular: str = option(
        "early", "--circular", "`early` (default) and `full` rotate the options and want every "
        "rotation right, `off` wants the first reply right; `early` stops at the first rotation "
        "that is wrong", choices=("early", "full", "off"),
    )  # fmt: skip
    extractors: Sequence[AnyModel] = option(
        (), "--extractor", "a model that reads replies which no rule can parse", metavar="MODEL",
        is_repeatable=True,
    )  # fmt: skip
    columns: Mapping[str, str] | None = option(
        None, "--columns", "names of your columns, e.g. question=text,gold=label",
        metavar="ROLE=NAME,...", parse=parse_pairs,
    )  # fmt: skip
