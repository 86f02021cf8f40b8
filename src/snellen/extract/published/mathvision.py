"""MATH-Vision's extraction of a short answer, faults included.

Restated from the authors' `evaluation/evaluate.py` (arXiv:2402.14804), the column `model_answer` of
their files. A label at the end or the start is the answer; else the number behind the last "is ";
else the text behind the last "the answer is" or similar, up to the end of the line or sentence;
else all. A box comes before these, and the last box before others. The result is put in lower case,
cut at equals signs, and normalised to one way of writing LaTeX.
"""

from __future__ import annotations

from snellen.core import lazy_re as re

_LABELS = "ABCDE"
_BOX = "oxed{"
_BOXED = re.compile(r"oxed\{(.*)\}", re.DOTALL)
_LEAD_INS = tuple(
    f"{article}{words}"
    for words in ("e final answer is", "e answer is", "e correct answer is", "e answer should be")
    for article in ("th", "Th")
)
_DELETED_SIGNS = (" ", r"\,")
_REWRITES = (
    ("∞", r"\infty"),
    (r"+\infty", r"\infty"),
    ("\\\\", "\\"),
    ("\n", ""),
    (r"\text", ""),
    (r"\mbox", ""),
    ("bmatrix", "pmatrix"),
    (r"\left", ""),
    (r"\right", ""),
    (r"^{\circ}", ""),
    (r"^\circ", ""),
    ("{m}^3", ""),
    ("m^3", ""),
    ("{units}", ""),
    ("units", ""),
    ("{km}", ""),
    ("km", ""),
    (r"\!", ""),
    ("\\\\", "\\"),
    ("tfrac", "frac"),
    ("dfrac", "frac"),
    (r"\left", ""),
    (r"\right", ""),
    (r"^{\circ}", ""),
    (r"^\circ", ""),
    (r"\$", ""),
    ("$", ""),
    (r"\%", ""),
    ("{.", "{0."),
)
"""In this order; some occur twice, because an earlier step may create what a later one removes."""
_OPTION_MARKS = tuple(f"{left}{label}{right}" for left, right in ("()", "{}") for label in "abcde")
_ROOT_OF_SIGN = re.compile(r"\\sqrt(?=([^{]))\1")
_INTEGERS = re.compile(r"(0|-?[1-9][0-9]*)/(0|-?[1-9][0-9]*)")


_MIN_EXTRACTED_LENGTH = 40
"""Characters without a blank or a capital that only an extracted answer has, never a reply."""


def parse_short_answer(reply: str) -> str:
    """The reply's short answer in lower case; empty if nothing is left.

    An answer that was extracted before (the authors' column) stays as it is: extracting again would
    change a few.
    """
    if _is_extracted(reply):
        return reply
    text = _canonical_latex(_after_lead_ins(_stated_number(_stated_label(reply.strip()))))
    for mark in _OPTION_MARKS:
        text = text.replace(mark, mark[1])
    return text.rstrip(".").lstrip(":").strip()


def _is_extracted(text: str) -> bool:
    """Whether blanks, capitals and dollar signs seem to have been removed before."""
    bare = text.isascii() and text == text.lower() and not any(map(str.isspace, text))
    if not bare or "$" in text or text.startswith(rf"\b{_BOX}"):
        return False
    return len(text) > _MIN_EXTRACTED_LENGTH or not _has_balanced_braces(text)


def _has_balanced_braces(text: str) -> bool:
    depth = 0
    for sign in text:
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return depth == 0


def _stated_label(text: str) -> str:
    for label in _LABELS:
        ends = (f" {label}.", f" ({label}).")
        starts = (f"{label}\n", f"({label})\n", f"({label}) {label}\n")
        if text.endswith(ends) or text.startswith(starts):
            return label
    return text


def _stated_number(text: str) -> str:
    last = text.split("is ")[-1].rstrip(".")
    try:
        float(last)
    except ValueError:
        return text
    return last


def _after_lead_ins(text: str) -> str:
    boxes = text.split(_BOX)
    if len(boxes) > 1:
        return text if len(boxes) == 2 else f"\\b{_BOX}{boxes[-1]}"
    for flag in _LEAD_INS:
        _, lead_in, behind = text.rpartition(flag)
        text = (behind if lead_in else text).strip()
        if lead_in:
            text = text.split("\n")[0].split(". ")[0]
    return text


def _canonical_latex(text: str) -> str:
    """The content of the outermost box, or all, in one way of writing."""
    text = text.lower().replace("{}", "")
    # To the last brace: behind it, each beginning would be looked at to the end of the text.
    boxed = _BOXED.findall(text, 0, text.rfind("}") + 1)
    text = boxed[-1] if boxed else text
    closed, opened = text.find("}"), text.find("{")
    if closed != -1 and (opened == -1 or closed < opened):
        text = text[:closed]
    text = text.split("=")[-1].split(r"\approx")[-1]
    for sign in _DELETED_SIGNS:
        text = text.replace(sign, "")
    for old, new in _REWRITES:
        text = text.replace(old, new)
    text = f"0{text}" if text.startswith(".") else text
    if "sqrt" in text:
        text = _brace_fractions(_ROOT_OF_SIGN.sub(r"\\sqrt{\1}", text))
    if text == "0.5":
        return r"\frac{1}{2}"
    fraction = _INTEGERS.fullmatch(text)
    return rf"\frac{{{fraction[1]}}}{{{fraction[2]}}}" if fraction else text


def _brace_fractions(text: str) -> str:
    r"""Write \frac12 as \frac{1}{2}; unchanged if a fraction is cut off."""
    first, *parts = text.split(r"\frac")
    pieces = [first]
    for part in parts:
        if part.startswith("{"):
            pieces.append(part)
        elif len(part) < 2:
            return text
        elif part[1] == "{":
            pieces.append(f"{{{part[0]}}}{part[1:]}")
        else:
            pieces.append(f"{{{part[0]}}}{{{part[1]}}}{part[2:]}")
    return r"\frac".join(pieces)
