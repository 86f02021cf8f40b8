"""`snellen curate questions PICTURES`: make questions of pictures, videos or captions."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.flags import read_options
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen_curate.commands import Finished, read_fields, refuse_flags
from snellen_curate.commands._from_metadata import OF_METADATA, main_metadata, progress
from snellen_curate.step_options import StepOptions

if TYPE_CHECKING:
    from snellen_curate.questions.results import QuestionsResult


def main(arguments: Namespace) -> Finished:
    """Make questions, of pictures or of metadata records."""
    from snellen_curate.metadata.record_file import find_metadata

    if arguments.list_dimensions:
        return _list_dimensions(arguments)
    if not arguments.data:
        raise UsageError(
            "name a folder of pictures, a data file that names them, or folders of metadata"
        )
    if arguments.templates or find_metadata(Path(arguments.data[0]).expanduser()):
        return main_metadata(arguments)
    refuse_flags(arguments, OF_METADATA, "these are no metadata records")
    if len(arguments.data) > 1:
        raise UsageError(
            f"{arguments.data[1]}: pictures are in one folder or data file; several can be given "
            "of metadata, with --templates FILE.toml"
        )
    make = _make_next_images if arguments.next_image else _make_questions
    result = (_make_drawn if arguments.draw else make)(arguments)
    return Finished(
        "clean" if result.is_complete and result.items else "incomplete",
        result,
        lambda: _print_result(result),
        None if result.items or result.failed or result.abort_reason else (),
    )


def _list_dimensions(arguments: Namespace) -> Finished:
    from snellen_curate.questions.writing import choose_dimensions, load_dimensions

    known = load_dimensions(arguments.dimensions)
    chosen = choose_dimensions(known, arguments.dimension or list(known))

    def print_text() -> None:
        for slug, one in chosen.items():
            needs = f" (needs {', '.join(one.needs)})" if one.needs else ""
            by_name = "; asked about where --dimension names it" if one.by_name else ""
            print_line(f"{slug:<30} {one.media:<8} {one.name}{needs}{by_name}")

    return Finished("clean", {slug: one.name for slug, one in chosen.items()}, print_text, ())


def _make_questions(arguments: Namespace) -> QuestionsResult:
    """Questions of pictures and videos."""
    from snellen_curate.questions.build import make_questions
    from snellen_curate.questions.options import QuestionOptions
    from snellen_curate.questions.sources import open_pictures
    from snellen_curate.questions.writing import choose_dimensions, load_dimensions

    options = read_fields(
        arguments, QuestionOptions, writer=arguments.model or "",
        dimensions=choose_dimensions(load_dimensions(arguments.dimensions), arguments.dimension),
        require_license=bool(arguments.drop),
    )  # fmt: skip
    asking = read_options(arguments, StepOptions)
    pictures = open_pictures(arguments.data[0])
    return make_questions(pictures, arguments.out, options, asking, progress=progress(arguments))


def _make_drawn(arguments: Namespace) -> QuestionsResult:
    """Questions that are answered by drawing, of captions."""
    from snellen.benchmarks.protocol.drawing_options import split_drawing_options
    from snellen.core.benchmark import Variant
    from snellen_curate.questions.drawn_questions import (
        DrawnOptions,
        make_drawn_questions,
        open_captions,
    )

    names = ("draw_size", "draw_steps", "draw_guidance")
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name)}
    given["draw_seed"] = str(arguments.seed or 0)
    options = read_fields(
        arguments, DrawnOptions, writer=arguments.model or "", generator=arguments.draw,
        drawing=split_drawing_options(Variant(options=given)).settings,
        require_license=bool(arguments.drop),
    )  # fmt: skip
    asking = read_options(arguments, StepOptions)
    captions = open_captions(arguments.data[0])
    return make_drawn_questions(
        captions, arguments.out, options, asking, progress=progress(arguments)
    )


def _make_next_images(arguments: Namespace) -> QuestionsResult:
    """Questions about what a video shows next."""
    from snellen_curate.questions.next_image import MAX_SECONDS, make_next_image_questions
    from snellen_curate.questions.sources import open_pictures

    return make_next_image_questions(
        open_pictures(arguments.data[0]),
        arguments.out,
        max_seconds=arguments.max_seconds or MAX_SECONDS,
        require_license=bool(arguments.drop),
        seed=arguments.seed or 0,
    )


def _print_result(result: QuestionsResult) -> None:
    """What was dropped and kept, and what comes next."""
    from snellen.report.format import plural
    from snellen_curate.spending import read_spending

    for extractor, count in result.missing.items():
        print_line(f"{count} of {plural(result.pictures, result.sources)} are not in {extractor}")
    for rule, count in result.by_rule.items():
        print_line(f"dropped   {count:>6}  {rule}")
    for dimension, count in result.by_dimension.items():
        print_line(f"kept      {count:>6}  {dimension}")
    spending = read_spending(Path(result.folder))
    if spending.requests:
        print_line(f"spent so far: {spending.sentence()}")
    print_line(
        f"{result.folder}: {plural(result.pictures, result.sources)}, "
        f"{plural(result.items, 'question')}"
    )
    if result.abort_reason:
        print_line(f"stopped: {result.abort_reason}; the same command goes on")
    elif result.failed:
        print_line(
            f"{plural(result.failed, result.sources)} failed (see decisions.jsonl); the same "
            "command asks again, and writes the questions once none fails"
        )
