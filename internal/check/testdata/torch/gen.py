#!/usr/bin/python3
"""gen.py OUT SEED [FAULT]: PyTorch 1.13 with numpy; msprobe tree of calls of PyTorch functions (values by torch in float32, stored in the type of the inputs). FAULT part: a part of each output is damaged."""
import os, sys, json, math, random
os.environ.setdefault('OMP_NUM_THREADS','1')
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
torch.set_num_threads(1)
out, seed = sys.argv[1], int(sys.argv[2]); fault = sys.argv[3] if len(sys.argv) > 3 else None
r = random.Random(seed); torch.manual_seed(seed)
d = out + '/step0/rank0'; os.makedirs(d + '/dump_tensor_data', exist_ok=True)
data, count, truth = {}, {}, []
DT = {0: torch.float32, 1: torch.float16, 2: torch.bfloat16}
def tens(t, name):
    e = dict(type='torch.Tensor', dtype=str(t.dtype), shape=list(t.shape)); t = t.detach()
    if t.numel() == 0: e.update(Max=None, Min=None, Mean=None, Norm=None)
    elif t.dtype == torch.bool: e.update(Max=bool(t.any()), Min=bool(t.all()), Mean=None, Norm=None)
    elif not t.is_floating_point(): e.update(Max=int(t.max()), Min=int(t.min()), Mean=None, Norm=None)
    else: f = t.float(); e.update(Max=float(f.max()), Min=float(f.min()), Mean=float(f.mean()), Norm=float(torch.norm(f)))
    e['requires_grad'] = False; e['data_name'] = name + '.pt'; torch.save(t.contiguous().clone(), '%s/dump_tensor_data/%s.pt' % (d, name)); return e
def walk(v, path):
    if torch.is_tensor(v): return tens(v, path)
    if isinstance(v, torch.Size): return dict(type='torch.Size', value=list(v))
    if isinstance(v, (list, tuple)): return [walk(q, '%s.%d' % (path, i)) for i, q in enumerate(v)]
    if v is None: return None
    if v is Ellipsis: return dict(type='ellipsis', value='Ellipsis')
    if isinstance(v, slice): return dict(type='slice', value=[v.start, v.stop, v.step])
    if isinstance(v, torch.dtype): return dict(type='torch.dtype', value=str(v))
    if isinstance(v, (bool, int, float, str)): return dict(type=type(v).__name__, value=v)
    return dict(type=type(v).__name__, value=str(v))
def low(t, dt): return t.to(dt) if torch.is_tensor(t) and t.dtype == torch.float32 else t
def tmap(x, f): return f(x) if torch.is_tensor(x) else type(x)(tmap(i, f) for i in x) if type(x) in (list, tuple) else x
def call(api, fn, *a, dt=None, params=None, keep=None, bad=0, own=None, **k):
    """a and k are float32; they are rounded to dt, the function runs in float32 (own: in dt), its result is rounded to dt; output bad is damaged"""
    dt = DT[r.choice([0, 0, 1, 2])] if dt is None else dt
    a = tmap(list(a), lambda t: low(t, dt)); k = {q: tmap(v, lambda t: low(t, dt)) for q, v in k.items()}
    up = lambda t: t.float() if t.dtype in (torch.float16, torch.bfloat16) and not own else t
    fa, fk = tmap(a, lambda t: up(t).clone()), {q: tmap(v, up) for q, v in k.items()}
    y = fn(*fa, **fk)
    outs = list(y) if isinstance(y, (list, tuple)) else [y]
    if not keep: outs = [o.to(dt) if torch.is_tensor(o) and o.dtype == torch.float32 else o for o in outs]
    if fault == 'part':
        hit = False
        for i, o in enumerate(outs):
            if torch.is_tensor(o) and o.numel() >= 1 and not hit and i >= bad:
                o = o.clone().contiguous(); f = o.view(-1); n = max(1, f.numel() // 8); b = r.randrange(f.numel() - n + 1)
                if o.dtype == torch.bool: f[b:b + n] = ~f[b:b + n]
                elif o.is_floating_point(): s = f[f.isfinite()].float().abs().mean() if f.isfinite().any() else torch.tensor(1.); f[b:b + n] = (f[b:b + n].float().nan_to_num(0, 1, -1) + (1 + s) * 1.5).to(o.dtype)
                elif o.dtype.is_complex: f[b:b + n] += 3
                else: f[b:b + n] = f[b:b + n] + 3
                outs[i] = o; hit = True
    c = count.get(api, 0); count[api] = c + 1
    name = api + ('.forward.%d' % c if api.startswith('Module') else '.%d.forward' % c)
    e = dict(input_args=[walk(v, '%s.input.%d' % (name, i)) for i, v in enumerate(a)], input_kwargs={q: walk(v, '%s.input.%s' % (name, q)) for q, v in k.items()})
    if params: e['parameters'] = {q: tens(v.to(dt) if v.is_floating_point() else v, '%s.parameters.%s' % (name, q)) for q, v in params.items()}
    e['output'] = [walk(o, '%s.output.%d' % (name, i)) for i, o in enumerate(outs)]; data[name] = e; truth.append(name)
R = lambda *s: torch.randn(*s); P = lambda *s: torch.rand(*s) + .1
I = lambda hi, *s: torch.randint(0, hi, s)
T, f = torch, F
# elementwise
x = R(4, 33); y = R(4, 33); z = R(4, 33)
for n in 'acos asin atan sinh cosh tan asinh atan erfc frac sgn deg2rad rad2deg'.split(): call('Torch.' + n, getattr(T, n), torch.rand(5, 40) * 1.8 - .9)
call('Torch.acosh', T.acosh, P(5, 40) + 1); call('Torch.atanh', T.atanh, torch.rand(5, 40) * 1.8 - .9); call('Torch.logit', T.logit, torch.rand(5, 40) * .9 + .05)
for n in 'selu celu softsign tanhshrink softshrink hardshrink logsigmoid'.split(): call('Functional.' + n, getattr(f, n), R(6, 30))
call('Functional.celu', f.celu, R(6, 30), alpha=.7); call('Functional.hardshrink', f.hardshrink, R(6, 30), .8); call('Functional.softshrink', f.softshrink, R(6, 30), .3); call('Functional.threshold', f.threshold, R(6, 30), .1, -2.)
call('Functional.softmin', f.softmin, R(6, 30), dim=1)
call('Module.net.softsign.Softsign', nn.Softsign(), R(6, 30)); call('Module.net.selu.SELU', nn.SELU(), R(6, 30)); call('Module.net.celu.CELU', nn.CELU(.7), R(6, 30)); call('Module.net.id.Identity', nn.Identity(), R(6, 30))
call('Torch.atan2', T.atan2, x, y); call('Torch.hypot', T.hypot, x, y); call('Torch.copysign', T.copysign, x, y); call('Torch.fmax', T.fmax, x, y); call('Torch.fmin', T.fmin, x, y); call('Torch.xlogy', T.xlogy, x, P(4, 33)); call('Torch.heaviside', T.heaviside, x, y)
call('Torch.lerp', T.lerp, x, y, .3); call('Torch.lerp', T.lerp, x, y, torch.rand(4, 33)); call('Tensor.lerp_', lambda a, b, w: a.lerp_(b, w), x, y, .25)
call('Torch.addcmul', T.addcmul, x, y, z, value=.5); call('Torch.addcdiv', T.addcdiv, x, y, P(4, 33), value=-.3); call('Tensor.addcdiv_', lambda a, b, c, value: a.addcdiv_(b, c, value=value), x, y, P(4, 33), value=-.1); call('Tensor.addcmul_', lambda a, b, c, value: a.addcmul_(b, c, value=value), x, y, z, value=.001)
call('Torch.sub', T.sub, x, y, alpha=2.); call('Torch.add', T.add, x, y, alpha=-.7); call('Torch.rsub', T.rsub, x, y, alpha=3.); call('Torch.rsub', T.rsub, x, 1.5)
call('Torch.remainder', T.remainder, x * 5, 2.); call('Torch.remainder', T.remainder, I(50, 40) - 25, 7); call('Torch.fmod', T.fmod, x * 5, 2.); call('Torch.fmod', T.fmod, I(50, 40) - 25, 7); call('Tensor.__mod__', lambda a, b: a % b, I(50, 40), 7)
call('Torch.floor_divide', T.floor_divide, x * 5, 2.); call('Tensor.__floordiv__', lambda a, b: a // b, I(50, 40), 7); call('Torch.div', T.div, I(50, 40) - 25, 4, rounding_mode='floor'); call('Torch.div', T.div, x * 5, 2., rounding_mode='trunc'); call('Torch.div', T.div, x * 5, 1.7, rounding_mode='floor')
call('Torch.bitwise_not', T.bitwise_not, I(50, 40)); call('Tensor.__invert__', lambda a: ~a, R(40) > 0); call('Tensor.__and__', lambda a, b: a & b, I(99, 40), I(99, 40)); call('Tensor.__xor__', lambda a, b: a ^ b, I(99, 40), I(99, 40)); call('Tensor.__lshift__', lambda a, b: a << b, I(99, 40), 3); call('Tensor.__rshift__', lambda a, b: a >> b, I(99, 40), 2); call('Torch.bitwise_left_shift', T.bitwise_left_shift, I(99, 40), I(4, 40)); call('Torch.logical_xor', T.logical_xor, R(40) > 0, R(40) > 0)
q = R(40); q[3] = float('nan'); q[7] = float('inf'); q[9] = -float('inf')
for n in 'isnan isinf isfinite nan_to_num'.split(): call('Torch.' + n, getattr(T, n), q, dt=torch.float32)
call('Torch.nan_to_num', T.nan_to_num, q, nan=1., posinf=5., neginf=-5., dt=torch.float32)
call('Torch.float_power', T.float_power, P(20), 2.5, keep=True, dt=torch.float32)
# reductions
call('Torch.std', T.std, x, dim=1); call('Torch.std', T.std, x); call('Torch.var', T.var, x, dim=1, unbiased=False); call('Torch.var', T.var, x, dim=(0, 1), keepdim=True); call('Torch.norm', T.norm, x); call('Torch.norm', T.norm, x, p=1, dim=1); call('Torch.norm', T.norm, x, p=float('inf'), dim=1); call('Tensor.norm', lambda a, p, dim, keepdim: a.norm(p, dim, keepdim), x, 2, -1, True)
call('Torch.logsumexp', T.logsumexp, x, dim=1); call('Torch.logsumexp', T.logsumexp, x, dim=(0, 1), keepdim=True)
call('Torch.all', T.all, R(5, 9) > -2, dim=1); call('Torch.any', T.any, R(5, 9) > 1, dim=1); call('Torch.all', T.all, R(5, 9) > -5); call('Torch.any', T.any, I(2, 40)); call('Torch.count_nonzero', T.count_nonzero, I(3, 6, 9), dim=1); call('Torch.aminmax', T.aminmax, x, dim=1)
call('Torch.cumprod', T.cumprod, P(3, 9), dim=1)
call('Torch.sort', T.sort, x, dim=1); call('Torch.sort', T.sort, x, dim=0, descending=True); call('Torch.argsort', T.argsort, x, dim=1)
# moves
w = R(4, 5, 6)
call('Tensor.__getitem__', lambda a, i: a[i], w, 2); call('Tensor.__getitem__', lambda a, i: a[i], w, slice(1, 3)); call('Tensor.__getitem__', lambda a, i: a[tuple(i)], w, [slice(None), slice(None, None, 2), -1]); call('Tensor.__getitem__', lambda a, i: a[tuple(i)], w, [Ellipsis, slice(2, None)]); call('Tensor.__getitem__', lambda a, i: a[tuple(i)], w, [slice(None), None, 3]); call('Tensor.__getitem__', lambda a, i: a[i], w, w > 0); call('Tensor.__getitem__', lambda a, i: a[i], w, I(4, 7)); call('Tensor.__getitem__', lambda a, i: a[tuple(i)], w, [slice(None), I(5, 3)]); call('Tensor.__getitem__', lambda a, i: a[tuple(i)], w, [I(4, 3), I(5, 3)]); call('Tensor.__getitem__', lambda a, i: a[i], w, R(4) > -9); call('Tensor.__getitem__', lambda a, i: a[i], w, None)
call('Torch.narrow', T.narrow, w, 1, 2, 3); call('Tensor.narrow', lambda a, d, b, n: a.narrow(d, b, n), w, -1, 1, 4); call('Tensor.select', lambda a, d, i: a.select(d, i), w, 1, -2); call('Tensor.unfold', lambda a, d, s, t: a.unfold(d, s, t), R(3, 20), 1, 5, 3); call('Tensor.T', lambda a: a.T, R(5, 7))
call('Torch.roll', T.roll, w, 2, 1); call('Torch.roll', T.roll, w, (1, -2), (0, 2)); call('Torch.roll', T.roll, w, 7); call('Torch.flip', T.flip, w, (0, 2)); call('Torch.repeat_interleave', T.repeat_interleave, w, 3, dim=1); call('Tensor.repeat_interleave', lambda a, n: a.repeat_interleave(n), R(7), 2); call('Torch.repeat_interleave', T.repeat_interleave, R(3, 4), torch.tensor([1, 0, 2]), dim=0)
call('Torch.gather', T.gather, w, 1, I(5, 4, 2, 6)); call('Tensor.scatter_', lambda a, d, i, s: a.scatter_(d, i, s), R(4, 9), 1, torch.argsort(torch.rand(4, 9), 1)[:, :3], R(4, 3)); call('Torch.scatter', T.scatter, R(4, 9), 1, torch.argsort(torch.rand(4, 9), 1)[:, :3], 1.5); call('Torch.scatter_add', T.scatter_add, R(4, 9), 1, I(9, 4, 7), R(4, 7)); call('Torch.index_add', T.index_add, R(9, 4), 0, I(9, 7), R(7, 4)); call('Torch.index_add', T.index_add, R(9, 4), 0, I(9, 7), R(7, 4), alpha=2.); call('Tensor.index_copy_', lambda a, d, i, s: a.index_copy_(d, i, s), R(9, 4), 0, torch.randperm(9)[:3], R(3, 4)); call('Tensor.index_fill_', lambda a, d, i, s: a.index_fill_(d, i, s), R(9, 4), 0, I(9, 3), .5); call('Tensor.index_put_', lambda a, i, s: a.index_put_(tuple(i), s), R(9, 4), [torch.randperm(9)[:3]], R(3, 4)); call('Torch.index_put', T.index_put, R(9, 4), (torch.randperm(9)[:3], I(4, 3)), R(3)); call('Torch.masked_select', T.masked_select, w, w > 0); call('Tensor.masked_scatter_', lambda a, m, s: a.masked_scatter_(m, s), w, w > 0, R(120))
call('Torch.where', T.where, R(5, 6) > 0); call('Torch.nonzero', T.nonzero, R(5, 6) > 0); call('Torch.take', T.take, w, I(120, 9)); call('Torch.take_along_dim', T.take_along_dim, w, I(5, 4, 2, 6), 1); call('Torch.diagonal', T.diagonal, R(5, 6)); call('Torch.movedim', T.movedim, w, 0, 2); call('Torch.hstack', T.hstack, [R(3, 4), R(3, 2)]); call('Torch.vstack', T.vstack, [R(3, 4), R(2, 4)])
for n in 'zeros_like ones_like'.split(): call('Torch.' + n, getattr(T, n), w)
call('Torch.full_like', T.full_like, w, 2.5); call('Tensor.copy_', lambda a, b: a.copy_(b), w, R(4, 5, 6)); call('Tensor.fill_', lambda a, b: a.fill_(b), w, 1.25); call('Tensor.zero_', lambda a: a.zero_(), w); call('Torch.zeros', T.zeros, 3, 4); call('Torch.ones', T.ones, (3, 4)); call('Torch.full', T.full, (3, 4), -2.5); call('Torch.arange', T.arange, 0, 20, 2)
call('Functional.dropout', f.dropout, R(8, 40), p=.3, training=True); call('Functional.dropout', f.dropout, R(8, 40), .3, False); call('Functional.dropout', f.dropout, R(8, 40), p=0., training=True); call('Module.net.do.Dropout', nn.Dropout(.2), R(8, 40)); call('Module.net.do2.Dropout', nn.Dropout(.2).eval(), R(8, 40))
m = R(2, 4, 12, 10)
call('Functional.adaptive_avg_pool2d', f.adaptive_avg_pool2d, m, (1, 1)); call('Functional.adaptive_avg_pool2d', f.adaptive_avg_pool2d, m, (5, 3)); call('Functional.adaptive_avg_pool1d', f.adaptive_avg_pool1d, R(2, 4, 13), 5); call('Module.net.aa.AdaptiveAvgPool2d', nn.AdaptiveAvgPool2d(1), m)
call('Functional.interpolate', f.interpolate, m, scale_factor=2, mode='nearest'); call('Functional.interpolate', f.interpolate, m, size=(20, 17), mode='nearest'); call('Functional.interpolate', f.interpolate, m, size=(20, 17), mode='bilinear', align_corners=False); call('Functional.interpolate', f.interpolate, m, size=(20, 17), mode='bilinear', align_corners=True); call('Functional.interpolate', f.interpolate, m, scale_factor=1.5, mode='bilinear'); call('Functional.interpolate', f.interpolate, R(2, 3, 11), size=17, mode='linear'); call('Functional.interpolate', f.interpolate, m, size=(20, 17), mode='bicubic'); call('Functional.interpolate', f.interpolate, m, size=(6, 5), mode='area')
call('Functional.pixel_shuffle', f.pixel_shuffle, R(2, 8, 5, 6), 2); call('Functional.pixel_unshuffle', f.pixel_unshuffle, R(2, 2, 6, 8), 2); call('Functional.channel_shuffle', f.channel_shuffle, R(2, 6, 4, 5), 3); call('Functional.normalize', f.normalize, R(5, 16)); call('Functional.normalize', f.normalize, R(5, 16), p=1., dim=0); call('Functional.unfold', f.unfold, R(2, 3, 8, 9), 3, padding=1, stride=2)
call('Functional.pad', f.pad, R(2, 3, 8, 9), (1, -2, 2, 0)); call('Functional.pad', f.pad, R(2, 3, 9), (1, 2), 'reflect'); call('Functional.pad', f.pad, R(2, 3, 8, 9), (1, 2, 0, 3), value=1.5); call('Module.net.zp.ZeroPad2d', nn.ZeroPad2d(2), R(2, 3, 8, 9)); call('Module.net.ps.PixelShuffle', nn.PixelShuffle(2), R(2, 8, 5, 6)); call('Module.net.up.Upsample', nn.Upsample(scale_factor=2), m)
# products
call('Torch.baddbmm', T.baddbmm, R(2, 5, 6), R(2, 5, 7), R(2, 7, 6), beta=.5, alpha=2.); call('Torch.addmm', T.addmm, R(5, 6), R(5, 7), R(7, 6), beta=0., alpha=.3); call('Torch.addmv', T.addmv, R(5), R(5, 7), R(7)); call('Torch.addbmm', T.addbmm, R(5, 6), R(2, 5, 7), R(2, 7, 6)); call('Torch.einsum', T.einsum, 'bij,bjk->bik', R(2, 5, 7), R(2, 7, 6)); call('Torch.einsum', T.einsum, 'bhid,bhjd->bhij', R(2, 3, 5, 8), R(2, 3, 6, 8)); call('Torch.einsum', T.einsum, 'i,j->ij', R(5), R(6)); call('Torch.einsum', T.einsum, '...ij,jk->...ik', R(2, 3, 5, 7), R(7, 6)); call('Torch.einsum', T.einsum, 'bchw,bc->bhw', R(2, 3, 4, 5), R(2, 3)); call('Torch.outer', T.outer, R(5), R(6)); call('Torch.dot', T.dot, R(50), R(50)); call('Torch.mv', T.mv, R(5, 7), R(7))
call('Functional.conv_transpose2d', f.conv_transpose2d, R(2, 4, 5, 6), R(4, 3, 3, 3), stride=2, padding=1); call('Functional.conv_transpose2d', f.conv_transpose2d, R(2, 4, 5, 6), R(4, 3, 2, 2), R(6), stride=2, groups=2); call('Functional.conv_transpose1d', f.conv_transpose1d, R(2, 4, 9), R(4, 3, 3), stride=2, output_padding=1, padding=1); call('Functional.conv_transpose3d', f.conv_transpose3d, R(1, 3, 3, 4, 4), R(3, 2, 2, 2, 2), stride=2); call('Functional.conv3d', f.conv3d, R(1, 3, 5, 6, 6), R(4, 3, 2, 3, 3), padding=1); call('Module.net.ct.ConvTranspose2d', (ct := nn.ConvTranspose2d(4, 3, 2, 2)), R(2, 4, 5, 6), params=dict(ct.named_parameters()), dt=torch.float32)
# losses
lg, lab = R(8, 11), I(11, 8); lab2 = lab.clone(); lab2[2] = -100
call('Functional.cross_entropy', f.cross_entropy, lg, lab); call('Functional.cross_entropy', f.cross_entropy, lg, lab2, label_smoothing=.1); call('Functional.cross_entropy', f.cross_entropy, lg, lab2, reduction='sum'); call('Functional.cross_entropy', f.cross_entropy, lg, lab, reduction='none', ignore_index=3); call('Functional.cross_entropy', f.cross_entropy, lg, lab, P(11)); call('Functional.cross_entropy', f.cross_entropy, lg, torch.softmax(R(8, 11), 1)); call('Functional.cross_entropy', f.cross_entropy, R(2, 11, 5), I(11, 2, 5)); call('Module.net.ce.CrossEntropyLoss', nn.CrossEntropyLoss(), lg, lab)
call('Functional.nll_loss', f.nll_loss, torch.log_softmax(lg, 1), lab); call('Functional.nll_loss', f.nll_loss, torch.log_softmax(lg, 1), lab2, reduction='sum')
for n in 'mse_loss l1_loss smooth_l1_loss huber_loss'.split():
    for red in ('mean', 'sum', 'none'): call('Functional.' + n, getattr(f, n), x, y, reduction=red)
call('Functional.smooth_l1_loss', f.smooth_l1_loss, x, y, beta=.4); call('Functional.huber_loss', f.huber_loss, x, y, delta=.7); call('Module.net.mse.MSELoss', nn.MSELoss(), x, y)
pr, tg = torch.rand(5, 9) * .9 + .05, torch.rand(5, 9)
call('Functional.binary_cross_entropy', f.binary_cross_entropy, pr, tg); call('Functional.binary_cross_entropy', f.binary_cross_entropy, pr, tg, P(5, 9), reduction='none'); call('Functional.binary_cross_entropy_with_logits', f.binary_cross_entropy_with_logits, R(5, 9), tg); call('Functional.binary_cross_entropy_with_logits', f.binary_cross_entropy_with_logits, R(5, 9), tg, pos_weight=P(9), reduction='sum')
call('Functional.kl_div', f.kl_div, torch.log_softmax(lg, 1), torch.softmax(R(8, 11), 1), reduction='batchmean'); call('Functional.kl_div', f.kl_div, torch.log_softmax(lg, 1), torch.log_softmax(R(8, 11), 1), log_target=True, reduction='sum'); call('Functional.cosine_similarity', f.cosine_similarity, x, y); call('Functional.pairwise_distance', f.pairwise_distance, x, y)
# norms, pools
call('Functional.instance_norm', f.instance_norm, m); call('Functional.avg_pool3d', f.avg_pool3d, R(1, 2, 4, 6, 6), 2); call('Functional.max_pool3d', f.max_pool3d, R(1, 2, 4, 6, 6), 2); call('Functional.max_pool2d', f.max_pool2d, m, 2, return_indices=True); call('Torch.sum', T.sum, x, dtype=torch.float32)
# cells
B = 3
for cls, nm in ((nn.LSTMCell, 'LSTMCell'), (nn.GRUCell, 'GRUCell'), (nn.RNNCell, 'RNNCell')):
    c = cls(6, 8); st = (R(B, 8), R(B, 8)) if nm == 'LSTMCell' else R(B, 8); call('Module.net.%s.%s' % (nm.lower(), nm), lambda a, h, c=c: c(a, tuple(h) if isinstance(h, (list, tuple)) else h), R(B, 6), st, params=dict(c.named_parameters()), dt=torch.float32)
for cls, nm in ((nn.LSTM, 'LSTM'), (nn.GRU, 'GRU'), (nn.RNN, 'RNN')):
    c = cls(6, 8, 2, batch_first=True, bidirectional=True)
    def flat(a, c=c, nm=nm): y, h = c(a); return (y, *h) if nm == 'LSTM' else (y, h)
    call('Module.net.%s.%s' % (nm.lower(), nm), flat, R(B, 5, 6), params=dict(c.named_parameters()), dt=torch.float32)
mh = nn.MultiheadAttention(16, 4, batch_first=True); qq = R(2, 5, 16); call('Module.net.mha.MultiheadAttention', lambda a, b, c: mh(a, b, c), qq, qq, qq, params=dict(mh.named_parameters()), dt=torch.float32)
# indices of outputs, with equal elements too
tied = I(4, 6, 7).float()
for w in (R(6, 7), tied):
    for bad in (0, 1):
        for n in 'max min median mode cummax cummin'.split(): call('Torch.' + n, getattr(T, n), w, 1, bad=bad); call('Tensor.' + n, getattr(T, n), w, 0, bad=bad)
        call('Torch.kthvalue', T.kthvalue, w, 3, dim=1, bad=bad); call('Torch.topk', T.topk, w, 3, dim=1, bad=bad); call('Torch.topk', T.topk, w, 4, dim=0, largest=False, bad=bad); call('Torch.sort', T.sort, w, dim=1, bad=bad)
        call('Functional.max_pool2d', f.max_pool2d, w.repeat(3, 2, 1, 2), 3, stride=2, padding=1, return_indices=True, bad=bad)
call('Torch.median', T.median, R(6, 7)); call('Torch.median', T.median, tied)
# numbers beside tensors, near the place where they count
for dt in (torch.float32, torch.float16, torch.bfloat16):
    w = torch.cat((torch.tensor([1.7, 1.7000001, 1.6999999]), torch.linspace(1.69, 1.71, 100)))
    for n, g in (('__sub__', lambda a, b: a - b), ('__gt__', lambda a, b: a > b), ('__eq__', lambda a, b: a == b), ('__mul__', lambda a, b: a * b)): call('Tensor.' + n, g, w, 1.7, dt=dt, own=True)
    call('Torch.add', T.add, -w, w, alpha=.3, dt=dt)
w = torch.cat((torch.tensor([1.7, 1.7000001, 1.6999999]), torch.linspace(1.69, 1.71, 100)))
call('Functional.threshold', f.threshold, w, 1.7, .1, dt=torch.bfloat16, own=True); call('Functional.hardshrink', f.hardshrink, w, 1.7, dt=torch.bfloat16, own=True)
# arguments that a module's dump does not hold, and sizes that are rounded
for c in (nn.RNN(6, 8, nonlinearity='relu', batch_first=True), nn.RNN(6, 8, bias=False)): call('Module.net.rnn.RNN', lambda a, c=c: c(a), R(B, 5, 6), params=dict(c.named_parameters()), dt=torch.float32)
call('Module.net.up.Upsample', nn.Upsample(scale_factor=1.5, mode='bilinear'), R(2, 4, 7, 9)); call('Module.net.up.Upsample', nn.Upsample(scale_factor=1.7), R(2, 4, 12, 5)); call('Functional.interpolate', f.interpolate, R(2, 4, 7, 9), scale_factor=2.3, mode='bilinear', recompute_scale_factor=True)
call('Torch.addmm', T.addmm, R(6, 1), R(6, 7), R(7, 6), beta=.5, alpha=2.); call('Torch.baddbmm', T.baddbmm, R(3, 1, 6), R(3, 5, 7), R(3, 7, 6), beta=.5); call('Torch.einsum', T.einsum, 'bd,dce->bec', R(3, 4), R(4, 2, 5))
json.dump(dict(task='tensor', level='L1', framework='pytorch', dump_data_dir='/d', data=data), open(d + '/dump.json', 'w'))
