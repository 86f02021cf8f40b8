"""Subtitles in SubRip (.srt) and WebVTT (.vtt): cues with their times, in seconds."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import MediaError

_TIMES = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})\s*-->\s*(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})")
_TAG = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
"""Tags of either format for bold, colour, speaker or karaoke times."""
_BLANK_LINES = re.compile(r"\n[ \t]*\n")


class Cue(NamedTuple):
    start: float
    end: float
    text: str


def read_subtitles(path: str) -> list[Cue]:
    """The cues in order of time. Raises MediaError for a file that cannot be read or has no
    cues."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise MediaError(f"cannot read {path}: {error.strerror or error}") from error
    cues = parse_subtitles(data.decode("utf-8-sig", "replace"))
    if not cues:
        raise MediaError(f"{path} holds no subtitles: expected SubRip or WebVTT")
    return cues


def parse_subtitles(text: str) -> list[Cue]:
    """The cues of a document; blocks without times (headers, notes, styles) are skipped."""
    cues: list[Cue] = []
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    for block in _BLANK_LINES.split(plain):
        lines = block.strip().split("\n")
        for number, line in enumerate(lines):
            match = _TIMES.match(line.strip())
            if match:
                cue_text = " ".join(" ".join(lines[number + 1 :]).split())
                cue_text = html.unescape(_TAG.sub("", cue_text)).strip()
                if cue_text:
                    cues.append(Cue(_seconds(match.groups()[:4]), _seconds(match.groups()[4:]), cue_text))
                break
    return sorted(cues)


def cues_at(cues: Iterable[Cue], moments: Sequence[float]) -> list[Cue]:
    """The cues on screen at one of the moments, each once, in order of time."""
    return [cue for cue in cues if any(cue.start <= moment <= cue.end for moment in moments)]


def _seconds(parts: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    total = 3600 * int(hours) + 60 * int(minutes) + int(seconds)
    return total + int(fraction.ljust(3, "0")) / 1000
