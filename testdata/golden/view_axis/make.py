#!/usr/bin/python3
"""make.py: writes cpu, npu and npu_wrong, a linear layer whose output [10, 6] is read as [2, 5, 6] by log_softmax (PyTorch
1.13, numpy).

The reference holds outputs only, the NPU in float16 inputs and outputs. In npu_wrong, log_softmax runs along the axis 1
in place of the axis 2, which is the axis 1 of the tensor that the layer wrote."""
import os
import numpy as np, torch

torch.manual_seed(3)
x, w = torch.randn(10, 8), torch.randn(6, 8)


def run(side, low, axis=2):
    os.makedirs(side, exist_ok=True)
    store = lambda t: t.half().float() if low else t
    a, b = store(x), store(w)
    y = store(torch.nn.functional.linear(a, b))
    view = y.reshape(2, 5, 6)
    save = lambda name, t: np.save('%s/%s.npy' % (side, name), t.half().numpy() if low else t.numpy())
    if low:
        save('001_Functional_linear_0.input.0', a)
        save('001_Functional_linear_0.input.1', b)
        save('002_Functional_log_softmax_0.input.0', view)
    save('001_Functional_linear_0.output.0', y)
    save('002_Functional_log_softmax_0.output.0', torch.log_softmax(view, axis))


run('cpu', False)
run('npu', True)
run('npu_wrong', True, 1)
