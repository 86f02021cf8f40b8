"""Where checkpoints come from: folders, or a server whose list of models grows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from snellen.api.options import RunOptions
from snellen.core.errors import SnellenError, UsageError
from snellen.core.model import Identity, Model
from snellen.models.hf.checkpoint import find_checkpoint
from snellen.models.hf.loading import require
from snellen.models.hf.model import OPTIONS, HuggingFace
from snellen.models.naming.provider import read_options
from snellen.models.naming.registry import is_provider, open_model
from snellen.models.naming.spec import refuse_password, split_options
from snellen.tracking.checkpoints import CheckpointFolder, CheckpointScan, FolderScanner, served_step
from snellen.tracking.kept_copy import keep_copy

KEPT_FOLDER = ".checkpoints"


class CheckpointSource(Protocol):
    """Finds checkpoints, and opens them as models."""

    def scan(self) -> CheckpointScan:
        """Look for checkpoints once. What is wrong with the place itself is a reason, too."""
        ...

    def open(self, checkpoint: CheckpointFolder) -> AbstractContextManager[str | Model]:
        """The model of a checkpoint, for as long as the context lasts. Raises UsageError."""
        ...


def open_source(checkpoints: str, options: RunOptions, base: str | None = None) -> CheckpointSource:
    """The source of `CHECKPOINTS[:key=value,...]`: a folder, a pattern, or the URL of a server. The
    options are those of `hf` models, or of the server's.

    `base` is the model that adapters were trained on, or that has the tokenizer and processor that
    the checkpoints lack. Raises UsageError and MissingExtra.
    """
    refuse_password(checkpoints)
    where, model_options = split_options(checkpoints)
    if where.startswith(("http://", "https://")):
        if "#" in where:
            raise UsageError(
                f"{where} names one model; give the address alone: every model of the "
                "server whose name ends in a step is a checkpoint"
            )
        return ServedCheckpoints(where, model_options)
    provider, _, rest = where.partition("/")
    path = Path(where).expanduser()
    if rest and not path.exists() and is_provider(provider):
        where = rest
    else:
        provider = "hf"
    if path.is_file():
        raise UsageError(f"{path} is a file; expected the folder in which checkpoints appear")
    if provider == "hf" and options.serve is None:
        read_options("hf", model_options, OPTIONS)
        require(f"the checkpoints in {where}", "torch", "transformers")
    # The files of the model that the checkpoints were trained from.
    base_folder = None if base is None else Path(find_checkpoint(base.removeprefix("hf/")).source)
    return _FolderSource(FolderScanner(where), provider, model_options, options, base, base_folder)


class _FolderSource(NamedTuple):
    """Checkpoints in folders, as models of a provider (`hf` if none was named)."""

    scanner: FolderScanner
    provider: str
    model_options: dict[str, str]
    options: RunOptions
    base: str | None
    base_folder: Path | None

    def scan(self) -> CheckpointScan:
        return self.scanner.scan()

    @contextmanager
    def open(self, checkpoint: CheckpointFolder) -> Iterator[str | Model]:
        # Absolute: a replica on a cluster works in another folder.
        home = Path(self.options.out).absolute() / KEPT_FOLDER
        with keep_copy(checkpoint, home, self.base_folder) as folder:
            if self.options.serve is not None:
                yield str(folder)
            elif self.provider != "hf" or self.options.cluster is not None:
                yield _with_options(f"{self.provider}/{folder}", self.model_options)
            else:
                yield self._open_here(checkpoint, folder)

    def _open_here(self, checkpoint: CheckpointFolder, folder: Path) -> Model:
        """The checkpoint as a model of this process, under its own name."""
        if not checkpoint.is_adapter:
            return open_model(f"hf/{folder}", self.model_options)
        base = self.base or _adapter_base(folder)
        prefix = "" if base.startswith("hf/") else "hf/"
        model = open_model(f"{prefix}{base}", {**self.model_options, "adapter": str(folder)})
        if isinstance(model, HuggingFace):
            old = model.identity
            model.identity = Identity(old.provider, checkpoint.name, {**old.facts, "base": old.name})
        return model


class ServedCheckpoints:
    """The models of a server whose names end in a step, as vLLM lists LoRA adapters that were
    loaded while it runs."""

    def __init__(self, address: str, model_options: dict[str, str]) -> None:
        self.address = address.rstrip("/")
        self.model_options = model_options

    def scan(self) -> CheckpointScan:
        from snellen.models.remote.connect import served_models

        try:
            names = served_models(self.address, self.model_options)
        except SnellenError as error:
            return CheckpointScan([], {self.address: str(error)}, True)
        ready: dict[int, CheckpointFolder] = {}
        waiting: dict[str, str] = {}
        for name in sorted(names):
            step = served_step(name)
            if step is None:
                continue
            if step in ready:
                waiting[name] = f"step {step} is {ready[step].name} already"
            else:
                ready[step] = CheckpointFolder(name, Path(name), step)
        return CheckpointScan([ready[step] for step in sorted(ready)], waiting, False)

    @contextmanager
    def open(self, checkpoint: CheckpointFolder) -> Iterator[str | Model]:
        yield _with_options(f"{self.address}#{checkpoint.name}", self.model_options)


def _with_options(name: str, options: dict[str, str]) -> str:
    text = ",".join(f"{key}={value}" for key, value in options.items())
    return f"{name}:{text}" if text else name


def _adapter_base(folder: Path) -> str:
    """The model that an adapter was trained on, by its configuration. Raises UsageError."""
    try:
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
        base = config["base_model_name_or_path"]
    except (OSError, ValueError, LookupError, TypeError):
        base = None
    if not base or not isinstance(base, str):
        raise UsageError(
            f"{folder.name}: adapter_config.json does not name the model that the adapter was "
            "trained on; name it with --base"
        )
    return base
