#!/usr/bin/env python3
"""Computes the operator of op.json again from its inputs, and counts what the NPU has otherwise."""
import json, os
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
load = lambda name: np.load(os.path.join(here, os.path.basename(name)), allow_pickle=False)
with open(os.path.join(here, "op.json"), encoding="utf-8") as f:
    op = json.load(f)
wide = lambda v: v.astype(np.float64)
x = [None if t is None else wide(load(t["file"])) for t in op["inputs"]]
a = {name: v["value"] for name, v in op["operator"]["attributes"].items()}
axes = tuple(int(k) for k in np.atleast_1d(a["axes"])) if "axes" in a else None
at = lambda k, otherwise: x[k] if len(x) > k and x[k] is not None else otherwise
bias = lambda: 0 if a.get("added") == "no" else at(2, 0)  # a module may hand it on in place of adding it
turn = lambda m, yes: np.swapaxes(m, -1, -2) if yes else m
keep = lambda f: f(x[0], axis=axes, keepdims=True)
sigmoid = lambda v: 1 / (1 + np.exp(-v))
softmax = lambda v: np.exp(v - v.max(axis=axes, keepdims=True)) / np.exp(v - v.max(axis=axes, keepdims=True)).sum(axis=axes, keepdims=True)
rms = lambda v, k: v / np.sqrt((v * v).mean(axis=axes, keepdims=True) + a["epsilon"]) * at(k, 1)
norm = lambda: (x[0] - keep(np.mean)) / np.sqrt(keep(np.var) + a["epsilon"]) * at(1, 1) + at(2, 0)
act = {"none": lambda v: v, "relu": lambda v: np.maximum(v, 0), "relu6": lambda v: np.clip(v, 0, 6), "sigmoid": sigmoid, "tanh": np.tanh, "silu": lambda v: v * sigmoid(v)}
formulas = {
    "Relu": lambda: np.maximum(x[0], 0), "Relu6": lambda: np.clip(x[0], 0, 6), "Abs": lambda: np.abs(x[0]), "Neg": lambda: -x[0], "Square": lambda: x[0] * x[0], "Sqrt": lambda: np.sqrt(x[0]),
    "Rsqrt": lambda: 1 / np.sqrt(x[0]), "Reciprocal": lambda: 1 / x[0], "Expm1": lambda: np.expm1(x[0]), "Log1p": lambda: np.log1p(x[0]), "Sin": lambda: np.sin(x[0]), "Cos": lambda: np.cos(x[0]),
    "Tanh": lambda: np.tanh(x[0]), "Sigmoid": lambda: sigmoid(x[0]), "Swish": lambda: x[0] * sigmoid(a["scale"] * x[0]), "Add": lambda: x[0] + x[1], "Sub": lambda: x[0] - x[1], "Mul": lambda: x[0] * x[1],
    "RealDiv": lambda: x[0] / x[1], "Maximum": lambda: np.maximum(x[0], x[1]), "Minimum": lambda: np.minimum(x[0], x[1]), "Muls": lambda: x[0] * a["value"], "Adds": lambda: x[0] + a["value"],
    "Softmax": lambda: softmax(x[0]), "LogSoftmax": lambda: np.log(softmax(x[0])), "LayerNorm": norm, "LayerNormV3": norm, "RmsNorm": lambda: rms(x[0], 1), "AddRmsNorm": lambda: rms(x[0] + x[1], 2),
    "ReduceSum": lambda: keep(np.sum), "ReduceMean": lambda: keep(np.mean), "ReduceMax": lambda: keep(np.max), "ReduceMin": lambda: keep(np.min), "Transpose": lambda: np.transpose(x[0], [int(k) for k in a["perm"]]),
    "MatMul": lambda: act[a.get("activation", "none")](turn(x[0], a["transpose_x1"]) @ turn(x[1], a["transpose_x2"]) + bias()),
}
for kind in ("inputs", "outputs"):
    for k, t in enumerate(op[kind]):
        if t and t.get("cut"):
            print(f"{kind[:-1]} {k} is a part: shape {tuple(t['shape'])} from {tuple(t['cut']['from'])} on, of {tuple(t['cut']['of'])}")
with np.errstate(all="ignore"):
    for k, t in enumerate(op["outputs"]):
        if not t.get("expected"):
            continue
        npu, expected, bound = wide(load(t["file"])), load(t["expected"]), load(t["bound"]).astype(np.float64)
        by = "numpy" if k == 0 and op["formula"] in formulas else "dumptool"
        computed = formulas[op["formula"]]().reshape(expected.shape) if by == "numpy" else expected
        d = np.abs(npu - computed)
        bad = ~((d <= bound + 1e-9 * np.nan_to_num(np.abs(computed), posinf=0)) | (npu == computed) | (np.isnan(npu) & np.isnan(computed)))
        print(f"output {k}: {np.count_nonzero(bad)} of {bad.size} elements differ from what {by} computes")
        if bad.any():
            first = np.unravel_index(np.flatnonzero(bad)[0], bad.shape)
            worst = np.unravel_index(np.argmax(np.where(bad, np.where(np.isnan(d), np.inf, d), -1)), bad.shape)
            for name, i in (("first", first), ("worst", worst)):
                print(f"  {name} at {tuple(int(n) for n in i)}: computed {computed[i]:.9g}, NPU {npu[i]:.9g}, may be off {bound[i]:.3g}")
