"""Hugging Face data sets: from the hub (`hf://org/name?config=..&split=..&revision=..`), from
ModelScope (`modelscope://org/name?..`), from a folder written by `save_to_disk`, or from a folder
of Parquet, JSON Lines, CSV or TSV files (`folder?split=..`)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from snellen.core.errors import DataError, MissingExtra, UnknownName
from snellen.core.media import digest_bytes
from snellen.data import modelscope
from snellen.data.media.sources import DatasetLocation
from snellen.data.tables.index import IndexedRow, Scan
from snellen.data.tables.typed_rows import ImageLocator, Keys, Record, typed_rows
from snellen.settings import HUB, Settings

SCHEME = "hf://"
_OPTION_NAMES = ("config", "split", "revision")
_SAVED_FILES = ("state.json", "dataset_dict.json")
_SHARD_NAME = re.compile(r"(?P<split>.+?)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?")
_DATA_SUFFIXES = (".parquet", ".jsonl", ".tsv", ".csv", ".json")
_NAMES_SHOWN = 3
"""Names of files that a message shows, of a folder in which none is data."""
_BATCH = 32
_CARD = "README.md"
DESCRIPTION = "eval.yaml"
"""File in which a data set describes itself as a benchmark."""
_QUOTES = "\"'"


@dataclass(frozen=True, slots=True)
class DatasetName:
    """A data set and split. `name` is a repository on the hub or on ModelScope, or a folder
    (`local`)."""

    name: str
    local: bool
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    from_modelscope: bool = False

    @classmethod
    def parse(cls, spec: str) -> DatasetName:
        """Parse `hf://org/name?option=value`, `modelscope://org/name?option=value` or a folder.
        Raises UnknownName for an unknown option."""
        local = not spec.startswith((SCHEME, modelscope.SCHEME))
        from_modelscope = spec.startswith(modelscope.SCHEME) or (
            not local and Settings.from_environment().use_modelscope
        )
        bare = spec.removeprefix(SCHEME).removeprefix(modelscope.SCHEME)
        name, _, query = bare.partition("?")
        options = dict(parse_qsl(query))
        for option in options:
            if option not in _OPTION_NAMES:
                raise UnknownName("option of a data set", option, _OPTION_NAMES)
        path = str(Path(name).expanduser()) if local else name.strip("/")
        return cls(path, local, **options, from_modelscope=from_modelscope)

    @property
    def address(self) -> str:
        """The name with its scheme, for messages."""
        scheme = modelscope.SCHEME if self.from_modelscope else SCHEME
        return self.name if self.local else f"{scheme}{self.name}"

    @property
    def page(self) -> str:
        """The web page of a data set that is on a hub."""
        settings = Settings.from_environment()
        host = settings.modelscope_endpoint if self.from_modelscope else HUB
        return f"{host}/datasets/{self.name}"

    def is_saved(self) -> bool:
        """Whether the `datasets` library opens it: a folder written by `save_to_disk`, or a name
        on the hub."""
        return not self.local or any((Path(self.name) / saved).is_file() for saved in _SAVED_FILES)

    def record(self, number: int) -> Any:
        """The values of a row, by column. Raises DataError."""
        return open_arrow(self)[number].to_pylist()[0]


def scan_dataset(name: DatasetName, column_map: Mapping[str, str], spec: str) -> Scan:
    """Read a data set for the first time. Its digest is over its cells and images."""
    from snellen.data.tables.arrow_columns import name_labels

    dataset = open_arrow(name)
    hashed = hashlib.sha256()
    labels = {
        column: feature.names
        for column, feature in dataset.features.items()
        if isinstance(feature, _import_datasets().ClassLabel)
    }

    def records() -> Iterator[tuple[Record, ImageLocator]]:
        number = 0
        for batch in dataset.iter(_BATCH):
            for record in batch.to_pylist():
                yield name_labels(record, labels), partial(_image_location, number)
                number += 1

    def rows() -> Iterator[IndexedRow]:
        for row in typed_rows(records(), column_map, spec):
            hashed.update(msgspec.json.encode((row.cells, row.media)))
            yield row

    return Scan((), rows(), hashed.hexdigest)


def _image_location(number: int, keys: Keys, image: bytes) -> DatasetLocation:
    return DatasetLocation(number, keys, digest_bytes(image), len(image))


_MAX_DESCRIPTION = 1 << 20
"""Bytes of an `eval.yaml`; published ones have a few thousand."""


@lru_cache(maxsize=8)
def read_description(name: DatasetName) -> bytes | None:
    """The `eval.yaml` of a data set on the hub, from the cache if the hub cannot be asked.

    None if there is none or it cannot be fetched; opening the data set then reports why. Raises
    DataError for one that is too large.
    """
    if name.from_modelscope:
        return _fetched_description(name)
    try:
        from huggingface_hub import hf_hub_download, try_to_load_from_cache
        from huggingface_hub.errors import HfHubHTTPError, HTTPError, LocalEntryNotFoundError
    except ImportError:
        return None
    asked = {"filename": DESCRIPTION, "repo_type": "dataset", "revision": name.revision}
    cached = try_to_load_from_cache(name.name, **asked)
    path = cached if isinstance(cached, str) else None
    if not Settings.from_environment().offline and _unreachable_reason(name) is None:
        try:
            path = hf_hub_download(name.name, **asked)
        except LocalEntryNotFoundError:
            pass
        except (HfHubHTTPError, HTTPError, OSError, ValueError):
            return None
    if path is None:
        return None
    return _checked_description(name, Path(path).read_bytes())


def _fetched_description(name: DatasetName) -> bytes | None:
    """The `eval.yaml` among the files of a data set from ModelScope."""
    try:
        path = _modelscope_folder(name) / DESCRIPTION
    except DataError:
        return None
    return _checked_description(name, path.read_bytes()) if path.is_file() else None


@lru_cache(maxsize=8)
def _modelscope_folder(name: DatasetName) -> Path:
    """The folder with the tables of a data set of ModelScope, which are fetched once a process."""
    return modelscope.fetch_dataset(name.name, name.revision, Settings.from_environment())


def _checked_description(name: DatasetName, data: bytes) -> bytes:
    if len(data) > _MAX_DESCRIPTION:
        raise DataError(f"{name.address}: its {DESCRIPTION} has {len(data):,} bytes")
    return data


def dataset_files(name: DatasetName) -> list[Path]:
    """The files that hold the rows of an opened data set."""
    return [Path(file["filename"]) for file in open_arrow(name).cache_files]


@lru_cache(maxsize=4)
def open_arrow(name: DatasetName) -> Any:
    """The data set with values as they are stored: images encoded, labels as numbers."""
    library = _import_datasets()
    with _translate_errors(name):
        if name.local:
            dataset = library.load_from_disk(name.name)
            if isinstance(dataset, library.DatasetDict):
                dataset = dataset[name.split]
        else:
            path, revision = _path_and_revision(name)
            dataset = library.load_dataset(path, name.config, split=name.split, revision=revision)
    is_of_hub = not (name.local or name.from_modelscope)
    if is_of_hub and name.revision is not None and _unreachable_reason(name) is not None:
        _check_revision(name, name.revision, Path(dataset.cache_files[0]["filename"]))
    return dataset.with_format("arrow")


def _path_and_revision(name: DatasetName) -> tuple[str, str | None]:
    """What the `datasets` library opens: a repository of the hub, or a folder with fetched
    tables."""
    if name.from_modelscope:
        return str(_modelscope_folder(name)), None
    return name.name, name.revision


def _check_revision(name: DatasetName, revision: str, file: Path) -> None:
    """Raises DataError if the library's cache returned another commit than the requested revision.

    Offline, the library returns the latest commit in its cache, whichever is requested.
    """
    from huggingface_hub import try_to_load_from_cache

    card = try_to_load_from_cache(name.name, _CARD, repo_type="dataset", revision=revision)
    commit = Path(card).parent.name if isinstance(card, str) else revision
    if commit not in file.parts:
        raise DataError(
            f"the data set {name.name} is in the cache, but not its revision {revision}, and the "
            f"hub cannot be asked ({_unreachable_reason(name)}); connect, or leave the revision out"
        )


@lru_cache(maxsize=4)
def with_split(name: DatasetName) -> DatasetName:
    """The same with its split named. Raises DataError if there are several to choose from."""
    library = _import_datasets()
    if name.local:
        splits = _saved_splits(Path(name.name))
    else:
        with _translate_errors(name):
            path, revision = _path_and_revision(name)
            splits = library.get_dataset_split_names(path, name.config, revision=revision)
    split = _select_split(name, splits)
    path = str(Path(name.name).absolute()) if name.local else name.name
    return replace(name, name=path, split=split)


def split_files(name: DatasetName) -> list[Path]:
    """The files of one split in a folder of data files. Raises DataError, UnknownName."""
    folder = Path(name.name)
    try:
        files = sorted(
            path
            for path in [*folder.iterdir(), *(folder / "data").glob("*")]
            if path.suffix.lower() in _DATA_SUFFIXES and path.is_file()
        )
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror or error}") from error
    kind = next((suffix for suffix in _DATA_SUFFIXES if any(p.suffix == suffix for p in files)), None)
    if kind is None:
        raise DataError(
            f"{folder} holds no data: {_list_contents(folder)}; expected "
            f"{', '.join(_DATA_SUFFIXES)} files, or a data set written by save_to_disk; put a file "
            "with a row for each question there, or name the folder that has one"
        )
    splits: dict[str, list[Path]] = {}
    for path in files:
        if path.suffix == kind:
            shard = _SHARD_NAME.fullmatch(path.stem)
            splits.setdefault(shard["split"] if shard else path.stem, []).append(path)
    selected = splits[_select_split(name, list(splits)) or ""]
    if len(selected) > 1 and kind != ".parquet":
        raise DataError(f"{folder}: a split in several {kind} files is not read; join them first")
    return selected


def _list_contents(folder: Path) -> str:
    """What a folder without data holds, in a few words."""
    names = sorted(entry.name + "/" * entry.is_dir() for entry in folder.iterdir())
    if not names:
        return "it is empty"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"in it are {', '.join(names[:_NAMES_SHOWN])}{more}"


def _select_split(name: DatasetName, splits: list[str]) -> str | None:
    if name.split is not None:
        if splits and name.split not in splits:
            raise UnknownName("split", name.split, splits)
        return name.split
    if len(splits) > 1:
        where = name.address
        raise DataError(f"{where} has the splits {', '.join(splits)}; choose one, as in {where}?split={splits[-1]}")
    return splits[0] if splits else None


def _saved_splits(path: Path) -> list[str]:
    listing = path / "dataset_dict.json"
    if not listing.is_file():
        return []
    try:
        return list(json.loads(listing.read_bytes())["splits"])
    except (OSError, ValueError, LookupError) as error:
        raise DataError(f"{listing} cannot be read: {error}") from error


def _import_datasets() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("reading a Hugging Face data set", "hf", "datasets") from error
    return datasets


@contextmanager
def _translate_errors(name: DatasetName) -> Iterator[None]:
    """Turn the library's errors about the user's data set into one sentence."""
    offline = Settings.from_environment().offline
    is_here = name.local or name.from_modelscope
    unreachable = None if is_here else "offline" if offline else _unreachable_reason(name)
    try:
        with _quiet_library(offline=unreachable is not None):
            yield
    except (OSError, ValueError, KeyError, RuntimeError, _import_datasets().exceptions.DatasetsError) as error:
        lines = str(error).strip().splitlines() or [repr(error)]
        reason = lines[0].strip(_QUOTES)
        if unreachable is not None:
            reason = (
                f"it is not in the cache, and the hub cannot be asked ({unreachable}); with "
                "SNELLEN_USE_MODELSCOPE=1 it is fetched from ModelScope"
            )
        raise DataError(f"the data set {name.name} cannot be opened: {reason}") from error


@lru_cache(maxsize=4)
def _unreachable_reason(name: DatasetName) -> str | None:
    """Why the hub does not answer, asked once; None if it does."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, HTTPError, OfflineModeIsEnabled

    card = hf_hub_url(name.name, _CARD, repo_type="dataset", revision=name.revision)
    try:
        get_hf_file_metadata(card)
    except OfflineModeIsEnabled:
        return "HF_HUB_OFFLINE is set"
    except HfHubHTTPError:
        return None
    except HTTPError as error:
        return str(error) or type(error).__name__
    return None


@contextmanager
def _quiet_library(*, offline: bool) -> Iterator[None]:
    """Silence the library's advice, and use only its cache when `offline`: it would otherwise try
    an unreachable hub for half a minute on each access."""
    library = _import_datasets()
    was_offline, verbosity = library.config.HF_HUB_OFFLINE, library.logging.get_verbosity()
    library.config.HF_HUB_OFFLINE = was_offline or offline
    library.logging.set_verbosity_error()
    try:
        yield
    finally:
        library.config.HF_HUB_OFFLINE = was_offline
        library.logging.set_verbosity(verbosity)
