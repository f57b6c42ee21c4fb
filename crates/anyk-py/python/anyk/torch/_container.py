"""Reader of model files; ``docs/model-format.md`` describes the format."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

VERSION = 2
# A header has a few kilobytes.
_LARGEST_HEADER = 1 << 24


def read(raw: bytes, name: str) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Return the content (problem, method, record) and the tensors of a model file.

    Raises ``ValueError`` if the bytes are not a valid model; ``name`` is the file in the message.
    """

    def fail(found: str, expected: str) -> ValueError:
        return ValueError(f"{name}: {found}, expected {expected}")

    size = struct.unpack("<Q", raw[:8])[0] if len(raw) >= 8 else 0
    if not 2 <= size <= min(_LARGEST_HEADER, len(raw) - 8):
        raise fail("it does not begin with a header", "an AnyK model file")
    try:
        header = json.loads(raw[8 : 8 + size])
        text = header.pop("__metadata__")["anyk"]
        about = json.loads(text)
        kind, version, checksum, content = (about[key] for key in ("kind", "version", "checksum", "content"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise fail(f"its header cannot be read ({error})", "an AnyK model file") from None
    if (kind, version) != ("model", VERSION):
        raise fail(f"it is a {kind} of version {version}", f"a model of version {VERSION}")
    data, tensors = raw[8 + size :], {}
    for key, entry in header.items():
        begin, end = entry["data_offsets"]
        shape = tuple(entry["shape"])
        if entry["dtype"] != "F64" or not 0 <= begin <= end <= len(data) or end - begin != 8 * int(np.prod(shape)):
            raise fail(f"the data of tensor {key} does not match its entry in the header", "F64 values of its shape")
        tensors[key] = np.frombuffer(data[begin:end], "<f8").reshape(shape)
    if _checksum(text, tensors) != checksum:
        raise fail("its checksum does not match its content", "the file as it was written")
    return content, tensors


def _checksum(text: str, tensors: dict[str, NDArray[np.float64]]) -> str:
    # The checksum covers the content as text: from its key to the brace that closes the header.
    mark = '"content":'
    check = zlib.crc32(text[text.index(mark) + len(mark) : -1].encode())
    for name in sorted(tensors):
        check = zlib.crc32(name.encode(), check)
        for axis in tensors[name].shape:
            check = zlib.crc32(struct.pack("<Q", axis), check)
        check = zlib.crc32(tensors[name].tobytes(), check)
    return f"{check:08x}"
