"""Replicas on a Ray cluster: actors that load the model and are sent requests with their pictures.

No file system is shared: the bytes of a picture travel with the first request that shows it to a
node, through Ray's object store. The driver alone holds the store of responses.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec.structs import replace

from snellen.core.errors import MediaError, MissingExtra, UsageError
from snellen.core.model import Sampler
from snellen.core.output import Failure, Output
from snellen.core.request import Request, Sampling
from snellen.engine.ray.placement import Cluster, Place, granted
from snellen.engine.ray.replicas import AT_HAND, Pool, ReplicaLost, Slot
from snellen.engine.ray.worker import Answered, LostServers, Worker, batch_of, opened
from snellen.engine.servers.managed import Managed, Servers
from snellen.engine.servers.process import GRACE
from snellen.settings import first_set

_REACH = 10.0
"""Seconds in which the head of a cluster must be reached."""
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""What a client of HTTP/2 says first, with empty settings (RFC 9113, Sec. 3.4). Ray speaks gRPC,
which is HTTP/2."""
_FRAME, _KIND, _SETTINGS = 9, 3, 4
"""Bytes of a frame's header, where in it the kind stands, and the kind a server begins with."""


def check_reachable(address: str | None) -> None:
    """Raises UsageError for an address where nobody, or not Ray, answers. None, `auto` and
    `local` name no address."""
    if address in (None, "auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"--address {address!r}: expected host:port, e.g. 10.0.0.5:6379, or auto")
    try:
        with socket.create_connection((host, int(port)), timeout=_REACH) as connection:
            # Behind TLS nothing is said in the open.
            answers = first_set(["RAY_USE_TLS"]) is not None or _speaks_grpc(connection)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"no Ray cluster answers at {address}: {said}; {how_to_start()}") from None
    if not answers:
        raise UsageError(
            f"what answers at {address} is no Ray cluster; give the address that `ray start "
            "--head` printed, whose port is 6379 unless another was given"
        )


def how_to_start() -> str:
    return "start one with `ray start --head`, or leave --address out to use this machine alone"


def _speaks_grpc(connection: socket.socket) -> bool:
    connection.settimeout(_REACH)
    heard = b""
    try:
        connection.sendall(_PREFACE)
        while len(heard) < _FRAME:
            some = connection.recv(_FRAME - len(heard))
            if not some:
                return False
            heard += some
    except (TimeoutError, ConnectionError):
        return False
    return heard[_KIND] == _SETTINGS


__all__ = ["Cluster", "Replicas", "Spread", "connect"]

ADDRESS = "RAY_ADDRESS"
"""Where Ray itself looks for an address; set in what `ray job submit` starts."""
_PICTURES = 512
"""Pictures kept in the object store for the next requests about them."""


class Spread:
    """A model as replicas on a cluster. Lives across event loops; `shut` ends the actors."""

    def __init__(
        self, spec: str, cluster: Cluster, files: Sequence[Path] = (), out: Path | None = None
    ) -> None:
        """`out`: where the runs are kept, to be marked should Ray end this process."""
        texts = {str(path): path.read_text(encoding="utf-8") for path in files}
        model = opened(spec, texts, Servers(Path()))
        self.name = getattr(model, "name", spec)
        """What runs go by."""
        self.identity = model.identity
        self.capabilities = model.capabilities
        self.max_new_tokens: int | None = getattr(model, "max_new_tokens", None)
        # Enough for the batches that a replica holds when they have grown.
        most = max(2 * batch_of(model), int(getattr(model, "batch_limit", 0)))
        self.concurrency = AT_HAND * most * cluster.replicas
        self._spec, self._texts, self._cluster = spec, texts, cluster
        self._ray: Any = None
        self._began_ray = False
        self._out = out
        self._watcher: subprocess.Popen[bytes] | None = None
        self.largest_batch = 0
        """Prompts that a replica has computed together at most, as far as it tells."""
        self._served = isinstance(model, Managed)
        self._sampler = model if isinstance(model, Sampler) else None
        self.actors: list[Any] = []
        """Handles of the actors, in the order they were started."""
        self._remarks: dict[str, None] = {}
        self._places = [Place(cluster) for _ in range(cluster.replicas)]
        self._slots = [Slot(partial(self._start, place)) for place in self._places]
        self._pool: tuple[asyncio.AbstractEventLoop, Pool] | None = None
        self.beside: Sequence[Spread] = ()
        """Every model of the same command; those whose runs have ended make room."""

    async def answer(self, request: Request) -> Output:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._pool[0] is not loop:
            self._connect()
            for other in self.beside:
                if other is not self and other.rests:
                    other.release()
            self._pool = (loop, Pool(self._slots))
        return await self._pool[1].answer(request)

    def cannot_sample(self, sampling: Sampling) -> str | None:
        return self._sampler.cannot_sample(sampling) if self._sampler is not None else None

    @property
    def losses(self) -> int:
        """Replicas lost so far."""
        return sum(slot.losses for slot in self._slots)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the replicas say of how they computed, and whether all of them found room."""
        wanted, there = len(self._slots), sum(slot.started for slot in self._slots)
        few = f"the cluster had room for {there} of {wanted} replicas"
        return (*self._remarks, *([few] if 0 < there < wanted else []))

    @property
    def rests(self) -> bool:
        """Whether the run that asked it has ended."""
        return self._pool is None or self._pool[0].is_closed()

    def shut(self) -> None:
        """End the actors, and the cluster if it was started here."""
        if self._ray is None:
            return
        self.release()
        if self._began_ray:
            self._ray.shutdown()
        if self._watcher is not None:
            self._watcher.communicate(b"ended\n")
            self._watcher = None
        self._ray = None

    def release(self) -> None:
        """End the actors and give back their places; the next request starts others."""
        if self._ray is None:
            return
        if self._served and self.actors:
            ended = [actor.end.remote() for actor in self.actors]
            self._ray.wait(ended, num_returns=len(ended), timeout=GRACE + 1)
        for actor in self.actors:
            self._ray.kill(actor)
        self.actors.clear()
        for slot, place in zip(self._slots, self._places, strict=True):
            slot.empty()
            place.give_back(self._ray)

    def _connect(self) -> None:
        """Raises MissingExtra, and UsageError for an address where nobody answers."""
        if self._ray is None:
            self._ray, self._began_ray = connect(self._cluster.address)
            if self._out is not None and self._began_ray:
                self._watcher = _watched(self._ray, self._out)

    async def _start(self, place: Place) -> _Actor:
        """Raises UsageError when the model cannot be opened there, or no node is large enough,
        and ReplicaLost."""
        cluster, ray = self._cluster, self._ray
        made = ray.remote(Worker).options(
            **place.options(ray),
            # One more for `end`, which must not wait for answers.
            max_concurrency=AT_HAND + 1,
        )
        actor = made.remote(self._spec, self._texts, int(cluster.gpus))
        try:
            size = await granted(actor.ready.remote(), ray, cluster, grows=not self._alone)
        except ray.exceptions.RayActorError as error:
            if error.actor_init_failed:
                raise UsageError(
                    f"a replica of {self._spec} cannot start on its node: {_last(error)}; every "
                    "node needs this version of Snellen, with the extras of the model"
                ) from error
            raise ReplicaLost(_first(error)) from error
        except ray.exceptions.RayTaskError as error:
            raise UsageError(
                f"a replica of {self._spec} cannot load it: {_first(error.cause)}"
            ) from error
        self.actors.append(actor)
        return _Actor(ray, actor, size, self._note)

    @property
    def _alone(self) -> bool:
        """Whether the cluster is this machine."""
        return self._cluster.address is None and first_set([ADDRESS]) is None

    def _note(self, told: Answered) -> None:
        self.largest_batch = max(self.largest_batch, told.largest_batch)
        self._remarks |= dict.fromkeys(told.remarks)


class _Actor:
    """A replica that is a Ray actor."""

    def __init__(
        self, ray: Any, actor: Any, batch_size: int, note: Callable[[Answered], None]
    ) -> None:
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
            told: Answered = await self._actor.answer.remote(
                bare, names, *(self._kept[name] for name in names)
            )
            found, self.batch_size = told.outputs, told.batch_size
            self._note(told)
        except (exceptions.RayActorError, exceptions.ObjectLostError) as error:
            # One that only cannot be reached would keep its GPUs from the next.
            self._ray.kill(self._actor)
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


def _watched(ray: Any, out: Path) -> subprocess.Popen[bytes]:
    """A process that says so, and marks the runs, should Ray end this one with its node."""
    node = getattr(ray._private.worker.global_worker, "node", None)
    raylet = str(getattr(node, "raylet_socket_name", None) or "")
    gcs = str(getattr(node, "gcs_address", None) or "")
    script = Path(__file__).with_name("watchdog.py")
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(script), str(out.absolute()), raylet, gcs],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        # What it has to say goes where this process would have said it.
        stderr=None,
        start_new_session=True,
    )


def connect(address: str | None) -> tuple[Any, bool]:
    """Ray, connected to the cluster at `address` (None: one started on this machine), and whether
    this call connected it, so that its caller shuts it down.

    Raises MissingExtra, and UsageError for an address where nobody answers, or not as this
    version of Ray does."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("--executor ray", "ray", "ray") from error
    if ray.is_initialized():
        return ray, False
    address = address or first_set([ADDRESS])
    here: dict[str, Any] = {} if address else {"include_dashboard": False}
    check_reachable(address)
    here |= {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        with _own_signals():
            # Without `local` Ray would join any cluster that was started on this machine.
            ray.init(address=address or "local", **here)
    except ConnectionError as error:
        raise UsageError(
            f"no Ray cluster answers at {address}: {_first(error)}; {how_to_start()}"
        ) from error
    except (RuntimeError, ValueError, ray.exceptions.RayError) as error:
        # E.g. another version of Ray or of Python there.
        where = f"the Ray cluster at {address}" if address else "a Ray cluster here"
        raise UsageError(f"{where} cannot be used: {_first(error)}") from error
    return ray, True


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray has its own handler of SIGTERM, which ends the process on the spot."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


class Replicas:
    """Every model of one command that is spread over a cluster. As a context it ends their
    actors, however the block ends."""

    def __init__(
        self,
        cluster: Cluster | None,
        files: Sequence[Path | str] = (),
        out: Path | None = None,
    ) -> None:
        self._cluster = cluster
        self._out = out
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
            one.release()
        # Last, since the first that leaves a cluster takes the others with it.
        for one in self._spread:
            one.shut()

    @property
    def running(self) -> bool:
        """Whether any replica was started and not ended since."""
        return any(one.actors for one in self._spread)

    def of(self, spec: str) -> Spread | None:
        """The model of that name as replicas, or None where no cluster is asked for."""
        if self._cluster is None:
            return None
        made = Spread(spec, self._cluster, self._files, self._out)
        made.beside = self._spread
        self._spread.append(made)
        return made


def _first(error: object) -> str:
    return _lines(error)[0]


def _last(error: object) -> str:
    """What a traceback ends with."""
    return _lines(error)[-1]


def _lines(error: object) -> list[str]:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines or [type(error).__name__]
