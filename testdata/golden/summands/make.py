"""Writes npu.zip and ref.zip: a block of a network on four ranks (tensor parallel), and the same on one, as msprobe
dumps them. On rank 2 the product in the row-parallel linear has every third column times 1.3; the sum over the ranks is
smaller than its summands. The reference has another class of the linears. Needs PyTorch: python3 make.py"""
import io
import json
import zipfile

import torch

RANKS, TOKENS, HIDDEN, INNER = 4, 24, 32, 64
torch.manual_seed(7)
torch.set_num_threads(1)
x = torch.randn(TOKENS, HIDDEN)
weights = {"norm": 1 + 0.1 * torch.randn(HIDDEN), "up": torch.randn(INNER, HIDDEN) / 6, "down": torch.randn(HIDDEN, INNER) / 8}


class Dump:
    """The calls of a rank."""

    def __init__(self, archive, rank):
        self.archive, self.folder = archive, "step0/rank%d/" % rank
        self.data, self.construct = {}, {}

    def write(self, name, content):
        self.archive.writestr(zipfile.ZipInfo(self.folder + name), content, zipfile.ZIP_DEFLATED)

    def leaf(self, name, t):
        file = io.BytesIO()
        torch.save(t.clone(), file)
        self.write("dump_tensor_data/%s.pt" % name, file.getvalue())
        f = t.float()
        return {"type": "torch.Tensor", "dtype": str(t.dtype), "shape": list(t.shape), "Max": f.max().item(), "Min": f.min().item(),
                "Mean": f.mean().item(), "Norm": f.norm().item(), "requires_grad": False, "data_name": name + ".pt"}

    def call(self, name, inputs, output, parent=None, group=None, **parameters):
        self.construct[name] = parent
        self.data[name] = {"input_args": [self.leaf("%s.input.%d" % (name, i), t) for i, t in enumerate(inputs)],
                           "input_kwargs": {"group": group} if group else {}, "output": [self.leaf(name + ".output.0", output)]}
        if parameters:
            self.data[name]["parameters"] = {k: self.leaf("%s.parameters.%s" % (name, k), t) for k, t in parameters.items()}

    def close(self):
        head = {"task": "tensor", "level": "mix", "framework": "pytorch", "dump_data_dir": ""}
        self.write("dump.json", json.dumps(head | {"data": self.data}))
        self.write("construct.json", json.dumps(self.construct))


def run(path, dtype, ranks, faulty, up, down):
    with zipfile.ZipFile(path, "w") as archive:
        dumps = [Dump(archive, r) for r in range(ranks)]
        w = {k: v.to(dtype) for k, v in weights.items()}
        products = []
        for r, d in enumerate(dumps):
            h = x.to(dtype)
            n = (h.float() * torch.rsqrt(h.float().pow(2).mean(-1, keepdim=True) + 1e-6)).to(dtype) * w["norm"]
            d.call("Module.layers.0.norm.RMSNorm.forward.0", [h], n, weight=w["norm"])
            u, module = w["up"].chunk(ranks)[r], "Module.layers.0.mlp.up.%s.forward.0" % up
            y = torch.nn.functional.linear(n, u)
            d.call("Functional.linear.0.forward", [n, u], y, module)
            d.call(module, [n], y, weight=u)
            g = torch.nn.functional.gelu(y.float()).to(dtype)
            d.call("Functional.gelu.0.forward", [y], g)
            v = w["down"].chunk(ranks, 1)[r].contiguous()
            z = torch.nn.functional.linear(g, v)
            if r == faulty:
                z[:, 1::3] *= 1.3
            products.append(z)
            d.row_parallel = (g, v, z)
        total = sum(z.float() for z in products).to(dtype)
        for d in dumps:
            g, v, z = d.row_parallel
            module = "Module.layers.0.mlp.down.%s.forward.0" % down
            d.call("Functional.linear.1.forward", [g, v], z, module)
            if ranks > 1:
                group = {"type": "torch.ProcessGroup", "group_id": "tp", "group_ranks": list(range(ranks))}
                d.call("Distributed.all_reduce.0.forward", [z], total, module, group)
            d.call(module, [g], total, weight=v)
            d.call("Tensor.__add__.0.forward", [x.to(dtype), total], x.to(dtype) + total)
            d.close()


run("ref.zip", torch.float32, 1, None, "Linear", "Linear")
run("npu.zip", torch.bfloat16, RANKS, 2, "ColumnParallelLinear", "RowParallelLinear")
