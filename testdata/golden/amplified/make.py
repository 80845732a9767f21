#!/usr/bin/python3
"""make.py: writes cpu, npu and cpu_wrong, a layer and a first step of Adam as msprobe dumps them (PyTorch 1.13, numpy).

The NPU stores the output of the layer, the gradient, as float16. A third of the gradient is 0 but for rounding, as that
of the bias of keys in attention. Adam divides it by its own size, so these elements of addcdiv_ differ entirely,
although every operator of both sides computes the right result from its own inputs. In cpu_wrong, addcdiv used another
value than dump.json says."""
import json, os
import numpy as np, torch

torch.manual_seed(11)
x, w = torch.randn(1, 32), torch.randn(192, 32) * .01
w[64:128] *= 1e-6


def run(side, low, value=-1e-3):
    root = side + '/step0/rank0'
    os.makedirs(root + '/dump_tensor_data', exist_ok=True)
    data = {}

    def entry(name, value):
        if not torch.is_tensor(value):
            return dict(type=type(value).__name__, value=value)
        np.save('%s/dump_tensor_data/%s.npy' % (root, name), value.numpy())
        return dict(type='torch.Tensor', dtype='torch.float32', shape=list(value.shape), Max=value.max().item(), Min=value.min().item(),
                    Mean=value.mean().item(), Norm=value.norm().item(), requires_grad=False, data_name=name + '.npy')

    def call(name, args, out, **kwargs):
        name += '.0.forward'
        data[name] = dict(input_args=[entry('%s.input.%d' % (name, i), a) for i, a in enumerate(args)],
                          input_kwargs={k: entry('', v) for k, v in kwargs.items()}, output=[entry(name + '.output.0', out)])
        return out

    y = torch.nn.functional.linear(x, w)
    g = call('Functional.linear', [x, w], y.half().float() if low else y)
    squares = call('Torch.mul', [g, g], g * g)
    root_of = call('Torch.sqrt', [squares], squares.sqrt())
    size = call('Torch.add', [root_of, 1e-12], root_of + 1e-12)
    zero = torch.zeros_like(g)
    call('Torch.addcdiv', [zero, g, size], torch.addcdiv(zero, g, size, value=value), value=-1e-3)
    with open(root + '/dump.json', 'w') as f:
        json.dump(dict(task='tensor', level='L1', framework='pytorch', dump_data_dir=None, data=data), f, indent=1)


run('cpu', False)
run('npu', True)
run('cpu_wrong', False, -1.3e-3)
