"""`snellen completion`: scripts that complete `snellen` in bash, zsh and fish, which `shtab` writes
from the parsers.

Names of benchmarks and models are part of the script, so that completing one starts no Python.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from snellen.api.flags import argument
from snellen.cli.parser import build_parser


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen completion` takes."""

    shell: str = argument("SHELL", "bash, zsh or fish", choices=("bash", "zsh", "fish"))


def main(options: Options) -> None:
    """Print the script that completes commands, flags and names."""
    sys.stdout.write(completion_script(options.shell))


BENCHMARKS, MODELS, FILES = "benchmarks", "models", "files"
"""Completions of an argument other than a list of words."""

_KINDS = {
    # A data file is a benchmark, too.
    "benchmark": (BENCHMARKS, FILES),
    "model": (MODELS,),
    "extractor": (MODELS,),
    "judge": (MODELS,),
}
"""By the argument's name in the parser, in lower case."""
_OF_INFO = (BENCHMARKS, MODELS, FILES)
"""Of the name that `snellen info` describes."""
_FILE_SIGNS = ("FILE", "DIR", "RUN", "FOLDER", "STORE", "PATH", "CHECKPOINTS")
"""Parts of a metavar that stands for files."""
_FILES_OF = {"bash": 'compgen -f -- "$1"', "zsh": "_files", "fish": "__fish_complete_path (commandline -ct)"}


def completion_script(shell: str) -> str:
    """The script of a shell: bash, zsh or fish."""
    import shtab

    parser = build_parser()
    offers = {kinds: "_snellen_" + "_".join(kinds) for kinds in (*_KINDS.values(), _OF_INFO)}
    for command, action in _arguments(parser):
        is_name = command == "snellen info" and not action.option_strings
        kinds = _OF_INFO if is_name else _kinds(action)
        if kinds == (FILES,):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif kinds:
            offer = f"({offers[kinds]})" if shell == "fish" else offers[kinds]
            action.complete = {shell: offer}  # type: ignore[attr-defined]
    functions = "".join(_function(shell, name, kinds) for kinds, name in offers.items())
    script = shtab.complete(parser, shell, preamble=functions)
    # zsh registers it inside of `eval` alone, and people source it.
    return f'eval "$(cat <<"EOF"\n{script}\nEOF\n)"\n' if shell == "zsh" else script


def _arguments(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """The arguments of a command and of those below it that take no word of a list, with the
    command of each."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _arguments(command)
        elif not action.choices and action.nargs != 0:
            yield parser.prog, action


def _kinds(action: argparse.Action) -> tuple[str, ...]:
    if kinds := _KINDS.get(action.dest.lower()):
        return kinds
    metavar = action.metavar or action.dest
    signs = (metavar if isinstance(metavar, str) else " ".join(metavar)).upper()
    return (FILES,) if any(sign in signs for sign in _FILE_SIGNS) or signs in "AB" else ()


def _function(shell: str, function: str, kinds: tuple[str, ...]) -> str:
    """A function of a shell that offers names and files of these kinds."""
    names = " ".join(map(shlex.quote, [name for kind in kinds for name in _names(kind)]))
    files = _FILES_OF[shell] if FILES in kinds else ""
    if shell == "bash":
        lines = [f"{function}() {{", f'compgen -W {shlex.quote(names)} -- "$1"', files, "}"]
    elif shell == "zsh":
        lines = [f"{function}() {{", f"compadd -- {names}", files, "}"]
    else:
        lines = [f"function {function}", f"printf '%s\\n' {names}", files, "end"]
    return "\n".join([line for line in lines if line]) + "\n"


def _names(kind: str) -> list[str]:
    """The names of benchmarks or models, without those that only other tools use."""
    if kind == FILES:
        return []
    if kind == BENCHMARKS:
        from snellen.benchmarks.declaration.registry import list_benchmarks

        return sorted({listing.name for listing in list_benchmarks()})
    from snellen.models.naming.catalog import catalog
    from snellen.models.naming.registry import registered_models, registered_providers

    models = {listing.name for listing in registered_models()} | {entry.names[0] for entry in catalog()}
    models |= {f"{provider.name}/" for provider in registered_providers()}
    # `hf/<folder>` is a form, not a name; a shell would read it as a redirection.
    return sorted(name for name in models if not {" ", "<"} & set(name))
