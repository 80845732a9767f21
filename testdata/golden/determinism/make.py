#!/usr/bin/env python3
"""Makes three runs of one small network on the same inputs, as msprobe dumps them.

Needs PyTorch:

    /usr/bin/python3 make.py

    run1    sums from the first to the last element
    run2    sums in eight parts, the last part first: one result of float16 is
            rounded to the other side, the sums of float32 differ
    faulty  as run2, and 16 elements of gelu hold the numbers of an earlier tensor
"""
import json
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(5503)
torch.set_num_threads(1)
WIDTH, TOKENS = 96, 48
x = torch.randn(TOKENS, WIDTH).half()
w1, w2 = ((torch.randn(n, k) / k ** 0.5).half() for n, k in ((32, WIDTH), (16, 32)))


def parts(n, reverse):
    size = n // 8
    all_ = [slice(i, i + size) for i in range(0, n, size)] if reverse else [slice(i, i + 1) for i in range(n)]
    return all_[::-1] if reverse else all_


def linear(a, w, reverse):
    total = torch.zeros(a.shape[0], w.shape[0])
    for p in parts(w.shape[1], reverse):
        total = total + a[:, p].float() @ w[:, p].float().t()
    return total.half()


def mean(a, reverse):
    total = torch.zeros(a.shape[1])
    for p in parts(a.shape[0], reverse):
        total = total + a[p].sum(0)
    return total / a.shape[0]


for name, reverse, faulty in (("run1", False, False), ("run2", True, False), ("faulty", True, True)):
    folder = f"{HERE}/{name}/step0/rank0"
    os.makedirs(folder + "/dump_tensor_data", exist_ok=True)
    data = {}

    def entry(t, key):
        torch.save(t.clone(), f"{folder}/dump_tensor_data/{key}.pt")
        f = t.float()
        return {"type": "torch.Tensor", "dtype": str(t.dtype), "shape": list(t.shape), "Max": f.max().item(), "Min": f.min().item(),
                "Mean": f.mean().item(), "Norm": f.norm().item(), "requires_grad": False, "data_name": key + ".pt"}

    def call(api, inputs, output, **kwargs):
        data[api] = {"input_args": [entry(t, f"{api}.input.{i}") for i, t in enumerate(inputs)],
                     "input_kwargs": {k: {"type": "torch.dtype", "value": str(v)} if k == "dtype" else {"type": type(v).__name__, "value": v} for k, v in kwargs.items()},
                     "output": [entry(output, api + ".output.0")]}
        return output

    h = call("Functional.linear.0.forward", [x, w1], linear(x, w1, reverse))
    g = torch.nn.functional.gelu(h.float()).half()
    if faulty:
        g.view(-1)[48:64] = x.reshape(-1)[48:64]
    g = call("Functional.gelu.0.forward", [h], g)
    y = call("Functional.linear.1.forward", [g, w2], linear(g, w2, reverse))
    f = call("Functional.softmax.0.forward", [y], torch.softmax(y.float(), -1), dim=-1, dtype=torch.float32)
    call("Torch.mean.0.forward", [f], mean(f, reverse), dim=0)
    with open(folder + "/dump.json", "w") as out:
        json.dump({"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "./dump_tensor_data", "data": data}, out, indent=1)
        out.write("\n")
