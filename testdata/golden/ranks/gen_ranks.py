#!/usr/bin/env python3
"""Simulates a small transformer on many ranks and writes what dumps of it look like.

  gen_ranks.py OUT SEED [--family NAME] [--form NAME] [--fault KIND] [--quirk NAME]

writes OUT/run (all ranks), OUT/ref (the same network on one rank) and OUT/truth.json. The same
arguments give the same bytes. Needs numpy only.

Families: dense (tensor, context, data and pipeline parallel), mesh (three and more groups), moe
(experts on several ranks, with tensor parallelism beside them), stages (the stages of the
pipeline have different operators), programs (two networks in folders of one run).
Forms: msprobe (dump.json, groups and order known), npy (arrays only: neither groups nor order),
hcom (arrays with the names of CANN: HcomAllReduce, MatMulV2; order by timestamps), mapping (hcom
with short names and a mapping.csv).
Quirks are healthy runs that look odd."""
import csv, json, math, os, sys, zlib
import numpy as np

FAMILIES = ['dense', 'mesh', 'moe', 'stages', 'programs']
FORMS = ['msprobe', 'npy', 'hcom', 'mapping']
OPERATOR = ['op_scale', 'op_rows', 'op_elem', 'op_nan', 'act_bit', 'route']
KINDS = OPERATOR + ['weight_bit', 'weight_stale_layer', 'ar_missing', 'ar_double', 'ar_avg', 'link', 'ag_swap', 'ag_stale',
                    'rs_offset', 'a2a_swap', 'bcast', 'recv_stale', 'recv_corrupt', 'cp_order', 'desync_weights',
                    'desync_data', 'expert_place', 'grad_missing',
                    # beside the 24 above: damaged receives, functions with a root, calls that are not there
                    'recv_zero', 'recv_half', 'recv_nan', 'not_reduced', 'not_averaged', 'max_missing', 'reduce_missing',
                    'gather_swap', 'scatter_part', 'sent_other', 'calls_differ', 'ar_stale']
QUIRKS = ['low_precision', 'late_input', 'truncate', 'same_batch', 'same_data', 'zero_grads', 'step_missing', 'rank_missing',
          'overflow', 'noise', 'dropout', 'quiet']
WORLDS = {  # sizes of tp, cp, dp, pp
    'dense': [(2,1,1,1), (4,1,1,1), (1,1,2,1), (1,1,4,1), (2,1,2,1), (2,1,1,2), (1,1,2,2), (4,1,2,1), (1,2,1,1), (2,2,1,1),
              (1,2,2,1), (1,4,1,1), (1,1,1,4), (1,1,3,1)],
    'mesh': [(2,1,2,2), (2,2,2,1), (2,2,1,2), (1,2,2,2), (2,1,1,4)],
    'moe': [(1,1,2,1), (1,1,4,1), (1,1,2,2), (2,1,2,1), (2,1,4,1), (2,1,2,2), (1,1,4,2)],
    'stages': [(1,1,1,2), (2,1,1,2), (1,1,2,2), (2,1,2,2), (1,2,1,2)],
    'programs': [(2,1,1,1), (1,1,2,1), (2,1,2,1), (1,1,3,1)]}


def bf16(x):
    x = np.ascontiguousarray(x, np.float32)
    u = x.view(np.uint32)
    rounded = ((u + ((u >> 16) & 1) + np.uint32(0x7fff)) & np.uint32(0xffff0000)).view(np.float32)
    return np.where(np.isfinite(x), rounded, x)

def fp16(x):
    with np.errstate(over='ignore'):
        return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)

def fp32(x): return np.asarray(x, np.float32)
def bf16_cut(x): return (np.ascontiguousarray(x, np.float32).view(np.uint32) & np.uint32(0xffff0000)).view(np.float32)

def mul(a, b):
    """Product in float64, rounded once: the same bits on every processor."""
    return (np.asarray(a, np.float64) @ np.asarray(b, np.float64)).astype(np.float32)

def einsum(t, a, b): return np.einsum(t, np.asarray(a, np.float64), np.asarray(b, np.float64)).astype(np.float32)
def exp(x): return np.exp(np.asarray(x, np.float64)).astype(np.float32)
def gelu(x): return (x*0.5*(1 + np.vectorize(math.erf)(np.asarray(x, np.float64)/math.sqrt(2)))).astype(np.float32)


class Config:
    @property
    def world(c): return c.tp*c.cp*c.dp*c.pp

def config(seed, family=None, quirk=None):
    g, c = np.random.default_rng([7, seed]), Config()
    c.seed, c.quirk = seed, quirk
    c.family = family or FAMILIES[seed % len(FAMILIES)]
    worlds = WORLDS[c.family]
    c.tp, c.cp, c.dp, c.pp = worlds[g.integers(len(worlds))]
    c.moe = c.family == 'moe'
    c.ep = 2 if c.moe else 1
    c.sp = bool(c.tp > 1 and g.random() < .5)
    c.split_experts = bool(c.moe and c.tp > 1 and not c.sp)
    c.dtype = 'bf16' if g.random() < .7 else 'fp16'
    if quirk in ('overflow', 'truncate'): c.dtype = {'overflow': 'fp16', 'truncate': 'bf16'}[quirk]
    c.layout = 'vllm' if g.random() < .5 else 'mcore'     # of q, k and v in one weight
    c.algorithm = str(g.choice(['ring', 'tree', 'mesh']))  # order of sums
    c.wide_sums = bool(g.random() < .5)
    c.lists = bool(g.random() < .3)                        # all_gather, reduce_scatter with lists
    c.pairs = str(g.choice(['send', 'isend', 'batch']))
    c.average = bool(g.random() < .4)                      # gradients are averaged by the communication
    c.roots = bool(g.random() < .5)                        # reduce, gather and scatter with a root
    c.loss = bool(g.random() < .6)                         # maximum and sum over a vocabulary that is cut
    c.clip = bool(g.random() < .5)                         # one sum over all ranks, without a group
    c.layers, c.hidden, c.head, c.heads = 4, 32, 8, 8
    c.kv = int(g.choice([2, 4])) if c.layout == 'vllm' else int(max(c.tp, 4))
    c.inner, c.length, c.batch, c.vocabulary, c.words = 48, 16, 2, 96, 90
    c.experts, c.top, c.steps = 4, 2, 2
    c.stages = c.pp if c.family == 'stages' else 0
    c.scale = 1.                                           # of gradients before they are added up
    return c

def first_stage(c, layer): return c.stages and layer < c.layers//c.stages


def weights(c):
    g = np.random.default_rng([11, c.seed])
    R = bf16 if c.dtype == 'bf16' else fp16
    w = {}
    def matrix(o, i, scale=1.): return R(g.standard_normal((o, i))*scale/np.sqrt(i))
    e = g.standard_normal((c.vocabulary, c.hidden)); e[c.words:] = 0
    w['emb'], w['out'] = R(e), matrix(c.vocabulary, c.hidden, 2.)
    w['out'][c.words:] = 0
    for l in range(c.layers):
        for k in ('n1', 'n2'): w[l, k] = R(1 + .2*g.standard_normal(c.hidden))
        if first_stage(c, l):
            for k in ('b1', 'b2'): w[l, k] = R(.2*g.standard_normal(c.hidden))
        w[l, 'q'] = matrix(c.heads*c.head, c.hidden)
        w[l, 'k'], w[l, 'v'] = matrix(c.kv*c.head, c.hidden), matrix(c.kv*c.head, c.hidden)
        w[l, 'o'] = matrix(c.hidden, c.heads*c.head)
        if c.moe and l % 2:
            w[l, 'r'] = matrix(c.experts, c.hidden, 3.)
            for e in range(c.experts):
                w[l, 'g', e], w[l, 'u', e], w[l, 'd', e] = matrix(c.inner, c.hidden), matrix(c.inner, c.hidden), matrix(c.hidden, c.inner)
        else:
            w[l, 'g'], w[l, 'u'], w[l, 'd'] = matrix(c.inner, c.hidden), matrix(c.inner, c.hidden), matrix(c.hidden, c.inner)
    w['nf'] = R(1 + .2*g.standard_normal(c.hidden))
    return w


class Op:
    """A call of a rank. Tensors are pairs of a path, such as input.0, and an array; kw are other arguments."""
    def __init__(s, name, rank, step, ins, outs, **k):
        s.name, s.rank, s.step, s.ins, s.outs = name, rank, step, list(ins), list(outs)
        s.params, s.api, s.group, s.red, s.root, s.peer, s.mod, s.key, s.wide = [], None, None, None, None, None, '', None, False
        for a, v in k.items(): setattr(s, a, v)


class Sim:
    def __init__(s, c, fault=None, tokens=None):
        s.c, s.fault, s.tokens = c, fault, tokens
        s.R = bf16 if c.dtype == 'bf16' else fp16
        s.ops, s.hit, s.calls, s.held = {}, None, {}, {}

    # Ranks: tp fastest, then cp, dp, pp; ep is the low part of dp.
    def place(s, r): c = s.c; return r % c.tp, r//c.tp % c.cp, r//c.tp//c.cp % c.dp, r//c.tp//c.cp//c.dp
    def rank(s, t, p, d, q): c = s.c; return t + c.tp*(p + c.cp*(d + c.dp*q))
    def group(s, r, axis):
        c = s.c; t, p, d, q = s.place(r)
        if axis == 'tp': return [s.rank(i, p, d, q) for i in range(c.tp)]
        if axis == 'cp': return [s.rank(t, i, d, q) for i in range(c.cp)]
        if axis == 'ep': return [s.rank(t, p, d//c.ep*c.ep + i, q) for i in range(c.ep)]
        if axis == 'dp': return [s.rank(t, p, i, q) for i in range(c.dp)]
        if axis == 'dpcp': return [s.rank(t, j, i, q) for i in range(c.dp) for j in range(c.cp)]
        return list(range(c.world))

    def struck(s, r, name, *kinds):
        """Whether a call of a rank has the fault, one of these kinds."""
        f = s.fault
        return bool(f and f['kind'] in kinds and f['step'] == s.step and f['rank'] == r and f['op'] == name)
    def rng(s): return np.random.default_rng([17, s.fault['seed']])
    def add(s, op): s.ops.setdefault((s.step, op.rank), []).append(op)

    # Operators.
    def damage(s, o):
        """The output of an operator with a fault."""
        g, kind, o = s.rng(), s.fault['kind'], o.copy()
        s.hit, flat, rows = s.fault, o.reshape(-1), o.reshape(-1, o.shape[-1])
        if kind == 'op_scale': return s.R(o*g.choice([.5, 1.3, 2., -1.]))
        if kind == 'route': return s.R(o*np.float32(.6)) if g.random() < .5 else np.ascontiguousarray(np.roll(o, 1, axis=-1))
        if kind == 'op_rows':
            i = g.integers(len(rows)); rows[i] = s.R(rows[i]*.1 + 1.5*np.std(o)*g.standard_normal(rows.shape[1]))
        elif kind == 'op_elem':
            i = g.choice(flat.size, 3, replace=False); flat[i] = s.R(flat[i] + 12*np.std(o))
        elif kind == 'op_nan': flat[g.integers(flat.size)] = np.nan
        elif kind == 'act_bit':
            flat.view(np.uint32)[int(np.argmax(np.abs(flat)))] ^= np.uint32(1 << int(g.choice([29, 26, 25, 24])))
        return o
    def op(s, ranks, base, f, key=None, pre='Module.module.module.'):
        out = {}
        for r in ranks:
            name = f'{pre}{base}.forward.0'
            ins, params, outs = f(r)
            if s.c.quirk == 'noise' and r % 2 and outs[0].dtype == np.float32 and 'Norm' in base:  # another order of sums on this device
                a = outs[0].copy(); flat = a.reshape(-1); flat[::37] = s.R(flat[::37]*np.float32(1 + (2.**-8 if s.c.dtype == 'bf16' else 2.**-11))); outs = [a] + outs[1:]
            if s.c.quirk == 'dropout' and base.endswith('DotProductAttention'):
                keep = np.random.default_rng([29, s.c.seed, s.step, r, zlib.crc32(base.encode())]).random(outs[0].shape) < .9
                outs = [s.R(np.where(keep, outs[0]/np.float32(.9), 0))]
            if s.struck(r, name, *OPERATOR): outs = [s.damage(outs[0])] + outs[1:]
            s.add(Op(name, r, s.step, [('input.%d' % i, a) for i, a in enumerate(ins)], [('output.%d' % i, a) for i, a in enumerate(outs)],
                     params=[('parameters.' + n, a) for n, a in params], key=key))
            out[r] = outs[0] if len(outs) == 1 else outs
        return out

    # Communication.
    def total(s, xs, me, R, wide):
        """The sum of a group, in the order and precision of the algorithm."""
        c, n = s.c, len(xs)
        if c.quirk == 'truncate' and not wide: R, keep = bf16_cut, bf16_cut
        else: keep = fp32 if c.wide_sums or wide else R
        if c.algorithm == 'mesh':  # every member begins with its own
            a = xs[me]
            for i in range(1, n): a = keep(a + xs[(me+i) % n])
            return R(a)
        if c.algorithm == 'tree':
            l = list(xs)
            while len(l) > 1: l = [keep(l[i] + l[i+1]) if i+1 < len(l) else l[i] for i in range(0, len(l), 2)]
            return R(l[0])
        flat = [x.reshape(-1) for x in xs]
        o, cut = np.empty_like(flat[0]), np.linspace(0, flat[0].size, n+1).astype(int)
        for k in range(n):
            part = slice(cut[k], cut[k+1]); a = flat[(k+1) % n][part]
            for i in range(2, n+1): a = keep(a + flat[(k+i) % n][part])
            o[part] = R(a)
        return o.reshape(xs[0].shape)
    def reduced(s, xs, me, red, wide):
        R = fp32 if wide else s.R
        with np.errstate(all='ignore'):
            if red == 'max': return np.max(np.stack(xs), 0)
            if s.c.quirk == 'low_precision' and not wide:  # eight bits a number
                scale = max(float(np.abs(x).max()) for x in xs)/127 or 1.
                xs = [np.round(x/scale).astype(np.float32)*np.float32(scale) for x in xs]
            y = s.total(xs, me, R, wide)
            return R(y/np.float32(len(xs))) if red == 'avg' else y
    def call(s, api, r):
        k = (s.step, r, api); n = s.calls.get(k, 0); s.calls[k] = n+1
        return f'Distributed.{api}.{n}.forward'
    def comm(s, api, ranks, axis, x, mod='', red='sum', wide=False):
        """One call of a function on each rank: x are the inputs, the outputs are returned."""
        c, out = s.c, {}
        names = {r: s.call(api, r) for r in ranks}
        pattern = {'_reduce_scatter_base': 'reduce_scatter', 'reduce_scatter_tensor': 'reduce_scatter', 'all_gather_into_tensor': 'all_gather'}.get(api, api)
        for r in ranks:
            G = s.group(r, axis); me, n = G.index(r), len(G); xs = [x[q] for q in G]
            f = s.fault if s.fault and s.fault['step'] == s.step and s.fault['op'] == names[r] and s.fault['rank'] in G and s.fault['group'] == G else None
            kind, mine, j = f and f['kind'], bool(f and f['rank'] == r), G.index(f['rank']) if f else None
            role = (api, axis, r, str(xs[0].shape), mod.split('.')[-1]); before = s.held.get(role)
            if pattern in ('all_reduce', 'reduce_scatter', 'reduce'):
                ys, how = xs, red
                if kind in ('ar_missing', 'grad_missing', 'max_missing', 'reduce_missing'): ys = [a for i, a in enumerate(xs) if i != j]; s.hit = f
                if kind == 'ar_double': ys = xs + [xs[j]]; s.hit = f
                if mine and kind == 'ar_avg': how = 'avg'; s.hit = f
                if mine and kind == 'not_averaged': how = 'sum'; s.hit = f
                y = s.reduced(ys, me if ys is xs else 0, how, wide)
                if red == 'avg' and len(ys) != n: y = s.R(y*np.float32(len(ys))/np.float32(n))
                if mine and kind == 'not_reduced': y = xs[me].copy(); s.hit = f
                if pattern == 'reduce_scatter':
                    i = (me+1) % n if mine and kind == 'rs_offset' else me
                    if i != me: s.hit = f
                    y = np.ascontiguousarray(np.split(y, n, axis=0)[i])
                if pattern == 'reduce' and me: y = xs[me].copy()
            elif pattern in ('all_gather', 'gather'):
                ys = list(xs)
                if mine and kind in ('ag_swap', 'gather_swap'):
                    i, k = (me+1) % n, (me+2) % n if n > 2 else me
                    ys[i], ys[k], s.hit = ys[k], ys[i], f
                if mine and kind == 'ag_stale' and before is not None:
                    i, rows = (me+1) % n, xs[0].shape[0]
                    ys[i], s.hit = before[i*rows:(i+1)*rows], f
                if kind == 'sent_other': ys[j], s.hit = s.R(ys[j]*np.float32(1.5)), f
                y = np.concatenate(ys, 0)
            elif pattern == 'broadcast':
                y = xs[0].copy()
                if mine and kind == 'bcast' and me: y, s.hit = x[r].copy(), f
                if kind == 'sent_other' and me: y, s.hit = y[::-1].copy(), f
            elif pattern == 'scatter':
                i = (me+1) % n if mine and kind == 'scatter_part' else me
                if i != me: s.hit = f
                y = np.ascontiguousarray(np.split(xs[0], n, axis=0)[i])
            if mine and kind == 'ar_stale' and before is not None: y, s.hit = before.copy(), f
            if mine and kind == 'link':
                y = y.copy(); flat = y.reshape(-1); g = s.rng(); k = min(flat.size, 16); i = g.integers(flat.size - k + 1)
                flat[i:i+k] = s.R(g.standard_normal(k)*(np.std(flat) + 1e-3)*3); s.hit = f
            s.held[role] = out[r] = y
            late = c.quirk == 'late_input' and pattern == 'all_reduce'
            parts = lambda a: np.split(a, n, axis=0)
            if pattern in ('all_reduce', 'broadcast', 'reduce'): ins, outs = [('input.0', y if late else x[r])], [('output.0', y)]
            elif pattern == 'gather': ins, outs = [('input.0', x[r])], [('output.1.%d' % i, a) for i, a in enumerate(parts(y))] if me == 0 else []
            elif pattern == 'scatter': ins, outs = [('input.1.%d' % i, a) for i, a in enumerate(parts(x[r]))] if me == 0 else [], [('output.0', y)]
            elif api == 'all_gather': ins, outs = [('input.1', x[r])], [('output.0.%d' % i, a) for i, a in enumerate(parts(y))]
            elif api == 'reduce_scatter': ins, outs = [('input.1.%d' % i, a) for i, a in enumerate(parts(x[r]))], [('output.0', y)]
            else: ins, outs = [('input.1', x[r])], [('output.0', y)]
            s.add(Op(names[r], r, s.step, ins, outs, api=api, group=G, axis=axis, red=red if 'reduce' in api else None,
                     root=G[0] if pattern in ('broadcast', 'reduce', 'gather', 'scatter') else None, mod=mod, wide=wide, whole=(x[r], y)))
        return out
    def gathered(s, *a, **k): return s.comm('all_gather' if s.c.lists else 'all_gather_into_tensor', *a, **k)
    def scattered(s, *a, **k): return s.comm('reduce_scatter' if s.c.lists else 'reduce_scatter_tensor', *a, **k)
    def exchange(s, ranks, x, split, mod=''):
        """all_to_all_single over the experts: x[r] are rows by destination, split[r] how many for each member."""
        out, got, names = {}, {}, {r: s.call('all_to_all_single', r) for r in ranks}
        for r in ranks:
            G = s.group(r, 'ep'); me, parts = G.index(r), []
            for q in G:
                o = np.concatenate([[0], np.cumsum(split[q])]); parts.append(x[q][o[me]:o[me+1]])
            got[r] = [len(p) for p in parts]
            if s.struck(r, names[r], 'a2a_swap'): parts = parts[::-1]; s.hit = s.fault
            y = np.concatenate(parts, 0)
            if s.struck(r, names[r], 'link') and y.size > 32: y = y.copy(); y.reshape(-1)[5:21] = s.R(np.std(y)*3); s.hit = s.fault
            out[r] = y
            s.add(Op(names[r], r, s.step, [('input.1', x[r]), ('input.2', got[r]), ('input.3', split[r])], [('output.0', y)],
                     api='all_to_all_single', group=G, axis='ep', mod=mod, whole=(x[r], y)))
        return out, got
    def send(s, src, dst, x):
        sends, receives = {'send': ('send', 'recv'), 'isend': ('isend', 'irecv'), 'batch': ('batch_isend_irecv',)*2}[s.c.pairs]
        a, b, y, before = s.call(sends, src), s.call(receives, dst), x.copy(), s.held.get(('recv', dst))
        if s.struck(dst, b, 'recv_stale', 'recv_corrupt', 'recv_zero', 'recv_half', 'recv_nan'):
            kind, flat, s.hit = s.fault['kind'], y.reshape(-1), s.fault
            if kind == 'recv_stale': y = before
            if kind == 'recv_corrupt': flat[:8] = s.R(flat[:8] + 2*np.std(y))
            if kind == 'recv_zero': flat[:] = 0
            if kind == 'recv_half': flat[flat.size//2:] = before.reshape(-1)[flat.size//2:]
            if kind == 'recv_nan': flat[3] = np.nan
        s.held['recv', dst] = y
        s.add(Op(a, src, s.step, [('input.0', x)], [], api=sends, peer=dst, way='isend', group=[src, dst], whole=(x, None)))
        s.add(Op(b, dst, s.step, [], [('output.0', y)], api=receives, peer=src, way='irecv', group=[src, dst], whole=(None, y)))
        return y

    # The network.
    def shards(s, r, w):
        """The weights of a rank, by the numbers that its layers have on its stage."""
        c = s.c; t, _, d, q = s.place(r); o, T = {}, c.tp
        def part(a, axis=0): return np.ascontiguousarray(np.split(a, T, axis=axis)[t])
        per = c.layers//c.pp
        if q == 0: o['emb'] = part(w['emb'])
        for l in range(q*per, (q+1)*per):
            m = l - q*per
            for k in ('n1', 'n2', 'b1', 'b2'):
                if (l, k) in w: o[m, k] = w[l, k].copy()
            o[m, 'o'] = part(w[l, 'o'], 1)
            if c.layout == 'vllm':
                n, copies = max(1, c.kv//T), max(1, T//c.kv)
                def heads(a): return a.reshape(c.kv, c.head, -1)[t//copies*n if copies > 1 else t*n:][:n].reshape(n*c.head, -1)
                o[m, 'qkv'] = np.concatenate([part(w[l, 'q']), heads(w[l, 'k']), heads(w[l, 'v'])])
            else:
                groups = [w[l, k].reshape(c.kv, -1, c.hidden) for k in 'qkv']
                o[m, 'qkv'] = part(np.concatenate(groups, 1).reshape(-1, c.hidden))
            if (l, 'r') in w:
                o[m, 'r'] = w[l, 'r'].copy(); n = c.experts//c.ep; first = d % c.ep*n
                f = s.fault
                if f and f['kind'] == 'expert_place' and f['rank'] == r and f['layer'] == l: first, s.hit = (d+1) % c.ep*n, f
                cut = part if c.split_experts else (lambda a, axis=0: a.copy())
                for e in range(n):
                    o[m, 'gu', e] = np.concatenate([cut(w[l, 'g', first+e]), cut(w[l, 'u', first+e])]); o[m, 'd', e] = cut(w[l, 'd', first+e], 1)
            else:
                o[m, 'gu'] = part(w[l, 'g']) if first_stage(c, l) else np.concatenate([part(w[l, 'g']), part(w[l, 'u'])])
                o[m, 'd'] = part(w[l, 'd'], 1)
        if q == c.pp-1: o['nf'], o['out'] = w['nf'].copy(), part(w['out'])
        return o
    def run(s):
        c, f, w = s.c, s.fault, weights(s.c)
        W = {r: s.shards(r, w) for r in range(c.world)}
        s.tokens = s.tokens or tokens(c)
        old = {r: dict(W[r]) for r in W}
        for s.step in range(c.steps):
            if f and f['step'] == s.step and f['kind'] in ('weight_bit', 'weight_stale_layer'):
                a = W[f['rank']][f['key']].copy(); s.hit = f
                if f['kind'] == 'weight_bit': a.reshape(-1).view(np.uint32)[f['pos']] ^= np.uint32(1 << f['bit'])
                else: a = s.R(a + .1*s.rng().standard_normal(a.shape)/np.sqrt(a.shape[-1]))
                W[f['rank']][f['key']] = a
            if f and f['step'] == s.step and f['kind'] == 'desync_weights': W[f['rank']] = old[f['rank']]; s.hit = f
            old = {r: dict(W[r]) for r in W}
            s.forward(W)
        if f and f['kind'] == 'calls_differ':
            calls = s.ops[f['step'], f['rank']]
            s.ops[f['step'], f['rank']] = [o for o in calls if o.name != f['op']]; s.hit = f
        return s
    def positions(s, p):
        c = s.c; n = c.length//(2*c.cp)
        return np.concatenate([np.arange(p*n, (p+1)*n), np.arange((2*c.cp-1-p)*n, (2*c.cp-p)*n)])
    def embed(s, stage, W):
        c, f, tok = s.c, s.fault, {}
        for r in stage:
            t, p, d, _ = s.place(r); of, po = s.tokens[s.step], s.positions(p)
            if f and f['step'] == s.step and f['kind'] == 'desync_data' and d == s.place(f['rank'])[2]: of = s.tokens[s.step-1]; s.hit = f
            if f and f['step'] == s.step and f['kind'] == 'cp_order' and f['rank'] == r: n = c.length//c.cp; po = np.arange(p*n, (p+1)*n); s.hit = f
            tok[r] = of[d*c.batch:(d+1)*c.batch][:, po]
            if t and f and f['kind'] != 'cp_order': tok[r] = np.where(np.arange(c.length//c.cp) % 3 == 0, 1, tok[r])  # what the buffer held
        if c.roots and c.dp > 1 and c.cp == 1:
            whole = {r: np.concatenate([tok[q] for q in s.group(r, 'dp')]) for r in stage}
            tok = s.comm('scatter', stage, 'dp', whole, 'data')
        if c.tp > 1: tok = s.comm('broadcast', stage, 'tp', tok, 'data')
        def rows(r):
            e = W[r]['emb']; at = tok[r].T - s.place(r)[0]*len(e); mine = (at >= 0) & (at < len(e))
            return [tok[r]], [('weight', e)], [np.where(mine[..., None], e[np.clip(at, 0, len(e)-1)], 0).astype(np.float32)]
        x = s.op(stage, 'embedding.word_embeddings.VocabParallelEmbedding', rows, 'emb')
        return s.together(stage, x, 'embedding')
    def together(s, stage, y, mod):
        """What ranks of tensor parallelism have parts of the sum of."""
        if s.c.tp == 1: return y
        return s.scattered(stage, 'tp', y, mod) if s.c.sp else s.comm('all_reduce', stage, 'tp', y, mod)
    def forward(s, W):
        c, R = s.c, s.R; per, x, grads = c.layers//c.pp, {}, {r: [] for r in range(c.world)}
        stages = [[r for r in range(c.world) if s.place(r)[3] == q] for q in range(c.pp)]
        for q, stage in enumerate(stages):
            if q == 0: x = s.embed(stage, W)
            else:
                for r in stage: t, p, d, _ = s.place(r); src = s.rank(t, p, d, q-1); x[r] = s.send(src, r, x[src])
            for m in range(per): x = s.layer(stage, q*per + m, m, W, x, grads)
        h = s.op(stage, 'decoder.final_layernorm.RMSNorm', s.rmsnorm(x, W, 'nf'), 'nf')
        if c.sp: h = s.gathered(stage, 'tp', h, 'output_layer')
        y = s.product(stage, 'output_layer.ColumnParallelLinear', h, W, 'out')
        for r in stage: grads[r].append(('out', 'output_layer', R(einsum('sbo,sbi->oi', y[r], h[r])*np.float32(.01))))
        if c.loss and c.tp > 1:  # cross entropy over a vocabulary that is cut
            top = s.comm('all_reduce', stage, 'tp', {r: y[r].max(-1) for r in stage}, 'loss', red='max')
            s.comm('all_reduce', stage, 'tp', {r: exp(y[r] - top[r][..., None]).sum(-1) for r in stage}, 'loss', wide=True)
        if c.roots and c.dp > 1:
            mean = {r: np.float32(y[r].reshape(-1, y[r].shape[-1])[:8]) for r in stage}
            s.comm('reduce', stage, 'dp', mean, 'metrics', wide=True); s.comm('gather', stage, 'dp', mean, 'metrics', wide=True)
        for stage in stages: s.update(stage, W, grads)
        if c.clip and c.world > 1:
            s.comm('all_reduce', range(c.world), 'world', {r: np.float32([sum(float((g[2]*g[2]).sum()) for g in grads[r]), 1., r]) for r in range(c.world)}, 'clip', wide=True)
    def update(s, stage, W, grads):
        c = s.c
        for i, (key, name, _) in enumerate(grads[stage[0]]):
            g = {r: grads[r][i][2]*np.float32(0 if c.quirk == 'zero_grads' else c.scale) for r in stage}
            if c.sp and key != 'out' and key[1] == 'n1': g = s.comm('all_reduce', stage, 'tp', g, 'grad.' + name)
            if c.dp*c.cp > 1: g = s.comm('all_reduce', stage, 'dpcp', g, 'grad.' + name, red='avg' if c.average else 'sum')
            for r in stage: W[r][key] = s.R(W[r][key] - np.float32(.05)*g[r])
    def rmsnorm(s, x, W, key):
        def f(r):
            v = x[r].astype(np.float32)
            return [x[r]], [('weight', W[r][key])], [s.R(v/np.sqrt((v*v).mean(-1, keepdims=True) + 1e-5)*W[r][key])]
        return f
    def layernorm(s, x, W, key, bias):
        def f(r):
            v = x[r].astype(np.float32); v = v - v.mean(-1, keepdims=True)
            return [x[r]], [('weight', W[r][key]), ('bias', W[r][bias])], [s.R(v/np.sqrt((v*v).mean(-1, keepdims=True) + 1e-5)*W[r][key] + W[r][bias])]
        return f
    def product(s, stage, name, x, W, key):
        return s.op(stage, name, lambda r: ([x[r]], [('weight', W[r][key])], [s.R(mul(x[r], W[r][key].T))]), key)
    def layer(s, stage, l, m, W, x, grads):
        c, R = s.c, s.R; early = first_stage(c, l)
        b = f'vision.blocks.{m}.' if early else f'decoder.layers.{m}.'
        attention, n1, n2 = ('attn.', 'norm1', 'norm2') if early else ('self_attention.', 'input_layernorm', 'pre_mlp_layernorm')
        def norm(name, x, k): 
            if early: return s.op(stage, f'{b}{name}.LayerNorm', s.layernorm(x, W, (m, 'n'+k), (m, 'b'+k)), (m, 'n'+k))
            return s.op(stage, f'{b}{name}.RMSNorm', s.rmsnorm(x, W, (m, 'n'+k)), (m, 'n'+k))
        h = norm(n1, x, '1')
        for r in stage: grads[r].append(((m, 'n1'), b + n1, R((x[r]*h[r]*np.float32(.01)).sum((0, 1)))))
        if c.sp: h = s.gathered(stage, 'tp', h, b + attention + 'linear_qkv')
        y = s.product(stage, b + attention + 'linear_qkv.ColumnParallelLinear', h, W, (m, 'qkv'))
        for r in stage: grads[r].append(((m, 'qkv'), b + attention + 'linear_qkv', R(einsum('sbo,sbi->oi', y[r], h[r])*np.float32(.01))))
        a = s.attend(stage, b + attention, y)
        y = s.product(stage, b + attention + 'linear_proj.Linear', a, W, (m, 'o'))
        y = s.together(stage, y, b + attention + 'linear_proj')
        def plus(x, y): return lambda r: ([x[r], y[r]], [], [R(x[r] + y[r])])
        x = s.op(stage, b + 'self_attn_bda.IdentityOp', plus(x, y))
        h = norm(n2, x, '2')
        if (m, 'r') in W[stage[0]]: y = s.moe(stage, b, m, W, h)
        else:
            if c.sp: h = s.gathered(stage, 'tp', h, b + 'mlp.linear_fc1')
            y = s.product(stage, b + 'mlp.linear_fc1.ColumnParallelLinear', h, W, (m, 'gu'))
            if early: a = s.op(stage, b + 'mlp.act.GELU', lambda r: ([y[r]], [], [R(gelu(y[r]))]))
            else:
                def swiglu(r): g, u = np.split(y[r], 2, -1); return [y[r]], [], [R(g/(1 + exp(-g))*u)]
                a = s.op(stage, b + 'mlp.activation.SwiGLU', swiglu)
            y = s.together(stage, s.product(stage, b + 'mlp.linear_fc2.Linear', a, W, (m, 'd')), b + 'mlp.linear_fc2')
            if c.quirk == 'overflow' and c.tp > 1:  # a sum that is beyond the range on its way
                big = {r: R(y[r]*0 + np.float32(60000*(1 if i % 2 else -1) if i else 60000)) for i, r in enumerate(stage)}
                s.comm('all_reduce', stage, 'tp', big, b + 'mlp.scale')
        return s.op(stage, b + 'mlp_bda.IdentityOp', plus(x, y))
    def attend(s, stage, b, y):
        c, R = s.c, s.R; nq, nk = c.heads//c.tp, max(1, c.kv//c.tp); Q, K, V = {}, {}, {}
        for r in stage:
            a = y[r]; sh = a.shape[:2]
            if c.layout == 'vllm': q, k, v = np.split(a, [nq*c.head, (nq+nk)*c.head], -1)
            else: z = a.reshape(*sh, nk, nq//nk + 2, c.head); q, k, v = z[..., :-2, :], z[..., -2, :], z[..., -1, :]
            Q[r], K[r], V[r] = (np.ascontiguousarray(z.reshape(*sh, n, c.head)) for z, n in ((q, nq), (k, nk), (v, nk)))
        KF, VF = K, V
        if c.cp > 1: KF, VF = s.gathered(stage, 'cp', K, b + 'cp_k'), s.gathered(stage, 'cp', V, b + 'cp_v')
        def attend(r):
            qp = s.positions(s.place(r)[1]); kp = np.concatenate([s.positions(i) for i in range(c.cp)])
            k, v = np.repeat(KF[r], nq//nk, 2), np.repeat(VF[r], nq//nk, 2)
            w = einsum('sbnd,tbnd->bnst', Q[r], k)/np.sqrt(c.head, dtype=np.float32); w = np.where(qp[:, None] >= kp[None], w, np.float32(-1e9))
            e = exp(w - w.max(-1, keepdims=True)); e /= e.sum(-1, keepdims=True)
            return [Q[r], K[r], V[r]], [], [R(einsum('bnst,tbnd->sbnd', R(e), v).reshape(*Q[r].shape[:2], -1))]
        return s.op(stage, b + 'core_attention.DotProductAttention', attend)
    def moe(s, stage, b, m, W, h):
        c, R = s.c, s.R; n = c.experts//c.ep; x, split, order, by = {}, {}, {}, {}
        def router(r):
            p = exp(mul(h[r].reshape(-1, c.hidden), W[r][m, 'r'].T)); p /= p.sum(-1, keepdims=True)
            i = np.argsort(-p, -1, kind='stable')[:, :c.top]; w = np.take_along_axis(p, i, -1)
            return [h[r]], [('weight', W[r][m, 'r'])], [R(w/w.sum(-1, keepdims=True)), i.astype(np.int64)]
        chosen = s.op(stage, b + 'mlp.router.TopKRouter', router, (m, 'r'))
        for r in stage:
            e = chosen[r][1].reshape(-1); order[r] = np.argsort(e, kind='stable')
            x[r] = np.ascontiguousarray(h[r].reshape(-1, c.hidden)[order[r]//c.top]); split[r] = [int((e//n == i).sum()) for i in range(c.ep)]
        y, got = s.exchange(stage, x, split, b + 'mlp.dispatch') if c.ep > 1 else (x, None)
        z = {r: np.zeros_like(y[r]) for r in stage}
        for r in stage:  # blocks by source, each sorted by expert
            G = s.group(r, 'ep'); mine = [np.sort(chosen[q][1].reshape(-1)) for q in G]
            by[r] = np.concatenate([e[e//n == G.index(r)] for e in mine]) - G.index(r)*n
        for e in range(n):
            name = f'{b}mlp.experts.local_experts.{e}.'
            at = {r: np.flatnonzero(by[r] == e) for r in stage}
            u = s.product(stage, name + 'linear_fc1.ColumnParallelLinear', {r: np.ascontiguousarray(y[r][at[r]]) for r in stage}, W, (m, 'gu', e))
            def act(r): g, v = np.split(u[r], 2, -1); return R(g/(1 + exp(-g))*v)
            o = s.product(stage, name + 'linear_fc2.RowParallelLinear', {r: act(r) for r in stage}, W, (m, 'd', e))
            for r in stage: z[r][at[r]] = o[r]
        back = s.exchange(stage, z, got, b + 'mlp.combine')[0] if c.ep > 1 else z
        def combine(r):
            v = np.empty_like(back[r]); v[order[r]] = back[r]; v = v.reshape(-1, c.top, c.hidden)
            return [back[r], chosen[r][0]], [], [R((v*chosen[r][0][..., None]).sum(1)).reshape(h[r].shape)]
        y = s.op(stage, b + 'mlp.token_dispatcher.Unpermute', combine)
        return s.comm('all_reduce', stage, 'tp', y, b + 'mlp.experts') if c.split_experts else y


def tokens(c):
    """The words of every step."""
    all = [np.random.default_rng([23, c.seed, 0 if c.quirk == 'same_data' else n]).integers(0, c.words, (c.dp*c.batch, c.length)) for n in range(c.steps)]
    return [np.repeat(t[:c.batch][None], c.dp, 0).reshape(t.shape) for t in all] if c.quirk == 'same_batch' else all

def simulate(c, fault=None): return Sim(c, fault).run()

def reference(c):
    """The same network on one rank."""
    import copy
    r = copy.copy(c)
    r.tp = r.cp = r.dp = r.pp = r.ep = 1
    r.sp = r.split_experts = r.roots = r.clip = r.loss = False
    r.batch, r.quirk = c.batch*c.dp, 'zero_grads' if c.quirk == 'zero_grads' else None
    if c.average: r.scale = 1/(c.dp*c.cp)
    s = Sim(r, tokens=tokens(c))
    if c.stages:  # layers have the numbers of their stage
        per = c.layers//c.pp; layer = s.layer
        def renamed(stage, l, m, W, x, grads):
            before = {k: len(v) for k, v in s.ops.items()}
            x = layer(stage, l, m, W, x, grads)
            for k, ops in s.ops.items():
                for o in ops[before.get(k, 0):]: o.name = o.name.replace(f'layers.{m}.', f'layers.{m % per if c.pp == 2 else m - per}.')
            return x
        s.layer = renamed
    return s.run()

def pick_fault(c, run, kind, g):
    """A fault of a kind that this run can have, None for none."""
    ops = [o for l in run.ops.values() for o in l]
    f = dict(kind=kind, seed=int(g.integers(1 << 30)))
    modules = [o for o in ops if o.api is None and 'Unpermute' not in o.name and 'TopK' not in o.name and o.outs[0][1].size > 64]
    sums = [o for o in ops if o.api in ('all_reduce', 'reduce_scatter_tensor', 'reduce_scatter') and 'grad' not in o.mod and not o.wide and o.red == 'sum']
    gathers = [o for o in ops if o.api in ('all_gather', 'all_gather_into_tensor')]
    receives = [o for o in ops if o.peer is not None and o.way == 'irecv']
    later = lambda l: [o for o in l if o.step]
    copies = c.dp*c.cp > 1
    all = {
        'route': [o for o in ops if 'TopKRouter' in o.name],
        'weight_bit': [o for o in ops if o.params and (copies or 'Norm' in o.name) and 'experts' not in o.name],
        'ar_missing': sums, 'ar_double': sums, 'ar_avg': [o for o in ops if o.api == 'all_reduce' and o.red == 'sum' and o.axis != 'world'],
        'grad_missing': [o for o in ops if o.api == 'all_reduce' and 'grad' in o.mod],
        'not_averaged': [o for o in ops if o.red == 'avg'], 'not_reduced': [o for o in sums if o.api == 'all_reduce'],
        'max_missing': [o for o in ops if o.red == 'max'], 'reduce_missing': [o for o in ops if o.api == 'reduce'],
        'ar_stale': [o for o in later(sums) if o.api == 'all_reduce'],
        'link': [o for o in ops if o.api and o.peer is None and o.root is None and o.outs and o.whole[1].size > 32],
        'ag_swap': gathers, 'ag_stale': later(gathers), 'rs_offset': [o for o in ops if o.api and o.api.startswith('reduce_scatter')],
        'sent_other': [o for o in gathers + [o for o in ops if o.api == 'broadcast' and o.rank == o.root] if len(o.group) > 2],
        'a2a_swap': [o for o in ops if o.api == 'all_to_all_single'], 'bcast': [o for o in ops if o.api == 'broadcast' and o.rank != o.root],
        'gather_swap': [o for o in ops if o.api == 'gather' and o.rank == o.root], 'scatter_part': [o for o in ops if o.api == 'scatter'],
        'recv_stale': later(receives), 'recv_half': later(receives), 'recv_corrupt': receives, 'recv_zero': receives, 'recv_nan': receives,
        'cp_order': [o for o in ops if 'VocabParallelEmbedding' in o.name and c.cp > 1 and o.rank % c.tp == 0],
        'desync_data': [o for o in later(ops) if 'VocabParallelEmbedding' in o.name],
        'desync_weights': [o for o in later(ops) if copies and o.params],
        'expert_place': [o for o in ops if c.ep > 1 and 'local_experts.0.linear_fc1' in o.name and o.step == 0],
        'calls_differ': [o for o in ops if o.api == 'all_reduce' and len(o.group) > 2 and o.name == [p for p in run.ops[o.step, o.rank] if p.api == o.api and p.group == o.group][-1].name and o is [p for p in run.ops[o.step, o.rank] if p.api == o.api][-1]],
    }
    all['weight_stale_layer'] = all['weight_bit']
    fitting = modules if kind in OPERATOR and kind != 'route' else all[kind]
    if not fitting: return None
    o = fitting[g.integers(len(fitting))]
    f.update(step=o.step, rank=o.rank, op=o.name, api=o.api, group=o.group, mod=o.mod, key=o.key)
    if kind == 'weight_bit':
        f.update(pos=int(g.integers(o.params[0][1].size)), bit=int(g.choice([16, 17, 18, 20, 22, 24, 26, 30, 31] if c.dtype == 'bf16' else [13, 14, 16, 18, 20, 22, 23, 24, 31])))
    if kind == 'expert_place':
        m = int(o.name.split('layers.')[1].split('.')[0]); f['layer'] = m + o.rank//(c.tp*c.cp*c.dp)*(c.layers//c.pp)
    return f

def blamed(c, f):
    """Which ranks a finding may name, and whether the operator has to be the right one."""
    s = Sim(c)
    if f['kind'] == 'desync_data': return [r for r in range(c.world) if s.place(r)[2] == s.place(f['rank'])[2]], False
    if f['kind'] == 'cp_order': return s.group(f['rank'], 'tp'), False
    return [f['rank']], f['kind'] not in ('desync_weights', 'expert_place', 'calls_differ')


# Files.
HCOM = {'all_reduce': 'HcomAllReduce', 'all_gather_into_tensor': 'HcomAllGather', 'all_gather': 'HcomAllGather', 'reduce_scatter_tensor': 'HcomReduceScatter',
        'reduce_scatter': 'HcomReduceScatter', 'broadcast': 'HcomBroadcast', 'reduce': 'HcomReduce', 'gather': 'HcomGather', 'scatter': 'HcomScatter',
        'all_to_all_single': 'HcomAllToAllV', 'send': 'HcomSend', 'isend': 'HcomSend', 'recv': 'HcomReceive', 'irecv': 'HcomReceive'}
TYPES = {'RMSNorm': 'RmsNorm', 'ColumnParallelLinear': 'MatMulV2', 'RowParallelLinear': 'MatMulV2', 'Linear': 'MatMulV2', 'IdentityOp': 'Add', 'SwiGLU': 'SwiGlu',
         'DotProductAttention': 'FlashAttention', 'VocabParallelEmbedding': 'VocabEmbedding', 'TopKRouter': 'TopKRouter', 'Unpermute': 'MoeUnpermute',
         'LayerNorm': 'LayerNormV3', 'GELU': 'Gelu'}

def hcom_tensors(o):
    """The tensors of a communication as the operator of CANN has them."""
    x, y = o.whole
    if o.api == 'all_to_all_single':
        got, sent = (np.int64(o.ins[i][1]) for i in (1, 2))
        shift = lambda n: np.concatenate([[0], np.cumsum(n)[:-1]]).astype(np.int64)
        return [('input.0', x)] + [('input.%d' % (i+1), a) for i, a in enumerate([sent, shift(sent), got, shift(got)])] + [('output.0', y)]
    return [(p, a) for p, a in (('input.0', x), ('output.0', y)) if a is not None]

def hcom_name(o):
    """Type and name of an operator as CANN has them."""
    if o.api:
        api = o.api if o.api != 'batch_isend_irecv' else {'isend': 'send', 'irecv': 'recv'}[o.way]
        number = o.name.split('.')[2]
        return HCOM[api], f'{HCOM[api]}_{o.api}_{number}'
    parts = o.name.split('.')
    return TYPES.get(parts[-3], parts[-3]), '_'.join(parts[3:-2])

def dumped_name(o, form): return hcom_name(o)[1] if form in ('hcom', 'mapping') else o.name

def write(run, out, form):
    write_msprobe(run, out) if form == 'msprobe' else write_arrays(run, out, form)

def skipped(run, step, rank):
    c = run.c
    return c.quirk == 'step_missing' and step == 1 and rank == c.world-1 or c.quirk == 'rank_missing' and rank == c.world-1 and c.world > 2

def write_arrays(run, out, form):
    for (step, rank), ops in run.ops.items():
        if skipped(run, step, rank): continue
        d = f'{out}/rank{rank}/step{step}'; os.makedirs(d, exist_ok=True); names = []
        for i, o in enumerate(ops):
            if form == 'npy': files = [(f'{o.name}.{p}.npy', a) for p, a in o.ins + o.params + o.outs if not isinstance(a, list)]
            else:
                t = hcom_tensors(o) if o.api else o.ins + [('input.%d' % (len(o.ins)+k), a) for k, (_, a) in enumerate(o.params)] + o.outs
                kind, name = hcom_name(o)
                files = [(f'{kind}.{name}.{i}.5.{1700000000000000 + 1000*step*len(ops) + i}.{p}.npy', a) for p, a in t]
            for name, a in files:
                if form == 'mapping': names.append((str(zlib.crc32(name.encode()) + 10**15 * (len(names)+1)) + '.npy', name)); name = names[-1][0]
                np.save(f'{d}/{name}', a)
        if names:
            with open(f'{d}/mapping.csv', 'w', newline='') as f: csv.writer(f).writerows(names)

def write_msprobe(run, out):
    c = run.c
    for (step, rank), ops in run.ops.items():
        if skipped(run, step, rank): continue
        base = f'{out}/step{step}/rank{rank}'; os.makedirs(base + '/dump_tensor_data', exist_ok=True); data, construct = {}, {}
        def leaf(o, path, a):
            if isinstance(a, list): return [{'type': 'int', 'value': v} for v in a]
            np.save(f'{base}/dump_tensor_data/{o.name}.{path}.npy', a)
            dtype = 'int64' if a.dtype != np.float32 else 'float32' if o.wide else {'bf16': 'bfloat16', 'fp16': 'float16'}[c.dtype]
            with np.errstate(all='ignore'):
                stats = [float(v(a)) if a.size else None for v in (np.max, np.min, np.mean)] + [float(np.linalg.norm(a.astype(np.float64)))]
            e = dict(zip(('type', 'dtype', 'shape', 'Max', 'Min', 'Mean', 'Norm'), ['torch.Tensor', 'torch.' + dtype, list(a.shape)] + stats))
            e['requires_grad'] = False
            if c.seed % 2: e['md5'] = '%08x' % zlib.crc32(np.ascontiguousarray(a).tobytes())
            e['data_name'] = f'{o.name}.{path}.npy'
            return e
        def arguments(o, tensors):
            args = []
            for path, a in tensors:
                at = [int(i) for i in path.split('.')[1:]]
                while len(args) <= at[0]: args.append(None)
                if len(at) == 1: args[at[0]] = leaf(o, path, a)
                else: args[at[0]] = (args[at[0]] or []) + [leaf(o, path, a)]
            return args
        for o in ops:
            kw = {}
            if o.peer is not None:
                if o.api != 'batch_isend_irecv': kw = {('dst' if o.way == 'isend' else 'src'): {'type': 'int', 'value': o.peer}}
            elif o.api:
                if o.axis != 'world': kw['group'] = {'type': 'torch.ProcessGroup', 'group_ranks': o.group, 'group_id': '%08x' % zlib.crc32(str(o.group).encode())}
                if o.red: kw['op'] = {'type': 'torch.distributed.ReduceOp', 'value': 'RedOpType.' + o.red.upper()}
                if o.root is not None: kw['dst' if o.api in ('reduce', 'gather') else 'src'] = {'type': 'int', 'value': o.root}
            if o.api: construct[o.name] = 'Module.module.module.' + o.mod if o.mod.startswith(('decoder', 'vision', 'embedding', 'output')) else None
            if o.api == 'batch_isend_irecv':
                def p2p(path, a): return [[{'class_type': 'torch.distributed.P2POp', 'tensor': leaf(o, path, a), 'op': o.way, 'peer': o.peer, 'tag': 0, 'group_id': 'world'}]]
                a = (o.ins or o.outs)[0][1]
                data[o.name] = {'input_args': p2p('input.0.0', a if o.ins else np.zeros_like(a)), 'input_kwargs': {}, 'output': p2p('output.0.0', a)}
                continue
            e = {'input_args': arguments(o, o.ins), 'input_kwargs': kw}
            if o.params: e['parameters'] = {p.split('.')[1]: leaf(o, p, v) for p, v in o.params}
            e['output'] = arguments(o, o.outs); data[o.name] = e
        def save(name, v):
            with open(f'{base}/{name}', 'w') as f: json.dump(v, f, separators=(',', ':'))
        save('dump.json', {'task': 'tensor', 'level': 'mix', 'framework': 'pytorch', 'dump_data_dir': None, 'data': data})
        save('construct.json', construct); save('stack.json', {})

def generate(out, seed, family=None, form='msprobe', kind=None, quirk=None):
    """Writes the trees of a seed; returns what is true of them, None where the run cannot have the fault."""
    c = config(seed, family, quirk)
    clean, fault, run, shown = simulate(c), None, None, None
    run = clean
    if kind:
        for n in range(8):
            fault = pick_fault(c, clean, kind, np.random.default_rng([31, seed, n]))
            if fault is None: return None
            run = simulate(c, fault)
            changed = any(len(run.ops[k]) != len(ops) or any(a.tobytes() != b.tobytes() for o, p in zip(ops, run.ops[k]) for (_, a), (_, b) in zip(o.outs + o.params, p.outs + p.params)) for k, ops in clean.ops.items())
            if run.hit and changed: break
        else: return None
        shown = next(dumped_name(o, form) for o in clean.ops[fault['step'], fault['rank']] if o.name == fault['op'])
    truth = {'seed': seed, 'form': form, 'config': {k: v for k, v in vars(c).items()}, 'fault': fault}
    if fault:
        ranks, exact = blamed(c, fault)
        truth['expect'] = {'step': fault['step'], 'ranks': ranks, 'op': shown if exact else None}
    if c.family == 'programs':
        other = config(seed + 1000003, c.family, quirk); other.dtype = c.dtype
        write(run, out + '/run/actor', form); write(reference(c), out + '/ref/actor', form)
        write(simulate(other), out + '/run/critic', form); write(reference(other), out + '/ref/critic', form)
    else:
        write(run, out + '/run', form); write(reference(c), out + '/ref', form)
    with open(out + '/truth.json', 'w') as f: json.dump(truth, f, indent=1, default=int)
    return truth

if __name__ == '__main__':
    a = sys.argv[1:]
    def option(name, default=None): return a[a.index('--' + name) + 1] if '--' + name in a else default
    if len(a) < 2: sys.exit(__doc__)
    if generate(a[0], int(a[1]), option('family'), option('form', 'msprobe'), option('fault'), option('quirk')) is None:
        sys.exit('the run of this seed cannot have that fault: try another seed')
