"""Colours, dashes, marks and hatchings of plots that stand alone: told apart by colour-blind
people and on grey paper, because no two series share a dash or a mark.

Colours: M. Okabe and K. Ito, "Color Universal Design" (2008).
"""

from __future__ import annotations

PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8F7A00",
)  # fmt: skip
DASHES = ("", "7 3", "2 2", "9 3 2 3", "5 2", "1 3", "12 4", "3 4 1 4")
MARKS = ("circle", "square", "triangle", "diamond", "down", "cross", "plus", "star")
INK, FAINT, GRID, PAPER = "#1a1a1a", "#555555", "#d9d9d9", "#ffffff"
FONT = 'font-family="Helvetica, Arial, sans-serif"'
_THOUSANDTHS = {
    222: "ijl",
    278: " !,./:;I[\\]ft",
    333: "()-`r{}",
    389: "*\"'^|",
    500: "Jcksvxyz",
    611: "FTZ<=>+~",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    944: "W%@",
}
"""Widths of Helvetica's characters, in thousandths of the type's size (Adobe's font metrics, rare
signs rounded up); the others are as wide as a digit."""
_WIDTHS = {sign: wide / 1000 for wide, signs in _THOUSANDTHS.items() for sign in signs}
_DIGIT = 0.556
_BOLD = 1.08
"""Bold type is wider by this, and so are the fonts that stand in for Helvetica where it is
missing."""


def colour(at: int) -> str:
    return PALETTE[at % len(PALETTE)]


def dash(at: int) -> str:
    """An attribute of a line, empty for a solid one."""
    pattern = DASHES[at % len(DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def width_of(text: str, size: float) -> float:
    """About how wide a text is at most, in pixels."""
    wide = sum(1.0 if ord(sign) > 0x2E80 else _WIDTHS.get(sign, _DIGIT) for sign in text)
    return _BOLD * size * wide


def mark(at: int, x: float, y: float, size: float = 4.5, title: str = "") -> str:
    """The mark of a series around a point; `title` is told where it is pointed at."""
    kind = MARKS[at % len(MARKS)]
    told = f"<title>{title}</title>" if title else ""
    paint = f'fill="{colour(at)}" stroke="{PAPER}" stroke-width="0.8"'
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" {paint}>{told}</circle>'
    if kind in ("cross", "plus"):
        near, far = (-size, size)
        lines = ((near, near, far, far), (near, far, far, near)) if kind == "cross" else (
            (near, 0, far, 0), (0, near, 0, far),
        )  # fmt: skip
        path = " ".join(f"M{x + a:.1f},{y + b:.1f}L{x + c:.1f},{y + d:.1f}" for a, b, c, d in lines)
        return f'<path d="{path}" stroke="{colour(at)}" stroke-width="2.2">{told}</path>'
    shapes = {
        "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        "triangle": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
        "down": ((0, 1.2), (1.1, -0.9), (-1.1, -0.9)),
        "diamond": ((0, -1.3), (1.1, 0), (0, 1.3), (-1.1, 0)),
        "star": ((0, -1.4), (0.4, -0.4), (1.4, 0), (0.4, 0.4), (0, 1.4), (-0.4, 0.4), (-1.4, 0),
                 (-0.4, -0.4)),
    }  # fmt: skip
    points = " ".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in shapes[kind])
    return f'<polygon points="{points}" {paint}>{told}</polygon>'


def hatching(at: int) -> tuple[str, str]:
    """The id of a fill and its definition: a light tint with lines of the series' colour, another
    slant or distance for each."""
    turn, gap = ((0, 0), (45, 6), (-45, 6), (90, 5), (0, 5), (45, 3.5), (-45, 3.5), (90, 3))[
        at % len(PALETTE)
    ]
    name, ink = f"fill{at % len(PALETTE)}", colour(at)
    if not gap:
        return name, (
            f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<rect width="8" height="8" fill="{ink}" fill-opacity="0.75"/></pattern>'
        )
    return name, (
        f'<pattern id="{name}" width="{gap}" height="{gap}" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate({turn})"><rect width="{gap}" height="{gap}" fill="{ink}" '
        f'fill-opacity="0.35"/><line x1="0" x2="{gap}" y1="0" y2="0" stroke="{ink}" '
        'stroke-width="2"/></pattern>'
    )
