#!/usr/bin/env python3
"""Runs dumptool over simulated runs of many ranks and counts what it finds.

  score_ranks.py BINARY FIRST COUNT [--keep FOLDER] [--forms msprobe,npy] [--kinds op_nan,link] [--healthy]

For each of COUNT seeds from FIRST on there is a healthy run and one with a fault; the kinds of
faults and the forms take turns. `check` judges the run alone, `compare` beside the reference. A run
is right if the first finding has the kind, the operator and a rank that the fault has."""
import json, os, shutil, subprocess, sys, tempfile
from collections import defaultdict
sys.dont_write_bytecode = True
import gen_ranks as G

EXPECTED = {k: {'COMPUTE'} for k in G.OPERATOR}
EXPECTED |= {k: {'MISSING_RANK'} for k in ('ar_missing', 'grad_missing', 'max_missing', 'reduce_missing')}
EXPECTED |= {k: {'CORRUPT'} for k in ('link', 'recv_corrupt', 'recv_zero', 'recv_half', 'recv_nan')}
EXPECTED |= {k: {'STALE'} for k in ('ag_stale', 'recv_stale', 'ar_stale')}
EXPECTED |= {k: {'SWAPPED'} for k in ('ag_swap', 'a2a_swap', 'gather_swap')}
EXPECTED |= {k: {'WRONG_PART'} for k in ('rs_offset', 'cp_order', 'scatter_part')}
EXPECTED |= {'weight_bit': {'REPLICA_BIT', 'REPLICA', 'COMPUTE'}, 'weight_stale_layer': {'REPLICA', 'STALE_WEIGHTS'}, 'ar_double': {'DOUBLE_RANK'},
             'ar_avg': {'AVERAGED'}, 'bcast': {'NOT_RECEIVED'}, 'desync_data': {'STALE_INPUT'}, 'desync_weights': {'STALE_WEIGHTS'},
             'expert_place': {'WRONG_EXPERT'}, 'not_reduced': {'NOT_REDUCED'}, 'not_averaged': {'NOT_AVERAGED'}, 'sent_other': {'SENT_OTHER'},
             'calls_differ': {'CALLS_DIFFER'}}

def run(binary, *args):
    p = subprocess.run([binary, *args, '--json'], capture_output=True, text=True)
    if p.returncode not in (0, 1, 4, 5) or 'panic' in p.stderr: return p.returncode, None, p.stderr[-300:]
    try: return p.returncode, json.loads(p.stdout), p.stderr
    except ValueError: return p.returncode, None, p.stderr[-300:] or p.stdout[-300:]

def findings(document): return ((document or {}).get('ranks') or {}).get('findings') or []

def verdict(found, truth):
    """right, tie (one of several ranks), late (not the first), wrong or silent."""
    want, kind = truth['expect'], truth['fault']['kind']
    def fits(f, ranks):
        return f['kind'] in EXPECTED[kind] and set(ranks) & set(want['ranks']) and (not want['op'] or f['op'] == want['op'] or f['op'].endswith(want['op']))
    if not found: return 'silent'
    if fits(found[0], [found[0]['rank']]): return 'right' if not found[0]['alt'] else 'tie'
    if fits(found[0], [found[0]['rank']] + found[0]['alt']): return 'tie'
    return 'late' if any(fits(f, [f['rank']] + f['alt']) for f in found[1:]) else 'wrong'

def text(f): return f"{f['kind']} rank {f['rank']}{' or ' + str(f['alt']) if f['alt'] else ''} step {f['step']} {f['op']} ({f['confidence']})"

def main(binary, first, count, keep=None, forms=G.FORMS, kinds=G.KINDS, healthy=True, only='', compares=True, reuse=False):
    results = defaultdict(lambda: defaultdict(int)); alarms = []; runs = defaultdict(int)
    base = keep or tempfile.mkdtemp(prefix='ranks')
    for n in range(count):
        seed, form, kind = first + n, forms[n % len(forms)], kinds[n % len(kinds)]
        for faulty in ([False] if healthy else []) + [True]:
            d = f'{base}/{seed}{"f" if faulty else "h"}'
            if reuse and os.path.exists(d + '/truth.json'):
                with open(d + '/truth.json') as f: truth = json.load(f)
            else:
                shutil.rmtree(d, ignore_errors=True); os.makedirs(d)
                if not faulty:
                    quirk = G.QUIRKS[n//2 % len(G.QUIRKS)] if n % 2 else None
                    truth = G.generate(d, seed, None, form, None, quirk)
                else:
                    truth = None
                    for k in range(60):  # the next seeds, until one can have the fault
                        truth = G.generate(d, seed + 10001*k, None, form, kind)
                        if truth: break
                    if truth is None: print(seed, kind, 'no run can have it'); shutil.rmtree(d); continue
            quirk, family = truth['config']['quirk'], truth['config']['family']
            for way in ('check', 'compare') if compares else ('check',):
                if way == 'compare' and quirk in ('low_precision', 'late_input', 'noise', 'dropout', 'overflow', 'truncate'): continue  # other numbers than the reference
                args = ['check', d + '/run'] + (['--only', only] if only else []) if way == 'check' else ['compare', '--cpu', d + '/ref', '--npu', d + '/run']
                code, document, err = run(binary, *args)
                found = findings(document); label = f'{way} {d.split("/")[-1]} seed {truth["seed"]} {family} {form}'
                if document is None: print('CRASH', label, kind if faulty else quirk, code, err, flush=True)
                if faulty:
                    v = verdict(found, truth); results[kind, form][way + ' ' + v] += 1
                    if v != 'right': print(v.upper(), label, kind, truth['expect'], '->', text(found[0]) if found else '-', flush=True)
                else:
                    runs[way] += 1
                    sure = [f for f in found if f['confidence'] != 'low'] if way == 'check' else found
                    if found or code == 1: alarms.append(label); print('ALARM' if sure or code == 1 else 'WEAK', label, quirk, 'exit', code, [text(f) for f in found[:3]], flush=True)
            if not keep: shutil.rmtree(d)
    words = ['right', 'tie', 'late', 'wrong', 'silent']
    table = defaultdict(lambda: defaultdict(int))
    for (kind, form), r in results.items():
        for k, v in r.items():
            for row in (kind, 'form ' + form, 'all'): table[row][k] += v
    print(f'\n{"":20}' + ''.join(f'{w + " " + v:>15}' for w in ('check', 'compare') for v in words))
    for row in [k for k in kinds if k in table] + ['form ' + f for f in forms] + ['all']:
        print(f'{row:20}' + ''.join(f'{table[row][w + " " + v] or "":>15}' for w in ('check', 'compare') for v in words))
    print('healthy runs', dict(runs), 'with an alarm', len(alarms))

if __name__ == '__main__':
    a = sys.argv[1:]
    def option(name, default=None): return a[a.index('--' + name) + 1] if '--' + name in a else default
    if len(a) < 3: sys.exit(__doc__)
    main(a[0], int(a[1]), int(a[2]), option('keep'), option('forms', ','.join(G.FORMS)).split(','), option('kinds', ','.join(G.KINDS)).split(','),
         '--no-healthy' not in a, option('only', ''), '--no-compare' not in a, '--reuse' in a)
