"""Prompts made ready in several threads ahead of the model."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from questions_for_models import ask, noise, rank

from snellen.core.output import Generated
from snellen.models.hf import tokenise
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.model import HuggingFace
from snellen.models.hf.prefetch import PromptPrefetcher, count_workers
from snellen.models.hf.tokenise import TokenisedPrompt
from snellen.models.image_cache import ImageCache
from snellen.models.naming.registry import open_model

Folder = Callable[[str], Path]
REQUESTS = [
    request
    for seed in range(6)
    for request in (
        ask(f"What is picture {seed}?", noise(seed, 30 + seed, 40)),
        ask("Is it red?", noise(seed, 30 + seed, 40)),
        rank("What is it?", ("a star", "a red square"), noise(seed, 30 + seed, 40)),
    )
] + [ask("no picture"), rank("Which?", ("one", "two"))]


def loaded_from(folder: Path) -> LoadedModel:
    model = open_model(f"hf/{folder}")
    assert isinstance(model, HuggingFace)
    return model.load()


def alike(one: TokenisedPrompt, other: TokenisedPrompt) -> bool:
    return (
        (one.ids, one.image_prefix_length, one.image_digests, one.scored_tokens)
        == (other.ids, other.image_prefix_length, other.image_digests, other.scored_tokens)
        and one.media.keys() == other.media.keys()
        and all(torch.equal(one.media[name], other.media[name]) for name in one.media)
    )


@pytest.mark.parametrize("family", ["llava", "idefics3"])
def test_several_threads_make_the_same_rows_and_decode_each_picture_once(
    checkpoint: Folder, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    loaded = loaded_from(checkpoint(family))
    one = PromptPrefetcher(loaded, "native", 64, workers=1)
    expected = [one.get(request) for request in REQUESTS]
    decoded: dict[str, list[int]] = defaultdict(list)
    plain = ImageCache.get

    def get(self: ImageCache, digest: str, sources: Any) -> Any:
        if digest not in self._images:
            decoded[digest].append(threading.get_ident())
        return plain(self, digest, sources)

    monkeypatch.setattr(ImageCache, "get", get)
    several = PromptPrefetcher(loaded, "native", 64, workers=4)
    for request in REQUESTS:
        several.start(request)
    found = [several.get(request) for request in REQUESTS]
    for mine, theirs in zip(found, expected, strict=True):
        assert len(mine) == len(theirs)
        assert all(map(alike, mine, theirs))
    assert len(decoded) == 6
    assert all(len(threads) == 1 for threads in decoded.values())
    assert len({threads[0] for threads in decoded.values()}) > 1, "one thread did it all"


def test_pictures_are_decoded_side_by_side(checkpoint: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = loaded_from(checkpoint("llava"))
    inside, most, lock = 0, 0, threading.Lock()
    plain = tokenise.render

    def slow(*given: Any) -> Any:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.2)
        with lock:
            inside -= 1
        return plain(*given)

    monkeypatch.setattr(tokenise, "render", slow)
    preparing = PromptPrefetcher(loaded, "native", 64, workers=4)
    for request in REQUESTS:
        preparing.start(request)
    for request in REQUESTS:
        preparing.get(request)
    assert most > 1


def test_no_more_is_made_ahead_than_there_is_room_for(checkpoint: Folder) -> None:
    loaded = loaded_from(checkpoint("llava"))
    preparing = PromptPrefetcher(loaded, "native", 5, workers=2)
    for request in REQUESTS:
        preparing.start(request)
    assert len(preparing._futures) == 5
    for request in REQUESTS:
        preparing.get(request)
    assert (preparing._bytes_used, preparing._ready_bytes, preparing._futures) == (0, {}, {})
    preparing._max_bytes = 1
    preparing.start(REQUESTS[0])
    deadline = time.monotonic() + 30
    while not preparing._bytes_used:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for request in REQUESTS[1:]:
        preparing.start(request)
    assert len(preparing._futures) == 1
    assert preparing._bytes_used == sum(part.nbytes for part in preparing.get(REQUESTS[0])[0].media.values())
    assert preparing._bytes_used == 0


def test_pictures_are_made_in_the_models_dtype(checkpoint: Folder) -> None:
    """So that half as much is held and handed over; the replies are those of a plain call."""
    folder = checkpoint("llava")
    model = open_model(f"hf/{folder}", {"dtype": "bfloat16"})
    assert isinstance(model, HuggingFace)
    [row] = PromptPrefetcher(model.load(), "native", 4).get(REQUESTS[0])
    assert {part.dtype for part in row.media.values()} == {torch.bfloat16}
    apart = open_model(f"hf/{folder}", {"dtype": "bfloat16", "sharing": "off"})
    assert isinstance(apart, HuggingFace)
    for request in (REQUESTS[0], REQUESTS[4]):
        [mine], [plain] = model.answer_batch([request]), apart.answer_batch([request])
        assert isinstance(mine, Generated)
        assert isinstance(plain, Generated)
        assert mine.text == plain.text


def test_the_model_keeps_its_cores(checkpoint: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = loaded_from(checkpoint("llava"))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)), raising=False)
    assert count_workers(replace(loaded, threads=16)) == 1
    assert count_workers(replace(loaded, threads=12)) == 4
    assert count_workers(replace(loaded, threads=16, device="cuda")) == 8
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    assert count_workers(loaded) == 1
