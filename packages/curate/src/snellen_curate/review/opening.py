"""Start a review in a folder, or go on with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from snellen.core.errors import UsageError
from snellen.data_sets.items import ItemTable
from snellen.data_sets.step import STEP_FILE, open_step, read_step
from snellen_curate.open_data import open_items
from snellen_curate.review.board import ReviewBoard
from snellen_curate.review.finishing import STEP, FinishedReview, UndecidedAction, finish_review
from snellen_curate.review.queue import QUEUE_FILE, ReviewSettings, read_queue, write_queue


@dataclass(frozen=True, slots=True)
class Review:
    """A review and its data."""

    table: ItemTable
    folder: Path
    settings: ReviewSettings
    board: ReviewBoard

    def finish(self, undecided: UndecidedAction = "refuse") -> FinishedReview:
        """Write the next version of the data set into the folder: see `finish_review`."""
        with open_step(self.folder, STEP, _as_json(self.settings), self.table) as step:
            return finish_review(step, self.table, self.board, undecided)


def default_folder(data: str | Path) -> Path:
    """The folder of a review if none is named: beside the data, with the ending `-reviewed`."""
    text = str(data)
    path = Path(text.rpartition("/")[2] if "://" in text else text).expanduser()
    if path.name in ("", ".."):
        path = path.resolve()
    name = path.stem if path.is_file() else path.name
    return path.with_name(f"{name}-reviewed")


def open_review(
    data: str | Path, out: str | Path, options: Mapping[str, Any] | None = None, *, may_be_empty: bool = False
) -> Review:
    """Open the review of `data` in the folder `out`, new or of an earlier start.

    `options` are fields of `ReviewSettings`; those that are left out are as they were, or the
    defaults. With `may_be_empty`, a queue without items is no mistake. Raises UsageError for
    options that are not those of the review, for nothing to review and for whatever `open_step`
    refuses.
    """
    folder = Path(out).expanduser()
    is_new = not (folder / STEP_FILE).exists()
    earlier: dict[str, Any] = {}
    if not is_new:
        info = read_step(folder)
        earlier = info.settings if info.step == STEP else {}
    settings = _settings({**earlier, **(options or {})})
    table = open_items(data, settings.columns)
    queue = read_queue(table, settings, may_be_empty=may_be_empty)
    with open_step(folder, STEP, _as_json(settings), table) as step:
        if is_new:
            step.finish({"queue": len(queue.items)}, "waiting")
        if not (folder / QUEUE_FILE).exists():
            write_queue(folder, queue, settings)
    return Review(table, folder, settings, ReviewBoard(folder, queue, settings))


def _settings(values: Mapping[str, Any]) -> ReviewSettings:
    try:
        settings = msgspec.convert(values, ReviewSettings)
    except msgspec.ValidationError as error:
        raise UsageError(f"these are no settings of a review: {error}") from error
    if settings.annotators < 1:
        raise UsageError(f"--limits annotators={settings.annotators}: expected 1 or more")
    if settings.queue == "sample" and settings.sample < 1:
        raise UsageError(f"--limit is {settings.sample}; expected 1 or more")
    return settings


def _as_json(settings: ReviewSettings) -> dict[str, Any]:
    """The settings as they are read back from `step.json`, where tuples are lists."""
    values: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(settings))
    if not settings.gold:
        # Reviews that began before there were gold items go on.
        del values["gold"]
    return values
