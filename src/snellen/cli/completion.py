"""Scripts that complete `snellen` in bash, zsh and fish, written from the parsers.

Names of benchmarks and models are part of the script, so that completing one starts no Python.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.cli.parser import build_parser

BENCHMARKS, MODELS, FILES, NOTHING = "benchmarks", "models", "files", "nothing"
"""Completions of an argument other than a list of words."""

_KIND_OF_FLAG = {"benchmark": BENCHMARKS, "model": MODELS, "extractor": MODELS, "judge": MODELS}
"""By the argument's name in the parser, in lower case."""
_FILE_SIGNS = ("FILE", "DIR", "RUN", "FOLDER", "STORE", "PATH", "CHECKPOINTS")
"""Parts of a metavar that stands for files."""
_NAME_COMMANDS: dict[tuple[str, ...], tuple[str, ...]] = {("info",): (BENCHMARKS, MODELS, FILES)}


class CompletedFlag(NamedTuple):
    names: tuple[str, ...]
    help: str
    takes_value: bool
    kinds: tuple[str, ...]
    words: tuple[str, ...]


class CompletedCommand(NamedTuple):
    path: tuple[str, ...]
    """`("analyse", "letters")`; empty for `snellen` itself."""
    help: str
    actions: tuple[str, ...]
    """Names of subcommands."""
    flags: tuple[CompletedFlag, ...]
    kinds: tuple[str, ...]
    """Completion of its positional arguments."""
    words: tuple[str, ...]


def completion_script(shell: str) -> str:
    """The script of a shell, one of `SHELLS`."""
    return SHELLS[shell](list(_commands(build_parser())), _names())


def _names() -> dict[str, list[str]]:
    """The names of benchmarks and models, without those that only other tools use."""
    from snellen.benchmarks.declaration.registry import list_benchmarks
    from snellen.models.naming.catalog import catalog
    from snellen.models.naming.registry import registered_models, registered_providers

    models = [listing.name for listing in registered_models()]
    models += [entry.names[0] for entry in catalog()]
    models += [f"{provider.name}/" for provider in registered_providers()]
    return {
        BENCHMARKS: sorted({listing.name for listing in list_benchmarks()}),
        # `hf/<folder>` is a form, not a name; a shell would read it as a redirection.
        MODELS: sorted(dict.fromkeys(name for name in models if not {" ", "<"} & set(name))),
    }


def _commands(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = (), help: str = ""
) -> Iterator[CompletedCommand]:
    """A command and, recursively, its subcommands, read from the parser."""
    groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    arguments = [one for one in parser._actions if one not in groups]
    plain = [one for one in arguments if not one.option_strings]
    kinds = _NAME_COMMANDS.get(path) or tuple(dict.fromkeys(kind for one in plain for kind in _kinds(one)))
    yield CompletedCommand(
        path,
        help,
        tuple(name for group in groups for name in group.choices),
        tuple(_flag(one) for one in arguments if one.option_strings),
        kinds,
        tuple(str(word) for one in plain for word in one.choices or ()),
    )
    for group in groups:
        helps = {choice.dest: choice.help or "" for choice in group._choices_actions}
        for name, command in group.choices.items():
            yield from _commands(command, (*path, name), helps.get(name, ""))


def _flag(action: argparse.Action) -> CompletedFlag:
    words = tuple(map(str, action.choices or ()))
    return CompletedFlag(
        tuple(action.option_strings),
        (action.help or "").replace("%%", "%"),
        action.nargs != 0,
        () if words else _kinds(action),
        words,
    )


def _kinds(action: argparse.Action) -> tuple[str, ...]:
    if action.choices:
        return ()
    kind = _KIND_OF_FLAG.get(action.dest.lower())
    if kind is not None:
        # A data file is a benchmark, too.
        return (kind, FILES) if kind == BENCHMARKS else (kind,)
    metavar = action.metavar or action.dest
    signs = (metavar if isinstance(metavar, str) else " ".join(metavar)).upper()
    return (FILES,) if any(sign in signs for sign in _FILE_SIGNS) or signs in "AB" else (NOTHING,)


def bash_script(commands: Sequence[CompletedCommand], names: Mapping[str, Sequence[str]]) -> str:
    """The script for bash: tables of words by command and flag, and one completion function."""
    lines = [_HEADER.format(shell="bash")]
    for kind, values in names.items():
        lines.append(f"_snellen_{kind}={shlex.quote(' '.join(values))}")
    lines.append(_BASH_START)
    lines.append(f'      {"|".join(_patterns(commands))}) path="$path ${{COMP_WORDS[i]}}" ;;')
    lines.append(_BASH_VALUES)
    for command in commands:
        for flag in command.flags:
            if flag.takes_value:
                keys = "|".join(_pattern((*command.path, name)) for name in flag.names)
                lines.append(f"    {keys}) {_bash_offer(flag.kinds, flag.words)}; return ;;")
    lines.append(_BASH_WORDS)
    for command in commands:
        flags = [name for flag in command.flags for name in flag.names]
        lines.append(
            f"    {_pattern(command.path)})\n"
            f"      if [[ $cur == -* ]]; then _snellen_words {shlex.quote(' '.join(flags))}\n"
            f"      else {_bash_offer(command.kinds, (*command.actions, *command.words))}; fi ;;"
        )
    return "\n".join([*lines, _BASH_END])


def zsh_script(commands: Sequence[CompletedCommand], names: Mapping[str, Sequence[str]]) -> str:
    """zsh runs bash's completions through its own `bashcompinit`."""
    lines = bash_script(commands, names).splitlines()
    header = _HEADER.format(shell="zsh")
    return "\n".join([header, "autoload -U +X bashcompinit && bashcompinit", *lines[1:], ""])


def fish_script(commands: Sequence[CompletedCommand], names: Mapping[str, Sequence[str]]) -> str:
    """The script for fish: one `complete` line for each subcommand, positional argument and
    flag."""
    lines = [_HEADER.format(shell="fish"), "complete -c snellen -e", "complete -c snellen -f"]
    for kind, values in names.items():
        lines.append(f"function __snellen_{kind}")
        lines += [f"    printf '%s\\n' {' '.join(map(shlex.quote, values))}", "end"]
    helps = {command.path: command.help for command in commands}
    for command in commands:
        condition = _fish_condition(command)
        for action in command.actions:
            about = _fish_quote(helps[(*command.path, action)])
            lines.append(f"complete -c snellen -n {condition} -a {action} -d {about}")
        offers = _fish_offer(command.kinds, command.words)
        if offers:
            lines.append(f"complete -c snellen -n {condition} {offers}")
        for flag in command.flags:
            named = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            alone = "" if FILES in flag.kinds else " -f"
            offer = f" -r{alone} {_fish_offer(flag.kinds, flag.words)}".rstrip()
            value = offer if flag.takes_value else ""
            about = _fish_quote(flag.help)
            lines.append(f"complete -c snellen -n {condition} {named}{value} -d {about}")
    return "\n".join([*lines, ""])


SHELLS: Mapping[str, Callable[[Sequence[CompletedCommand], Mapping[str, Sequence[str]]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}

_HEADER = "# Completes snellen in {shell}; written by: snellen completion {shell}"
_BASH_START = """\
_snellen_words() {
  COMPREPLY+=($(compgen -W "$1" -- "$cur"))
}
_snellen_files() {
  local IFS=$'\\n'
  COMPREPLY+=($(compgen -f -- "$cur"))
  compopt -o filenames 2>/dev/null
}
_snellen() {
  local cur prev path i
  COMPREPLY=()
  cur="${COMP_WORDS[COMP_CWORD]}"
  prev="${COMP_WORDS[COMP_CWORD-1]}"
  path=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in"""
_BASH_VALUES = """\
    esac
  done
  case "$path $prev" in"""
_BASH_WORDS = """\
  esac
  case "$path" in"""
_BASH_END = """\
  esac
}
complete -F _snellen snellen
"""


def _patterns(commands: Sequence[CompletedCommand]) -> list[str]:
    return [_pattern(command.path) for command in commands if command.path]


def _pattern(words: Sequence[str]) -> str:
    """The words as bash's `case` compares them: each with a blank before it."""
    return '"' + "".join(f" {word}" for word in words) + '"'


def _bash_offer(kinds: Sequence[str], words: Sequence[str]) -> str:
    offers = [f"_snellen_words {shlex.quote(' '.join(words))}"] if words else []
    for kind in kinds:
        if kind == FILES:
            offers.append("_snellen_files")
        elif kind != NOTHING:
            offers.append(f'_snellen_words "$_snellen_{kind}"')
    return "; ".join(offers) or ":"


def _fish_condition(command: CompletedCommand) -> str:
    """Where a command's own words are completed."""
    if not command.path:
        return "__fish_use_subcommand"
    seen = [f"__fish_seen_subcommand_from {word}" for word in command.path]
    if command.actions:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(command.actions)}")
    return _fish_quote("; and ".join(seen))


def _fish_offer(kinds: Sequence[str], words: Sequence[str]) -> str:
    offers = [*words, *(f"(__snellen_{kind})" for kind in kinds if kind not in (FILES, NOTHING))]
    text = f"-a {_fish_quote(' '.join(offers))}" if offers else ""
    return f"-F {text}".strip() if FILES in kinds else text


def _fish_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
