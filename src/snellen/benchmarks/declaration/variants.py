"""What a variant chooses: option values and policies, checked against those there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast, get_args

from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.scoring.accuracy import FailurePolicy


def failures_of(variant: Variant) -> FailurePolicy:
    """What failed samples count. Raises UsageError for an unknown policy."""
    return cast(FailurePolicy, check_allowed("failures", variant.failures, get_args(FailurePolicy)))


def resolve_options(
    name: str, variant: Variant, allowed: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """The variant's options with defaults filled in. Raises UsageError for an unknown one."""
    for key, value in variant.options.items():
        if key not in allowed:
            names = ", ".join(allowed) or "none"
            raise UsageError(f"{name} has no option {key!r}; its options: {names}")
        if value not in allowed[key]:
            raise UsageError(f"{name}:{key}={value}: expected one of {', '.join(allowed[key])}")
    return {key: variant.options.get(key, values[0]) for key, values in allowed.items()}


def check_allowed(flag: str, value: str, allowed: Sequence[str]) -> str:
    """The value, if it is allowed. Raises UsageError."""
    if value not in allowed:
        raise UsageError(f"--{flag} {value!r}: expected one of {', '.join(allowed)}")
    return value
