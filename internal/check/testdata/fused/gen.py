#!/usr/bin/python3
"""gen.py OUT [FAULT]: PyTorch 1.13. An msprobe tree of calls of torch_npu's fused functions in float32, float16 and bfloat16. Values are written out from the documents of
the functions, element by element or by plain functions of PyTorch in float64, and rounded once. FAULT: a block of each first output is zero, its second half is shifted by a
row, or all of it has another scale, by turns."""
import os, sys, json, math, numpy
os.environ.setdefault('OMP_NUM_THREADS', '1')
import torch
torch.manual_seed(1); torch.set_num_threads(1)
out, fault = sys.argv[1], len(sys.argv) > 2
d = out + '/step0/rank0'; os.makedirs(d + '/dump_tensor_data', exist_ok=True)
data, count = {}, {}
R, D = torch.randn, torch.float64
def I(n, *s): return torch.randint(0, n, s)
def entry(v, path):
    if isinstance(v, (list, tuple)): return [entry(q, '%s.%d' % (path, i)) for i, q in enumerate(v)]
    if v is None: return None
    if not torch.is_tensor(v): return dict(type='torch.dtype' if isinstance(v, torch.dtype) else type(v).__name__, value=v if isinstance(v, (bool, int, float, str)) else str(v))
    e = dict(type='torch.Tensor', dtype=str(v.dtype), shape=list(v.shape), requires_grad=False, data_name=path + ('.pt' if v.dtype == torch.bfloat16 else '.npy'))
    f = v.double(); e.update(Max=float(f.max()), Min=float(f.min()), Mean=float(f.mean()), Norm=float(f.norm())) if v.numel() and v.dtype != torch.bool else e.update(Max=None, Min=None, Mean=None, Norm=None)
    file = d + '/dump_tensor_data/' + e['data_name']
    if v.dtype == torch.bfloat16: torch.save(v.contiguous().clone(), file)
    else: numpy.save(file, v.contiguous().numpy())
    return e
def damaged(y, kind):
    y = y.clone().contiguous(); n = y.numel()
    if kind == 0: y.view(-1)[n // 4:n // 4 + max(2, n // 8)] = 0; return y
    if kind == 1: rows = y.view(-1, y.shape[-1]); h = rows.shape[0] // 2; rows[h:] = torch.roll(rows[h:], 1, 0) if h > 1 else rows[h:].flip(-1); return y
    return (y.double() * 1.25).round().to(y.dtype) if not y.is_floating_point() else (y.double() * 1.25).to(y.dtype)
def call(fn, f, *a, keep=(), types=(torch.float32, torch.float16, torch.bfloat16), **k):
    """f gets the arguments in float64; floating-point outputs are rounded to the type of the call, those of keep to float32"""
    for dt in types:
        low = lambda t: [low(q) for q in t] if isinstance(t, list) and t and torch.is_tensor(t[0]) else t.to(dt) if torch.is_tensor(t) and t.dtype == torch.float32 else t
        up = lambda t: [up(q) for q in t] if isinstance(t, list) and t and torch.is_tensor(t[0]) else t.to(D) if torch.is_tensor(t) and t.is_floating_point() else t
        args, kw = [low(t) for t in a], {q: low(v) for q, v in k.items()}
        y = f(*[up(t) for t in args], **{q: up(v) for q, v in kw.items()}); y = list(y) if isinstance(y, (list, tuple)) else [y]
        y = [t.to(torch.float32 if i in keep else dt) if torch.is_tensor(t) and t.dtype == D else t for i, t in enumerate(y)]
        n = sum(count.values())
        if fault: y[0] = damaged(y[0], n % 3)
        c = count.get(fn, 0); count[fn] = c + 1; name = 'NPU.%s.%d.forward' % (fn, c)
        data[name] = dict(input_args=[entry(v, '%s.input.%d' % (name, i)) for i, v in enumerate(args)], input_kwargs={q: entry(v, '%s.input.%s' % (name, q)) for q, v in kw.items()},
                          output=[entry(v, '%s.output.%d' % (name, i)) for i, v in enumerate(y)])
# attention, one score after the other
def heads(t, layout, n):
    if layout == 'BSH': b, s, h = t.shape; return t.view(b, s, n, h // n).transpose(1, 2)
    if layout == 'SBH': s, b, h = t.shape; return t.view(s, b, n, h // n).permute(1, 2, 0, 3)
    return t.transpose(1, 2) if layout == 'BSND' else t
def back(t, layout):
    b, n, s, e = t.shape
    if layout == 'BSH': return t.transpose(1, 2).reshape(b, s, n * e)
    if layout == 'SBH': return t.permute(2, 0, 1, 3).reshape(s, b, n * e)
    return t.transpose(1, 2) if layout == 'BSND' else t
def attend(q, k, v, heads_, layout, scale, allowed=lambda b, i, j: True, pse=None, first=False):
    kv = q.shape[-1] // heads_ if layout in ('BSH', 'SBH') else 0
    n = k.shape[-1] // kv if kv else 0
    q, k, v = heads(q, layout.split('_')[0], heads_), heads(k, layout.split('_')[0], n), heads(v, layout.split('_')[0], n)
    b, n, s, e = q.shape; g = n // k.shape[1]; y = torch.zeros(b, n, s, v.shape[3], dtype=D); top = torch.zeros(b, n, s, 8, dtype=D); sums, lse = top.clone(), torch.zeros(b, n, s, 1, dtype=D)
    for B in range(b):
        for N in range(n):
            for i in range(s):
                z = [float(q[B, N, i] @ k[B, N // g, j]) for j in range(k.shape[2])]
                p = [float(pse[B % pse.shape[0], N, i, j]) if pse is not None else 0. for j in range(len(z))]
                z = [scale * (a + c) if first else scale * a + c for a, c in zip(z, p)]
                z = [a if allowed(B, i, j) else -math.inf for j, a in enumerate(z)]; m = max(z)
                if m == -math.inf: continue
                w = [math.exp(a - m) for a in z]; t = sum(w)
                y[B, N, i] = sum(x / t * v[B, N // g, j] for j, x in enumerate(w)); top[B, N, i], sums[B, N, i], lse[B, N, i] = m, t, m + math.log(t)
    return back(y, layout.split('_')[-1]), top, sums, lse
q, k, v = R(2, 2, 4, 8), R(2, 1, 7, 8), R(2, 1, 7, 8); s = .25
lay = lambda t, l: back(t, l).contiguous()
for l in ('BNSD', 'BSND', 'BSH'):
    call('npu_prompt_flash_attention', lambda q, k, v, num_heads, input_layout, scale_value, **_: attend(q, k, v, num_heads, input_layout, scale_value)[0], lay(q, l), lay(k, l), lay(v, l), num_heads=2, input_layout=l, scale_value=s, num_key_value_heads=1)
call('npu_prompt_flash_attention', lambda q, k, v, **_: attend(q, k, v, 2, 'BSH', 1.)[0], lay(q * .3, 'BSH'), lay(k, 'BSH'), lay(v, 'BSH'), num_heads=2, num_key_value_heads=1)
call('npu_prompt_flash_attention', lambda q, k, v, **_: attend(q, k, v, 2, 'BNSD_BSND', .5)[0], q, k, v, num_heads=2, scale_value=.5, input_layout='BNSD_BSND', num_key_value_heads=1)
mask = torch.rand(2, 4, 7) > .7; mask[:, :, 0] = False
call('npu_prompt_flash_attention', lambda q, k, v, atten_mask, **_: attend(q, k, v, 2, 'BNSD', s, lambda b, i, j: not atten_mask[b, i, j])[0], q, k, v, atten_mask=mask, num_heads=2, input_layout='BNSD', scale_value=s, next_tokens=65535, num_key_value_heads=1)
call('npu_prompt_flash_attention', lambda q, k, v, **_: attend(q, k, v, 2, 'BNSD', s, lambda b, i, j: j < (7, 4)[b] and i < (4, 3)[b])[0], q, k, v, actual_seq_lengths=[4, 3], actual_seq_lengths_kv=[7, 4], num_heads=2, input_layout='BNSD', scale_value=s, num_key_value_heads=1)
big = torch.triu(torch.ones(16, 16), 1).bool()
for mode, far in ((2, 0), (3, 3)):
    call('npu_prompt_flash_attention', lambda q, k, v, **_: attend(q, k, v, 2, 'BNSD', s, lambda b, i, j: j <= i + far)[0], q, k, v, atten_mask=big, num_heads=2, input_layout='BNSD', scale_value=s, sparse_mode=mode, num_key_value_heads=1)
call('npu_prompt_flash_attention', lambda q, k, v, **_: attend(q, k, v, 2, 'BNSD', s, lambda b, i, j: i + 3 - 2 <= j <= i + 3 + 1)[0], q, k, v, atten_mask=big, num_heads=2, input_layout='BNSD', scale_value=s, sparse_mode=4, pre_tokens=2, next_tokens=1, num_key_value_heads=1)
pse = R(1, 2, 4, 7)
call('npu_prompt_flash_attention', lambda q, k, v, pse_shift, **_: attend(q, k, v, 2, 'BNSD', s, pse=pse_shift)[0], q, k, v, pse_shift=pse, num_heads=2, input_layout='BNSD', scale_value=s, num_key_value_heads=1)
call('npu_incre_flash_attention', lambda q, k, v, **_: attend(q, k, v, 2, 'BSH', s, lambda b, i, j: j < (7, 3)[b])[0], lay(q[:, :, :1], 'BSH'), lay(k, 'BSH'), lay(v, 'BSH'), num_heads=2, num_key_value_heads=1, scale_value=s, actual_seq_lengths=[7, 3])
call('npu_fused_infer_attention_score', lambda q, k, v, **_: [attend(q, k, v, 2, 'BNSD', s)[i] for i in (0, 3)], q, k, v, num_heads=2, num_key_value_heads=1, scale=s, input_layout='BNSD', softmax_lse_flag=True, keep=(1,))
call('npu_fused_infer_attention_score', lambda q, k, v, **_: [attend(q, k, v, 2, 'BSND', s)[0], torch.zeros(1)], lay(q, 'BSND'), lay(k, 'BSND'), lay(v, 'BSND'), num_heads=2, num_key_value_heads=1, scale=s, input_layout='BSND', keep=(1,))
for first in (1, 0):
    call('npu_fusion_attention_v2', lambda q, k, v, n, l, pse, **_: list(attend(q, k, v, 2, 'SBH', s, pse=pse, first=first)[:3]) + [torch.zeros(0), 0, 0, 0], lay(q, 'SBH'), lay(k, 'SBH'), lay(v, 'SBH'), 2, 'SBH', pse=pse, scale=s, keep=(1, 2), **({} if first else dict(pse_type=0)))
call('flash_attn_func', lambda q, k, v, causal: attend(q, k, v, 2, 'BSND', 8 ** -.5, lambda b, i, j: j <= i + 3)[0], lay(q, 'BSND'), lay(k, 'BSND'), lay(v, 'BSND'), causal=True)
# products
groups = torch.tensor([2, 2, 7])
def grouped(x, w, ends, bias=None):
    y = torch.zeros(x.shape[0], w.shape[2], dtype=D); b = 0
    for e, end in enumerate(ends): y[b:end] = x[b:end] @ w[e] + (bias[e] if bias is not None else 0); b = end
    return y
call('npu_grouped_matmul', lambda x, weight, bias, group_list, **_: [grouped(x[0], weight[0], group_list.tolist(), bias[0])], [R(7, 12)], [R(3, 12, 8)], bias=[R(3, 8)], group_list=groups, split_item=3, group_type=0)
call('npu_grouped_matmul', lambda x, weight, **_: [grouped(x[0], weight[0], [2, 3, 7])], [R(7, 12)], [R(3, 12, 8)], group_list=torch.tensor([2, 1, 4]), split_item=2, group_type=0, group_list_type=1)
call('npu_grouped_matmul', lambda x, weight, **_: [grouped(x[0], weight[0], [1, 4, 7])], [R(7, 12)], [R(3, 12, 8)], group_list=[1, 4, 7], split_item=3)
i8 = lambda *t: torch.randint(-20, 20, t).to(torch.int8); f32 = (torch.float32,); low = (torch.float16, torch.bfloat16)
real = torch.rand(9) * .01 + .001
a8, b8 = i8(6, 16), i8(16, 9)
product = lambda x, w: x.double() @ w.double()
call('npu_quant_matmul', lambda x, w, s, output_dtype: product(x, w) * s, a8, b8, real.bfloat16(), output_dtype=torch.bfloat16, types=low[1:])
call('npu_quant_matmul', lambda x, w, s, pertoken_scale, bias, output_dtype: (product(x, w) + bias) * s * pertoken_scale[:, None], a8, b8, real.bfloat16(), pertoken_scale=R(6).abs().bfloat16(), bias=I(99, 9).int(), output_dtype=torch.bfloat16, types=low[1:])
call('npu_quant_matmul', lambda x, w, s, pertoken_scale, bias, output_dtype: product(x, w) * s * pertoken_scale[:, None] + bias, a8, b8, real.bfloat16(), pertoken_scale=R(6).abs().bfloat16(), bias=R(9).bfloat16(), output_dtype=torch.bfloat16, types=low[1:])
call('npu_quant_matmul', lambda x, w, s, offset: (product(x, w) * s + offset).round().clamp(-128, 127).to(torch.int8), a8, b8, real * 10, offset=R(9).round(), types=f32)
call('npu_weight_quant_batchmatmul', lambda x, w, s, o, bias: x @ ((w.double() + o) * s) + bias, R(5, 16), b8, R(9).abs() * .1, R(9).round(), bias=R(9), types=low)
call('npu_weight_quant_batchmatmul', lambda x, w, s, antiquant_group_size: x @ (w.double() * s.repeat_interleave(8, 0)), R(5, 16), b8, R(2, 9).abs() * .1, antiquant_group_size=8, types=low)
# quantisation
m = R(4, 24) * 3
call('npu_quantize', lambda x, s, z, t, axis: (x / s + z).round().clamp(-128, 127).to(torch.int8), m, torch.rand(24) * .1 + .02, I(9, 24).int(), torch.qint8, 1, types=f32)
call('npu_quantize', lambda x, s, z, t, axis, div: (x * s).round().clamp(-128, 127).to(torch.int8), m, torch.rand(24) * 20 + 2, None, torch.qint8, -1, False)
call('npu_anti_quant', lambda x, s, dst_dtype=None: x.double() * s, i8(4, 24), torch.rand(24), dst_dtype=torch.bfloat16, types=low[1:])
call('npu_anti_quant', lambda x, s, offset: (x.double() + offset) * s, i8(4, 24), torch.rand(1).half().float(), offset=torch.tensor([3.]), types=low[:1])
def dynamic(x, smooth_scales=None):
    x = x if smooth_scales is None else x * smooth_scales; s = x.abs().amax(-1) / 127; return (x / s[..., None]).round().to(torch.int8), s
call('npu_dynamic_quant', dynamic, R(3, 5, 24), types=low, keep=(1,)); call('npu_dynamic_quant', dynamic, R(5, 24), smooth_scales=torch.rand(24) + .5, types=low, keep=(1,))
# experts
def by_size(v, k): return sorted(range(len(v)), key=lambda e: -v[e])[:k]
def gate(x, finished=None, k=1):
    p = torch.softmax(x, 1); idx = torch.tensor([by_size(r, k) for r in p.tolist()]); n = x.shape[0]; rows = torch.tensor([[j * n + i for j in range(k)] for i in range(n)]); y = p.gather(1, idx)
    if finished is not None: idx[finished] = x.shape[1]
    return y, idx.int(), rows.int()
call('npu_moe_gating_top_k_softmax', gate, R(6, 16), None, 3); call('npu_moe_gating_top_k_softmax', gate, I(3, 6, 16).float(), k=4); call('npu_moe_gating_top_k_softmax', gate, R(6, 16), torch.tensor([0, 0, 0, 0, 1, 1]).bool(), 3)
def gate2(x, k, bias=None, k_group=1, group_count=1, group_select_mode=0, norm_type=0, routed_scaling_factor=1., **_):
    p = 1 / (1 + torch.exp(-x)) if norm_type else torch.softmax(x, 1); z = p + bias if bias is not None else p; idx = []
    for r in z.tolist():
        e = len(r) // group_count; score = [max(r[g * e:g * e + e]) if group_select_mode == 0 else sum(sorted(r[g * e:g * e + e])[-2:]) for g in range(group_count)]; ok = by_size(score, k_group)
        idx.append(by_size([a if i // e in ok else -math.inf for i, a in enumerate(r)], k))
    idx = torch.tensor(idx); y = p.gather(1, idx); y = y / (y.sum(1, True) + 1e-20) if norm_type else y
    return y * routed_scaling_factor, idx.int(), p
call('npu_moe_gating_top_k', gate2, R(6, 32), 4, bias=R(32), k_group=2, group_count=4, group_select_mode=1, norm_type=1, routed_scaling_factor=2.5, out_flag=True, keep=(2,)); call('npu_moe_gating_top_k', gate2, R(6, 16), 3, out_flag=True, keep=(2,)); call('npu_moe_gating_top_k', gate2, R(6, 32), k=4, bias=R(32) * .1, k_group=1, group_count=4, keep=(2,), out_flag=True)
def route(x, row_idx, expert_idx, active_num):
    n, k = expert_idx.shape; pairs = sorted(zip(expert_idx.view(-1).tolist(), row_idx.view(-1).tolist())); place = [0] * (n * k)
    for i, (_, r) in enumerate(pairs): place[r] = i
    return torch.stack([x[r % n] for _, r in pairs[:min(n, active_num) * k]]), torch.tensor(place).int(), torch.tensor([e for e, _ in pairs]).int()
experts = I(5, 6, 2).int(); rows = torch.arange(12).view(2, 6).T.contiguous().int()
call('npu_moe_init_routing', route, R(6, 10), rows, experts, 6); call('npu_moe_init_routing', lambda *a, **k: route(*a, **k), R(6, 10), rows, experts, active_num=4)
def finish(x, a, b, bias, scales, row, expert, drop_pad_mode=0):
    n = scales.shape[0]; k = scales.shape[1]; y = torch.zeros(n, x.shape[-1], dtype=D); x = x.reshape(-1, x.shape[-1])
    for i in range(n):
        if a is not None: y[i] += a[i]
        if b is not None: y[i] += b[i]
        for j in range(k):
            at = int(row[i * k + j] if drop_pad_mode > 1 else row[j * n + i]); t = x[at].clone() if at >= 0 else torch.zeros(x.shape[1], dtype=D)
            y[i] += scales[i, j] * (t + (bias[int(expert[i, j])] if bias is not None else 0))
    return y
perm = torch.randperm(12).int()
call('npu_moe_finalize_routing', finish, R(12, 10), R(6, 10), R(6, 10), R(5, 10), R(6, 2), perm, experts); call('npu_moe_finalize_routing', finish, R(12, 10), None, None, None, R(6, 2), perm, None, drop_pad_mode=2)
# norms, gates, moves
gelu = lambda t, tanh: .5 * t * (1 + (torch.tanh(math.sqrt(2 / math.pi) * (t + .044715 * t ** 3)) if tanh else torch.erf(t / math.sqrt(2))))
def geglu(x, dim=-1, approximate=1, activate_left=False):
    a, b = x.chunk(2, dim); g = gelu(a if activate_left else b, approximate); return g * (b if activate_left else a), g
call('npu_geglu', geglu, R(4, 6, 16)); call('npu_geglu', geglu, R(4, 6, 16), 1, 0); call('npu_geglu', geglu, R(4, 16), activate_left=True)
def group_silu(x, w, b, group, eps=1e-5):
    g = x.view(x.shape[0], group, -1); mean = g.mean(2, True); rstd = 1 / ((g - mean).square().mean(2, True) + eps).sqrt(); y = ((g - mean) * rstd).view(x.shape)
    y = y * w.view(1, -1, 1, 1) + b.view(1, -1, 1, 1) if w is not None else y
    return y / (1 + torch.exp(-y)), mean[:, :, 0], rstd[:, :, 0]
call('npu_group_norm_silu', group_silu, R(3, 8, 5, 4), R(8), R(8), 4); call('npu_group_norm_silu', group_silu, R(3, 8, 5, 4), None, None, 2, 1e-3)
def norm(z, gamma, beta, eps): mean = z.mean(-1, True); rstd = 1 / ((z - mean).square().mean(-1, True) + eps).sqrt(); return (z - mean) * rstd * gamma + beta, mean, rstd
def deep(x, gx, beta, gamma, alpha=.3, epsilon=1e-6): y, mean, rstd = norm(alpha * x + gx, gamma, beta, epsilon); return y, mean, rstd
call('npu_deep_norm', lambda *a, **k: [deep(*a, **k)[i] for i in (1, 2, 0)], R(3, 4, 16), R(3, 4, 16), R(16), R(16), keep=(0, 1)); call('npu_deep_norm', lambda *a, **k: [deep(*a, **k)[i] for i in (1, 2, 0)], R(5, 16), R(5, 16), R(16), R(16), .81, 1e-5, keep=(0, 1))
def add_norm(a, b, g, beta, epsilon=1e-5, additional_output=False): return (*norm(a + b, g, beta, epsilon), a + b if additional_output else torch.zeros(0))
call('npu_add_layer_norm', add_norm, R(3, 4, 16), R(3, 4, 16), R(16), R(16), 1e-5, True, keep=(1, 2)); call('npu_add_layer_norm', add_norm, R(5, 16), R(5, 16), R(16), R(16), keep=(1, 2))
def add_rms(a, b, g, epsilon=1e-6): z = a + b; rstd = 1 / (z.square().mean(-1, True) + epsilon).sqrt(); return z * rstd * g, rstd, z
call('npu_add_rms_norm', add_rms, R(3, 4, 16), R(3, 4, 16), R(16), keep=(1,)); call('npu_add_rms_norm', add_rms, R(5, 16), R(5, 16), R(16), 1e-3, keep=(1,))
mk = torch.rand(2, 1, 6, 8) > .6; mk[..., 0] = False
call('npu_scaled_masked_softmax', lambda x, mask, scale=1., fixed_triu_mask=False: torch.softmax((x * scale).masked_fill(mask, -math.inf), -1), R(2, 3, 6, 8), mk, .7); call('npu_scaled_masked_softmax', lambda x, mask: torch.softmax(x.masked_fill(mask, -math.inf), -1), R(2, 3, 6, 8), mk)
def turn(x, cos, sin, mode=0):
    if mode == 3: x = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    if mode == 1: r = torch.stack((-x[..., 1::2], x[..., ::2]), -1).view(x.shape)
    elif mode == 2: a, b, c, e = x.chunk(4, -1); r = torch.cat((-b, a, -e, c), -1)
    else: a, b = x.chunk(2, -1); r = torch.cat((-b, a), -1)
    return x * cos + r * sin
for mode in range(4): call('npu_rotary_position_embedding', turn, R(2, 3, 5, 16), R(1, 1, 5, 16), R(1, 1, 5, 16), *([mode] if mode else []))
call('npu_confusion_transpose', lambda x, perm, shape, first: x.permute(perm).reshape(shape) if first else x.view(shape).permute(perm), R(4, 3, 6), (1, 0, 2), (3, 24), True); call('npu_confusion_transpose', lambda x, perm, shape, first: x.view(shape).permute(perm), R(4, 18), (0, 2, 1), (4, 3, 6), False)
def one_hot(x, num_classes=-1, depth=1, on_value=1, off_value=0): return torch.where(x[:, None] == torch.arange(depth), torch.tensor(float(on_value)), torch.tensor(float(off_value)))
call('npu_one_hot', one_hot, I(5, 9).int(), depth=5, types=f32); call('npu_one_hot', one_hot, I(5, 9).int(), -1, 5, 2., .5, types=f32)
call('npu_dtype_cast', lambda x, t: x.to(torch.float16), R(5, 9), torch.float16, types=f32); call('npu_format_cast', lambda x, f: x, R(5, 9), 29)
json.dump(dict(task='tensor', level='L1', framework='pytorch', dump_data_dir='', data=data), open(d + '/dump.json', 'w'))
