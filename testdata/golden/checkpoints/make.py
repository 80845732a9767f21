"""Makes hf.safetensors, megatron/ and faulty/: one layer of a decoder as Hugging Face stores it, and as Megatron does for
two ranks of tensor parallelism. PyTorch computes and stores the tensors. In faulty/ one row of up_proj is 2 % larger.
adapter/ is a LoRA adapter of hf.safetensors, in the files of PEFT, and merged.safetensors is hf.safetensors with it, added
in bfloat16; in forgotten.safetensors v_proj is without it."""
import argparse, json, os, struct
import torch

torch.manual_seed(3)
H, HEADS, D, F, V = 16, 2, 8, 32, 10
def weight(*shape): return torch.randn(*shape) * .1
qkv = [weight(HEADS * D, H) for _ in range(3)]
o, gate, up, down, norm, embed = weight(H, HEADS * D), weight(F, H), weight(F, H), weight(H, F), 1 + weight(H), weight(V, H)
p = 'model.layers.0.'
hf = {'model.embed_tokens.weight': embed, p + 'self_attn.q_proj.weight': qkv[0], p + 'self_attn.k_proj.weight': qkv[1], p + 'self_attn.v_proj.weight': qkv[2],
      p + 'self_attn.o_proj.weight': o, p + 'mlp.gate_proj.weight': gate, p + 'mlp.up_proj.weight': up, p + 'mlp.down_proj.weight': down, p + 'input_layernorm.weight': norm}
def save(path, tensors):
    header, body = {}, b''
    for name, t in tensors.items():
        data = t.contiguous().view(torch.int16).numpy().tobytes() if t.dtype == torch.bfloat16 else t.contiguous().numpy().tobytes()
        header[name] = {'dtype': 'BF16' if t.dtype == torch.bfloat16 else 'F32', 'shape': list(t.shape), 'data_offsets': [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    open(path, 'wb').write(struct.pack('<Q', len(text)) + text + body)
save('hf.safetensors', hf)

wrong = up.clone()
wrong[20] *= 1.02
for folder, up in (('megatron', up), ('faulty', wrong)):
    groups = torch.cat([part[i * D:(i + 1) * D] for i in range(HEADS) for part in qkv])  # q, k, v of each head
    padded = torch.cat([embed, torch.zeros(6, H)])
    for rank in range(2):
        model = {'embedding.word_embeddings.weight': padded.chunk(2)[rank].clone(),
                 'decoder.layers.0.self_attention.linear_qkv.weight': groups.chunk(2)[rank].bfloat16(),
                 'decoder.layers.0.self_attention.linear_proj.weight': o.chunk(2, 1)[rank].bfloat16(),
                 'decoder.layers.0.mlp.linear_fc1.weight': torch.cat([gate.chunk(2)[rank], up.chunk(2)[rank]]).bfloat16(),
                 'decoder.layers.0.mlp.linear_fc2.weight': down.chunk(2, 1)[rank].bfloat16(),
                 'decoder.layers.0.self_attention.linear_qkv.layer_norm_weight': norm.clone()}
        where = '%s/iter_0000100/mp_rank_%02d' % (folder, rank)
        os.makedirs(where, exist_ok=True)
        torch.save({'model': model, 'args': argparse.Namespace(tensor_model_parallel_size=2), 'iteration': 100, 'optimizer': {'step': 3}}, where + '/model_optim_rng.pt')
    open(folder + '/latest_checkpointed_iteration.txt', 'w').write('100')

RANK, ALPHA = 4, 8
factors, merged = {}, {k: t.bfloat16() for k, t in hf.items()}
for module in ('q_proj', 'v_proj'):
    name = p + 'self_attn.' + module
    a, b = weight(RANK, H), weight(H, RANK)
    factors['base_model.model.' + name + '.lora_A.weight'], factors['base_model.model.' + name + '.lora_B.weight'] = a, b
    forgotten = dict(merged)
    merged[name + '.weight'] = merged[name + '.weight'] + (b @ a * (ALPHA / RANK)).bfloat16()
os.makedirs('adapter', exist_ok=True)
save('adapter/adapter_model.safetensors', factors)
json.dump({'peft_type': 'LORA', 'r': RANK, 'lora_alpha': ALPHA, 'target_modules': ['q_proj', 'v_proj'], 'use_rslora': False, 'fan_in_fan_out': False}, open('adapter/adapter_config.json', 'w'))
save('merged.safetensors', merged)
save('forgotten.safetensors', forgotten)
