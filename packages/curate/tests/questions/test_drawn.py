"""Questions whose options are pictures: captions with changed targets, next images of videos."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from drawing_checkpoints import clip
from made_videos import write_video
from question_commands import decisions, run
from seed_files import COLOURS, disc

import snellen
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, UsageError
from snellen.core.media import digest_bytes
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Drawn, Output
from snellen.core.request import Draw, Request
from snellen.core.sample import Sample
from snellen.data_sets.decisions import flagged_items, read_decisions
from snellen_curate.open_data import open_items
from snellen_curate.questions.drawn_questions import DrawnOptions, make_drawn_questions, open_captions
from snellen_curate.questions.results import QuestionsResult
from snellen_curate.questions.rules import ChangedCaption, check_captions_differ, check_change_size

CAPTIONS = {
    "good": "a red disc on grey paper",
    "other": "one green disc on grey paper",
    "same": "the red disc on white paper",
    "far": "my red disc on black paper",
    "few": "his red disc on old paper",
    "prose": "her red disc on new paper",
    "alike": "our red disc on thin paper",
    "doubtful": "this red disc on thick paper",
    "refused": "that red disc on wet paper",
    "bare": "",
}
DROPPED = {
    "same": "unchanged",
    "far": "changed-too-much",
    "few": "missing-parts",
    "prose": "not-json",
    "alike": "same-picture",
    "refused": "unanswered",
    "bare": "missing-parts",
}


def recoloured(caption: str, colour: str) -> str:
    return caption.replace("red", colour).replace("green", colour)


def change(request: Request) -> str:
    """The scripted writer: changes the colour, with a planted mistake for some captions."""
    text = request.messages[1].text()
    caption = text.partition("Description: ")[2].partition("\n")[0]
    name = next(name for name, one in CAPTIONS.items() if one == caption)
    own = "green" if "green" in caption else "red"
    texts = [recoloured(caption, colour) for colour in COLOURS if colour != own]
    if name == "same":
        texts[1] = caption
    if name == "far":
        texts[0] = "a blue bird sings in a green tree at night"
    if name == "few":
        texts.pop()
    if name == "prose":
        return "I would rather not."
    changed = [
        {"caption": one, "what": "attribute", "before": own, "after": colour}
        for one, colour in zip(texts, [c for c in COLOURS if c != own], strict=False)
    ]
    return json.dumps({"changed": changed})


class Painter:
    """Draws the disc of a caption, a size for each caption; one caption always as the same disc."""

    capabilities = Capabilities(outputs=frozenset({"image"}))
    identity = Identity("test", "painter")

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, request: Request) -> Output | str:
        assert isinstance(request, Draw)
        text = request.text()
        self.asked.append(text)
        if text.startswith("that"):
            return "I cannot draw this."
        colour = next(colour for colour in COLOURS if f" {colour} " in text)
        data = disc("red", 60) if text.startswith("our") else disc(colour, 40 + len(text))
        name = digest_bytes(data)
        return Drawn((name,), data={name: data})


def check(request: Request) -> str:
    """The scripted checker: takes every drawing of the doubtful caption for the blue one."""
    lines = request.messages[0].text().splitlines()
    image = request.images()[0].getpixel((30, 30))
    colour = {(220, 30, 30): "red", (30, 170, 60): "green", (40, 60, 220): "blue"}.get(
        image,  # type: ignore[call-overload]
        "yellow",
    )
    if any("this " in line for line in lines):
        colour = "blue"
    return next(line[0] for line in lines if f" {colour} " in line)


def captions_file(folder: Path) -> Path:
    path = folder / "captions.jsonl"
    rows = [{"id": name, "caption": text, "license": "CC0-1.0"} for name, text in CAPTIONS.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def make(folder: Path, painter: Painter, out: Path) -> QuestionsResult:
    options = DrawnOptions(
        writer=snellen.wrap_model(change), generator=snellen.wrap_model(painter), checker=snellen.wrap_model(check)
    )
    return make_drawn_questions(open_captions(folder), out, options, progress=False)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("drawn")
    painter = Painter()
    result = make(captions_file(home), painter, home / "set")
    assert (result.items, result.failed) == (3, 0)
    assert result.by_dimension == {"Text-to-Image Generation": 3}
    asked = len(painter.asked)
    # Again: nothing is drawn twice, nothing decided twice.
    lines = (home / "set" / "decisions.jsonl").read_text()
    assert make(captions_file(home), painter, home / "set").items == 3
    assert len(painter.asked) == asked + 1  # the refusal in words is no picture to be stored
    assert (home / "set" / "decisions.jsonl").read_text() == lines
    return home / "set"


def test_planted_mistakes_are_dropped_by_their_rules(drawn: Path) -> None:
    made = decisions(drawn)
    assert {name: one.rule for name, one in made.items() if one.action == "drop"} == DROPPED
    assert {name for name, one in made.items() if one.action == "add"} == {"good", "other"}
    # A doubtful drawing stays, and waits for a person.
    assert list(flagged_items(read_decisions(drawn))) == ["doubtful"]
    assert "is taken for 'this blue disc on thick paper'" in made["doubtful"].reason
    assert [one.model for one in made["good"].evidence] == ["change", *["painter"] * 4, *["check"] * 4]


def test_seedbench_asks_drawn_questions_of_a_drawing_model(drawn: Path, tmp_path: Path) -> None:
    data = str(drawn / "items.jsonl")
    variant = Variant(data=data, options={"version": "H", "level": "L3"})
    benchmark = open_benchmark("seedbench", variant)
    samples: dict[str, Sample] = {one.id: one for one in benchmark.samples(benchmark.open())}
    assert set(samples) == {"good", "other", "doubtful"}
    for name, sample in samples.items():
        assert not sample.media
        assert list(sample.option_images) == list("ABCD")
        right = sample.option_images[sample.gold[0]]
        colour = "green" if name == "other" else "red"
        assert right.source.read() == disc(colour, 40 + len(CAPTIONS[name]))
        assert sample.groups["dimension"] == "Text-to-Image Generation"
    assert len({sample.gold for sample in samples.values()}) == 3
    results = snellen.evaluate(
        [snellen.wrap_model(Painter())],
        ["seedbench:version=H,level=L3"],
        out=tmp_path / "out",
        variant=Variant(data=data),
        clip=f"clip/{clip(tmp_path / 'clip')}",
    )
    # CLIP has random weights, but a picture is most like itself.
    cells = results.runs[0].report().summary.groups["dimension"]
    assert cells["Text-to-Image Generation"].value == 100.0


def test_recorded_drawings_by_the_command(tmp_path: Path) -> None:
    rows = []
    for colour in COLOURS:
        (tmp_path / f"{colour}.png").write_bytes(disc(colour))
        caption = f"a {colour} disc on grey paper"
        rows.append({"caption": caption, "image": f"{colour}.png"})
    (tmp_path / "drawings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "captions.jsonl").write_text(json.dumps({"id": "1", "caption": CAPTIONS["good"]}))
    changed = [
        {"caption": row["caption"], "what": "attribute", "before": "red", "after": colour}
        for row, colour in zip(rows, COLOURS, strict=True)
        if colour != "red"
    ]
    (tmp_path / "writer.py").write_text(
        "class Scripted:\n    def answer(self, request):\n"
        f"        return {json.dumps(json.dumps({'changed': changed}))}\n"
    )
    code, printed = run(
        "curate",
        "questions",
        str(tmp_path / "captions.jsonl"),
        "--out",
        str(tmp_path / "set"),
        "--draw",
        f"file:{tmp_path / 'drawings.jsonl'}",
        "-m",
        "Scripted",
        "--load",
        str(tmp_path / "writer.py"),
    )
    assert code == 0, printed
    assert "1 caption, 1 question" in printed
    (item,) = open_items(tmp_path / "set")
    right = "ABCD".index(item.sample.gold[0])
    assert item.sample.media[right].source.read() == disc("red")


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        (["a fox sits on the mat", "a cat sits on the mat", "two dogs sit on the mat"], ""),
        (["A dog sits on the mat.", "a cat sits on the mat", "a cow sits on the mat"], "unchanged"),
        (["a cat sits on the mat", "a cat sits on the mat!", "a fox sits here"], "unchanged"),
        (["a cat sits on the roof of a house", "a", "b"], "too much"),
        (["a cat sleeps on the mat", "c", "d"], "too much"),
    ],
)
def test_only_a_target_or_an_attribute_changes(changed: list[str], rule: str) -> None:
    caption = "a dog sits on the mat"
    after = {"a cat sits on the roof of a house": "cat", "a cat sleeps on the mat": "cat"}
    replies = [ChangedCaption(text, "target", "dog", after.get(text, text)) for text in changed]
    assert bool(check_captions_differ(caption, replies)) == (rule == "unchanged")
    if rule != "unchanged":
        assert bool(check_change_size(caption, replies)) == (rule == "too much")


def test_files_without_captions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no file of captions"):
        open_captions(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"id": 1, "title": "x"}\n')
    with pytest.raises(DataError, match="has no column caption or"):
        open_captions(tmp_path / "a.jsonl")


def test_next_images_of_videos(tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    # Frames bear their number in bars, so that videos of other lengths end in other frames.
    for number, frames in enumerate((20, 37, 54, 71, 90)):
        write_video(videos / f"v{number}.mp4", frames, fps=10)
    write_video(videos / "still.mp4", 1, fps=1)
    (videos / "broken.mp4").write_bytes((videos / "v0.mp4").read_bytes()[:300])
    words = [
        "curate",
        "questions",
        str(videos),
        "--out",
        str(tmp_path / "set"),
        "--dimension",
        "next-image",
        "--limits",
        "max_seconds=8",
    ]
    code, printed = run(*words)
    assert code == 0, printed
    assert "7 videos, 4 questions" in printed
    made = decisions(tmp_path / "set")
    assert {name: one.rule for name, one in made.items() if one.action == "drop"} == {
        "broken.mp4": "unreadable",
        "still.mp4": "nothing-changes",
        "v4.mp4": "too-long",
    }
    variant = Variant(data=str(tmp_path / "set" / "items.jsonl"), options={"version": "H", "level": "L3"})
    benchmark = open_benchmark("seedbench", variant)
    for sample in benchmark.samples(benchmark.open()):
        assert (len(sample.media), len(sample.option_images)) == (3, 4)
        assert len({ref.digest for ref in sample.option_images.values()}) == 4
        assert sample.question == "What will happen next?"
    before = (tmp_path / "set" / "items.jsonl").read_bytes()
    assert run(*words)[0] == 0
    assert (tmp_path / "set" / "items.jsonl").read_bytes() == before
