#!/usr/bin/env python3
"""Writes the pickles of this folder: python3 gen.py (3.8 or later)."""

import collections
import os
import pickle

CONSUMERS = {
    "conv1": ["bn1"],
    "bn1": ["relu1", "add"],
    "relu1": ["add"],
    "add": [],
}

shared = ["same"]
VALUES = {
    "none": None,
    "bools": [True, False],
    "ints": [0, 1, -1, 255, 256, 65535, 65536, -2**31, 2**31, -2**63, 2**63, -2**64 - 1],
    "floats": [0.5, -2.25, float("inf"), 1e300],
    "texts": ["", "a/b", "卷积", "tab\t line\n quote' back\\ \u00e9 \U0001f600"],
    "bytes": [b"", b"\x00\xff'"],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "set": {7},
    "frozenset": frozenset([8]),
    "dict": {1: "one", ("a", 0): 2, None: 3},
    "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
    "default": collections.defaultdict(list, {"k": ["v"]}),
    "shared": [shared, shared],
}


class Evil:
    def __reduce__(self):
        return os.system, ("false",)


class Thing:
    def __init__(self):
        self.x = 1


recursive = []
recursive.append(recursive)


def write(name, value, protocol):
    with open(os.path.join(os.path.dirname(__file__) or ".", name), "wb") as f:
        pickle.dump(value, f, protocol)


for p in range(6):
    write(f"consumers{p}.pickle", CONSUMERS, p)
    write(f"values{p}.pickle", VALUES, p)
    write(f"evil{p}.pickle", Evil(), p)
write("thing.pickle", Thing(), 2)
write("recursive.pickle", recursive, 2)
write("bytearray5.pickle", bytearray(b"ab"), 5)
write("bytearray2.pickle", bytearray(b"ab"), 2)
