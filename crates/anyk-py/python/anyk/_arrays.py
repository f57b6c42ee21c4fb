"""Numbers as people hold them, made into what the compiled part reads."""

from __future__ import annotations

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
