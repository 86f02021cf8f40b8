"""Open a data file of any format as a `DataTable`.

`open_table` reads TSV, CSV, JSON Lines, JSON, XLSX, Parquet, Hugging Face data sets and MME's
folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError
from snellen.core.limits import Limits
from snellen.core.sample import MediaRef, Origin, Row
from snellen.data.columns import canonical_keys, row_id
from snellen.data.detect import TABLES, is_empty, table_suffix
from snellen.data.documents import read_bounded
from snellen.data.media.image_cells import BrokenCell, NamedImage, NamedVideo, StoredMedium
from snellen.data.media.image_files import FileDigests, MediaFolders, is_file, locate_image, media_folders
from snellen.data.media.sources import BrokenSource, CellLocation, DataFile, StoredCell
from snellen.data.media.video_cells import locate_video
from snellen.data.tables.hub import DatasetName, dataset_files, scan_dataset, split_files, with_split
from snellen.data.tables.index import RowIndex, Scan, StoredRow, index_key, open_index
from snellen.data.tables.mme_folder import is_mme_folder, question_files, scan_mme
from snellen.data.tables.parquet import files_digest
from snellen.data.tables.typed_rows import Record
from snellen.data.tables.unpack import remove_unpacked_copy, unpack_once, unpacked_file
from snellen.settings import Settings


@dataclass(frozen=True, slots=True)
class IndexedTable:
    """Rows of a file through its index; picklable. Memory does not grow with the file."""

    path: str
    """The file as the user named it."""
    index: RowIndex
    data: DataFile
    """The file whose bytes the index points into: `path`, or its unpacked copy."""
    media_folders: MediaFolders
    """Where the files that cells name are searched."""
    cache: Path
    dataset: DatasetName | None = None
    """The Hugging Face data set, if the rows come from one."""
    origin: Origin | None = None

    @property
    def columns(self) -> Sequence[str]:
        return self.index.header.columns

    @property
    def digest(self) -> str:
        return self.index.header.digest

    def __len__(self) -> int:
        return self.index.header.rows

    def __iter__(self) -> Iterator[Row]:
        return self._rows(self.index)

    def take(self, numbers: Sequence[int]) -> Iterator[Row]:
        """The rows of these numbers, in the order of the file, without reading the others."""
        return self._rows(self.index.take(numbers))

    def _rows(self, stored_rows: Iterable[StoredRow]) -> Iterator[Row]:
        with FileDigests(self.cache) as files:
            for number, cells, stored in stored_rows:
                media = tuple([self._medium(item, number + 1, files) for item in stored]) if stored else ()
                yield Row(number, cells, media)

    def ids(self, at_least: int = 0) -> Iterator[str]:
        return self.index.ids(at_least)

    def stored_media(self) -> Iterator[tuple[int, tuple[StoredMedium, ...]]]:
        """Row numbers from 0 and where the images are, without opening them."""
        for number, _, stored in self.index:
            yield number, stored

    def _medium(self, item: StoredMedium, row: int, files: FileDigests) -> MediaRef:
        """The image or video at a location of the index, as a reference that reads it late."""
        if isinstance(item, CellLocation):
            return MediaRef(item.digest, StoredCell(self.dataset or self.data, item, row), item.kind)
        if isinstance(item, BrokenCell):
            return MediaRef(item.digest, BrokenSource(f"{self.path}, row {row}: {item.problem}"))
        if isinstance(item, NamedVideo):
            where = f"{self.path}, row {row}"
            return locate_video(item, self.media_folders, files, where)
        assert isinstance(item, NamedImage)
        return locate_image(item.name, self.media_folders, files, f"{self.path}, row {row}")


def open_table(spec: str, *, columns: Mapping[str, str] | None = None, settings: Settings | None = None) -> DataTable:
    """Open a data file by its suffix (`.gz` allowed), or a data set by `hf://org/name`,
    `modelscope://org/name` or folder.

    `columns` maps our names to the file's, e.g. {"id": "uid", "gold": "truth", "image": "photo"};
    `a+b` joins two columns. The first opening of a file indexes it; later ones take no time. Raises
    DataError, UnknownName (no such column), MissingExtra, StorageError.
    """
    settings = settings or Settings.from_environment()
    column_map = canonical_keys(columns) if columns else {}
    path = Path(spec).expanduser()
    try:
        if is_file(path):
            return _open_file(path, spec, column_map, settings)
        return _open_spec(spec, column_map, settings)
    except PermissionError as error:
        raise DataError(f"{spec} cannot be read: {error.strerror}") from error


def check_holds_data(spec: str) -> None:
    """Raises DataError if a data file or folder does not exist, is empty or is of no known kind.

    Its rows are not read; a data set of a hub is not looked for.
    """
    path = Path(spec).expanduser()
    if not is_file(path):
        name = DatasetName.parse(spec)
        folder = Path(name.name)
        if not name.local or is_mme_folder(folder):
            return
        if folder.is_dir():
            if not name.is_saved():
                split_files(name)
            return
    _refuse_empty(path, spec)
    file_suffix(path)


def _refuse_empty(path: Path, spec: str) -> None:
    if is_empty(path, spec):
        raise DataError(f"{spec} is empty: expected a header line and at least one row")


def _open_spec(spec: str, column_map: Mapping[str, str], settings: Settings) -> DataTable:
    name = DatasetName.parse(spec)
    if name.local and is_mme_folder(Path(name.name)):
        return _open_mme(Path(name.name), spec, column_map, settings)
    if not name.local or Path(name.name).is_dir():
        return _open_dataset(name, spec, column_map, settings)
    # Not a file: the error says so, or which suffixes are read.
    return _open_file(Path(spec).expanduser(), spec, column_map, settings)


def _open_mme(folder: Path, spec: str, column_map: Mapping[str, str], settings: Settings) -> IndexedTable:
    mme_files = question_files(folder, settings.limits)
    # The images are part of the key: one that is added later may have another suffix.
    files = [path for question_file in mme_files for path in (question_file.text, question_file.image) if path.exists()]
    scan = partial(scan_mme, folder, mme_files, column_map, spec)
    return _open_indexed(spec, folder, files, scan, column_map, settings)


def _open_dataset(name: DatasetName, spec: str, column_map: Mapping[str, str], settings: Settings) -> IndexedTable:
    if name.is_saved():
        name = with_split(name)
        files = dataset_files(name)
        scan = partial(scan_dataset, name, column_map, spec)
        return _open_indexed(spec, Path(name.name), files, scan, column_map, settings, name)
    files = split_files(name)
    if files[0].suffix == ".parquet":
        from snellen.data.tables.parquet import scan_parquet

        scan = partial(scan_parquet, files, column_map, spec, settings.limits)
        return _open_indexed(spec, Path(name.name), files, scan, column_map, settings)
    return _open_file(files[0], spec, column_map, settings)


def _open_file(path: Path, spec: str, column_map: Mapping[str, str], settings: Settings) -> IndexedTable:
    _refuse_empty(path, spec)
    suffix = file_suffix(path)
    plain = unpacked_file(path, settings.cache, settings.limits)
    try:
        data, scan = _file_scanner(suffix, path, plain, column_map, spec, settings)
        return _open_indexed(spec, path, [data], scan, column_map, settings)
    except DataError:
        remove_unpacked_copy(plain, path)
        raise


def _open_indexed(
    spec: str,
    path: Path,
    files: Sequence[Path],
    scan: Callable[[], Scan],
    column_map: Mapping[str, str],
    settings: Settings,
    dataset: DatasetName | None = None,
) -> IndexedTable:
    """Open the index of `files`, building it with `scan` if necessary; `files[0]` is pointed
    into."""
    data = DataFile.from_path(str(files[0]))
    key = index_key(
        files, {f"column {key_in_table}": name_in_file for key_in_table, name_in_file in column_map.items()}
    )
    index = open_index(settings.cache / "index", key, scan)
    from_hub = dataset is not None and not dataset.local
    fetched = from_hub or path.absolute().is_relative_to(settings.datasets)
    folders = media_folders(_image_folders(path, settings), settings.media_folders, settings.limits, fetched=fetched)
    return IndexedTable(spec, index, data, folders, settings.cache, dataset)


def file_suffix(path: Path) -> str:
    """`.tsv` of `questions.tsv.gz`. Raises DataError for a format that is not supported."""
    suffix = table_suffix(path)
    if suffix not in TABLES:
        task = " (a task of lmms-eval is written as TOML)" if suffix in (".yaml", ".yml") else ""
        raise DataError(
            f"{path}: unknown kind of data file {suffix or path.name!r}{task}; "
            f"expected {', '.join(TABLES)} (also with .gz), a folder, hf://org/name or "
            "modelscope://org/name"
        )
    return suffix


def scan_table(suffix: str, path: Path, column_map: Mapping[str, str], name: str, limits: Limits) -> Scan:
    """The rows of an unpacked file of the format of `suffix`; only its reader is imported. Raises
    DataError, UnknownName."""
    if suffix in (".tsv", ".csv"):
        from snellen.data.tables.tsv import scan_tsv

        return scan_tsv(path, b"\t" if suffix == ".tsv" else b",", column_map, name, limits)
    if suffix == ".parquet":
        from snellen.data.tables.parquet import scan_parquet

        return scan_parquet([path], column_map, name, limits)
    if suffix == ".xlsx":
        from snellen.data.tables.workbook import scan_xlsx

        return scan_xlsx(path, column_map, name, limits)
    from snellen.data.tables.json_records import scan_document, scan_jsonl

    return (scan_document if suffix == ".json" else scan_jsonl)(path, column_map, name, limits)


def check_unique_ids(table: DataTable) -> None:
    """Raises DataError naming both rows (counted from 1) if two rows have the same id."""
    first_rows: dict[str, int] = {}
    for row in table:
        name = row_id(row)
        first = first_rows.setdefault(name, row.index)
        if first != row.index:
            raise DataError(
                f"{table.path}: rows {first + 1} and {row.index + 1} have the same id {name!r}; "
                "each row needs its own, or choose another column with --columns id=..."
            )


def _file_scanner(
    suffix: str, path: Path, plain: Path, column_map: Mapping[str, str], spec: str, settings: Settings
) -> tuple[Path, Callable[[], Scan]]:
    """The file that locations point into, and the function that scans it."""
    limits = settings.limits
    if suffix not in (".json", ".xlsx"):
        return plain, partial(scan_table, suffix, plain, column_map, spec, limits)

    def write(part: BinaryIO) -> None:
        from snellen.data.tables.json_records import write_lines

        write_lines(_document_records(suffix, plain, spec, limits), part)

    lines = unpack_once(path, settings.cache, f"{path.name}.jsonl", write)
    digest = partial(files_digest, [plain])
    return lines, lambda: scan_table(".jsonl", lines, column_map, spec, limits)._replace(digest=digest)


def _document_records(suffix: str, path: Path, spec: str, limits: Limits) -> Iterable[Record]:
    """The rows of a JSON document or a workbook, read into memory."""
    if suffix == ".json":
        from snellen.data.tables.json_records import document_records

        return document_records(read_bounded(path, limits, spec), spec, limits)
    from snellen.data.tables.workbook import sheet_records

    return sheet_records(path, spec, limits)


def _image_folders(path: Path, settings: Settings) -> tuple[str, ...]:
    home = path.absolute().parent if not path.is_dir() else path.absolute()
    stem = path.name.split(".")[0]
    folders = [home, home / "images" / stem]
    if settings.lmu_data:
        folders.append(settings.lmu_data / "images" / stem)
    if table_suffix(path) == ".json":
        # COCO's annotations/instances_val2017.json beside val2017/ or images/val2017/.
        split = stem.removeprefix("instances_")
        folders += [
            near
            for base in (home, home.parent)
            for part in ("images", split, f"images/{split}")
            if (near := base / part).is_dir()
        ]
    return tuple(map(str, folders))
