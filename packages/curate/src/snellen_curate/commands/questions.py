"""`snellen curate questions`: make questions of images, videos, captions or metadata records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.api.flags import FlagKey, argument, option, options_field
from snellen.api.progress import ProgressChoice
from snellen.core.errors import UsageError
from snellen_curate.commands._action import (
    ActionOptions,
    Finished,
    Status,
    drop_option,
    limits_option,
    only_model,
    parse_folder,
    refuse_flags,
    review_next,
    roles_option,
)
from snellen_curate.step_options import StepOptions

if TYPE_CHECKING:
    from snellen_curate.questions.results import QuestionsResult

NEXT_IMAGE = "next-image"
_IMAGES = "questions whose options are pictures"
_RECORDS = "questions from metadata records"
_PER_SUBTASK = "per_subtask"


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate questions` takes."""

    data: Sequence[str] = argument(
        "DATA",
        "a folder of pictures and videos, or a data file that names them, with captions, "
        "licences and sources where they are known; or the folders that `snellen curate metadata` "
        "wrote",
        "*",
    )
    out: str | None = option(None, "--out", parse=parse_folder)
    drop: tuple[str, ...] = drop_option({"no-licence": "pictures without a licence"})
    model: Sequence[str] = option((), "--model")
    """Who writes."""
    extract: Sequence[str] = option(
        (),
        "--extract",
        "what finds out what is to be seen. WHAT: caption, instances, labels, "
        "attributes, dense, text. KIND: pipeline:TASK@MODEL, rapidocr, file:FILE.jsonl, or a model "
        "that is asked; repeat for several",
        metavar="[WHAT=]KIND",
        is_repeatable=True,
    )
    roles: Mapping[str, Any] = roles_option(
        {
            "reasoner": "writes questions that take reasoning (default: -m)",
            "checker": "leaves out distractors that are as right as the answer, and questions "
            "about videos that one frame answers",
        }
    )
    dimensions: Sequence[str] = option(
        (),
        "--dimension",
        "ask about this dimension, or read dimensions and instructions of your "
        "own (default: all that suit any picture); `next-image` shows the first frames of each "
        "video and asks for the last, without a model; repeat for several",
        metavar="NAME|FILE.toml",
        is_repeatable=True,
    )
    list: bool = option(False, "--list")
    """Print the dimensions and end."""
    limits: Mapping[str, Any] = limits_option(
        {
            "count": FlagKey("questions to ask for, for each picture and dimension (1)", int),
            "per_dimension": FlagKey("most questions of a dimension, drawn by seed; 0: all (0)", int),
            "per_picture": FlagKey("most questions about a picture; 0: all (0)", int),
            "min_nouns": FlagKey("leave out pictures with fewer nouns in their captions (6)", int),
            "max_seconds": FlagKey("leave out longer videos (120)", float),
            "max_similarity": FlagKey(
                "leave out questions of which two options share more of their words (0.9)", float
            ),
            _PER_SUBTASK: FlagKey("of records: most questions of a subtask, evenly from its data sets (200)", int),
        }
    )
    draw: str | None = option(
        None,
        "--draw",
        "DATA is a data file of captions; -m changes them and this model draws "
        "them, or file:FILE has the drawings (columns caption, image); `size` in pixels, denoising "
        "`steps` and the scale of `guidance` behind its name, e.g. MODEL:size=512x512,steps=30",
        metavar="MODEL[:size=WxH,...]",
        group=_IMAGES,
    )
    templates: str | None = option(
        None,
        "--templates",
        "question templates, one per subtask (default: counting, presence, recognition and boxes of what is labelled)",
        metavar="FILE.toml",
        group=_RECORDS,
    )
    alike_length: bool = option(
        False,
        "--alike-length",
        "choose wrong options whose lengths are next to the right one's",
        is_switch=True,
        group=_RECORDS,
    )
    share: float | None = option(None, "--share", group=_RECORDS)
    """Of each data set's items, at most 100, that is flagged (MMT-Bench: 50 %)."""
    seed: int = option(0, "--seed")
    asking: StepOptions = options_field(StepOptions)

    @property
    def folder(self) -> str:
        """Where the questions are written."""
        return self.out or ""

    @property
    def progress(self) -> ProgressChoice:
        return False if self.quiet else None


def main(options: Options) -> Finished:
    """Make questions, of images or of metadata records."""
    from snellen_curate.metadata.records import find_metadata
    from snellen_curate.questions.results import questions_document

    if options.list:
        return _list_dimensions(options)
    if not options.data:
        raise UsageError("name a folder of pictures, a data file that names them, or folders of metadata")
    if options.out is None:
        raise UsageError("name the data set folder: --out DIR")
    if options.templates or find_metadata(Path(options.data[0]).expanduser()):
        return _make_of_records(options)
    refuse_flags(
        {
            "--limits per_subtask": _PER_SUBTASK in options.limits,
            "--share": options.share,
            "--alike-length": options.alike_length,
        },
        "these are no metadata records",
    )
    if len(options.data) > 1:
        raise UsageError(
            f"{options.data[1]}: pictures are in one folder or data file; several can be given "
            "of metadata, with --templates FILE.toml"
        )
    result = _make(options)
    is_over = not (result.items or result.failed or result.abort_reason)
    status: Status = "clean" if result.is_complete and result.items else "incomplete"
    next = review_next(options.folder, "--items", "all", "--blind")
    if status == "incomplete":
        next = () if is_over else tuple(options.again)
    return Finished(status, questions_document(result), next)


def _list_dimensions(options: Options) -> Finished:
    from snellen.report.document import Column, Document, Table

    chosen, rows = _dimensions(options, all_of_them=True), []
    for slug, one in chosen.items():
        needs = f" (needs {', '.join(one.needs)})" if one.needs else ""
        by_name = "; asked about where --dimension names it" if one.by_name else ""
        rows.append((slug, one.media, f"{one.name}{needs}{by_name}"))
    columns = [Column(name) for name in ("dimension", "of", "name")]
    table = Table("dimensions", columns, rows, on_terminal="lines")
    names = {slug: one.name for slug, one in chosen.items()}
    return Finished("clean", Document([table], names))


def _dimensions(options: Options, *, all_of_them: bool = False) -> dict[str, Any]:
    """The dimensions that are named, of Snellen's own and those of the user's file."""
    from snellen_curate.questions.writing import choose_dimensions, load_dimensions

    files = [name for name in options.dimensions if name.endswith(".toml")]
    if len(files) > 1:
        raise UsageError(f"--dimension names {len(files)} files; expected one")
    names = [name for name in options.dimensions if name not in files]
    known = load_dimensions(files[0] if files else None)
    return choose_dimensions(known, names or (list(known) if all_of_them else []))


def _make(options: Options) -> QuestionsResult:
    """Questions of images, videos or captions."""
    if options.draw:
        return _make_drawn(options)
    if NEXT_IMAGE in options.dimensions:
        return _make_next_images(options)
    from snellen_curate.questions.build import make_questions
    from snellen_curate.questions.options import QuestionOptions
    from snellen_curate.questions.sources import open_images

    chosen = QuestionOptions(
        extract=options.extract,
        writer=only_model(options.model) or "",
        dimensions=_dimensions(options),
        require_license=bool(options.drop),
        seed=options.seed,
        **options.roles,
        **options.limits,
    )
    images = open_images(options.data[0])
    return make_questions(images, options.folder, chosen, options.asking, progress=options.progress)


_DRAWING = re.compile(r"(?<=[:,])(size|steps|guidance)=([^,]*)(?:,|$)")


def _make_drawn(options: Options) -> QuestionsResult:
    """Questions that are answered by drawing, of captions."""
    from snellen.benchmarks.protocol.drawing_options import split_drawing_options
    from snellen.core.benchmark import Variant
    from snellen_curate.questions.drawn_questions import DrawnOptions, make_drawn_questions, open_captions

    name = options.draw or ""
    given = {f"draw_{found[1]}": found[2] for found in _DRAWING.finditer(name)}
    given["draw_seed"] = str(options.seed)
    chosen = DrawnOptions(
        writer=only_model(options.model) or "",
        generator=_DRAWING.sub("", name).rstrip(":,") if len(given) > 1 else name,
        checker=options.roles.get("checker", ""),
        drawing=split_drawing_options(Variant(options=given)).settings,
        require_license=bool(options.drop),
        seed=options.seed,
    )
    captions = open_captions(options.data[0])
    return make_drawn_questions(captions, options.folder, chosen, options.asking, progress=options.progress)


def _make_next_images(options: Options) -> QuestionsResult:
    """Questions about what a video shows next."""
    from snellen_curate.questions.next_image import MAX_SECONDS, make_next_image_questions
    from snellen_curate.questions.sources import open_images

    if len(options.dimensions) > 1:
        raise UsageError("next-image is a data set of its own; leave out the other --dimension")
    return make_next_image_questions(
        open_images(options.data[0]),
        options.folder,
        max_seconds=options.limits.get("max_seconds", MAX_SECONDS),
        require_license=bool(options.drop),
        seed=options.seed,
    )


def _make_of_records(options: Options) -> Finished:
    """Questions of metadata records."""
    from snellen_curate.metadata.build import MetadataQuestionOptions, build_questions
    from snellen_curate.metadata.question_counts import counts_document
    from snellen_curate.metadata.records import find_metadata
    from snellen_curate.metadata.templates import DEFAULT_TEMPLATES

    fields = {"--extract": "extract", "--model-for": "roles", "--dimension": "dimensions", "--draw": "draw"}
    of_images = {flag: getattr(options, field) for flag, field in fields.items()}
    of_images |= {f"--limits {name}": True for name in options.limits if name != _PER_SUBTASK}
    refuse_flags(of_images, "these are metadata records, not pictures")
    paths = [Path(name).expanduser() for name in options.data]
    counts = build_questions(
        [find_metadata(path) or path for path in paths],
        options.templates or DEFAULT_TEMPLATES,
        options.folder,
        MetadataQuestionOptions(
            seed=options.seed,
            alike_length=options.alike_length,
            require_license=bool(options.drop),
            check_share=options.share or 0.0,
            **options.limits,
        ),
        writer=only_model(options.model),
        asking=options.asking,
        progress=options.progress,
    )
    is_flagged = bool(counts.without_licence or options.share)
    status: Status = "flagged" if is_flagged or counts.findings else "clean"
    next = review_next(options.folder, *(() if is_flagged else ("--items", "all")))
    if status == "clean":
        next = review_next(options.folder, "--items", "all", "--blind")
    if counts.failed or counts.stopped:
        status, next = "incomplete", tuple(options.again)
    return Finished(status, counts_document(counts, options.folder), next)
