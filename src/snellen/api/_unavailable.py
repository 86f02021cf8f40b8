"""A model that cannot be opened here, in a plan."""

from __future__ import annotations

from dataclasses import dataclass

from snellen.core.errors import ModelError
from snellen.core.model import BatchTerms, Capabilities, Identity, ModelDefaults, PromptCache
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.models.naming.catalog import facts_of
from snellen.models.naming.registry import split_spec
from snellen.models.remote.profile import profiles


@dataclass
class UnavailableModel(ModelDefaults):
    """In place of a model that cannot be opened here: has the inputs and outputs that the catalog
    lists, and no stored replies."""

    name: str

    @property
    def identity(self) -> Identity:
        parts = split_spec(self.name)
        return Identity(parts.provider, parts.name)

    @property
    def batch_terms(self) -> BatchTerms | None:  # type: ignore[override]
        """Terms of the batches in which it would be asked."""
        parts = split_spec(self.name)
        profile = profiles().get(parts.provider)
        is_batched = parts.options.get("batch") == "yes" and profile is not None and profile.batch is not None
        return profile.batch.terms() if is_batched and profile and profile.batch else None

    @property
    def prompt_cache(self) -> PromptCache | None:  # type: ignore[override]
        """How its provider caches prompts."""
        profile = profiles().get(split_spec(self.name).provider)
        return profile.prompt_cache if profile is not None else None

    @property
    def capabilities(self) -> Capabilities:
        entry = facts_of(self.name)
        if entry is None:
            return Capabilities()
        return Capabilities(
            inputs=frozenset(entry.inputs),
            outputs=frozenset(entry.outputs),
            many_images=entry.options.get("images") != "first",
        )

    def answer(self, request: Request) -> Output:
        raise ModelError(f"{self.name} was only planned")
