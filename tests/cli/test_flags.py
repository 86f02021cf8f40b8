"""Flags of all commands: one meaning for a name, and no more of them than the budget."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from pathlib import Path

import pytest

import snellen.cli
from snellen.api.flags import MISSING, SHARED_FLAGS, FlagKey, argument, option, options_field
from snellen.api.options import RunOptions, read_judges
from snellen.cli.flags import add_options, read_options
from snellen.cli.parser import build_parser, import_command, parse_arguments
from snellen.core.errors import UsageError

MAX_COMMANDS, MAX_FLAGS, MAX_OF_RUN = 51, 146, 32


def leaves(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The commands that do something, by name."""
    groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    for group in groups:
        for word, command in group.choices.items():
            yield from leaves(command, f"{name} {word}".strip())
    if not groups:
        yield name, parser


def flags_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings and "--help" not in action.option_strings]


COMMANDS = dict(leaves(build_parser()))


def test_a_flag_means_the_same_in_every_command() -> None:
    """Commands differ in the default and in the keys that a flag takes, which follow its help."""
    meanings: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, parser in COMMANDS.items():
        for action in flags_of(parser):
            meaning = (action.help or "").partition(" (default:")[0].partition("; ")[0]
            meanings[action.option_strings[-1]][meaning].append(name)
    several = {flag: dict(found) for flag, found in meanings.items() if len(found) > 1}
    assert not several


def test_every_shared_flag_is_shared() -> None:
    users: dict[str, list[str]] = defaultdict(list)
    for name, parser in COMMANDS.items():
        for action in flags_of(parser):
            users[action.option_strings[-1]].append(name)
    assert [flag for flag in SHARED_FLAGS if len(users[flag]) < 2] == []


def test_commands_and_flags_stay_within_the_budget() -> None:
    distinct = {action.option_strings[-1] for one in COMMANDS.values() for action in flags_of(one)}
    assert len(COMMANDS) <= MAX_COMMANDS
    assert len(distinct) <= MAX_FLAGS
    assert len(flags_of(COMMANDS["run"])) <= MAX_OF_RUN


@pytest.mark.parametrize("name", sorted({name.split()[0] for name in COMMANDS}))
def test_every_command_is_an_options_class(name: str) -> None:
    module = import_command(name)
    if hasattr(module, "Options"):
        assert is_dataclass(module.Options)
    else:
        # A command with actions, each with options of its own.
        assert any(command.startswith(f"{name} ") for command in COMMANDS)


@dataclass(frozen=True, kw_only=True)
class _Inner:
    amount: float = option(1.0, "--amount", "an amount", metavar="X", parse=float)


@dataclass(frozen=True, kw_only=True)
class _Command:
    files: list[str] = argument("FILE", "files", "+")
    size: int = option(
        3,
        "--size",
        "sizes",
        metavar="KEY=VALUE,...",
        keys={"width": FlagKey("of a page", int, "size"), "depth": FlagKey("of a page", int, "depth")},
    )
    depth: int = 0
    name: str = option(MISSING, "--called", "a name", metavar="NAME")
    inner: _Inner = options_field(_Inner)
    is_big: bool = option(False, "--big", "big", is_switch=True)


def parse(*words: str) -> _Command:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_options(parser, _Command)
    return read_options(parser.parse_args(words), _Command)


def test_fields_are_flags_arguments_and_keys() -> None:
    assert parse("a", "b", "--called", "x") == _Command(files=("a", "b"), name="x")  # type: ignore[arg-type]
    typed = parse("a", "--called", "x", "--size", "width=5", "--size", "depth=7", "--amount", "2", "--big")
    assert (typed.size, typed.depth, typed.inner.amount, typed.is_big) == (5, 7, 2.0, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("a", "--called", "x", "--size", "width=wide"), "width=wide: expected a whole number"),
        (("a", "--called", "x", "--size", "widht=1"), "unknown key 'widht'; did you mean width?"),
        (("a", "--called", "x", "--size", "5"), "'5' is not of the form key=value"),
        (("a",), "required: --called"),
    ],
)
def test_a_wrong_value_is_a_sentence(words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((argparse.ArgumentError, SystemExit)) as raised:
        parse(*words)
    assert sentence in str(raised.value) + capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "judges", "repeats", "clip"),
    [
        ((), (), 1, None),
        (("a", "b"), ("a", "b"), 1, None),
        (("a:repeats=3",), ("a",), 3, None),
        (("a:seed=1,repeats=3", "b:repeats=3"), ("a:seed=1", "b"), 3, None),
        (("a:repeats=2,seed=1", "clip/x/y"), ("a:seed=1",), 2, "clip/x/y"),
    ],
)
def test_judges_say_how_often_they_are_asked(
    names: tuple[str, ...], judges: tuple[str, ...], repeats: int, clip: str | None
) -> None:
    read = read_judges(names)
    assert (read["judges"], read["judge_repeats"], read["clip"]) == (judges, repeats, clip)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("a:repeats=x",), "repeats is 'x'; expected a whole number"),
        (("a:repeats=2", "b"), "equally often"),
        (("clip/a", "clip/b"), "2 CLIP models"),
    ],
)
def test_judges_that_make_no_sense_are_refused(names: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        read_judges(names)


@pytest.mark.parametrize(
    ("flag", "instead"), [("--temperature", "--generation temperature=T"), ("--replicas", "--executor ray:replicas=N")]
)
def test_a_flag_of_the_last_version_is_named_with_what_is_written_now(
    flag: str, instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_arguments(["run", "-m", "random", "-b", "eyechart", flag, "1"])
    assert f"it is now {instead}" in capsys.readouterr().err


def test_no_column_with_answers_lets_a_file_without_them_be_asked() -> None:
    arguments = parse_arguments(["run", "-m", "random", "-b", "x.csv", "--columns", "gold=", "--columns", "question=q"])
    read = read_options(arguments, RunOptions)
    assert not read.require_answers
    assert dict(read.variant.columns) == {"question": "q"}


RENAMED = tomllib.loads((Path(snellen.cli.__file__).parent / "renamed.toml").read_text("utf-8"))


@pytest.mark.parametrize(("table", "old"), [(table, old) for table, names in RENAMED.items() for old in names])
def test_a_new_name_is_one_and_the_old_one_is_gone(table: str, old: str) -> None:
    instead = RENAMED[table][old]
    if table == "commands":
        assert old not in COMMANDS
        assert "snellen " in instead
        words = instead.partition("snellen ")[2].replace(",", "").split()
        assert any(" ".join(words[:count]) in COMMANDS for count in (1, 2))
        return
    prefix = table.removeprefix("snellen").strip()
    commands = [one for name, one in COMMANDS.items() if table == "flags" or f"{name} ".startswith(f"{prefix} ")]
    known = {action.option_strings[-1] for one in commands for action in flags_of(one)}
    assert commands
    for flag in re.findall(r"(?<![\w-])--[a-z-]+", instead):
        assert flag in known, instead


def test_refuses_second_value_of_a_single_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_arguments(["taskmap", "-m", "a", "-m", "b", "-b", "eyechart"])
    assert "got a and b; this command takes one" in capsys.readouterr().err
