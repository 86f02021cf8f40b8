"""Which checkpoints have a one-file server with an environment of its own, and what such a file
must hold (`routes/environments.toml`, the folder `zoo`)."""

from __future__ import annotations

import ast
import fnmatch
import functools
import re
from pathlib import Path

import msgspec
from msgspec import Struct

from snellen.core.errors import UsageError
from snellen.models.hf.own_code.adapter import Tried

PROVIDER = "environment"
"""`environment/ORG/NAME` starts the one-file server that comes with Snellen for that checkpoint."""
_PACKAGE = Path(__file__).parents[2]
CHAT_SERVER = _PACKAGE / "models" / "environments" / "chat_server.py"
"""The HTTP server that runs in each environment."""
_HEADER = re.compile(r"^# /// script$.*?^# ///$", re.MULTILINE | re.DOTALL)
_FUNCTIONS = ("load", "answer")


class EnvironmentRecipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which checkpoints a one-file server of Snellen's answers for."""

    installs: str
    """What its environment has, in a few words, e.g. `transformers 4.37.2`."""
    source: str
    """Short name of its source in `routes/sources.toml`."""
    ids: tuple[str, ...] = ()
    """Patterns of hub ids."""
    layouts: tuple[str, ...] = ()
    """Names of `routes/types.toml`: for folders, and for the families with that type."""
    tried: Tried = "read"
    own_code: bool = True
    """Whether code of the checkpoint or of its authors runs, beside that of released libraries."""
    one_image: bool = False
    """Whether the model takes one picture at most."""
    adapters: bool = False
    """Whether it asks as `hf/own_code/adapters.toml` says; then the adapter is part of the model's
    identity, as the file is."""


@functools.cache
def environment_recipes() -> dict[str, EnvironmentRecipe]:
    """The recipes by the name of their file."""
    text = Path(__file__).with_name("routes").joinpath("environments.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, EnvironmentRecipe])


def environment_of(id: str, layout: str) -> str:
    """The name of the recipe for a hub id, or for a layout; "" if there is none."""
    for name, recipe in environment_recipes().items():
        if any(fnmatch.fnmatchcase(id, pattern) for pattern in recipe.ids):
            return name
    by_layout = (name for name, recipe in environment_recipes().items() if layout in recipe.layouts)
    return next(by_layout, "") if layout else ""


def environment_file(name: str) -> Path:
    """The one-file server of a recipe."""
    return zoo_folder() / f"{name}.py"


def zoo_folder(package: Path = _PACKAGE) -> Path:
    """The one-file servers that come with Snellen: a wheel has them inside of the package, a
    checkout beside its `src`."""
    installed = package / "zoo"
    return installed if installed.is_dir() else package.parents[1] / "zoo"


def check_environment_file(file: Path) -> Path:
    """The absolute path of a one-file server.

    Raises UsageError if there is no such file, if it is no Python, or lacks the header with its
    dependencies or one of its two functions.
    """
    try:
        text = file.expanduser().read_text(encoding="utf-8")
        tree = ast.parse(text)
    except OSError as error:
        raise UsageError(f"--serve {file}: {error.strerror or error}") from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"--serve {file} is not Python: {error}") from None
    if not _HEADER.search(text):
        raise UsageError(
            f"--serve {file}: expected its dependencies in a header (# /// script ... # ///); "
            "without any: dependencies = []"
        )
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    lacking = [name for name in _FUNCTIONS if name not in defined]
    if lacking:
        raise UsageError(
            f"--serve {file} defines no function {' and none '.join(lacking)}; expected "
            "load(checkpoint) and answer(model, chat, settings)"
        )
    return file.expanduser().resolve()
