r"""Draws formulas whose characters have colours, and says where each colour is.

Many formulas are set by one run of TeX, each on a page of its own. After each one the log says which page
comes next and how deep TeX is in groups: a formula that leaves a group open ends the run, and is set again
alone, as is one that could change what comes after it. Places are read from the PDF (pypdfium2, in a
limited process), where each character and each line is an object with a colour. CDM's authors draw pictures
of 200 pixels to the inch and look for the colours in them; the pixels here are those.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import floor

import msgspec
from msgspec import Struct

from snellen.core import lazy_re as re
from snellen.core.errors import MissingExtra
from snellen.generated_code.limits import ProgramLimits
from snellen.generated_code.runner import Workers
from snellen.generated_code.tex import run_tex

_AT_ONCE = 100
_ALONE = ProgramLimits(cpu_seconds=5, wall_seconds=30.0, memory_mb=1024, file_mb=16)
_TOGETHER = ProgramLimits(cpu_seconds=20, wall_seconds=120.0, memory_mb=1024, file_mb=32)
_MOST_ENDED = 3
"""Runs of one call that a limit ends."""
_READ = ProgramLimits(cpu_seconds=60, wall_seconds=120.0, memory_mb=2048)
_PIXELS, _MARGIN = 200 / 72, 8
_PAPERS = ((1300, "a3"), (600, "a4"), (-1, "a5"))
"""More colours than these need a larger paper; what is beyond it cannot be seen, as in the authors' pictures."""
_UNSAFE = re.compile(
    r"\\(begin(?!\{array\})|end(?!\{array\})|pdf[a-z]+|Snellen[a-zA-Z]*|(global|long|outer|[egx]?def|let|futurelet|"
    r"(re)?new[a-z]+|provide[a-z]+|Declare[a-zA-Z]+|input|include|open(in|out)|read|close(in|out)|write|immediate|"
    r"special|[a-z]*code|make[a-z]+|csname|expandafter|after[a-z]+|set[a-z]+|(add|step|refstep|use)[a-z]*counter|"
    r"advance|(begin|end)group|[be]group|par|every[a-z]+|output|shipout|(this)?pagestyle|show[a-z]*|loop|halign|"
    r"(batch|errorstop|scroll)mode|[hv]?box|(clear|new)page|footnote|marginpar|"
    r"(raise|no)?tag|nonumber|label|(eq|page)?ref|numberwithin|intertext|allowdisplaybreaks)(?![A-Za-z]))"
)
"""Could change what TeX does after the formula; `\\tag` gives the frames of later `\\boxed` another colour."""
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_DONE = re.compile(r"^SNELLEN (\d+) (\d+) (\d+)$", re.MULTILINE)
_HEAD = r"""\documentclass[12pt]{article}
\usepackage[landscape]{geometry}
\geometry{%spaper,scale=0.98}
\pagestyle{empty}
\usepackage{booktabs,amsmath,upgreek,%samssymb,xcolor}
\newcommand\SnellenMark[1]{\typeout{SNELLEN #1 \the\value{page} \the\currentgrouplevel}%%
\ifnum\currentgrouplevel=\SnellenLevel\else\csname @@end\endcsname\fi}
\begin{document}
%s\edef\SnellenLevel{\the\currentgrouplevel}
\SnellenMark{0}
"""
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


class DrawnDisplay(Struct, frozen=True):
    """A drawn formula in whole pixels: its size, and of each colour that can be seen the box, whose sides are left,
    top, right and bottom. Colours are numbers of three bytes; 0 is black."""

    width: int = 0
    height: int = 0
    boxes: dict[int, tuple[int, int, int, int]] = {}


_NOTHING = DrawnDisplay()


def check_reader() -> None:
    """Raises MissingExtra without pypdfium2."""
    if importlib.util.find_spec("pypdfium2") is None:
        raise MissingExtra("comparing drawn formulas", "pdf", "pypdfium2")


def draw_displays(displays: Mapping[str, int]) -> dict[str, DrawnDisplay]:
    """Draw formulas in LaTeX, given with the number of their colours. One that TeX cannot set, or that is not
    one page, has no boxes. Raises UsageError without TeX, MissingExtra without pypdfium2."""
    check_reader()
    drawn: dict[str, DrawnDisplay] = {}
    tame = [text for text, colours in displays.items() if _is_tame(text, colours)]
    alone = [text for text, colours in displays.items() if not _is_tame(text, colours)]
    ended = 0
    for is_chinese in (False, True):
        left = [text for text in tame if bool(_CHINESE.search(text)) == is_chinese]
        size = _AT_ONCE
        while len(left) > 1 and ended < _MOST_ENDED:
            batch = left[:size]
            found, done, is_ended = _draw_together(batch)
            ended += is_ended
            if not found and 1 < done < len(batch):
                # The PDF is lost with a formula that TeX gives up at: those before it once more.
                size = done
                continue
            drawn.update(zip(batch, found, strict=False))
            alone += batch[len(found) : len(found) + 1]
            left, size = left[min(len(found) + 1, len(batch)) :], _AT_ONCE
        alone += left
    for text in alone:
        if ended >= _MOST_ENDED:
            break
        paper = next(name for most, name in _PAPERS if displays[text] > most)
        drawn[text], is_ended = _draw_alone(text, paper)
        ended += is_ended
    return {text: drawn.get(text, _NOTHING) for text in displays}


def _is_tame(text: str, colours: int) -> bool:
    """Whether it can be set with others: its braces are closed, and nothing in it changes TeX."""
    depth = 0
    for sign in _BRACE.findall(text):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return depth == 0 and colours <= _PAPERS[1][0] and not _UNSAFE.search(text)


def _draw_alone(display: str, paper: str) -> tuple[DrawnDisplay, bool]:
    """A formula, and whether a limit ended the run."""
    run = run_tex(_document([display], paper), _ALONE)
    pages = _read_pages(run.pdf)
    return pages[0] if len(pages) == 1 else _NOTHING, run.is_ended


def _draw_together(displays: Sequence[str]) -> tuple[list[DrawnDisplay], int, bool]:
    """The formulas up to the first that leaves TeX in another state; how many TeX came to the end of, also where
    it made no PDF; and whether a limit ended the run."""
    run = run_tex(_document(displays, "a5"), _TOGETHER)
    marks = [tuple(map(int, mark.groups())) for mark in _DONE.finditer(run.log)]
    if not marks or [mark[0] for mark in marks] != list(range(len(marks))):
        return [], 0, run.is_ended
    pages = _read_pages(run.pdf)
    drawn = []
    for (_, first, _), (_, after, depth) in pairwise(marks):
        if depth != marks[0][2] or after > len(pages) + 1:
            break
        drawn.append(pages[first - 1] if after - first == 1 else _NOTHING)
    return drawn, len(marks) - 1, run.is_ended


def _document(displays: Sequence[str], paper: str) -> str:
    is_chinese = any(_CHINESE.search(text) for text in displays)
    begin, end = (r"\begin{CJK}{UTF8}{gkai}", r"\end{CJK}") if is_chinese else ("", "")
    parts = [_HEAD % (paper, "CJK," * is_chinese, f"{begin}\n" * is_chinese)]
    for number, text in enumerate(displays, 1):
        parts.append(f"\\begin{{displaymath}}\n{text}\n\\end{{displaymath}}\n")
        # Of a formula alone nothing is to be drawn if TeX comes to the end of the file within it.
        parts.append(f"\\clearpage\n\\SnellenMark{{{number}}}\n" * (len(displays) > 1))
    # An empty line would end a formula that is not complete, and have it drawn.
    return "".join([*parts, f"{end}\n" * is_chinese, "\\end{document}\n"])


@functools.cache
def _readers() -> Workers:
    workers = Workers(modules=("pypdfium2",))
    atexit.register(workers.close)
    return workers


def _read_pages(pdf: bytes) -> list[DrawnDisplay]:
    if not pdf:
        return []
    result = _readers().call("snellen.generated_code.formulas:read_pdf", pdf, _READ)
    return msgspec.msgpack.decode(result.data, type=list[DrawnDisplay]) if result.failure is None else []


def read_pdf(pdf: bytes) -> bytes:
    """The pages of a PDF as `DrawnDisplay`s; for a limited process."""
    import pypdfium2

    document = pypdfium2.PdfDocument(pdf)
    return msgspec.msgpack.encode([_page(document[number]) for number in range(len(document))])


def _page(page: object) -> DrawnDisplay:
    found: dict[int, list[tuple[float, float, float, float]]] = {}
    for colour, box in _objects(page):
        found.setdefault(colour, []).append(box)
    if not found:
        return _NOTHING
    unions = {colour: _around(boxes) for colour, boxes in found.items()}
    left, top, right, bottom = _around([*unions.values()])
    # The authors leave a margin, and their boxes begin a pixel before the character.
    x, y = _MARGIN - left, _MARGIN - top
    boxes = {
        colour: (floor(one + x - 1), floor(two + y - 1), floor(three + x), floor(four + y))
        for colour, (one, two, three, four) in unions.items()
    }
    return DrawnDisplay(floor(right - left + 2 * _MARGIN), floor(bottom - top + 2 * _MARGIN), boxes)


def _around(boxes: Sequence[tuple[float, float, float, float]]) -> tuple[float, float, float, float]:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _objects(page: object) -> Iterator[tuple[int, tuple[float, float, float, float]]]:
    """The colour and the box of each object on the paper, from its upper left corner on."""
    import ctypes

    from pypdfium2 import raw

    width, height = page.get_size()  # type: ignore[attr-defined]
    for one in page.get_objects():  # type: ignore[attr-defined]
        values = [ctypes.c_uint() for _ in range(4)]
        if not raw.FPDFPageObj_GetFillColor(one.raw, *values):
            continue
        red, green, blue = (value.value for value in values[:3])
        first, low, last, high = one.get_bounds()
        box = max(first, 0.0), max(height - high, 0.0), min(last, width), min(height - low, height)
        if box[0] < box[2] and box[1] < box[3]:
            yield red << 16 | green << 8 | blue, tuple(side * _PIXELS for side in box)
