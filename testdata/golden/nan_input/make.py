#!/usr/bin/python3
"""make.py: writes cpu and npu, two steps of an optimiser whose gradient is NaN on the NPU (PyTorch 1.13, numpy).

The reference holds outputs only, the NPU inputs and outputs. No dumped operator made the gradient, the second input of
add."""
import os
import numpy as np, torch

torch.manual_seed(7)
state, gradient = torch.randn(8, 16), torch.randn(8, 16)


def run(side, low):
    os.makedirs(side, exist_ok=True)
    g = gradient.clone()
    if low:
        g[2:5] = float('nan')
    save = lambda name, t: np.save('%s/%s.npy' % (side, name), t.half().numpy() if low else t.numpy())
    slow = (state.half() * .9).float() if low else state * .9
    moved = slow + g
    if low:
        save('001_Tensor_mul_0.input.0', state)
        save('002_Tensor_add_0.input.0', slow)
        save('002_Tensor_add_0.input.1', g)
    save('001_Tensor_mul_0.output.0', slow)
    save('002_Tensor_add_0.output.0', moved)


run('cpu', False)
run('npu', True)
