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

reductions = ('mean', 'sum', 'none')
for red in reductions:
    a, b, c, side = R(4, 5), R(4, 5), R(4, 5), torch.tensor([1., -1, -1, 1]).double()
    case(f'swap {red}', 'TripletMarginLoss', [a, b, c], [F.triplet_margin_loss(a, b, c, margin=.5, swap=True, reduction=red)], margin=.5, p=2, epsilon=1e-6, swap=True, reduction=red)
    case(red, 'MarginRankingLoss', [a[:, 0], b[:, 0], side], [F.margin_ranking_loss(a[:, 0], b[:, 0], side, margin=.25, reduction=red)], margin=.25, reduction=red)
    case(red, 'HingeEmbeddingLoss', [a[:, 0], side], [F.hinge_embedding_loss(a[:, 0], side, margin=.5, reduction=red)], margin=.5, reduction=red)
    case(red, 'CosineEmbeddingLoss', [a, b, side], [F.cosine_embedding_loss(a, b, side, margin=.1, reduction=red)], margin=.1, reduction=red)
    case(red, 'SoftMarginLoss', [a[:, 0], side], [F.soft_margin_loss(a[:, 0], side, reduction=red)], reduction=red)
    y = torch.randint(0, 2, (4, 5)).double(); w = R(5).abs()
    case(red, 'MultilabelSoftMarginLoss', [a, y, w], [F.multilabel_soft_margin_loss(a, y, w, reduction=red)], reduction=red)
    case(red, 'PoissonNLLLoss', [a, y], [F.poisson_nll_loss(a, y, reduction=red)], log_input=True, reduction=red)
    case(red, 'GaussianNLLLoss', [a, b, c.abs()], [F.gaussian_nll_loss(a, b, c.abs(), eps=1e-2, reduction=red)], epsilon=1e-2, reduction=red)
    classes = torch.tensor([0, 4, 2, 2])
    case(red, 'MultiMarginLoss', [a, classes, w], [F.multi_margin_loss(a, classes, p=2, margin=.5, weight=w, reduction=red)], p=2, margin=.5, reduction=red)
    logs = torch.log_softmax(R(7, 3, 5), -1); targets = torch.tensor([[1, 2, 2], [3, 0, 0], [4, 4, 1]]); lengths, sizes = torch.tensor([7, 4, 6]), torch.tensor([3, 1, 3])
    case(f'padded targets {red}', 'CTCLoss', [logs, targets, lengths, sizes], [F.ctc_loss(logs, targets, lengths, sizes, reduction=red)], blank=0, zero_infinity=False, reduction=red)
    flat = torch.cat([targets[i, :n] for i, n in enumerate(sizes)])
    case(f'joined targets {red}', 'CTCLoss', [logs, flat, lengths, sizes], [F.ctc_loss(logs, flat, lengths, sizes, blank=0, reduction=red)], blank=0, zero_infinity=False, reduction=red)
for mode in ('sum', 'mean', 'max'):
    rows = R(6, 4); index = torch.tensor([0, 5, 2, 2, 1, 3, 3]); offsets = torch.tensor([0, 2, 2, 6])
    case(f'{mode} with an empty bag', 'EmbeddingBag', [index, rows, offsets], [F.embedding_bag(index, rows, offsets, mode=mode)], mode=mode)
    case(f'{mode} without row 2', 'EmbeddingBag', [index[:6].reshape(2, 3), rows], [F.embedding_bag(index[:6].reshape(2, 3), rows, mode=mode, padding_idx=2)], mode=mode, padding_idx=2)
for reduce in ('sum', 'mean', 'prod', 'amax', 'amin'):
    for own in (False, True):
        x, index, u = R(4, 3), torch.randint(0, 4, (5, 3)), R(5, 3)
        case(f'{reduce} include_self {own}', 'ScatterReduce', [x, index, u], [x.scatter_reduce(0, index, u, reduce, include_self=own)], axis=0, reduce=reduce, include_self=own)
for k, s, p, d in [((2, 3), (2, 1), (1, 1), (1, 1)), ((2, 2), (1, 2), (0, 1), (2, 1))]:
    x = F.unfold(R(2, 2, 5, 6), k, dilation=d, padding=p, stride=s)
    case(f'kernel {k} stride {s} padding {p} dilation {d}', 'Col2im', [x], [F.fold(x, (5, 6), k, dilation=d, padding=p, stride=s)], ksize=k, strides=s, pads=p, dilations=d)
for k, s, p, d in [(3, 1, 1, 1), (2, 2, 0, 1), (2, 1, 0, 2)]:
    x = R(2, 2, 6, 7); y = F.unfold(x, k, dilation=d, padding=p, stride=s)
    case(f'kernel {k} stride {s} padding {p} dilation {d} not given', 'Im2col', [x], [y])
    case(f'kernel {k} stride {s} padding {p} dilation {d} not given', 'Col2im', [y], [F.fold(y, (6, 7), k, dilation=d, padding=p, stride=s)])
for corners in (False, True):
    theta = R(2, 2, 3); case(f'corners {corners}', 'AffineGrid', [theta], [F.affine_grid(theta, (2, 3, 4, 5), align_corners=corners)], align_corners=corners)
for size in (3, 4, 5):
    x = R(2, 6, 3, 2); case(f'size {size}', 'LRN', [x], [F.local_response_norm(x, size, alpha=.5, beta=.75, k=2.)], size=size, alpha=.5, beta=.75, k=2)
for p in (1., 2.):
    x, y = R(2, 3, 4), R(2, 5, 4); case(f'p {p}', 'Cdist', [x, y], [torch.cdist(x, y, p=p, compute_mode='donot_use_mm_for_euclid_dist')], p=p)
for q in (0., .3, .95, 1.):
    x = R(3, 7); case(f'q {q}', 'Quantile', [x, torch.tensor(q).double()], [x.quantile(torch.tensor(q).double(), dim=1)], axes=[1])
for right in (False, True):
    lines = R(2, 6).sort(-1)[0]; x = R(2, 9)
    case(f'right {right}', 'SearchSorted', [lines, x], [torch.searchsorted(lines, x, right=right)], right=right)
    case(f'bucketize right {right}', 'SearchSorted', [lines[0], x], [torch.bucketize(x, lines[0], right=right)], right=right)
for n, axis in [(1, 0), (2, 1), (3, 2)]:
    x, before, after = R(3, 4, 5), R(3, 4, 5).narrow(axis, 0, 2), R(3, 4, 5).narrow(axis, 0, 1)
    case(f'n {n} axis {axis}', 'Diff', [x, before, after], [torch.diff(x, n=n, dim=axis, prepend=before, append=after)], n=n, axis=axis)
for size in ((3, 2), (4, 5), (1, 1)):
    x = R(1, 2, 7, 5); case(f'{size}', 'AdaptiveMaxPool', [x], list(F.adaptive_max_pool2d(x, size, return_indices=True)))
for k, p in ((1, 1), (3, 3), (2, 4)):
    x, w = R(1, 2, 6, 7), R(3, 2, k, k)
    case(f'kernel {k} padding {p}', 'Conv2D', [x, w], [F.conv2d(x, w, padding=p)], strides=(1, 1), pads=(p, p), dilations=(1, 1))
    case(f'kernel {k} padding {p} not given', 'Conv2D', [x, w], [F.conv2d(x, w, padding=p)])
x = R(2, 3, 9, 8); case('dilation 2 not given', 'MaxPool', [x], [F.max_pool2d(x, 3, 1, 1, 2)])
for dims in ([2], [0, 1, 1, 0], [-1, 0]):
    x, y = R(3, 4, 4), {1: R(4, 4, 2), 4: R(4, 3, 5), 2: R(4, 2)}[len(dims)]
    case(f'dims {dims}', 'Einsum', [x, y], [torch.tensordot(x, y, dims[0] if len(dims) == 1 else (dims[:len(dims)//2], dims[len(dims)//2:]))], dims=dims)
for equation, shape in [('bthd->bhtd', (2, 3, 2, 4)), ('bii->bi', (2, 3, 3)), ('ij->', (3, 4)), ('...ij->...j', (2, 3, 4)), ('ba', (2, 3))]:
    x = R(*shape); case(f'one operand {equation}', 'Einsum', [x], [torch.einsum(equation, x)], equation=equation)

json.dump(cases, sys.stdout, separators=(',', ':'))
print()
