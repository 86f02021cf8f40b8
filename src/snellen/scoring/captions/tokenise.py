"""Split captions into words as the COCO evaluation tools do.

Chen et al. 2015 (https://arxiv.org/abs/1504.00325, Sec. 3.1): Stanford's Penn Treebank tokenizer in
lower case, then punctuation is dropped. That tokenizer is a Java program; here its rules are
restated as far as captions need them: contractions are split ("isn't" -> is n't, "dog's" -> dog 's,
"cannot" -> can not), hyphenated words and numbers stay whole, dots of abbreviations stay ("mr.",
"u.s."), $ and % are separate words. Brackets become words such as -lrb-: the tools intend to drop
them, but look for them in upper case.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

_DROPPED = frozenset(("'", "`", ".", "?", "!", ",", ":", "-", ";", '"', "''", "``", "--", "“", "”", "’"))
_DOTS = re.compile(r"\.{2,}")
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
_AS_WORDS = {**_BRACKETS, "€": "$"}
_ABBREVIATIONS = (
    "mr|mrs|ms|dr|st|jr|sr|prof|gen|rep|sen|gov|capt|lt|col|sgt|rev|hon|mt|ave|blvd|rd|inc|co|corp"
    "|ltd|bros|vs|etc|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec|e\\.g|i\\.e|a\\.m|p\\.m"
)
_TOKEN = re.compile(
    rf"""
    https?://\S+ | www\.\S+                                     # addresses
    | </?[a-z][^<>]*> | \#[^\W\d_]\w* | \*+ | [!?]{{2,}}          # tags, hashtags, runs of signs
    | [^\W\d_]+\.(?=[;,])                                      # as if it were an abbreviation
    | (?:[a-z]\.){{2,}} | \b(?:{_ABBREVIATIONS})\.              # abbreviations
    | \b(?-i:[A-HJ-Z])\.(?=\s+\w|["”])                             # initials
    | \.{{2,}}(?!\d) | -{{2,}}                                  # ellipses and dashes
    | n['’]t(?![^\W_]) | ['’](?:s|re|ve|d|ll|m)(?![^\W_])       # ends of contractions
    | (?<=[^\W\d_])[.,:]\d+ | (?<=[.)])[.,]\d+  # a fraction after a word or a sign
    | \d+(?:[.,:/]\d+)*(?:st|nd|rd|th|s)?(?![-\w])              # numbers
    | o['’]clock | ['’]\d\ds?\b | [dlo]['’](?=[^\W\d_]{{3}})[^\W\d_]+
    | [^\W_]+?(?=n['’]t(?![^\W_]))                             # the first part of a contraction
    | [^\W_]+(?:(?:[-/&_]|(?<=\d)\.|\.(?!\d))[^\W_]+)*        # words
    | ``|'' | (?![\U0001F000-\U0001FFFF])\S
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SPLIT_WORDS = {
    "cannot": "can not",
    "gonna": "gon na",
    "gotta": "got ta",
    "wanna": "wan na",
    "lemme": "lem me",
    "gimme": "gim me",
    "dunno": "du n no",
    "'tis": "'t is",
    "'twas": "'t was",
}


@lru_cache(maxsize=65536)
def caption_words(caption: str) -> tuple[str, ...]:
    """The words of a caption, lower-cased, without punctuation."""
    words = []
    for token in _TOKEN.findall(html.unescape(caption)):
        low = token.lower()
        for word in _SPLIT_WORDS.get(low, low).split():
            if word not in _DROPPED and not _DOTS.fullmatch(word):
                words.append(_AS_WORDS.get(word, word))
    return tuple(words)
