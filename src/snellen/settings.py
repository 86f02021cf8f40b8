"""Settings from the environment, read in this one file and nowhere else."""

from __future__ import annotations

import getpass
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
MODELSCOPE = "https://www.modelscope.cn"
_FALSE = frozenset({"", "0", "false", "no", "off"})

_FORCED_OFFLINE: ContextVar[bool] = ContextVar("_UNPLUGGED", default=False)


@contextmanager
def force_offline() -> Iterator[None]:
    """Context in which all settings are `offline`, whatever the environment says: nothing is
    downloaded."""
    before = _FORCED_OFFLINE.set(True)
    try:
        yield
    finally:
        _FORCED_OFFLINE.reset(before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings from the environment. Build it once at the edge and pass it on."""

    cache: Path
    """Indexes, downloads and unpacked files; safe to delete. `SNELLEN_CACHE`."""
    lmu_data: Path | None = None
    """Data folder of VLMEvalKit users: `LMUData`, else ~/LMUData if it exists."""
    hf_endpoint: str = HUB
    """`HF_ENDPOINT`: the hub, or a mirror of it."""
    modelscope_endpoint: str = MODELSCOPE
    """`MODELSCOPE_ENDPOINT`: ModelScope, or a mirror of it."""
    use_modelscope: bool = False
    """`SNELLEN_USE_MODELSCOPE`: data of the Hugging Face hub are fetched from ModelScope, where the
    data sets have the same names."""
    offline: bool = False
    """`HF_HUB_OFFLINE`: nothing is downloaded; the Hugging Face libraries obey it too."""
    prices: Path | None = None
    """`SNELLEN_PRICES`: a TOML file of prices that override the catalog's."""
    consents: Path = Path("consents.json")
    """`SNELLEN_CONSENTS`: the file of repositories whose code the user lets run."""
    limits: Limits = DEFAULT_LIMITS
    """`SNELLEN_MAX_...`: limits on input."""
    media_folders: tuple[Path, ...] | None = None
    """`SNELLEN_MEDIA_FOLDERS`: the only folders, besides the table's own, from which images and
    videos named in tables are read. None: the user's tables may name files anywhere."""

    @property
    def datasets(self) -> Path:
        """Folder for downloads and for files that the user puts there by hand."""
        return self.cache / "datasets"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read `environment`, by default that of the process."""
        env = os.environ if environment is None else environment
        return cls(
            cache=_cache(env),
            lmu_data=_lmu_data(env),
            hf_endpoint=(env.get("HF_ENDPOINT") or HUB).rstrip("/"),
            modelscope_endpoint=(env.get("MODELSCOPE_ENDPOINT") or MODELSCOPE).rstrip("/"),
            use_modelscope=env.get("SNELLEN_USE_MODELSCOPE", "").strip().lower() not in _FALSE,
            offline=_FORCED_OFFLINE.get() or env.get("HF_HUB_OFFLINE", "").strip().lower() not in _FALSE,
            prices=_path(env.get("SNELLEN_PRICES")),
            consents=_path(env.get("SNELLEN_CONSENTS")) or _config() / "consents.json",
            limits=read_limits(env),
            media_folders=_folders(env.get("SNELLEN_MEDIA_FOLDERS")),
        )


def _path(named: str | None) -> Path | None:
    return Path(named).expanduser().absolute() if named else None


def _folders(named: str | None) -> tuple[Path, ...] | None:
    """Split folders at `:` (on Windows `;`)."""
    if not named:
        return None
    return tuple(path for name in named.split(os.pathsep) if (path := _path(name)) is not None)


def read_limits(environment: Mapping[str, str] | None = None) -> Limits:
    """Read the limits. Raises UsageError if one is not a whole number."""
    env = os.environ if environment is None else environment
    names = [limit.name for limit in fields(Limits)]
    return Limits(**{name: _limit(name, env) for name in names if env.get(limit_variable(name))})


def _limit(name: str, env: Mapping[str, str]) -> int:
    text = env.get(limit_variable(name), "").strip()
    if not text:
        return int(getattr(DEFAULT_LIMITS, name))
    # Longer numbers are not sizes, and Python refuses to parse very long ones.
    if not (text.isascii() and text.isdecimal() and len(text) <= 15 and int(text)):
        raise UsageError(f"{limit_variable(name)} is {text!r}; expected a whole number from 1 on")
    return int(text)


def max_image_pixels(environment: Mapping[str, str] | None = None) -> int:
    """The limit of images in pixels, read alone since it is needed for every image."""
    env = os.environ if environment is None else environment
    return _limit("megapixels", env) * 1_000_000


def _cache(env: Mapping[str, str]) -> Path:
    named = env.get("SNELLEN_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("snellen", appauthor=False)


def _config() -> Path:
    from platformdirs import user_config_path

    return user_config_path("snellen", appauthor=False)


def _lmu_data(env: Mapping[str, str]) -> Path | None:
    named = env.get("LMUData")
    if named:
        return Path(named).expanduser().absolute()
    usual = Path(env.get("HOME") or Path.home()) / "LMUData"
    return usual if usual.is_dir() else None


def user_name() -> str:
    """Name of the user of this process; empty if unknown."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def set_unset(variables: Mapping[str, str]) -> None:
    """Set variables of the environment that are not set, for a library that reads them."""
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def disable_progress_bars() -> None:
    """Disable progress bars of Hugging Face libraries imported from now on, here and in child
    processes."""
    for library in ("HF_HUB", "HF_DATASETS"):
        os.environ.setdefault(f"{library}_DISABLE_PROGRESS_BARS", "1")


def first_nonblank(names: Sequence[str], environment: Mapping[str, str] | None = None) -> str | None:
    """Value of the first of these variables that is set and not blank."""
    env = os.environ if environment is None else environment
    return next((value for name in names if (value := env.get(name, "").strip())), None)


def read_secret(names: Sequence[str], environment: Mapping[str, str] | None = None) -> Secret | None:
    """Read a key from the first of these variables: never a part of `Settings`, never printed."""
    value = first_nonblank(names, environment)
    return None if value is None else Secret(value)


_SHOWN_TO_WORKERS = ("LANG", "SSL_CERT_FILE", "HF_HUB_CACHE", "HF_DATASETS_CACHE")
_SHOWN_WITH_NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "HF_ENDPOINT")


def worker_variables(home: str, *, network: bool, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment of a process that runs another tool's code: no key of the user's is in
    it. `home` is a folder of its own; what was fetched from the Hugging Face hub is shared, its token is not."""
    env = os.environ if environment is None else environment
    shared = Path(env.get("HF_HOME") or Path(env.get("HOME") or Path.home()) / ".cache" / "huggingface")
    shown = (*_SHOWN_TO_WORKERS, *(_SHOWN_WITH_NETWORK if network else ()))
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        **{name: env[name] for name in shown if name in env},
        "HOME": home,
        "TMPDIR": home,
        "HF_HOME": str(shared),
        "HF_TOKEN_PATH": f"{home}/no-token",
        "MPLBACKEND": "agg",
        "PYTHONHASHSEED": "0",
        "TOKENIZERS_PARALLELISM": "false",
        **({} if network else {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}),
    }


def peer_setting(peer: str, name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """`SNELLEN_<PEER>_<NAME>`, e.g. `SNELLEN_VLMEVALKIT_CHECKOUT`: where another tool is."""
    variable = f"SNELLEN_{peer}_{name}".upper().replace("-", "_")
    return first_nonblank((variable,), environment)


def proxy_for(url: str) -> str | None:
    """The proxy for a URL by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    if proxy_bypass(parts.netloc) or parts.hostname in ("localhost", "127.0.0.1", "::1"):
        return None
    return getproxies().get(parts.scheme)
