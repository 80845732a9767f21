#!/usr/bin/env python3
"""Writes text.json: host elements and what numpy.savetxt makes of them."""
import io
import json
import os

import numpy as np

nan, inf = float("nan"), float("inf")
reals = [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 3.141592653589793, 1 / 3, 1e-3, 65504.0, inf, -inf, nan]
float_cases = {
    "float16": reals + [6e-08, -6.1e-05, 0.00999],
    "float32": reals + [1e-45, 1.1754942e-38, 3.4028235e38, -16777217.0],
    "float64": reals + [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e100, 1e-100,
                        9007199254740993.0, 123456789.12345678],
}
integer_cases = {
    name: [0, 1, 7, 100, np.iinfo(name).max, np.iinfo(name).max - 1, np.iinfo(name).min, np.iinfo(name).min // 3]
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
# Integers that are halfway between two float64 values, and their neighbours.
halfway = [2**53 + 1, 2**53 + 3, 2**62 + 256, 2**62 + 255, 2**62 + 257, 2**62 + 768]
integer_cases["int64"] += halfway + [-x for x in halfway]
integer_cases["uint64"] += halfway + [2**63 + 1024, 2**63 + 1025, 2**63 + 3072, 2**64 - 1024, 2**64 - 1025]
parts = [0.0, -0.0, 1.5, -0.1, inf, -inf, nan]
pairs = [complex(a, b) for a in parts for b in parts]

arrays = [np.array([True, False, True])]
arrays += [np.array(v, dtype=name) for name, v in {**integer_cases, **float_cases}.items()]
# The sign of a NaN must not show.
nans = np.array([0xFFC00000, 0x7FA00001, 0x7FC00000, 0xFFFFFFFF], dtype="<u4")
arrays += [nans.view("<f4"), nans.view("<c8")]
arrays += [np.array(pairs, dtype=name) for name in ("complex64", "complex128")]

cases = []
for array in arrays:
    out = io.StringIO()
    np.savetxt(out, array.flatten())
    cases.append({"host": array.dtype.name, "hex": array.tobytes().hex(), "lines": out.getvalue().splitlines()})

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "text.json")
with open(path, "w") as f:
    json.dump(cases, f, indent=1)
    f.write("\n")
