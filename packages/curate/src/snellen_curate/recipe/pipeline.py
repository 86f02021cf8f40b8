"""Run the steps of a recipe, one after the other, and go on after any stop.

OUT/NAME/           the data set folder of a step
OUT/NAME.txt        what its command printed
OUT/.recipe/        what each step was run with (`progress_state`)
OUT/provenance.jsonl, OUT/summary.md    written at the end
"""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Literal, TextIO

from msgspec import Struct
from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen.data_sets.folder_lock import lock_folder, set_aside
from snellen.data_sets.items import ITEMS_FILE
from snellen.data_sets.step import STEP_FILE, read_step
from snellen.store.responses import STORE_FILE
from snellen_curate.recipe.progress_state import (
    StepState,
    StepStatus,
    differences,
    digest_data,
    digest_files,
    read_state,
    write_state,
)
from snellen_curate.recipe.recipe_file import CurationRecipe, OptionValue, RecipeStep
from snellen_curate.recipe.step_commands import NOT_DECIDING, StepCommand
from snellen_curate.spending import Spending, read_spending

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
    items: int = 0
    """Items that the provenance record has."""
    folder: str = ""


Notify = Callable[[str], None]


@dataclass(slots=True)
class RecipePipeline:
    """A recipe with the commands of its steps. Paths are relative to the current folder."""

    recipe: CurationRecipe
    commands: Mapping[str, StepCommand]
    again: str
    """The command that starts the recipe, for messages."""

    @property
    def out(self) -> Path:
        return Path(self.recipe.out)

    def check(self) -> None:
        """Check every step before any is run. Raises UsageError subclasses."""
        for step in self.recipe.steps:
            command = self.commands[step.action]
            command.check_options(step.options, step.label)
            self._check_data(step)
            for phase in command.wanted_phases(self._options(step)):
                words = command.arguments(["DATA"], "OUT", self._options(step), phase)
                command.parse(words, step.label)
        for key in sorted(self.recipe.options.keys() - NOT_DECIDING):
            if not any(key in self.commands[step.action].flags() for step in self.recipe.steps):
                self.commands[self.recipe.steps[0].action].check_options({key: ""}, "every step")

    def plan(self) -> list[PlannedStep]:
        """What is done, and what is left to do. Nothing is run."""
        planned: list[PlannedStep] = []
        is_known = True
        for step in self.recipe.steps:
            todo, reason = self._todo(step, is_known=is_known)
            writes_items = self.commands[step.action].protocol.writes_items
            is_known = is_known and (todo == "done" or not writes_items)
            planned.append(
                PlannedStep(
                    number=step.number,
                    name=step.name,
                    action=step.action,
                    todo=todo,
                    reason=reason,
                    folder=str(self._folder(step)),
                    command=self._command(step),
                    spent=self._spending_of(step),
                )
            )
        return planned

    def run(self, notify: Notify) -> RecipeOutcome:
        """Run what is left. Raises UsageError subclasses, with the step in front, and RunLocked if
        the recipe is being run already."""
        with self._lock():
            for step in self.recipe.steps:
                todo, reason = self._todo(step)
                head = f"[{step.number}/{len(self.recipe.steps)}] {step.name}"
                if todo == "done":
                    notify(f"{head}: done{_spent_clause(self._spending_of(step))}")
                    continue
                if todo == "again":
                    notify(f"{head}: {reason}; it is run again")
                    self._set_aside(step, notify)
                elif todo == "resume":
                    notify(f"{head}: goes on")
                else:
                    notify(f"{head}: {step.action}")
                state = self._run_step(step, head, notify)
                if state.status != "complete":
                    return RecipeOutcome(
                        steps=self.plan(),
                        status=state.status,
                        stopped_at=step.name,
                        message=state.message,
                        folder=str(self.out),
                    )
            return self._end()

    def _run_step(self, step: RecipeStep, head: str, notify: Notify) -> StepState:
        """Run the commands of a step, and note how it ended."""
        command = self.commands[step.action]
        folder = self._folder(step)
        state, before = self._state(step), read_state(self.out, step.name)
        if before is not None and not differences(before, state):
            state = replace(state, seconds=before.seconds)
        write_state(self.out, step.name, state)
        folder.parent.mkdir(parents=True, exist_ok=True)
        begin = monotonic()
        status: StepStatus = "complete"
        message = ""
        with (self.out / f"{step.name}.txt").open("w", encoding="utf-8") as log:
            for phase in command.wanted_phases(self._options(step)):
                words = self._words(step, self._options(step), phase)
                arguments = command.parse(words, step.label)
                arguments.command_line = _command_line(step, words)
                arguments.action = step.action
                try:
                    with contextlib.redirect_stdout(_Tee(sys.stdout, log)):
                        has_ended = command.run(arguments)
                except UsageError as error:
                    if not command.protocol.waits or command.protocol.waits not in str(error):
                        raise UsageError(f"{step.label}: {error}") from error
                    status, message = "waiting", self._waiting_message(step, str(error))
                    break
                if not has_ended:
                    status, message = "incomplete", f"{step.label} is incomplete; go on with: "
                    message += self.again
                    break
        if status == "complete" and (folder / STEP_FILE).is_file():
            written = read_step(folder).status
            if written != "complete":
                status = "incomplete"
                message = f"{step.label} has not ended; go on with: {self.again}"
        seconds = round(state.seconds + monotonic() - begin, 3)
        ended = replace(state, status=status, seconds=seconds, message=message, wrote_folder=folder.exists())
        write_state(self.out, step.name, ended)
        notify(f"{head}: {status} in {ended.seconds:.1f} s{_spent_clause(self._spending_of(step))}")
        return ended

    def _waiting_message(self, step: RecipeStep, sentence: str) -> str:
        line = _command_line(step, self._words(step, self._options(step)))
        return (
            f"{step.label} waits for people: {sentence}\n"
            f"{self.commands[step.action].protocol.people}: {line}\nthen go on with: {self.again}"
        )

    def _end(self) -> RecipeOutcome:
        from snellen_curate.recipe.provenance import write_provenance, write_summary

        folders = [(step, self._folder(step), self._private(step)) for step in self.recipe.steps]
        first = self.recipe.steps[0]
        start = self._data(first)[0] if self.commands[first.action].protocol.reads_items else ""
        items = write_provenance(self.out / "provenance.jsonl", folders, self._lineages(), start)
        write_summary(self.out / "summary.md", self.recipe, folders)
        return RecipeOutcome(steps=self.plan(), status="complete", items=items, folder=str(self.out))

    def _lineages(self) -> dict[str, set[str]]:
        """The steps that no other step reads and that decided something, each with the steps that
        its data went through."""
        by_folder = {str(self._folder(step)): step for step in self.recipe.steps}
        parents = {
            step.name: next((by_folder[each] for each in self._data(step) if each in by_folder), None)
            for step in self.recipe.steps
        }
        read = {parent.name for parent in parents.values() if parent}
        lineages: dict[str, set[str]] = {}
        for step in self.recipe.steps:
            if step.name in read or not (self._private(step) / STEP_FILE).is_file():
                continue
            passed = {step.name}
            parent = parents[step.name]
            while parent is not None:
                passed.add(parent.name)
                parent = parents[parent.name]
            lineages[step.name] = passed
        return lineages

    def _todo(self, step: RecipeStep, *, is_known: bool = True) -> tuple[Todo, str]:
        """What is left of a step, and why; `is_known`: whether its data are."""
        before = read_state(self.out, step.name)
        if before is None:
            return "run", ""
        if not is_known:
            return "unknown", "if the data of the steps before change"
        changes = differences(before, self._state(step))
        if changes:
            todo: Todo = "resume" if self._goes_on_despite(step, changes) else "again"
            return todo, "; ".join(changes.values())
        if before.status != "complete":
            return "resume", before.message.splitlines()[0] if before.message else "it was stopped"
        if before.wrote_folder and not self._folder(step).exists():
            return "run", "its folder is gone"
        return "done", ""

    def _goes_on_despite(self, step: RecipeStep, changes: Mapping[str, str]) -> bool:
        """Whether all that changed adds to what the step's folder has."""
        options = self._options(step)
        continued_by = {*self.commands[step.action].protocol.continued_by}
        files = {str(options[key]) for key in continued_by if key in options}
        return set(changes) <= continued_by | files

    def _state(self, step: RecipeStep) -> StepState:
        options = self.commands[step.action].decisive_options(self._options(step))
        data, *more = [*self._data(step), ""]
        digest = digest_data(Path(data).expanduser()) if data else ""
        files = digest_files(options)
        files |= {each: digest_data(Path(each).expanduser()) for each in more if each}
        named = options.get(self.commands[step.action].protocol.step_option, [])
        for each in named if isinstance(named, list) else [named]:
            files[each] = digest_data(Path(each).expanduser())
        return StepState(step.action, options, digest or data, files, "running")

    def _options(self, step: RecipeStep) -> dict[str, OptionValue]:
        """The step's own options, those of the recipe that it has a flag for, and the store."""
        flags = self.commands[step.action].flags()
        common = {key: value for key, value in self.recipe.options.items() if key in flags}
        if "price" in common:
            common["price"] = _prices_of(common["price"], step.options)
        store = {"store": str(self.out / STORE_FILE)} if "store" in flags else {}
        options = {**store, **common, **step.options}
        key = self.commands[step.action].protocol.step_option
        if key in options:
            named = options[key]
            earlier = {each.name: str(self._folder(each)) for each in self.recipe.steps[: step.number - 1]}
            folders = named if isinstance(named, list) else [named]
            options[key] = [earlier.get(str(folder), str(folder)) for folder in folders]
        return options

    def _words(
        self, step: RecipeStep, options: Mapping[str, OptionValue], phase: Sequence[str] = (), *, planned: bool = False
    ) -> list[str]:
        """The words behind `snellen curate ACTION`."""
        data, command = self._data(step, planned=planned), self.commands[step.action]
        out = str(self._folder(step)) if step.out or command.protocol.needs_folder else ""
        return command.arguments(data, out, options, phase)

    def _data(self, step: RecipeStep, *, planned: bool = False) -> list[str]:
        """What a step reads: earlier steps, paths, or the last items that were written, if
        `planned` also those that will be."""
        earlier = self.recipe.steps[: step.number - 1]
        if step.data:
            folders = {each.name: str(self._folder(each)) for each in earlier}
            return [folders.get(name, name) for name in step.data]
        for each in reversed(earlier):
            will_be = planned and self.commands[each.action].protocol.writes_items
            if will_be or (self._folder(each) / ITEMS_FILE).is_file():
                return [str(self._folder(each))]
        return [self.recipe.data] if self.recipe.data else []

    def _check_data(self, step: RecipeStep) -> None:
        """Raises UsageError if a step names a step that comes later, or reads nothing."""
        later = [each.name for each in self.recipe.steps[step.number - 1 :]]
        for name in step.data:
            if name in later and not Path(name).exists():
                raise UsageError(f"{step.label} reads {name!r}, which comes later")
        if step.number == 1 and not (step.data or self.recipe.data):
            raise UsageError(f'{self.recipe.path} does not say what the first step reads; add data = "FOLDER OR FILE"')

    def _folder(self, step: RecipeStep) -> Path:
        return Path(step.out) if step.out else self.out / step.name

    def _private(self, step: RecipeStep) -> Path:
        """Where the step's decisions are, if not in its folder."""
        ending = self.commands[step.action].protocol.private_ending
        named = step.options.get("private")
        if isinstance(named, str) and named:
            return Path(named)
        folder = self._folder(step)
        return folder.with_name(folder.name + ending) if ending else folder

    def _spending_of(self, step: RecipeStep) -> Spending:
        return read_spending(self._folder(step))

    def _command(self, step: RecipeStep) -> str:
        """The command of a step, without what only says how models are reached."""
        options = self.commands[step.action].decisive_options(self._options(step))
        return _command_line(step, self._words(step, options, planned=True))

    def _set_aside(self, step: RecipeStep, notify: Notify) -> None:
        """Rename the folder of a step that is run again: people may have worked on it."""
        has_private = bool(self.commands[step.action].protocol.private_ending)
        folder = self._private(step) if has_private else self._folder(step)
        if folder.exists():
            notify(f"    what it had written is in {set_aside(folder)}")

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        lock = lock_folder(self.out, f"this recipe is being run in {self.out} by another process; wait for it")
        try:
            yield
        finally:
            lock.release()


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


def _command_line(step: RecipeStep, words: Sequence[str]) -> str:
    return shlex.join(["snellen", "curate", step.action, *words])


def _prices_of(prices: OptionValue, options: Mapping[str, OptionValue]) -> list[str]:
    """The prices of models that a step's own options name: others would be refused."""
    listed = prices if isinstance(prices, list) else [prices]
    named = " ".join(map(str, options.values()))
    return [str(price) for price in listed if str(price).rpartition(":")[0] in named]


def total_spending(steps: Sequence[PlannedStep]) -> Spending:
    """What all steps have spent."""
    total = Spending()
    for step in steps:
        total = total.plus(step.spent)
    return total


def _spent_clause(spent: Spending) -> str:
    return f" ({spent.sentence()})" if spent.requests else ""
