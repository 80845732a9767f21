#!/usr/bin/env python3
"""Writes numpy_text.json: numpy scalars and what str makes of them."""
import json
import os

import numpy as np

nan, inf = float("nan"), float("inf")
common = [0.0, 1.0, -1.0, 0.5, 0.1, -2.5, 1 / 3, 100.0, 1000.0, 0.01, 1e-3, 1e-4, 9.9e-5, 1e-5, -1e-4, 12992.0, 65504.0, -65504.0,
          inf, -inf, nan]
thresholds = [123456789012.0, 16777216.0, 16777217.0, -1e15, 9.999999e15, 1e16, 1.5e16, -1e16, 1e17, 1e22, 1e23, 1.25e-10, 98304.0]
cases = {
    "float16": common + [6e-08, 1.2e-07, 6.1e-05, 6.104e-05, 1.0001e-4, 9.996e-05, 2049.0, 4098.0, 65472.0, 65440.0, 0.9976, 40.22, 0.015625, -0.015625],
    "float32": common + thresholds + [1e-45, 1.1754944e-38, 3.4028235e38, -3.4028235e38, 3.3895314e38, 65504.01, 7.0e9, 0.3],
    "float64": common + thresholds + [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1 + 0.2, 40.22116470336914,
                                      9007199254740993.0, 1e15 + 0.3, 123456.7890123],
    "bool": [0, 1],
}
for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    info = np.iinfo(name)
    cases[name] = [0, 1, 7, 100, info.min, info.max]

rows = []
for name, values in cases.items():
    for scalar in np.array(values, dtype=name):
        rows.append({"host": name, "hex": scalar.tobytes().hex(), "text": str(scalar)})
rng = np.random.default_rng(1)
for name, bits in (("float16", "uint16"), ("float32", "uint32"), ("float64", "uint64")):
    for scalar in rng.integers(0, np.iinfo(bits).max, 300, dtype=bits).view(name):
        rows.append({"host": name, "hex": scalar.tobytes().hex(), "text": str(scalar)})

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "numpy_text.json")
with open(path, "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
