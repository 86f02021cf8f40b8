"""Run folders of made-up models, written with the real types and read like any other."""

from __future__ import annotations

import io
import math
import random
from collections import defaultdict
from pathlib import Path

import msgspec
from PIL import Image, ImageDraw

from snellen.core.media import InlineSource, digest_bytes
from snellen.core.model import Identity
from snellen.core.output import (
    Answer,
    Empty,
    Failure,
    Generated,
    NoMatch,
    Outcome,
    ParsedAnswer,
    Refused,
    Truncated,
    Unparsed,
    Usage,
)
from snellen.core.record import Pass, Record
from snellen.core.request import Media, Message, Text, user
from snellen.core.run import Counts, DataInfo, Report, RunConfig, RunInfo, Status
from snellen.core.summary import Bounds, Interval, Metric, Summary
from snellen.report.page.samples import page_media
from snellen.report.page.thumbnails import write_thumbnails
from snellen.store.runs import RunFolder, open_run, write_json

COLOURS = ("red", "blue", "green", "orange", "purple", "black")
SHAPES = ("circle", "square", "triangle", "ring", "cross")
ABILITIES = {
    "colour": "perception",
    "shape": "perception",
    "rendered_text": "perception",
    "existence": "spatial",
    "position": "spatial",
    "relation": "spatial",
    "count": "counting",
    "which_picture": "multi_image",
    "nth_picture": "multi_image",
}
SKILL = dict(zip(ABILITIES, (0.93, 0.88, 0.35, 0.8, 0.72, 0.55, 0.5, 0.3, 0.62), strict=True))


def picture(seed: int, size: int = 160) -> bytes:
    """A PNG with a few coloured shapes."""
    rng = random.Random(seed)
    image = Image.new("RGB", (size, size), rng.choice(("#f7efe0", "#eaf2f7", "#f4f4f4")))
    draw = ImageDraw.Draw(image)
    for _ in range(rng.randint(1, 4)):
        x, y, radius = rng.randint(20, size - 40), rng.randint(20, size - 40), rng.randint(12, 30)
        box = (x, y, x + radius, y + radius)
        colour = rng.choice(COLOURS)
        match rng.choice(SHAPES):
            case "circle":
                draw.ellipse(box, fill=colour)
            case "ring":
                draw.ellipse(box, outline=colour, width=5)
            case "square":
                draw.rectangle(box, fill=colour)
            case "triangle":
                draw.polygon([(x, y + radius), (x + radius, y + radius), (x, y)], fill=colour)
            case _:
                draw.line((x, y, x + radius, y + radius), fill=colour, width=6)
                draw.line((x, y + radius, x + radius, y), fill=colour, width=6)
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def wilson(name: str, right: float, n: int) -> Metric:
    """Wilson's score interval, in points."""
    if not n:
        return Metric(name, None, 0)
    p, z = right / n, 1.959964
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Metric(name, 100 * p, n, Interval(100 * (centre - half), 100 * (centre + half), "wilson"))


def _reply(rng: random.Random, label: str, text: str, fate: Outcome) -> tuple[str, Answer]:
    match fate:
        case "no_match":
            return "None of these options is in the picture.", NoMatch("none_of_these")
        case "unparsed":
            return "It could be A, or else B; the picture is 🙂 rather small.", Unparsed()
        case "refused":
            return "I'm sorry, but I can't help with that.", Refused("apology")
        case "truncated":
            return "Let me look at the picture step by step. First, the corner", Truncated()
        case "empty":
            return "", Empty()
    form = rng.choice((f"{label}", f"The answer is 🙂 {label}.", f"({label}) {text}"))
    at = form.index(label)
    rule = "label_alone" if form == label else "label_after_phrase"
    return form, ParsedAnswer(label, rule, (at, at + len(label)))


def _choice_pass(
    rng: random.Random,
    question: str,
    texts: list[str],
    gold: str,
    right: bool,
    fate: Outcome,
    pictures: tuple[Media, ...],
) -> Pass:
    options = dict(zip("ABCD", texts, strict=False))
    gold_label = next(label for label, text in options.items() if text == gold)
    label = gold_label if right else rng.choice([x for x in options if x != gold_label])
    listed = "\n".join(f"{label}. {text}" for label, text in options.items())
    ask = Text(f"Question: {question}\nOptions:\n{listed}\nPlease select the correct answer from the options above.")
    reply, answer = _reply(rng, label, options[label], fate)
    return Pass(
        prompt=(Message("system", (Text("You are a careful observer."),)), user(*pictures, ask)),
        output=Generated(reply, usage=Usage(310, 7), seconds=0.041),
        answer=answer,
        gold=(gold_label,),
        correct=fate == "answered" and label == gold_label,
        options=options,
    )


def record(number: int, circular: bool, digests: tuple[str, ...], fate: Outcome = "answered") -> Record:
    """Sample `number`, answered with the skill of its ability."""
    rng = random.Random(number)
    ability = list(ABILITIES)[number % len(ABILITIES)]
    groups = {"category": ability, "l2-category": ABILITIES[ability]}
    texts = rng.sample(COLOURS, 4)
    gold = texts[0]
    rng.shuffle(texts)
    question = f"What colour is the {rng.choice(SHAPES)} in picture {number}?"
    pictures = tuple(Media("image", digest) for digest in digests)
    if fate == "failed":
        why = Failure("media", "the image cannot be decoded: cannot identify image file")
        prompt = (user(*pictures, Text(question)),)
        return Record(
            str(number),
            "choice",
            question,
            "failed",
            unscored="failed",
            groups=groups,
            media=digests,
            passes=(Pass(prompt, why),),
        )
    passes: list[Pass] = []
    wanted = 4 if circular else 1
    for turn in range(wanted):
        turned = texts[turn:] + texts[:turn]
        right = rng.random() < SKILL[ability] ** (1 if turn == 0 else 0.4)
        passes.append(_choice_pass(rng, question, turned, gold, right, fate, pictures))
        if not passes[-1].correct:
            break
    correct = all(each.correct for each in passes)
    first = passes[0].answer
    return Record(
        id=str(number),
        kind="choice",
        question=question,
        outcome=fate,
        score=float(correct),
        answer=first.value if isinstance(first, ParsedAnswer) else None,
        gold=passes[0].gold,
        options=passes[0].options,
        groups=groups,
        media=digests,
        passes=tuple(passes),
        values={"vanilla": float(passes[0].correct or 0)} if circular else {},
        saved=wanted - len(passes),
    )


def summarise(records: list[Record], circular: bool) -> Summary:
    scored = [each for each in records if each.score is not None]
    right = sum(each.score or 0 for each in scored)
    name = "circular" if circular else "accuracy"
    headline = wilson(name, right, len(scored))
    metrics = {
        name: headline,
        "chance": Metric("chance", 25.0, len(scored)),
        "frequent": Metric("frequent", 27.5, len(scored)),
    }
    if circular:
        vanilla = wilson("vanilla", sum(x.values["vanilla"] for x in scored), len(scored))
        metrics["vanilla"] = vanilla
        drop = (vanilla.value or 0) - (headline.value or 0)
        metrics["drop"] = Metric("drop", drop, len(scored))
    groups: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for each in scored:
        for column, label in each.groups.items():
            groups[column][label].append(each)
    outcomes: dict[Outcome, int] = defaultdict(int)
    for each in records:
        outcomes[each.outcome] += 1
    lost = len(records) - len(scored)
    bounds = Bounds(100 * right / len(records), 100 * (right + lost) / len(records))
    return Summary(
        headline=headline,
        metrics=metrics,
        groups={
            column: {
                label: wilson(name, sum(x.score or 0 for x in found), len(found)) for label, found in labels.items()
            }
            for column, labels in groups.items()
        },
        outcomes=dict(outcomes),
        n=len(scored),
        total=len(records),
        bounds=bounds if lost else None,
        beside=("vanilla", "drop") if circular else (),
        notices=(f"{lost} of {len(records)} samples failed and are left out",) if lost else (),
    )


def info(model: str, benchmark: str, circular: bool, status: Status, counts: Counts) -> RunInfo:
    identity = Identity("snellen", model, {"revision": "3f2a9c1", "dtype": "float32"})
    return RunInfo(
        name=f"{model.replace('/', '_')}--{benchmark}--0123abcd",
        model=model,
        benchmark=benchmark,
        title="Eyechart: coloured shapes, counting and reading",
        config=RunConfig(
            identity, benchmark, "4", {"split": "test", **({"circular": "early"} if circular else {})}, "9d" * 32
        ),
        data=DataInfo("eyechart.tsv", "9d" * 32, counts.samples),
        status=status,
        created="2026-11-21T02:00:00Z",
        finished="2026-11-21T02:03:20Z",
        counts=counts,
        command=f"snellen run -m {model} -b {benchmark}" + (" --circular" if circular else ""),
        versions={"snellen": "0.1.0", "transformers": "5.23.0", "torch": "2.13.0"},
        hardware={"cpu": "2 cores", "platform": "Linux x86_64"},
        source="drawn by Snellen, Apache-2.0",
        headline="circular" if circular else "accuracy",
    )


def build_report(
    model: str = "snellen/tiny",
    benchmark: str = "eyechart",
    *,
    count: int = 200,
    circular: bool = False,
    failed: int = 0,
    troubled: bool = True,
    status: Status | None = None,
) -> tuple[Report, list[Record], dict[str, bytes]]:
    """A report with its records and the pictures they show, by digest."""
    fates: list[Outcome] = ["answered"] * count
    if troubled:
        for at, fate in enumerate(("no_match", "unparsed", "refused", "truncated", "empty")):
            fates[at * 7 + 5 :: 97] = [fate] * len(fates[at * 7 + 5 :: 97])  # type: ignore[list-item]
    for at in range(failed):
        fates[count - 1 - 3 * at] = "failed"
    pictures: dict[str, bytes] = {}
    records = []
    for number, fate in enumerate(fates):
        shown = 3 if list(ABILITIES)[number % len(ABILITIES)].endswith("picture") else 1
        data = [picture(10 * number + at) for at in range(shown)]
        digests = tuple(digest_bytes(each) for each in data)
        pictures.update(zip(digests, data, strict=True))
        records.append(record(number, circular, digests, fate))
    status = status or ("incomplete" if failed else "complete")
    counts = Counts(
        samples=count,
        done=count - failed,
        failed=failed,
        sent=sum(len(x.passes) for x in records),
        reused=12,
        saved=sum(x.saved for x in records),
        seconds=200.4,
        prompt_tokens=62_000,
        completion_tokens=1_400,
    )
    run = info(model, benchmark, circular, status, counts)
    return Report(run, summarise(records, circular)), records, pictures


def write_run(root: Path, report: Report, records: list[Record], pictures: dict[str, bytes]) -> RunFolder:
    """The folder as the engine leaves it, thumbnails included."""
    folder = root / report.run.name
    folder.mkdir(parents=True)
    write_json(folder / "run.json", report.run)
    write_json(folder / "report.json", report)
    for name, failures in (("samples.jsonl", False), ("failures.jsonl", True)):
        lines = [msgspec.json.encode(each) + b"\n" for each in records if (each.outcome == "failed") == failures]
        if lines or not failures:
            (folder / name).write_bytes(b"".join(lines))
    wanted = [(digest, InlineSource(pictures[digest])) for digest in page_media(records)]
    write_thumbnails(folder, wanted)
    return open_run(folder)
