"""Open models and benchmarks as far as possible without a network, for a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from snellen.api._inputs import without_answers
from snellen.api.resolve_benchmarks import NamedBenchmark, resolve_benchmark
from snellen.api.resolve_models import NoConsent, UnavailableModel, resolve_model, resolve_served_model, served_names
from snellen.benchmarks.declaration.registry import benchmark_sources, language_notice
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import DataMismatch, MissingExtra, UnknownName, UsageError
from snellen.core.model import AnyModel, Model
from snellen.engine.servers.managed import ManagedModel, Servers
from snellen.models.hf.memory import model_memory
from snellen.models.hf.routing import NoRoute
from snellen.models.naming.catalog import facts_of
from snellen.models.naming.custom import LoadedFile
from snellen.models.naming.registry import split_spec
from snellen.models.naming.routes import routes_of
from snellen.models.remote.credentials import find_credentials
from snellen.models.remote.profile import other_credentials, profiles
from snellen.settings import Settings, first_nonblank, force_offline
from snellen.store.responses import ResponseStore

_BYTES_PER_PARAMETER = 2
_DOWNLOADING_PROVIDERS = frozenset({"hf", "vllm-local", "diffusers", "clip"})
"""Providers whose models are downloaded when they are first used."""


MissingKind = Literal["key", "extra", "data", "model", "judge", "consent"]


class MissingRequirement(Struct, frozen=True):
    """Something without which the run could not start."""

    what: MissingKind
    sentence: str


class OfflineResolver:
    """Opens models and benchmarks without a network, and notes what a run would miss here.

    `missing` are reasons why a run could not start, `downloads` what it would fetch first."""

    def __init__(self, custom: LoadedFile, servers: Servers) -> None:
        self.missing: list[MissingRequirement] = []
        self.downloads: list[str] = []
        self._names_without_data: set[str] = set()
        self._unopened_models: list[str] = []
        self._custom_models, self._custom_benchmarks = custom
        self._servers = servers
        self._offline = Settings.from_environment().offline

    def role_model(self, model: AnyModel) -> Model:
        """The model, or an `UnavailableModel` if it cannot be opened here. Raises UnknownName."""
        return self._open(model)[1]

    def _open(self, model: AnyModel) -> tuple[str, Model]:
        if not isinstance(model, str):
            return resolve_model(model, self._custom_models)
        return model, self._open_name(model)

    def _open_name(self, name: str) -> Model:
        if name in self._custom_models:
            return self._custom_models[name]
        key_is_missing = self._is_key_missing(name)
        try:
            with force_offline():
                model = resolve_served_model(name, self._custom_models, self._servers, may_ask=False)[1]
            self._check_environment(model)
            return model
        except UnknownName:
            raise
        except MissingExtra as error:
            self._add_missing("extra", str(error))
        except NoConsent as error:
            self._add_missing("consent", str(error))
        except NoRoute as error:
            self._add_missing("model", str(error))
        except UsageError as error:
            provider = split_spec(name).provider
            if provider in _DOWNLOADING_PROVIDERS and not self._offline:
                self._add_download(_describe_weights(name))
            elif not key_is_missing:
                self._add_missing("model", str(error))
        self._unopened_models.append(name)
        return UnavailableModel(name)

    def open_requested(self, models: Sequence[AnyModel]) -> list[tuple[str, Model]]:
        """The models to be measured, with their names; the server of `--serve` is not started.

        Raises UsageError if no model is named, or several for one server."""
        if not models:
            raise UsageError("no model is named; name one with -m (in Python: models)")
        if not self._servers.serve:
            return [self._open(model) for model in models]
        names = served_names(models)
        if len(names) != 1:
            raise UsageError(
                f"--serve starts the server of one model; got {len(names)} with -m, and a plan "
                "starts no server to ask for its name"
            )
        name, model = self._servers.open_served(names[0])
        self._check_environment(model)
        return [(name, model)]

    def _check_environment(self, model: Model) -> None:
        """Note that uv is missing, if the model's server needs it."""
        if isinstance(model, ManagedModel):
            try:
                model.check_environment()
            except UsageError as error:
                self._add_missing("extra", str(error))

    def benchmark(
        self, spec: str | Benchmark, variant: Variant, columns: Mapping[str, str] = MappingProxyType({})
    ) -> NamedBenchmark:
        """The benchmark. If its data are not on this machine, that is noted (see `has_data`)."""
        if columns:
            variant = replace(variant, columns=columns)
        with force_offline():
            benchmark = resolve_benchmark(spec, variant, self._custom_benchmarks)
            name = str(spec)
            try:
                benchmark.open()
            except MissingExtra as error:
                self._add_missing("extra", str(error))
                self._names_without_data.add(name)
            except DataMismatch as error:
                self._names_without_data.add(name)
                self._add_missing("data", str(error))
            except UsageError as error:
                self._names_without_data.add(name)
                downloadable = _is_downloadable(name, benchmark)
                if self._offline or variant.data is not None or not downloadable:
                    self._add_missing("data", str(error))
                else:
                    pull = f": snellen data pull {name}" if benchmark.fetch is not None else ""
                    self._add_download(f"the data of {name}{pull}")
        return NamedBenchmark(spec, benchmark, columns)

    def has_data(self, benchmark: NamedBenchmark) -> bool:
        """Whether the data of an opened benchmark are on this machine."""
        return str(benchmark.spec) not in self._names_without_data

    def probe(self, models: Sequence[Model], roles: Sequence[Mapping[str, Model]]) -> None:
        """Send one small request to each extractor, judge and model server that could be opened."""
        from snellen.engine.loop.preflight import check_models, check_roles

        for models_by_role in roles:
            available = {
                role: model for role, model in models_by_role.items() if not isinstance(model, UnavailableModel)
            }
            try:
                check_roles(available)
            except UsageError as error:
                self._add_missing("judge", str(error))
        with ResponseStore(None) as empty_store:
            for model in models:
                try:
                    check_models([model], empty_store)
                except UsageError as error:
                    self._add_missing("model", str(error))

    def notes(self, benchmarks: Sequence[NamedBenchmark], variant: Variant) -> Iterator[str]:
        """Sentences about models that were not opened, and benchmarks that are asked in one of
        their languages, or cannot be scored as they are run."""
        for name in self._unopened_models:
            yield f"{name} cannot be opened here: whether replies of it are stored is not known"
            yield from _memory_note(name)
        for named in benchmarks:
            yield from filter(None, [language_notice(named.spec, named.benchmark, variant)])
            if named.benchmark.unscorable:
                yield f"{named.benchmark.name}: {named.benchmark.unscorable}"
            if self.has_data(named) and (sentence := without_answers(named.benchmark)):
                yield sentence

    def _is_key_missing(self, name: str) -> bool:
        """Whether the model needs an API key that is not set; if so, that is noted."""
        parts = split_spec(name)
        profile = profiles().get(parts.provider)
        if profile is None or not (profile.key_needed or "key_env" in parts.options):
            return False
        names, also = profile.key_env, other_credentials(profile)
        if "key_env" in parts.options:
            names, also = (parts.options["key_env"],), ""
        if first_nonblank(names) is not None or (also and find_credentials(profile) is not None):
            return False
        self._add_missing("key", f"{name} needs a key: set {' or '.join(names)}{also}")
        return True

    def _add_missing(self, what: MissingKind, why: str) -> None:
        if MissingRequirement(what, why) not in self.missing:
            self.missing.append(MissingRequirement(what, why))

    def _add_download(self, what: str) -> None:
        if what not in self.downloads:
            self.downloads.append(what)


def _is_downloadable(name: str, benchmark: Benchmark) -> bool:
    """Whether a run would download the data by itself."""
    registered = benchmark.name in benchmark_sources()
    return benchmark.fetch is not None or registered or name.startswith(("hf://", "modelscope://"))


def _describe_weights(name: str) -> str:
    entry = facts_of(name)
    twins = [] if entry is None else [each for each in routes_of(entry)[:1] if each.kind == "twin"]
    named = f"{name}, from its converted twin {twins[0].target}" if twins else name
    if entry is None or entry.parameters is None:
        return f"the weights of {named}, of a size that is not known"
    size = entry.parameters * _BYTES_PER_PARAMETER
    return f"the weights of {named}, about {size:.0f} GB at {_BYTES_PER_PARAMETER} bytes a parameter"


def _memory_note(name: str) -> Iterator[str]:
    """A sentence if the weights of a local model do not fit into this machine's memory."""
    entry = facts_of(name)
    if entry is None or entry.parameters is None or entry.provider != "hf":
        return
    room = model_memory()
    needed = entry.parameters * 1e9 * (_BYTES_PER_PARAMETER if room.is_gpu else 4)
    if room.total_bytes and needed > room.total_bytes:
        kind = "GPU memory" if room.is_gpu else "memory and no GPU that torch can use"
        yield (
            f"{name}: its weights take about {needed / 1e9:.0f} GB, this machine has "
            f"{room.total_bytes / 1e9:.0f} GB of {kind}; take a larger machine, a server "
            "(http://HOST:PORT/v1#NAME), or quantisation=4bit"
        )
