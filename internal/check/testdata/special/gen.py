#!/usr/bin/python3
"""gen.py OUT SEED [part]: calls of PyTorch 1.13 with unusual inputs, as ../torch/gen.py writes them: NaN, infinities, numbers
at the ends of their types, no elements, no axes, negative axes, broadcasting, integers of all sizes. part: damaged outputs of
the calls with finite inputs."""
import os, sys
head = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../torch/gen.py')).read()
exec(head[:head.index('# elementwise')])
inf, nan, undamaged = float('inf'), float('nan'), call
def finite(v): return all(map(finite, v)) if isinstance(v, (list, tuple)) else not torch.is_tensor(v) or v.numel() > 0 and bool(v.float().isfinite().all()) and float(v.float().abs().max()) < 1e4
def call(api, fn, *a, **k):
    if fault is None or finite(a) and finite(list(k.values())): undamaged(api, fn, *a, **k)
ends = torch.tensor([0., -0., 1., -1., inf, -inf, nan, 1e-45, 1e-40, 65504., 65520., 1e5, -1e5, 6e-8, .5, -.5, 2.5, -2.5, 88.5, 89., -88.5, -104., 1e10, 16777217.])
none, number = torch.zeros(2, 0), torch.tensor(.3)
floats = (torch.float32, torch.float16, torch.bfloat16)
# functions of an element
for n in 'relu abs neg square sqrt rsqrt reciprocal expm1 tanh erf sigmoid sign signbit logical_not floor round trunc exp exp2 log log2 log10 acos asin atan sinh cosh asinh acosh atanh erfc frac sgn isnan isinf nan_to_num'.split():
    for x in (ends, torch.tensor(-inf), none, number): call('Torch.' + n, getattr(T, n), x)
call('Torch.acosh', T.acosh, torch.tensor([-1e20, -3e38, -2., .5, 1., 3.]), dt=torch.float32)
for n in 'relu6 selu celu elu softsign tanhshrink softshrink hardshrink logsigmoid leaky_relu silu mish hardswish hardsigmoid gelu softplus'.split():
    for x in (ends, none, number): call('Functional.' + n, getattr(f, n), x)
for dt in floats:
    for lambd in (.5, 3.): call('Functional.hardshrink', f.hardshrink, ends, lambd, dt=dt)
    call('Functional.threshold', f.threshold, ends, -1., 7., dt=dt)
    for least, most in ((0., 1.), (-inf, 5.), (None, 2.), (3., None), (5., 2.)): call('Torch.clamp', T.clamp, ends, min=least, max=most, dt=dt)
# pairs of elements
for dt in floats:
    for n in 'add sub mul div maximum minimum gt ge eq ne logical_and logical_xor hypot copysign fmax fmin xlogy heaviside remainder fmod floor_divide'.split():
        call('Torch.' + n, getattr(T, n), ends[:, None], ends[None, :], dt=dt)
    call('Torch.lerp', T.lerp, ends[:, None].expand(24, 24).clone(), ends[None, :].expand(24, 24).clone(), .7, dt=dt)
for n in 'add mul maximum remainder floor_divide atan2 xlogy heaviside'.split():
    call('Torch.' + n, getattr(T, n), torch.tensor(2.5), R(7)); call('Torch.' + n, getattr(T, n), torch.zeros(0, 3), torch.ones(1, 3)); call('Torch.' + n, getattr(T, n), R(4, 1, 3), R(5, 1))
# integers
for dt in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
    least, most = torch.iinfo(dt).min, torch.iinfo(dt).max
    v = torch.tensor([least, most, 0, 1, 2, 100] + ([-1, -100] if least else []), dtype=dt); small = torch.tensor([1, 2, 3, 7, 9], dtype=dt)
    if dt == torch.int64: v = small  # float64 does not hold larger ones
    for n in 'maximum minimum eq lt logical_or'.split(): call('Torch.' + n, getattr(T, n), v[:, None], v[None, :])
    for n in 'add mul bitwise_and bitwise_xor floor_divide remainder pow'.split(): call('Torch.' + n, getattr(T, n), small[:, None], small[None, :2])
    for n in 'sum prod cumsum'.split(): call('Torch.' + n, getattr(T, n), small.view(1, -1), -1)
    call('Torch.sort', T.sort, v, descending=True); call('Torch.argmax', T.argmax, small); call('Torch.bitwise_right_shift', T.bitwise_right_shift, small, 1); call('Torch.div', T.div, small, 7, rounding_mode='trunc'); call('Tensor.to', lambda x, d: x.to(d), small, torch.float16, keep=True); call('Torch.add', T.add, small, .5)
    call('Torch.unique', T.unique, v)
truths = torch.tensor([True, False, True, False])
for n in 'add mul bitwise_and bitwise_or bitwise_xor logical_and eq maximum'.split(): call('Torch.' + n, getattr(T, n), truths, torch.tensor([True, True, False, False]))
# lines
broken = R(3, 4, 5); broken[0, 1, 2], broken[1, 2, 3], broken[2, 0, 0] = nan, inf, -inf
for x in (R(3, 4, 5), broken, ends[4:6].view(2, 1), torch.zeros(3, 0, 5), number, torch.tensor(-inf), torch.ones(1, 1, 1)):
    for n in 'sum mean prod amax amin std var logsumexp cumsum softmax log_softmax max argmin any cummax sort aminmax'.split():
        for dim in (-1, 0):
            if n != 'std' and n != 'var' or x.dim() > 1 and x.shape[dim] > 1: call('Torch.' + n, getattr(T, n), x, **{'dim': dim})
    if x.numel() > 1:
        for n in 'sum mean prod max argmax any norm nansum'.split(): call('Torch.' + n, getattr(T, n), x)
        for p in (0, 1, 3., inf, -inf): call('Torch.norm', lambda q, p, dim: T.norm(q, p, dim), x, p, -1)
for n in 'std var'.split(): call('Torch.' + n, getattr(T, n), R(9), False); call('Torch.' + n, getattr(T, n), R(9), True); call('Torch.' + n, getattr(T, n), R(3, 4), -2, False); call('Torch.' + n, getattr(T, n), R(3, 4), unbiased=False)
call('Torch.softmax', T.softmax, R(2, 4).masked_fill(torch.tensor([True, False, True, False]), -inf), -1); call('Torch.logsumexp', T.logsumexp, torch.full((2, 3), -inf), 1); call('Torch.quantile', T.quantile, broken, .3, 0, dt=torch.float32)
# moves
w = R(4, 5, 6)
for n, a in [('transpose', (-1, 0)), ('permute', ((2, -3, 1),)), ('unsqueeze', (-1,)), ('flatten', (-2, -1)), ('reshape', (-1, 10)), ('expand', (3, -1, -1, -1)), ('roll', (-7, -1)), ('flip', (-1, 0)), ('narrow', (-1, -3, 2)), ('select', (-1, -1)), ('tril', (-1,)), ('triu', (2,)), ('diagonal', (-1, -2, -1)), ('unfold', (-1, 3, 2)), ('movedim', (-1, 0)), ('index_select', (-1, torch.tensor([5, 0, 0]))), ('gather', (-1, I(6, 2, 3, 4))), ('take', (torch.tensor([-1, 0, 119]),)), ('masked_select', (torch.tensor([[True], [False], [True], [True], [False]]),)), ('repeat_interleave', (2, -1))]: call('Tensor.' + n, lambda q, *b, n=n: getattr(q, n)(*b), w, *a)
for index in [(-1,), (slice(None, None, 3),), (Ellipsis, -1), (torch.tensor([-1, 0]),), (slice(None), torch.tensor([[0, -1], [2, 3]])), (torch.tensor([0, 1]), slice(1, 3), torch.tensor([2, 5])), (torch.tensor([True, False, True, False]),), (1, torch.tensor([0, 2])), (torch.tensor([0, 2]), None, 1)]: call('Tensor.__getitem__', lambda a, i: a[tuple(i)], w, list(index))
call('Torch.cat', T.cat, [w, w[:, :0], w[:, 1:3]], -2); call('Torch.stack', T.stack, [number, number, number]); call('Functional.pad', f.pad, w, (-1, -2, 1, 0, 0, -1)); call('Functional.pad', f.pad, w, (1, 1), value=-inf)
# products, norms, losses
for p, q in [((5,), (5, 3)), ((4, 5), (5,)), ((2, 1, 4, 5), (3, 5, 2)), ((0, 5), (5, 3)), ((5,), (2, 5, 3))]: call('Torch.matmul', T.matmul, R(*p), R(*q))
call('Torch.addmm', T.addmm, torch.full((5, 6), nan), R(5, 7), R(7, 6), beta=0); call('Functional.linear', f.linear, R(2, 5), R(5)); call('Torch.einsum', T.einsum, 'ii', R(3, 3)); call('Torch.einsum', T.einsum, '...i,...i->...', R(2, 3, 4), R(3, 4)); call('Torch.matmul', T.matmul, R(3, 4) * 300, R(4, 5) * 300, dt=torch.float16)
for x in (R(6, 4), R(2, 4, 3), R(2, 4, 3, 3)):
    call('Functional.batch_norm', f.batch_norm, x, R(4), P(4), P(4), None); call('Functional.batch_norm', f.batch_norm, x, R(4), P(4)); call('Functional.batch_norm', f.batch_norm, x, R(4), P(4), None, R(4), False); call('Functional.batch_norm', f.batch_norm, x, R(4), P(4), P(4), R(4), True, .1, 1e-3)
for red in ('mean', 'sum', 'none'):
    call('Functional.soft_margin_loss', f.soft_margin_loss, R(3, 4) * 200, R(3, 4).sign(), reduction=red); call('Functional.cross_entropy', f.cross_entropy, R(6, 5, 3, 2), I(5, 6, 3, 2), P(5), reduction=red); call('Functional.cross_entropy', f.cross_entropy, R(5), torch.tensor(2), reduction=red); call('Functional.mse_loss', f.mse_loss, torch.tensor(1.), torch.tensor(3.), reduction=red); call('Functional.binary_cross_entropy_with_logits', f.binary_cross_entropy_with_logits, torch.tensor([1e3, -1e3, 0., 50.]), torch.tensor([0., 1., 1., 1.]), reduction=red)
call('Functional.embedding', f.embedding, torch.tensor(3), R(5, 4)); call('Functional.embedding', f.embedding, I(5, 2, 3), R(5, 4), -1)
json.dump(dict(task='tensor', level='L1', framework='pytorch', dump_data_dir='/d', data=data), open(d + '/dump.json', 'w'))
