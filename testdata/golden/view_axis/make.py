#!/usr/bin/python3
"""make.py: writes cpu, npu, npu_wrong, masked_cpu and masked_npu, a linear layer whose output [10, 6] is read as [2, 5, 6] by log_softmax (PyTorch
1.13, numpy).

The reference holds outputs only, the NPU in float16 inputs and outputs. In npu_wrong, log_softmax runs along the axis 1
in place of the axis 2, which is the axis 1 of the tensor that the layer wrote. In masked_npu a column is masked first, so
that the wrong axis makes NaN."""
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


def masked(side, low, axis):
    os.makedirs(side, exist_ok=True)
    scores = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(5)) + (.001 if low else 0)
    hidden = torch.zeros(2, 5, 6, dtype=torch.bool)
    hidden[:, :, 4] = True
    filled = scores.masked_fill(hidden, float('-inf'))
    save = lambda name, t: np.save('%s/%s.npy' % (side, name), t.half().numpy() if low and t.is_floating_point() else t.numpy())
    if low:
        save('001_Tensor_masked_fill_0.input.0', scores)
        save('001_Tensor_masked_fill_0.input.1', hidden)
        save('002_Functional_softmax_0.input.0', filled)
        filled = filled.half().float()
    save('001_Tensor_masked_fill_0.output.0', filled)
    save('002_Functional_softmax_0.output.0', filled.softmax(axis))


masked('masked_cpu', False, 2)
masked('masked_npu', True, 1)
run('cpu', False)
run('npu', True)
run('npu_wrong', True, 1)
