"""Models whose server Snellen starts itself: `vllm/<checkpoint>` without an address, `--serve`."""

from __future__ import annotations

import asyncio
import functools
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from snellen.core.errors import ModelError, UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.model import (
    Capabilities,
    Identity,
    Model,
    PromptRenderer,
    RemoteModel,
    RenderedPrompt,
    RestrictedSampler,
    SelfReportingModel,
)
from snellen.core.output import Failure, Output
from snellen.core.request import Request, Sampling
from snellen.core.served_identity import ServedIdentity
from snellen.engine.servers.environments import ServerEnvironment, installed_packages, server_environment
from snellen.engine.servers.process import HOST, Launch, Notify, ServerProcess, get_json, quote_log
from snellen.models.hf.checkpoint import folder_digest
from snellen.models.naming.environments import PROVIDER as ENVIRONMENT
from snellen.models.naming.environments import check_environment_file, environment_file
from snellen.models.naming.registry import ModelSpec, open_model, split_spec
from snellen.models.naming.routes import find_environment
from snellen.models.naming.spec import (
    GENERIC_PROVIDER,
    HUB_PROVIDERS,
    REVISION,
    model_folder,
    split_options,
    split_revision,
)
from snellen.models.remote.options import OPTIONS as SERVER_OPTIONS

LOG_FOLDER = "servers"
"""Name of the folder for the servers' logs, inside the folder of the runs."""
ADDRESS_OPTION = "base_url"
"""The model option with the address of a running server; with it no server is started."""
OWN_CODE_OPTION = "trust_remote_code"
"""The model option by which the user lets a server run the checkpoint's own code."""
_GPUS_FIELD = "{gpus}"
_REVISION_FIELD = "{revision}"
_MODEL_FIELD = "{model}"


class LostServer(NamedTuple):
    """A server that ended while a run used it."""

    model: str
    cause: str
    log: Path
    lines: list[str]

    def __str__(self) -> str:
        return f"{self.model}: {self.cause}; {quote_log(self.lines, self.log)}"


class ManagedModel(RemoteModel):
    """A model behind a server that is started by the first request: a run whose replies are all
    stored starts none."""

    def __init__(
        self,
        name: str,
        server: ServerProcess,
        connect: Callable[[str], RemoteModel],
        identify: Callable[[Identity], Identity],
        environment: ServerEnvironment | None = None,
    ) -> None:
        """`connect` opens the model at the URL of its server; `identify` replaces its identity by
        one without that URL; `environment` is that of a one-file server."""
        self.name = name
        """The model's name in runs; for a folder, its name without the path."""
        self._server = server
        self._connect = connect
        self._environment = environment
        self._packages: dict[str, str] = {}
        # Placeholder address, to which no request is sent: identity and capabilities do not depend
        # on the address.
        self._inner = connect(f"http://{HOST}:9/v1")
        self._address = ""
        self.identity = identify(self._inner.identity)
        self.capabilities: Capabilities = self._inner.capabilities
        self.account = f"server of {name}"
        self.concurrency = self._inner.concurrency
        self.coordinates = self._inner.coordinates
        self.max_new_tokens = self._inner.max_new_tokens

    async def answer(self, request: Request) -> Output:
        """Send a request. Raises ModelError; but if the server has ended, a failure of kind
        `connection` is returned, because a retry could not help."""
        await self._ensure_connected()
        lost = self._server_failure()
        if lost is not None:
            return lost
        try:
            return await self._inner.answer(request)
        except ModelError:
            lost = self._server_failure()
            if lost is None:
                raise
            return lost

    def check_environment(self) -> None:
        """Raises UsageError if the server is to run in an environment of its own and uv, which
        makes it, is not installed."""
        if self._environment is not None:
            self._server.check_programs()

    def reset_served(self) -> None:
        if isinstance(self._inner, SelfReportingModel):
            self._inner.reset_served()

    def served_identity(self) -> ServedIdentity:
        report = self._inner.served_identity() if isinstance(self._inner, SelfReportingModel) else ServedIdentity()
        if self._environment is None or not self._packages:
            return report
        lock = self._environment.lock_digest()
        return msgspec.structs.replace(report, packages=self._packages, lock=lock)

    def environment_files(self) -> Mapping[str, bytes]:
        return self._environment.files() if self._environment is not None else {}

    def cannot_sample(self, sampling: Sampling) -> str | None:
        return self._inner.cannot_sample(sampling) if isinstance(self._inner, RestrictedSampler) else None

    async def render_prompt(self, request: Request) -> RenderedPrompt | None:
        """The rendered prompt; None if the server cannot render prompts."""
        if not isinstance(self._inner, PromptRenderer):
            return None
        await self._ensure_connected()
        return await self._inner.render_prompt(request)

    async def close(self) -> None:
        await self._inner.close()

    async def _ensure_connected(self) -> None:
        address = await self._server.ensure_ready()
        if address != self._address:
            self._address, self._inner = address, self._connect(address)
            self.reset_served()
            if self._environment is not None:
                self._packages = await asyncio.to_thread(installed_packages, address)

    def _server_failure(self) -> Failure | None:
        reason = self._server.exit_reason()
        return None if reason is None else Failure("connection", reason)


class Servers(AbstractContextManager["Servers"]):
    """All servers of one command. As a context manager it stops them."""

    def __init__(
        self,
        out: Path,
        serve: str | None = None,
        timeout: float | None = None,
        notify: Notify | None = None,
        gpus: int = 1,
    ) -> None:
        """`gpus`: the tensor parallelism of each server that supports it."""
        if timeout is not None and timeout <= 0:
            raise UsageError(f"--requests serve_timeout=is {timeout:g}; expected seconds above 0")
        self._out = out
        self.serve = serve
        self._timeout = timeout
        self._gpus = gpus
        self._notify: Notify = notify or (lambda line: None)
        self._servers: dict[str, ServerProcess] = {}
        self._models: dict[str, ManagedModel] = {}

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether any server was started and not stopped since."""
        return any(server.running for server in self._servers.values())

    def open_managed(self, spec: str) -> ManagedModel | None:
        """The model of that name if Snellen must start its server; else None."""
        model_spec = split_spec(spec)
        if ADDRESS_OPTION in model_spec.options or not model_spec.name:
            return None
        if model_spec.provider == ENVIRONMENT:
            return self._open_shipped(spec, model_spec)
        launch = presets(self._gpus).get(model_spec.provider)
        if launch is None:
            return None
        revision = model_spec.options.get(REVISION, "")
        if revision and model_folder(model_spec.name) is not None:
            raise UsageError(f"{spec}: a folder has no revision; leave it out")
        options = dict(model_spec.options)
        if options.pop(OWN_CODE_OPTION, "no") == "yes":
            launch = launch.with_own_code()
        return self._open(spec, model_spec._replace(options=options), launch.at_revision(revision))

    def open_served(self, spec: str | None) -> tuple[str, ManagedModel]:
        """The model behind `--serve`, and its name.

        Without a name it is the only model that the server lists, so the server is started at once.
        Raises UsageError.
        """
        assert self.serve is not None
        file = _one_file(self.serve)
        if spec is None:
            return self._open_single(self.serve, file)
        model_spec = split_spec(spec)
        if ADDRESS_OPTION in model_spec.options:
            raise UsageError(f"--serve starts a server, and {spec!r} names a running one; drop one")
        if file is not None:
            model = self._open_environment(spec, model_spec, file)
            return model.name, model
        preset = presets().get(model_spec.provider)
        if preset is None and model_spec.provider != GENERIC_PROVIDER:
            stem = f"{model_spec.provider}/{model_spec.name}".rstrip("/")
            model_spec = ModelSpec(
                GENERIC_PROVIDER,
                model_spec.name if stem not in spec else stem,
                server_options(spec, model_spec.options),
            )
        command, options = self._pinned_command(spec, model_spec.options)
        model_spec = model_spec._replace(options=options)
        launch = replace(preset or Launch(command=""), command=command)
        model = self._open(spec, model_spec, launch)
        return model.name, model

    def _pinned_command(self, spec: str, options: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """The command of `--serve` with the revision filled in, and the options.

        A revision that the catalog pins is left out where the command has no place for it. Raises
        UsageError for one that was typed.
        """
        assert self.serve is not None
        revision = options.get(REVISION, "")
        if _REVISION_FIELD in self.serve:
            return self.serve.replace(_REVISION_FIELD, shlex.quote(revision or "main")), {
                **options,
                REVISION: revision or "main",
            }
        if revision and revision in spec:
            raise UsageError(
                f"--serve {self.serve!r} has no {_REVISION_FIELD}, so the server would not load "
                f"{revision}; put it where the command takes it, e.g. --revision {_REVISION_FIELD}"
            )
        return self.serve, {key: value for key, value in options.items() if key != REVISION}

    def keep_only(self, *models: Model) -> None:
        """Stop the servers of all other models: two servers rarely fit into one machine."""
        kept_models = {id(model) for model in models}
        for spec, model in self._models.items():
            if id(model) not in kept_models:
                self._servers[spec].stop()

    def lost_servers(self) -> list[LostServer]:
        """Servers that ended by themselves."""
        lost = []
        for spec, server in self._servers.items():
            reason = server.exit_reason()
            if reason is not None and spec in self._models:
                lost.append(LostServer(self._models[spec].name, reason, server.log, server.tail()))
        return lost

    def stop(self) -> None:
        for server in self._servers.values():
            server.stop()

    def _open_shipped(self, spec: str, model_spec: ModelSpec) -> ManagedModel:
        """The model behind the one-file server that comes with Snellen for its checkpoint.

        Raises UsageError if there is none, or if the user has not let the checkpoint's own code and
        its authors' packages run.
        """
        name = model_spec.name
        server = find_environment(name)
        if server is None:
            raise UsageError(
                f"{spec}: no environment is known for {name}; write a one-file server, and give it "
                f"with -m {name} --serve FILE.py"
            )
        file = environment_file(server.name)
        if server.recipe.own_code and model_spec.options.get(OWN_CODE_OPTION) != "yes":
            raise UsageError(
                f"{spec} runs code of the checkpoint or of its authors, which {file} names: read "
                f"it, then give -m {ENVIRONMENT}/{name}:{OWN_CODE_OPTION}=yes"
            )
        if server.one_image:
            options = {"images": "first", **model_spec.options}
            model_spec = model_spec._replace(options=options)
        return self._open_environment(spec, model_spec, file, server.adapter)

    def _open_environment(self, spec: str, model_spec: ModelSpec, file: Path, adapter: str = "") -> ManagedModel:
        """The model behind a one-file server, whose checkpoint is that of the spec; `adapter` is
        the one by which that server asks, if it does."""
        if model_spec.provider != ENVIRONMENT:
            name = model_spec.name
            if model_spec.provider not in HUB_PROVIDERS:
                name = f"{model_spec.provider}/{name}".rstrip("/")
            name, pinned = split_revision(name)
            options = server_options(spec, model_spec.options)
            if pinned:
                options = {REVISION: pinned, **options}
            model_spec = ModelSpec(ENVIRONMENT, name, options)
        options = dict(model_spec.options)
        own_code = options.pop(OWN_CODE_OPTION, "no") == "yes"
        revision = options.get(REVISION, "")
        environment = server_environment(file)._replace(adapter=adapter)
        launch = environment.launch(revision, own_code, model_spec.name)
        return self._open(spec, model_spec._replace(options=options), launch, environment)

    def _open(
        self, spec: str, model_spec: ModelSpec, launch: Launch, environment: ServerEnvironment | None = None
    ) -> ManagedModel:
        if model_spec.options.get("batch") == "yes":
            raise UsageError(
                f"{spec}: option batch=yes leaves requests at a provider, and this server is started for the command "
                "and answers at once; leave it out"
            )
        if spec not in self._models:
            folder = model_folder(model_spec.name)
            name = str(folder) if folder else model_spec.name
            server = self._add_server(spec, name, launch)
            self._models[spec] = ManagedModel(
                spec.replace(model_spec.name, folder.name) if folder else spec,
                server,
                functools.partial(_open_remote, model_spec.provider, name, model_spec.options),
                functools.partial(_managed_identity, folder=folder, serve=self.serve, environment=environment),
                environment,
            )
        return self._models[spec]

    def _open_single(self, serve: str, file: Path | None) -> tuple[str, ManagedModel]:
        """The only model that the server of `--serve` lists; the server is started for that."""
        environment = server_environment(file) if file is not None else None
        launch = environment.launch("", False, "") if environment else Launch(command=serve)
        server = self._add_server(serve, "", launch)
        listed = _list_models(run_coroutine(server.ensure_ready()))
        if len(listed) != 1:
            listing = f"lists {', '.join(listed)}" if listed else "lists no models"
            raise UsageError(f"the server {listing}; name the one to ask with -m (in Python: models)")
        name = listed[0]
        folder = model_folder(name) if Path(name).is_absolute() else None
        model = ManagedModel(
            folder.name if folder else name,
            server,
            functools.partial(_open_remote, ENVIRONMENT if environment else GENERIC_PROVIDER, name, {}),
            functools.partial(_managed_identity, folder=folder, serve=serve, environment=environment),
            environment,
        )
        self._models[serve] = model
        return model.name, model

    def _add_server(self, spec: str, model: str, launch: Launch) -> ServerProcess:
        if self._timeout is not None:
            launch = replace(launch, ready_seconds=self._timeout)
        safe = re.sub(r"[^A-Za-z0-9._+-]+", "_", model or "server").strip("_.")[-60:]
        log = self._out / LOG_FOLDER / f"{safe}-{datetime.now():%Y%m%d-%H%M%S}.log"
        self._servers[spec] = ServerProcess(launch, model, log, self._notify)
        return self._servers[spec]


@functools.cache
def presets(gpus: int = 1) -> dict[str, Launch]:
    """Launch settings of the known servers (`servers.toml`), by provider; with more than one GPU,
    servers that support it use tensor parallelism."""
    file = Path(__file__).with_name("servers.toml")
    return {
        name: Launch(
            command=_launch_command(entry, gpus),
            revision=entry.get("revision", ""),
            pinned_model=entry.get("pinned_model", _MODEL_FIELD),
            own_code=entry.get("own_code", ""),
            health=tuple(entry["health"]),
            ready_seconds=float(entry["ready_seconds"]),
            install=entry["install"],
        )
        for name, entry in tomllib.loads(file.read_text(encoding="utf-8")).items()
    }


def _launch_command(entry: Mapping[str, str], gpus: int) -> str:
    more = entry.get("tensor_parallel", "")
    return f"{entry['command']} {more.replace(_GPUS_FIELD, str(gpus))}" if more and gpus > 1 else entry["command"]


def server_options(spec: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options of a model of the catalog that a server takes as well, and those that were
    typed."""
    known = {option.name for option in SERVER_OPTIONS}
    typed = split_options(spec)[1]
    return {name: value for name, value in options.items() if name in known or name in typed}


def _open_remote(provider: str, name: str, options: Mapping[str, str], address: str) -> RemoteModel:
    if provider == GENERIC_PROVIDER:
        model = open_model(f"{address}#{name}", options)
    else:
        model = open_model(f"{provider}/{name}", {**options, ADDRESS_OPTION: address})
    if not isinstance(model, RemoteModel):
        raise UsageError(f"{provider} models have no server; --serve expects one that speaks HTTP")
    return model


def _managed_identity(
    inner: Identity, folder: Path | None, serve: str | None, environment: ServerEnvironment | None = None
) -> Identity:
    """The identity of a managed model: a model folder by its content, not its path; a `--serve`
    command with its flags, which may change replies (before port and address are filled in); a
    one-file server by its content."""
    facts = dict(inner.facts)
    if folder is not None:
        facts["revision"] = f"sha256:{folder_digest(folder)}"
    if environment is not None:
        facts["server"] = environment.file.name
        facts["server_code"] = environment.code_digest
        if environment.adapter:
            facts["asked_by"] = environment.adapter
    elif serve is not None:
        facts["server"] = serve
    return Identity(inner.provider, folder.name if folder else inner.name, facts)


def _one_file(serve: str) -> Path | None:
    """The one-file server that `--serve` names; None for a command. Raises UsageError."""
    file = Path(serve).expanduser()
    if not serve.endswith(".py") or "{" in serve or (" " in serve and not file.is_file()):
        return None
    return check_environment_file(file)


def _list_models(base_url: str) -> list[str]:
    """Names of the models that a server lists at /v1/models; empty if it has no such list."""
    listed = get_json(base_url, "/v1/models")
    try:
        return [str(entry["id"]) for entry in listed["data"]]
    except (LookupError, TypeError):
        return []
