"""What is named for a run, opened as far as this machine alone can, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from msgspec import Struct

from snellen.benchmarks.declaration.model_recipes import prescribed
from snellen.benchmarks.declaration.registry import GROUP, open_benchmark
from snellen.benchmarks.protocol.control import with_control
from snellen.benchmarks.protocol.few_shot import made_with_examples
from snellen.benchmarks.protocol.gate import gate_of, with_gate
from snellen.benchmarks.protocol.parsers import check_rule
from snellen.core.benchmark import Benchmark, BenchmarkFactory, Variant
from snellen.core.entry_points import doors
from snellen.core.errors import MissingExtra, ModelError, OtherData, UnknownName, UsageError
from snellen.core.model import Capabilities, Identity, Model, Profiled
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.engine.loop.preflight import check_models, check_roles
from snellen.engine.servers.managed import GENERIC, Servers
from snellen.models.naming.catalog import facts_of
from snellen.models.naming.registry import full_name, open_model, split_spec
from snellen.models.remote.profile import profiles
from snellen.settings import Settings, first_set, unplugged
from snellen.store.responses import ResponseStore


def named_model(model: str | Model, own: Mapping[str, Model]) -> tuple[str, Model]:
    """The model and the name it goes by; `own` holds those of loaded files."""
    if not isinstance(model, str):
        return model.identity.name, model
    if model in own:
        return model, own[model]
    try:
        opened = open_model(model)
    except UnknownName as error:
        raise (UnknownName("model", model, own) if own else error) from None
    return _without_address(model, opened.identity), opened


def served_model(
    model: str | Model, own: Mapping[str, Model], servers: Servers
) -> tuple[str, Model]:
    """As `named_model`; a model whose server is Snellen's to start has one of `servers`."""
    if isinstance(model, str) and model not in own:
        managed = servers.managed(model)
        if managed is not None:
            return managed.name, managed
    return named_model(model, own)


def _without_address(spec: str, identity: Identity) -> str:
    """The name as given, but of a model named by its URL the model's own: servers move."""
    if not spec.startswith(("http://", "https://")):
        return spec
    facts = ",".join(f"{name}={value}" for name, value in sorted(identity.facts.items()))
    return f"{identity.name}:{facts}" if facts else identity.name


def named_benchmark(
    name: str | Benchmark,
    variant: Variant,
    own: Mapping[str, Benchmark | BenchmarkFactory] | None = None,
) -> Benchmark:
    """The benchmark of that name or data file; `own` holds those of loaded files."""
    plain, share = gate_of(variant)
    if isinstance(name, Benchmark):
        return with_gate(with_control(name, variant.control), share)
    loaded = (own or {}).get(name)
    if loaded is not None:
        made = loaded if isinstance(loaded, Benchmark) else made_with_examples(loaded, plain)
        return with_gate(with_control(made, variant.control), share)
    try:
        opened = open_benchmark(name, variant)
    except UnknownName as error:
        raise (UnknownName("benchmark", name, own) if own else error) from None
    check_rule(opened, variant)
    return opened


@dataclass(frozen=True, slots=True)
class Chosen:
    """A benchmark as it was named, and opened."""

    spec: str | Benchmark
    benchmark: Benchmark

    def for_model(
        self,
        name: str,
        model: Model,
        variant: Variant,
        own: Mapping[str, Benchmark | BenchmarkFactory],
        recipes: bool,
    ) -> Benchmark:
        """The benchmark with the longest reply of the model's profile, unless one was asked for,
        and asked as the model's authors prescribe, where they do."""
        if not isinstance(self.spec, str):
            return self.benchmark
        opened = self.benchmark
        longest = model.max_new_tokens if isinstance(model, Profiled) else None
        if longest is not None and variant.max_new_tokens is None:
            variant = replace(variant, max_new_tokens=longest)
            opened = named_benchmark(self.spec, variant, own)
        if not recipes or self.spec in own:
            return opened
        return prescribed(_served_name(name, model), self.spec, opened, variant)


def _served_name(name: str, model: Model) -> str:
    """`full_name`; a model that goes by its own name alone, because a server has it, with what
    serves it before that."""
    full, identity = full_name(name, model), model.identity
    if identity.provider == GENERIC:
        return f"{GENERIC}/{identity.name.removeprefix('hf/')}"
    if full.partition(":")[0] == identity.name:
        return f"{identity.provider}/{identity.name}"
    return full


_BYTES_PER_PARAMETER = 2
_FETCHED = frozenset({"hf", "diffusers", "clip"})
"""Providers whose models are downloaded when they are first used."""


Lack = Literal["key", "extra", "data", "model", "judge"]


class Missing(Struct, frozen=True):
    """Something without which the run could not start."""

    what: Lack
    sentence: str


class Look:
    """Opens what is named, as far as this machine alone can, and notes what it lacks."""

    def __init__(self, own: Mapping[str, Model], servers: Servers) -> None:
        self.missing: list[Missing] = []
        self.downloads: list[str] = []
        self.absent: set[str] = set()
        self.unopened: list[str] = []
        self._own = own
        self._servers = servers
        self._offline = Settings.from_environment().offline

    def model(self, name: str) -> Model:
        """The model, or a stand-in where it cannot be opened here. Raises UnknownName."""
        if name in self._own:
            return self._own[name]
        lacks_key = self._key(name)
        try:
            with unplugged():
                return served_model(name, self._own, self._servers)[1]
        except UnknownName:
            raise
        except MissingExtra as error:
            self._lacks("extra", str(error))
        except UsageError as error:
            provider = split_spec(name).provider
            if provider in _FETCHED and not self._offline:
                self._fetches(_weights(name))
            elif not lacks_key:
                self._lacks("model", str(error))
        self.unopened.append(name)
        return StandIn(name)

    def asked(self, names: Sequence[str]) -> list[tuple[str, Model]]:
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
        return [self._servers.served(names[0])]

    def benchmark(
        self,
        spec: str | Benchmark,
        variant: Variant,
        made: Mapping[str, Benchmark | BenchmarkFactory],
    ) -> Chosen:
        """The benchmark; `absent` tells whether its data are here."""
        with unplugged():
            found = named_benchmark(spec, variant, made)
            name = str(spec)
            try:
                found.open()
            except MissingExtra as error:
                self._lacks("extra", str(error))
                self.absent.add(name)
            except OtherData as error:
                self.absent.add(name)
                self._lacks("data", str(error))
            except UsageError as error:
                self.absent.add(name)
                if self._offline or variant.data is not None or not _fetched(name, found):
                    self._lacks("data", str(error))
                else:
                    pull = f": snellen data pull {name}" if found.fetch is not None else ""
                    self._fetches(f"the data of {name}{pull}")
        return Chosen(spec, found)

    def probe(self, models: Sequence[Model], roles: Sequence[Mapping[str, Model]]) -> None:
        """One small request to each reader, judge and model server that could be opened."""
        real = [
            {role: model for role, model in one.items() if not isinstance(model, StandIn)}
            for one in roles
        ]
        for one in real:
            try:
                check_roles(one)
            except UsageError as error:
                self._lacks("judge", str(error))
        with ResponseStore(None) as nowhere:
            for model in models:
                try:
                    check_models([model], nowhere)
                except UsageError as error:
                    self._lacks("model", str(error))

    def notes(self, chosen: Sequence[Chosen]) -> Iterator[str]:
        """Models that were not opened, and benchmarks that cannot be scored as they are to be
        run."""
        for name in self.unopened:
            yield f"{name} cannot be opened here: whether replies of it are stored is not known"
        for one in chosen:
            if one.benchmark.unscorable:
                yield f"{one.benchmark.name}: {one.benchmark.unscorable}"

    def _key(self, name: str) -> bool:
        """Whether the model needs a key that is not set."""
        parts = split_spec(name)
        profile = profiles().get(parts.provider)
        if profile is None or not (profile.key_needed or "key_env" in parts.options):
            return False
        names = (parts.options["key_env"],) if "key_env" in parts.options else profile.key_env
        if first_set(names) is not None:
            return False
        self._lacks("key", f"{name} needs a key: set {' or '.join(names)}")
        return True

    def _lacks(self, what: Lack, why: str) -> None:
        if Missing(what, why) not in self.missing:
            self.missing.append(Missing(what, why))

    def _fetches(self, what: str) -> None:
        if what not in self.downloads:
            self.downloads.append(what)


def _fetched(name: str, benchmark: Benchmark) -> bool:
    """Whether the run would bring the data by itself."""
    registered = benchmark.name in doors(GROUP)
    return benchmark.fetch is not None or registered or name.startswith("hf://")


def _weights(name: str) -> str:
    entry = facts_of(name)
    if entry is None or entry.parameters is None:
        return f"the weights of {name}, of a size that is not known"
    size = entry.parameters * _BYTES_PER_PARAMETER
    return f"the weights of {name}, about {size:.0f} GB at {_BYTES_PER_PARAMETER} bytes a parameter"


@dataclass
class StandIn:
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
