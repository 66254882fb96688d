"""Work that several threads do at once."""

import threading
from concurrent.futures import ThreadPoolExecutor


def at_once(work, *arguments):
    """Call a function in threads that begin together, as map does; an error of one is raised."""
    calls = list(zip(*arguments, strict=True))
    start = threading.Barrier(len(calls))

    def begin(call):
        start.wait()
        return work(*call)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(begin, calls))
