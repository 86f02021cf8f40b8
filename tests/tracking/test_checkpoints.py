"""Which folders are checkpoints, when they are complete, and how they are kept."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from training_runs import make_checkpoint, write_state

from snellen.core.errors import UsageError
from snellen.tracking.checkpoints import CheckpointFolder, FolderScanner, safetensors_size, served_step
from snellen.tracking.kept_copy import keep_copy


def settled(where: Path | str) -> FolderScanner:
    """A scanner for which files that were just written are quiet."""
    return FolderScanner(str(where), quiet=0.0)


def test_complete_checkpoints_come_by_step(tmp_path: Path) -> None:
    for step in (1000, 200, 90):
        make_checkpoint(tmp_path, step, 1.0)
    (tmp_path / "runs").mkdir()
    (tmp_path / "tmp-checkpoint-1100").mkdir()
    found = settled(tmp_path).scan()
    assert [(one.name, one.step, one.epoch) for one in found.ready] == [
        ("checkpoint-90", 90, 0.9),
        ("checkpoint-200", 200, 2.0),
        ("checkpoint-1000", 1000, 10.0),
    ]
    assert found.waiting == {}


def test_a_pattern_and_a_single_folder(tmp_path: Path) -> None:
    one = make_checkpoint(tmp_path / "first", 10, 1.0)
    make_checkpoint(tmp_path / "second", 20, 1.0)
    pattern = settled(tmp_path / "*" / "checkpoint-*").scan()
    assert [found.step for found in pattern.ready] == [10, 20]
    assert [found.step for found in settled(one).scan().ready] == [10]
    assert settled(tmp_path / "none").scan().ready == []


def test_two_checkpoints_of_one_step_are_not_both_taken(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "first", 10, 1.0)
    make_checkpoint(tmp_path / "second", 10, 1.0)
    found = settled(tmp_path / "*" / "checkpoint-*").scan()
    assert len(found.ready) == 1
    assert list(found.waiting.values()) == ["step 10 is checkpoint-10 already"]


def drop(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def cut(name: str, size: int) -> Callable[[Path], object]:
    return lambda folder: os.truncate(folder / name, size)


def shard(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def fsdp(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model_fsdp_0").mkdir()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (drop("config.json"), "it has no config.json or adapter_config.json yet"),
        (drop("model.safetensors"), "it has no weights (*.safetensors or *.bin) yet"),
        (cut("model.safetensors", 5), "model.safetensors has 5 of"),
        (cut("model.safetensors", 2000), "model.safetensors has 2,000 of"),
        (cut("model.safetensors", 3_000_000), "model.safetensors has 3,000,000 of 3,442,"),
        (shard, "1 of 2 weight files are not there yet, e.g. model-00002-of-00002.safetensors"),
        (drop("trainer_state.json"), "trainer_state.json, which the Trainer writes last, is not"),
        (cut("trainer_state.json", 10), "trainer_state.json is not complete"),
        (fsdp, "its weights are sharded by FSDP or DeepSpeed"),
    ],
)
def test_half_written_checkpoints_wait(tmp_path: Path, damage: Callable[[Path], object], reason: str) -> None:
    damage(make_checkpoint(tmp_path, 10, 1.0))
    found = settled(tmp_path).scan()
    assert found.ready == []
    assert found.waiting["checkpoint-10"].startswith(reason)
    assert found.may_change


def test_files_that_still_change_wait_for_one_more_look(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path, 10, 1.0)
    scanner = FolderScanner(str(tmp_path), quiet=1000.0)
    assert scanner.scan().waiting == {"checkpoint-10": "its files changed a moment ago"}
    with (folder / "optimizer.pt").open("ab") as file:
        file.write(b"more")
    assert not scanner.scan().ready
    assert [one.step for one in scanner.scan().ready] == [10]


def test_a_checkpoint_of_another_library_has_no_trainer_state(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path, 10, 1.0, state=False)
    (folder / "optimizer.pt").unlink()
    folder.rename(tmp_path / "step_0020")
    assert [one.step for one in settled(tmp_path).scan().ready] == [20]


def test_reports_checkpoint_without_a_step(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path, 10, 1.0, state=False)
    (folder / "optimizer.pt").unlink()
    folder.rename(tmp_path / "final")
    found = settled(tmp_path).scan()
    assert found.ready == []
    assert "its step is not known" in found.waiting["final"]
    write_state(tmp_path / "final", 70)
    assert [one.step for one in settled(tmp_path).scan().ready] == [70]


def test_an_adapter_is_a_checkpoint(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path, 10, 1.0)
    (folder / "config.json").unlink()
    (folder / "adapter_config.json").write_text("{}")
    assert [one.is_adapter for one in settled(tmp_path).scan().ready] == [True]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("checkpoint-500", 500),
        ("my-lora_1500", 1500),
        ("runs/a/checkpoint-20", 20),
        ("sql-lora@7", 7),
        ("step300", 300),
        ("Qwen2-VL-2B", None),
        ("llava-1.5", None),
        ("gpt4", None),
        ("base", None),
    ],
)
def test_steps_of_served_models(name: str, step: int | None) -> None:
    assert served_step(name) == step


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (struct.pack("<Q", 2) + b"{}", 10),
        (struct.pack("<Q", 40) + b"{}", 1 << 62),
        (struct.pack("<Q", 1 << 40) + b"{}", None),
        (b"abc", 1 << 62),
    ],
)
def test_sizes_of_safetensors_headers(tmp_path: Path, content: bytes, size: int | None) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    assert safetensors_size(path) == size


def test_a_kept_copy_outlives_the_checkpoint(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path / "ckpts", 10, 1.0)
    size = (folder / "model.safetensors").stat().st_size
    checkpoint = CheckpointFolder("checkpoint-10", folder, 10)
    with keep_copy(checkpoint, tmp_path / "kept") as kept:
        shutil.rmtree(folder)
        assert (kept / "model.safetensors").stat().st_size == size
        assert not (kept / "optimizer.pt").exists()
        assert not (kept / "trainer_state.json").exists()
    assert not (tmp_path / "kept").exists()
    gone = pytest.raises(UsageError, match="was deleted before it could be evaluated")
    with gone, keep_copy(checkpoint, tmp_path / "kept"):
        pass


def test_without_hard_links_the_checkpoint_itself_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_checkpoint(tmp_path / "ckpts", 10, 1.0)

    def no_links(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", no_links)
    with keep_copy(CheckpointFolder("checkpoint-10", folder, 10), tmp_path / "kept") as kept:
        assert kept == folder
    assert (folder / "model.safetensors").exists()


def test_missing_tokenizers_come_from_the_base(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path / "ckpts", 10, 1.0, described=False)
    base = make_checkpoint(tmp_path / "base", 1, 0.0)
    checkpoint = CheckpointFolder("checkpoint-10", folder, 10)
    with (
        pytest.raises(UsageError, match=r"no tokenizer.*processing_class.*--base"),
        keep_copy(checkpoint, tmp_path / "kept"),
    ):
        pass
    with keep_copy(checkpoint, tmp_path / "kept", base) as kept:
        assert (kept / "tokenizer.json").exists()
        assert not (kept / "trainer_state.json").exists()
    assert not (folder / "tokenizer.json").exists()
