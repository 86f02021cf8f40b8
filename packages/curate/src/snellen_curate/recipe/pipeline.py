"""Run the steps of a recipe, one after the other, and go on after any stop.

OUT/NAME/           the data set folder of a step
OUT/NAME.txt        what its command printed
OUT/.recipe/        what each step was run with, and how it ended

A step is done if it ended with the same options on the same data. Its data are compared by content:
a step before it that was run again and wrote the same items invalidates nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TextIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from snellen.core.atomic_write import save
from snellen.core.errors import DataError, StorageError, UsageError, storage_errors
from snellen.data_sets.decisions import DECISIONS_FILE, read_decisions
from snellen.data_sets.items import ITEMS_FILE
from snellen.data_sets.step import STEP_FILE, lock_folder, read_step, set_aside
from snellen_curate.recipe.recipe_file import CurationRecipe
from snellen_curate.recipe.step_commands import NOT_DECIDING, StepCommand
from snellen_curate.spending import Spending, read_spending

STATE_FOLDER = ".recipe"
StepStatus = Literal["running", "waiting", "incomplete", "complete"]
"""`waiting`: for people; `incomplete`: the same command goes on, e.g. after failed requests."""
_MAX_HASHED = 200_000_000
"""Bytes of the largest file whose content is compared; larger ones by size and time."""
_encode = msgspec.json.Encoder(order="deterministic").encode


class StepState(Struct, frozen=True):
    """Content of a state file."""

    action: str
    options: dict[str, Any]
    """Those that decide the result."""
    data: str
    """Digest of the data that the step reads."""
    files: dict[str, str]
    """Digests of the files that options name."""
    status: StepStatus
    seconds: float = 0.0
    """Over all starts."""
    message: str = ""
    wrote_folder: bool = False


def read_state(out: Path, folder: str) -> StepState | None:
    """The state of a step; None if it was never started. Raises DataError."""
    path = out / STATE_FOLDER / f"{folder}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=StepState)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, OSError) as error:
        raise DataError(f"{path} cannot be read: {error}; delete it to run the step again") from (error)


def write_state(out: Path, folder: str, state: StepState) -> None:
    """Write the state of a step at once. Raises StorageError."""
    home = out / STATE_FOLDER
    with storage_errors("write", home):
        home.mkdir(parents=True, exist_ok=True)
    save(home / f"{folder}.json", msgspec.json.format(_encode(state), indent=2))


def differences(before: StepState, now: StepState) -> dict[str, str]:
    """What differs between two states of a step, but for how it ended: a clause by the option, the
    path of a file, or `data`."""
    found: dict[str, str] = {}
    if before.action != now.action:
        found["step"] = f"it was {before.action}, and is {now.action}"
    for key in sorted({*before.options, *now.options}):
        old, new = before.options.get(key), now.options.get(key)
        if old != new:
            found[key] = f"{key} was {_value(old)}, and is {_value(new)}"
    for name in sorted(now.files):
        if name in before.files and before.files[name] != now.files[name]:
            found[name] = f"the file {name} changed"
    if before.data != now.data:
        found["data"] = "its data changed"
    return found


def digest_data(path: Path) -> str:
    """SHA-256 of what a step reads at a path, in hex: of a data set folder, its items and decisions
    without their times; of any other folder, its files; of a file, its content."""
    if (path / ITEMS_FILE).is_file():
        # Decisions count in any order: it depends on how fast models reply.
        lines = sorted(msgspec.json.encode(replace(decision, at="")) for decision in read_decisions(path))
        return hashlib.sha256(_digest_file(path / ITEMS_FILE).encode() + b"".join(lines)).hexdigest()
    if path.is_dir():
        names = sorted(each for each in path.rglob("*") if each.is_file())
        parts = (f"{each.relative_to(path)} {_digest_file(each)}" for each in names)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return _digest_file(path) if path.is_file() else ""


def digest_files(options: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the files that options name, by the path as written."""
    return {text: _digest_file(Path(text).expanduser()) for text in _texts(options) if _is_file(text)}


def _texts(options: Mapping[str, Any]) -> Iterator[str]:
    for value in options.values():
        if isinstance(value, dict):
            yield from _texts(value)
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str):
                yield each
                # A model or an extractor that is a file: `replay/FILE`, `file:FILE`.
                for prefix in ("replay/", "file:"):
                    _, found, path = each.partition(prefix)
                    if found:
                        yield path


def _is_file(text: str) -> bool:
    try:
        return Path(text).expanduser().is_file()
    except (OSError, ValueError):
        return False


def _digest_file(path: Path) -> str:
    try:
        stat = path.stat()
        if stat.st_size > _MAX_HASHED:
            return f"{stat.st_size} {stat.st_mtime_ns}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


def _value(value: object) -> str:
    return "not given" if value is None else msgspec.json.encode(value).decode()


Todo = Literal["done", "resume", "run", "again", "unknown"]
"""`again`: it had ended, but its options or data changed; `unknown`: it depends on what the steps
before it write."""


class PlannedStep(Struct, frozen=True, kw_only=True):
    """A step and what is left of it."""

    number: int
    name: str
    action: str
    todo: Todo
    reason: str
    """What changed, or what it waits for; "" if there is nothing to say."""
    folder: str
    command: str
    spent: Spending


class RecipeOutcome(Struct, frozen=True, kw_only=True):
    """How a start of a recipe ended."""

    steps: list[PlannedStep]
    status: StepStatus
    stopped_at: str = ""
    """The step at which it stopped; "" if all have ended."""
    message: str = ""
    """How to go on."""
    decisions: str = ""
    """The file of what the last step that decides, and those before it, decided about each item."""
    folder: str = ""


Notify = Callable[[str], None]


@dataclass(slots=True)
class RecipePipeline:
    """A recipe with the commands of its steps. Paths are relative to the current folder."""

    recipe: CurationRecipe
    commands: Sequence[StepCommand]
    run_command: Callable[[Namespace], bool]
    """Runs a parsed command in this process; returns whether it has ended, whatever it flagged."""
    again: str
    """The command that starts the recipe, for messages."""

    @property
    def out(self) -> Path:
        return Path(self.recipe.out)

    def check(self) -> None:
        """Check every step before any is run. Raises UsageError subclasses."""
        for command in self.commands:
            command.check()
        for key in sorted(self.recipe.options.keys() - NOT_DECIDING):
            if not any(key in command.flags for command in self.commands):
                self.commands[0].check_options([key], "every step")

    def plan(self) -> list[PlannedStep]:
        """What is done, and what is left to do. Nothing is run."""
        planned: list[PlannedStep] = []
        is_known = True
        for command in self.commands:
            todo, reason = self._todo(command, is_known=is_known)
            is_known = is_known and (todo == "done" or not command.protocol.writes_items)
            planned.append(
                PlannedStep(
                    number=command.step.number,
                    name=command.step.name,
                    action=command.step.action,
                    todo=todo,
                    reason=reason,
                    folder=str(command.folder),
                    command=command.planned_line(),
                    spent=read_spending(command.folder),
                )
            )
        return planned

    def run(self, notify: Notify) -> RecipeOutcome:
        """Run what is left. Raises UsageError subclasses, with the step in front, and RunLocked if
        the recipe is being run already."""
        folder = str(self.out)
        lock = lock_folder(self.out, f"this recipe is being run in {folder} by another process; wait for it")
        try:
            for command in self.commands:
                state = self._run_if_needed(command, notify)
                if state is not None and state.status != "complete":
                    return RecipeOutcome(
                        steps=self.plan(),
                        status=state.status,
                        stopped_at=command.step.name,
                        message=state.message,
                        folder=folder,
                    )
            files = [str(command.private / DECISIONS_FILE) for command in self.commands]
            decisions = [file for file in files if Path(file).is_file()][-1:]
            return RecipeOutcome(steps=self.plan(), status="complete", decisions="".join(decisions), folder=folder)
        finally:
            lock.release()

    def _run_if_needed(self, command: StepCommand, notify: Notify) -> StepState | None:
        """Run a step; None if it is done."""
        todo, reason = self._todo(command)
        head = f"[{command.step.number}/{len(self.commands)}] {command.step.name}"
        if todo == "done":
            notify(f"{head}: done{_spent_clause(command)}")
            return None
        if todo == "again":
            notify(f"{head}: {reason}; it is run again")
            # People may have worked on it.
            folder = command.private if command.protocol.private_ending else command.folder
            if folder.exists():
                notify(f"    what it had written is in {set_aside(folder)}")
        else:
            notify(f"{head}: {'goes on' if todo == 'resume' else command.step.action}")
        state = self._run_step(command)
        notify(f"{head}: {state.status} in {state.seconds:.1f} s{_spent_clause(command)}")
        return state

    def _run_step(self, command: StepCommand) -> StepState:
        """Run the commands of a step, and note how it ended."""
        name, folder = command.step.name, command.folder
        state, before = _state(command), read_state(self.out, name)
        if before is not None and not differences(before, state):
            state = replace(state, seconds=before.seconds)
        write_state(self.out, name, state)
        folder.parent.mkdir(parents=True, exist_ok=True)
        begin = monotonic()
        with (self.out / f"{name}.txt").open("w", encoding="utf-8") as log:
            status, message = self._run_phases(command, log)
        if status == "complete" and (folder / STEP_FILE).is_file() and read_step(folder).status != "complete":
            status, message = "incomplete", f"{command.step.label} has not ended; go on with: {self.again}"
        seconds = round(state.seconds + monotonic() - begin, 3)
        ended = replace(state, status=status, seconds=seconds, message=message, wrote_folder=folder.exists())
        write_state(self.out, name, ended)
        return ended

    def _run_phases(self, command: StepCommand, log: TextIO) -> tuple[StepStatus, str]:
        """Run one command after the other; returns how they ended, and how to go on."""
        step, protocol = command.step, command.protocol
        for phase in command.phases:
            words = command.words(phase)
            arguments = command.parse(words)
            arguments.command_line = command.line(words)
            arguments.action = step.action
            try:
                with contextlib.redirect_stdout(_Tee(sys.stdout, log)):
                    has_ended = self.run_command(arguments)
            except UsageError as error:
                if not protocol.waits or protocol.waits not in str(error):
                    raise UsageError(f"{step.label}: {error}") from error
                people = f"{protocol.people}: {command.line(command.words())}"
                return "waiting", f"{step.label} waits for people: {error}\n{people}\nthen go on with: {self.again}"
            if not has_ended:
                return "incomplete", f"{step.label} is incomplete; go on with: {self.again}"
        return "complete", ""

    def _todo(self, command: StepCommand, *, is_known: bool = True) -> tuple[Todo, str]:
        """What is left of a step, and why; `is_known`: whether its data are."""
        before = read_state(self.out, command.step.name)
        if before is None:
            return "run", ""
        if not is_known:
            return "unknown", "if the data of the steps before change"
        changes = differences(before, _state(command))
        if changes:
            # What adds to what the step's folder has does not undo it.
            options, continued = command.options, {*command.protocol.continued_by}
            continued |= {str(options[key]) for key in continued if key in options}
            return "resume" if changes.keys() <= continued else "again", "; ".join(changes.values())
        if before.status != "complete":
            return "resume", before.message.splitlines()[0] if before.message else "it was stopped"
        if before.wrote_folder and not command.folder.exists():
            return "run", "its folder is gone"
        return "done", ""


def _state(command: StepCommand) -> StepState:
    """A step as it would be run now."""
    options = command.decisive_options
    data, *more = [*command.data(), ""]
    named = options.get(command.protocol.step_option, [])
    digests = {each: digest_data(Path(each).expanduser()) for each in (data, *more, *named) if each}
    files = digest_files(options)
    files |= {each: digests[each] for each in (*more, *named) if each}
    return StepState(command.step.action, options, digests.get(data) or data, files, "running")


class _Tee(io.TextIOBase):
    """Standard output that is also kept."""

    def __init__(self, screen: TextIO, log: TextIO) -> None:
        self._screen = screen
        self._log = log

    def write(self, text: str) -> int:
        self._log.write(text)
        return self._screen.write(text)

    def flush(self) -> None:
        self._screen.flush()

    def isatty(self) -> bool:
        return self._screen.isatty()


def total_spending(steps: Sequence[PlannedStep]) -> Spending:
    """What all steps have spent."""
    total = Spending()
    for step in steps:
        total = total.plus(step.spent)
    return total


def _spent_clause(command: StepCommand) -> str:
    spent = read_spending(command.folder)
    return f" ({spent.sentence()})" if spent.requests else ""
