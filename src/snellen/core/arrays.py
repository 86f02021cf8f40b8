"""numpy, which is imported when it is first used, and the types of arrays.

Most commands compute nothing with arrays, and numpy would be a third of their start.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["Bools", "Floats", "Indices", "Ints", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Indices = NDArray[np.intp]
else:
    Floats = Ints = Bools = Indices = Any

    class _NumpyAtFirstUse(ModuleType):
        def __getattr__(self, name: str) -> Any:
            import numpy

            # From here on it is a module like any other: every name is found without this method.
            self.__dict__.update(numpy.__dict__)
            self.__class__ = ModuleType
            return getattr(numpy, name)

    np = _NumpyAtFirstUse("numpy")
