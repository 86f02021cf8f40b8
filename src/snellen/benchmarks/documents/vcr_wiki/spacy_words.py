"""How spaCy 3.8 splits English text into words (https://spacy.io/usage/linguistic-features, "How
spaCy's tokenizer works"), restated, so that scores over its words need neither it nor a model.

Its models (`en_core_web_sm` and so on) share one tokenizer, of rules alone. Text is cut at white
space, of which one blank behind a word belongs to it and all else is a word of its own. From each
piece signs are taken off, one in front and one behind at a time, until it is a known word ("U.S.",
"don't") or none is left; what remains is a web address, or is cut at signs between letters.
`tests/benchmarks/test_spacy_words.py` has what spaCy itself makes of many texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, product

_PUNCTUATION = "…,:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪"
_QUOTES = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉〈〉⟦⟧"
_CURRENCIES = "$£€¥฿₽﷼₴₠₡₢₣₤₥₦₧₨₩₪₫₭₮₯₰₱₲₳₵₶₷₸₹₺₻₼₾₿"
_UNITS = (
    "km km² km³ m m² m³ dm dm² dm³ cm cm² cm³ mm mm² mm³ ha µm nm yd in ft kg g mg µg t lb oz m/s "
    "km/h kmh mph hPa Pa mbar mb MB kb KB gb GB tb TB T G M K %"
)
_BEFORE_DOT = frozenset(f"{_PUNCTUATION}{_QUOTES}%²-+|0123456789")


def _one_of(signs: str) -> str:
    return f"[{re.escape(signs)}]"


_PREFIX = re.compile(
    rf"[§%=—–]|\+(?![0-9])|…|\.\.+|{_one_of(_PUNCTUATION + _QUOTES)}|(?:US|[CA])?\$"
    rf"|{_one_of(_CURRENCIES)}"
)
_SUFFIX = re.compile(
    rf"(?:……?|{_one_of(_PUNCTUATION + _QUOTES)}|['’][sS]|[—–]|(?<=[0-9])\+"
    rf"|(?<=[0-9])(?:(?:US|[CA])?\$|{_one_of(_CURRENCIES)})"
    rf"|(?<=[0-9])(?:{'|'.join(map(re.escape, sorted(_UNITS.split(), key=len, reverse=True)))}))\Z"
)
_LONGEST_SUFFIX = 4
_LONG_PIECE = 1000
_LETTER = r"[^\W\d_]"
_INFIX = re.compile(
    rf"\.\.+|…|(?<=[0-9])[+\-*^](?=[0-9-])|(?<={_LETTER}),(?={_LETTER})"
    rf"|(?:(?<={_LETTER})|(?<=[0-9]))(?:-{{1,3}}|–|——?|~|[:<>=/])(?={_LETTER})|\."
)
_SCHEME = re.compile(r"[\w+\-.]{2,}://")
_LABEL = re.compile(r"[A-Za-z0-9¡-￿](?:[A-Za-z0-9¡-￿_-]{0,62}[A-Za-z0-9¡-￿])?")
_ADDRESS_END = re.compile(r"(?::\d{2,5})?(?:[/?#]\S*)?\Z")
_IP_ADDRESS = re.compile(
    r"(?!(?:10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.)"
    r"(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.\d{1,3}){3}"
)
_VERBS = "ca could do does did had may might must need ought sha should wo would ai are is was were have has dare"
"""What n't may stand behind."""
_PAIRS: tuple[tuple[Sequence[str], Sequence[str]], ...] = (
    (("I",), ("'m", "m")),
    (("I", "you", "he", "she", "it", "we", "they"), ("'ll", "ll", "'d", "d")),
    (("I", "you", "we", "they"), ("'ve", "ve")),
    (("you", "we", "they"), ("'re", "re")),
    (("he", "she", "it"), ("'s", "s")),
    (
        ("who", "what", "when", "where", "why", "how", "there"),
        ("'s", "s", "'ll", "ll", "'re", "re", "'ve", "ve", "'d", "d"),
    ),
    (("that", "this"), ("'s", "s", "'ll", "ll", "'d", "d")),
    (("these", "those"), ("'ll", "ll", "'re", "re", "'ve", "ve", "'d", "d")),
    (_VERBS.split(), ("n't", "nt")),
    (("could", "might", "must", "should", "would"), ("'ve", "ve")),
)
"""Words, and what may stand behind one of them."""
_THIRD = {"'ll": "'ve", "ll": "ve", "'d": "'ve", "d": "ve", "n't": "'ve", "nt": "ve"}
"""What may stand behind that."""
_NOT_THIRD = ("ai", "are", "is", "was", "were", "have", "has", "dare")
_NOT_SPLIT = "Ill ill Its its Hell hell Shell shell Shed shed were Were Well well Whore whore"
_SPLIT = (
    "y' all|y all|how 'd 'y|How 'd 'y|not 've|not ve|Not 've|Not ve|can not|Can not|gon na|Gon na"
    "|got ta|Got ta|let 's|Let 's|c'm on|C'm on|i 'm a|i m a|I 'm a|I m a|° c .|° f .|° k .|° C ."
    "|° F .|° K ."
)
_WHOLE = (
    "' \\\") '' C++ <space> 'S 's ‘S ‘s and/or w/o 're 'Cause 'cause 'cos 'Cos 'coz 'Coz 'cuz 'Cuz "
    "'bout ma'am Ma'am o'clock O'clock lovin' Lovin' havin' Havin' doin' Doin' goin' Goin' nothin' "
    "Nothin' nuthin' Nuthin' ol' Ol' somethin' Somethin' 'em 'll 'nuff 'd Mt. Ak. Ala. Apr. Ariz. "
    "Ark. Aug. Calif. Colo. Conn. Dec. Del. Feb. Fla. Ga. Ia. Id. Ill. Ind. Jan. Jul. Jun. Kan. "
    "Kans. Ky. La. Mar. Mass. Mich. Minn. Miss. N.C. N.D. N.H. N.J. N.M. N.Y. Neb. Nebr. Nev. Nov. "
    "Oct. Okla. Ore. Pa. S.C. Sep. Sept. Tenn. Va. Wash. Wis. a.m. Adm. Bros. co. Co. Corp. D.C. "
    "Dr. e.g. E.g. E.G. Gen. Gov. i.e. I.e. I.E. Inc. Jr. Ltd. Md. Messrs. Mo. Mont. Mr. Mrs. Ms. "
    "p.m. Ph.D. Prof. Rep. Rev. Sen. St. vs. v.s. ä. ö. ü. — \\t \\n"
)
_FACES = (
    ":) :-) :)) :-)) :))) :-))) (: (-: =) (= :] :-] [: [-: [= =] :o) (o: :} :-} 8) 8-) (-8 ;) ;-) "
    "(; (-; :( :-( :(( :-(( :((( :-((( ): )-: =( >:( :') :'-) :'( :'-( :/ :-/ =/ =| :| :-| ]= =[ "
    ":1 :P :-P :p :-p :O :-O :o :-o :0 :-0 :() >:o :* :-* :3 :-3 =3 :> :-> :X :-X :x :-x :D :-D ;D "
    ";-D =D xD XD xDD XDD 8D 8-D ^_^ ^__^ ^___^ >.< >.> <.< ._. ;_; -_- -__- v.v V.V v_v V_V o_o "
    "o_O O_o O_O 0_o o_0 0_0 o.O O.o O.O o.o 0.0 o.0 0.o @_@ <3 <33 <333 </3 (^_^) (-_-) (._.) "
    "(>_<) (*_*) (¬_¬)"
)


def _known_words() -> Mapping[str, tuple[str, ...]]:
    """Pieces that are not cut by the signs in them, with their words."""
    known: dict[str, tuple[str, ...]] = {word: (word,) for word in (*_WHOLE.split(), *_FACES.split())}
    known |= {f"{letter}.": (f"{letter}.",) for letter in "abcdefghijklmnopqrstuvwxyz"}
    known |= {part.replace(" ", ""): tuple(part.split()) for part in _SPLIT.split("|")}
    for firsts, seconds in _PAIRS:
        for first, second in product(firsts, seconds):
            for word in {first.lower(), first.title()}:
                known[word + second] = (word, second)
                third = _THIRD.get(second)
                if third and first not in _NOT_THIRD:
                    known[word + second + third] = (word, second, third)
    for hour, period in product(range(1, 13), ("a.m.", "am", "p.m.", "pm")):
        known[f"{hour}{period}"] = (str(hour), period)
    curly = {piece.replace("'", "’"): tuple(word.replace("'", "’") for word in words) for piece, words in known.items()}
    return {one: words for one, words in (known | curly).items() if one not in _NOT_SPLIT.split()}


_KNOWN = _known_words()


def split_like_spacy(text: str) -> list[str]:
    """The words of an English text, signs and further white space among them."""
    words: list[str] = []
    for is_space, signs in groupby(text, str.isspace):
        piece = "".join(signs)
        if not is_space:
            words += _join_known(_split_piece(piece, _KNOWN))
        elif rest := piece.removeprefix(" ") if words else piece:
            words.append(rest)
    return words


def _split_piece(piece: str, known: Mapping[str, tuple[str, ...]]) -> list[str]:
    before: list[str] = []
    behind: list[str] = []
    start, end = 0, len(piece)
    # Of a long piece nothing is copied, nor looked up, until it is short.
    while end - start > _LONG_PIECE:
        first = _prefix_length(piece, start)
        last = _suffix_length(piece, start + first, end)
        if first:
            before.append(piece[start : start + first])
        if last:
            behind.append(piece[end - last : end])
        if not first and not last:
            break
        start, end = start + first, end - last
    piece = piece[start:end]
    while piece and piece not in known:
        first, last = _prefix_length(piece, 0), 0
        if first and piece[first:] in known:
            before.append(piece[:first])
            piece = piece[first:]
            break
        last = _suffix_length(piece[first:], 0, len(piece) - first)
        if last and piece[:-last] in known:
            behind.append(piece[-last:])
            piece = piece[:-last]
            break
        if not first and not last:
            break
        if first:
            before.append(piece[:first])
        if last:
            behind.append(piece[-last:])
        piece = piece[first : len(piece) - last]
    return [*before, *_words_within(piece, known), *reversed(behind)]


def _join_known(words: Sequence[str]) -> list[str]:
    """The words, neighbours that are the parts of a known word joined again: "d" and its dot."""
    joined: list[str] = []
    start = 0
    while start < len(words):
        lengths = range(min(_LONGEST, len(words) - start), 1, -1)
        parts = (tuple(words[start : start + length]) for length in lengths)
        found = next((part for part in parts if part in _CUT), (words[start],))
        joined += _CUT.get(found, found)
        start += len(found)
    return joined


def _prefix_length(piece: str, start: int) -> int:
    match = _PREFIX.match(piece, start)
    return match.end() - start if match else int(_is_symbol(piece[start : start + 1]))


def _suffix_length(piece: str, start: int, end: int) -> int:
    if piece.endswith("..", start, end):
        return end - start - len(piece[start:end].rstrip("."))
    # Not from the beginning, so that a long run of signs takes linear time.
    if match := _SUFFIX.search(piece, max(start, end - _LONGEST_SUFFIX), end):
        return match.end() - match.start()
    if end - start > 1 and piece[end - 1] == ".":
        sign, two = piece[end - 2], piece[max(start, end - 3) : end - 1]
        ends = sign in _BEFORE_DOT or _is_small(sign) or (len(two) == 2 and all(map(_is_big, two)))
        return int(ends or (piece[max(start, end - 3) : end - 2] == "°" and sign in "FfCcKk"))
    return int(_is_symbol(piece[max(start, end - 1) : end]))


def _words_within(piece: str, known: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    if piece in known:
        yield from known[piece]
        return
    start = 0
    for place, end in () if _is_address(piece) else _cuts(piece):
        if place > start:
            yield piece[start:place]
            yield piece[place:end]
            start = end
    if start < len(piece):
        yield piece[start:]


def _cuts(piece: str) -> list[tuple[int, int]]:
    """Where signs part words: a dot only between a small and a big letter, or quotes."""
    found = [(at, at + 1) for at, sign in enumerate(piece) if sign > "\x7f" and _is_symbol(sign)]
    for match in _INFIX.finditer(piece):
        before, behind = (piece[max(0, match.start() - 1) : match.start()], piece[match.end() : match.end() + 1])
        if match[0] != "." or (
            (_is_small(before) or (before and before in _QUOTES))
            and (_is_big(behind) or (behind and behind in _QUOTES))
        ):
            found.append(match.span())
    return sorted(found)


def _is_address(piece: str) -> bool:
    """Whether a piece is a web or mail address, with or without a scheme."""
    scheme = _SCHEME.match(piece)
    rest = piece[scheme.end() :] if scheme else piece
    user, at, behind = rest.rpartition("@")
    host = behind if at and user else rest
    name = re.match(r"[^/?#:]*", host)
    if name is None or not _ADDRESS_END.fullmatch(host[name.end() :]):
        return False
    *labels, top = name[0].split(".")
    if _IP_ADDRESS.fullmatch(name[0]):
        return True
    return (
        bool(labels)
        and 2 <= len(top) <= 63
        and all(map(_is_small, top))
        and all(_LABEL.fullmatch(label) for label in labels)
    )


def _is_small(sign: str) -> bool:
    """A small letter, or one of a script without big ones."""
    return sign.isalpha() and not sign.isupper()


def _is_big(sign: str) -> bool:
    return sign.isalpha() and not sign.islower()


def _is_symbol(sign: str) -> bool:
    return sign != "" and unicodedata.category(sign) == "So"


_CUT = {cut: words for piece, words in _KNOWN.items() if len(cut := tuple(_split_piece(piece, {}))) > 1}
"""Known words as they would be cut if they were not."""
_LONGEST = max(map(len, _CUT))
