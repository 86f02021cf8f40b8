"""SEED-Bench's official question files as a table: `{"questions": [...], "question_type": {...}}`.

One example question: question_id "26_0", question_type_id 26, question "What will happen next?",
choice_a "v2799/2.png", ..., answer "B", data_id ["task26/.../v1753/1.png", ...], data_type "Image
Generation", level "L3", subpart "Image Generation". (Format: DATASET.md of AILab-CVC/SEED-Bench.)

Oddities: `data_id` is one name or a list; CC3M names have no suffix; `<img>` (in some files
`[img]`) marks the position of the next image; if the answer is an image, the last names of
`data_id` are the options' images; videos of version 1 are files of other data sets, videos of later
versions come as frames. A video may also be a folder of frames with its name without the suffix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from snellen.core.errors import DataError
from snellen.core.limits import Limits
from snellen.core.media import FileSource, digest_bytes
from snellen.core.sample import MediaRef, Row
from snellen.data.columns import column_name
from snellen.data.documents import decode_json, read_bounded
from snellen.data.media.image_files import FileDigests, MediaFolders, is_file, is_folder, media_folders
from snellen.data.media.sources import broken_medium
from snellen.data.media.video_cells import natural_order
from snellen.data.tables.derived import DerivedTable
from snellen.settings import Settings

MAX_FRAMES = 8
"""Evenly spaced frames of a video that a model is sent: the number in the official files."""
IMAGE_OPTIONS = "picture options"
"""Column: how many of a row's media, counted from the last, are the options themselves."""
MEDIA_FOLDERS = (
    "",
    "SEED-Bench-image",
    "cc3m-image",
    "seed_bench_image",
    "SEED-Bench-2-image",
    "seed_bench_image_v2",
    "SEED-Bench-H-data",
    "video",
)
"""Folders next to the question file in which its media are searched: the archives' names."""

_IMAGE_ANSWER_TASKS = ("image generation", "image & text generation")
_MEDIA_SUFFIXES = ("", ".jpg", ".png", ".jpeg")
_VIDEO_SUFFIX = re.compile(r"\.(mp4|webm|avi|mkv|mov)$", re.IGNORECASE)
_CHOICE = re.compile(r"choice_[a-z]")
_PLACEHOLDER = re.compile(r"<img>|\[img\]")
_COPIED_FIELDS = ("question_type_id", "data_type", "data_source", "level", "subpart", "version")


class _SeedQuestions(NamedTuple):
    """The questions of an official file, and the name of each type of question by its number."""

    path: str
    questions: list[dict[str, Any]]
    types: dict[str, str]

    def cells(self, number: int) -> dict[str, str]:
        question = self.questions[number]
        where = f"{self.path}, question {number + 1}"
        cells = {"index": _required_text(question, "question_id", where)}
        text = _required_text(question, "question", where)
        cells["question"] = _PLACEHOLDER.sub("<image>", text)
        options = {column_name(name, 0): question[name] for name in question if _CHOICE.fullmatch(name)}
        cells |= {name: str(value) for name, value in sorted(options.items()) if value is not None}
        cells |= {name: str(question[name]) for name in (*_COPIED_FIELDS, "answer") if question.get(name)}
        kind = self.types.get(cells.get("question_type_id", ""))
        if kind is not None:
            cells["category"] = kind
        if cells.get("subpart", cells.get("data_type", "")).lower() in _IMAGE_ANSWER_TASKS:
            cells[IMAGE_OPTIONS] = str(len(options))
        return cells

    def rows(self, settings: Settings) -> Iterator[Row]:
        """The rows, whose media are located as they are read."""
        home = Path(self.path).expanduser().absolute().parent
        names = tuple(str(home / name) for name in MEDIA_FOLDERS)
        folders = media_folders(names, settings.media_folders, settings.limits, fetched=False)
        with FileDigests(settings.cache) as files:
            for number, question in enumerate(self.questions):
                finder = _MediaFinder(folders, files, f"{self.path}, question {number + 1}")
                yield Row(number, self.cells(number), finder.media(question.get("data_id")))


def open_seed_json(path: str, settings: Settings | None = None) -> DerivedTable:
    """Open an official question file. Raises DataError for other files."""
    settings = settings or Settings.from_environment()
    data = _read_file(Path(path).expanduser(), path, settings.limits)
    questions = _SeedQuestions(path, *_split_document(decode_json(data, path, settings.limits), path))
    count = len(questions.questions)
    columns = dict.fromkeys(name for number in range(min(count, 200)) for name in questions.cells(number))
    return DerivedTable(path, tuple(columns), digest_bytes(data), count, partial(questions.rows, settings), None)


def is_seed_json(path: str) -> bool:
    """Whether a file is an official question file, by its name and its first bytes."""
    file = Path(path).expanduser()
    if file.suffix.lower() != ".json" or not file.is_file():
        return False
    with file.open("rb") as stream:
        head = stream.read(4096)
    return b'"choice_a"' in head or b'"questions"' in head or b'"question_type"' in head


@dataclass(frozen=True, slots=True)
class _MediaFinder:
    """Finds the media of one question."""

    folders: MediaFolders
    files: FileDigests
    where: str

    def media(self, names: object) -> tuple[MediaRef, ...]:
        """The media of a `data_id`: images, or a video, or a video's frames."""
        if names is None:
            return ()
        refs: list[MediaRef] = []
        for name in names if isinstance(names, list) else [names]:
            refs += self._video(str(name)) if _VIDEO_SUFFIX.search(str(name)) else [self._file(str(name))]
        return tuple(refs)

    def _video(self, name: str) -> list[MediaRef]:
        stem = _VIDEO_SUFFIX.sub("", name)
        for folder in map(Path, self.folders.search_folders):
            inner = folder / stem
            if not is_folder(inner) or self.folders.problem(inner) is not None:
                continue
            frames = [path for path in inner.glob("*.*") if path.is_file()]
            if frames:
                return [self._ref(path) for path in evenly_spaced(sorted(frames, key=natural_order), MAX_FRAMES)]
        ref = self._file(name)
        return [MediaRef(ref.digest, ref.source, "video")]

    def _file(self, name: str) -> MediaRef:
        for folder in map(Path, self.folders.search_folders):
            for suffix in _MEDIA_SUFFIXES:
                path = folder / (name + suffix)
                if is_file(path):
                    return self._ref(path)
        folder_names = ", ".join(Path(folder).name for folder in self.folders.search_folders)
        return broken_medium(
            name,
            f"{self.where}: there is no file {name!r} beside the question file (looked in "
            f"{folder_names}); unpack the archives of the data set there",
        )

    def _ref(self, path: Path) -> MediaRef:
        if problem := self.folders.problem(path):
            return broken_medium(path.name, f"{self.where}: {problem}")
        try:
            return MediaRef(self.files.digest(path), FileSource(str(path)))
        except OSError as error:
            problem = f"{self.where}: cannot read {path}: {error.strerror or error}"
            return broken_medium(path.name, problem)


def evenly_spaced(items: Sequence[Path], count: int) -> list[Path]:
    """`count` of the items, evenly spaced, including the first and last; all if there are fewer."""
    if len(items) <= count:
        return list(items)
    return [items[round(index * (len(items) - 1) / (count - 1))] for index in range(count)]


def _read_file(path: Path, name: str, limits: Limits) -> bytes:
    try:
        return read_bounded(path, limits, name)
    except FileNotFoundError:
        raise DataError(f"{name}: there is no such file") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}") from error


def _split_document(value: object, name: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    types: object = None
    if isinstance(value, dict):
        types = value.get("question_type")
        value = value.get("questions")
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DataError(
            f"{name}: expected SEED-Bench's question file, an object whose `questions` is a list "
            "of objects with question_id, question, choice_a, ... and data_id"
        )
    if not value:
        raise DataError(f"{name} holds no questions")
    type_numbers = types if isinstance(types, dict) else {}
    return value, {str(number): kind for kind, number in type_numbers.items()}


def _required_text(question: Mapping[str, Any], name: str, where: str) -> str:
    value = question.get(name)
    if value is None or value == "":
        raise DataError(f"{where}: no {name}; got the fields {', '.join(question)}")
    return str(value)
