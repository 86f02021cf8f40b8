"""Limits of pixels and the switch for thinking, as options of a local model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from family_parts import saveable
from family_qwen_like import qwen2_5
from questions_for_models import ask, noise

from snellen.core.errors import UsageError
from snellen.core.event_loop import run_coroutine
from snellen.models.hf.model import HuggingFace
from snellen.models.naming.registry import describe_model, open_model

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("qwen")
    made = qwen2_5()
    made.model.save_pretrained(folder)
    saveable(made.processor).save_pretrained(folder)
    return folder


def opened(folder: Path, **options: str) -> HuggingFace:
    model = open_model(f"hf/{folder}", {"device": "cpu", "dtype": "float32"} | options)
    assert isinstance(model, HuggingFace)
    return model


def patches(model: HuggingFace, edge: int) -> int:
    """Patches of 8 pixels of a square picture."""
    processor = model.load().processor
    picture = ask("?", noise(1, edge, edge)).images()
    grid = processor.image_processor(images=picture, return_tensors="pt")["image_grid_thw"]
    return int(grid.prod())


def test_pixels_are_limited_and_part_of_the_identity(qwen: Path) -> None:
    plain = opened(qwen)
    small = opened(qwen, max_pixels=str(32 * 32))
    large = opened(qwen, min_pixels=str(48 * 48))
    assert patches(plain, 64) == 64
    assert patches(small, 64) == 16
    assert patches(large, 16) >= 36 > patches(plain, 16)
    assert small.identity.facts["max_pixels"] == "1024"
    assert len({model.identity.digest() for model in (plain, small, large)}) == 3


def test_limits_that_cannot_be(qwen: Path, checkpoint: Callable[[str], Path]) -> None:
    with pytest.raises(UsageError, match="expected the smaller first"):
        opened(qwen, min_pixels="4096", max_pixels="1024").load()
    with pytest.raises(UsageError, match="has no such limits; leave them out"):
        opened(checkpoint("llava"), max_pixels="1024").load()


def test_thinking_is_a_switch_of_the_template(qwen: Path, tmp_path: Path) -> None:
    folder = tmp_path / "thinking"
    folder.mkdir()
    for file in qwen.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    template = "{{ 'think: ' if enable_thinking else 'reply: ' }}{{ messages[0].content[0].text }}"
    (folder / "chat_template.jinja").write_text(template)
    (folder / "chat_template.json").unlink(missing_ok=True)

    def prompt(**options: str) -> str | None:
        rendered = run_coroutine(opened(folder, **options).render_prompt(ask("Why?")))
        assert rendered is not None
        return rendered.text

    assert prompt() == prompt(thinking="off") == "reply: Why?"
    assert prompt(thinking="on") == "think: Why?"
    assert describe_model(f"hf/{folder}", {"thinking": "on"}).identity.facts["thinking"] == "on"
