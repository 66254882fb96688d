"""A kernel with its arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """One kernel.

    Attributes
    ----------
    function : callable
        Of arrays and numbers; it returns results, changes its arguments, or both.
    arguments : callable
        Takes a random generator and returns the arguments.
    """

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self.function.__name__
