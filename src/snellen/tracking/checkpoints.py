"""Find the checkpoints of a training run in its folders, and tell which of them are complete.

A checkpoint is written for seconds or minutes, and may be deleted again at any moment
(`save_total_limit`). It is taken when its files are all there and have stopped changing.
"""

from __future__ import annotations

import json
import os
import re
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import NamedTuple

QUIET = 10.0
"""Seconds after which a file that has not changed counts as written."""
CHANGING = "its files changed a moment ago"
CONFIG, _ADAPTER_CONFIG, STATE = "config.json", "adapter_config.json", "trainer_state.json"
_STEP = re.compile(r"(\d+)(?!.*\d)")
_SERVED_STEP = re.compile(r"(?:checkpoint|ckpt|step|iter|epoch|[-_/=@])[-_=]?(\d+)$")
TRAINING_FILES = re.compile(r"optimizer.*|scheduler\.pt|scaler\.pt|rng_state.*|training_args\.bin|trainer_state\.json")
"""Files that only a training run needs: they cannot change a reply."""
_LAST_FILES = ("optimizer.pt", "optimizer.bin", "scheduler.pt", "rng_state.pth")
"""Files that the Trainer writes before `trainer_state.json`, which it writes last."""


@dataclass(frozen=True, slots=True)
class CheckpointFolder:
    """A complete checkpoint."""

    name: str
    path: Path
    step: int
    is_adapter: bool = False
    """Whether it holds a LoRA adapter rather than a whole model."""
    epoch: float | None = None
    stamp: str = ""
    """Sizes and times of its weight files."""


class CheckpointScan(NamedTuple):
    """The result of a scan of the folders."""

    ready: list[CheckpointFolder]
    """Complete checkpoints, by step."""
    waiting: dict[str, str]
    """Why the others are not taken, by name; they may be taken later."""
    may_change: bool
    """Whether a checkpoint is not taken only because its files may still be written."""


@dataclass
class FolderScanner:
    """Looks for checkpoints in the subfolders of a folder, or in the folders that match a pattern
    with `*`; a folder that is a checkpoint itself and holds no other is one."""

    where: str
    quiet: float = QUIET
    _stamps: dict[Path, str] = field(default_factory=dict)
    """Names, sizes and times of the files of each folder at the last look."""

    def scan(self) -> CheckpointScan:
        """Look once. Never raises for a folder that changes meanwhile."""
        ready: list[CheckpointFolder] = []
        waiting: dict[str, str] = {}
        may_change = False
        steps: dict[int, str] = {}
        for folder in self._candidates():
            try:
                reason, settles, stamp = self._problem(folder)
                found = None if reason else _describe(folder, stamp)
            except OSError as error:
                # Deleted or replaced while it was looked at.
                reason, settles, found = f"{error.strerror or error}", True, None
            if found is None:
                waiting[folder.name] = reason or _NO_STEP
                may_change |= settles
            elif found.step in steps:
                waiting[str(folder)] = f"step {found.step} is {steps[found.step]} already"
            else:
                steps[found.step] = found.name
                ready.append(found)
        return CheckpointScan(sorted(ready, key=lambda checkpoint: checkpoint.step), waiting, may_change)

    def _candidates(self) -> list[Path]:
        """Folders that may be checkpoints, in a fixed order."""
        if any(sign in self.where for sign in "*?["):
            folders = [Path(name) for name in glob(str(Path(self.where).expanduser()))]  # noqa: PTH207 - any path
        else:
            root = Path(self.where).expanduser()
            try:
                folders = list(root.iterdir()) if root.is_dir() else []
            except OSError:
                folders = []
            if not any(map(_looks_like_one, folders)) and _looks_like_one(root):
                folders = [root]
        return sorted(
            (folder for folder in folders if _looks_like_one(folder)),
            key=lambda folder: (_step_in(folder.name) or 0, str(folder)),
        )

    def _problem(self, folder: Path) -> tuple[str, bool, str]:
        """Why a folder is not taken, empty if it is complete; whether waiting may help; and the
        stamp of its weight files."""
        files = {path.name: path.stat() for path in folder.iterdir() if path.is_file()}
        stamp = " ".join(_stamp(name, stat) for name, stat in sorted(files.items()))
        unchanged = self._stamps.get(folder) == stamp
        self._stamps[folder] = stamp
        if CONFIG not in files and _ADAPTER_CONFIG not in files:
            return "it has no config.json or adapter_config.json yet", True, ""
        missing = _missing_weights(folder, files)
        if missing:
            return missing, True, ""
        if STATE not in files and any(name in files for name in _LAST_FILES):
            return f"{STATE}, which the Trainer writes last, is not there yet", True, ""
        if STATE in files:
            try:
                json.loads((folder / STATE).read_text(encoding="utf-8"))
            except ValueError:
                return f"{STATE} is not complete", True, ""
        # The time of the last change of content or name, which no copying tool can set back.
        newest = max(max(stat.st_mtime, stat.st_ctime) for stat in files.values())
        if not unchanged and time.time() - newest < self.quiet:
            return CHANGING, True, ""
        weights = [name for name in files if name.endswith((".safetensors", ".bin"))]
        return "", False, " ".join(_stamp(name, files[name]) for name in sorted(weights))


def _stamp(name: str, stat: os.stat_result) -> str:
    return f"{name}:{stat.st_size}:{stat.st_mtime_ns}"


_NO_STEP = (
    "its step is not known: its name has no number, and it has no trainer_state.json; name the folder checkpoint-STEP"
)


def served_step(name: str) -> int | None:
    """The training step in the name of a served model, e.g. `checkpoint-500`, `my-lora_500`; None
    for names that end in no number."""
    found = _SERVED_STEP.search(name)
    return int(found[1]) if found else None


def _looks_like_one(folder: Path) -> bool:
    """Whether a folder is, or is about to be, a checkpoint."""
    name = folder.name
    if name.startswith((".", "tmp-")) or not folder.is_dir():
        return False
    described = any((folder / file).is_file() for file in (CONFIG, _ADAPTER_CONFIG))
    return described or re.fullmatch(r"checkpoint-\d+", name) is not None


def _step_in(name: str) -> int | None:
    found = _STEP.search(name)
    return int(found[1]) if found else None


def _describe(folder: Path, stamp: str) -> CheckpointFolder | None:
    """The checkpoint in a complete folder; None if its step is not known."""
    state: Mapping[str, object] = {}
    with suppress(FileNotFoundError, ValueError):
        content = json.loads((folder / STATE).read_text(encoding="utf-8"))
        state = content if isinstance(content, dict) else {}
    step, epoch = state.get("global_step"), state.get("epoch")
    if not isinstance(step, int):
        step = _step_in(folder.name)
    if step is None:
        return None
    is_adapter = not (folder / CONFIG).is_file()
    epoch = float(epoch) if isinstance(epoch, int | float) else None
    return CheckpointFolder(folder.name, folder, step, is_adapter, epoch, stamp)


def _missing_weights(folder: Path, files: Mapping[str, os.stat_result]) -> str:
    """What is wrong with the weights of a checkpoint; empty if they are complete."""
    index = next((name for name in files if name.endswith(".index.json")), None)
    if index is not None:
        try:
            shards = set(json.loads((folder / index).read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, LookupError, TypeError, AttributeError):
            return f"{index} is not complete"
        absent = sorted(shard for shard in shards if shard not in files)
        if absent:
            return f"{len(absent)} of {len(shards)} weight files are not there yet, e.g. {absent[0]}"
    weights = [name for name in files if name.endswith((".safetensors", ".bin")) and not TRAINING_FILES.fullmatch(name)]
    if not weights:
        folders = [path.name for path in folder.iterdir() if path.is_dir()]
        if any(name.startswith(("pytorch_model_fsdp", "global_step")) for name in folders):
            return (
                "its weights are sharded by FSDP or DeepSpeed; save whole ones "
                "(FULL_STATE_DICT of FSDP, stage3_gather_16bit_weights_on_model_save of DeepSpeed)"
            )
        return "it has no weights (*.safetensors or *.bin) yet"
    for name in weights:
        expected = safetensors_size(folder / name) if name.endswith(".safetensors") else None
        if expected is not None and files[name].st_size < expected:
            return f"{name} has {files[name].st_size:,} of {expected:,} bytes"
    return ""


_UNKNOWN_SIZE = 1 << 62
"""A size larger than any file."""


def safetensors_size(path: Path) -> int | None:
    """The size in bytes that the header of a safetensors file announces; a number above any size if
    the header itself is not complete.

    Format: 8 bytes with the header's length (little-endian), the header (JSON with the offsets of
    each tensor), the tensors.
    """
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            return _UNKNOWN_SIZE
        (length,) = struct.unpack("<Q", start)
        if length > 100_000_000:  # the format's own limit: no safetensors file
            return None
        header = file.read(length)
    if len(header) < length:
        return _UNKNOWN_SIZE
    try:
        tensors = json.loads(header)
        ends = [entry["data_offsets"][1] for name, entry in tensors.items() if name != "__metadata__"]
    except ValueError:
        return _UNKNOWN_SIZE
    except (LookupError, TypeError, AttributeError):
        return None
    size: int = 8 + length + max(ends, default=0)
    return size
