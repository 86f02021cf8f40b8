"""What is named for a run, opened as far as this machine alone can, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from msgspec import Struct

from snellen.benchmarks.declaration.build import build
from snellen.benchmarks.declaration.builtin import benchmark_sources
from snellen.benchmarks.declaration.model_recipes import apply_recipe
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.parsers import check_rule
from snellen.core.benchmark import Benchmark, BenchmarkFactory, Variant
from snellen.core.errors import DataMismatch, MissingExtra, ModelError, UnknownName, UsageError
from snellen.core.model import Capabilities, Identity, Model, ProfiledModel
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.engine.loop.preflight import check_models, check_roles
from snellen.engine.servers.managed import GENERIC_PROVIDER, Servers
from snellen.models.naming.catalog import facts_of
from snellen.models.naming.registry import full_name, open_model, split_spec
from snellen.models.remote.profile import profiles
from snellen.settings import Settings, first_nonblank, force_offline
from snellen.store.responses import ResponseStore


def resolve_model(model: str | Model, custom: Mapping[str, Model]) -> tuple[str, Model]:
    """The model and the name it goes by; `custom` holds those of loaded files."""
    if not isinstance(model, str):
        return model.identity.name, model
    if model in custom:
        return model, custom[model]
    try:
        opened = open_model(model)
    except UnknownName as error:
        raise (UnknownName("model", model, custom) if custom else error) from None
    return _without_address(model, opened.identity), opened


def resolve_served_model(
    model: str | Model, custom: Mapping[str, Model], servers: Servers
) -> tuple[str, Model]:
    """As `resolve_model`; a model whose server is Snellen's to start has one of `servers`."""
    if isinstance(model, str) and model not in custom:
        managed = servers.open_managed(model)
        if managed is not None:
            return managed.name, managed
    return resolve_model(model, custom)


def _without_address(spec: str, identity: Identity) -> str:
    """The name as given, but of a model named by its URL the model's own: servers move."""
    if not spec.startswith(("http://", "https://")):
        return spec
    facts = ",".join(f"{name}={value}" for name, value in sorted(identity.facts.items()))
    return f"{identity.name}:{facts}" if facts else identity.name


def resolve_benchmark(
    name: str | Benchmark,
    variant: Variant,
    custom: Mapping[str, Benchmark | BenchmarkFactory] | None = None,
) -> Benchmark:
    """The benchmark of that name or data file; `custom` holds those of loaded files."""
    if isinstance(name, Benchmark):
        return build(name, variant)
    loaded = (custom or {}).get(name)
    if loaded is not None:
        return build(loaded, variant)
    try:
        opened = open_benchmark(name, variant)
    except UnknownName as error:
        raise (UnknownName("benchmark", name, custom) if custom else error) from None
    check_rule(opened, variant)
    return opened


@dataclass(frozen=True, slots=True)
class NamedBenchmark:
    """A benchmark as it was named, and opened."""

    spec: str | Benchmark
    benchmark: Benchmark

    def for_model(
        self,
        name: str,
        model: Model,
        variant: Variant,
        custom: Mapping[str, Benchmark | BenchmarkFactory],
        recipes: bool,
    ) -> Benchmark:
        """The benchmark with the longest reply of the model's profile, unless one was asked for,
        and asked as the model's authors prescribe, where they do."""
        if not isinstance(self.spec, str):
            return self.benchmark
        opened = self.benchmark
        longest = model.max_new_tokens if isinstance(model, ProfiledModel) else None
        if longest is not None and variant.max_new_tokens is None:
            variant = replace(variant, max_new_tokens=longest)
            opened = resolve_benchmark(self.spec, variant, custom)
        if not recipes or self.spec in custom:
            return opened
        return apply_recipe(_served_name(name, model), self.spec, opened, variant)


def _served_name(name: str, model: Model) -> str:
    """`full_name`; a model that goes by its own name alone, because a server has it, with what
    serves it before that."""
    full, identity = full_name(name, model), model.identity
    if identity.provider == GENERIC_PROVIDER:
        return f"{GENERIC_PROVIDER}/{identity.name.removeprefix('hf/')}"
    if full.partition(":")[0] == identity.name:
        return f"{identity.provider}/{identity.name}"
    return full


_BYTES_PER_PARAMETER = 2
_DOWNLOADING_PROVIDERS = frozenset({"hf", "diffusers", "clip"})
"""Providers whose models are downloaded when they are first used."""


MissingKind = Literal["key", "extra", "data", "model", "judge"]


class MissingRequirement(Struct, frozen=True):
    """Something without which the run could not start."""

    what: MissingKind
    sentence: str


class OfflineResolver:
    """Opens what is named, as far as this machine alone can, and notes what it lacks."""

    def __init__(self, custom: Mapping[str, Model], servers: Servers) -> None:
        self.missing: list[MissingRequirement] = []
        self.downloads: list[str] = []
        self.names_without_data: set[str] = set()
        self.unopened_models: list[str] = []
        self._custom_models = custom
        self._servers = servers
        self._offline = Settings.from_environment().offline

    def model(self, name: str) -> Model:
        """The model, or a stand-in where it cannot be opened here. Raises UnknownName."""
        if name in self._custom_models:
            return self._custom_models[name]
        lacks_key = self._is_key_missing(name)
        try:
            with force_offline():
                return resolve_served_model(name, self._custom_models, self._servers)[1]
        except UnknownName:
            raise
        except MissingExtra as error:
            self._add_missing("extra", str(error))
        except UsageError as error:
            provider = split_spec(name).provider
            if provider in _DOWNLOADING_PROVIDERS and not self._offline:
                self._add_download(_describe_weights(name))
            elif not lacks_key:
                self._add_missing("model", str(error))
        self.unopened_models.append(name)
        return UnavailableModel(name)

    def requested_models(self, names: Sequence[str]) -> list[tuple[str, Model]]:
        """The models to be evaluated, with their names; a server behind `--serve` is not started.
        Raises UsageError."""
        if not names:
            raise UsageError("no model is named; name one with -m")
        if not self._servers.serve:
            return [(name, self.model(name)) for name in names]
        if len(names) != 1:
            raise UsageError(
                f"--serve starts the server of one model; got {len(names)} with -m, and a plan "
                "starts no server to ask for its name"
            )
        return [self._servers.open_served(names[0])]

    def benchmark(
        self,
        spec: str | Benchmark,
        variant: Variant,
        custom: Mapping[str, Benchmark | BenchmarkFactory],
    ) -> NamedBenchmark:
        """The benchmark; `names_without_data` tells whether its data are here."""
        with force_offline():
            found = resolve_benchmark(spec, variant, custom)
            name = str(spec)
            try:
                found.open()
            except MissingExtra as error:
                self._add_missing("extra", str(error))
                self.names_without_data.add(name)
            except DataMismatch as error:
                self.names_without_data.add(name)
                self._add_missing("data", str(error))
            except UsageError as error:
                self.names_without_data.add(name)
                if self._offline or variant.data is not None or not _is_downloadable(name, found):
                    self._add_missing("data", str(error))
                else:
                    pull = f": snellen data pull {name}" if found.fetch is not None else ""
                    self._add_download(f"the data of {name}{pull}")
        return NamedBenchmark(spec, found)

    def probe(self, models: Sequence[Model], roles: Sequence[Mapping[str, Model]]) -> None:
        """One small request to each reader, judge and model server that could be opened."""
        real = [
            {role: model for role, model in one.items() if not isinstance(model, UnavailableModel)}
            for one in roles
        ]
        for one in real:
            try:
                check_roles(one)
            except UsageError as error:
                self._add_missing("judge", str(error))
        with ResponseStore(None) as nowhere:
            for model in models:
                try:
                    check_models([model], nowhere)
                except UsageError as error:
                    self._add_missing("model", str(error))

    def notes(self, chosen: Sequence[NamedBenchmark]) -> Iterator[str]:
        """Models that were not opened, and benchmarks that cannot be scored as they are to be
        run."""
        for name in self.unopened_models:
            yield f"{name} cannot be opened here: whether replies of it are stored is not known"
        for one in chosen:
            if one.benchmark.unscorable:
                yield f"{one.benchmark.name}: {one.benchmark.unscorable}"

    def _is_key_missing(self, name: str) -> bool:
        """Whether the model needs a key that is not set."""
        parts = split_spec(name)
        profile = profiles().get(parts.provider)
        if profile is None or not (profile.key_needed or "key_env" in parts.options):
            return False
        names = (parts.options["key_env"],) if "key_env" in parts.options else profile.key_env
        if first_nonblank(names) is not None:
            return False
        self._add_missing("key", f"{name} needs a key: set {' or '.join(names)}")
        return True

    def _add_missing(self, what: MissingKind, why: str) -> None:
        if MissingRequirement(what, why) not in self.missing:
            self.missing.append(MissingRequirement(what, why))

    def _add_download(self, what: str) -> None:
        if what not in self.downloads:
            self.downloads.append(what)


def _is_downloadable(name: str, benchmark: Benchmark) -> bool:
    """Whether the run would bring the data by itself."""
    registered = benchmark.name in benchmark_sources()
    return benchmark.fetch is not None or registered or name.startswith("hf://")


def _describe_weights(name: str) -> str:
    entry = facts_of(name)
    if entry is None or entry.parameters is None:
        return f"the weights of {name}, of a size that is not known"
    size = entry.parameters * _BYTES_PER_PARAMETER
    return f"the weights of {name}, about {size:.0f} GB at {_BYTES_PER_PARAMETER} bytes a parameter"


@dataclass
class UnavailableModel:
    """A model that cannot be opened here: what the catalog says it takes, no stored replies."""

    name: str

    @property
    def identity(self) -> Identity:
        parts = split_spec(self.name)
        return Identity(parts.provider, parts.name)

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
