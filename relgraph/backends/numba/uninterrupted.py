"""Work that an interrupt must not stop half way, such as importing numba.

Signals are the main thread's to handle.  So the work is done in another one, and an interrupt ends
the wait for it, but not the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def uninterrupted(work: Callable[[], T]) -> T:
    """Do some work to its end, even if the caller is interrupted.

    Parameters
    ----------
    work : callable
        What to do; the locks that the caller holds are not its own.

    Returns
    -------
    object
        What it returned.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="relgraph", daemon=False)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


__all__ = ["uninterrupted"]
