"""Results in the layout of MME's evaluation tool (arXiv:2306.13394).

One text file for each subtask; a line holds image, question, answer and reply, separated by tabs.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from snellen.core.errors import DataError
from snellen.core.limits import Limits
from snellen.data.documents import read_bounded
from snellen.data.foreign.layout import ResultsLayout
from snellen.data.tables.typed_rows import Record

_CELL_COUNT = 4
_BLOCK_SIZE = 1 << 20
_MAX_LINE_LENGTH = 1 << 20


def mme_files(folder: Path) -> list[Path]:
    """The result files of a folder, by name, without read-me files; of a file the file itself.

    Empty if no file of the folder looks like results; MME's question files, for example, are also
    text files, but with two cells a line.
    """
    if folder.is_file():
        return [folder]
    files = sorted(
        path for path in folder.glob("*.txt") if path.is_file() and not path.stem.lower().startswith("readme")
    )
    return files if any(map(_is_result_file, files)) else []


def _records(home: Path, name: str, limits: Limits) -> Iterator[Record]:
    """A record for each line; its id is subtask, image and the number of the question (1 or 2).

    Raises DataError for a line with fewer than four cells and for text that is not UTF-8.
    """
    for path in mme_files(home):
        questions_per_image: Counter[str] = Counter()
        for number, line in enumerate(_read_lines(path, limits), 1):
            if not line.strip():
                continue
            cells = line.split("\t", _CELL_COUNT - 1)
            if len(cells) < _CELL_COUNT:
                raise DataError(
                    f"{path}, line {number}: {len(cells)} cells; expected image, question, answer "
                    "and reply with tabs between them, as MME's evaluation tool reads them"
                )
            image, question, answer, reply = cells
            questions_per_image[image] += 1
            yield {
                "index": f"{path.stem}/{image}/{questions_per_image[image]}",
                "category": path.stem,
                "image_path": image,
                "question": question,
                "answer": answer.strip(),
                "prediction": reply,
            }


def results_digest(home: Path) -> str:
    """SHA-256 (hex) of a file, or of the names and contents of several result files of a folder."""
    hashed = hashlib.sha256()
    files = mme_files(home)
    for path in files:
        if len(files) > 1:
            hashed.update(path.name.encode() + b"\0")
        with path.open("rb") as file:
            while block := file.read(_BLOCK_SIZE):
                hashed.update(block)
    return hashed.hexdigest()


def _is_result_file(path: Path) -> bool:
    with path.open("rb") as file:
        return _has_cells(file.readline(_MAX_LINE_LENGTH))


def _has_cells(line: bytes) -> bool:
    return line.count(b"\t") >= _CELL_COUNT - 1


def _read_lines(path: Path, limits: Limits) -> list[str]:
    data = read_bounded(path, limits, str(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}); save the file as UTF-8") from None
    # Normalise line ends as Python does when it opens a text file.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


LAYOUT = ResultsLayout(
    "mme-results",
    "results of MME's tool",
    "image, question, answer and reply in the lines of a text",
    _has_cells,
    _records,
)
