"""Replicas on a Ray cluster: actors that load the model and are sent requests with their pictures.

No file system is shared: the bytes of a picture travel with the first request that shows it to a
node, through Ray's object store. The driver alone holds the store of responses.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec.structs import replace

from snellen.core.errors import MediaError, MissingExtra, UsageError
from snellen.core.output import Failure, Output
from snellen.core.request import Request
from snellen.engine.managed import Managed, Servers
from snellen.engine.ray_worker import LostServers, Worker, batch_of, opened
from snellen.engine.replicas import AT_HAND, Pool, ReplicaLost, Slot
from snellen.engine.serving import GRACE

_REACH = 10.0
"""Seconds in which the head of a cluster must be reached."""
_PICTURES = 512
"""Pictures kept in the object store for the next requests about them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where replicas run and what each is given."""

    address: str | None = None
    """Of a running cluster, or `auto`; None starts one on this machine."""
    replicas: int = 1
    gpus: float = 0.0
    """GPUs of one replica."""
    cpus: float = 1.0
    """CPU cores of one replica."""


class Spread:
    """A model as replicas on a cluster. Lives across event loops; `shut` ends the actors."""

    def __init__(self, spec: str, cluster: Cluster, files: Sequence[Path] = ()) -> None:
        texts = {str(path): path.read_text(encoding="utf-8") for path in files}
        model = opened(spec, texts, Servers(Path()))
        self.name = getattr(model, "name", spec)
        """What runs go by."""
        self.identity = model.identity
        self.capabilities = model.capabilities
        self.max_new_tokens: int | None = getattr(model, "max_new_tokens", None)
        self.concurrency = 2 * AT_HAND * batch_of(model) * cluster.replicas
        self._spec, self._texts, self._cluster = spec, texts, cluster
        self._ray: Any = None
        self._began_ray = False
        self.largest_batch = 0
        """Prompts that a replica has computed together at most, as far as it tells."""
        self._served = isinstance(model, Managed)
        self.actors: list[Any] = []
        """Handles of the actors, in the order they were started."""
        self._slots = [Slot(self._start) for _ in range(cluster.replicas)]
        self._pool: tuple[asyncio.AbstractEventLoop, Pool] | None = None

    async def answer(self, request: Request) -> Output:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._pool[0] is not loop:
            self._connect()
            self._pool = (loop, Pool(self._slots))
        return await self._pool[1].answer(request)

    @property
    def losses(self) -> int:
        """Replicas lost so far."""
        return sum(slot.losses for slot in self._slots)

    def shut(self) -> None:
        """End the actors, and the cluster if it was started here."""
        if self._ray is None:
            return
        if self._served and self.actors:
            ended = [actor.end.remote() for actor in self.actors]
            self._ray.wait(ended, num_returns=len(ended), timeout=GRACE + 1)
        for actor in self.actors:
            self._ray.kill(actor)
        self.actors.clear()
        if self._began_ray:
            self._ray.shutdown()
        self._ray = None

    def _connect(self) -> None:
        """Raises MissingExtra, and UsageError for an address where nobody answers."""
        if self._ray is None:
            self._ray, self._began_ray = connect(self._cluster.address)

    async def _start(self) -> _Actor:
        """Raises UsageError when the model cannot be opened there, and ReplicaLost."""
        cluster, ray = self._cluster, self._ray
        made = ray.remote(Worker).options(
            num_cpus=cluster.cpus,
            num_gpus=cluster.gpus,
            # One more for `end`, which must not wait for answers.
            max_concurrency=AT_HAND + 1,
        )
        actor = made.remote(self._spec, self._texts, int(cluster.gpus))
        try:
            size = await actor.ready.remote()
        except ray.exceptions.RayActorError as error:
            raise ReplicaLost(_first(error)) from error
        except ray.exceptions.RayTaskError as error:
            raise UsageError(
                f"a replica of {self._spec} cannot load it: {_first(error.cause)}"
            ) from error
        self.actors.append(actor)
        return _Actor(ray, actor, size, self._note)

    def _note(self, largest_batch: int) -> None:
        self.largest_batch = max(self.largest_batch, largest_batch)


class _Actor:
    """A replica that is a Ray actor."""

    def __init__(self, ray: Any, actor: Any, batch_size: int, note: Callable[[int], None]) -> None:
        self.batch_size = batch_size
        self._note = note
        self._ray = ray
        self._actor = actor
        self._kept: OrderedDict[str, Any] = OrderedDict()

    async def answer(self, requests: Sequence[Request]) -> list[Output]:
        readable, failures = self._readable(requests)
        names = list({part.digest for one in readable for message in one.messages
                      for part in message.media()})  # fmt: skip
        bare = [replace(one, media={}) for one in readable]
        exceptions = self._ray.exceptions
        try:
            told = await self._actor.answer.remote(
                bare, names, *(self._kept[name] for name in names)
            )
            found, self.batch_size, largest_batch = told
            self._note(largest_batch)
        except (exceptions.RayActorError, exceptions.ObjectLostError) as error:
            raise ReplicaLost(_first(error)) from error
        except exceptions.RayTaskError as error:
            if isinstance(error.cause, LostServers):
                self._ray.kill(self._actor)
                raise ReplicaLost(_first(error.cause)) from error
            if isinstance(error.cause, UsageError):
                raise UsageError(str(error.cause)) from error
            message = f"the replica failed: {_first(error.cause)}"
            found = [Failure("request", message)] * len(bare)
        outputs = iter(found)
        self._forget()
        return [failures[at] if at in failures else next(outputs) for at in range(len(requests))]

    def _readable(self, requests: Sequence[Request]) -> tuple[list[Request], dict[int, Failure]]:
        """Puts the pictures into the object store; those that cannot be read fail their request."""
        readable, failures = [], {}
        for place, request in enumerate(requests):
            try:
                for digest, source in request.media.items():
                    if digest not in self._kept:
                        self._kept[digest] = self._ray.put(source.read())
                    self._kept.move_to_end(digest)
            except MediaError as error:
                failures[place] = Failure("media", str(error))
            else:
                readable.append(request)
        return readable, failures

    def _forget(self) -> None:
        while len(self._kept) > _PICTURES:
            self._kept.popitem(last=False)


def connect(address: str | None) -> tuple[Any, bool]:
    """Ray, connected to the cluster at `address` (None: one started on this machine), and whether
    this call connected it, so that its caller shuts it down.

    Raises MissingExtra, and UsageError for an address where nobody answers."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("--executor ray", "ray", "ray") from error
    if ray.is_initialized():
        return ray, False
    here: dict[str, Any] = {} if address else {"include_dashboard": False}
    _check_reachable(address)
    here |= {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        ray.init(address=address, **here)
    except ConnectionError as error:
        raise UsageError(
            f"no Ray cluster answers at {address}: {error}; start one with "
            "`ray start --head`, or leave --address out to use this machine alone"
        ) from error
    return ray, True


def _check_reachable(address: str | None) -> None:
    """Ray itself waits minutes for a cluster that is not there. Raises UsageError."""
    if address is None or address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"--address {address!r}: expected host:port, e.g. 10.0.0.5:6379, or auto")
    try:
        socket.create_connection((host, int(port)), timeout=_REACH).close()
    except OSError as error:
        raise UsageError(
            f"no Ray cluster answers at {address}: {error.strerror or error}; start one with "
            "`ray start --head`, or leave --address out to use this machine alone"
        ) from error


class Replicas:
    """Every model of one command that is spread over a cluster. As a context it ends their
    actors, however the block ends."""

    def __init__(self, cluster: Cluster | None, files: Sequence[Path | str] = ()) -> None:
        self._cluster = cluster
        self._files = [Path(file) for file in files]
        self._spread: list[Spread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for one in self._spread:
            one.shut()

    def of(self, spec: str) -> Spread | None:
        """The model of that name as replicas, or None where no cluster is asked for."""
        if self._cluster is None:
            return None
        self._spread.append(Spread(spec, self._cluster, self._files))
        return self._spread[-1]


def _first(error: object) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
