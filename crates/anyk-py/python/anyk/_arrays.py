"""Conversion of arguments to the arrays and integers of the compiled module."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._anyk import InputError

Floats = NDArray[np.float64]


def numbers(name: str, value: Any) -> Floats:
    """Convert a value to an array of float64 in C order, without a copy if it is one.

    Accepts lists, other dtypes, views, Series and tensors in main memory. Raises :class:`InputError` for other values.
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
        raise InputError(f"{name} is not an array of numbers: {why}") from why
    if array.dtype == object:
        # Rows of different lengths, None or strings.
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as why:
            raise InputError(f"{name} is not an array of numbers: {why}") from why
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} has the dtype {array.dtype}, expected real numbers")
    return np.require(array, dtype=np.float64, requirements=["C", "A"]).reshape(array.shape)


def whole(name: str, value: Any, least: int = 0) -> int:
    """Convert a Python or NumPy integer from ``least`` to 2**64 - 1; raise :class:`InputError` for other values."""
    try:
        found = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        found = None
    if found is None or not least <= found < 2**64:
        shown = _shown(value if found is None else found)
        raise InputError(f"{name} is {shown}, expected a whole number from {least} to 2**64 - 1")
    return found


def wholes(name: str, values: Any, least: int = 0) -> list[int]:
    """Convert a list of integers; an error names the index of the wrong value."""
    if isinstance(values, (str, bytes)) or not np.iterable(values):
        raise InputError(f"{name} is {_shown(values)}, expected a list of whole numbers")
    return [whole(f"{name}[{place}]", value, least) for place, value in enumerate(values)]


def indices(index: Any, length: int) -> list[int]:
    """Return the positions that a mask or an array of indices selects among ``length`` cells."""
    array = np.asarray(index)
    if array.ndim == 1 and array.dtype == np.bool_:
        if array.size != length:
            raise IndexError(f"the mask has {array.size} entries, but the number of cells is {length}")
        return [int(place) for place in np.flatnonzero(array)]
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"the cell index is {_shown(index)}, expected an integer, a slice, or an array of integers or bools")
    return [int(place) for place in array]


def _shown(value: Any) -> str:
    """Return at most 60 characters of a value, as in the messages of the program."""
    # Python refuses to print integers with thousands of digits.
    text = repr(value) if not isinstance(value, int) or value.bit_length() < 200 else "more than 2**199 in size"
    return text if len(text) <= 60 else text[:60] + "…"
