"""Work that an interrupt must not stop halfway, such as importing numba.

Only the main thread handles signals.  The work runs in another thread, so an interrupt ends the
wait but not the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def uninterrupted(work: Callable[[], T]) -> T:
    """Finish some work even if the caller is interrupted, and return its result.

    The work runs in another thread, which does not hold the caller's locks.
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
