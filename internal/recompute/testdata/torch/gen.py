#!/usr/bin/env python3
"""gen.py >cases.json: formulas with values of PyTorch (made with 1.13), for TestByTorch.

Inputs are small multiples of 1/8, which float32 holds; PyTorch computes in float64. An entry has the
formula, its attributes, inputs and outputs as [shape, values], null for an input that is not there.
isWide: the bounds are too wide to find a fault."""
import json, sys
import torch, torch.nn as nn, torch.nn.functional as F, torchvision
torch.manual_seed(5)
cases = []
def R(*shape): return torch.randint(-16, 17, shape).double()/8
def tensor(t): return None if t is None else [list(t.shape), [float(v) for v in t.reshape(-1)]]
def case(name, formula, ins, outs, isWide=False, **attrs):
    cases.append({'name': name, 'formula': formula, 'isWide': isWide, 'attrs': attrs, 'in': [tensor(t) for t in ins], 'out': [tensor(t.detach()) for t in outs]})
def small(module, scale=1/4):
    module = module.double()
    with torch.no_grad():
        for p in module.parameters(): p.copy_(R(*p.shape)*scale)
    return module

for equation, a, b in [('bij,bjk->bik', R(2, 3, 4), R(2, 4, 5)), ('ij,jk->ki', R(3, 4), R(4, 2)), ('bqhd,bkhd->bhqk', R(2, 3, 2, 4), R(2, 5, 2, 4)), ('i,j->ij', R(3), R(4)),
                       ('bij,jk->bik', R(2, 3, 4), R(4, 5)), ('ij,ij->i', R(3, 4), R(3, 4)), ('ij,jk', R(3, 4), R(4, 2))]:
    case(equation, 'Einsum', [a, b], [torch.einsum(equation, a, b)], equation=equation)

for mode, corners, size, shape in [('nearest', None, (5, 3), (1, 2, 3, 4)), ('nearest', None, (4,), (2, 1, 7)), ('nearest-exact', None, (5, 7), (1, 1, 3, 4)), ('linear', False, (7,), (1, 2, 4)), ('linear', True, (7,), (1, 2, 4)),
                                   ('bilinear', False, (5, 3), (1, 2, 3, 5)), ('bilinear', True, (5, 3), (1, 2, 3, 5)), ('bicubic', False, (6, 5), (1, 1, 4, 4)), ('bicubic', True, (6, 5), (1, 1, 4, 4))]:
    x = R(*shape); y = F.interpolate(x, size=size, mode=mode, align_corners=corners)
    case(f'{mode} corners {corners} {shape} to {size}', 'Interpolate', [x], [y], mode={'bilinear': 'linear', 'bicubic': 'cubic'}.get(mode, mode), align_corners=bool(corners), half_pixel_centers=True)

for k, s, p, d in [((2, 3), (1, 2), (1, 0), (1, 1)), ((2, 2), (1, 1), (0, 1), (2, 1)), ((3, 1), (2, 1), (1, 0), (1, 1))]:
    x = R(2, 2, 4, 5)
    case(f'kernel {k} stride {s} padding {p} dilation {d}', 'Im2col', [x], [F.unfold(x, k, dilation=d, padding=p, stride=s)], ksize=k, strides=s, pads=p, dilations=d)

for name, cls, state in [('LSTM', nn.LSTM, 2), ('GRU', nn.GRU, 1), ('RNN', nn.RNN, 1)]:
    for layers, both, first in [(1, False, False), (2, False, True), (1, True, False), (2, True, True)]:
        m = small(cls(3, 2, num_layers=layers, bidirectional=both, batch_first=first))
        x, n = R(2, 4, 3), layers*(2 if both else 1)
        states = [R(n, 2 if first else 4, 2) for _ in range(state)]
        y, last = m(x, tuple(states) if state == 2 else states[0])
        with_states = states + [None]*(2 - state)
        case(f'{layers} layers, both {both}, batch first {first}', name, [x] + with_states + list(m.parameters()), [y] + (list(last) if state == 2 else [last]), batch_first=first)
    m = small(cls(3, 2)); x = R(4, 2, 3); y, last = m(x)
    case('without a state', name, [x, None, None] + list(m.parameters()), [y] + (list(last) if state == 2 else [last]), batch_first=False)
# Bounds grow with every step where weights are large, beyond what sigmoid and tanh can be off.
for name, cls in [('GRU', nn.GRU), ('RNN', nn.RNN)]:
    m = small(cls(3, 2, num_layers=2, batch_first=True), 4); x = R(2, 9, 3); y, last = m(x)
    case('large weights', name, [x, None, None] + list(m.parameters()), [y, last], batch_first=True, isWide=True)
for name, cls, state in [('LSTMCell', nn.LSTMCell, 2), ('GRUCell', nn.GRUCell, 1), ('RNNCell', nn.RNNCell, 1)]:
    m = small(cls(3, 2)); x, states = R(4, 3), [R(4, 2) for _ in range(state)]
    y = m(x, tuple(states) if state == 2 else states[0])
    case('cell', name, [x] + states + [None]*(2 - state) + list(m.parameters()), list(y) if state == 2 else [y])

for first, masked, padded in [(False, False, False), (True, True, False), (True, False, True)]:
    m = small(nn.MultiheadAttention(4, 2, batch_first=first)); m.train()
    q, k = R(2, 3, 4), R(2, 3, 4)
    mask = R(3, 3) if masked else None
    padding = torch.tensor([[0, 0, -100.], [0, 0, 0]]).double() if padded else None
    if padded:  # numbers are added, as a mask of each pair would be
        y, w = m(q, k, k, attn_mask=padding[:, None, None].expand(2, 2, 3, 3).reshape(4, 3, 3))
    else: y, w = m(q, k, k, attn_mask=mask)
    case(f'batch first {first}, mask {masked}, padding {padded}', 'MultiheadAttention', [q, k, k, m.in_proj_weight, m.in_proj_bias, m.out_proj.weight, m.out_proj.bias, mask, padding], [y, w], batch_first=first, heads=2)

for k, s, p, extra, d, g, shape in [((3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 1, (1, 2, 3, 3)), ((2, 3), (1, 2), (0, 1), (0, 0), (2, 1), 2, (2, 4, 3, 2))]:
    x = R(*shape); w = R(shape[1], 2, *k); b = R(2*g)
    case(f'kernel {k} stride {s} padding {p} extra {extra} dilation {d} groups {g}', 'Conv2DTransposeD', [x, w, b], [F.conv_transpose2d(x, w, b, s, p, extra, g, d)],
         strides=s, pads=[v for v in p for _ in (0, 1)], dilations=d, groups=g)

for shape, size in [((1, 2, 5, 4), (3, 2)), ((2, 1, 3, 7), (2, 5)), ((1, 2, 7), (3,))]:
    x = R(*shape).requires_grad_(); y = [F.adaptive_avg_pool1d, F.adaptive_avg_pool2d][len(size) - 1](x, size)
    dy = R(*y.shape); y.backward(dy)
    case(f'{shape} to {size}', 'AdaptiveAvgPoolGrad', [dy], [x.grad])

for threshold in (.5, .25, .75):
    corner = torch.randint(0, 40, (24, 2)).double()/8
    boxes, scores = torch.cat((corner, corner + torch.randint(8, 25, (24, 2)).double()/8), 1), torch.randperm(24).double()/8
    case(f'overlaps above {threshold}', 'Nms', [boxes, scores], [torchvision.ops.nms(boxes, scores, threshold)], iou_threshold=threshold)

for equation, a, b in [('bd,dce->bec', R(3, 4), R(4, 2, 5)), ('bd,dcef->becf', R(3, 4), R(4, 2, 3, 2)), ('abd,dce->ebca', R(2, 3, 4), R(4, 2, 3))]:  # columns in another order
    case(equation, 'Einsum', [a, b], [torch.einsum(equation, a, b)], equation=equation)

for k, s, p, shape in [((2, 1), (2, 1), (0, 0), (2, 3, 8, 12)), ((1, 3), (1, 3), (0, 0), (1, 4, 5, 13)), ((3, 3), (2, 1), (1, 1), (2, 2, 8, 7)), ((1, 3, 3), (1, 2, 2), (0, 1, 1), (1, 2, 4, 7, 7))]:  # found by shapes and values
    x = R(*shape); dim = len(k)
    case(f'kernel {k} stride {s} padding {p} not given', 'MaxPool', [x], [[F.max_pool2d, F.max_pool3d][dim - 2](x, k, s, p)])
    w = R(4, shape[1], *k)
    case(f'kernel {k} stride {s} padding {p} not given', 'Conv2D', [x, w], [[F.conv2d, F.conv3d][dim - 2](x, w, None, s, p)])
x = R(2, 3, 4, 9)
case('kernel of a whole axis not given', 'AvgPool', [x], [F.avg_pool2d(x, (4, 1), (4, 1))])
x, w = R(2, 3, 4, 9), R(2, 3, 3, 3)
case('two geometries give the shape', 'Conv2D', [x, w], [F.conv2d(x, w, None, (2, 1), 1)])

for mode, padding, corners, shape, out in [(m, p, c, (2, 2, 3, 4), (3, 2)) for m in ('bilinear', 'nearest', 'bicubic') for p in ('zeros', 'border', 'reflection') for c in (False, True)] + [('bilinear', 'zeros', False, (1, 2, 2, 3, 4), (2, 2, 2)), ('nearest', 'reflection', True, (1, 2, 2, 3, 4), (2, 2, 2))]:
    x, g = R(*shape), R(shape[0], *out, len(out)) * .8 + .013
    case(f'grid_sample {mode} {padding} corners {corners} {shape}', 'GridSampler2D', [x, g], [F.grid_sample(x, g, mode=mode, padding_mode=padding, align_corners=corners)], interpolation_mode=mode, padding_mode=padding, align_corners=corners)

json.dump(cases, sys.stdout, separators=(',', ':'))
print()
