"""Numbers as people hold them, made into what the compiled part reads."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._anyk import InputError

Floats = NDArray[np.float64]


def numbers(name: str, value: Any) -> Floats:
    """An array of float64 in C order: the same memory where it is one already, a copy otherwise.

    Lists, other dtypes, views, Series and tensors in main memory are taken; what has no meaning as numbers is refused.
    """
    if type(value) is np.ndarray and value.dtype == np.float64 and value.flags.c_contiguous and value.flags.aligned:
        return value
    if isinstance(value, np.ma.MaskedArray) and np.any(np.ma.getmaskarray(value)):
        raise InputError(f"{name} has masked values, expected numbers for all users")
    device = getattr(value, "device", None)
    if device is not None and getattr(device, "type", "cpu") not in ("cpu", "numpy") and str(device) != "cpu":
        raise InputError(f"{name} is on {device}, expected numbers in main memory: use .cpu()")
    if getattr(value, "requires_grad", False):
        value = value.detach()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, OverflowError) as why:
        raise InputError(f"{name} is no array of numbers: {why}") from why
    if array.dtype == object:
        # Rows of different lengths, None, texts.
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as why:
            raise InputError(f"{name} is no array of numbers: {why}") from why
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} has the dtype {array.dtype}, expected real numbers")
    return np.require(array, dtype=np.float64, requirements=["C", "A"]).reshape(array.shape)


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number from ``least`` that fits into 64 bits, of Python or NumPy."""
    try:
        found = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        found = None
    if found is None or not least <= found < 2**64:
        shown = _shown(value if found is None else found)
        raise InputError(f"{name} is {shown}, expected a whole number from {least} to 2**64 - 1")
    return found


def wholes(name: str, values: Any, least: int = 0) -> list[int]:
    """A list of whole numbers; the message names the place of one that is not."""
    if isinstance(values, (str, bytes)) or not np.iterable(values):
        raise InputError(f"{name} is {_shown(values)}, expected a list of whole numbers")
    return [whole(f"{name}[{place}]", value, least) for place, value in enumerate(values)]


def _shown(value: Any) -> str:
    """At most 60 characters of a value, as the messages of the program have it."""
    # Of an enormous number Python refuses to write the digits.
    text = repr(value) if not isinstance(value, int) or value.bit_length() < 200 else "more than 2**199 in size"
    return text if len(text) <= 60 else text[:60] + "…"
