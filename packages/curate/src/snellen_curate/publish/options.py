"""Options of `publish`, each with the flag that fills it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from snellen.api.flags import option
from snellen.core.errors import UsageError

REFUSE, DROP = "refuse", "drop"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def parse_share(text: str) -> float:
    """Read a share, `0.3` or `30%`. Raises UsageError unless it is between 0 and 1."""
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        number = -1.0
    share = number / 100 if text.strip().endswith("%") else number
    if not 0 < share < 1:
        raise UsageError(f"{text!r} is no share to hold out; expected e.g. 30% or 0.3")
    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """What is published, under which name and licences, and which answers are kept back."""

    name: str = option(
        "", "--name", "name of the benchmark (default: that of the folder)", metavar="NAME"
    )
    title: str = option("", "--title", "title of the data card (default: the name)", metavar="TEXT")
    description: str = option("", "--description", "paragraph for the data card", metavar="TEXT")
    release: str = option("1.0", "--release", "version of the benchmark (default: 1.0)",
                          metavar="VERSION")  # fmt: skip
    language: Sequence[str] = option(
        (), "--language", "language of the questions, e.g. en or zh; repeat for several",
        metavar="CODE", is_repeatable=True,
    )  # fmt: skip
    paper: str = option("", "--paper", "address of the paper", metavar="URL")
    homepage: str = option("", "--homepage", "address of the benchmark's page", metavar="URL")
    licence: str = option(
        "", "--licence", "SPDX licence of the questions, e.g. CC-BY-4.0", metavar="SPDX",
    )  # fmt: skip
    licences: str = option(
        "", "--licences", "TOML table of the pictures' licences, by the column `source`",
        metavar="FILE.toml",
    )  # fmt: skip
    outside: Sequence[str] = option(
        (), "--outside", "folder outside of the data's own whose pictures may be published; "
        "repeat for several", metavar="DIR", is_repeatable=True,
    )  # fmt: skip
    require_licence: str | None = None
    """If an item has no licence: `REFUSE` to publish, or `DROP` the item; None lists such items."""
    hold_out: float | None = option(
        None, "--hold-out", "share of each ability whose answers are kept back, e.g. 30%%",
        metavar="SHARE", parse=parse_share,
    )  # fmt: skip
    split_like: str = option(
        "", "--split-like", "keep back the answers of the ids that this publication keeps back, "
        "as for a translation of it", metavar="DIR",
    )  # fmt: skip
    seed: int = option(0, "--seed", "seed of the split (default: 0)", metavar="N", parse=int)
    ability: str = option(
        "", "--ability", "column by which the split is balanced (default: category, else "
        "l2-category)", metavar="COLUMN",
    )  # fmt: skip
    seal_key: str = option(
        "", "--seal-key", "file of the key that encrypts the answers kept back; made if it does "
        "not exist (default: the variable SNELLEN_SEAL_KEY, else they are not encrypted)",
        metavar="FILE",
    )  # fmt: skip
    private: str = option(
        "", "--private", "folder for what is not published: the answers kept back and the "
        "decisions (default: OUT-private)", metavar="DIR",
    )  # fmt: skip
    keep: Sequence[str] = option(
        (), "--keep", "publish this column too; repeat for several", metavar="COLUMN",
        is_repeatable=True,
    )  # fmt: skip

    @property
    def keeps_back(self) -> bool:
        """Whether some answers are kept back."""
        return self.hold_out is not None or bool(self.split_like)


def check_publish_options(options: PublishOptions) -> None:
    """Raises UsageError for values that no file or card can hold."""
    if options.name and not _NAME.fullmatch(options.name):
        raise UsageError(
            f"--name {options.name!r}: expected letters, digits, dots, _ and - only, as in "
            "street-signs"
        )
    for code in options.language:
        if not _LANGUAGE.fullmatch(code):
            raise UsageError(f"--language {code!r} is no language code; expected e.g. en or zh")
    if options.hold_out is not None and options.split_like:
        raise UsageError(
            "--split-like takes the split of another publication; leave out --hold-out"
        )
    if options.seal_key and not options.keeps_back:
        raise UsageError("--seal-key encrypts answers that --hold-out keeps back; add --hold-out")
