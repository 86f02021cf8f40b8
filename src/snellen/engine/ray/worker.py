"""The code that runs inside a Ray actor: one model, and its server if it requires one."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from snellen.core.errors import ModelError
from snellen.core.media import InlineSource
from snellen.core.model import BatchModel, Model, PreparingModel, SingleModel, abilities
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.engine.loop.batching import answer_or_fail
from snellen.engine.loop.request_broker import ModelClient
from snellen.engine.servers.managed import Servers
from snellen.models.naming.custom import load_file
from snellen.models.naming.registry import open_model
from snellen.store.responses import ResponseStore

_FOLDER_PREFIX = "snellen-replica-"
"""Prefix of the folders for the logs of replicas' servers; a process id follows."""


class ReplicaReply(NamedTuple):
    """A replica's reply to a batch."""

    outputs: list[Output]
    batch_size: int
    """Maximum requests of its next batch."""
    largest_batch: int
    """Largest batch that its model has computed."""
    remarks: tuple[str, ...] = ()
    """What readers of the results should know about how they were computed."""


class ReplicaServerLost(ModelError):
    """The server of a replica has ended by itself."""


class ReplicaWorker:
    """The actor's class: one model, and its server on the GPUs of the actor if Snellen starts one.

    Two calls of `answer` may run at once, in threads of the actor: while the model works on one
    batch, the images of the other are prepared. Only `answer_batch` holds the lock.
    """

    def __init__(self, spec: str, files: Mapping[str, str], gpus: int = 0) -> None:
        self._spec, self._files, self._gpus = spec, files, gpus
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()

    def ready(self) -> int:
        """Open the model and load its weights; returns its batch size."""
        remove_stale_logs()
        # The folder is created only when a server writes its log.
        self._servers = Servers(_log_folder(os.getpid()), gpus=self._gpus)
        self._model = open_replica_model(self._spec, self._files, self._servers)
        abilities(self._model).load()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return model_batch_size(self._model)

    def answer(self, requests: list[Request], digests: list[str], *images: bytes) -> ReplicaReply:
        """Answer a batch; `images` are the bytes of the media named by `digests`.

        Raises ReplicaServerLost if the model's server has ended: the replica is lost then.
        """
        outputs = self._answer_requests(requests, digests, images)
        lost = self._servers.lost_servers()
        if lost:
            raise ReplicaServerLost(str(lost[0]))
        of_model = abilities(self._model)
        return ReplicaReply(outputs, model_batch_size(self._model), of_model.largest_batch, of_model.remarks)

    def end(self) -> None:
        """Stop the model's server and delete its files."""
        self._servers.stop()
        shutil.rmtree(_log_folder(os.getpid()), ignore_errors=True)
        remove_stale_logs()

    def _answer_requests(
        self, requests: Sequence[Request], digests: Sequence[str], images: Sequence[bytes]
    ) -> list[Output]:
        sources = {name: InlineSource(data) for name, data in zip(digests, images, strict=True)}
        requests_with_images = [_attach_images(request, sources) for request in requests]
        model = self._model
        if isinstance(model, PreparingModel):
            for request in requests_with_images:
                model.prepare(request)
        if isinstance(model, BatchModel):
            with self._lock:
                return list(answer_or_fail(model.answer_batch, requests_with_images))
        assert isinstance(model, SingleModel)
        client = ModelClient(model, ResponseStore(None))
        return asyncio.run_coroutine_threadsafe(_answer_all(client, requests_with_images), self._loop).result()


def _attach_images(request: Request, sources: Mapping[str, InlineSource]) -> Request:
    parts = (part for message in request.messages for part in message.media())
    media = {part.digest: sources[part.digest] for part in parts if part.digest in sources}
    return replace(request, media=media)


async def _answer_all(client: ModelClient, requests: Sequence[Request]) -> list[Output]:
    return list(await asyncio.gather(*map(client.answer, requests)))


def model_batch_size(model: Model) -> int:
    if isinstance(model, BatchModel):
        return model.batch_size
    return abilities(model).concurrency


def open_replica_model(spec: str, files: Mapping[str, str], servers: Servers) -> Model:
    """Open a model by name, or from a user's model file, whose text was sent along."""
    for path, text in files.items():
        with tempfile.TemporaryDirectory(prefix="snellen-") as folder:
            copy = Path(folder, Path(path).name)
            copy.write_text(text, encoding="utf-8")
            own = load_file(copy).models
        if spec in own:
            return own[spec]
    return servers.open_managed(spec) or open_model(spec)


def _log_folder(pid: int) -> Path:
    return Path(tempfile.gettempdir(), f"{_FOLDER_PREFIX}{pid}")


def remove_stale_logs() -> None:
    """Delete the log folders of replicas that were killed on this machine."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        pid = folder.name.removeprefix(_FOLDER_PREFIX)
        if not pid.isdecimal() or not _is_alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
