package optype

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/format/msprobe"
)

// Call says what a call of a function or module of a framework computes.
type Call struct {
	// Formula is the name of a formula of package recompute.
	Formula string
	// Arguments are those of the function in their order.
	Arguments []Argument
	// Open is set for modules of whose inside more is possible: another padding, a rounding
	// between two steps.
	Open bool
}

// Argument is an argument of a function.
type Argument struct {
	// Keyword is the name that the function has for it; empty for what the function always
	// has, which is Default.
	Keyword string
	// Name is that of an input or attribute of the formula, - for what changes nothing.
	Name string
	// Default is the value where the argument is missing, empty for none; with Only it is
	// the only value with which the row holds.
	Default string
	Only    bool
	// Rest is set where all arguments that follow by their place belong to this one.
	Rest bool
	// Tensor is set where a number will not do.
	Tensor bool
	// Index is set for what stands between the brackets of x[...]: its tensors are the input, all of it
	// as text is the attribute index.
	Index bool
}

// Functions that do the same may have several rows: the first that has a place for all
// arguments of a call holds.
//
// An argument is written KEYWORD:NAME=DEFAULT, where the name may be left out if it is the
// keyword, == stands before the only value that the row holds for, * behind the name for
// all arguments that follow, ! for one that has to be a tensor, and [] for an index.
type calls struct{ names, formula, arguments string }

// unaryCalls are functions of a tensor alone, by their formulas.
var unaryCalls = []calls{
	{"relu", "Relu", ""}, {"relu6", "Relu6", ""}, {"sigmoid", "Sigmoid", ""}, {"tanh", "Tanh", ""}, {"exp", "Exp", ":base=-1"}, {"expm1", "Expm1", ""},
	{"log", "Log", ":base=-1"}, {"log1p", "Log1p", ""}, {"log2", "Log", ":base=2"}, {"log10", "Log", ":base=10"}, {"exp2", "Exp", ":base=2"},
	{"sqrt", "Sqrt", ""}, {"rsqrt", "Rsqrt", ""}, {"abs absolute __abs__", "Abs", ""}, {"neg negative __neg__", "Neg", ""},
	{"sin", "Sin", ""}, {"cos", "Cos", ""}, {"erf", "Erf", ""}, {"floor", "Floor", ""}, {"ceil", "Ceil", ""}, {"trunc fix", "Trunc", ""}, {"round", "Rint", ""},
	{"square", "Square", ""}, {"reciprocal", "Reciprocal", ""}, {"mish", "Mish", ""}, {"hardswish", "HardSwish", ""}, {"hardsigmoid", "HardSigmoid", ":alpha=0.16666666666666666 :beta=0.5"},
	{"silu", "Swish", ":scale=1"}, {"logical_not", "LogicalNot", ""}, {"npu_fast_gelu fast_gelu", "FastGelu", ""}, {"logsigmoid", "LogSigmoid", ""}, {"sign", "Sign", ""},
	{"reshape view flatten ravel squeeze unsqueeze contiguous clone detach view_as reshape_as unflatten", "Identity", "shape*:-"},
	{"to type type_as half float double bfloat16 int long bool", "Cast", "dtype*:- :mode=trunc"},
	{"expand expand_as repeat broadcast_to tile", "Tile", "sizes*:-"},
	{"permute", "Transpose", "dims*:perm"},
	{"transpose swapaxes swapdims", "Transpose", "dim0:swap0 dim1:swap1"},
	{"t", "Transpose", ":perm=1,0"},
	{"softplus", "Softplus", "beta=1 threshold=20"},
	{"gelu", "Gelu", "approximate=none"},
	{"npu_gelu", "Gelu", "approximate=none"},
	{"leaky_relu", "LeakyRelu", "negative_slope=0.01"},
	{"elu", "Elu", "alpha=1 scale:-==1 input_scale:-==1"},
	{"prelu", "PRelu", "weight!"},
	{"hardtanh", "ClipByValue", "min_val:low=-1 max_val:high=1"},
	{"clamp clip", "ClipByValue", "min:low=-inf max:high=inf"},
	{"masked_fill", "MaskedFill", "mask! value"},
	{"tril", "Tril", "diagonal=0"}, {"triu", "Triu", "diagonal=0"},
	{"one_hot", "OneHot", "num_classes:-"},
	{"softmax", "Softmax", "dim:axes"}, {"log_softmax", "LogSoftmax", "dim:axes"},
	{"cumsum", "Cumsum", "dim:axes :exclusive=0 :reverse=0"},
	{"sum", "ReduceSum", "dim:axes keepdim:-"}, {"mean", "ReduceMean", "dim:axes keepdim:-"}, {"prod", "ReduceProd", "dim:axes keepdim:-"},
	{"amax", "ReduceMax", "dim:axes keepdim:-"}, {"amin", "ReduceMin", "dim:axes keepdim:-"},
	{"argmax", "ArgMax", "dim:axes keepdim:-"}, {"argmin", "ArgMin", "dim:axes keepdim:-"},
	{"max", "ReduceMax", "dim:axes keepdim:-"}, {"min", "ReduceMin", "dim:axes keepdim:-"},
	{"topk", "TopK", "k:- dim:axis=-1 largest=1 sorted=1"},
	{"split chunk tensor_split", "Split", "sizes:- dim:axis=0"},
	{"unbind", "Unpack", "dim:axis=0"},
	{"index_select", "Gather", "dim:axis index:indices!"},
	{"pad", "Pad", "pad:last_pads mode=constant value=0"},
	{"layer_norm", "LayerNorm", "normalized_shape weight:gamma bias:beta eps:epsilon=1e-5 cudnn_enable:-"},
	{"group_norm", "GroupNorm", "num_groups weight:gamma bias:beta eps:epsilon=1e-5 cudnn_enable:-"},
	{"rms_norm", "RmsNorm", "normalized_shape weight:gamma eps:epsilon"},
	{"npu_rms_norm", "RmsNorm", "gamma epsilon=1e-6"},
	{"npu_swiglu swiglu", "SwiGlu", "dim:axis=-1"}, {"glu", "Glu", "dim:axis=-1"},
	{"npu_rotary_mul", "RotaryMul", "r1:cos! r2:sin! rotary_mode:mode=half"},
}

// binaryCalls are functions of two tensors, or of a tensor and a number.
var binaryCalls = []calls{
	{"add __add__ __radd__ __iadd__", "Add", "other:x2 alpha:-==1"},
	{"sub subtract __sub__ __isub__", "Sub", "other:x2 alpha:-==1"},
	{"mul multiply __mul__ __rmul__ __imul__", "Mul", "other:x2"},
	{"div divide true_divide __truediv__ __itruediv__ __div__", "RealDiv", "other:x2"},
	{"pow __pow__ __ipow__", "Pow", "exponent:x2"},
	{"maximum", "Maximum", "other:x2"}, {"minimum", "Minimum", "other:x2"}, {"max", "Maximum", "other:x2!"}, {"min", "Minimum", "other:x2!"},
	{"clamp_min", "Maximum", "min:x2"}, {"clamp_max", "Minimum", "max:x2"},
	{"eq __eq__", "Equal", "other:x2"}, {"ne not_equal __ne__", "NotEqual", "other:x2"},
	{"gt greater __gt__", "Greater", "other:x2"}, {"ge greater_equal __ge__", "GreaterEqual", "other:x2"},
	{"lt less __lt__", "Less", "other:x2"}, {"le less_equal __le__", "LessEqual", "other:x2"},
	{"logical_and", "LogicalAnd", "other:x2"}, {"logical_or", "LogicalOr", "other:x2"},
	{"bitwise_and __and__", "BitwiseAnd", "other:x2"}, {"bitwise_or __or__", "BitwiseOr", "other:x2"}, {"bitwise_xor __xor__ __ixor__", "BitwiseXor", "other:x2"},
	{"matmul mm bmm __matmul__", "MatMul", "mat2:x2! :transpose_x1=0 :transpose_x2=0"},
}

// otherCalls are functions whose first argument is none that formulas have first, by name
// or by prefix and name.
var otherCalls = []calls{
	{"add", "FusedMulAdd", "input:x3 other:x1 alpha:x2"},
	{"__rsub__", "Sub", "input:x2 other:x1"}, {"rsub", "Sub", "input:x2 other:x1 alpha:-==1"},
	{"__rtruediv__ __rdiv__", "RealDiv", "input:x2 other:x1"}, {"__rpow__", "Pow", "input:x2 other:x1"},
	{"addcmul", "FusedMulAdd", "input:x3 tensor1:x1! tensor2:x2! value:-==1"},
	{"where", "NonZero", "condition:x!"}, {"Tensor.where", "SelectV2", "input:x1 condition:mask! other:x2"},
	{"where", "SelectV2", "condition:mask! input:x1 other:x2"},
	{"linear", "MatMul", "input:x1! weight:x2! bias :transpose_x1=0 :transpose_x2=1"},
	{"addmm", "MatMul", "input:bias! mat1:x1! mat2:x2! beta=1 alpha=1 :transpose_x1=0 :transpose_x2=0"},
	{"baddbmm", "MatMul", "input:bias! batch1:x1! batch2:x2! beta=1 alpha=1 :transpose_x1=0 :transpose_x2=0"},
	{"cat concat concatenate", "Concat", "tensors:x dim:axis=0"}, {"stack", "Pack", "tensors:x dim:axis=0"},
	{"Torch.embedding Aten.embedding", "Gather", "weight:x! indices! padding_idx:- scale_grad_by_freq:- sparse:- :axis=0"},
	{"embedding", "Gather", "input:indices! weight:x! padding_idx:- max_norm:- norm_type:- scale_grad_by_freq:- sparse:- :axis=0"},
	{"Torch.batch_norm Aten.batch_norm Torch.native_batch_norm Aten.native_batch_norm", "BNInfer",
		"input:x! weight:scale bias:offset running_mean:mean! running_var:variance! training:-==0 momentum:- eps:epsilon=1e-5 cudnn_enabled:- :activation=none"},
	{"Torch.batch_norm Aten.batch_norm Torch.native_batch_norm Aten.native_batch_norm", "BatchNorm",
		"input:x! weight:scale bias:offset running_mean:- running_var:- training:-==1 momentum:- eps:epsilon=1e-5 cudnn_enabled:- :is_training=1"},
	{"batch_norm", "BNInfer", "input:x! running_mean:mean! running_var:variance! weight:scale bias:offset training:-==0 momentum:- eps:epsilon=1e-5 :activation=none"},
	{"batch_norm", "BatchNorm", "input:x! running_mean:- running_var:- weight:scale bias:offset training:-==1 momentum:- eps:epsilon=1e-5 :is_training=1"},
	{"Torch.instance_norm Aten.instance_norm", "InstanceNorm",
		"input:x! weight:gamma bias:beta running_mean:- running_var:- use_input_stats:-==1 momentum:- eps:epsilon=1e-5 cudnn_enabled:-"},
	{"instance_norm", "InstanceNorm", "input:x! running_mean:- running_var:- weight:gamma bias:beta use_input_stats:-==1 momentum:- eps:epsilon=1e-5"},
	{"npu_fusion_attention", "Attention", "query:q! key:k! value:v! head_num:heads input_layout:layout pse:bias padding_mask:- atten_mask:mask scale=1 keep_prob:-==1 pre_tockens:- next_tockens:- " +
		"inner_precise:- prefix:- actual_seq_qlen:- actual_seq_kvlen:- sparse_mode=0 gen_mask_parallel:- sync:- :masked=out :pse_type=1"},
	{"scaled_dot_product_attention", "Attention", "query:q! key:k! value:v! attn_mask:mask dropout_p:-==0 is_causal:causal=0 scale=none enable_gqa:- :masked=keep :layout=BNSD"},
	{"npu_add_rms_norm", "AddRmsNorm", "x1! x2! gamma! epsilon=1e-6"},
	{"conv1d conv2d conv3d", "Conv2D", "input:x! weight:w! bias:more stride=1 padding=0 dilation=1 groups=1 :activation=none"},
	{"max_pool1d max_pool2d max_pool2d_with_indices", "MaxPool", "input:x! kernel_size stride padding=0 dilation:-==1 ceil_mode=0 return_indices:-"},
	{"avg_pool1d avg_pool2d", "AvgPool", "input:x! kernel_size stride padding=0 ceil_mode=0 count_include_pad=1 divisor_override:divisor"},
}

// mindsporeCalls are functions and cells of MindSpore whose arguments are others than those of
// PyTorch, from the documents of mindspore.ops. Of its other functions those of mint, and
// those of a tensor alone or of two, are as in PyTorch.
var mindsporeCalls = []calls{
	{"conv2d", "Conv2D", "input:x! weight:w! bias:more stride=1 pad_mode:padding=valid padding:- dilation=1 groups=1 :activation=none"},
	{"max_pool2d", "MaxPool", "x! kernel_size stride padding=0 dilation:-==1 return_indices:- ceil_mode=0"},
	{"avg_pool2d", "AvgPool", "input_x:x! kernel_size=1 stride=1 padding=0 ceil_mode=0 count_include_pad=1 divisor_override:-==0"},
	{"softmax", "Softmax", "input:x! axis:axes=-1"}, {"log_softmax", "LogSoftmax", "logits:x! axis:axes=-1"},
	{"layer_norm", "LayerNorm", "input:x! normalized_shape weight:gamma bias:beta eps:epsilon=1e-5"},
	{"batch_norm", "BNInfer", "input_x:x! running_mean:mean! running_var:variance! weight:scale bias:offset training:-==0 momentum:- eps:epsilon=1e-5 :activation=none"},
	{"gelu", "Gelu", "input:x! approximate=none"}, {"leaky_relu", "LeakyRelu", "input:x! alpha:negative_slope=0.2"}, {"elu", "Elu", "input_x:x! alpha=1"},
	{"cat concat", "Concat", "tensors:x axis=0"}, {"stack", "Pack", "tensors:x axis=0"},
	{"transpose permute", "Transpose", "input:x! input_perm*:perm"}, {"swapaxes", "Transpose", "input:x! axis0:swap0 axis1:swap1"},
	{"sum", "ReduceSum", "input:x! dim:axes keepdim:-"}, {"mean", "ReduceMean", "x! axis:axes keep_dims:-"},
	{"amax", "ReduceMax", "input:x! axis:axes keepdims:-"}, {"amin", "ReduceMin", "input:x! axis:axes keepdims:-"},
	{"cumsum", "Cumsum", "x! axis:axes :exclusive=0 :reverse=0"}, {"gather", "Gather", "input_params:x! input_indices:indices! axis batch_dims:-==0"},
	{"cast", "Cast", "input:x! dtype:- :mode=trunc"}, {"dense", "MatMul", "input:x1! weight:x2! bias :transpose_x1=0 :transpose_x2=1"},
	{"Dense", "MatMul", "input:x1! weight:x2! bias :transpose_x1=0"}, {"Conv2d", "Conv2D", "input:x! weight:w! bias:more :activation=none"},
	{"LayerNorm", "LayerNorm", "input:x! gamma beta"}, {"Embedding", "Gather", "input:indices! embedding_table:x! :axis=0"},
	{"ReLU", "Relu", "input:x!"}, {"SiLU", "Swish", "input:x! :scale=1"}, {"Sigmoid", "Sigmoid", "input:x!"}, {"Tanh", "Tanh", "input:x!"}, {"GELU", "Gelu", "input:x!"},
	{"Softmax", "Softmax", "input:x!"},
}

// modules are the modules of PyTorch whose meaning is closed. Of their settings a dump has
// none.
var modules = []calls{
	{"Linear", "MatMul", "input:x1! weight:x2! bias :transpose_x1=0 :transpose_x2=1"},
	{"LayerNorm", "LayerNorm", "input:x! weight:gamma bias:beta"},
	{"GroupNorm", "GroupNorm", "input:x! weight:gamma bias:beta"},
	{"BatchNorm1d BatchNorm2d BatchNorm3d", "BatchNorm", "input:x! weight:scale bias:offset running_mean:mean running_var:variance num_batches_tracked:-"},
	{"Embedding", "Gather", "input:indices! weight:x! :axis=0"},
	{"ReLU", "Relu", "input:x!"}, {"ReLU6", "Relu6", "input:x!"}, {"SiLU", "Swish", "input:x! :scale=1"}, {"Sigmoid", "Sigmoid", "input:x!"}, {"Tanh", "Tanh", "input:x!"},
	{"GELU", "Gelu", "input:x!"}, {"Mish", "Mish", "input:x!"}, {"Hardswish", "HardSwish", "input:x!"}, {"LeakyReLU", "LeakyRelu", "input:x!"}, {"ELU", "Elu", "input:x!"},
	{"Softplus", "Softplus", "input:x!"}, {"Softmax", "Softmax", "input:x!"}, {"LogSoftmax", "LogSoftmax", "input:x!"}, {"Flatten", "Identity", "input:x!"},
}

// openModules are modules of whose inside more is possible than the formula says: a
// padding_mode, or what those outside of torch.nn do between two steps.
var openModules = []calls{
	{"Conv1d Conv2d Conv3d", "Conv2D", "input:x! weight:w! bias:more :activation=none"},
	{"VocabParallelEmbedding", "Gather", "input:indices! weight:x! :axis=0"},
	{"ColumnParallelLinear RowParallelLinear", "MatMul", "input:x1! weight:x2! bias :transpose_x1=0 :transpose_x2=1"},
	{"RMSNorm LlamaRMSNorm Qwen2RMSNorm", "RmsNorm", "input:x! weight:gamma"},
	{"SwiGLU SiluAndMul", "SwiGlu", "input:x! :axis=-1"},
	{"TopKRouter MoERouter", "TopKRouter", "input:x! weight!"},
	{"DotProductAttention TEDotProductAttention", "Attention", "query:q! key:k! value:v! attention_mask:mask attn_mask_type:- attention_bias:bias packed_seq_params:- :masked=out :layout=SBND"},
}

// guesses are what a module may compute of which nobody knows the class, the likely first.
var guesses = []calls{
	{"any", "Identity", "input:x!"}, {"any", "Add", "input:x1! other:x2!"}, {"any", "Mul", "input:x1! other:x2!"},
	{"any", "MatMul", "input:x1! weight:x2! bias :transpose_x1=0 :transpose_x2=1"},
	{"any", "RmsNorm", "input:x! weight:gamma!"}, {"any", "LayerNorm", "input:x! weight:gamma! bias:beta"},
	{"any", "SwiGlu", "input:x! :axis=-1"}, {"any", "Gelu", "input:x!"}, {"any", "Swish", "input:x! :scale=1"}, {"any", "Relu", "input:x!"},
	{"any", "TopKRouter", "input:x! weight!"},
}

// callTables are the tables by who has the names; before stands in front of the arguments.
var callTables = []struct {
	of, before string
	rows       []calls
}{
	{"PyTorch", "input:x!", unaryCalls}, {"PyTorch", "input:x1", binaryCalls}, {"PyTorch", "", otherCalls},
	{"torch.nn", "", modules}, {"torch.nn", "", openModules}, {"MindSpore", "", mindsporeCalls},
}

// CallRow is a row of the table of functions and modules.
type CallRow struct {
	// Names are those of the functions, Of says who has them.
	Names []string
	Of    string
	Call
}

// CallRows returns the table.
func CallRows() (all []CallRow) {
	for _, table := range callTables {
		c := callRows{}
		for _, row := range table.rows {
			c.add([]calls{row}, table.before)
			names := strings.Fields(row.names)
			some := c[names[0]]
			all = append(all, CallRow{names, table.of, some[len(some)-1]})
		}
	}
	return all
}

// Signature are the arguments as people write them.
func (c *Call) Signature() string {
	var all []string
	for _, a := range c.Arguments {
		switch {
		case a.Keyword == "":
			continue
		case a.Rest:
			a.Keyword += "*"
		}
		if a.Default != "" {
			a.Keyword += "=" + strings.TrimPrefix(a.Default, "=")
		}
		all = append(all, a.Keyword)
	}
	return strings.Join(all, " ")
}

// callRows is a table by the names in it.
type callRows map[string][]Call

// open adds the rows of a table of modules of whose inside more is possible.
func (c callRows) open(rows []calls) {
	all := callRows{}
	all.add(rows, "")
	for name, some := range all {
		for _, row := range some {
			row.Open = true
			c[name] = append(c[name], row)
		}
	}
}

// add adds the rows of a table; before and behind stand around the arguments of each.
func (c callRows) add(rows []calls, before string) {
	for _, row := range rows {
		one := Call{Formula: row.formula}
		for text := range strings.FieldsSeq(before + " " + row.arguments) {
			one.Arguments = append(one.Arguments, argumentOf(text))
		}
		for name := range strings.FieldsSeq(row.names) {
			c[name] = append(c[name], one)
		}
	}
}

// argumentOf reads an argument of the table.
func argumentOf(text string) (a Argument) {
	text, a.Default, _ = strings.Cut(text, "=")
	if a.Only = strings.HasPrefix(a.Default, "="); a.Only {
		a.Default = a.Default[1:]
	}
	text, a.Tensor = strings.CutSuffix(text, "!")
	text, a.Index = strings.CutSuffix(text, "[]")
	a.Keyword, a.Name, _ = strings.Cut(text, ":")
	if a.Keyword, a.Rest = strings.CutSuffix(a.Keyword, "*"); a.Name == "" {
		a.Name = a.Keyword
	}
	return a
}

var functionRows, mindsporeRows, moduleRows = sync.OnceValue(func() callRows {
	c := callRows{}
	c.add(unaryCalls, "input:x!")
	c.add(binaryCalls, "input:x1")
	c.add(otherCalls, "")
	c.add(moreUnaryCalls, "input:x!")
	c.add(moreCalls, "")
	return c
}), sync.OnceValue(func() callRows {
	c := callRows{}
	for _, row := range unaryCalls {
		if row.arguments == "" {
			c.add([]calls{row}, "input:x!")
		}
	}
	c.add(binaryCalls, "input:x1")
	c.add(mindsporeCalls, "")
	return c
}), sync.OnceValue(func() callRows {
	c := callRows{}
	c.add(modules, "")
	c.add(moreModules, "")
	c.open(openModules)
	return c
})

// Guesses are what a module may compute of which nobody knows the class, the likely first.
var Guesses = sync.OnceValue(func() []Call {
	c := callRows{}
	c.open(guesses)
	return c["any"]
})

// Ignored are arguments of any function that do not change what is computed.
var Ignored = strings.Fields("inplace out dtype memory_format non_blocking copy requires_grad device _stacklevel generator layout pin_memory")

// CallsOf returns what a call may compute by the name that msprobe gives it, such as
// Functional.relu.0.forward or Module.fc1.Linear.forward.0, and the name of its function or
// class; nothing for a call that nobody knows, or of a backward pass. The framework is that
// of dump.json.
func CallsOf(api, framework string) (function string, rows []Call) {
	call := msprobe.ParseName(api)
	if call.Direction != msprobe.Forward {
		return "", nil
	}
	class := call.Class()
	table := functionRows()
	switch {
	case framework == "mindspore" && !strings.HasPrefix(call.Callee, "Mint"):
		table = mindsporeRows()
	case class != "":
		table = moduleRows()
	}
	if class != "" {
		return class, table[class]
	}
	function = call.Function()
	name := function
	if !strings.HasSuffix(name, "__") {
		name = strings.TrimSuffix(name, "_")
	}
	family, _, _ := strings.Cut(call.Callee, ".")
	if rows = table[family+"."+name]; rows == nil {
		rows = table[name]
	}
	return function, rows
}

// CallNames are the names of the functions and modules of PyTorch and MindSpore whose meaning is
// known.
func CallNames() []string {
	names := slices.Concat(slices.Collect(maps.Keys(functionRows())), slices.Collect(maps.Keys(mindsporeRows())), slices.Collect(maps.Keys(moduleRows())))
	slices.Sort(names)
	return slices.Compact(names)
}
