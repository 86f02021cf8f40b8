"""What runs inside a replica on a Ray cluster: one model, and the server it may need."""

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
from snellen.core.model import BatchModel, Model, PreparingModel, SingleModel
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.engine.loop.batching import answered
from snellen.engine.loop.request_broker import Party
from snellen.engine.servers.managed import Servers
from snellen.models.naming.custom import load_file
from snellen.models.naming.registry import open_model
from snellen.store.responses import ResponseStore

_FOLDER = "snellen-replica-"
"""Beginning of the names of folders for the logs of replicas' servers; a process id follows."""


class Answered(NamedTuple):
    """What a replica sends back for a batch."""

    outputs: list[Output]
    batch_size: int
    """Requests that its next batch may hold."""
    largest_batch: int
    """Prompts that its model has computed together at most."""
    remarks: tuple[str, ...] = ()
    """What a reader of the results should know about how they were computed."""


class LostServers(ModelError):
    """The server that a replica asks has ended by itself."""


class Worker:
    """What runs inside an actor: one model. Two calls may be inside it: while one is answered,
    the other's pictures are made ready. A model whose server Snellen starts has it here, on the
    GPUs of the actor."""

    def __init__(self, spec: str, files: Mapping[str, str], gpus: int = 0) -> None:
        self._spec, self._files, self._gpus = spec, files, gpus
        self._working = threading.Lock()
        self._loop = asyncio.new_event_loop()

    def ready(self) -> int:
        """Opens the model and loads its weights; how many requests make a batch."""
        sweep()
        # Made only when a server writes its log there.
        self._servers = Servers(_folder_of(os.getpid()), gpus=self._gpus)
        self._model = opened(self._spec, self._files, self._servers)
        load = getattr(self._model, "load", None)
        if load is not None:
            load()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return batch_of(self._model)

    def answer(self, requests: list[Request], names: list[str], *pictures: bytes) -> Answered:
        """Raises LostServers: the model's server is gone, and with it the replica."""
        outputs = self._outputs(requests, names, pictures)
        lost = self._servers.lost()
        if lost:
            raise LostServers(str(lost[0]))
        model = self._model
        return Answered(
            outputs,
            batch_of(model),
            int(getattr(model, "largest_batch", 0)),
            tuple(getattr(model, "remarks", ())),
        )

    def end(self) -> None:
        """Ends the model's server, and leaves no file behind."""
        self._servers.stop()
        shutil.rmtree(_folder_of(os.getpid()), ignore_errors=True)
        sweep()

    def _outputs(
        self, requests: Sequence[Request], names: Sequence[str], pictures: Sequence[bytes]
    ) -> list[Output]:
        sources = {name: InlineSource(data) for name, data in zip(names, pictures, strict=True)}
        asked = [_with_pictures(request, sources) for request in requests]
        model = self._model
        if isinstance(model, PreparingModel):
            for request in asked:
                model.prepare(request)
        if isinstance(model, BatchModel):
            with self._working:
                return list(answered(model.answer_batch, asked))
        assert isinstance(model, SingleModel)
        party = Party(model, ResponseStore(None))
        return asyncio.run_coroutine_threadsafe(_all(party, asked), self._loop).result()


def _with_pictures(request: Request, sources: Mapping[str, InlineSource]) -> Request:
    parts = (part for message in request.messages for part in message.media())
    media = {part.digest: sources[part.digest] for part in parts if part.digest in sources}
    return replace(request, media=media)


async def _all(party: Party, requests: Sequence[Request]) -> list[Output]:
    return list(await asyncio.gather(*map(party.answer, requests)))


def batch_of(model: Model) -> int:
    if isinstance(model, BatchModel):
        return model.batch_size
    return int(getattr(model, "concurrency", 1))


def opened(spec: str, files: Mapping[str, str], servers: Servers) -> Model:
    """The model by its name, or from a file of the user's own, whose text came along."""
    for path, text in files.items():
        with tempfile.TemporaryDirectory(prefix="snellen-") as folder:
            copy = Path(folder, Path(path).name)
            copy.write_text(text, encoding="utf-8")
            own = load_file(copy).models
        if spec in own:
            return own[spec]
    return servers.managed(spec) or open_model(spec)


def _folder_of(pid: int) -> Path:
    return Path(tempfile.gettempdir(), f"{_FOLDER}{pid}")


def sweep() -> None:
    """Removes what replicas that were killed on this machine have left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        pid = folder.name.removeprefix(_FOLDER)
        if not pid.isdecimal() or not _alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
