"""Find checkpoints and read their descriptions (identity, capabilities) without their weights."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Modality
from snellen.models.file_hash import files_digest
from snellen.models.hf.hub import fetch_config, hub_error
from snellen.settings import Settings

_TEXT_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.py", "chat_templates/*.jinja")
DRAWING_TYPES = frozenset({"janus"})
"""`model_type`s that draw images as well as write (see `drawing`)."""
DRAWING_OPTION_TYPES = frozenset({"emu3"})
"""`model_type`s of which some checkpoints draw, those with the option `draws=yes`."""
_VIDEO_TOKENS = ("video_token_id", "video_token_index")
_VIDEO_TYPES = frozenset({"internvl", "smolvlm", "video_llama_3"})
"""`model_type`s whose processors take videos, although no token stands for them."""
_TEMPLATE_FILES = ("chat_template.jinja", "chat_template.json")
_TEMPLATE_FOLDER = "additional_chat_templates"
_DUPLICATE_FILES = ("original/*", "onnx/*", "openvino/*", "consolidated*")
"""The same weights in other formats, which hub repositories often contain."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint in a folder or on the hub, with the content of its description files."""

    name: str
    source: str
    """Local folder, or the folder of the hub's cache."""
    commit: str | None
    """Hub commit; None for a local folder."""
    revision: str
    """`commit`, or SHA-256 over the folder's files."""
    config: Mapping[str, Any]
    processor: str
    """Declared class of the processor, else of the image processor, else ""."""
    multimodal: bool
    has_processor: bool = True
    """Whether its files declare a processor that joins images and text."""

    def capabilities(self, images: str) -> Capabilities:
        """Inputs and outputs of the model, with the option `images`."""
        if not self.multimodal:
            return Capabilities(inputs=frozenset({"text"}), many_images=False, interleaved=False, log_likelihood=True)
        interleaved = images == "native"
        outputs: tuple[Modality, ...] = (
            ("text", "image") if self.config.get("model_type") in DRAWING_TYPES else ("text",)
        )
        return Capabilities(
            outputs=frozenset(outputs),
            many_images=images != "first",
            interleaved=interleaved,
            log_likelihood=True,
            clips=images == "native" and self.takes_videos and has_torchvision(),
        )

    @property
    def takes_videos(self) -> bool:
        """Whether the architecture takes videos as such, by its tokens for them or its type."""
        has_token = any(self.config.get(name) is not None for name in _VIDEO_TOKENS)
        return has_token or self.config.get("model_type") in _VIDEO_TYPES

    @property
    def is_here(self) -> bool:
        """Whether all of its files are on this machine."""
        return self.commit is None or _is_complete(Path(self.source))

    def declares_chat_template(self) -> bool:
        """Whether one of its files on this machine holds a chat template."""
        folder = Path(self.source)
        if any((folder / name).is_file() for name in _TEMPLATE_FILES):
            return True
        if any((folder / _TEMPLATE_FOLDER).glob("*.jinja")):
            return True
        files = (_read_json(folder / name) or {} for name in (_TOKENIZER, _PROCESSOR))
        return any(file.get("chat_template") for file in files)

    def fetch(self, *, weights: bool = True) -> str:
        """The folder with all files, or with those that describe it, downloaded from the hub unless
        they are in its cache.

        Raises UsageError if they cannot be downloaded, or if there are no weights.
        """
        if self.is_here:
            return self.source
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HTTPError

        fetch = partial(
            snapshot_download,
            self.name,
            revision=self.commit,
            ignore_patterns=_DUPLICATE_FILES,
            local_files_only=Settings.from_environment().offline,
        )
        try:
            folder: str = fetch(allow_patterns=list(_TEXT_FILES))
            if not weights:
                return folder
            fetch(allow_patterns=["*.safetensors"])
            if not _weight_files(Path(folder)):
                fetch(allow_patterns=["*.bin"])
        except (OSError, ValueError, HTTPError) as error:
            raise hub_error(self.name, error, self.commit) from error
        if not _weight_files(Path(folder)):
            raise UsageError(
                f"{self.name} has no weights (*.safetensors or *.bin), or the hub's cache lacks "
                "them; choose another revision, or download them on a machine with a network"
            )
        return folder

    def stored_dtype(self) -> str:
        """The dtype in the configuration; float32 if there is none."""
        for part in (self.config, self.config.get("text_config") or {}):
            dtype = part.get("dtype") or part.get("torch_dtype")
            if isinstance(dtype, str):
                return dtype.removeprefix("torch.")
        return "float32"

    def quantisation(self) -> str:
        """Method and bits of a quantised checkpoint, e.g. `gptq-4`; "" if it is not quantised."""
        settings = self.config.get("quantization_config") or {}
        bits = settings.get("bits") or (settings.get("load_in_4bit") and 4)
        bits = bits or (settings.get("load_in_8bit") and 8)
        return "-".join(str(part) for part in (settings.get("quant_method"), bits) if part)


def has_torchvision() -> bool:
    """Whether the library is installed with which processors prepare videos."""
    return importlib.util.find_spec("torchvision") is not None


def find_checkpoint(name: str, revision: str | None = None, *, needs_tokenizer: bool = True) -> Checkpoint:
    """Find a checkpoint: a local folder, else a hub id, in the hub's cache or online.

    Models that read no text, such as detectors, need no tokenizer. Raises UsageError if there is no
    such folder or id, no config.json, a file that is not JSON, or if a folder lacks files.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise UsageError(f"option revision={revision!r}: {name} is a folder, not a hub id")
        return _find_local(folder, needs_tokenizer)
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise UsageError(f"there is no folder {name}; expected a model folder with a config.json")
    return _find_on_hub(name, revision)


def _find_local(folder: Path, needs_tokenizer: bool) -> Checkpoint:
    config = _read_json(folder / "config.json")
    if config is None:
        raise UsageError(
            f"{folder} has no config.json, so it is not a model folder; expected what "
            "save_pretrained writes: config.json, weights, tokenizer and processor files"
        )
    if not _weight_files(folder):
        raise UsageError(f"{folder} holds no weights (*.safetensors or *.bin)")
    _check_files(folder, needs_tokenizer)
    files = {name: _read_json(folder / name) for name in _PROCESSOR_FILES}
    revision = f"sha256:{folder_digest(folder)}"
    return _describe(folder.resolve().name, str(folder.resolve()), None, revision, config, files)


_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "tekken.json",
    "spiece.model",
)


def _check_files(folder: Path, needs_tokenizer: bool) -> None:
    """Raises UsageError for a model folder that lacks parts of its weights, or a tokenizer."""
    index = _read_json(folder / "model.safetensors.index.json")
    parts = sorted(set(index.get("weight_map", {}).values())) if index else []
    absent = [part for part in parts if not (folder / part).is_file()]
    if absent:
        raise UsageError(
            f"{folder} lacks {len(absent)} of the {len(parts)} files of its weights, e.g. "
            f"{absent[0]}; copy the folder again, or download it whole"
        )
    has_tokenizer = any((folder / name).is_file() for name in _TOKENIZER_FILES)
    if needs_tokenizer and not has_tokenizer:
        raise UsageError(
            f"{folder} has no tokenizer (tokenizer.json, tokenizer_config.json ...), so no prompt "
            "can be read; add the files of the original"
        )


def _find_on_hub(name: str, revision: str | None) -> Checkpoint:
    """The checkpoint of a hub id. Fetches description files only. Raises UsageError."""
    path = fetch_config(name, revision)

    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HTTPError, LocalEntryNotFoundError

    commit = path.parent.name
    cached = Settings.from_environment().offline or _is_complete(path.parent)
    files: dict[str, Mapping[str, Any] | None] = {}
    for file_name in _PROCESSOR_FILES:
        try:
            file_path = hf_hub_download(name, file_name, revision=commit, local_files_only=cached)
            files[file_name] = _read_json(Path(file_path))
        except (OSError, HTTPError, EntryNotFoundError) as error:
            absent = isinstance(error, EntryNotFoundError)
            if not absent or (isinstance(error, LocalEntryNotFoundError) and not cached):
                raise hub_error(name, error, commit) from error
            files[file_name] = None
    return _describe(name, str(path.parent), commit, commit, _read_json(path) or {}, files)


_TOKENIZER = "tokenizer_config.json"
_PROCESSOR, _PREPROCESSOR = "processor_config.json", "preprocessor_config.json"
_PROCESSOR_FILES = (_PROCESSOR, _PREPROCESSOR)


def _describe(
    name: str,
    source: str,
    commit: str | None,
    revision: str,
    config: Mapping[str, Any],
    files: Mapping[str, Mapping[str, Any] | None],
) -> Checkpoint:
    """A checkpoint from its configuration and processor files, which declare the same things in
    different places: older ones in preprocessor_config.json, newer ones in processor_config.json.
    """
    processor, preprocessor = files[_PROCESSOR] or {}, files[_PREPROCESSOR] or {}
    image_processor = processor.get("image_processor") or preprocessor
    declared = (
        processor.get("processor_class")
        or preprocessor.get("processor_class")
        or image_processor.get("image_processor_type")
    )
    multimodal = "vision_config" in config or "image_processor_type" in image_processor
    auto_maps = [part.get("auto_map") or {} for part in (config, processor, preprocessor)]
    has_processor = bool(
        processor or preprocessor.get("processor_class") or any("AutoProcessor" in auto_map for auto_map in auto_maps)
    )
    return Checkpoint(name, source, commit, revision, config, str(declared or ""), multimodal, has_processor)


def folder_digest(folder: Path) -> str:
    """SHA-256 (hex) over names and contents of all files that can change a reply: weights,
    configuration, tokenizer, processor, chat template and the checkpoint's own code."""
    texts = [path for pattern in _TEXT_FILES for path in folder.glob(pattern)]
    return files_digest(folder, [*texts, *_weight_files(folder)])


def _weight_files(folder: Path) -> list[Path]:
    """The weight files that transformers would load."""
    return list(folder.glob("*.safetensors")) or list(folder.glob("*.bin"))


def _is_complete(snapshot: Path) -> bool:
    """Whether a snapshot in the hub's cache is complete: all shards, a tokenizer and, for an image
    model, a processor."""
    index = _read_json(snapshot / "model.safetensors.index.json")
    shards = set(index.get("weight_map", {}).values()) if index else {"model.safetensors"}
    config = _read_json(snapshot / "config.json") or {}
    described = any((snapshot / name).is_file() for name in _PROCESSOR_FILES)
    return (
        all((snapshot / shard).is_file() for shard in shards)
        and (snapshot / _TOKENIZER).is_file()
        and (described or "vision_config" not in config)
    )


def _read_json(path: Path) -> Mapping[str, Any] | None:
    """Read a JSON object; None if there is no such file. Raises UsageError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path} does not hold a JSON object")
    return content
