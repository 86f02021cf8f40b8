"""What `evaluate` and `plan` make of the arguments they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.data.columns import check_column_keys

STORE_FILE = "store.sqlite"
DEFAULT_OUT = "snellen-results"

T = TypeVar("T")


def as_list(value: Sequence[T] | str) -> Sequence[T | str]:
    """One name, or several."""
    return [value] if isinstance(value, str) else value


def check_arguments(limit: int | None, variant: Variant, out: Path, repeats: int = 1) -> None:
    """Raises UsageError for what no run can be made with."""
    check_repeats("--repeats", repeats)
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")
    check_column_keys(variant.columns)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out expects a folder")


def with_roles(
    variant: Variant,
    extractors: Sequence[object],
    clip: object | None,
    judges: Sequence[object],
    judge_repeats: int = 1,
) -> Variant:
    """The variant, told which roles somebody has. Raises UsageError for verdicts of nobody."""
    check_repeats("--judge-repeats", judge_repeats)
    if judge_repeats > 1 and not judges:
        raise UsageError("--judge-repeats asks judges again; name one with --judge")
    return replace(
        variant,
        extractor=bool(extractors),
        clip=clip is not None,
        judges=len(judges),
        judge_repeats=judge_repeats,
    )


def check_repeats(flag: str, repeats: object) -> None:
    """Raises UsageError for what is no number of times."""
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise UsageError(f"{flag} is {repeats}; expected a whole number from 1")
