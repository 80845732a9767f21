#!/usr/bin/env python3
"""Makes log probabilities of a rollout and of a trainer, and their expected numbers.

Needs numpy and PyTorch:

    /usr/bin/python3 make.py

Sixteen responses of up to 48 tokens are padded with different garbage on both
sides. healthy differs by the rounding of bfloat16 logits. In faulty sequence 5
is wrong from position 17 on, as with a stale KV cache.

    rollout.npz              the rollout, with response_mask
    healthy.npz, faulty.npz  the trainer
    npy/, pt/                the same rollout and faulty, in two other forms
    engines/                 SGLang's dumps of both engines, two ranks: rank 0 of
                             the trainer goes wrong in layer 1, in the row of
                             sequence 5, position 17; rank 1 differs in padding
    expected.json            what numpy says
"""
import json
import os

import numpy as np
import torch

SEQUENCES, LENGTH, FAULTY, FROM = 16, 48, 5, 17
HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(5501)


def expected(ref, npu, mask):
    """The numbers of tokens in float64."""
    kept = mask == 1
    d = npu.astype(np.float64) - ref.astype(np.float64)

    def numbers(x):
        if not len(x):
            return {"counted": 0, "beyond_2x": 0, "mean_abs": None, "k1": None, "k3": None, "largest_ratio": None}
        return {"counted": len(x), "beyond_2x": int((np.abs(x) > np.log(2)).sum()), "mean_abs": np.abs(x).mean(),
                "k1": -x.mean(), "k3": (np.expm1(x) - x).mean(), "largest_ratio": np.exp(np.abs(x).max())}

    worst = np.unravel_index(np.argmax(np.where(kept, np.abs(d), -1)), d.shape)
    return dict(numbers(d[kept]), positions=mask.size, worst=[int(i) for i in worst],
                sequences=[numbers(d[i][kept[i]]) for i in range(SEQUENCES)],
                by_position=[numbers(d[:, i][kept[:, i]]) for i in range(LENGTH)])


lengths = rng.integers(8, LENGTH - 4, SEQUENCES)
lengths[FAULTY] = 40
mask = (np.arange(LENGTH) < lengths[:, None]).astype(np.int64)


def padded(x):
    return np.where(mask == 1, x, -rng.exponential(9, x.shape)).astype(np.float32)


clean = -rng.exponential(1.1, mask.shape)
noise = rng.normal(0, 0.004, mask.shape)
fault = np.zeros(mask.shape)
fault[FAULTY, FROM:] = rng.normal(0, 0.5, LENGTH - FROM)
fault[FAULTY, FROM] = -1.9
rollout, healthy, faulty = (padded(np.minimum(x, -0.001)) for x in (clean, clean + noise, clean + noise + fault))

np.savez(f"{HERE}/rollout.npz", log_probs=rollout, response_mask=mask)
np.savez(f"{HERE}/healthy.npz", log_probs=healthy, response_mask=mask)
np.savez(f"{HERE}/faulty.npz", log_probs=faulty, response_mask=mask)
for side, x in (("rollout", rollout), ("faulty", faulty)):
    os.makedirs(f"{HERE}/npy/{side}", exist_ok=True)
    os.makedirs(f"{HERE}/pt", exist_ok=True)
    np.save(f"{HERE}/npy/{side}/log_probs.npy", x)
    np.save(f"{HERE}/npy/{side}/response_mask.npy", mask)
    torch.save({"log_probs": torch.from_numpy(x), "response_mask": torch.from_numpy(mask)}, f"{HERE}/pt/{side}.pt")
with open(f"{HERE}/expected.json", "w") as f:
    json.dump({"healthy": expected(rollout, healthy, mask), "faulty": expected(rollout, faulty, mask)}, f, indent=1)
    f.write("\n")

# Both engines, in the names of SGLang's dumper: hidden states are one row a token.
WIDTH = 2
for rank in (0, 1):
    hidden = rng.normal(0, 1, (SEQUENCES * LENGTH, WIDTH)).astype(np.float32)
    names = [("embed", None), ("attn_out", 0), ("mlp_out", 0), ("attn_out", 1), ("mlp_out", 1)]
    for side in ("rollout", "trainer"):
        x, folder, wrong = hidden.copy(), f"{HERE}/engines/{side}", False
        os.makedirs(folder, exist_ok=True)

        def dump(index, name, value, layer=None, **kwargs):
            keys = dict(name=name, step=3, rank=rank, dump_index=index)
            if layer is not None:
                keys["layer_id"] = layer
            file = "___".join(f"{k}={v}" for k, v in keys.items()) + ".pt"
            torch.save({"value": torch.from_numpy(value), "meta": dict(keys, world_size=2)}, f"{folder}/{file}")

        for index, (name, layer) in enumerate(names, 1):
            x = np.tanh(x * 0.9 + 0.1 * index).astype(np.float32)
            if side == "trainer" and rank == 0 and name == "attn_out" and layer == 1:
                x[FAULTY * LENGTH + FROM] += 0.5
            dump(index, name, x, layer)
        dump(6, "log_probs", faulty if side == "trainer" and rank == 0 else padded(np.minimum(clean, -0.001)))
        dump(7, "response_mask", mask)
