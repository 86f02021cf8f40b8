"""What a name of ours means in another tool, where that is something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """`says` completes the sentence "lmms-eval's SEEDBench ...". `options` are those by which the
    benchmark does the same here; none where it cannot."""

    tool: str
    says: str
    options: Mapping[str, str] = field(default_factory=dict)
    protocol: bool = False
    """Whether the same questions are asked in another way: then the number says so as well."""

    def sentence(self, name: str) -> str:
        told = ",".join(f"{key}={value}" for key, value in self.options.items())
        same = f"; the same here: {name}:{told}" if told else ""
        return f"{self.tool}'s {name} {self.says}{same}"

    def differs(self, options: Mapping[str, str]) -> bool:
        """Whether a variant with these options is not what the other tool means."""
        return not (self.options and self.options.items() <= options.items())
