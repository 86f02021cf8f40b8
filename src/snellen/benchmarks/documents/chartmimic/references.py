"""ChartMimic's rows: an instruction, a picture, and the program that draws the reference.

VLMEvalKit's tables name files of the authors' archives, `dataset-old.tar.gz` (version 1) and
`dataset-iclr.tar.gz` (version 2): `input_figure` is shown, `ground_truth_figure_code` is the
program, and the picture that it draws stands beside it as PNG.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError
from snellen.core.sample import MediaRef, Row, Sample
from snellen.data.columns import row_id
from snellen.data.media.image_files import FileDigests, MediaFolders, is_file, locate_image
from snellen.settings import Settings

TASK, TYPE = "task", "chart_type"
REFERENCE = "reference"
"""Key of the reference's picture among a sample's `option_images`."""
FOLDER = "ChartMimic"
"""Of the files, in the folders of tables or in their `images`."""
_MOST_CHARACTERS = 1_000_000
_DATA_PART = re.compile(
    r"# =+\n# Part 2: Data Preparation\n# =+\n(.*?)# =+\n# Part 3: Plot Configuration and "
    r"Rendering\n# =+",
    re.DOTALL,
)
_IMPORTS = """\
import colorsys
import math
import matplotlib.colors as mcolors
import matplotlib.gridspec as gridspec
import matplotlib.pyplot as plt
import numpy as np
np.random.seed(0)
from matplotlib import cm
from matplotlib.colors import LogNorm
from matplotlib.gridspec import GridSpec
"""
_IMPORTS_IF_THERE = (
    "from matplotlib_venn import venn2",
    "import networkx as nx",
    "import pandas as pd",
    "from scipy.stats import gaussian_kde, multivariate_normal, norm",
    "import seaborn as sns",
)
"""What customised programs may use without importing it, as the authors have it."""


class Reference(Struct, frozen=True, omit_defaults=True):
    """What a generated chart is compared with."""

    program: str
    data_code: str = ""
    """Runs before a generated program of the customised task, whose instruction has the data."""
    is_graph: bool = False
    """Whether it draws networks: for the layout, its axes are counted alone."""


def chartmimic_samples(rows: Iterable[Row]) -> Iterator[Sample]:
    """A sample for each row: its gold is the reference's program as a reply has it, its hint the
    `Reference` as JSON. Raises DataError for rows without a program."""
    path = str(getattr(rows, "path", "chartmimic"))
    with FileDigests(Settings.from_environment().cache) as digests:
        files = _Files(path, _folders(rows, path), digests)
        for row in rows:
            yield _sample(row, files)


def _sample(row: Row, files: _Files) -> Sample:
    cells = row.cells
    name = cells.get("ground_truth_figure_code", "")
    where = f"{files.path}, row {row.index + 1}"
    program = cells.get("ground_truth_code") or files.text(name, where)
    stem = name.rsplit("/", 1)[-1].removesuffix(".py")
    chart_type = cells.get(TYPE) or stem.rpartition("_")[0]
    task = cells.get(TASK, "")
    reference = Reference(
        program,
        _data_code(program, where) if "customized" in task.lower() else "",
        is_graph="/graph" in name or chart_type == "graph",
    )
    figure = cells.get("input_figure", "")
    groups = {TASK: task, TYPE: chart_type}
    picture = files.picture(f"{name.removesuffix('.py')}.png", where) if name else None
    return Sample(
        id=row_id(row),
        kind="open",
        question=cells.get("question", ""),
        gold=(f"```python\n{program}\n```",),
        media=row.media or ((files.picture(figure, where),) if figure else ()),
        hint=msgspec.json.encode(reference).decode(),
        groups={key: label for key, label in groups.items() if label},
        option_images={REFERENCE: picture} if picture is not None else {},
    )


def _data_code(program: str, where: str) -> str:
    """The imports, and the part of a reference's program that holds its data."""
    match = _DATA_PART.search(program)
    if match is None:
        raise DataError(
            f"{where}: the reference's program of a customised task has no part "
            "'Part 2: Data Preparation' before a part 3; expected the authors' file"
        )
    further = "".join(f"try:\n    {statement}\nexcept ImportError:\n    pass\n" for statement in _IMPORTS_IF_THERE)
    return f"{_IMPORTS}{further}{match[1].strip()}\n"


class _Files:
    """The files that a table names."""

    def __init__(self, path: str, folders: MediaFolders, digests: FileDigests) -> None:
        self.path, self._folders, self._digests = path, folders, digests

    def picture(self, name: str, where: str) -> MediaRef:
        return locate_image(name, self._folders, self._digests, where)

    def text(self, name: str, where: str) -> str:
        """The program in a file. Raises DataError."""
        if not name:
            raise DataError(
                f"{where}: no reference; expected the file of a program in "
                "`ground_truth_figure_code`, or the program itself in `ground_truth_code`"
            )
        for folder in self._folders.search_folders:
            path = Path(folder, name)
            if not is_file(path):
                continue
            problem = self._folders.problem(path)
            if problem is not None:
                raise DataError(f"{where}: {problem}")
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise DataError(f"{where}: cannot read {path}: {error}") from error
            if len(text) > _MOST_CHARACTERS:
                raise DataError(f"{where}: {path} is longer than {_MOST_CHARACTERS:,} characters")
            return text
        looked = ", ".join(self._folders.search_folders)
        raise DataError(
            f"{where}: there is no file {name!r} (looked in {looked}); unpack the authors' "
            f"dataset-old.tar.gz into {FOLDER}/v1 and dataset-iclr.tar.gz into {FOLDER}/v2 of one "
            "of these folders"
        )


def _folders(rows: object, path: str) -> MediaFolders:
    """Where files are: beside the table, and where VLMEvalKit unpacks the archives."""
    folders = getattr(rows, "media_folders", None)
    if not isinstance(folders, MediaFolders):
        folders = MediaFolders((str(Path(path).absolute().parent),))
    for folder in _further(folders.search_folders):
        folders = folders.with_folder(folder)
    return folders


def _further(folders: Sequence[str]) -> Iterator[str]:
    data = Settings.from_environment().lmu_data
    bases = [*map(Path, folders), *([data] if data is not None else [])]
    for base in bases:
        yield str(base / FOLDER)
        yield str(base / "images" / FOLDER)
