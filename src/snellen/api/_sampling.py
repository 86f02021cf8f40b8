"""How the models of a command are sampled: by options behind their names, or for all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from snellen.benchmarks.protocol.judging import judge_roles
from snellen.core.errors import UsageError
from snellen.core.model import Model, Sampler
from snellen.core.request import Sampling
from snellen.models.sampling import Sampled, check_sampler, checked, read_sampled, together


class Samplings(NamedTuple):
    """Models as they are to be opened, without the options that say how they are sampled."""

    each: list[Sampled | None]
    """None for a model that is an object."""
    models: Sequence[str | Model]
    default: Sampling

    def named(
        self, opened: Sequence[tuple[str, Model]], repeats: int
    ) -> tuple[list[tuple[str, Model]], dict[str, Sampling]]:
        """The opened models by the names they go by, with how each is sampled. Raises UsageError
        where one cannot be asked so."""
        # Behind --serve stands a model that nobody named.
        each = self.each or [None for _ in opened]
        models, found = [], {}
        for (name, model), sampled in zip(opened, each, strict=True):
            how = together(sampled.sampling if sampled else None, self.default)
            full = sampled.name(name) if sampled else name
            check_sampler(full, model, how, repeats)
            models.append((full, model))
            if how is not None:
                found[full] = how
        return models, found


def samplings(
    models: Sequence[str | Model], default: Sampling, own: Collection[str] = ()
) -> Samplings:
    """Raises UsageError for values that cannot be."""
    checked(default, "sampling")
    each = [read_sampled(one, own) if isinstance(one, str) else None for one in models]
    plain = [
        one.spec if one is not None else model for one, model in zip(each, models, strict=True)
    ]
    return Samplings(each, plain, default)


def judges_sampling(
    judges: Sequence[str | Model], own: Collection[str] = ()
) -> tuple[list[str | Model], dict[str, Sampling]]:
    """Judges as they are to be opened, and how each is sampled, by role."""
    read = samplings(judges, Sampling(), own)
    roles = judge_roles(len(judges))
    found = {
        role: one.sampling
        for role, one in zip(roles, read.each, strict=True)
        if one is not None and one.sampling is not None
    }
    return list(read.models), found


def refuse_sampling(who: str, *names: str | Model | None) -> None:
    """Raises UsageError where a model that is asked once, and greedily, has such options."""
    for name in names:
        if isinstance(name, str) and read_sampled(name).options:
            raise UsageError(
                f"{who} is asked once, at temperature 0; leave temperature, top_p and seed out of "
                f"{name}"
            )


def greedy(model: Model, sampling: Sampling | None) -> bool:
    """Whether a model that could draw freely is asked for the likeliest reply."""
    if sampling is not None and sampling.temperature:
        return False
    return not (isinstance(model, Sampler) and model.cannot_sample(Sampling(temperature=1.0)))
