#!/usr/bin/python3
"""gen.py OUT SEED [FAULT]: PyTorch 1.13 with numpy; msprobe tree of forward calls and of their backward calls: inputs are the gradients of the outputs, outputs the gradients of the positional arguments, by torch in float32,
stored in the type of the arguments. FAULT part: a gradient of each backward call has a block of zeros, or of other numbers, or the wrong sign."""
import os, sys, json, random
os.environ.setdefault('OMP_NUM_THREADS', '1')
import torch, torch.nn as nn, torch.nn.functional as F
torch.set_num_threads(1)
out, seed = sys.argv[1], int(sys.argv[2]); fault = sys.argv[3] if len(sys.argv) > 3 else None
r = random.Random(seed); torch.manual_seed(seed)
d = out + '/step0/rank0'; os.makedirs(d + '/dump_tensor_data', exist_ok=True)
data, count, faults = {}, {}, 0
DT = [torch.float32, torch.float32, torch.float16, torch.bfloat16]
def tens(t, name, grad=False):
    e = dict(type='torch.Tensor', dtype=str(t.dtype), shape=list(t.shape)); t = t.detach()
    if t.numel() == 0: e.update(Max=None, Min=None, Mean=None, Norm=None)
    elif t.dtype == torch.bool: e.update(Max=bool(t.any()), Min=bool(t.all()), Mean=None, Norm=None)
    elif not t.is_floating_point(): e.update(Max=int(t.max()), Min=int(t.min()), Mean=None, Norm=None)
    else: f = t.float(); e.update(Max=float(f.max()), Min=float(f.min()), Mean=float(f.mean()), Norm=float(torch.norm(f)))
    e['requires_grad'] = grad; e['data_name'] = name + '.pt'; torch.save(t.contiguous().clone(), '%s/dump_tensor_data/%s.pt' % (d, name)); return e
def walk(v, path, grad=False):
    if torch.is_tensor(v): return tens(v, path, grad and v.is_floating_point())
    if isinstance(v, (list, tuple)) and not isinstance(v, torch.Size): return [walk(q, '%s.%d' % (path, i), grad) for i, q in enumerate(v)]
    if v is None: return None
    if v is Ellipsis: return dict(type='ellipsis', value='Ellipsis')
    if isinstance(v, slice): return dict(type='slice', value=[v.start, v.stop, v.step])
    if isinstance(v, torch.Size): return dict(type='torch.Size', value=list(v))
    if isinstance(v, torch.dtype): return dict(type='torch.dtype', value=str(v))
    return dict(type=type(v).__name__, value=v if isinstance(v, (bool, int, float, str)) else str(v))
def tmap(x, f): return f(x) if torch.is_tensor(x) else type(x)(tmap(i, f) for i in x) if type(x) in (list, tuple) else x
def damaged(g):
    """a block of zeros, rows times 1.25, or the wrong sign"""
    global faults
    g = g.clone().contiguous(); f = g.view(-1); n = max(1, f.numel() // 6); b = r.randrange(f.numel() - n + 1); faults += 1
    while not (f[b:b + n] != 0).any(): b = r.randrange(f.numel() - n + 1)
    if faults % 3 == 0: f[b:b + n] = 0
    elif faults % 3 == 1: f[b:b + n] = (f[b:b + n].float() * 1.5 + f.float().abs().mean()).to(f.dtype)
    else: f *= -1
    return g
def call(api, fn, *a, dt=None, params=None, order=(0,), inside=None, **k):
    """order: the numbers of the forward call for each backward call, each forward call with inputs of its own; inside: the type in which autocast runs it"""
    dt = dt or r.choice(DT); n = count.get(api, 0); entries = []
    name = lambda i, way: api + ('.%s.%d' % (way, n + i) if api.startswith('Module') else '.%d.%s' % (n + i, way))
    for i in range(len(set(order))):
        one = tmap(list(a), lambda t: (t if i == 0 else torch.randn_like(t) if t.is_floating_point() else t).to(dt) if t.is_floating_point() else t)
        lift = lambda t: t.to(inside or dt).float().requires_grad_() if t.is_floating_point() else t
        x = tmap(one, lift); kw = {q: tmap(tmap(v, lambda t: t.to(dt) if torch.is_tensor(t) and t.is_floating_point() else t), lambda t: t.float() if t.is_floating_point() else t) for q, v in k.items()}
        if params: # a module computes with its parameters as they are stored
            for p in params.values(): p.data = p.data.to(dt).float()
        y = fn(*x, **kw); ys = list(y) if isinstance(y, (list, tuple)) else [y]; low = inside or dt
        stored = [o.to(low) if o.is_floating_point() else o for o in ys]
        dy = [torch.randn_like(o).to(low) if o.is_floating_point() and o.requires_grad else None for o in ys]
        if len(dy) > 2: dy[1] = None
        leaves = [t if torch.is_tensor(t) and t.is_floating_point() else None for t in x]
        g = torch.autograd.grad([o for o, q in zip(ys, dy) if q is not None], [t for t in leaves if t is not None], [q.float() for q in dy if q is not None], allow_unused=True); g = list(g)
        grads = [None if t is None else g.pop(0) for t in leaves]; grads = [None if q is None else q.to(low).to(dt) for q in grads]
        if fault:
            hit = [j for j, q in enumerate(grads) if q is not None and (q != 0).any()]; j = r.choice(hit); grads[j] = damaged(grads[j])
        e = dict(input_args=[walk(v, '%s.input.%d' % (name(i, 'forward'), j), True) for j, v in enumerate(one)], input_kwargs={q: walk(v, '%s.input.%s' % (name(i, 'forward'), q)) for q, v in k.items()})
        if params: e['parameters'] = {q: tens(v.to(dt), '%s.parameters.%s' % (name(i, 'forward'), q)) for q, v in params.items()}
        e['output'] = [walk(o, '%s.output.%d' % (name(i, 'forward'), j)) for j, o in enumerate(stored)]; data[name(i, 'forward')] = e; entries.append((dy, grads))
    for i, own in enumerate(order):
        b = name(i, 'backward'); dy, grads = entries[own]
        data[b] = dict(input=[walk(v, '%s.input.%d' % (b, j)) for j, v in enumerate(dy)], output=[walk(v, '%s.output.%d' % (b, j)) for j, v in enumerate(grads)])
    count[api] = n + len(order)
R = lambda *s: torch.randn(*s); P = lambda *s: torch.rand(*s) + .3
I = lambda hi, *s: torch.randint(0, hi, s)
T, f = torch, F
# functions of an element
for n in 'relu relu6 silu mish hardswish hardsigmoid elu leaky_relu softplus logsigmoid gelu hardtanh'.split(): call('Functional.' + n, getattr(f, n), R(5, 30) * 3)
call('Functional.gelu', f.gelu, R(5, 30), approximate='tanh'); call('Functional.leaky_relu', f.leaky_relu, R(5, 30), .2); call('Functional.softplus', f.softplus, R(5, 30) * 5, 2., 5.); call('Functional.elu', f.elu, R(5, 30), .7)
for n in 'abs neg square sin cos tanh erf sigmoid exp'.split(): call('Torch.' + n, getattr(T, n), R(5, 30))
for n in 'sqrt rsqrt reciprocal log'.split(): call('Torch.' + n, getattr(T, n), P(5, 30))
call('Torch.clamp', T.clamp, R(5, 30), -.5, .8); call('Functional.dropout', f.dropout, R(6, 30), .3, True); call('Functional.dropout', f.dropout, R(6, 30), .3, False)
# of two, with axes that are repeated
x, y, row = R(3, 4, 17), R(3, 4, 17), R(17)
for n, g in (('add', T.add), ('sub', T.sub), ('mul', T.mul)): call('Torch.' + n, g, x, y); call('Torch.' + n, g, x, row); call('Torch.' + n, g, R(3, 1, 17), R(4, 1)); call('Torch.' + n, g, x, 1.75)
call('Torch.div', T.div, x, y.abs() + .3); call('Torch.div', T.div, x, row.abs() + .3); call('Torch.div', T.div, x, 3.); call('Torch.add', T.add, x, y, alpha=.5); call('Torch.sub', T.sub, x, y, alpha=.5)
call('Torch.addcmul', T.addcmul, x, y, R(3, 4, 17), value=.5); call('Tensor.pow', lambda a, n: a.pow(n), x, 2); call('Tensor.pow', lambda a, n: a.pow(n), P(5, 30), 2.5); call('Torch.maximum', T.maximum, x, y); call('Torch.minimum', T.minimum, x, row)
call('Torch.where', T.where, R(3, 4, 17) > 0, x, row); call('Tensor.masked_fill', lambda a, m, v: a.masked_fill(m, v), x, R(4, 17) > 0, -1e4)
call('Tensor.to', lambda a, t: a.to(t), x, torch.float32)
# lines
call('Torch.sum', T.sum, x); call('Torch.sum', T.sum, x, dim=1); call('Tensor.sum', lambda a, dim, keepdim: a.sum(dim, keepdim), x, (0, -1), True); call('Torch.mean', T.mean, x, -1); call('Torch.mean', T.mean, x); call('Tensor.mean', lambda a, dim, keepdim: a.mean(dim, keepdim), x, -1, True)
call('Torch.var', T.var, x, -1); call('Torch.var', T.var, x, dim=1, unbiased=False); call('Torch.logsumexp', T.logsumexp, x, -1); call('Torch.norm', T.norm, x, dim=-1)
call('Functional.softmax', f.softmax, x, -1); call('Functional.softmax', f.softmax, x, dim=1); call('Functional.log_softmax', f.log_softmax, x, -1)
# norms
call('Functional.layer_norm', f.layer_norm, x, (17,), P(17), R(17), 1e-5); call('Functional.layer_norm', f.layer_norm, x, (4, 17), P(4, 17), R(4, 17), 1e-3); call('Functional.layer_norm', f.layer_norm, x, (17,))
class RMSNorm(nn.Module):
    def __init__(s, n): super().__init__(); s.weight = nn.Parameter(P(n))
    def forward(s, x): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * s.weight
q = RMSNorm(17); call('Module.net.rms.RMSNorm', q, x, params=dict(q.named_parameters()))
call('NPU.npu_rms_norm', lambda a, w, e: a * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + e) * w, x, P(17), 1e-6)
m = R(2, 4, 7, 6)
call('Functional.batch_norm', f.batch_norm, m, None, None, P(4), R(4), True, .1, 1e-5); call('Functional.batch_norm', lambda a, b, c, *e: f.batch_norm(a, b.detach(), c.detach(), *e), m, R(4), P(4), P(4), R(4), False, .1, 1e-5); call('Functional.batch_norm', f.batch_norm, R(20, 4), None, None, P(4), R(4), True, .1, 1e-5)
call('Functional.group_norm', f.group_norm, m, 4, P(4), R(4), 1e-5); call('Functional.group_norm', f.group_norm, m, 2)
# products
call('Functional.linear', f.linear, R(4, 9, 20), R(30, 20), R(30)); call('Functional.linear', f.linear, R(9, 20), R(30, 20)); call('Functional.linear', f.linear, R(9, 20), R(30, 20), R(30), dt=T.float32, inside=T.bfloat16); call('Torch.matmul', T.matmul, R(2, 3, 9, 20), R(2, 3, 20, 7)); call('Torch.matmul', T.matmul, R(2, 3, 9, 20), R(20, 7)); call('Torch.bmm', T.bmm, R(3, 9, 20), R(3, 20, 7))
call('Torch.matmul', T.matmul, R(9, 20), R(20)); call('Torch.matmul', T.matmul, R(20), R(20, 7)); call('Torch.baddbmm', T.baddbmm, R(3, 9, 7), R(3, 9, 20), R(3, 20, 7), beta=.5, alpha=.25); call('Torch.addmm', T.addmm, R(7), R(9, 20), R(20, 7)); call('Tensor.__matmul__', lambda a, b: a @ b, R(3, 9, 20), R(3, 20, 7))
call('Functional.conv2d', f.conv2d, R(2, 4, 9, 8), R(6, 4, 3, 3), R(6), 2, 1); call('Functional.conv2d', f.conv2d, R(2, 4, 9, 8), R(6, 2, 3, 3), None, 1, (1, 2), 2, 2); call('Functional.conv2d', f.conv2d, R(2, 4, 9, 8), R(6, 4, 1, 1), R(6), dt=T.float32, inside=T.float16); call('Functional.conv1d', f.conv1d, R(2, 4, 30), R(6, 4, 3), R(6), 1, 1)
call('Functional.conv_transpose2d', f.conv_transpose2d, R(2, 4, 5, 6), R(4, 3, 3, 3), R(3), 2, 1)
# pools, and a pool of many equal elements
call('Functional.max_pool2d', f.max_pool2d, m, 2); call('Functional.max_pool2d', f.max_pool2d, R(2, 3, 9, 9), 3, 2, 1); call('Functional.max_pool2d', f.max_pool2d, (R(2, 3, 9, 9) * 2).round(), 3, 2, 1); call('Functional.avg_pool2d', f.avg_pool2d, R(2, 3, 9, 9), 3, 2, 1); call('Functional.avg_pool2d', f.avg_pool2d, m, 2, 2, 0, False, False)
call('Functional.adaptive_avg_pool2d', f.adaptive_avg_pool2d, m, (1, 1)); call('Functional.adaptive_avg_pool2d', f.adaptive_avg_pool2d, m, (3, 4))
# copies
call('Tensor.view', lambda a, *s: a.view(*s), x, 12, 17); call('Tensor.reshape', lambda a, *s: a.reshape(*s), x, -1); call('Tensor.transpose', lambda a, i, j: a.transpose(i, j), x, 0, 2); call('Tensor.permute', lambda a, *p: a.permute(*p), x, 1, 2, 0); call('Tensor.contiguous', lambda a: a.contiguous(), x); call('Torch.flatten', T.flatten, x, 1); call('Tensor.expand', lambda a, *s: a.expand(*s), R(1, 4, 17), 3, 4, 17); call('Tensor.repeat', lambda a, *s: a.repeat(*s), R(4, 17), 2, 1)
call('Torch.split', T.split, x, 6, -1); call('Torch.chunk', T.chunk, x, 3, -1); call('Tensor.__getitem__', lambda a, i: a[tuple(i)], x, [slice(None), 0]); call('Tensor.__getitem__', lambda a, i: a[tuple(i)], x, [Ellipsis, slice(None, 9)]); call('Tensor.__getitem__', lambda a, i: a[i], R(9, 7), I(9, 20)); call('Tensor.select', lambda a, d, i: a.select(d, i), x, 1, -2); call('Torch.narrow', T.narrow, x, 1, 1, 3)
call('Torch.roll', T.roll, x, 2, 1); call('Torch.flip', T.flip, x, (0, 2)); call('Functional.pad', f.pad, x, (1, 2)); call('Functional.pad', f.pad, R(2, 3, 9), (1, 2), 'reflect'); call('Torch.gather', T.gather, x, 1, I(4, 3, 2, 17)); call('Torch.index_select', T.index_select, x, 1, I(4, 9)); call('Torch.tril', T.tril, R(7, 7)); call('Torch.unbind', T.unbind, R(3, 4, 5), 1)
call('Functional.embedding', lambda i, w, p: f.embedding(i, w, p), I(19, 3, 14), R(19, 12), None); call('Functional.embedding', lambda i, w, p: f.embedding(i, w, p), I(19, 30), R(19, 12), 3)
# losses
lg, lab = R(8, 11), I(11, 8); lab2 = lab.clone(); lab2[2] = -100
call('Functional.cross_entropy', f.cross_entropy, lg, lab); call('Functional.cross_entropy', f.cross_entropy, lg, lab2, reduction='sum', label_smoothing=.1); call('Functional.cross_entropy', f.cross_entropy, lg, lab2, reduction='none'); call('Functional.cross_entropy', lambda a, b, w: f.cross_entropy(a, b, w.detach()), lg, lab, P(11)); call('Functional.cross_entropy', f.cross_entropy, R(2, 5, 6), I(5, 2, 6)); call('Functional.cross_entropy', lambda a, b: f.cross_entropy(a, b.detach()), lg, torch.softmax(R(8, 11), 1))
call('Functional.nll_loss', f.nll_loss, torch.log_softmax(lg, 1), lab2)
for n in 'mse_loss l1_loss smooth_l1_loss binary_cross_entropy_with_logits'.split():
    for red in ('mean', 'sum', 'none'): call('Functional.' + n, lambda a, b, reduction, n=n: getattr(f, n)(a, b.detach(), reduction=reduction), R(5, 9), torch.rand(5, 9), reduction=red)
# modules, one of which runs twice and counts its backward calls in their own order; a call that runs twice in the forward pass
q = nn.Linear(20, 30); call('Module.net.fc.Linear', q, R(9, 20), params=dict(q.named_parameters())); q = nn.LayerNorm(17); call('Module.net.ln.LayerNorm', q, x, params=dict(q.named_parameters())); call('Module.net.act.GELU', nn.GELU(), x); q = nn.Conv2d(4, 6, 3, 2, 1); call('Module.net.conv.Conv2d', q, R(2, 4, 9, 8), params=dict(q.named_parameters())); call('Module.net.pool.MaxPool2d', nn.MaxPool2d(2), m)
call('Module.net.twice.SiLU', nn.SiLU(), x, order=(1, 0)); call('Module.net.twice.GELU', nn.GELU(), x, order=(1, 0)); call('Module.net.twice.ReLU', nn.ReLU(), x, order=(2, 1, 0))
# steps of an optimiser: the states before and after the step
p = nn.Parameter(R(12, 9)); opt = torch.optim.AdamW([p], 1e-3, weight_decay=.01); n = 'NPU.npu_apply_adam_w.0.forward'
for i in range(2): p.grad = R(12, 9); s = opt.state.get(p); before = [p.detach().clone()] + [s[q].clone() if s else torch.zeros(12, 9) for q in ('exp_avg', 'exp_avg_sq')]; opt.step()
s = opt.state[p]; after = [p.detach(), s['exp_avg'], s['exp_avg_sq']]
if fault: after[0] = damaged(after[0])
data[n] = dict(input_args=[walk(v, '%s.input.%d' % (n, i)) for i, v in enumerate([.9, .999, 1e-3, .01, .9, .999, 1e-8, p.grad, None, False, False])], input_kwargs=dict(out=walk(before, n + '.input.out')), output=[walk(v, '%s.output.%d' % (n, i)) for i, v in enumerate(after)])
json.dump(dict(task='tensor', level='mix', framework='pytorch', dump_data_dir='/d', data=data), open(d + '/dump.json', 'w'))
