"""A hub on this machine with a model and a data set."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from hub_command import Command
from hub_server import Hub, Repository

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

COLOURS = ("red", "green", "blue", "yellow", "black", "white")


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    import tiny_checkpoints

    root = tmp_path_factory.mktemp("hub")
    tiny_checkpoints.llava(root / "vlm")
    _questions(root / "questions")
    _signs(root / "signs")
    restricted = root / "restricted"
    restricted.mkdir()
    (restricted / "config.json").write_text("{}")
    with Hub(
        Repository("models", "acme/tiny-vlm", root / "vlm"),
        Repository("models", "acme/login", restricted, HTTPStatus.UNAUTHORIZED),
        Repository("models", "acme/ask-first", restricted, HTTPStatus.FORBIDDEN),
        Repository("models", "acme/empty", root / "questions"),
        Repository("datasets", "acme/questions", root / "questions"),
        Repository("datasets", "acme/signs", root / "signs"),
        Repository("datasets", "acme/secret", root / "questions", HTTPStatus.FORBIDDEN),
        Repository("datasets", "acme/files", restricted),
    ) as running:
        yield running


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def snellen(hub: Hub, home: Path) -> Command:
    return Command(hub.url, home)


def _questions(folder: Path) -> None:
    """A data set as its authors publish it: Parquet files by split, pictures inside."""
    from datasets import Dataset, Features, Image, Value
    from PIL import Image as Pictures

    features = Features(
        {name: Value("string") for name in ("index", "question", "A", "B", "answer")} | {"image": Image()}
    )
    (folder / "data").mkdir(parents=True)
    for split, count in (("train", 2), ("test", 4)):
        rows = []
        for number in range(count):
            data = io.BytesIO()
            Pictures.new("RGB", (32, 32), COLOURS[number]).save(data, "PNG")
            rows.append(
                {
                    "index": f"{split}-{number}",
                    "question": "What color is the picture?",
                    "A": COLOURS[number],
                    "B": COLOURS[number + 1],
                    "answer": "A",
                    "image": {"bytes": data.getvalue(), "path": None},
                }
            )
        path = folder / "data" / f"{split}-00000-of-00001.parquet"
        Dataset.from_list(rows, features=features).to_parquet(path)
    (folder / "README.md").write_text("---\nlicense: cc0-1.0\n---\nColours.\n")


SIGNS = """\
name: Signs in the street
description: What signs say.
evaluation_framework: inspect-ai
tasks:
  - id: signs_choice
    config: default
    split: test
    field_spec:
      input: text
      target: right
      choices: [first, second]
      input_image: photo
      metadata: [city]
    solvers:
      - name: system_message
        args: {template: "Look {how}. Braces stay: {your answer}", how: closely}
      - name: multiple_choice
        args: {template: "{question}\\n\\n{choices}\\n\\nOne of {letters}."}
    scorers: [{name: choice}]
  - id: acme/signs_open
    split: test
    field_spec: {input: text, target: word}
    solvers:
      - {name: prompt_template, args: {template: "Read this. {prompt}"}}
      - {name: generate}
    scorers: [{name: match, args: {location: any}}, {name: f1}]
    epochs: 2
  - id: signs_graded
    field_spec: {input: text, target: "literal:a sign"}
    solvers: [{name: generate}]
    scorers: [{name: model_graded_fact, args: {model: openai/o3-mini}}]
"""


def _signs(folder: Path) -> None:
    """A benchmark data set: columns with names of its own, and an eval.yaml that explains them."""
    from datasets import Dataset, Features, Image, Value
    from PIL import Image as Pictures

    texts = {name: Value("string") for name in ("text", "first", "second", "word", "city")}
    features = Features({**texts, "right": Value("int64"), "photo": Image()})
    rows = []
    for number in range(4):
        data = io.BytesIO()
        Pictures.new("RGB", (32, 32), COLOURS[number]).save(data, "PNG")
        rows.append(
            {
                "text": f"What does sign {number} say?",
                "first": "stop",
                "second": "go",
                "right": number % 2,
                "word": ("stop", "go")[number % 2],
                "city": ("Rome", "Oslo")[number // 2],
                "photo": {"bytes": data.getvalue(), "path": None},
            }
        )
    (folder / "data").mkdir(parents=True)
    path = folder / "data" / "test-00000-of-00001.parquet"
    Dataset.from_list(rows, features=features).to_parquet(path)
    (folder / "README.md").write_text("---\nlicense: cc0-1.0\n---\nSigns.\n")
    (folder / "eval.yaml").write_text(SIGNS)
