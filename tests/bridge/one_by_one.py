"""Tasks of a tool over the bridge, one sample after the other, against what the tool did alone."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from snellen.bridge.process import PeerFault, PeerLost, PeerWorker, WorkerCommand
from snellen.bridge.protocol import Aggregated, JudgeQuestion, NextTurn, SampleData, SampleScore, TaskFacts

Replies = Mapping[str, Sequence[str]] | Sequence[Sequence[str]]


def judge_reply(texts: str, known: Sequence[str]) -> str:
    """What the scripted judge says, by what it is told alone."""
    return known[hashlib.sha256(texts.encode()).digest()[0] % len(known)]


class Bridged:
    """A worker that is started once, and again where it was lost."""

    def __init__(self, command: WorkerCommand, folder: Path) -> None:
        self._command, self._folder = command, folder
        self._worker: PeerWorker | None = None

    def worker(self) -> PeerWorker:
        if self._worker is None or not self._worker.is_alive:
            self._worker = PeerWorker(self._command, self._folder)
        return self._worker

    def version(self) -> dict[str, Any]:
        hello = self.worker().hello
        return {"version": hello.version, "commit": hello.commit}

    def run(
        self, task: str, replies: Replies, known: Sequence[str], options: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """What the bridge shows and counts, with the replies that the tool had, by position or by id
        of the sample. Raises PeerFault, PeerLost."""
        call, asked = self.worker().call, 0

        def judge(question: JudgeQuestion) -> str:
            nonlocal asked
            asked += 1
            texts = [part.text for message in question.messages for part in message.parts if part.type == "text"]
            return judge_reply("\n".join(texts), known)

        facts = call(TaskFacts, "open", task=task, options=dict(options or {}), folder=str(self._folder / "media"))
        shown, ids, records, kinds = [], [], [], set()
        for index in range(facts.count):
            sample = call(SampleData, "sample", index=index)
            kinds.add(sample.kind or facts.kind or "open")
            turns = [_shown(sample.messages)]
            given = list(replies[sample.id] if isinstance(replies, Mapping) else replies[index])
            for turn in range(1, len(given) + 1 if facts.multi_turn else 1):
                following = call(NextTurn, "next", index=index, replies=given[:turn])
                if not following.done:
                    turns.append(_shown(following.messages))
            shown.append(turns)
            ids.append(sample.id)
            scored = call(SampleScore, "score", judge=judge, index=index, replies=given)
            records.append({"index": index, "replies": given, "state": scored.state})
        whole = call(Aggregated, "aggregate", judge=judge, records=records)
        return {
            "shown": shown,
            "ids": ids,
            "metrics": {name: value for name, value in whole.metrics.items() if value is not None},
            "kinds": sorted(kinds),
            "judged": asked,
        }

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()


def compare(
    alone: Mapping[str, Any],
    bridged: Bridged,
    task: str,
    known: Sequence[str],
    options: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What came of a task: `same`, `differs`, `broken there`, or the kind of an error over the bridge."""
    if "error" in alone:
        return {"came": "broken there", "why": alone["error"]}
    try:
        over = bridged.run(task, alone["replies"], known, options)
    except (PeerFault, PeerLost) as error:
        kind = error.fault.kind if isinstance(error, PeerFault) else "lost"
        return {"came": kind, "why": str(error)[:300]}
    why = find_difference(alone, over)
    if why:
        return {"came": "differs", "why": why}
    parts = [part for row in over["shown"] for turn in row for part in turn]
    return {
        "came": "same",
        "rows": len(over["shown"]),
        "media": sorted({kind for _, kind, _ in parts}),
        "most_media": max(sum(kind != "text" for turn in row for _, kind, _ in turn) for row in over["shown"]),
        "turns": max(map(len, over["shown"])),
        "judged": over["judged"],
        "numbers": len(over["metrics"]),
    }


def find_difference(alone: Mapping[str, Any], bridged: Mapping[str, Any]) -> str:
    """What differs first; "" if nothing does."""
    shown = alone["shown"]
    shown = [shown[name] for name in bridged["ids"]] if isinstance(shown, Mapping) else shown
    for index, (one, other) in enumerate(zip(shown, bridged["shown"], strict=True)):
        if one != other:
            return f"row {index} is shown otherwise: {one} alone and {other} over the bridge"[:500]
    for name in sorted(set(alone["metrics"]) | set(bridged["metrics"])):
        if alone["metrics"].get(name) != bridged["metrics"].get(name):
            return f"{name} is {alone['metrics'].get(name)} alone and {bridged['metrics'].get(name)} over the bridge"
    return ""


def _shown(messages: Sequence[Any]) -> list[list[str]]:
    """As the scripted models note it."""
    return [
        [message.role, part.type, part.text if part.type == "text" else digest_media(part.type, Path(part.path))]
        for message in messages
        for part in message.parts
    ]


def digest_media(kind: str, path: Path) -> str:
    """SHA-256 of a picture's size and pixels, of the samples and rate of a sound of 32-bit floating
    point, or of a file as it is."""
    data = path.read_bytes()
    if kind == "image":
        with Image.open(path) as image:
            return hashlib.sha256(f"{image.size}".encode() + image.convert("RGB").tobytes()).hexdigest()
    if kind == "audio" and data[:4] == b"RIFF" and struct.unpack("<H", data[20:22])[0] == 3:
        rate = struct.unpack("<I", data[24:28])[0]
        return hashlib.sha256(data[44:] + str(rate).encode()).hexdigest()
    return hashlib.sha256(data).hexdigest()
