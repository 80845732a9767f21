package pair

import (
	"slices"
	"strings"
	"sync"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/lists"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// frameworks are prefixes of names in MindSpore and in PyTorch, for names without a row in
// functions.
var frameworks = [...][2]string{{"Cell.", "Module."}, {"Mint.", "Torch."}, {"MintFunctional.", "Functional."}, {"MintDistributed.", "Distributed."}}

// function is a function of MindSpore and its possible names in PyTorch, the nearest first. The name that occurs in
// the run counts.
type function struct {
	mindspore, pytorch string
	// inputs and outputs are values with another position or name in PyTorch, as MINDSPORE=PYTORCH; MINDSPORE=- for a
	// value that PyTorch lacks.
	inputs, outputs string
}

// functions lists the functions with different names, from the documents of MindSpore (API
// mapping of PyTorch and MindSpore, pages of mindspore.ops and mindspore.Tensor) and of
// PyTorch. In the names of msprobe, Functional is mindspore.ops for MindSpore and
// torch.nn.functional for PyTorch.
var functions = [...]function{
	// of every element
	{"Functional.abs", "Torch.abs Tensor.abs", "", ""}, {"Functional.absolute", "Torch.absolute Torch.abs", "", ""},
	{"Functional.acos", "Torch.acos", "", ""}, {"Functional.acosh", "Torch.acosh", "", ""},
	{"Functional.asin", "Torch.asin", "", ""}, {"Functional.asinh", "Torch.asinh", "", ""},
	{"Functional.atan", "Torch.atan", "", ""}, {"Functional.atanh", "Torch.atanh", "", ""}, {"Functional.atan2", "Torch.atan2", "", ""},
	{"Functional.sin", "Torch.sin Tensor.sin", "", ""}, {"Functional.sinh", "Torch.sinh", "", ""},
	{"Functional.cos", "Torch.cos Tensor.cos", "", ""}, {"Functional.cosh", "Torch.cosh", "", ""},
	{"Functional.tan", "Torch.tan", "", ""}, {"Functional.tanh", "Torch.tanh Functional.tanh Tensor.tanh", "", ""},
	{"Functional.sigmoid", "Torch.sigmoid Functional.sigmoid Tensor.sigmoid", "", ""},
	{"Functional.exp", "Torch.exp Tensor.exp", "", ""}, {"Functional.exp2", "Torch.exp2", "", ""}, {"Functional.expm1", "Torch.expm1", "", ""},
	{"Functional.log", "Torch.log Tensor.log", "", ""}, {"Functional.log1p", "Torch.log1p", "", ""}, {"Functional.log2", "Torch.log2", "", ""}, {"Functional.log10", "Torch.log10", "", ""},
	{"Functional.sqrt", "Torch.sqrt Tensor.sqrt", "", ""}, {"Functional.rsqrt", "Torch.rsqrt Tensor.rsqrt", "", ""}, {"Functional.square", "Torch.square Tensor.square", "", ""},
	{"Functional.reciprocal", "Torch.reciprocal Tensor.reciprocal", "", ""}, {"Functional.inv", "Torch.reciprocal", "", ""},
	{"Functional.neg", "Torch.neg Tensor.neg Tensor.__neg__", "", ""}, {"Functional.negative", "Torch.negative Torch.neg", "", ""}, {"Functional.sign", "Torch.sign", "", ""},
	{"Functional.floor", "Torch.floor", "", ""}, {"Functional.ceil", "Torch.ceil", "", ""}, {"Functional.round", "Torch.round", "", ""}, {"Functional.trunc", "Torch.trunc", "", ""},
	{"Functional.erf", "Torch.erf", "", ""}, {"Functional.erfc", "Torch.erfc", "", ""}, {"Functional.erfinv", "Torch.erfinv", "", ""},
	{"Functional.lgamma", "Torch.lgamma", "", ""}, {"Functional.digamma", "Torch.digamma", "", ""},
	{"Functional.isnan", "Torch.isnan", "", ""}, {"Functional.isinf", "Torch.isinf", "", ""}, {"Functional.isfinite", "Torch.isfinite", "", ""},
	{"Functional.nan_to_num", "Torch.nan_to_num", "", ""}, {"Functional.logical_not", "Torch.logical_not", "", ""},
	{"Functional.clamp", "Torch.clamp Tensor.clamp", "", ""}, {"Functional.clip", "Torch.clip Torch.clamp", "", ""}, {"Functional.clip_by_value", "Torch.clamp Tensor.clamp", "clip_value_min=min clip_value_max=max", ""},
	{"Functional.cast", "Tensor.to", "dtype=dtype", ""}, {"Tensor.astype", "Tensor.to", "", ""},

	// of two tensors
	{"Functional.add", "Torch.add Tensor.add Tensor.__add__", "", ""}, {"Functional.sub", "Torch.sub Tensor.sub Tensor.__sub__", "", ""}, {"Functional.subtract", "Torch.subtract Torch.sub", "", ""},
	{"Functional.mul", "Torch.mul Tensor.mul Tensor.__mul__", "", ""}, {"Functional.multiply", "Torch.multiply Torch.mul", "", ""},
	{"Functional.div", "Torch.div Tensor.div Tensor.__truediv__", "", ""}, {"Functional.divide", "Torch.divide Torch.div", "", ""}, {"Functional.true_divide", "Torch.true_divide Torch.div", "", ""},
	{"Functional.floor_divide", "Torch.floor_divide", "", ""}, {"Functional.floor_mod", "Torch.remainder", "", ""}, {"Functional.remainder", "Torch.remainder", "", ""}, {"Functional.fmod", "Torch.fmod", "", ""},
	{"Functional.pow", "Torch.pow Tensor.pow Tensor.__pow__", "", ""}, {"Functional.hypot", "Torch.hypot", "", ""}, {"Functional.xlogy", "Torch.xlogy", "", ""}, {"Functional.logaddexp", "Torch.logaddexp", "", ""},
	{"Functional.maximum", "Torch.maximum", "", ""}, {"Functional.minimum", "Torch.minimum", "", ""},
	{"Functional.eq", "Torch.eq Tensor.__eq__", "", ""}, {"Functional.equal", "Torch.eq Tensor.__eq__", "", ""}, {"Functional.ne", "Torch.ne Tensor.__ne__", "", ""}, {"Functional.not_equal", "Torch.not_equal Torch.ne", "", ""},
	{"Functional.gt", "Torch.gt Tensor.__gt__", "", ""}, {"Functional.greater", "Torch.greater Torch.gt", "", ""}, {"Functional.ge", "Torch.ge Tensor.__ge__", "", ""}, {"Functional.greater_equal", "Torch.greater_equal Torch.ge", "", ""},
	{"Functional.lt", "Torch.lt Tensor.__lt__", "", ""}, {"Functional.less", "Torch.less Torch.lt", "", ""}, {"Functional.le", "Torch.le Tensor.__le__", "", ""}, {"Functional.less_equal", "Torch.less_equal Torch.le", "", ""},
	{"Functional.logical_and", "Torch.logical_and", "", ""}, {"Functional.logical_or", "Torch.logical_or", "", ""}, {"Functional.logical_xor", "Torch.logical_xor", "", ""},
	{"Functional.bitwise_and", "Torch.bitwise_and", "", ""}, {"Functional.bitwise_or", "Torch.bitwise_or", "", ""}, {"Functional.bitwise_xor", "Torch.bitwise_xor", "", ""},
	{"Functional.lerp", "Torch.lerp", "", ""}, {"Functional.addcmul", "Torch.addcmul", "", ""}, {"Functional.addcdiv", "Torch.addcdiv", "", ""}, {"Functional.isclose", "Torch.isclose", "", ""},
	{"Functional.where", "Torch.where Tensor.where", "", ""}, {"Functional.select", "Torch.where", "", ""},

	// products
	{"Functional.matmul", "Torch.matmul Tensor.matmul Tensor.__matmul__", "", ""}, {"Functional.mm", "Torch.mm", "", ""}, {"Functional.bmm", "Torch.bmm", "", ""}, {"Functional.mv", "Torch.mv", "", ""},
	{"Functional.addmm", "Torch.addmm", "", ""}, {"Functional.addmv", "Torch.addmv", "", ""}, {"Functional.addbmm", "Torch.addbmm", "", ""}, {"Functional.baddbmm", "Torch.baddbmm", "", ""},
	{"Functional.addr", "Torch.addr", "", ""}, {"Functional.outer", "Torch.outer", "", ""}, {"Functional.ger", "Torch.ger Torch.outer", "", ""}, {"Functional.inner", "Torch.inner", "", ""},
	{"Functional.einsum", "Torch.einsum", "", ""}, {"Functional.cross", "Torch.cross", "", ""}, {"Functional.kron", "Torch.kron", "", ""}, {"Functional.cdist", "Torch.cdist", "", ""},
	{"Functional.dense", "Functional.linear", "", ""}, {"MintFunctional.dense", "Functional.linear", "", ""}, {"Functional.bias_add", "Torch.add", "", ""},

	// sums and extremes
	{"Functional.sum", "Torch.sum Tensor.sum", "", ""}, {"Functional.mean", "Torch.mean Tensor.mean", "", ""}, {"Functional.prod", "Torch.prod Tensor.prod", "", ""},
	{"Functional.std", "Torch.std", "", ""}, {"Functional.var", "Torch.var", "", ""}, {"Functional.norm", "Torch.norm Tensor.norm", "ord=p", ""}, {"Functional.logsumexp", "Torch.logsumexp", "", ""},
	{"Functional.amax", "Torch.amax", "", ""}, {"Functional.amin", "Torch.amin", "", ""}, {"Functional.reduce_max", "Torch.amax", "", ""}, {"Functional.reduce_min", "Torch.amin", "", ""},
	{"Functional.max", "Torch.max Tensor.max", "", ""}, {"Functional.min", "Torch.min Tensor.min", "", ""}, {"Functional.median", "Torch.median", "", ""},
	{"Functional.all", "Torch.all", "", ""}, {"Functional.any", "Torch.any", "", ""}, {"Functional.argmax", "Torch.argmax", "", ""}, {"Functional.argmin", "Torch.argmin", "", ""},
	{"Functional.cumsum", "Torch.cumsum", "", ""}, {"Functional.cumprod", "Torch.cumprod", "", ""}, {"Functional.cummax", "Torch.cummax", "", ""}, {"Functional.cummin", "Torch.cummin", "", ""},
	{"Functional.sort", "Torch.sort", "", ""}, {"Functional.argsort", "Torch.argsort", "", ""}, {"Functional.topk", "Torch.topk", "", ""}, {"Functional.bincount", "Torch.bincount", "", ""},

	// shapes and places
	{"Functional.reshape", "Torch.reshape Tensor.reshape Tensor.view", "", ""}, {"Tensor.reshape", "Tensor.reshape Tensor.view", "", ""}, {"Functional.flatten", "Torch.flatten", "", ""},
	{"Functional.transpose", "Torch.permute Tensor.permute", "input_perm=dims", ""}, {"Functional.permute", "Torch.permute Tensor.permute", "", ""}, {"Tensor.transpose", "Tensor.permute", "", ""},
	{"Functional.swapaxes", "Torch.swapaxes Torch.transpose Tensor.transpose", "", ""}, {"Tensor.swapaxes", "Tensor.swapaxes Tensor.transpose", "", ""}, {"Functional.swapdims", "Torch.swapdims Torch.transpose", "", ""},
	{"Functional.movedim", "Torch.movedim", "", ""}, {"Functional.squeeze", "Torch.squeeze Tensor.squeeze", "", ""},
	{"Functional.unsqueeze", "Torch.unsqueeze Tensor.unsqueeze", "", ""}, {"Functional.expand_dims", "Torch.unsqueeze Tensor.unsqueeze", "", ""}, {"Tensor.expand_dims", "Tensor.unsqueeze", "", ""},
	{"Functional.concat", "Torch.concat Torch.cat", "", ""}, {"Functional.cat", "Torch.cat", "", ""}, {"Mint.concat", "Torch.concat Torch.cat", "", ""}, {"Functional.stack", "Torch.stack", "", ""},
	{"Functional.split", "Torch.split Tensor.split", "", ""}, {"Functional.chunk", "Torch.chunk Tensor.chunk", "", ""}, {"Functional.unbind", "Torch.unbind", "", ""}, {"Functional.unstack", "Torch.unbind", "", ""}, {"Functional.tensor_split", "Torch.tensor_split", "", ""},
	{"Functional.tile", "Torch.tile Tensor.tile Tensor.repeat", "", ""}, {"Tensor.tile", "Tensor.tile Tensor.repeat", "", ""}, {"Functional.repeat_interleave", "Torch.repeat_interleave", "", ""},
	{"Functional.broadcast_to", "Torch.broadcast_to Tensor.expand", "", ""}, {"Tensor.broadcast_to", "Tensor.broadcast_to Tensor.expand", "", ""},
	{"Functional.flip", "Torch.flip", "", ""}, {"Functional.roll", "Torch.roll", "", ""}, {"Functional.rot90", "Torch.rot90", "", ""}, {"Functional.meshgrid", "Torch.meshgrid", "", ""},
	{"Functional.tril", "Torch.tril", "", ""}, {"Functional.triu", "Torch.triu", "", ""}, {"Functional.diag", "Torch.diag", "", ""}, {"Functional.diagonal", "Torch.diagonal", "", ""}, {"Functional.trace", "Torch.trace", "", ""},
	{"Functional.gather", "Torch.index_select Functional.embedding", "1=2 2=1 input_params=input input_indices=index", ""}, {"Functional.index_select", "Torch.index_select", "", ""},
	{"Functional.gather_elements", "Torch.gather", "", ""}, {"Functional.gather_d", "Torch.gather", "", ""}, {"Functional.index_add", "Torch.index_add", "1=2 2=3 3=1 indices=index y=source", ""},
	{"Functional.scatter", "Torch.scatter", "", ""}, {"Functional.tensor_scatter_elements", "Torch.scatter", "1=2 2=3 3=1 indices=index updates=src", ""}, {"Functional.index_fill", "Torch.index_fill", "", ""},
	{"Functional.masked_fill", "Torch.masked_fill Tensor.masked_fill", "", ""}, {"Functional.masked_select", "Torch.masked_select Tensor.masked_select", "", ""}, {"Functional.nonzero", "Torch.nonzero", "", ""},
	{"Functional.searchsorted", "Torch.searchsorted", "", ""}, {"Functional.bucketize", "Torch.bucketize", "", ""}, {"Functional.unique_consecutive", "Torch.unique_consecutive", "", ""},
	{"Functional.ones", "Torch.ones", "", ""}, {"Functional.zeros", "Torch.zeros", "", ""}, {"Functional.ones_like", "Torch.ones_like", "", ""}, {"Functional.zeros_like", "Torch.zeros_like", "", ""},
	{"Functional.full", "Torch.full", "", ""}, {"Functional.full_like", "Torch.full_like", "", ""}, {"Functional.eye", "Torch.eye", "", ""}, {"Functional.arange", "Torch.arange", "", ""}, {"Functional.linspace", "Torch.linspace", "", ""},

	// linear algebra
	{"Functional.det", "Torch.det", "", ""}, {"Functional.slogdet", "Torch.slogdet", "", ""}, {"Functional.inverse", "Torch.inverse", "", ""}, {"Functional.pinv", "Torch.pinverse", "", ""},
	{"Functional.cholesky", "Torch.cholesky", "", ""}, {"Functional.qr", "Torch.qr", "", ""}, {"Functional.svd", "Torch.svd", "", "0=1 1=0"},

	// layers that MindSpore has under the name of PyTorch, and others
	{"Functional.relu", "Functional.relu Torch.relu Tensor.relu", "", ""}, {"Functional.softmax", "Functional.softmax Torch.softmax Tensor.softmax", "", ""}, {"Functional.log_softmax", "Functional.log_softmax Torch.log_softmax", "", ""},
	{"Functional.prelu", "Functional.prelu Torch.prelu", "", ""}, {"Functional.celu", "Functional.celu Torch.celu", "", ""}, {"Functional.selu", "Functional.selu Torch.selu", "", ""},
	{"Functional.deepcopy", "Torch.clone Tensor.clone", "", ""}, {"Functional.l2_normalize", "Functional.normalize", "1=2", ""}, {"Functional.cosine_similarity", "Functional.cosine_similarity Torch.cosine_similarity", "", ""},
	{"Mint.relu", "Torch.relu Functional.relu", "", ""}, {"Mint.softmax", "Torch.softmax Functional.softmax", "", ""}, {"Mint.sigmoid", "Torch.sigmoid Functional.sigmoid", "", ""}, {"Mint.tanh", "Torch.tanh Functional.tanh", "", ""},
	{"MintFunctional.tanh", "Functional.tanh Torch.tanh", "", ""}, {"MintFunctional.sigmoid", "Functional.sigmoid Torch.sigmoid", "", ""},

	// of the NPU
	{"Functional.flash_attention_score", "NPU.npu_fusion_attention", "4=- real_shift=pse attn_mask=atten_mask", ""},
	{"Functional.rms_norm", "NPU.npu_rms_norm", "", ""}, {"Primitive.RmsNorm", "NPU.npu_rms_norm", "", ""}, {"Functional.swiglu", "NPU.npu_swiglu", "", ""},
	{"Functional.rotary_position_embedding", "NPU.npu_rotary_mul", "cos=r1 sin=r2", ""}, {"Functional.fast_gelu", "NPU.npu_fast_gelu", "", ""},

	// between ranks: MindSpore returns what PyTorch writes into its first argument
	{"Distributed.all_gather_into_tensor", "Distributed.all_gather_into_tensor", "0=1", ""}, {"Distributed.reduce_scatter_tensor", "Distributed.reduce_scatter_tensor", "0=1", ""},
	{"Distributed.all_to_all_single_with_output_shape", "Distributed.all_to_all_single", "0=-", ""},
}

// keywords are names of arguments and parameters in MindSpore, and in PyTorch.
var keywords = map[string]string{
	"axis": "dim", "keepdims": "keepdim", "keep_dims": "keepdim", "input_x": "input", "x": "input", "logits": "input", "label": "target", "labels": "target",
	"gamma": "weight", "beta": "bias", "embedding_table": "weight", "moving_mean": "running_mean", "moving_variance": "running_var",
}

// renaming has PyTorch's names of a MindSpore function and of its values.
type renaming struct {
	names           []string
	inputs, outputs map[string]string
	// listed: values without an entry have no partner.
	listed bool
}

// renamings are the rows of functions by MindSpore's names.
var renamings = sync.OnceValue(func() map[string]*renaming {
	all := make(map[string]*renaming, len(functions))
	for i := range functions {
		f := &functions[i]
		all[f.mindspore] = &renaming{names: strings.Fields(f.pytorch), inputs: parseAssignments(f.inputs), outputs: parseAssignments(f.outputs)}
	}
	return all
})

// parseAssignments parses words of the form FROM=TO.
func parseAssignments(text string) map[string]string {
	all := make(map[string]string)
	for _, word := range strings.Fields(text) {
		from, to, _ := strings.Cut(word, "=")
		all[from] = to
	}
	return all
}

// dictionary translates names of functions and modules from MindSpore to PyTorch.
type dictionary struct {
	userMap map[string]*renaming // from the user's map
	// mindSporeCalls and pyTorchCalls are the numbers of calls of MindSpore and PyTorch by name. claimed are names of
	// PyTorch that are the only translation of some name.
	mindSporeCalls, pyTorchCalls map[string]int
	claimed                      map[string]bool
}

// newDictionary makes the dictionary for the calls of two sides.
func newDictionary(mindspore, pytorch []call, nameMap *sidefile.NameMap) *dictionary {
	d := &dictionary{userMap: make(map[string]*renaming), mindSporeCalls: countNames(mindspore), pyTorchCalls: countNames(pytorch), claimed: make(map[string]bool)}
	if nameMap != nil {
		for i := range nameMap.Calls {
			e := &nameMap.Calls[i]
			d.userMap[e.MindSpore] = &renaming{names: []string{e.PyTorch}, inputs: e.Inputs, outputs: e.Outputs, listed: true}
		}
	}
	for name := range d.mindSporeCalls {
		if there := d.presentCandidates(name); len(there) == 1 {
			d.claimed[there[0]] = true
		}
	}
	return d
}

func countNames(calls []call) map[string]int {
	all := make(map[string]int)
	for i := range calls {
		all[calls[i].Callee]++
	}
	return all
}

// findRenaming returns the renaming of a name, nil for none.
func (d *dictionary) findRenaming(name string) *renaming {
	if r := d.userMap[name]; r != nil {
		return r
	}
	return renamings()[name]
}

// candidates returns the names that a function or module of MindSpore may have in PyTorch.
func (d *dictionary) candidates(name string) []string {
	if r := d.findRenaming(name); r != nil {
		return r.names
	}
	for _, f := range frameworks {
		if rest, ok := strings.CutPrefix(name, f[0]); ok {
			return []string{f[1] + rest}
		}
	}
	return []string{name}
}

// presentCandidates returns the candidates that occur among the calls of PyTorch.
func (d *dictionary) presentCandidates(name string) []string {
	return lists.Filter(d.candidates(name), func(c string) bool { return d.pyTorchCalls[c] > 0 })
}

// translateName translates a name. Of several candidates among the calls of PyTorch it takes the unclaimed one, else the
// one called equally often; else the name has no translation.
func (d *dictionary) translateName(name string) string {
	there := d.presentCandidates(name)
	if len(there) == 0 {
		return d.candidates(name)[0]
	}
	if free := slices.DeleteFunc(slices.Clone(there), func(c string) bool { return d.claimed[c] }); len(there) > 1 && len(free) > 0 {
		there = free
	}
	if len(there) > 1 {
		there = slices.DeleteFunc(there, func(c string) bool { return d.pyTorchCalls[c] != d.mindSporeCalls[name] })
	}
	if len(there) != 1 {
		return name + " of MindSpore"
	}
	return there[0]
}

// translate renames calls of MindSpore.
func (d *dictionary) translate(calls []call, which func(*call) bool) {
	for i := range calls {
		if c := &calls[i]; which(c) {
			c.renaming = d.findRenaming(c.Callee)
			c.isTranslated, c.Callee = true, d.translateName(c.Callee)
		}
	}
}

// value returns the path of a value of a call, translated to PyTorch if the call is translated.
func (c *call) value(l *msprobe.Leaf) string {
	if !c.isTranslated {
		return l.Path
	}
	if l.Kind == tensor.Parameter || l.Kind == tensor.Gradient {
		parts := strings.Split(l.Path, ".")
		for i, p := range parts {
			if to := keywords[p]; to != "" {
				parts[i] = to
			}
		}
		return strings.Join(parts, ".")
	}
	head, rest, _ := strings.Cut(l.Path, ".")
	if r := c.renaming; r != nil {
		// The outputs of a backward call are the gradients of the inputs.
		places := r.inputs
		if (l.Kind == tensor.Output) != c.Direction.IsBackward() {
			places = r.outputs
		}
		to, ok := places[head]
		switch {
		case to == "-" || !ok && r.listed && places != nil:
			return "- " + l.Path // no path of PyTorch begins with -
		case ok:
			head = to
		}
	}
	if to := keywords[head]; to != "" {
		head = to
	}
	return strings.TrimSuffix(head+"."+rest, ".")
}
