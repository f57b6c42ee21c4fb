#!/usr/bin/env python3
"""Compare two folders of bench/record.sh and list the files that differ in more than times."""

import json
import os
import sys

# Fields to ignore. Versions with checkpoints also report the step at which a run was continued.
TIMES = {"train_seconds", "pretrain_seconds", "resumed_at_step"}


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [without_times(one) for one in value]
    return value


def same(first, second):
    a, b = open(first, "rb").read(), open(second, "rb").read()
    if a == b:
        return True
    if not first.endswith(".json"):
        return False
    try:
        parsed = [[without_times(json.loads(line)) for line in text.splitlines()] for text in (a, b)]
    except ValueError:
        return False
    return parsed[0] == parsed[1]


def files(folder):
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            yield name
        elif name == "out":
            yield from (f"out/{one}" for one in sorted(os.listdir(path)) if one.endswith(".csv"))


def main():
    first, second = sys.argv[1:3]
    differ = []
    count = 0
    for name in files(first):
        count += 1
        other = os.path.join(second, name)
        if not os.path.exists(other) or not same(os.path.join(first, name), other):
            differ.append(name)
    print(f"{count - len(differ)} of {count} files are equal except for times")
    for name in differ:
        print(f"differs: {name}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
