"""An adapter for a tool that asks for colours: it behaves well, or badly in the way its task names."""

from __future__ import annotations

import json
import os
import socket
import struct
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen_worker.main import AskJudge, DataMissing, Needs, UsageProblem  # type: ignore[import-not-found]
from snellen_worker.message_parts import media_part  # type: ignore[import-not-found]

COLOURS = ("red", "green", "blue", "white")


def open_peer(ask_judge: AskJudge, settings: Mapping[str, Any]) -> Colours:
    return Colours(ask_judge, settings)


class Colours:
    def __init__(self, ask_judge: AskJudge, settings: Mapping[str, Any]) -> None:
        self.ask_judge, self.settings = ask_judge, settings

    def facts(self) -> dict[str, Any]:
        return {"peer": "colours", "version": "3"}

    def tasks(self) -> Sequence[Mapping[str, Any]]:
        return [{"name": "plain", "kind": "choice"}, {"name": "judged", "kind": "open", "judged": True}]

    def open(self, task: str, options: Mapping[str, str], folder: Path) -> Task:
        if task == "absent":
            raise DataMissing("colours.tsv is not in /data: put it there")
        if task == "lacking":
            raise Needs("the package 'prism' is not installed")
        if task == "unknown":
            raise UsageProblem("colours has no task 'unknown'")
        return Task(task, folder, self)


class Task:
    def __init__(self, name: str, folder: Path, tool: Colours) -> None:
        self.name, self.folder, self.tool = name, folder, tool
        self.is_judged = name == "judged"

    def facts(self) -> dict[str, Any]:
        return {
            "task": self.name,
            "count": len(COLOURS),
            "digest": "0123" * 16,
            "modality": ["image"],
            "kind": "open" if self.is_judged else "choice",
            "headline": "colour sense",
            "multi_turn": self.name == "turns",
            "generation": {"max_new_tokens": 9},
        }

    def refuse_order(self) -> str:
        return "its options are painted on its pictures" if self.name == "painted" else ""

    def sample(self, index: int, order: Sequence[int] = ()) -> dict[str, Any]:
        described = self.question(index, order)
        if order and self.name == "one fixed" and index == 1:
            described["fixed"] = "its options are pictures, which would change places"
        if self.name == "lazy":
            with (self.folder / "prompts").open("a") as file:
                file.write(f"{index}\n")
            if index == 3:
                raise ValueError("no white paint")
        return described

    def __getattr__(self, name: str) -> Any:
        if name != "describe" or self.name != "lazy":
            raise AttributeError(name)
        return lambda index: {key: value for key, value in self.question(index).items() if key != "messages"}

    def question(self, index: int, order: Sequence[int] = ()) -> dict[str, Any]:
        shown = zip("ABCD", order or range(4), strict=True)
        part = media_part(self.folder, "image", picture(index), ".png", "image/png")
        text = {
            "type": "text",
            "text": "Which colour? " + " ".join(f"{label} {COLOURS[place]}" for label, place in shown),
        }
        told: dict[str, Any] = {"id": f"colour {index}", "messages": [{"role": "user", "parts": [part, text]}]}
        if not self.is_judged:
            told |= {"kind": "choice", "options": dict(zip("ABCD", COLOURS, strict=True)), "gold": ["ABCD"[index]]}
        if self.name == "settings" and index == 1:
            told["generation"] = {"temperature": 0.5, "max_new_tokens": 7}
        return told | {"groups": {"warm": str(index == 0)}, "question": "Which colour?"}

    def next_turn(self, index: int, replies: Sequence[str]) -> dict[str, Any]:
        if len(replies) >= 2:
            return {"done": True}
        said = [{"role": "assistant", "parts": [{"type": "text", "text": replies[0]}]}]
        asked = [{"role": "user", "parts": [{"type": "text", "text": "Are you sure?"}]}]
        return {"messages": [*self.sample(index)["messages"], *said, *asked]}

    def score(self, index: int, replies: Sequence[str], order: Sequence[int] = ()) -> dict[str, Any]:
        misbehave(self.name, index, self.folder)
        if self.name == "grouped" and index == 1:
            raise TaskGroup(ValueError("a colour out of space"))
        if self.is_judged:
            question = {"role": "user", "parts": [{"type": "text", "text": f"Is {replies[0]!r} {COLOURS[index]}?"}]}
            text = self.tool.ask_judge([question], {"max_tokens": 5, "stop": ["."], "temperature": 1.0, "top_p": 0.5})
            return {"values": {"verdict": 1.0 if "yes" in text.lower() else 0.0}, "correct": "yes" in text.lower()}
        if self.name == "together":
            return {"values": {}, "state": [replies[-1], index]}
        if self.name == "hashes":
            return {"values": {"hash": hash("red")}}
        right = replies[-1].strip()[:1] == "ABCD"[list(order or range(4)).index(index)]
        return {"values": {"hit": right}, "correct": right, "answer": replies[-1].strip()[:1], "state": [right, index]}

    def aggregate(self, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        assert [one["index"] for one in records] == sorted(one["index"] for one in records)
        if self.is_judged:
            return {"metrics": {}}
        if self.name == "together":
            verdicts = [one["state"][0] == "ABCD"[one["state"][1]] for one in records]
            values = [
                {"index": one["index"], "values": {"hit": right}, "correct": right}
                for one, right in zip(records, verdicts, strict=True)
            ]
            sense = sum(verdicts) / len(records)
            return {"metrics": {"colour sense": sense}, "headline": "colour sense", "values": values}
        right = sum(one["state"][0] for one in records)
        return {"metrics": {"colour sense": right / len(records), "asked": len(records)}, "headline": "colour sense"}


class TaskGroup(BaseException):
    """What event loops make of an error; no `except Exception` has it."""

    def __init__(self, *inner: BaseException) -> None:
        super().__init__("unhandled errors in a TaskGroup (1 sub-exception)")
        self.exceptions = inner


def misbehave(task: str, index: int, folder: Path) -> None:
    """What the worst tools do while they score the second question."""
    if index != 1:
        return
    if task == "exits":
        print("no more colours", flush=True)
        os._exit(7)
    if task == "once" and not (folder / "died").exists():
        (folder / "died").touch()
        os._exit(7)
    if task == "hangs":
        (folder / "hangs").touch()
        time.sleep(1000)
    if task == "slow":
        time.sleep(0.6)
    if task == "raises":
        raise ValueError("a colour out of space")
    if task == "chatters":
        replies = int(json.loads(Path("/proc/self/cmdline").read_bytes().split(b"\0")[-2])["replies"])
        os.write(replies, b"hello there\n")
    if task == "looks":
        keys = {name for name in os.environ if name.endswith(("_KEY", "_TOKEN"))}
        try:
            socket.create_connection(("127.0.0.1", 9), timeout=1)
        except OSError as error:
            raise RuntimeError(f"keys {sorted(keys)}, network {error.strerror}") from error


def picture(index: int) -> bytes:
    """A PNG of two by two pixels."""
    pixel = bytes(((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255))[index])
    rows = b"".join(b"\0" + pixel * 2 for _ in range(2))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
