package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// handedCalls lists the calls of a training step in both frameworks, written by hand like calls of
// typical scripts: MindSpore's call, PyTorch's call, and where they differ the places of
// MindSpore's arguments in PyTorch's call, -1 for a number that is no tensor, and the places of the
// results. The generator makes the pair from the list, and the test checks the result against it.
// Both are independent of the program's table.
const handedCalls = `
Cell.network.Net.forward Module.network.Net.forward
Cell.network.embed.Embedding.forward Module.network.embed.Embedding.forward
Cell.network.layers.0.norm1.LayerNorm.forward Module.network.layers.0.norm1.LayerNorm.forward
Cell.network.layers.0.fc1.Dense.forward Module.network.layers.0.fc1.Linear.forward
Cell.network.layers.0.fc2.Dense.forward Module.network.layers.0.fc2.Linear.forward
Cell.network.layers.1.fc1.Dense.forward Module.network.layers.1.fc1.Linear.forward
Cell.network.layers.1.fc2.Dense.forward Module.network.layers.1.fc2.Linear.forward
Cell.network.act.GELU.forward Module.network.act.GELU.forward
Cell.network.bn.BatchNorm2d.forward Module.network.bn.BatchNorm2d.forward
Cell.network.pool.MaxPool2d.forward Module.network.pool.MaxPool2d.forward
Functional.gather Torch.index_select 0,2,-1
Functional.gather Torch.index_select 0,2,-1
Mint.add Torch.add
Mint.add Torch.add
Mint.sub Torch.sub
Mint.mul Torch.mul
Mint.div Torch.div
Mint.matmul Torch.matmul
Mint.matmul Torch.matmul
Mint.bmm Torch.bmm
Mint.cat Torch.cat
Mint.stack Torch.stack
Mint.split Torch.split
Mint.chunk Torch.chunk
Mint.exp Torch.exp
Mint.log Torch.log
Mint.sqrt Torch.sqrt
Mint.rsqrt Torch.rsqrt
Mint.sum Torch.sum
Mint.mean Torch.mean
Mint.max Torch.max
Mint.topk Torch.topk
Mint.where Torch.where
Mint.gather Torch.gather
Mint.tril Torch.tril
Mint.permute Torch.permute
Mint.transpose Torch.transpose
MintFunctional.linear Functional.linear
MintFunctional.relu Functional.relu
MintFunctional.gelu Functional.gelu
MintFunctional.silu Functional.silu
MintFunctional.softmax Functional.softmax
MintFunctional.layer_norm Functional.layer_norm
MintFunctional.dropout Functional.dropout
MintFunctional.embedding Functional.embedding
MintFunctional.max_pool2d Functional.max_pool2d
MintFunctional.batch_norm Functional.batch_norm
MintFunctional.mse_loss Functional.mse_loss
MintFunctional.pad Functional.pad
MintFunctional.one_hot Functional.one_hot
Functional.abs Torch.abs
Functional.neg Torch.neg
Functional.sign Torch.sign
Functional.floor Torch.floor
Functional.ceil Torch.ceil
Functional.sin Torch.sin
Functional.cos Torch.cos
Functional.tanh Torch.tanh
Functional.sigmoid Torch.sigmoid
Functional.erf Torch.erf
Functional.square Torch.square
Functional.reciprocal Torch.reciprocal
Functional.log1p Torch.log1p
Functional.expm1 Torch.expm1
Functional.isnan Torch.isnan
Functional.isfinite Torch.isfinite
Functional.clip_by_value Torch.clamp
Functional.pow Torch.pow
Functional.floor_mod Torch.remainder
Functional.fmod Torch.fmod
Functional.maximum Torch.maximum
Functional.minimum Torch.minimum
Functional.equal Torch.eq
Functional.equal Torch.eq
Functional.not_equal Torch.ne
Functional.greater Torch.gt
Functional.less Torch.lt
Functional.greater_equal Torch.ge
Functional.less_equal Torch.le
Functional.logical_and Torch.logical_and
Functional.logical_or Torch.logical_or
Functional.logical_not Torch.logical_not
Functional.bitwise_and Torch.bitwise_and
Functional.atan2 Torch.atan2
Functional.lerp Torch.lerp
Functional.addcmul Torch.addcmul
Functional.addcdiv Torch.addcdiv
Functional.addmm Torch.addmm
Functional.baddbmm Torch.baddbmm
Functional.outer Torch.outer
Functional.mv Torch.mv
Functional.einsum Torch.einsum
Functional.cdist Torch.cdist
Functional.dense Functional.linear
Functional.prod Torch.prod
Functional.std Torch.std
Functional.var Torch.var
Functional.norm Torch.norm
Functional.logsumexp Torch.logsumexp
Functional.amax Torch.amax
Functional.amin Torch.amin
Functional.argmax Torch.argmax
Functional.argmin Torch.argmin
Functional.cumsum Torch.cumsum
Functional.cumprod Torch.cumprod
Functional.sort Torch.sort
Functional.argsort Torch.argsort
Functional.any Torch.any
Functional.all Torch.all
Functional.reshape Torch.reshape
Functional.flatten Torch.flatten
Functional.transpose Tensor.permute
Functional.swapaxes Tensor.transpose
Functional.squeeze Torch.squeeze
Functional.expand_dims Torch.unsqueeze
Functional.unstack Torch.unbind
Functional.tile Tensor.repeat
Functional.broadcast_to Tensor.expand
Functional.flip Torch.flip
Functional.roll Torch.roll
Functional.meshgrid Torch.meshgrid
Functional.diag Torch.diag
Functional.tensor_scatter_elements Torch.scatter 0,2,3,-1
Functional.index_add Torch.index_add 0,2,3,-1
Functional.masked_fill Tensor.masked_fill
Functional.masked_select Torch.masked_select
Functional.nonzero Torch.nonzero
Functional.select Torch.where
Functional.ones_like Torch.ones_like
Functional.full_like Torch.full_like
Functional.svd Torch.svd 0 1,0,2
Functional.inverse Torch.inverse
Functional.log_softmax Functional.log_softmax
Functional.cross_entropy Functional.cross_entropy
Functional.conv2d Functional.conv2d
Functional.interpolate Functional.interpolate
Tensor.astype Tensor.to
Tensor.reshape Tensor.view
Tensor.expand_dims Tensor.unsqueeze
Tensor.__add__ Tensor.__add__
Tensor.__mul__ Tensor.__mul__
Functional.flash_attention_score NPU.npu_fusion_attention
Primitive.RmsNorm NPU.npu_rms_norm
Distributed.all_reduce Distributed.all_reduce
Distributed.all_gather_into_tensor Distributed.all_gather_into_tensor 1
Cell.network.layers.0.fc1.Dense.parameters_grad Module.network.layers.0.fc1.Linear.parameters_grad
Cell.network.norm.LayerNorm.parameters_grad Module.network.norm.LayerNorm.parameters_grad
Functional.global_norm_clip Torch._foreach_norm
Functional.adam_weight_decay Torch._fused_adamw_
`

// handedCall is a line of handedCalls, with the whole names of both calls.
type handedCall struct {
	mindspore, pytorch string
	// inputs and outputs map MindSpore's places to PyTorch's.
	inputs, outputs []int
}

// parseHandedCalls numbers the calls as the frameworks do, each name separately. Gradients of
// MindSpore's parameters are from step 7, PyTorch's from step 0.
func parseHandedCalls(t *testing.T) (calls []handedCall) {
	t.Helper()
	seen := make(map[string]int)
	whole := func(name string, step int) string {
		n := seen[name]
		seen[name]++
		switch {
		case strings.HasSuffix(name, "parameters_grad"):
			return fmt.Sprintf("%s.%d", name, step)
		case strings.HasSuffix(name, "forward"):
			return fmt.Sprintf("%s.%d", name, n)
		}
		return fmt.Sprintf("%s.%d.forward", name, n)
	}
	for _, line := range strings.Split(strings.TrimSpace(handedCalls), "\n") {
		words := strings.Fields(line)
		c := handedCall{mindspore: whole("MS "+words[0], 7)[3:], pytorch: whole("PT "+words[1], 0)[3:]}
		places := []string{"0,1", "0"}
		copy(places, words[2:])
		for i, to := range []*[]int{&c.inputs, &c.outputs} {
			for _, p := range strings.Split(places[i], ",") {
				n, err := strconv.Atoi(p)
				if err != nil {
					t.Fatal(err)
				}
				*to = append(*to, n)
			}
		}
		calls = append(calls, c)
	}
	return calls
}

// handFrameworks writes the lists of calls of both frameworks, with statistics. Each value of each
// call has numbers of its own, so a wrongly paired value differs.
func handFrameworks(t *testing.T, all map[string][]byte) {
	t.Helper()
	calls := parseHandedCalls(t)
	for _, side := range []string{"mindspore", "pytorch"} {
		data := make([]string, len(calls))
		for k, c := range calls {
			name := c.mindspore
			if side == "pytorch" {
				name = c.pytorch
			}
			data[k] = fmt.Sprintf("%q: %s", name, handedEntry(side, name, k, &c))
		}
		text := fmt.Sprintf(`{"task": "statistics", "level": "mix", "framework": %q, "dump_data_dir": null, "data": {`+"\n%s\n}}\n", side, strings.Join(data, ",\n"))
		all["frameworks/"+side+"/dump.json"] = []byte(text)
	}
	all["frameworks/cell_mapping.yaml"] = []byte("Dense: Linear\nlayers.0.fc1.Dense: layers.0.fc1.Linear\n")
	all["frameworks/api_mapping.yaml"] = []byte("- ms_api: Functional.global_norm_clip\n  pt_api: Torch._foreach_norm\n  ms_args: [0, 1]\n  pt_args: [0, 1]\n- ms_api: Functional.adam_weight_decay\n  pt_api: Torch._fused_adamw_\n")
	all["frameworks/layer_mapping.yaml"] = []byte("TopLayer:\n  network: network\nNet:\n  act: act\n")
}

// handedEntry returns the entry of a call. All arguments of MindSpore are tensors, except one with
// the place -1; PyTorch has each at its place, and numbers elsewhere.
func handedEntry(side, name string, k int, c *handedCall) string {
	number := func(i int) string {
		v := float64(k+1) + float64(i)/8
		kind, dtype := "mindspore.Tensor", "Float32"
		if side == "pytorch" {
			kind, dtype = "torch.Tensor", "torch.float32"
		}
		return fmt.Sprintf(`{"type": %q, "dtype": %q, "shape": [4, %d], "Max": %g, "Min": %g, "Mean": %g, "Norm": %g}`, kind, dtype, k+2, v, -v, v/4, 2*v)
	}
	values := func(first int, places []int) string {
		all := make([]string, max(len(places), slices.Max(places)+1))
		for i := range all {
			all[i] = `{"type": "int", "value": 0}`
		}
		for i, p := range places {
			switch {
			case side == "mindspore" && p >= 0:
				all[i] = number(first + i)
			case side == "pytorch" && p >= 0:
				all[p] = number(first + i)
			}
		}
		return strings.Join(all, ", ")
	}
	if strings.Contains(name, "parameters_grad") {
		weight := "weight"
		if side == "mindspore" && strings.Contains(name, "Norm") {
			weight = "gamma"
		}
		return fmt.Sprintf(`{%q: [%s]}`, weight, number(0))
	}
	return fmt.Sprintf(`{"input_args": [%s], "input_kwargs": {}, "output": [%s]}`, values(0, c.inputs), values(4, c.outputs))
}

// TestFrameworks: of a step of 149 calls in both frameworks at least 140 pair, each with its own
// partner and its values with the partner's. The others are listed with the nearest name, and pair
// by a mapping.
func TestFrameworks(t *testing.T) {
	t.Parallel()
	calls := parseHandedCalls(t)
	if len(calls) != 149 {
		t.Fatalf("%d calls, want 149", len(calls))
	}
	partner := make(map[string]string)
	for _, c := range calls {
		partner[c.mindspore] = c.pytorch
	}
	for _, test := range []struct {
		name      string
		mapping   string
		swap      bool
		want      int
		wantNotes string
	}{
		{"built in", "", false, 147, "the nearest name without a partner there is"},
		{"the reference of MindSpore", "", true, 147, ""},
		{"API mapping", "api_mapping.yaml", false, 149, ""},
		{"cell mapping", "cell_mapping.yaml", false, 147, ""},
		{"layer mapping", "layer_mapping.yaml", false, 147, ""},
	} {
		out := t.TempDir()
		ref, npu := filepath.Join(handed, "frameworks", "pytorch"), filepath.Join(handed, "frameworks", "mindspore")
		if test.swap {
			ref, npu = npu, ref
		}
		args := []string{"compare", "--cpu", ref, "--npu", npu, "--inputs", "--out", out, "--format", "json"}
		if test.mapping != "" {
			args = append(args, "--map-node-dict", "@"+filepath.Join(handed, "frameworks", test.mapping))
		}
		res := runArgs(t, args...)
		text, err := os.ReadFile(filepath.Join(out, "compare.json"))
		if err != nil {
			t.Fatalf("%s: %v, %+v", test.name, err, res)
		}
		var doc struct {
			Rows []struct {
				Op, Kind, Status string
				NPUOp            string `json:"npu_op"`
				Output           int
				Notes            []any
			}
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		paired := make(map[string]bool)
		for _, row := range doc.Rows {
			if strings.HasPrefix(row.Status, "UNMATCHED") {
				continue
			}
			ms, pt := row.NPUOp, row.Op
			if ms == "" {
				ms = pt
			}
			if test.swap {
				ms, pt = pt, ms
			}
			if partner[ms] != pt {
				t.Errorf("%s: %s is paired with %s, want %s", test.name, ms, pt, partner[ms])
			}
			if row.Status != "PASS" {
				t.Errorf("%s: %s %s %d is %s", test.name, ms, row.Kind, row.Output, row.Status)
			}
			paired[ms] = true
		}
		if len(paired) != test.want {
			for _, c := range calls {
				if !paired[c.mindspore] {
					t.Errorf("%s: %s has no partner, want %s", test.name, c.mindspore, c.pytorch)
				}
			}
			t.Errorf("%s: %d calls pair, want %d", test.name, len(paired), test.want)
		}
		if !strings.Contains(string(text), test.wantNotes) {
			t.Errorf("%s: no row says %q", test.name, test.wantNotes)
		}
	}
}
