"""Results in the layout of MME's evaluation tool (arXiv:2306.13394).

One text file for each subtask; a line holds image, question, answer and reply, separated by tabs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, Limits
from snellen.data.documents import read_bounded
from snellen.data.tables.typed_rows import Record

_CELL_COUNT = 4
_MAX_LINE_LENGTH = 1 << 20


def mme_files(folder: Path) -> list[Path]:
    """The result files of a folder, by name, without read-me files.

    Empty if no file of the folder looks like results; MME's question files, for example, are also
    text files, but with two cells a line.
    """
    files = sorted(
        path for path in folder.glob("*.txt") if path.is_file() and not path.stem.lower().startswith("readme")
    )
    return files if any(map(_is_result_file, files)) else []


def mme_records(files: Sequence[Path], limits: Limits = DEFAULT_LIMITS) -> Iterator[Record]:
    """A record for each line; its id is subtask, image and the number of the question (1 or 2).

    Raises DataError for a line with fewer than four cells and for text that is not UTF-8.
    """
    for path in files:
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


def _is_result_file(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline(_MAX_LINE_LENGTH).count(b"\t") >= _CELL_COUNT - 1


def _read_lines(path: Path, limits: Limits) -> list[str]:
    data = read_bounded(path, limits, str(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}); save the file as UTF-8") from None
    # Normalise line ends as Python does when it opens a text file.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
