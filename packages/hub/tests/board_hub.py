"""A hub with boards as they are in use: forty models, long names, ties, missing numbers, numbers
reported elsewhere and by another protocol, a hidden split, several versions."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy.orm import Session
from test_scoring import write_data

from snellen.core.output import Outcome
from snellen.core.secret import Secret
from snellen.core.summary import Interval, Metric, Summary
from snellen.stats.intervals import wilson
from snellen_hub.accounts.access import create_account
from snellen_hub.boards.changes import note_change, note_data_change
from snellen_hub.config import HubConfig
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, HostedBenchmark, HostedSuite, Submission, SubmissionScore
from snellen_hub.hosting import NewBenchmark, Protocol, add_benchmark
from snellen_hub.hub import Hub
from snellen_hub.jobs.contributions import RowScores
from snellen_hub.storage import Storage

ATTACK = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'
"""A name that a stranger may give a model."""
LONG = "LLaVA-NeXT-Yi-34B (greedy, image tiles 2x2, second submission after a change of tokenizer)"
MODELS = f"""GPT-4o (2024-05-13)|OpenAI||closed|2024-05-13|API
Gemini 1.5 Pro|Google||closed|2024-05-14|API
InternVL2-Llama3-76B|Shanghai AI Laboratory|76|open|2024-07|local weights
Qwen2-VL-72B-Instruct|Alibaba|73|open|2024-09|local weights
LLaVA-OneVision-Qwen2-72B-ov-chat|ByteDance & NTU|73|open|2024-08|local weights
InternLM-XComposer2-VL-7B|Shanghai AI Laboratory|7|open|2024-01-26|local weights
Claude 3.5 Sonnet|Anthropic||closed|2024-06-20|API
Qwen-VL-Max|Alibaba||closed|2024-01|API
MiniCPM-Llama3-V 2.5|OpenBMB|8.5|open|2024-05-20|local weights
CogVLM2-Llama3-Chat-19B|Zhipu AI & Tsinghua|19.5|open|2024-05|local weights
Yi-VL-34B|01.AI|34|open|2024-01|local weights
{LONG}|UW-Madison|34.8|open|2024-01-30|local weights
LLaVA-v1.5-13B|UW-Madison|13|open|2023-10-05|local weights
LLaVA-v1.5-7B|UW-Madison|7|open|2023-10-05|local weights
SPHINX-V2-1K|Shanghai AI Laboratory|13|open|2023-12|local weights
mPLUG-Owl2|Alibaba|8.2|open|2023-11|local weights
ShareGPT4V-13B|USTC|13|open|2023-11|local weights
Monkey-Chat|HUST|9.8|open|2023-11|local weights
DeepSeek-VL-7B|DeepSeek|7.3|open|2024-03|local weights
DeepSeek-VL-1.3B|DeepSeek|2|open|2024-03|local weights
Idefics2-8B|Hugging Face|8.4|open|2024-04|local weights
Phi-3-Vision-128k|Microsoft|4.2|open|2024-05|local weights
PaliGemma-3B-mix-448|Google|2.9|open|2024-05|local weights
BLIP-2 FlanT5-XXL|Salesforce|12|open|2023-01|local weights
InstructBLIP-Vicuna-13B|Salesforce|14|open|2023-05|local weights
MiniGPT-4 (Vicuna-13B)|KAUST|14|open|2023-04|local weights
Otter-MPT-7B|NTU|9|open|2023-05|local weights
OpenFlamingo-v2-9B|LAION|9|open|2023-06|local weights
Kosmos-2|Microsoft|1.7|open|2023-06|local weights
VisualGLM-6B|Tsinghua|8|open|2023-05|local weights
mPLUG-Owl (LLaMA-7B)|Alibaba|7|open|2023-04|local weights
LLaMA-Adapter-V2|Shanghai AI Laboratory|7|open|2023-04|local weights
Emu2-Chat|BAAI|37|open|2023-12|local weights
TransCore-M|PCI Research|13.4|open|2024-01|local weights
WeMM|Tencent|7|closed||API
书生·万象-视觉语言大模型-26B-对话版|上海人工智能实验室|26|open|2024-04|本地权重
Fuyu-8B|Adept|8|open|2023-10|local weights
PandaGPT-13B|Cambridge|14|open|2023-05|local weights
{ATTACK}|||||
random|||||""".splitlines()
CATEGORIES = (
    "coarse_perception",
    "finegrained_perception (instance-level)",
    "logical_reasoning",
    "attribute_reasoning",
    "relation_reasoning",
    "finegrained_perception (cross-instance)",
)
OTHER = "eight examples in the prompt, and a judge of the authors in place of the rule"
SOURCE = {
    "title": "MMBench: Is Your Multi-modal Model an All-around Player?",
    "url": "https://arxiv.org/abs/2307.06281",
    "table": "Table 3",
    "note": "",
}
START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def open_board_hub(folder: Path, models: int = 40) -> Hub:
    """Make the hub in a folder. Everything is the same in each run."""
    database = Database(f"sqlite:///{folder / 'hub.sqlite'}")
    database.upgrade()
    storage = Storage(str(folder / "storage"), Secret("a key of the tests"))
    hub = Hub(folder, HubConfig(title="Multimodal leaderboards"), database, storage)
    with database.writing() as session:
        account = create_account(session, "ann", "submitter", "a long password")
        create_account(session, "bob", "submitter", "another long password")
        for name, title, questions, is_hidden in (
            ("mmbench-dev-en", "MMBench dev (English)", 1164, False),
            ("mmbench-test-en", "MMBench test (English)", 1784, True),
            ("seed-images", "SEED-Bench images", 600, False),
        ):
            data = write_data(folder / f"{name}.tsv")
            new = NewBenchmark(
                name=name,
                title=title,
                data=data,
                is_hidden=is_hidden,
                protocol=Protocol(),
                description="Twenty abilities, each question asked with its options rotated.",
            )
            benchmark = add_benchmark(session, storage, new)
            benchmark.rows, benchmark.created = questions, START
            _fill(session, hub, benchmark, account, models, random.Random(name))
        add_benchmark(session, storage, NewBenchmark(name="empty", title="Nothing yet", data=data))
        members = [{"benchmark": name, "weight": 1, "scale": 1} for name in ("mmbench-dev-en", "seed-images")]
        description = "The open benchmarks of this hub, averaged."
        session.add(
            HostedSuite(name="core", title="Core suite", members=members, created=START, description=description)
        )
    return hub


def _fill(
    session: Session, hub: Hub, benchmark: HostedBenchmark, account: Account, models: int, chance: random.Random
) -> None:
    difficulty = [chance.gauss(0, 0.25) for _ in range(benchmark.rows)]
    for place, line in enumerate(MODELS[:models]):
        skill = 0.84 - 0.0155 * place + chance.gauss(0, 0.01)
        if place == 5:
            skill = 0.775
        scores = [1.0 if chance.random() < skill + shift else 0.0 for shift in difficulty]
        is_reported = place % 7 == 3 and not benchmark.is_hidden
        submission = _submission(session, benchmark, account, line, place, is_reported)
        _score(session, hub, submission, scores, 1, is_reported)
        submission.published = submission.created + timedelta(hours=2)
        note_change(session, submission, "imported" if is_reported else "published")
        session.flush()
        if place % 9 == 4:
            note_change(session, submission, "scored")
    private = _submission(session, benchmark, account, "an unpublished model|||||", 41, False)
    _score(session, hub, private, [1.0] * benchmark.rows, 1, False)
    private.visibility, private.published = "private", None
    if benchmark.name == "seed-images":
        _second_version(session, hub, benchmark, chance)


def _second_version(session: Session, hub: Hub, benchmark: HostedBenchmark, chance: random.Random) -> None:
    """New data: all but the last that were scored here are scored again."""
    benchmark.version = 2
    note_data_change(session, benchmark, 1)
    scored = session.query(Submission).filter_by(benchmark_id=benchmark.id, kind="submitted")
    for submission in scored.order_by(Submission.id).all()[:-3]:
        (score,) = submission.scores
        share = (score.headline or 0) / 100 + 0.01
        again = [1.0 if chance.random() < share else 0.0 for _ in range(benchmark.rows)]
        _score(session, hub, submission, again, 2, False)


def _submission(
    session: Session, benchmark: HostedBenchmark, account: Account, line: str, place: int, is_reported: bool
) -> Submission:
    name, organisation, size, weights, released, route = line.split("|")
    facts: dict[str, Any] = {
        "organisation": organisation,
        "parameters": float(size) if size else None,
        "weights": weights,
        "released": released,
        "route": route,
        "link": "https://example.org/model" if place == 0 else "",
    }
    row = Submission(
        public_id=f"{benchmark.id:04x}{place:012x}",
        account_id=account.id,
        benchmark_id=benchmark.id,
        model=name,
        facts={key: value for key, value in facts.items() if value},
        kind="reported" if is_reported else "submitted",
        status="scored",
        visibility="published",
        problem="",
        file=None,
        file_name="predictions.jsonl",
        digest="ab" * 32,
        size=184_213,
        run={"model": "qwen2-vl:7b", "snellen": "3.1.0", "seed": 0} if place == 3 else {},
        created=START + timedelta(days=6 * place),
        published=None,
        source=SOURCE if is_reported else {},
        other_protocol=OTHER if place in (7, 24) else "",
    )
    session.add(row)
    session.flush()
    return row


def _score(
    session: Session, hub: Hub, submission: Submission, scores: list[float], version: int, is_reported: bool
) -> None:
    groups = {}
    for index, category in enumerate(CATEGORIES):
        part = scores[index :: len(CATEGORIES)]
        if (len(submission.model) + index) % 17:
            groups[category] = _metric("accuracy", part, is_reported)
    headline = _metric("accuracy", scores, is_reported)
    outcomes: dict[Outcome, int] = {"answered": len(scores) - 25, "unparsed": 14, "refused": 8, "missing": 3}
    summary = Summary(
        headline=headline,
        metrics={"accuracy": headline, "vanilla": _metric("vanilla", scores[::2], is_reported)},
        groups={"category": groups},
        outcomes={} if is_reported else outcomes,
        n=headline.n,
        total=len(scores),
    )
    ids = tuple(map(str, range(len(scores))))
    records = msgspec.json.encode(RowScores(ids, tuple(scores)))
    is_hidden = submission.benchmark.is_hidden
    interval = headline.interval
    session.add(
        SubmissionScore(
            submission_id=submission.id,
            version=version,
            scored_by="3.1.0",
            headline=headline.value,
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            samples=len(scores),
            records=None if is_reported else hub.storage.put(records, seal=is_hidden),
            summary=msgspec.to_builtins(summary),
            created=submission.created,
        )
    )
    session.flush()


def _metric(name: str, scores: list[float], is_reported: bool) -> Metric:
    value = round(100 * sum(scores) / len(scores), 1 if is_reported else 9)
    if is_reported:
        return Metric(name, value, 0)
    share = wilson(sum(scores), len(scores))
    return Metric(name, value, len(scores), Interval(100 * share.low, 100 * share.high, "wilson"))
