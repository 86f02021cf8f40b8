"""`snellen completion`."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from snellen.api.flags import argument


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen completion` takes."""

    shell: str = argument("SHELL", "bash, zsh or fish", choices=("bash", "zsh", "fish"))


def main(options: Options) -> None:
    """Print the script that completes commands, flags and names."""
    from snellen.cli.completion import completion_script

    sys.stdout.write(completion_script(options.shell))
