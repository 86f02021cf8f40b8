"""`snellen curate review`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from snellen.cli.printing import print_json, print_line
from snellen_curate.commands import Finished
from snellen_curate.commands._table import Status

if TYPE_CHECKING:
    from snellen_curate.review.opening import Review
    from snellen_curate.review.server import ReviewLink


def main(arguments: Namespace) -> Finished:
    """Do the task that was named, or serve the page."""
    from snellen_curate.review.opening import default_folder, open_review

    arguments.out = arguments.out or str(default_folder(arguments.data))
    review = open_review(
        arguments.data,
        arguments.out,
        _options(arguments),
        # In a pipeline, that nothing was flagged is no mistake.
        may_be_empty=arguments.queue_only or arguments.finish,
    )
    if getattr(arguments, "import"):
        return _import(review, arguments)
    for task, run in (
        ("export", _export), ("finish", _finish), ("agreement", _agreement),
        ("queue_only", _write_queue),
    ):  # fmt: skip
        if getattr(arguments, task):
            return run(review, arguments)
    _serve(review, arguments)
    words = ("curate", "review", arguments.data, "--out", arguments.out, "--finish")
    # The links were printed before the page was served.
    next, arguments.json = () if arguments.json else words, False
    return Finished("clean", None, lambda: None, next)


def _import(review: Review, arguments: Namespace) -> Finished:
    from snellen.report.format import plural
    from snellen_curate.review.exchange import import_reviews

    file = getattr(arguments, "import")
    imported = import_reviews(review.board, Path(file), arguments.imported_by or "")

    def print_text() -> None:
        known = f", {imported.known:,} were there already" if imported.known else ""
        names = ", ".join(imported.annotators)
        print_line(f"{file}: {plural(imported.added, 'decision')} of {names} added{known}")
        if imported.unused:
            print_line(f"not part of a decision, and left out: {', '.join(imported.unused)}")

    status: Status = "flagged" if imported.unused else "clean"
    words = ("curate", "review", arguments.data, "--out", arguments.out, "--agreement")
    return Finished(status, imported._asdict(), print_text, words)


def _export(review: Review, arguments: Namespace) -> Finished:
    from snellen_curate.review.exchange import export_review

    files = list(map(str, export_review(review.board, review.folder, arguments.export)))
    result = {"files": files, **_queue_facts(review)}
    text = f"{', '.join(files)}: {_describe_queue(review)}"
    return Finished("clean", result, lambda: print_line(text), ())


def _finish(review: Review, arguments: Namespace) -> Finished:
    from snellen_curate.review.finishing import finished_line

    finished = review.finish(arguments.undecided or "refuse")
    result = {"folder": str(review.folder), **finished._asdict()}
    is_flagged = bool(finished.undecided) and arguments.undecided == "flag"
    return Finished(
        "flagged" if is_flagged else "clean",
        result,
        lambda: print_line(finished_line(finished, review.folder)),
        ("curate", "publish", arguments.out, "--out", f"{arguments.out}-published"),
    )


def _agreement(review: Review, arguments: Namespace) -> Finished:
    from snellen_curate.review.finishing import agreement_lines, annotator_lines

    agreement, people = review.board.agreement(), review.board.figures().annotators

    def print_text() -> None:
        for line in (*agreement_lines(agreement), *annotator_lines(people)):
            print_line(line)

    result = msgspec.to_builtins({"fields": agreement, "annotators": people})
    status: Status = "flagged" if any(one.warning for one in people) else "clean"
    words = ("curate", "review", arguments.data, "--out", arguments.out, "--finish")
    is_open = any(not each.is_settled for _, each in review.board.outcomes())
    return Finished(status, result, print_text, words[:-1] if is_open else words)


def _write_queue(review: Review, arguments: Namespace) -> Finished:
    from snellen_curate.review.queue import QUEUE_FILE

    queue = review.folder / QUEUE_FILE
    words = ("curate", "review", arguments.data, "--out", arguments.out)
    has_items = bool(review.board.queue.items)
    return Finished(
        "flagged" if has_items else "clean",
        {"queue": str(queue), **_queue_facts(review)},
        lambda: print_line(f"{queue}: {_describe_queue(review)}"),
        words if has_items else (*words, "--finish"),
    )


def _options(arguments: Namespace) -> dict[str, Any]:
    """The settings that the command names."""
    from snellen_curate.review.queue import read_ids

    options: dict[str, Any] = {
        "queue": "all" if arguments.all else None,
        "seed": arguments.seed,
        "runs": arguments.runs or None,
        "blind": arguments.blind or None,
        "annotators": arguments.annotators,
        "mismatch": arguments.mismatch,
        "columns": arguments.columns,
    }
    if arguments.ids is not None:
        options |= {"queue": "ids", "ids": read_ids(Path(arguments.ids))}
    if arguments.gold is not None:
        from snellen_curate.review.queue import read_gold

        options["gold"] = read_gold(Path(arguments.gold))
    if arguments.sample is not None:
        options |= {"queue": "sample", "sample": arguments.sample}
    return {name: value for name, value in options.items() if value is not None}


def _describe_queue(review: Review) -> str:
    from snellen.report.format import plural

    settings = review.settings
    count = len(review.board.queue.items) - len(settings.gold)
    parts = [f"{plural(count, 'item')} to review"]
    if settings.gold:
        parts.append(plural(len(settings.gold), "gold item"))
    if settings.annotators > 1:
        parts.append(f"{settings.annotators} people each")
    if settings.blind:
        parts.append("blind")
    return ", ".join(parts)


def _queue_facts(review: Review) -> dict[str, Any]:
    settings = review.settings
    count = len(review.board.queue.items) - len(settings.gold)
    facts = {"items": count, "annotators": settings.annotators, "blind": settings.blind}
    return {**facts, "gold": len(settings.gold)} if settings.gold else facts


def _print_links(review: Review, addresses: Mapping[ReviewLink, str]) -> None:
    print_line(f"{review.table.name}: {_describe_queue(review)}")
    width = max(len(link.name or link.role) for link in addresses)
    for link, address in addresses.items():
        print_line(f"{link.name or link.role:{width}}  {address}")
    print_line("(Ctrl-C stops it; every decision is stored at once)", flush=True)


def _serve(review: Review, arguments: Namespace) -> None:
    """Serve the page until Ctrl-C."""
    from snellen_curate.review.server import ReviewServer, read_links

    links = read_links(review.folder, arguments.link)
    try:
        with ReviewServer(review.board, links, arguments.port) as server:
            if arguments.json:
                rows = [
                    {"name": link.name, "role": link.role, "address": server.address(link)}
                    for link in links
                ]
                print_json({**_queue_facts(review), "links": rows})
            else:
                _print_links(review, {link: server.address(link) for link in links})
            if arguments.open:
                import webbrowser

                webbrowser.open(server.address(links[0]))
            server.serve_forever()
    except KeyboardInterrupt:
        # How it is meant to end.
        print_line()
