"""How the models of a command are sampled: by options behind their names, or for all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from snellen.benchmarks.protocol.judging import judge_roles
from snellen.core.errors import UsageError
from snellen.core.model import Model, RestrictedSampler
from snellen.core.request import Sampling
from snellen.models.sampling import (
    SamplingSpec,
    check_sampler,
    check_sampling,
    merge_sampling,
    split_sampling,
)


class SamplingOptions(NamedTuple):
    """Models as they are to be opened, without the options that say how they are sampled."""

    specs: list[SamplingSpec | None]
    """None for a model that is an object."""
    models: Sequence[str | Model]
    default: Sampling

    def resolve(
        self, opened_models: Sequence[tuple[str, Model]], repeats: int
    ) -> tuple[list[tuple[str, Model]], dict[str, Sampling]]:
        """The opened models by the names they go by, with how each is sampled. Raises UsageError
        where one cannot be asked so."""
        # Behind --serve stands a model that nobody named.
        each = self.specs or [None for _ in opened_models]
        models, found = [], {}
        for (name, model), sampled in zip(opened_models, each, strict=True):
            how = merge_sampling(sampled.sampling if sampled else None, self.default)
            full = sampled.add_options(name) if sampled else name
            check_sampler(full, model, how, repeats)
            models.append((full, model))
            if how is not None:
                found[full] = how
        return models, found


def split_model_sampling(
    models: Sequence[str | Model], default: Sampling, custom: Collection[str] = ()
) -> SamplingOptions:
    """Raises UsageError for values that cannot be."""
    check_sampling(default, "sampling")
    each = [split_sampling(one, custom) if isinstance(one, str) else None for one in models]
    plain = [
        one.spec if one is not None else model for one, model in zip(each, models, strict=True)
    ]
    return SamplingOptions(each, plain, default)


def split_judge_sampling(
    judges: Sequence[str | Model], custom: Collection[str] = ()
) -> tuple[list[str | Model], dict[str, Sampling]]:
    """Judges as they are to be opened, and how each is sampled, by role."""
    read = split_model_sampling(judges, Sampling(), custom)
    roles = judge_roles(len(judges))
    found = {
        role: one.sampling
        for role, one in zip(roles, read.specs, strict=True)
        if one is not None and one.sampling is not None
    }
    return list(read.models), found


def refuse_sampling(who: str, *names: str | Model | None) -> None:
    """Raises UsageError where a model that is asked once, and greedily, has such options."""
    for name in names:
        if isinstance(name, str) and split_sampling(name).options:
            raise UsageError(
                f"{who} is asked once, at temperature 0; leave temperature, top_p and seed out of "
                f"{name}"
            )


def is_greedy(model: Model, sampling: Sampling | None) -> bool:
    """Whether a model that could draw freely is asked for the likeliest reply."""
    if sampling is not None and sampling.temperature:
        return False
    return not (
        isinstance(model, RestrictedSampler) and model.cannot_sample(Sampling(temperature=1.0))
    )
