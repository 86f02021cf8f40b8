"""Data sets of the Hugging Face hub as peers load them: from the cache or a local copy, and errors
that mean that they are not there."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .main import DataMissing, Fault

_ERRORS = frozenset(
    {
        "DatasetNotFoundError",
        "DataFilesNotFoundError",
        "EmptyDatasetError",
        "OfflineModeIsEnabled",
        "LocalEntryNotFoundError",
        "RepositoryNotFoundError",
        "FileNotFoundError",
        "ConnectionError",
    }
)
_SIGNS = ("does not exist", "Couldn't find cache for", "Couldn't reach", "Cannot find data", "No address associated")


def choose_home(settings: Mapping[str, Any]) -> Path:
    """The folder of the hub's cache: `data` of the settings, else HF_HOME, else as ever. Without a
    network the hub's libraries are told so, and do not try."""
    usual = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    home = Path(settings.get("data") or usual)
    for variable, name in (("HF_HUB_CACHE", "hub"), ("HF_DATASETS_CACHE", "datasets")):
        # A folder of the user's may hold videos alone, and the tables lie in the usual cache.
        held = home / name if (home / name).is_dir() else os.environ.get(variable) or usual / name
        os.environ[variable] = str(held)
    os.environ["HF_HOME"] = str(home)
    if not settings.get("network"):
        os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
    return home


def use_local_copies(home: Path) -> None:
    """Let a data set be read from `home`/ORGANISATION/NAME where that folder is a copy of its
    repository, else as ever from the cache."""
    hub, datasets = importlib.import_module("huggingface_hub"), importlib.import_module("datasets")
    load, snapshot = datasets.load_dataset, hub.snapshot_download

    def load_dataset(path: str, *arguments: Any, **named: Any) -> Any:
        if (home / path).is_dir():
            named.pop("revision", None)
            path = str(home / path)
        return load(path, *arguments, **named)

    def snapshot_download(repo_id: str, *arguments: Any, **named: Any) -> Any:
        return str(home / repo_id) if (home / repo_id).is_dir() else snapshot(repo_id, *arguments, **named)

    datasets.load_dataset = load_dataset  # type: ignore[attr-defined]
    hub.snapshot_download = snapshot_download  # type: ignore[attr-defined]


@contextlib.contextmanager
def data_errors(peer: str, task: str) -> Iterator[None]:
    """Errors that mean absent data, as DataMissing. SystemExit: some tasks exit where a video is
    absent."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if isinstance(error, Fault):
            raise
        cause: BaseException | None = error
        said = " ".join(str(error).split())[:300]
        names = set()
        while cause is not None:
            names |= {kind.__name__ for kind in type(cause).__mro__}
            cause = cause.__cause__ or cause.__context__
        if isinstance(error, SystemExit) or names & _ERRORS or any(sign in said for sign in _SIGNS):
            home = os.environ["HF_HOME"]
            raise DataMissing(
                f"the data of {task} are not there; {peer} looks in the Hugging Face cache that the option data=FOLDER "
                f"names, here {home}: {said}"
            ) from error
        raise
