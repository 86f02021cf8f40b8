"""Pictures and videos drawn here, with what extractors see in them and what a scripted model says
about them: good questions, and planted bad ones of every kind.

`EXPECTED` has the rule that must drop each planted picture or question; everything else is kept.
The scripted model stands where a stronger one would: what is measured are the checks.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from made_videos import write_video
from PIL import Image, ImageDraw, ImageFont

from snellen.core.request import Request

RICH = "a {thing} , a cup and a book on a table near a window with a plant and a lamp"


@dataclass(frozen=True)
class Scene:
    """A picture, and what is said about it: by dimension, a list of questions or a raw reply."""

    name: str
    colour: tuple[int, int, int]
    caption: str
    replies: Mapping[str, Any] = field(default_factory=dict)
    instances: Sequence[tuple[str, tuple[int, int, int, int]]] = ()
    text: str = ""


def question(text: str, answer: str, *distractors: str) -> dict[str, Any]:
    return {"question": text, "answer": answer, "distractors": list(distractors)}


def _scene(number: int, name: str, replies: Mapping[str, Any], **more: Any) -> Scene:
    colour = (40 * (number % 6) + 20, 25 * (number % 9) + 30, 17 * (number % 13) + 10)
    caption = more.pop("caption", RICH.format(thing=name.replace("-", " ")))
    return Scene(f"{name}.png", colour, caption, replies, **more)


GOOD = question("What stands near the window?", "a plant", "a bicycle", "a dog", "a ladder")
SCENES = [
    _scene(1, "kitchen", {"scene-understanding": [GOOD]}),
    _scene(
        2,
        "office",
        {
            "scene-understanding": [
                question("What is the room used for?", "office work", "cooking", "sleeping", "sport"),
                # The same words in another order.
                question("The room is used for what?", "office work", "cooking", "sleeping", "sport"),
            ]
        },
    ),
    _scene(3, "dog", {}, caption="a dog on the grass"),
    _scene(4, "cat", {}, caption="a cat is sleeping"),
    _scene(
        5, "hall", {"scene-understanding": [question("What is in the hall?", "a lamp", "the lamps", "a car", "a bear")]}
    ),
    _scene(
        6, "garden", {"scene-understanding": [question("Which colour has the chair?", "gray", "grey", "red", "blue")]}
    ),
    _scene(
        7,
        "porch",
        {"scene-understanding": [question("What lies on the table?", "a brown book", "a book", "a fish", "a shoe")]},
    ),
    _scene(
        8,
        "lounge",
        {"scene-understanding": [question("What stands at the wall?", "a sofa", "a couch", "a tent", "a canoe")]},
    ),
    _scene(9, "attic", {"scene-understanding": "I cannot write any questions about this."}),
    _scene(
        10,
        "cellar",
        {
            "scene-understanding": [
                "Sorry, here you are:",
                [question("What hangs over the table?", "a lamp", "a flag", "a rope", "a coat")],
            ]
        },
    ),
    _scene(
        11, "studio", {"scene-understanding": [question("What is next to the book?", "", "a cup", "a pot", "a jar")]}
    ),
    _scene(12, "shop", {"scene-understanding": [question("What is sold here?", "books", "shoes", "bread")]}),
    _scene(
        13,
        "library",
        {
            "scene-understanding": [
                question(
                    "On which table is the green lamp, the table near the window?",
                    "the table near the window",
                    "the bed",
                    "the floor",
                    "the roof",
                )
            ]
        },
    ),
    _scene(
        14,
        "station",
        {"scene-understanding": [question("What does the caption say is there?", "a cup", "a pot", "a hat", "a map")]},
    ),
    _scene(16, "museum", {"scene-understanding": {"questions": []}}),
    _scene(17, "broken", {}),
    _scene(
        18,
        "harbour",
        {
            "instance-counting": [question("How many boats are there?", "two", "3", "four", "five")],
            "instance-location": [question("Where is the buoy?", "at the left", "at the right", "at the top", "below")],
            "scene-understanding": [
                question("What kind of place is it?", "a harbour", "a forest", "a desert", "a stadium")
            ],
        },
        instances=[("boat", (4, 20, 30, 40)), ("boat", (34, 20, 60, 40)), ("buoy", (2, 50, 8, 56))],
    ),
    _scene(
        19,
        "sign",
        {"text-recognition": [question("What is written?", "EXIT 7", "EXIT 1", "ENTRY 7", "TAXI")]},
        text="EXIT 7",
    ),
]
VIDEOS = {
    "door.mp4": (
        3.0,
        {
            "global-video-understanding": [
                question(
                    "What happens after the door opens?",
                    "a man walks in",
                    "a cat runs out",
                    "the light goes off",
                    "the door is painted",
                )
            ]
        },
    ),
    "still.mp4": (
        3.0,
        {
            "global-video-understanding": [
                question("Which colour has the wall in the video?", "white", "green", "red", "pink")
            ]
        },
    ),
    "long.mp4": (9.0, {}),
}

EXPECTED = {
    "dog.png": "few-nouns",
    "cat.png": "few-nouns",
    "broken.png": "unreadable",
    "long.mp4": "too-long",
    "office.png/scene-understanding/2": "asked-before",
    "hall.png/scene-understanding/1": "distractor-too-close",
    "garden.png/scene-understanding/1": "distractor-too-close",
    "porch.png/scene-understanding/1": "distractor-too-close",
    "lounge.png/scene-understanding/1": "distractor-too-close",
    "attic.png/scene-understanding": "not-json",
    "studio.png/scene-understanding/1": "missing-parts",
    "shop.png/scene-understanding/1": "missing-parts",
    "library.png/scene-understanding/1": "answer-given-away",
    "station.png/scene-understanding/1": "mentions-description",
    "museum.png/scene-understanding": "no-question",
    "still.mp4/global-video-understanding/1": "single-frame",
    "sign.png/scene-understanding": "no-question",
}
EXPECTED |= {
    item.partition("/")[0]: "no-question"
    for item in EXPECTED
    if "/" in item and not item.startswith(("office", "sign"))
}
"""Rule by item, for `MAX_SECONDS`; a picture of which no question passes is dropped, too."""
MAX_SECONDS = 5.0
KEPT = {
    "kitchen.png/scene-understanding/1",
    "office.png/scene-understanding/1",
    "cellar.png/scene-understanding/1",
    "harbour.png/instance-counting/1",
    "harbour.png/instance-location/1",
    "harbour.png/scene-understanding/1",
    "sign.png/text-recognition/1",
    "door.mp4/global-video-understanding/1",
}
DIMENSIONS = (
    "scene-understanding",
    "instance-counting",
    "instance-location",
    "text-recognition",
    "global-video-understanding",
)


def draw(scene: Scene) -> bytes:
    image = Image.new("RGB", (64, 64), scene.colour)
    pen = ImageDraw.Draw(image)
    for _, box in scene.instances:
        pen.rectangle(box, fill=(240, 240, 240))
    if scene.text:
        image = Image.new("RGB", (320, 120), "white")
        font = ImageFont.load_default(size=48)
        ImageDraw.Draw(image).text((30, 30), scene.text, fill="black", font=font)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def write_scenes(folder: Path) -> Path:
    """All pictures and videos in a folder; `broken.png` is cut short."""
    folder.mkdir(parents=True, exist_ok=True)
    for scene in SCENES:
        data = draw(scene)
        (folder / scene.name).write_bytes(data[:40] if scene.name == "broken.png" else data)
    for name, (seconds, _) in VIDEOS.items():
        # Sizes differ, so that the frames of one video are not those of another.
        width = {"door.mp4": 64, "still.mp4": 80, "long.mp4": 96}[name]
        write_video(folder / name, round(seconds * 10), fps=10, size=(width, 48))
    return folder


BY_IMAGE = {sha256(draw(scene)).hexdigest(): scene for scene in SCENES}
_LEADS = {
    "Ask about the picture as a whole": "scene-understanding",
    "Ask how many there are": "instance-counting",
    "Ask where in the picture": "instance-location",
    "Ask what is written": "text-recognition",
    "Put them together and ask about events": "global-video-understanding",
}


def reply(text: str, images: Sequence[bytes]) -> str:
    """What the scripted model says to a prompt: the text of its messages, and its pictures."""
    if "describe it in JSON" in text:
        return _see(images[0])
    if "Write up to" in text:
        return _write(text)
    if "one single frame" in text:
        return json.dumps({"answerable": "Which colour has the wall" in text, "reason": "seen at once"})
    if "wrong answers could also be accepted" in text:
        close = [1] if "a sofa" in text else []
        return json.dumps({"too_close": close, "reason": "a couch is a sofa"})
    return "I cannot tell."


def _see(image: bytes) -> str:
    scene = BY_IMAGE.get(sha256(image).hexdigest())
    if scene is None:
        # A frame of a video: its width tells which.
        width = Image.open(io.BytesIO(image)).width
        name = {64: "a man opens a door and walks in", 80: "a white wall"}[width]
        return json.dumps({"caption": name, "regions": [{"text": "a wall", "box": [0, 0, 999, 500]}]})
    instances = [{"label": label, "box": [round(edge * 1000 / 64) for edge in box]} for label, box in scene.instances]
    text = [{"text": scene.text}] if scene.text else []
    return json.dumps({"caption": scene.caption, "instances": instances, "text": text})


def _write(text: str) -> str:
    dimension = next((slug for lead, slug in _LEADS.items() if lead in text), None)
    assert dimension is not None, text
    replies: Any = {}
    if "opens a door" in text:
        replies = VIDEOS["door.mp4"][1]
    elif "a white wall" in text:
        replies = VIDEOS["still.mp4"][1]
    else:
        replies = next(scene.replies for scene in SCENES if scene.caption in text)
    said = replies.get(dimension, [])
    if isinstance(said, str):
        return said
    if isinstance(said, dict):
        return json.dumps(said)
    if said and isinstance(said[0], str):
        # JSON only when it is asked again.
        return json.dumps({"questions": said[1]}) if "This cannot be used" in text else said[0]
    return json.dumps({"questions": said})


def answer(request: Request) -> str:
    """The scripted model as a function of a request, for `snellen.wrap_model`."""
    texts = "\n".join(message.text() for message in request.messages)
    images = [
        request.media[part.digest].read()  # type: ignore[union-attr]
        for message in request.messages
        for part in message.media()
    ]
    return reply(texts, images)


def answer_body(body: Mapping[str, Any]) -> str:
    """The same for the body of a chat completion."""
    texts, images = [], []
    for message in body["messages"]:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                images.append(base64.b64decode(part["image_url"]["url"].partition(",")[2]))
    return reply("\n".join(texts), images)
