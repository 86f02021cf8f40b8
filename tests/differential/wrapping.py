"""How styles are made of bases (what is said) and wrappers (what stands around it)."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def wrapped_styles(
    bases: Mapping[str, Callable[..., str]], wrappers: Mapping[str, Callable[[str], str]], step: int = 1
) -> list[tuple[str, Callable[..., str]]]:
    """Every base alone, then each `step`-th in one of the wrappers, which rotate."""
    names = list(wrappers)
    found = list(bases.items())
    for number, (base, write) in enumerate(list(bases.items())[::step]):
        name = names[number % len(names)]
        found.append((f"{base}, {name}", _wrapped(write, wrappers[name])))
    return found


def _wrapped(write: Callable[..., str], wrap: Callable[[str], str]) -> Callable[..., str]:
    return lambda *texts: wrap(write(*texts))
