#!/usr/bin/env python3
"""Runs the operator of op.json again with PyTorch, on the NPU if torch_npu is there."""
import json, os, sys
import numpy as np

try:
    import torch
except ImportError:
    sys.exit("repro_torch.py needs PyTorch; repro.py needs numpy only")
try:
    import torch_npu  # noqa: F401
    device = "npu"
except ImportError:
    device = "cpu"
F = torch.nn.functional
here = os.path.dirname(os.path.abspath(__file__))
load = lambda name: np.load(os.path.join(here, os.path.basename(name)), allow_pickle=False)
with open(os.path.join(here, "op.json"), encoding="utf-8") as f:
    op = json.load(f)
types = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
def tensor(t):
    if t is None:
        return None
    v = torch.from_numpy(load(t["file"]))
    kind = types.get(t["dtype"]) or v.dtype
    if device == "cpu":  # it has no half precision, and its products of small integers overflow
        kind = torch.float32 if kind in (torch.float16, torch.bfloat16) else torch.int32 if kind in (torch.int8, torch.uint8) else kind
    return v.to(device).to(kind)


x = [tensor(t) for t in op["inputs"]]
a = {name: v["value"] for name, v in op["operator"]["attributes"].items()}
ints = lambda name: [int(k) for k in np.atleast_1d(a[name])]
at = lambda k: x[k] if len(x) > k else None
turn = lambda m, yes: m.transpose(-1, -2) if yes else m
def conv():
    before, steps, gaps = ints("pads"), ints("strides"), ints("dilations")
    sides, kernel, size = [], x[1].shape[2:], op["outputs"][0]["shape"][2:]
    for k in reversed(range(len(before))):  # what stands behind follows from the size of the output
        sides += [before[k], (size[k] - 1) * steps[k] + (kernel[k] - 1) * gaps[k] + 1 - x[0].shape[2 + k] - before[k]]
    y = [None, F.conv1d, F.conv2d, F.conv3d][len(before)](F.pad(x[0], sides), x[1], None, steps, 0, gaps, x[0].shape[1] // x[1].shape[1])
    for more in x[2:]:  # a bias of each channel, or what is added to every element
        y = y if more is None else y + (more if more.shape == y.shape else more.reshape([1, -1] + [1] * len(before)))
    return y


def turned():
    """a transposed convolution: the whole of it, cut to the size of the output"""
    before, steps, size = ints("pads"), ints("strides"), op["outputs"][0]["shape"][2:]
    y = [None, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][len(before)](x[0], x[1], None, steps, 0, 0, int(a.get("groups", 1)), ints("dilations"))
    for k, n in enumerate(size):
        y = F.pad(y, [0, 0] * (len(size) - 1 - k) + [-before[k], n + before[k] - y.shape[2 + k]])
    return y if at(2) is None else y + x[2].reshape([1, -1] + [1] * len(before))


def pool(mean):
    before, steps, kernel, size = ints("pads"), ints("strides"), ints("ksize"), op["outputs"][0]["shape"][2:]
    y, sides = x[0], []
    for k in reversed(range(len(kernel))):
        sides += [before[k], (size[k] - 1) * steps[k] + kernel[k] - y.shape[2 + k] - before[k]]
    def windows(v, fill):
        v = F.pad(v, sides, value=fill)
        for k in range(len(kernel)):
            v = v.unfold(2 + k, kernel[k], steps[k])
        return v.flatten(2 + len(kernel))
    if not mean:
        return windows(y, -float("inf")).amax(-1)
    count = windows(torch.ones_like(y), 0).sum(-1) if a.get("exclusive", 1) else torch.full((1,), float(np.prod(kernel)), device=device)
    return windows(y, 0).sum(-1) / (a.get("divisor") or count)


act = {"none": lambda y: y, "relu": F.relu, "relu6": F.relu6, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "silu": F.silu, "hswish": F.hardswish, "leaky.1": lambda y: F.leaky_relu(y, 0.1), "gelu": lambda y: F.gelu(y, approximate="tanh")}
fused = lambda y: act[a.get("activation", "none")](y)
rms = lambda v, weight: v * torch.rsqrt(v.pow(2).mean(ints("axes"), keepdim=True) + a["epsilon"]) * (1 if weight is None else weight)
bias = lambda y: y if at(2) is None or a.get("added") == "no" else y + at(2)  # a module may hand it on in place of adding it
first = op["outputs"][0]
calls = {
    "Relu": lambda: F.relu(x[0]), "Relu6": lambda: F.relu6(x[0]), "Abs": lambda: torch.abs(x[0]), "Neg": lambda: torch.neg(x[0]), "Square": lambda: torch.square(x[0]), "Sqrt": lambda: torch.sqrt(x[0]),
    "Rsqrt": lambda: torch.rsqrt(x[0]), "Reciprocal": lambda: torch.reciprocal(x[0]), "Exp": lambda: torch.exp(x[0]), "Expm1": lambda: torch.expm1(x[0]), "Log": lambda: torch.log(x[0]), "Log1p": lambda: torch.log1p(x[0]),
    "Sin": lambda: torch.sin(x[0]), "Cos": lambda: torch.cos(x[0]), "Tanh": lambda: torch.tanh(x[0]), "Erf": lambda: torch.erf(x[0]), "Sigmoid": lambda: torch.sigmoid(x[0]), "Softplus": lambda: F.softplus(x[0], a.get("beta", 1), a.get("threshold", 20)),
    "Mish": lambda: F.mish(x[0]), "HardSwish": lambda: F.hardswish(x[0]), "Gelu": lambda: F.gelu(x[0], approximate=a["approximate"]), "Swish": lambda: x[0] * torch.sigmoid(a.get("scale", 1) * x[0]), "Elu": lambda: F.elu(x[0], a["alpha"]),
    "LeakyRelu": lambda: F.leaky_relu(x[0], a["negative_slope"]), "Add": lambda: x[0] + x[1], "Sub": lambda: x[0] - x[1], "Mul": lambda: x[0] * x[1], "RealDiv": lambda: x[0] / x[1], "Pow": lambda: torch.pow(x[0], x[1]),
    "Maximum": lambda: torch.maximum(x[0], x[1]), "Minimum": lambda: torch.minimum(x[0], x[1]), "Softmax": lambda: torch.exp(x[0] - torch.logsumexp(x[0], ints("axes"), keepdim=True)) if len(ints("axes")) > 1 else F.softmax(x[0], ints("axes")[0]), "LogSoftmax": lambda: x[0] - torch.logsumexp(x[0], ints("axes"), keepdim=True) if len(ints("axes")) > 1 else F.log_softmax(x[0], ints("axes")[0]),
    "Muls": lambda: x[0] * a["value"], "Adds": lambda: x[0] + a["value"], "BiasAdd": lambda: x[0] + x[1].reshape([-1 if k == ints("axis")[0] % x[0].dim() else 1 for k in range(x[0].dim())]),
    "FusedMulAdd": lambda: torch.addcmul(x[2], x[0], x[1]), "SelectV2": lambda: torch.where(x[0] != 0, x[1], x[2]), "ClipByValue": lambda: torch.clamp(x[0], x[1].to(x[0].dtype), x[2].to(x[0].dtype)),
    "MaskedFill": lambda: torch.where(x[1] != 0, x[2].to(x[0].dtype), x[0]), "Concat": lambda: torch.cat(x, ints("axis")[0]), "Pack": lambda: torch.stack(x, ints("axis")[0]),
    "ReduceMax": lambda: torch.amax(x[0], ints("axes")), "ReduceMin": lambda: torch.amin(x[0], ints("axes")), "RmsNorm": lambda: rms(x[0], at(1)), "AddRmsNorm": lambda: rms(x[0] + x[1], at(2)),
    "InstanceNorm": lambda: F.instance_norm(x[0], None, None, at(1), at(2), True, 0.0, a["epsilon"]), "MaxPool": lambda: pool(False), "AvgPool": lambda: pool(True),
    "TopK": lambda: torch.topk(x[0], op["outputs"][0]["shape"][ints("axis")[0]], ints("axis")[0], bool(a.get("largest", 1)))[0], "Cumsum": lambda: torch.cumsum(x[0], ints("axes")[0]),
    "LayerNorm": lambda: F.layer_norm(x[0], x[0].shape[x[0].dim() - len(ints("axes")):], at(1), at(2), a["epsilon"]), "GroupNorm": lambda: F.group_norm(x[0], int(a["num_groups"]), at(1), at(2), a["epsilon"]),
    "BNInfer": lambda: fused(F.batch_norm(x[0], x[3].to(x[0].dtype), x[4].to(x[0].dtype), x[1].to(x[0].dtype), x[2].to(x[0].dtype), False, 0.0, a["epsilon"])), "ReduceSum": lambda: torch.sum(x[0], ints("axes")), "ReduceMean": lambda: torch.mean(x[0], ints("axes")),
    "MatMul": lambda: fused(bias(torch.matmul(turn(x[0], a["transpose_x1"]), turn(x[1], a["transpose_x2"])))), "Transpose": lambda: x[0].permute(ints("perm")),
    "Conv2D": lambda: fused(conv()), "Conv2DTranspose": turned, "Axpy": lambda: x[0] + a["alpha"] * x[1], "SubScaled": lambda: x[0] - a["alpha"] * x[1], "Addcmul": lambda: x[0] + x[3] * x[1] * x[2], "Addcdiv": lambda: x[0] + x[3] * x[1] / x[2],
    "Lerp": lambda: torch.lerp(x[0], x[1], x[2].to(x[0].dtype)), "Identity": lambda: x[0], "Copy": lambda: x[0], "Cast": lambda: x[0] if first["dtype"] in types else torch.trunc(x[0].double()), "TruncateDiv": lambda: torch.div(x[0], x[1], rounding_mode="trunc"),
    "ArgMax": lambda: torch.argmax(x[0], axis("axes")), "ArgMin": lambda: torch.argmin(x[0], axis("axes")), "Sort": lambda: torch.sort(x[0], axis("axes"), bool(a["descending"]))[0], "ReduceLogSumExp": lambda: torch.logsumexp(x[0], ints("axes")),
    "ReduceProd": lambda: torch.prod(x[0], axis("axes")), "ReduceVar": lambda: torch.var(x[0], ints("axes"), correction=int(a["correction"])), "ReduceStd": lambda: torch.std(x[0], ints("axes"), correction=int(a["correction"])),
    "ReduceAny": lambda: torch.any(x[0] != 0, axis("axes")), "ReduceAll": lambda: torch.all(x[0] != 0, axis("axes")), "LpNorm": lambda: torch.norm(x[0], a["p"], ints("axes")), "Roll": lambda: torch.roll(x[0], ints("shifts"), ints("axes")),
    "ReverseV2": lambda: torch.flip(x[0], ints("axes")), "Triu": lambda: torch.triu(x[0], int(a["diagonal"])), "Tril": lambda: torch.tril(x[0], int(a["diagonal"])), "GatherElements": lambda: torch.gather(x[0], axis("axis"), x[1].long()),
    "Gather": lambda: torch.index_select(x[0], axis("axis"), x[1].long().flatten()), "Split": lambda: x[0].narrow(axis("axis"), 0, first["shape"][axis("axis")]), "HardSigmoid": lambda: torch.clamp(a["alpha"] * x[0] + a["beta"], 0, 1),
    "SwiGlu": lambda: F.silu(halves()[0]) * halves()[1], "Glu": lambda: halves()[0] * torch.sigmoid(halves()[1]), "PRelu": lambda: F.prelu(x[0], x[1]), "CeluV2": lambda: F.celu(x[0], a["alpha"]), "SoftShrink": lambda: F.softshrink(x[0], a["lambd"]),
    "HardShrink": lambda: F.hardshrink(x[0], a["lambd"]), "ThresholdV2D": lambda: F.threshold(x[0], a["threshold"], a["value"]), "Einsum": lambda: einsum(), "MseLoss": lambda: F.mse_loss(x[0], x[1], reduction=a["reduction"]),
    "L1Loss": lambda: F.l1_loss(x[0], x[1], reduction=a["reduction"]), "SmoothL1LossV2": lambda: F.smooth_l1_loss(x[0], x[1], reduction=a["reduction"], beta=a["beta"]), "HuberLoss": lambda: F.huber_loss(x[0], x[1], a["reduction"], a["delta"]),
    "CrossEntropy": lambda: F.cross_entropy(x[0], labels(), at(2), ignore_index=int(a["ignore_index"]), reduction=a["reduction"], label_smoothing=a["label_smoothing"]),
    "NLLLoss": lambda: F.nll_loss(x[0], labels(), at(2), ignore_index=int(a["ignore_index"]), reduction=a["reduction"]), "BinaryCrossEntropy": lambda: F.binary_cross_entropy(x[0], x[1], at(2), reduction=a["reduction"]),
    "BatchNorm": lambda: F.batch_norm(x[0], None if a["is_training"] else x[3], None if a["is_training"] else x[4], at(1), at(2), bool(a["is_training"]), 0.0, a["epsilon"]),
    "AdaptiveAvgPool": lambda: [None, F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d][x[0].dim() - 2](x[0], first["shape"][2:]),
}
axis = lambda name: ints(name)[0]
halves = lambda: x[0].chunk(2, axis("axis"))
labels = lambda: x[1] if x[1].shape == x[0].shape else x[1].long()
einsum = lambda: a.get("alpha", 1) * torch.einsum(a["equation"], x[0], x[1]) + (0 if at(2) is None else a.get("beta", 1) * x[2])
# Functions of the inputs alone: those of PyTorch with the name in small letters, and others.
for name in ("Acos Acosh Asin Asinh Atan Atan2 Atanh Ceil CopySign Cosh Erfc Floor Fmax Fmin Frac Heaviside Hypot IsFinite IsInf IsNan Sign Sinh Tan Trunc Xlogy Greater Less").split():
    calls[name] = lambda f=getattr(torch, name.lower()): f(*x)
for name, f in {"FloorDiv": torch.floor_divide, "FloorMod": torch.remainder, "Mod": torch.fmod, "Rint": torch.round, "Equal": torch.eq, "NotEqual": torch.ne, "GreaterEqual": torch.ge, "LessEqual": torch.le, "LogicalNot": torch.logical_not,
                "LogicalAnd": torch.logical_and, "LogicalOr": torch.logical_or, "LogicalXor": torch.logical_xor, "BitwiseAnd": torch.bitwise_and, "BitwiseOr": torch.bitwise_or, "BitwiseXor": torch.bitwise_xor, "BitwiseNot": torch.bitwise_not,
                "LogSigmoid": F.logsigmoid, "Selu": torch.selu, "Softsign": F.softsign, "TanhShrink": F.tanhshrink, "ZerosLike": torch.zeros_like, "OnesLike": torch.ones_like}.items():
    calls[name] = lambda f=f: f(*x)


def gradient(forward):
    """the gradient of the first input; the last input is the gradient of the output"""
    global x
    *x, dy = x
    x[0].requires_grad_()
    with torch.enable_grad():
        y = calls[forward]()
        return torch.autograd.grad(y, x[0], dy.reshape(y.shape).to(y.dtype))[0]


for name in ("BatchNorm ClipByValue CrossEntropy Elu Gelu GroupNorm HardSigmoid HardSwish LayerNorm LeakyRelu Log Maximum Minimum Mish NLLLoss Pow Relu6 RmsNorm Softplus Swish").split():
    calls[name + "Grad"] = lambda f=name: gradient(f)
if op["formula"] not in calls:
    sys.exit(f"there is no call of PyTorch for {op['formula']} here")
t = op["outputs"][0]
if t.get("cut"):
    print(f"this is a part of the operator: output shape {tuple(t['shape'])} from {tuple(t['cut']['from'])} on, of {tuple(t['cut']['of'])}")
expected, bound, dump = load(t["expected"]), load(t["bound"]).astype(np.float64), load(t["file"]).astype(np.float64)
with torch.no_grad():
    now = calls[op["formula"]]().to(types.get(t["dtype"]) or torch.float64).to(torch.float64).cpu().numpy().reshape(expected.shape)
np.seterr(invalid="ignore")  # the difference of two infinities
differ = lambda p, q: int(np.count_nonzero(~((np.abs(p - q) <= bound + 1e-9 * np.nan_to_num(np.abs(expected), posinf=0)) | (p == q) | (np.isnan(p) & np.isnan(q)))))
counts = differ(now, expected), differ(now, dump), differ(dump, expected)
print(f"on {device}: {counts[0]} elements differ from what is expected, {counts[1]} from the dump; the dump differs in {counts[2]}")
for k, t in enumerate(op["outputs"][1:], 1):
    if t.get("expected"):  # the call above computes the first output
        expected, bound, dump = load(t["expected"]), load(t["bound"]).astype(np.float64), load(t["file"]).astype(np.float64)
        print(f"output {k}: the dump differs in {differ(dump, expected)} elements from what is expected; repro.py shows them")
if device == "npu":
    print("the device still computes it wrong" if counts[0] else "the device computes it right today: suspect memory or a race")
