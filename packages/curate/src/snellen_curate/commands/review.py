"""`snellen curate review`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from snellen.api.flags import FlagKey, argument, option
from snellen.cli.output import print_line, write_document
from snellen.core.errors import UsageError
from snellen_curate.commands._action import ActionOptions, Finished, limits_option, parse_folder, publish_next, sentence

if TYPE_CHECKING:
    from snellen.report.document import Document
    from snellen_curate.review.opening import Review

_QUEUE = "queue"
_TASKS = "instead of serving the page"
_FORMS = (_QUEUE, "label-studio", "argilla", "csv")


def _parse_mismatch(text: str) -> str:
    if text not in ("", "resolve", "fix"):
        raise UsageError(f"invalid choice: {text!r} (choose from resolve, fix)")
    return text


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate review` takes."""

    data: str = argument("DATA", "data set folder, data file, folder of pictures, or name of a benchmark")
    out: str | None = option(None, "--out", parse=parse_folder)
    """Of the review, and of the next version of the data set. None: DATA-reviewed."""
    columns: Mapping[str, str] | None = option(None, "--columns")
    items: str | None = option(
        None,
        "--items",
        "review `flagged` items (default), `all`, or those of a file, an id a line",
        metavar="flagged|all|FILE",
    )
    limit: int | None = option(None, "--limit")
    blind: str | None = option(
        None,
        "--blind",
        "hide keys and replies: annotators choose the answer and the ability; if "
        "they agree against the key, an adjudicator decides (`resolve`, the default) or their "
        "answer becomes the key (`fix`)",
        metavar="resolve|fix",
        parse=_parse_mismatch,
        bare_value="",
    )
    limits: Mapping[str, Any] = limits_option({"annotators": FlagKey("decisions that each item needs (1)", int)})
    gold: str | None = option(
        None,
        "--gold",
        "mix in items whose right decision is known, a JSON object a line; every "
        "annotator gets each of them and is not told which they are",
        metavar="FILE",
    )
    runs: Sequence[str] = option((), "--runs")
    """Their replies are displayed."""
    seed: int | None = option(None, "--seed")
    annotators: Sequence[str] = option(
        (),
        "--annotator",
        "print a link for this annotator alone; with --import, whose decisions "
        "those are that name nobody; repeat for several",
        metavar="NAME",
        is_repeatable=True,
    )
    imported: str | None = option(
        None,
        "--import",
        "add decisions that were made in another tool: JSON lines, CSV, or an export of Label Studio or Argilla",
        metavar="FILE",
        group=_TASKS,
    )
    export: Literal["queue", "label-studio", "argilla", "csv"] | None = option(
        None,
        "--export",
        "write the queue and its decisions for another tool; `queue`: the queue alone, as queue.jsonl",
        choices=_FORMS,
        group=_TASKS,
    )
    list: bool = option(False, "--list", group=_TASKS)
    """Print the annotators, and how far they agree."""
    finish: Literal["refuse", "keep", "drop", "flag"] | None = option(
        None,
        "--finish",
        "write the next version of the data set; what is done with items that are not decided (default: refuse)",
        choices=("refuse", "keep", "drop", "flag"),
        bare_value="refuse",
        group=_TASKS,
    )
    port: int | None = option(None, "--port")
    """None: 8421, or any free port."""
    open: bool = option(False, "--open")

    @property
    def folder(self) -> str:
        from snellen_curate.review.opening import default_folder

        return self.out or str(default_folder(self.data))

    def next(self, *more: str) -> tuple[str, ...]:
        """This review again, for another task."""
        return ("curate", "review", self.data, "--out", self.folder, *more)


def main(options: Options) -> Finished:
    """Do the task that was named, or serve the page."""
    from snellen_curate.review.opening import open_review

    tasks = {
        "--import": options.imported,
        "--export": options.export,
        "--list": options.list,
        "--finish": options.finish,
    }
    named = [flag for flag, value in tasks.items() if value]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are two tasks; give one")
    review = open_review(
        options.data,
        options.folder,
        _settings(options),
        # In a pipeline, that nothing was flagged is no mistake.
        may_be_empty=options.export == _QUEUE or options.finish is not None,
    )
    if options.imported:
        return _import(review, options)
    if options.export:
        return (_write_queue if options.export == _QUEUE else _export)(review, options)
    if options.list:
        return _agreement(review, options)
    return _finish(review, options) if options.finish else _serve(review, options)


def _import(review: Review, options: Options) -> Finished:
    from snellen.report.document import Document
    from snellen.report.format import plural
    from snellen_curate.review.exchange import import_reviews

    if len(options.annotators) > 1:
        raise UsageError("--import has one --annotator: whose decisions those are that name nobody")
    file = options.imported or ""
    imported = import_reviews(review.board, Path(file), "".join(options.annotators))
    known = f", {imported.known:,} were there already" if imported.known else ""
    names = ", ".join(imported.annotators)
    lines = [f"{file}: {plural(imported.added, 'decision')} of {names} added{known}"]
    if imported.unused:
        lines.append(f"not part of a decision, and left out: {', '.join(imported.unused)}")
    document = Document([sentence(line) for line in lines], imported._asdict())
    return Finished("flagged" if imported.unused else "clean", document, options.next("--list"))


def _export(review: Review, options: Options) -> Finished:
    from snellen_curate.review.exchange import export_review

    form: Any = options.export
    files = list(map(str, export_review(review.board, review.folder, form)))
    return Finished("clean", _queue_document(review, ", ".join(files), {"files": files}))


def _finish(review: Review, options: Options) -> Finished:
    from snellen.report.document import Document
    from snellen_curate.review.opening import finished_line

    undecided = options.finish or "refuse"
    finished = review.finish(undecided)
    line = sentence(finished_line(finished, review.folder))
    document = Document([line], {"folder": str(review.folder), **finished._asdict()})
    is_flagged = bool(finished.undecided) and undecided == "flag"
    return Finished("flagged" if is_flagged else "clean", document, publish_next(options.folder))


def _agreement(review: Review, options: Options) -> Finished:
    from snellen_curate.review.opening import agreement_document

    agreement, people = review.board.agreement(), review.board.figures().annotators
    is_open = any(not each.action for _, each in review.board.outcomes())
    return Finished(
        "flagged" if any(one.warning for one in people) else "clean",
        agreement_document(agreement, people),
        options.next() if is_open else options.next("--finish"),
    )


def _write_queue(review: Review, options: Options) -> Finished:
    from snellen_curate.review.queue import QUEUE_FILE

    queue = str(review.folder / QUEUE_FILE)
    has_items = bool(review.board.queue.items)
    next = options.next() if has_items else options.next("--finish")
    document = _queue_document(review, queue, {"queue": queue})
    return Finished("flagged" if has_items else "clean", document, next)


def _settings(options: Options) -> dict[str, Any]:
    """The settings that the command names."""
    from snellen_curate.review.queue import read_gold, read_ids

    settings: dict[str, Any] = {
        "queue": options.items,
        "seed": options.seed,
        "runs": options.runs or None,
        "blind": True if options.blind is not None else None,
        "mismatch": options.blind or None,
        "columns": options.columns,
        "gold": read_gold(Path(options.gold)) if options.gold is not None else None,
        **options.limits,
    }
    if options.limit is not None:
        if options.items not in (None, "all"):
            raise UsageError("--limit draws items of all; leave it out, or --items")
        settings |= {"queue": "sample", "sample": options.limit}
    elif options.items not in (None, "all", "flagged"):
        settings |= {"queue": "ids", "ids": read_ids(Path(options.items))}
    return {name: value for name, value in settings.items() if value is not None}


def _queue_document(review: Review, head: str, facts: Mapping[str, Any]) -> Document:
    """A sentence about the queue, and the same as data behind `facts`."""
    from snellen.report.document import Document
    from snellen.report.format import plural

    settings = review.settings
    count = len(review.board.queue.items) - len(settings.gold)
    data = {**facts, "items": count, "annotators": settings.annotators, "blind": settings.blind}
    parts = [f"{plural(count, 'item')} to review"]
    if settings.gold:
        parts.append(plural(len(settings.gold), "gold item"))
        data["gold"] = len(settings.gold)
    if settings.annotators > 1:
        parts.append(f"{settings.annotators} people each")
    if settings.blind:
        parts.append("blind")
    return Document([sentence(f"{head}: {', '.join(parts)}")], data)


def _serve(review: Review, options: Options) -> Finished:
    """Serve the page until Ctrl-C."""
    from snellen.report.document import Document
    from snellen_curate.review.server import ReviewServer, read_links

    links = read_links(review.folder, options.annotators)
    try:
        with ReviewServer(review.board, links, options.port) as server:
            rows = [{"name": link.name, "role": link.role, "address": server.address(link)} for link in links]
            write_document(_links_document(review, rows), options)
            sys.stdout.flush()
            if options.open:
                import webbrowser

                webbrowser.open(server.address(links[0]))
            server.serve_forever()
    except KeyboardInterrupt:
        # How it is meant to end.
        print_line(error=True)
    # The links were printed before the page was served.
    return Finished("clean", Document([]), options.next("--finish"))


def _links_document(review: Review, rows: Sequence[Mapping[str, str]]) -> Document:
    document = _queue_document(review, review.table.name, {"links": rows})
    width = max(len(row["name"] or row["role"]) for row in rows)
    links = [sentence(f"{row['name'] or row['role']:{width}}  {row['address']}") for row in rows]
    end = sentence("(Ctrl-C stops it; every decision is stored at once)")
    return document._replace(blocks=[*document.blocks, *links, end])
