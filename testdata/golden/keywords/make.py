#!/usr/bin/python3
"""make.py: writes cpu, npu and bad, a layer of attention as msprobe dumps its modules (level L0; PyTorch 1.13, numpy).

The tensors that the attention takes by keyword are not dumped, its weights are. The NPU stores the first layer as
float16 and rounds the inputs of the attention to bfloat16. In bad, the attention returns 1.5 times its result."""
import json, os
import numpy as np, torch

torch.manual_seed(7)
x = torch.randn(2, 6, 16)
first, norm, attention, linear = torch.nn.Linear(16, 16), torch.nn.LayerNorm(16), torch.nn.MultiheadAttention(16, 2, batch_first=True), torch.nn.Linear(16, 16)


def run(side, low, factor=1):
    root = side + '/step0/rank0'
    os.makedirs(root + '/dump_tensor_data', exist_ok=True)
    data = {}

    def entry(name, value):
        np.save('%s/dump_tensor_data/%s.npy' % (root, name), value.numpy())
        return dict(type='torch.Tensor', dtype=str(value.dtype), shape=list(value.shape), Max=value.max().item(), Min=value.min().item(),
                    Mean=value.mean().item(), Norm=value.norm().item(), requires_grad=False, data_name=name + '.npy')

    def call(name, module, args, out):
        name = 'Module.%s.%s.forward.0' % (name, type(module).__name__)
        data[name] = dict(input_args=[entry('%s.input.%d' % (name, i), a) for i, a in enumerate(args)], input_kwargs={},
                          parameters={k: entry('%s.parameters.%s' % (name, k), v.detach()) for k, v in module.named_parameters()},
                          output=[entry(name + '.output.0', out)])
        return out

    with torch.no_grad():
        rounded = (lambda t: t.bfloat16().float()) if low else (lambda t: t)
        f = first(x).half() if low else first(x)
        f = call('first', first, [x], f).float()
        y = call('norm', norm, [f], norm(f))
        z = call('attention', attention, [], factor * attention(*[rounded(y)] * 3, need_weights=False)[0])
        call('linear', linear, [z], linear(z))
    with open(root + '/dump.json', 'w') as f:
        json.dump(dict(task='tensor', level='L0', framework='pytorch', dump_data_dir=None, data=data), f, indent=1)


run('cpu', False)
run('npu', True)
run('bad', True, 1.5)
