"""A checkpoint that stays while it is evaluated, though the training may delete its own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from snellen.core.errors import UsageError
from snellen.tracking.checkpoints import CONFIG, STATE, TRAINING_FILES, CheckpointFolder


@contextmanager
def keep_copy(checkpoint: CheckpointFolder, home: Path, base: Path | None = None) -> Iterator[Path]:
    """The folder of a checkpoint under `home`, by hard links: it takes no space, and stays when the
    training deletes its own. Files that only training needs are left out. Where the file system has
    no hard links, the checkpoint's own folder.

    Files of the processor and tokenizer that the checkpoint lacks are those of the folder `base`.
    Raises UsageError if the checkpoint is gone.
    """
    target = home / checkpoint.name
    shutil.rmtree(target, ignore_errors=True)  # of a killed process
    try:
        try:
            target.mkdir(parents=True)
            _link_files(checkpoint.path, target)
        except FileNotFoundError:
            raise UsageError(f"{checkpoint.path} was deleted before it could be evaluated") from None
        except OSError:
            # Another file system, or one without hard links.
            shutil.rmtree(target, ignore_errors=True)
            _check_described(checkpoint, checkpoint.path, base)
            yield checkpoint.path
            return
        _check_described(checkpoint, target, base)
        yield target
    finally:
        shutil.rmtree(target, ignore_errors=True)
        with suppress(OSError):
            home.rmdir()


def _link_files(source: Path, target: Path) -> None:
    """Link the files of a folder and of its subfolder `chat_templates`."""
    for path in source.iterdir():
        if path.is_file() and not TRAINING_FILES.fullmatch(path.name):
            os.link(path.resolve(), target / path.name)
    if (source / "chat_templates").is_dir():
        (target / "chat_templates").mkdir()
        _link_files(source / "chat_templates", target / "chat_templates")


_TOKENIZER = "tokenizer_config.json"
_PROCESSORS = ("processor_config.json", "preprocessor_config.json")
_DESCRIPTIONS = ("*.json", "*.jinja", "*.txt", "*.model")
_NOT_DESCRIPTIONS = (CONFIG, "generation_config.json", STATE)


def _check_described(checkpoint: CheckpointFolder, folder: Path, base: Path | None) -> None:
    """Add the files of processor and tokenizer from `base` if the folder lacks them.

    Raises UsageError if they are lacking."""
    if checkpoint.is_adapter:
        return
    needs_processor = False
    with suppress(OSError, ValueError):
        needs_processor = "vision_config" in json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    lacks_tokenizer = not (folder / _TOKENIZER).is_file()
    lacks_processor = not any((folder / name).is_file() for name in _PROCESSORS)
    if not lacks_tokenizer and not (needs_processor and lacks_processor):
        return
    if base is None:
        raise UsageError(
            f"{checkpoint.name} has no {'tokenizer' if lacks_tokenizer else 'processor'}; give the "
            "Trainer processing_class=PROCESSOR, which it then saves, or name the model it was "
            "trained from with --base"
        )
    if folder == checkpoint.path:
        raise UsageError(
            f"{checkpoint.name} has no tokenizer or processor, and files cannot be linked beside "
            f"it: put --out on the file system of {checkpoint.path}"
        )
    for pattern in _DESCRIPTIONS:
        for path in base.glob(pattern):
            if path.name in _NOT_DESCRIPTIONS or path.name.endswith(".index.json"):
                continue
            if not (folder / path.name).exists():
                shutil.copyfile(path, folder / path.name)
