"""The options of a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snellen.api.flags import option, parse_pairs
from snellen.core.model import AnyModel
from snellen.curate.step_options import StepOptions


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
