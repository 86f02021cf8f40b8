r"""A formula in LaTeX as its characters, and the same formula with each of them in a colour of its own.

    colour_formula(r"\frac{a}{2}").tokens == (r"\frac", "a", "2")

CDM (Wang et al. 2024, https://arxiv.org/abs/2409.03643, Sec. 4.1) writes a formula in one of its spellings
first: matrices and aligned equations as arrays, scripts and arguments in braces, names of functions as
letters, dots as three points, `\text` as upright letters. What has ink of its own then gets a colour: letters
and signs, the line of a fraction, the sign of a root, an accent, a brace.

Like the authors' code (opendatalab/UniMERNet, folder cdm), which parses with KaTeX, this reads no
environments but those that are named below. What it cannot read, such as a formula with a brace too few, is
cut at its blanks, and each word is one character.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.core.errors import SnellenError

MAX_LENGTH, MAX_TOKENS, _MAX_DEPTH = 20_000, 5800, 60
"""Signs of a formula that is read at all, and characters; the authors have as many colours."""


class ColouredFormula(NamedTuple):
    """A formula to be drawn in a display of amsmath with xcolor."""

    latex: str
    tokens: tuple[str, ...]
    """The characters in the order of their colours; that of the first is 1, as a number of three bytes."""


class _Unreadable(SnellenError):
    """The LaTeX of a formula is broken, or has something that is not read."""


class _Mark(NamedTuple):
    """Where a colour begins, and the token it is for. Without an end of its own it ends at a brace that follows."""

    token: str
    end: str = "}"


def _commands(names: str) -> frozenset[str]:
    return frozenset(rf"\{name}" for name in names.split())


_Piece = str | _Mark
_LEXEME = re.compile(r"\\[A-Za-z]+|\\.|\s+|%[^\n]*|.", re.DOTALL)
_BARE = re.compile(r"[{}^_]|[\[\]].|\\(begin|end)\{.*?\}|\\.*(rule|line)")
_ROW_SPACE = re.compile(r"\[\s*-?[\d.]+\s*[a-z]{2}\s*\]")
_IDEOGRAPH = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_BARE_IDEOGRAPHS = re.compile(r"(?<!\\text\{)(?<![\u3400-\u4dbf\u4e00-\u9fff])[\u3400-\u4dbf\u4e00-\u9fff]+")
_LABEL = re.compile(r"\\label\s*\{[^{}]*\}")
_FRACTIONS = {r"\frac": r"\frac", r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\over": r"\frac"} | dict.fromkeys(
    (r"\binom", r"\dbinom", r"\tbinom", r"\choose"), r"\binom"
)
_ACCENTS = _commands(
    "widetilde overline hat widehat tilde Tilde dot bar vec underline underbrace check breve Bar Vec mathring ddot "
    "Ddot dddot ddddot"
)
"""With ink of their own above or below an argument."""
_FONTS = _commands(
    "boldsymbol pmb textbf mathrm mathbf mathbb mathcal textmd texttt textnormal textit textup mathop mathbin smash "
    "operatorname textrm mathfrak emph textsf textsc"
)
"""Without ink of their own."""
_TEXTS, _STACKED, _OPTIONAL = map(
    _commands, ("text mbox hbox vbox", "overset underset stackrel", "sqrt xrightarrow xleftarrow")
)
_SIZED = re.compile(r"\\[Bb]igg?[lrm]?")
_NEGATED = re.compile(r"[<>+=-]|\\[A-Za-z]")
_NAMES = (
    "arcsin arccos arctan arg cos cosh cot coth csc deg dim exp hom ker lg ln log sec sin sinh tan tanh mod bmod pmod"
)
_OPERATORS = {rf"\{name}": name.removeprefix("b").removeprefix("p") for name in _NAMES.split()}
_LIMITS = {rf"\{name}": name for name in ["det", "gcd", "inf", "lim", "liminf", "limsup", "max", "min", "Pr", "sup"]}
_DOTS = _commands("ldots hdots cdots dots dotsc dotsi dotsm dotso dotsb mathellipsis")
_OLDER_LETTERS = _commands("log exp sin cos tan tanh cosh sinh ldots cdots dots dotsb")
"""Operators and dots that OmniDocBench's copy of CDM writes as letters and points; others are one character."""
_BLANKS = frozenset(
    {"\\", "~", r"\ "} | _commands("quad qquad , ! displaystyle textstyle scriptstyle boldmath ensuremath hline")
)
_SILENT = frozenset({"$", r"\>", r"\limits", r"\nolimits", r"\lefteqn"})
_HIDDEN = frozenset({r"\phantom", r"\vphantom", r"\ref"})
_LENGTHS = {r"\hspace": 1, r"\vspace": 1, r"\rule": 2}
_COLOURS = {r"\color": 1, r"\textcolor": 1, r"\colorbox": 1}
"""Commands whose arguments are no formulas, and how many they have."""
_MATRICES = {
    "matrix": ("", ""), "smallmatrix": ("", ""), "pmatrix": ("(", ")"), "bmatrix": ("[", "]"),
    "Bmatrix": (r"\{", r"\}"), "vmatrix": ("|", "|"), "Vmatrix": (r"\Vert", r"\Vert"),
    "cases": (r"\{", "."),
}  # fmt: skip
_ALIGNED = frozenset({"aligned", "split", "align", "alignedat", "alignat", "eqnarray"})
_ROW_ENDS, _CELL_ENDS = frozenset({r"\\", r"\cr"}), frozenset({"&", r"\\", r"\cr", r"\end"})


def has_ideographs(latex: str) -> bool:
    """Whether there are Chinese characters in it, for which TeX needs a font of its own."""
    return _IDEOGRAPH.search(latex) is not None


def colour_formula(latex: str, *, is_older: bool = False) -> ColouredFormula:
    """A formula with its characters in colours. One that is longer than is read has no character. `is_older`: what
    is one character is decided as by OmniDocBench's copy of CDM."""
    if len(latex) > MAX_LENGTH:
        return ColouredFormula("", ())
    try:
        pieces = [*_FormulaParser(latex, is_older).whole()]
    except (_Unreadable, RecursionError):
        pieces = [*_words(_BARE_IDEOGRAPHS.sub(r"\\text{\g<0>}", latex.replace("\n", " ")), is_older)]
    tokens = tuple(piece.token for piece in pieces if isinstance(piece, _Mark))
    if len(tokens) > MAX_TOKENS:
        return ColouredFormula("", ())
    return ColouredFormula(" ".join(_write(pieces)), tokens)


def _write(pieces: Sequence[_Piece]) -> Iterator[str]:
    number = 0
    for piece in pieces:
        if isinstance(piece, _Mark):
            number += 1
            colour = f"{number >> 16},{number >> 8 & 255},{number & 255}"
            yield f"\\mathcolor[RGB]{{{colour}}}{{{piece.token}{piece.end}"
        else:
            yield piece


def _words(latex: str, is_older: bool) -> Iterator[_Piece]:
    """The words between blanks; braces, scripts and environments at their beginning have no colour."""
    for word in latex.split(" "):
        if spelled := _spell_operator(word, is_older):
            yield from spelled
        elif word in _BLANKS or word in ("", "&", r"\\") or _BARE.match(word):
            yield word
        else:
            yield _Mark(word)


def _spell_operator(name: str, is_older: bool) -> list[_Piece]:
    """The letters of an operator's name, or three points; empty for what is one character."""
    if is_older and name not in _OLDER_LETTERS:
        return []
    if name in _DOTS:
        return [*_letters("...")]
    return [r"\mathrm {", *_letters(_OPERATORS[name]), "}"] if name in _OPERATORS else []


def _letters(text: str) -> Iterator[_Piece]:
    return map(_Mark, text)


def _plain(pieces: Sequence[_Piece]) -> Iterator[str]:
    """Pieces without colours."""
    for piece in pieces:
        yield f"{{{piece.token}{piece.end}" if isinstance(piece, _Mark) else piece


class _FormulaParser:
    """Reads a formula once, from left to right."""

    def __init__(self, latex: str, is_older: bool) -> None:
        self._is_older = is_older
        latex = _LABEL.sub(" ", latex)
        self._lexemes = [one for one in _LEXEME.findall(latex) if not (one[0] == "%" or one in _SILENT)]
        self._place = self._depth = 0
        self._has_rows = any(name in latex for name in ("matrix", "cases", "array", "begin"))
        self._upright = r"\text {" if has_ideographs(latex) else r"\mathrm {"

    def whole(self) -> list[_Piece]:
        return self._list(frozenset({""}))

    def _peek(self) -> str:
        """The next lexeme that is no blank; empty at the end."""
        while self._place < len(self._lexemes) and self._lexemes[self._place].isspace():
            self._place += 1
        return self._lexemes[self._place] if self._place < len(self._lexemes) else ""

    def _take(self, expected: str = "") -> str:
        found = self._peek()
        if not found or (expected and found != expected):
            raise _Unreadable(f"expected {expected or 'more'}, got {found or 'the end'}")
        self._place += 1
        return found

    def _list(self, ends: frozenset[str]) -> list[_Piece]:
        """Atoms with their scripts up to one of the ends, which is not taken."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _Unreadable("nested too deeply")
        pieces: list[_Piece] = []
        while (found := self._peek()) not in ends:
            if not found:
                raise _Unreadable(f"no {' or '.join(ends)}")
            if found in (r"\over", r"\choose"):
                command = _FRACTIONS[self._take()]
                pieces = [_Mark(command, ""), "{", *pieces, "} {", *self._list(ends), "} }"]
                break
            pieces += self._with_scripts()
        self._depth -= 1
        return pieces

    def _with_scripts(self) -> list[_Piece]:
        base = [] if self._peek() in ("^", "_", "'") else self._atom()
        scripts: dict[str, list[_Piece]] = {}
        while (found := self._peek()) in ("^", "_", "'"):
            self._take()
            if found == "'":
                scripts["^"] = [*scripts.get("^", []), _Mark(r"\prime")]
            else:
                before = scripts.get("^", []) if found == "^" and self._is_prime(scripts) else []
                scripts[found] = [*before, *self._argument()]
        for sign in "_^":
            if sign in scripts:
                base += [sign, "{", *scripts[sign], "}"]
        return base

    @staticmethod
    def _is_prime(scripts: dict[str, list[_Piece]]) -> bool:
        return _Mark(r"\prime") in scripts.get("^", [])[:1]

    def _argument(self) -> list[_Piece]:
        """A group without its braces, or one atom."""
        if self._peek() != "{":
            return self._atom()
        return self._between("{", "}")

    def _between(self, begin: str, end: str) -> list[_Piece]:
        self._take(begin)
        pieces = self._list(frozenset({end}))
        self._take(end)
        return pieces

    def _raw(self) -> str:
        """The text of a group as it stands."""
        self._take("{")
        start = self._place
        while self._take() != "}":
            pass
        return "".join(self._lexemes[start : self._place - 1])

    def _atom(self) -> list[_Piece]:
        found = self._take()
        if found == "{":
            self._place -= 1
            return ["{", *self._between("{", "}"), "}"]
        if found in ("}", "&", r"\right", r"\end") or (found in _ROW_ENDS and self._has_rows):
            raise _Unreadable(f"{found} without its beginning")
        if found in _ROW_ENDS:
            return [r"\,"]
        if found in _BLANKS:
            return [found]
        if _IDEOGRAPH.match(found):
            return [r"\text {", _Mark(found), "}"]
        return self._command(found) if len(found) > 1 else [_Mark(found)]

    def _command(self, name: str) -> list[_Piece]:
        if name in _FRACTIONS:
            return [_Mark(_FRACTIONS[name], ""), "{", *self._argument(), "} {", *self._argument(), "} }"]
        if name in _ACCENTS:
            drawn = [_Mark(name, ""), "{", *self._argument(), "} }"]
            # A script of a brace stands below or above it, that of an accent beside what it is on.
            return drawn if name == r"\underbrace" else ["{", *drawn, "}"]
        if name in _TEXTS:
            return [self._upright, *self._text(), "}"]
        if name == r"\operatorname" and self._peek() == "*":
            self._take()
            return [_Mark(r"\operatorname*"), "{", *self._argument(), "}"]
        if name in _FONTS:
            return [self._upright if name == r"\mathrm" else f"{name} {{", *self._argument(), "}"]
        if name in _STACKED:
            return [f"{name} {{", *self._argument(), "} {", *self._argument(), "}"]
        if name in _OPTIONAL:
            index = ["[ {", *self._between("[", "]"), "} ]"] if self._peek() == "[" else []
            return [_Mark(name, ""), *index, "{", *self._argument(), "} }"]
        if spelled := _spell_operator(name, self._is_older):
            return spelled
        if name in _LIMITS:
            return [_Mark(r"\operatorname*"), "{", *_letters(_LIMITS[name]), "}"]
        if name == r"\left":
            return self._read_fence()
        if name == r"\begin":
            return self._environment()
        return self._other(name)

    def _other(self, name: str) -> list[_Piece]:
        if name in _HIDDEN:
            return [f"{name} {{", *_plain(self._argument()), "}"]
        if name in _LENGTHS:
            return [name + "".join(f"{{{self._raw()}}}" for _ in range(_LENGTHS[name]))]
        if name in _COLOURS:
            self._raw()
            return []
        if name == r"\rm":
            return [self._upright, *self._list(frozenset({self._end_of_group()})), "}"]
        if _SIZED.fullmatch(name) or (self._is_older and name == r"\not" and _NEGATED.match(self._peek())):
            name += self._take()
        return [_Mark(name)]

    def _end_of_group(self) -> str:
        """The brace that ends the group one is in, or the end of the formula."""
        depth = 0
        for lexeme in self._lexemes[self._place :]:
            depth += (lexeme == "{") - (lexeme == "}")
            if depth < 0:
                return "}"
        return ""

    def _text(self) -> Iterator[_Piece]:
        """Words in upright letters, each blank as one that cannot be broken."""
        self._take("{")
        depth = 1
        while self._place < len(self._lexemes):
            lexeme = self._lexemes[self._place]
            self._place += 1
            depth += (lexeme == "{") - (lexeme == "}")
            if depth == 0:
                return
            if lexeme.isspace():
                yield "~"
            elif lexeme in "{}" or lexeme in _BLANKS:
                yield lexeme
            else:
                yield _Mark(lexeme)
        raise _Unreadable("no }")

    def _read_fence(self) -> list[_Piece]:
        begin = self._take()
        inner = self._list(frozenset({r"\right"}))
        self._take(r"\right")
        return [_Mark(rf"\left{begin}"), *inner, _Mark(rf"\right{self._take()}")]

    def _environment(self) -> list[_Piece]:
        name = self._raw().strip()
        kind = name.removesuffix("*")
        columns = self._raw().replace(" ", "").replace("|", "") if kind == "array" else ""
        if kind not in _MATRICES and kind not in _ALIGNED and (kind != "array" or set(columns) - set("lcr")):
            raise _Unreadable(f"environment {name}")
        rows = [row for row in self._rows(name) if any(row)]
        if kind in _ALIGNED:
            columns = ("rl" * len(max(rows, key=len, default=[])))[: max(map(len, rows), default=0)]
            rows = [[["{ }", *cell] if place % 2 else cell for place, cell in enumerate(row)] for row in rows]
        elif kind != "array":
            columns = "l" * max(len(rows[0]) if rows else 1, 2 * (kind == "cases"))
        pieces: list[_Piece] = [rf"\begin{{array}} {{{columns}}}"]
        for number, row in enumerate(rows):
            pieces += [r"\\"] if number else []
            for place, cell in enumerate(row):
                pieces += ["&"] * bool(place) + (["{", *cell, "}"] if cell else [])
        pieces.append(r"\end{array}")
        begin, end = _MATRICES.get(kind, ("", ""))
        return [_Mark(rf"\left{begin}"), *pieces, _Mark(rf"\right{end}")] if begin else pieces

    def _rows(self, name: str) -> list[list[list[_Piece]]]:
        """The cells of an environment, row by row; its end is taken."""
        rows: list[list[list[_Piece]]] = [[]]
        while True:
            rows[-1].append(self._list(_CELL_ENDS))
            end = self._take()
            if end == r"\end":
                if self._raw().strip() != name:
                    raise _Unreadable(f"another end than that of {name}")
                return rows
            if end in _ROW_ENDS:
                rows.append([])
                if self._peek() == "[" and _ROW_SPACE.match("".join(self._lexemes[self._place : self._place + 16])):
                    while self._take() != "]":
                        pass
