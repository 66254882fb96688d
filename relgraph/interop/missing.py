"""The error that lists ops without a translation."""

from __future__ import annotations

from collections.abc import Mapping

from relgraph.errors import UnsupportedOpError


def unsupported(missing: Mapping[tuple[str, str], int], library: str) -> UnsupportedOpError:
    """Return the error that lists all ops without a translation.

    Parameters
    ----------
    missing : mapping of (str, str) and int
        How often each op occurs, by its name and the reason.
    library : str
        The name of the library that they come from.

    Returns
    -------
    UnsupportedOpError
        Its facts are the names of ops, with reasons and numbers.
    """
    facts = [
        (name, f"{reason}{f' ({count} times)' if count > 1 else ''}")
        for (name, reason), count in sorted(missing.items())
    ]
    what = "an op has" if len(facts) == 1 else f"{len(facts)} ops have"
    return UnsupportedOpError(
        f"{what} no translation from {library}",
        facts,
        "Rewrite these parts of the model, or compute them outside and pass them as inputs.",
    )


__all__ = ["unsupported"]
