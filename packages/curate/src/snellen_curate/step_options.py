"""The options of the steps that ask models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import option
from snellen.api.options import RequestOptions
from snellen.core.model import AnyModel


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOptions(RequestOptions):
    """How the models of a step are reached, and on what terms they are asked."""

    store: Path | str | None = option(None, "--store")
    """None: `store.sqlite` in the step's folder."""
    fresh: str | None = option(None, "--fresh", bare_value=None)
    """A name; the same one resumes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions(StepOptions):
    """How the models of a filter are reached and asked."""

    circular: str = option("early", "--circular")
    extractors: Sequence[AnyModel] = option((), "--extractor")
    columns: Mapping[str, str] | None = option(None, "--columns")
