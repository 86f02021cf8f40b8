"""MME's own folder layout: one folder for each subtask, with images and their questions.

    MME_Benchmark/
      existence/000000006040.jpg, existence/000000006040.txt              (flat)
      scene/images/0001.jpg, scene/questions_answers_YN/0001.txt          (separate)

A text file has its image's name and holds one question a line: question, tab, answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, Limits
from snellen.data.columns import join_columns, rename_columns
from snellen.data.documents import read_bounded
from snellen.data.media.image_cells import NamedImage
from snellen.data.tables.index import IndexedRow, Scan

QUESTION_FOLDER, IMAGE_FOLDER = "questions_answers_YN", "images"
_LINE_END = re.compile(r"\r\n|\r|\n")
COLUMNS = ("id", "question_id", "category", "image_path", "question", "answer")
IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff"})


class QuestionFile(NamedTuple):
    """A text file of a subtask, and the image that its questions are about.

    If the image is missing, `image` is the path where it was expected.
    """

    subtask: str
    text: Path
    image: Path


def is_mme_folder(folder: Path) -> bool:
    """Whether the folder, or one directly in it, holds a subtask in MME's layout."""
    return folder.is_dir() and next(_subtasks(folder), None) is not None


def question_files(folder: Path, limits: Limits = DEFAULT_LIMITS) -> list[QuestionFile]:
    """The text files of all subtasks, by subtask and name. Raises DataError for one over the size
    limit."""
    files = []
    for subtask in _subtasks(folder):
        texts, images = _subtask_folders(subtask)
        by_stem = {
            path.stem: path
            for path in sorted(images.iterdir() if images.is_dir() else ())
            if path.suffix.lower() in IMAGE_SUFFIXES
        }
        # A flat folder may hold a text that is not about an image, such as a readme.
        files += [
            QuestionFile(subtask.name, text, by_stem.get(text.stem, images / f"{text.stem}.jpg"))
            for text in sorted(texts.glob("*.txt"))
            if texts != images or text.stem in by_stem or b"\t" in read_bounded(text, limits, str(text))
        ]
    return files


def scan_mme(folder: Path, files: list[QuestionFile], column_map: Mapping[str, str], name: str) -> Scan:
    """The questions as rows. Raises UnknownName, and DataError for a line that is not question,
    tab, answer.

    The digest is over the texts and their names; each image has its own.
    """
    hashed = hashlib.sha256()
    columns = rename_columns(COLUMNS, column_map)
    rows = _rows(folder, files, columns, column_map, name, hashed.update)
    return Scan(columns, rows, hashed.hexdigest)


def _subtasks(folder: Path) -> Iterator[Path]:
    if _is_subtask(folder):
        yield folder
        return
    yield from (inner for inner in sorted(folder.iterdir()) if inner.is_dir() and _is_subtask(inner))


def _is_subtask(folder: Path) -> bool:
    texts, images = _subtask_folders(folder)
    if texts != images:
        return next(texts.glob("*.txt"), None) is not None
    stems = {path.stem for path in folder.glob("*.txt")}
    return bool(stems) and any(
        path.stem in stems and path.suffix.lower() in IMAGE_SUFFIXES for path in folder.iterdir()
    )


class _SubtaskFolders(NamedTuple):
    """Folders of the texts and of the images, which may be the same."""

    texts: Path
    images: Path


def _subtask_folders(subtask: Path) -> _SubtaskFolders:
    question_folder = subtask / QUESTION_FOLDER
    return (
        _SubtaskFolders(question_folder, subtask / IMAGE_FOLDER)
        if question_folder.is_dir()
        else _SubtaskFolders(subtask, subtask)
    )


def _rows(
    folder: Path,
    files: list[QuestionFile],
    columns: Sequence[str],
    column_map: Mapping[str, str],
    name: str,
    update_digest: Callable[[bytes], object],
) -> Iterator[IndexedRow]:
    """One row for each question; `update_digest` is called with the name, size and content of each
    text."""
    count = 0
    for subtask, text, image in files:
        data = text.read_bytes()
        relative = text.relative_to(folder).as_posix()
        update_digest(f"{relative}\0{len(data)}\0".encode() + data)
        path = image.relative_to(folder).as_posix()
        about = f"{subtask}/{image.name}"
        for number, (question, answer) in enumerate(_question_lines(data, f"{name}/{relative}"), 1):
            count += 1
            values = (f"{about}#{number}", about, subtask, path, question, answer)
            cells = {key: value for key, value in zip(columns, values, strict=True) if value}
            join_columns(cells, column_map)
            yield IndexedRow(cells, (NamedImage(path),))
    if not count:
        raise DataError(f"{name} holds no questions; expected lines of question, tab, answer")


class _QuestionLine(NamedTuple):
    question: str
    answer: str


def _question_lines(data: bytes, where: str) -> Iterator[_QuestionLine]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 text (byte {error.start}); save the file as UTF-8") from error
    for number, line in enumerate(_LINE_END.split(text), 1):
        if not line.strip():
            continue
        question, tab, answer = line.partition("\t")
        if not tab or not question.strip() or "\t" in answer.strip():
            raise DataError(
                f"{where}, line {number}: got {line[:80]!r}; expected a question, a tab and the answer Yes or No"
            )
        yield _QuestionLine(question.strip(), answer.strip())
