"""Read TOML files, those that the user wrote and those that stand beside the code."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError, missing_file, refuse_pipe


def read_packaged(package: str, name: str) -> dict[str, Any]:
    """Decode a TOML file that comes with a package."""
    # Not by importlib.resources, which imports zipfile and readers of packages that are no folders.
    folder = Path(import_module(package).__path__[0])
    return tomllib.loads((folder / name).read_text(encoding="utf-8"))


def read_toml(path: str) -> dict[str, Any]:
    """Decode a TOML file. Raises DataError with the line of a mistake."""
    refuse_pipe(path)
    try:
        return tomllib.loads(Path(path).expanduser().read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: {missing_file(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path} cannot be read: {reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path} is no TOML: {error}") from error
    except RecursionError:
        raise DataError(f"{path} is not a description: its lists are nested too deeply") from (None)
