"""Thousands of made-up runs as folders: what `snellen view` reads of them, and no samples."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.model import Identity
from snellen.core.output import Usage
from snellen.core.run import Counts, DataInfo, Report, ReusedReplies, RoleUsage, RunConfig, RunInfo, Status
from snellen.core.sample import Origin
from snellen.core.summary import Interval, Metric, Summary

_BENCHMARKS: dict[str, tuple[int, float | None]] = {
    "mmmu": (900, 26.8),
    "mmstar": (1500, 24.6),
    "mathvista": (1000, 17.9),
    "ai2d": (3088, 25.0),
    "hallusionbench": (951, 50.0),
    "mathvision": (3040, 7.2),
    "mathverse": (788, 12.4),
    "dynamath": (5010, 5.0),
    "wemath": (1740, 25.0),
    "logicvista": (448, 25.3),
    "blink": (1901, 38.1),
    "pope": (9000, 50.0),
    "scienceqa": (2017, 40.4),
    "seedbench": (14232, 25.0),
    "realworldqa": (765, 37.7),
    "mmbench": (4329, 25.9),
    "mmt-bench": (3127, 28.5),
    "eyechart": (812, 32.7),
    "textvqa": (5000, None),
    "docvqa": (5349, None),
    "chartqa": (2500, None),
    "mvbench": (4000, 27.3),
    "video-mme": (2700, 25.0),
    "ocrvqa": (3072, None),
}
"""Samples, and what guessing scores; None where questions are open."""
_FAMILIES = {
    "Qwen/Qwen2-VL-{}B-Instruct": (2, 7, 72),
    "Qwen/Qwen2.5-VL-{}B-Instruct": (3, 7, 32, 72),
    "Qwen/Qwen3-VL-{}B-Instruct": (2, 4, 8, 32),
    "OpenGVLab/InternVL2_5-{}B": (1, 2, 4, 8, 26, 38, 78),
    "OpenGVLab/InternVL3-{}B-hf": (1, 2, 8, 14, 38, 78),
    "llava-hf/llava-1.5-{}b-hf": (7, 13),
    "llava-hf/llava-onevision-qwen2-{}b-ov-hf": (1, 7, 72),
    "google/gemma-3-{}b-it": (4, 12, 27),
    "HuggingFaceTB/SmolVLM2-{}B-Instruct": (1, 2),
    "mistralai/Pixtral-{}B-2409": (12,),
    "allenai/Molmo-{}B-D-0924": (7, 72),
    "microsoft/Phi-{}-vision-instruct": (3, 4),
}
_SERVED = (
    "openai/gpt-4o-2024-08-06",
    "openai/gpt-4.1-2025-04-14",
    "openai/gpt-5",
    "anthropic/claude-sonnet-4-5",
    "google/gemini-2.5-pro",
    "google/gemini-2.5-flash",
    "dashscope/qwen-vl-max-2025-08-13",
    "openai/gpt-5:reasoning_effort=high",
)
_FIRST_DAY = datetime(2026, 1, 5, 8, tzinfo=UTC)


def write_made_runs(root: Path, count: int, seed: int = 0) -> Path:
    """Write `count` run folders below `root`; the same seed gives the same runs.

    Sixty models and a few hundred checkpoints on two dozen benchmarks; most runs are plain, the
    others are limited, blind, few-shot, unfinished, withheld, of other data or of another version.
    """
    encode = msgspec.json.Encoder().encode
    for info, report in made_runs(count, seed):
        folder = root / info.name
        folder.mkdir(parents=True)
        (folder / "run.json").write_bytes(encode(info))
        if report is not None:
            (folder / "report.json").write_bytes(encode(report))
    return root


def made_runs(
    count: int, seed: int = 0, names: Sequence[str] = tuple(_BENCHMARKS)
) -> Iterator[tuple[RunInfo, Report | None]]:
    """Descriptions of runs on these benchmarks, with the report of those that have ended."""
    rng = random.Random(seed)
    models = [(f"hf/{name.format(size)}", size) for name, sizes in _FAMILIES.items() for size in sizes]
    models += [(name, 60) for name in _SERVED]
    models += [("random", 0), ("snellen/tiny", 0)]
    models += [
        (f"hf/checkpoints/lens-{size}b-step-{step}", size)
        for size in (1, 3, 8)
        for step in range(1000, 1000 * max(2, count // 300), 1000)
    ]
    for number in range(count):
        model, size = models[number % len(models)] if number % 3 else rng.choice(models)
        name = rng.choice(names)
        when = _FIRST_DAY + timedelta(minutes=38 * number + rng.randrange(30))
        yield _made_run(rng, number, model, size, name, when)


def _made_run(
    rng: random.Random, number: int, model: str, size: int, name: str, when: datetime
) -> tuple[RunInfo, Report | None]:
    rows, chance = _BENCHMARKS[name]
    benchmark = open_benchmark(name)
    parameters = dict(benchmark.parameters)
    digest = f"{sum(name.encode()) * 2654435761 % (1 << 32):08x}" * 8
    config = RunConfig(
        _identity(model, rng), name, benchmark.version, parameters, digest, max_new_tokens=benchmark.max_new_tokens
    )
    data = DataInfo(f"{name}.tsv", digest, rows, Origin("published", published=f"{name}.tsv"))
    status: Status = "complete"
    samples, stopped, reused = rows, "", ReusedReplies()
    kind = rng.choices(
        (
            "plain",
            "limit",
            "control",
            "shots",
            "data",
            "version",
            "until",
            "running",
            "interrupted",
            "incomplete",
            "judge",
            "stored",
            "withheld",
        ),
        (76, 6, 3, 2, 2, 2, 1, 0.3, 1, 1.2, 1.5, 3, 1),
    )[0]
    changes: dict[str, object] = {}
    match kind:
        case "limit":
            samples = min(rows, rng.choice((100, 200, 500)))
            changes = {"limit": samples}
        case "control":
            changes = {"parameters": {**parameters, "control": rng.choice(("blind", "black"))}}
        case "shots":
            changes = {"parameters": {**parameters, "shots": "5", "shots_seed": "0"}}
        case "data":
            other = digest[::-1]
            changes = {"data": other}
            data = DataInfo(f"{name}.tsv", other, rows, Origin("custom", "data: not the published"))
        case "version":
            changes = {"version": "0"}
        case "until":
            changes, stopped = {"until": "±2"}, "the interval is within ±2"
            samples = rows // 2
        case "running" | "interrupted" | "incomplete":
            status = kind
        case "judge":
            changes = {"roles": {"extractor": Identity("openai", "gpt-4o-mini")}}
        case "stored":
            earlier = (when - timedelta(days=40)).isoformat()
            reused = ReusedReplies(rows // 3, earlier, earlier)
    config = msgspec.structs.replace(config, **changes)
    done = samples if status == "complete" else samples - rng.randrange(1, samples // 3)
    info = RunInfo(
        name=f"{model.replace('/', '_').replace(':', '_')}--{name}--{number:08x}",
        model=model,
        benchmark=name,
        title=benchmark.title,
        config=config,
        data=data,
        status=status,
        created=when.isoformat(timespec="seconds"),
        finished=(when + timedelta(minutes=30)).isoformat(timespec="seconds"),
        counts=Counts(
            samples,
            done,
            samples - done if status == "incomplete" else 0,
            sent=done,
            seconds=60 + rng.random() * 4000,
            prompt_tokens=900 * done,
            completion_tokens=9 * done,
        ),
        command=f"snellen run -m {model} -b {name}",
        stopped=stopped,
        reused=reused,
        versions={"python": "3.11.7", "snellen": "0.1.0", "torch": "2.13.0"},
        spent={"model": RoleUsage(done, done, usage=Usage(900 * done, 9 * done), seconds=900.0)},
    )
    if status in ("running", "interrupted"):
        return info, None
    skill = rng.random() if size else 0.0
    value = (chance or 0.0) + (90 - (chance or 0.0)) * skill * min(1.0, 0.35 + size / 60)
    metric = "accuracy" if chance else "anls"
    half = 196 * (value / 100 * (1 - value / 100) / done) ** 0.5
    withheld = kind == "withheld"
    headline = Metric(
        metric,
        None if withheld else value,
        done,
        None if withheld else Interval(max(0.0, value - half), min(100.0, value + half), "wilson"),
        "64 of the samples failed" if withheld else "",
    )
    metrics = {metric: headline}
    if chance:
        metrics |= {"chance": Metric("chance", chance, done), "frequent": Metric("frequent", chance + 1.4, done)}
    groups = {"category": {f"part {at}": headline for at in range(12)}}
    summary = Summary(headline, metrics, groups, {"answered": done}, done, samples)
    return info, Report(info, summary)


def _identity(model: str, rng: random.Random) -> Identity:
    provider, _, name = model.partition("/")
    if provider == "random":
        return Identity("random", "random", {"seed": str(rng.choice((0, 0, 0, 7)))})
    facts = {"revision": f"{sum(model.encode()):08x}", "dtype": "bfloat16"} if provider == "hf" else {}
    return Identity(provider, name, facts)
