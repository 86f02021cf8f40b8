"""Files from the Hugging Face hub; its errors become one sentence that says what to do."""

from __future__ import annotations

from pathlib import Path

from snellen.core.errors import MissingExtra, UsageError
from snellen.settings import Settings

CONFIG = "config.json"


def fetch_config(name: str, revision: str | None) -> Path:
    """Fetch `config.json`; its path is in the hub's cache, in the folder named by the commit.

    Raises UsageError (unknown, gated or unreachable) and MissingExtra.
    """
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
        from huggingface_hub.errors import HTTPError
    except ImportError as error:
        raise MissingExtra(f"hf/{name}", "hf", "huggingface_hub") from error

    offline = Settings.from_environment().offline
    try:
        cached = try_to_load_from_cache(name, CONFIG, revision=revision)
        if not offline and not isinstance(cached, str):
            # One request first: `hf_hub_download` would try an unreachable hub for half a minute.
            get_hf_file_metadata(hf_hub_url(name, CONFIG, revision=revision))
        return Path(hf_hub_download(name, CONFIG, revision=revision, local_files_only=offline))
    except (OSError, ValueError, HTTPError) as error:
        raise hub_error(name, error, revision) from error


def fetch_folder(name: str) -> Path:
    """Fetch all files of a small repository, e.g. of an adapter. Raises UsageError."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HTTPError

    offline = Settings.from_environment().offline
    try:
        return Path(snapshot_download(name, local_files_only=offline))
    except (OSError, ValueError, HTTPError) as error:
        raise hub_error(name, error) from error


def hub_error(name: str, error: Exception, revision: str | None = None) -> UsageError:
    """Turn an error of the hub, or of the connection to it, into a sentence about the model."""
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    settings = Settings.from_environment()
    page = f"{settings.hf_endpoint}/{name}"
    by_hand = f"download it where there is a network (hf download {name}) and give the folder: hf/<folder>"
    if isinstance(error, GatedRepoError):
        return UsageError(
            f"the model {name!r} is gated: accept its terms at {page}, then log in with `hf auth login` or set HF_TOKEN"
        )
    if isinstance(error, RepositoryNotFoundError):
        return UsageError(
            f"there is no model {name!r} on the hub at {settings.hf_endpoint}, and no such "
            "folder; check the spelling, and log in with `hf auth login` if it is private"
        )
    if isinstance(error, RevisionNotFoundError):
        return UsageError(
            f"the model {name!r} has no revision {revision!r}; expected a branch, tag or commit listed at {page}"
        )
    if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
        return UsageError(f"{page} has no {CONFIG}, so it is not a model that transformers can load")
    if settings.offline:
        return UsageError(
            f"the model {name!r} is not a folder and not in the hub's cache, and HF_HUB_OFFLINE is set; {by_hand}"
        )
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return UsageError(
        f"the model {name!r} is not a folder, not in the hub's cache, and {settings.hf_endpoint} "
        f"cannot be asked ({reason}); check the connection, or {by_hand}"
    )
