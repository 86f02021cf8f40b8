"""Settings from the environment, read in this one file and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from pathlib import Path

from snellen.core.errors import UsageError
from snellen.core.limits import DEFAULT_LIMITS, Limits, limit_variable
from snellen.core.secret import Secret

HUB = "https://huggingface.co"
_FALSE = frozenset({"", "0", "false", "no", "off"})

_FORCED_OFFLINE: ContextVar[bool] = ContextVar("_UNPLUGGED", default=False)


@contextmanager
def force_offline() -> Iterator[None]:
    """Inside, settings read from the environment are `offline` whatever it says: what is not on
    this machine is not fetched."""
    before = _FORCED_OFFLINE.set(True)
    try:
        yield
    finally:
        _FORCED_OFFLINE.reset(before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment decides. Build it once at the edge and hand it on."""

    cache: Path
    """Indexes, downloads and unpacked files; safe to delete. `SNELLEN_CACHE`."""
    lmu_data: Path | None = None
    """Data folder of VLMEvalKit users: `LMUData`, else ~/LMUData where that exists."""
    hf_endpoint: str = HUB
    """`HF_ENDPOINT`: the hub, or a mirror of it."""
    offline: bool = False
    """`HF_HUB_OFFLINE`: nothing is fetched from a network; the Hugging Face libraries obey too."""
    prices: Path | None = None
    """`SNELLEN_PRICES`: a TOML file of prices that win over the catalog's."""
    limits: Limits = DEFAULT_LIMITS
    """`SNELLEN_MAX_...`: how much of a file is read."""
    media_folders: tuple[Path, ...] | None = None
    """`SNELLEN_MEDIA_FOLDERS`: besides their own, the only folders whose pictures and videos
    tables may name. None: those that a table of one's own names are read wherever they are."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read `environment`, by default the process's own."""
        env = os.environ if environment is None else environment
        return cls(
            cache=_cache(env),
            lmu_data=_lmu_data(env),
            hf_endpoint=(env.get("HF_ENDPOINT") or HUB).rstrip("/"),
            offline=_FORCED_OFFLINE.get()
            or env.get("HF_HUB_OFFLINE", "").strip().lower() not in _FALSE,
            prices=_path(env.get("SNELLEN_PRICES")),
            limits=read_limits(env),
            media_folders=_folders(env.get("SNELLEN_MEDIA_FOLDERS")),
        )


def _path(named: str | None) -> Path | None:
    return Path(named).expanduser().absolute() if named else None


def _folders(named: str | None) -> tuple[Path, ...] | None:
    """Folders with `:` (on Windows `;`) between them."""
    if not named:
        return None
    return tuple(path for one in named.split(os.pathsep) if (path := _path(one)) is not None)


def read_limits(environment: Mapping[str, str] | None = None) -> Limits:
    """Raises UsageError for a limit that is no whole number."""
    env = os.environ if environment is None else environment
    names = [one.name for one in fields(Limits)]
    return Limits(**{name: _limit(name, env) for name in names if env.get(limit_variable(name))})


def _limit(name: str, env: Mapping[str, str]) -> int:
    text = env.get(limit_variable(name), "").strip()
    if not text:
        return int(getattr(DEFAULT_LIMITS, name))
    # Longer numbers are no sizes, and Python refuses to read very long ones.
    if not (text.isascii() and text.isdecimal() and len(text) <= 15 and int(text)):
        raise UsageError(f"{limit_variable(name)} is {text!r}; expected a whole number from 1 on")
    return int(text)


def max_image_pixels(environment: Mapping[str, str] | None = None) -> int:
    """The limit of pictures in pixels, read by itself because pictures are many."""
    env = os.environ if environment is None else environment
    return _limit("megapixels", env) * 1_000_000


def _cache(env: Mapping[str, str]) -> Path:
    named = env.get("SNELLEN_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("snellen", appauthor=False)


def _lmu_data(env: Mapping[str, str]) -> Path | None:
    named = env.get("LMUData")
    if named:
        return Path(named).expanduser().absolute()
    usual = Path(env.get("HOME") or Path.home()) / "LMUData"
    return usual if usual.is_dir() else None


def disable_progress_bars() -> None:
    """The Hugging Face libraries show no progress bars: those that are imported from now on, here
    and in processes that are started from here."""
    for library in ("HF_HUB", "HF_DATASETS"):
        os.environ.setdefault(f"{library}_DISABLE_PROGRESS_BARS", "1")


def first_nonblank(
    names: Sequence[str], environment: Mapping[str, str] | None = None
) -> str | None:
    """The value of the first of these variables that is set and not blank."""
    env = os.environ if environment is None else environment
    return next((value for name in names if (value := env.get(name, "").strip())), None)


def read_secret(
    names: Sequence[str], environment: Mapping[str, str] | None = None
) -> Secret | None:
    """The same for a key: read when it is used, kept in no `Settings`, and never printed."""
    value = first_nonblank(names, environment)
    return None if value is None else Secret(value)


def proxy_for(url: str) -> str | None:
    """The proxy that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name for a URL."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    if proxy_bypass(parts.netloc) or parts.hostname in ("localhost", "127.0.0.1", "::1"):
        return None
    return getproxies().get(parts.scheme)
