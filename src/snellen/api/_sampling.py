"""Sampling settings of a command: for all models, or as options behind a model's name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from snellen.benchmarks.protocol.judging import judge_roles
from snellen.core.errors import UsageError
from snellen.core.model import AnyModel, Model, RestrictedSampler
from snellen.core.request import Sampling
from snellen.models.sampling import SamplingSpec, check_sampler, check_sampling, merge_sampling, split_sampling


class SamplingOptions(NamedTuple):
    """Models of a command, with the sampling options split off their names."""

    specs: list[SamplingSpec | None]
    """The options of each model; None for a model that is an object."""
    models: Sequence[AnyModel]
    default: Sampling

    def resolve(
        self, opened_models: Sequence[tuple[str, Model]], repeats: int, given: Sequence[str] = ()
    ) -> tuple[list[tuple[str, Model]], dict[str, Sampling]]:
        """Names of the opened models, with their sampling options, and the settings by name.

        `given` are the names that the user chose for them, if any. Raises UsageError if a model
        cannot be sampled with its settings."""
        # With --serve the model may have no name on the command line.
        specs = self.specs or [None for _ in opened_models]
        names = given or ["" for _ in opened_models]
        models, sampling_by_name = [], {}
        for (name, model), spec, given_name in zip(opened_models, specs, names, strict=True):
            sampling = merge_sampling(spec.sampling if spec else None, self.default)
            full_name = given_name or (spec.add_options(name) if spec and spec.options else name)
            check_sampler(full_name, model, sampling, repeats)
            models.append((full_name, model))
            if sampling is not None:
                sampling_by_name[full_name] = sampling
        return models, sampling_by_name


def split_model_sampling(
    models: Sequence[AnyModel], default: Sampling, custom: Collection[str] = ()
) -> SamplingOptions:
    """Split sampling options off the names of models. Raises UsageError for impossible values."""
    check_sampling(default, "sampling")
    specs = [split_sampling(model, custom) if isinstance(model, str) else None for model in models]
    plain = [spec.spec if spec is not None else model for spec, model in zip(specs, models, strict=True)]
    return SamplingOptions(specs, plain, default)


def split_judge_sampling(
    judges: Sequence[AnyModel], custom: Collection[str] = ()
) -> tuple[list[AnyModel], dict[str, Sampling]]:
    """Judges without their sampling options, and the settings by role."""
    judge_options = split_model_sampling(judges, Sampling(), custom)
    roles = judge_roles(len(judges))
    sampling_by_role = {
        role: spec.sampling
        for role, spec in zip(roles, judge_options.specs, strict=True)
        if spec is not None and spec.sampling is not None
    }
    return list(judge_options.models), sampling_by_role


def refuse_sampling(who: str, *names: AnyModel) -> None:
    """Raises UsageError if a model that is always asked once and greedily has sampling options."""
    for name in names:
        if isinstance(name, str) and split_sampling(name).options:
            raise UsageError(f"{who} is asked once, at temperature 0; leave temperature, top_p and seed out of {name}")


def is_greedy(model: Model, sampling: Sampling | None) -> bool:
    """Whether a model is asked for its likeliest reply although it can sample."""
    if sampling is not None and sampling.temperature:
        return False
    return not (isinstance(model, RestrictedSampler) and model.cannot_sample(Sampling(temperature=1.0)))
