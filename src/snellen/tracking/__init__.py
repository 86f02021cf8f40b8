"""Evaluation during training: checkpoints as they appear, their curve with changes beyond chance, a
callback for the Trainer of transformers, and experiment trackers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snellen.tracking.callback import SnellenCallback
    from snellen.tracking.curve import Curve, CurvePoint, read_curve
    from snellen.tracking.trackers import track
    from snellen.tracking.watch_loop import WatchMessages, WatchOptions, watch

_MODULES = {
    "Curve": "curve",
    "CurvePoint": "curve",
    "SnellenCallback": "callback",
    "WatchMessages": "watch_loop",
    "WatchOptions": "watch_loop",
    "read_curve": "curve",
    "track": "trackers",
    "watch": "watch_loop",
}

__all__ = ["Curve", "CurvePoint", "SnellenCallback", "WatchMessages", "WatchOptions", "read_curve", "track", "watch"]


def __getattr__(name: str) -> object:
    # Imported on first use, so that reading a curve loads neither models nor transformers.
    if name in _MODULES:
        return getattr(import_module(f"snellen.tracking.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'snellen.tracking' has no attribute {name!r}")
