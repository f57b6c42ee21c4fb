"""Hints for misspelled names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


_OTHER_NAMES = {"k": "sizes", "n": "count", "count": "samples", "samples": "count"}
"""Names that other functions use, with the name in a function that has no such argument."""


def hint(name: str, known: Iterable[str]) -> str:
    """Return the question whether the most similar known name was meant, or an empty string if none is similar."""
    plain = {one.lower().replace("-", "_"): one for one in known}
    other = _OTHER_NAMES.get(name.lower())
    if other in plain and name.lower() not in plain:
        return f". Did you mean {other}?"
    # Nothing resembles a name of thousands of letters, and the comparison would take seconds.
    found = difflib.get_close_matches(name[:100].lower().replace("-", "_").replace(" ", "_"), plain, 1, 0.7)
    return f". Did you mean {plain[found[0]]}?" if found and plain[found[0]] != name else ""
