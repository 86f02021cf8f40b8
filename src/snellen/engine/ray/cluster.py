"""Replicas on a Ray cluster: actors that load the model and answer requests with images.

No shared file system is required: the bytes of a small image travel with each batch about it, those of
a large one through Ray's object store, once to a node. Only the driver uses the response store.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from snellen.core.errors import MediaError, MissingExtra, UsageError, error_lines, first_line
from snellen.core.media import Source
from snellen.core.model import ModelDefaults, RestrictedSampler, abilities
from snellen.core.output import Failure, Output
from snellen.core.recent import RecentValues
from snellen.core.request import Request, Sampling
from snellen.core.watchdog import start_watchdog
from snellen.engine.ray.placement import Placement, RayCluster, wait_for_placement
from snellen.engine.ray.replicas import BATCHES_PER_REPLICA, ReplicaLost, ReplicaPool, ReplicaSlot
from snellen.engine.ray.worker import (
    ReplicaReply,
    ReplicaServerLost,
    ReplicaWorker,
    model_batch_size,
    open_replica_model,
)
from snellen.engine.servers.managed import ManagedModel, Servers
from snellen.engine.servers.process import GRACE
from snellen.models.naming.consent import parse_code
from snellen.settings import first_nonblank

_CONNECT_TIMEOUT = 10.0
"""Seconds within which the head of a cluster must answer."""
# A TCP connection alone does not show that Ray listens: `ray.init` on a port of another server
# tries for more than a minute (Ray 2.60).
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""Connection preface of an HTTP/2 client, with empty settings (RFC 9113, Sec. 3.4). Ray uses gRPC,
which runs over HTTP/2."""
_FRAME_HEADER_SIZE, _FRAME_TYPE_OFFSET, _SETTINGS_FRAME = 9, 3, 4
"""Bytes of a frame header, the offset of the frame type in it, and the type of a server's first
frame."""


def check_reachable(address: str | None) -> None:
    """Raises UsageError if nothing answers at the address, or not Ray. None, `auto` and `local`
    are not checked."""
    if address in (None, "auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"--executor ray:address={address}: expected host:port, e.g. 10.0.0.5:6379, or auto")
    try:
        with socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT) as connection:
            # With TLS the preface would have to be encrypted: being connected must suffice.
            answers = first_nonblank(["RAY_USE_TLS"]) is not None or _speaks_grpc(connection)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"no Ray cluster answers at {address}: {reason}; {start_hint()}") from None
    if not answers:
        raise UsageError(
            f"what answers at {address} is no Ray cluster; give the address that `ray start "
            "--head` printed, whose port is 6379 unless another was given"
        )


def start_hint() -> str:
    return "start one with `ray start --head`, or leave out its address to use this machine alone"


def _speaks_grpc(connection: socket.socket) -> bool:
    """Whether the server answers the HTTP/2 preface with a SETTINGS frame."""
    connection.settimeout(_CONNECT_TIMEOUT)
    received = b""
    try:
        connection.sendall(_HTTP2_PREFACE)
        while len(received) < _FRAME_HEADER_SIZE:
            chunk = connection.recv(_FRAME_HEADER_SIZE - len(received))
            if not chunk:
                return False
            received += chunk
    except (TimeoutError, ConnectionError):
        return False
    return received[_FRAME_TYPE_OFFSET] == _SETTINGS_FRAME


__all__ = ["RayCluster", "ReplicatedModel", "ReplicatedModels", "connect"]

ADDRESS_VARIABLE = "RAY_ADDRESS"
"""Environment variable of Ray's address; `ray job submit` sets it for the job."""
_MAX_IMAGES = 512
"""Images kept in the object store for further requests about them."""
_INLINE_BYTES = 65_536
"""Bytes of an image up to which sending it again takes less than putting it into the object store: what
Ray sends within a call, of 100 kB at most."""


class ReplicatedModel(ModelDefaults):
    """A model that runs as replicas on a cluster.

    It outlives event loops: each run has its own pool, over the same actors. `shut_down` ends the
    actors.
    """

    def __init__(self, spec: str, cluster: RayCluster, files: Sequence[Path] = (), out: Path | None = None) -> None:
        """`out`: the folder of the runs, which are marked as interrupted if Ray ends this
        process."""
        texts = {str(path): path.read_text(encoding="utf-8") for path in files}
        model = open_replica_model(spec, texts, Servers(Path()))
        self.name = model.name if isinstance(model, ManagedModel) else spec
        """The model's name in runs."""
        self.identity = model.identity
        self.capabilities = model.capabilities
        self.max_new_tokens = abilities(model).max_new_tokens
        # Enough flows to fill the batches of all replicas, even after batches have grown.
        max_batch = max(2 * model_batch_size(model), abilities(model).batch_limit)
        self.concurrency = BATCHES_PER_REPLICA * max_batch * cluster.replicas
        self._spec, self._texts, self._cluster = spec, texts, cluster
        self._ray: Any = None
        self._started_ray = False
        self._out = out
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._largest_batch = 0
        self._is_served = isinstance(model, ManagedModel)
        self._sampler = model if isinstance(model, RestrictedSampler) else None
        self.actors: list[Any] = []
        """Actor handles, in the order the actors were started."""
        self._remarks: dict[str, None] = {}
        self._placements = [Placement(cluster) for _ in range(cluster.replicas)]
        self._slots = [ReplicaSlot(partial(self._start, placement)) for placement in self._placements]
        self._pool: tuple[asyncio.AbstractEventLoop, ReplicaPool] | None = None
        self.siblings: Sequence[ReplicatedModel] = ()
        """All replicated models of the command; idle ones release their actors for the next."""

    async def answer(self, request: Request) -> Output:
        loop = asyncio.get_running_loop()
        if self._pool is None or self._pool[0] is not loop:
            self._connect()
            for other in self.siblings:
                if other is not self and other.is_idle:
                    other.release()
            self._pool = (loop, ReplicaPool(self._slots))
        return await self._pool[1].answer(request)

    def cannot_sample(self, sampling: Sampling) -> str | None:
        return self._sampler.cannot_sample(sampling) if self._sampler is not None else None

    @property
    def losses(self) -> int:
        """Number of replicas lost so far."""
        return sum(slot.losses for slot in self._slots)

    @property
    def largest_batch(self) -> int:
        """Prompts of the largest batch that a replica has computed."""
        return self._largest_batch

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks of the replicas on how they computed, and whether all of them could be placed."""
        total, started = len(self._slots), sum(slot.is_started for slot in self._slots)
        shortage = f"the cluster had room for {started} of {total} replicas"
        return (*self._remarks, *([shortage] if 0 < started < total else []))

    @property
    def is_idle(self) -> bool:
        """Whether no run uses the model now."""
        return self._pool is None or self._pool[0].is_closed()

    def shut_down(self) -> None:
        """End the actors, and the cluster if it was started here."""
        if self._ray is None:
            return
        self.release()
        if self._started_ray:
            self._ray.shutdown()
        if self._watchdog is not None:
            self._watchdog.communicate(b"ended\n")
            self._watchdog = None
        self._ray = None

    def release(self) -> None:
        """End the actors and release their placements; the next request starts new ones."""
        if self._ray is None:
            return
        if self._is_served and self.actors:
            ended = [actor.end.remote() for actor in self.actors]
            self._ray.wait(ended, num_returns=len(ended), timeout=GRACE + 1)
        for actor in self.actors:
            self._ray.kill(actor)
        self.actors.clear()
        for slot, placement in zip(self._slots, self._placements, strict=True):
            slot.clear()
            placement.release(self._ray)

    def _connect(self) -> None:
        """Connect to Ray once. Raises MissingExtra, and UsageError if no cluster answers."""
        if self._ray is None:
            self._ray, self._started_ray = connect(self._cluster.address)
            if self._out is not None and self._started_ray:
                self._watchdog = _start_watchdog(self._ray, self._out)

    async def _start(self, placement: Placement) -> RayActor:
        """Start an actor. Raises UsageError if it cannot open the model or no node is large
        enough, and ReplicaLost if it dies."""
        cluster, ray = self._cluster, self._ray
        actor_class = ray.remote(ReplicaWorker).options(
            **placement.options(ray),
            # One more than the batches: `end` must not wait for answers.
            max_concurrency=BATCHES_PER_REPLICA + 1,
        )
        actor = actor_class.remote(self._spec, self._texts, int(cluster.gpus))
        try:
            size = await wait_for_placement(actor.ready.remote(), ray, cluster, can_grow=not self._is_local)
        except ray.exceptions.RayActorError as error:
            if error.actor_init_failed:
                cause = error_lines(error)[-1]  # of a traceback
                raise UsageError(
                    f"a replica of {self._spec} cannot start on its node: {cause}; "
                    "every node needs this version of Snellen, with the extras of the model"
                ) from error
            raise ReplicaLost(first_line(error)) from error
        except ray.exceptions.RayTaskError as error:
            raise UsageError(f"a replica of {self._spec} cannot load it: {first_line(error.cause)}") from error
        self.actors.append(actor)
        return RayActor(ray, actor, size, self._note)

    @property
    def _is_local(self) -> bool:
        """Whether the cluster is this machine."""
        return self._cluster.address is None and first_nonblank([ADDRESS_VARIABLE]) is None

    def _note(self, reply: ReplicaReply) -> None:
        self._largest_batch = max(self._largest_batch, reply.largest_batch)
        self._remarks |= dict.fromkeys(reply.remarks)


class RayActor:
    """A replica that is a Ray actor."""

    def __init__(self, ray: Any, actor: Any, batch_size: int, note: Callable[[ReplicaReply], None]) -> None:
        self.batch_size = batch_size
        self._note = note
        self._ray = ray
        self._actor = actor
        self._objects: RecentValues[Any] = RecentValues(_MAX_IMAGES, lambda _: 1)

    async def answer(self, requests: Sequence[Request]) -> list[Output]:
        """Outputs in the order of the requests. Raises ReplicaLost and UsageError."""
        readable, failures, images = self._upload_images(requests)
        stripped = [replace(request, media={}) for request in readable]
        exceptions = self._ray.exceptions
        try:
            # Ray resolves the object references to bytes on the node.
            reply: ReplicaReply = await self._actor.answer.remote(stripped, list(images), *images.values())
            results, self.batch_size = reply.outputs, reply.batch_size
            self._note(reply)
        except (exceptions.RayActorError, exceptions.ObjectLostError) as error:
            # An actor that is merely unreachable would keep its GPUs from its successor.
            self._ray.kill(self._actor)
            raise ReplicaLost(first_line(error)) from error
        except exceptions.RayTaskError as error:
            if isinstance(error.cause, ReplicaServerLost):
                self._ray.kill(self._actor)
                raise ReplicaLost(first_line(error.cause)) from error
            if isinstance(error.cause, UsageError):
                raise UsageError(str(error.cause)) from error
            message = f"the replica failed: {first_line(error.cause)}"
            results = [Failure("request", message)] * len(stripped)
        outputs = iter(results)
        return [failures[index] if index in failures else next(outputs) for index in range(len(requests))]

    def _upload_images(self, requests: Sequence[Request]) -> tuple[list[Request], dict[int, Failure], dict[str, Any]]:
        """Returns the requests whose images could be read, a Failure by index for the others, and each
        image once, by digest: its bytes, or a reference to them in the object store."""
        readable, failures, images = [], {}, {}
        for index, request in enumerate(requests):
            try:
                for digest, source in request.media.items():
                    if digest not in images:
                        images[digest] = self._image(digest, source)
            except MediaError as error:
                failures[index] = Failure("media", str(error))
            else:
                readable.append(request)
        return readable, failures, images

    def _image(self, digest: str, source: Source) -> Any:
        if digest in self._objects:
            return self._objects.get(digest)
        data = source.read()
        return data if len(data) <= _INLINE_BYTES else self._objects.put(digest, self._ray.put(data))


def _start_watchdog(ray: Any, out: Path) -> subprocess.Popen[bytes]:
    """Start a process that marks the runs if Ray ends this one together with its node."""
    node = getattr(ray._private.worker.global_worker, "node", None)
    raylet = str(getattr(node, "raylet_socket_name", None) or "")
    gcs = str(getattr(node, "gcs_address", None) or "")
    script = Path(__file__).with_name("watchdog.py")
    return start_watchdog(script, str(out.absolute()), raylet, gcs, messages=None)


def connect(address: str | None) -> tuple[Any, bool]:
    """Connect Ray to the cluster at `address` (None: one started on this machine).

    Returns the module, and whether this call connected it, so that the caller must shut it down.
    Raises MissingExtra, and UsageError if no cluster answers, or one of another version of Ray.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("--executor ray", "ray", "ray") from error
    if ray.is_initialized():
        return ray, False
    address = address or first_nonblank([ADDRESS_VARIABLE])
    options: dict[str, Any] = {} if address else {"include_dashboard": False}
    check_reachable(address)
    options |= {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        with _keep_sigterm_handler():
            # Without `local` Ray would join any cluster that runs on this machine.
            ray.init(address=address or "local", **options)
    except ConnectionError as error:
        raise UsageError(f"no Ray cluster answers at {address}: {first_line(error)}; {start_hint()}") from error
    except (RuntimeError, ValueError, ray.exceptions.RayError) as error:
        # For example, the cluster runs another version of Ray or Python.
        where = f"the Ray cluster at {address}" if address else "a Ray cluster here"
        raise UsageError(f"{where} cannot be used: {first_line(error)}") from error
    return ray, True


@contextmanager
def _keep_sigterm_handler() -> Iterator[None]:
    """Restore the SIGTERM handler after the block: Ray installs one that ends the process at
    once."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


class ReplicatedModels:
    """All replicated models of one command. As a context manager it ends their actors."""

    def __init__(self, cluster: RayCluster, files: Sequence[Path | str] = (), out: Path | None = None) -> None:
        self._cluster = cluster
        self._out = out
        self._files = [Path(file) for file in files if parse_code(str(file)) is None]
        self._models: list[ReplicatedModel] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for model in self._models:
            model.release()
        # Only now: shutting down the model that connected Ray disconnects all of them.
        for model in self._models:
            model.shut_down()

    @property
    def running(self) -> bool:
        """Whether any replica was started and not ended since."""
        return any(model.actors for model in self._models)

    def open_model(self, spec: object) -> ReplicatedModel:
        """The model of that name as replicas. Raises UsageError for a model that is an object of
        this process."""
        if not isinstance(spec, str):
            raise UsageError(
                "replicas on Ray open a model by its name, and an object in this process has none; "
                "put its class into a file, and name that with --load (in Python load=), or leave "
                "Ray out"
            )
        model = ReplicatedModel(spec, self._cluster, self._files, self._out)
        model.siblings = self._models
        self._models.append(model)
        return model
