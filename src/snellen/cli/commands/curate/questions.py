"""`snellen curate questions PICTURES`: make questions of pictures, videos or captions."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.commands.curate._from_metadata import add_metadata, main_metadata
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import add_json, add_options, read_options
from snellen.cli.printing import print_json, print_line, print_next
from snellen.core.errors import UsageError
from snellen.curate.step_options import StepOptions

if TYPE_CHECKING:
    from snellen.curate.questions.results import QuestionsResult


def add(parser: ArgumentParser) -> None:
    """Add the flags of all three kinds of questions, and those of asking models."""
    parser.add_argument(
        "pictures", nargs="?", metavar="PICTURES",
        help="a folder of pictures and videos, or a data file that names them, with captions, "
            "licences and sources where they are known",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="data set folder to write")
    parser.add_argument(
        "--extract", action="append", default=[], metavar="[WHAT=]KIND",
        help="what finds out what is to be seen; repeat for several. WHAT: caption, instances, "
            "labels, attributes, dense, text. KIND: pipeline:TASK@MODEL, rapidocr, "
            "file:FILE.jsonl, or a model that is asked",
    )  # fmt: skip
    parser.add_argument("--writer", metavar="MODEL", help="the model that writes the questions")
    parser.add_argument(
        "--reasoner", metavar="MODEL", default="",
        help="writes those that take reasoning (default: the writer)",
    )  # fmt: skip
    parser.add_argument(
        "--checker", metavar="MODEL", default="",
        help="drops distractors that are as right as the answer, and questions about videos that "
            "one frame answers",
    )  # fmt: skip
    parser.add_argument(
        "--text-only", nargs="+", action="extend", default=[], metavar="MODEL",
        help="drop questions that all these models answer without the picture",
    )  # fmt: skip
    parser.add_argument(
        "--text-rule", metavar="RULE", default="text-all",
        help="how many of them must answer it: text-all, text-majority, text-more-than:N "
            "(default: text-all)",
    )  # fmt: skip
    parser.add_argument(
        "--dimension", action="append", default=[], metavar="NAME",
        help="ask about this dimension; repeat for several (default: all that suit any picture)",
    )  # fmt: skip
    parser.add_argument(
        "--dimensions", metavar="FILE.toml", help="dimensions and instructions of your own"
    )
    parser.add_argument(
        "--list-dimensions", action="store_true", help="print the dimensions and end"
    )
    _add_numbers(parser)
    _add_drawing(parser)
    add_json(parser)
    add_metadata(parser)
    add_options(parser, StepOptions)


def _add_numbers(parser: ArgumentParser) -> None:
    """Limits, seeds and thresholds."""
    numbers = {
        "count": (1, "questions to ask for, for each picture and dimension"),
        "per-dimension": (0, "most questions of a dimension, drawn by seed; 0: all"),
        "per-picture": (0, "most questions about a picture; 0: all"),
        "min-nouns": (6, "drop pictures with fewer nouns in their captions; 0: none"),
        "seed": (0, "seed of every choice"),
    }
    for name, (default, help) in numbers.items():
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{help} (default: {default})"
        )
    parser.add_argument(
        "--max-seconds", type=float, default=120.0, metavar="S",
        help="drop longer videos (default: 120)",
    )  # fmt: skip
    parser.add_argument(
        "--max-similarity", type=float, default=0.9, metavar="SHARE",
        help="drop questions of which two options share more of their words (default: 0.9)",
    )  # fmt: skip
    parser.add_argument(
        "--require-licence", "--require-license", action="store_true",
        help="drop pictures without a licence",
    )  # fmt: skip


def _add_drawing(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("questions whose options are pictures")
    group.add_argument(
        "--draw", metavar="MODEL",
        help="PICTURES is a data file of captions; the writer changes them and this model draws "
            "them, or file:FILE has the drawings (columns caption, image)",
    )  # fmt: skip
    group.add_argument("--draw-size", metavar="WxH", help="pixels of a drawing, e.g. 512x512")
    group.add_argument("--draw-steps", metavar="N", help="denoising steps")
    group.add_argument("--draw-guidance", metavar="X", help="scale of classifier-free guidance")
    group.add_argument(
        "--next-image", action="store_true",
        help="show the first frames of each video and ask for the last; asks no model",
    )  # fmt: skip


def main(arguments: Namespace) -> int:
    """Make questions, of pictures or of metadata records."""
    if arguments.from_metadata:
        return main_metadata(arguments)

    if arguments.list_dimensions:
        return _list_dimensions(arguments)
    if arguments.out is None:
        raise UsageError("name the data set folder to write: --out DIR")
    if arguments.pictures is None:
        raise UsageError(
            "name a folder of pictures or a data file that names them; or metadata records by "
            "--from-metadata FILE"
        )
    make = _make_next_images if arguments.next_image else _make_questions
    result = (_make_drawn if arguments.draw else make)(arguments)
    if arguments.json:
        print_json(result)
    else:
        _print_result(result, arguments)
    return COMPLETE if result.is_complete and result.items else INCOMPLETE


def _list_dimensions(arguments: Namespace) -> int:
    from snellen.curate.questions.writing import choose_dimensions, load_dimensions

    known = load_dimensions(arguments.dimensions)
    for slug, one in choose_dimensions(known, arguments.dimension or list(known)).items():
        needs = f" (needs {', '.join(one.needs)})" if one.needs else ""
        by_name = "; asked about where --dimension names it" if one.by_name else ""
        print_line(f"{slug:<30} {one.media:<8} {one.name}{needs}{by_name}")
    return COMPLETE


def _make_questions(arguments: Namespace) -> QuestionsResult:
    """Questions of pictures and videos."""
    from snellen.curate.questions.build import make_questions
    from snellen.curate.questions.options import QuestionOptions
    from snellen.curate.questions.sources import open_pictures
    from snellen.curate.questions.writing import choose_dimensions, load_dimensions

    options = QuestionOptions(
        extract=arguments.extract,
        writer=arguments.writer or "",
        reasoner=arguments.reasoner,
        checker=arguments.checker,
        text_only=arguments.text_only,
        text_rule=arguments.text_rule,
        dimensions=choose_dimensions(load_dimensions(arguments.dimensions), arguments.dimension),
        count=arguments.count,
        per_dimension=arguments.per_dimension,
        per_picture=arguments.per_picture,
        min_nouns=arguments.min_nouns,
        max_seconds=arguments.max_seconds,
        max_similarity=arguments.max_similarity,
        require_license=arguments.require_licence,
        seed=arguments.seed,
    )
    asking = read_options(arguments, StepOptions)
    return make_questions(open_pictures(arguments.pictures), arguments.out, options, asking)


def _make_drawn(arguments: Namespace) -> QuestionsResult:
    """Questions that are answered by drawing, of captions."""
    from snellen.benchmarks.protocol.drawing_options import split_drawing_options
    from snellen.core.benchmark import Variant
    from snellen.curate.questions.drawn_questions import (
        DrawnOptions,
        make_drawn_questions,
        open_captions,
    )

    names = ("draw_size", "draw_steps", "draw_guidance")
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name)}
    given["draw_seed"] = str(arguments.seed)
    options = DrawnOptions(
        writer=arguments.writer or "",
        generator=arguments.draw,
        checker=arguments.checker,
        drawing=split_drawing_options(Variant(options=given)).settings,
        require_license=arguments.require_licence,
        seed=arguments.seed,
    )
    asking = read_options(arguments, StepOptions)
    return make_drawn_questions(open_captions(arguments.pictures), arguments.out, options, asking)


def _make_next_images(arguments: Namespace) -> QuestionsResult:
    """Questions about what a video shows next."""
    from snellen.curate.questions.next_image import make_next_image_questions
    from snellen.curate.questions.sources import open_pictures

    return make_next_image_questions(
        open_pictures(arguments.pictures),
        arguments.out,
        max_seconds=arguments.max_seconds,
        require_license=arguments.require_licence,
        seed=arguments.seed,
    )


def _print_result(result: QuestionsResult, arguments: Namespace) -> None:
    """What was dropped and kept, and what comes next."""
    from snellen.curate.spending import read_spending
    from snellen.report.format import plural

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
    elif result.items:
        out = f"{result.folder}-reviewed"
        print_next(arguments, "curate", "review", result.folder, "--all", "--blind", "--out", out)
