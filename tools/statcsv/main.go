// Command statcsv converts statistics of msprobe to statistics of MindSpore: pairs of dump.json with their truth become
// pairs of statistic.csv with the same numbers and truth.
//
//	go run ./statcsv -out DIR PAIRS
//
// PAIRS has folders with cpu/dump.json, npu/dump.json and expect.json or truth.json. Each becomes
// DIR/{folder}/{cpu,npu}/rank_0/Net/0/0/statistic.csv and DIR/{folder}/expect.json. Calls of functions become operators
// with MindSpore's types. Gradients of products become separate operators, as in MindSpore; operators of other gradients
// also read the inputs of the forward call. Modules, gradients of parameters, and arguments that are no tensors are left
// out. A pair is left out if its fault is in one of these, or if nothing else remains.
package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "statcsv:", err)
		}
		os.Exit(2)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("statcsv", flag.ContinueOnError)
	out := flags.String("out", "", "`folder` of the pairs that are made")
	digits := flags.Int("digits", 6, "`digits` of the numbers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() != 1 {
		return errors.New("want -out DIR and a folder of pairs")
	}
	dirs, err := filepath.Glob(filepath.Join(flags.Arg(0), "*", "npu", msprobe.DumpName))
	if err != nil {
		return err
	}
	made := 0
	for _, file := range dirs {
		dir := filepath.Dir(filepath.Dir(file))
		p := &pair{names: map[string][]string{}, tensors: map[string]string{}, digits: *digits}
		written, err := p.convert(dir, filepath.Join(*out, filepath.Base(dir)))
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		if written {
			made++
		}
	}
	_, err = fmt.Fprintf(stdout, "%d of %d pairs\n", made, len(dirs))
	return err
}

// pair is the state shared by two runs of a network.
type pair struct {
	digits int
	// names maps a call to its operators; tensors maps a tensor to its new name, such as OPERATOR.input.1.
	names   map[string][]string
	tensors map[string]string
	count   int // number of distinct calls
	number  map[string]int
}

// convert writes the tables of both runs. It returns false if the fault or all calls are left out.
func (p *pair) convert(from, to string) (bool, error) {
	p.number = map[string]int{}
	var tables [2][][]string
	for i, side := range []string{"cpu", "npu"} {
		rows, err := p.table(filepath.Join(from, side, msprobe.DumpName))
		if err != nil {
			return false, err
		}
		tables[i] = rows
	}
	truth, err := p.truth(from)
	if err != nil || truth == nil || p.count == 0 {
		return false, err
	}
	for i, side := range []string{"cpu", "npu"} {
		dir := filepath.Join(to, side, "rank_0", "Net", "0", "0")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return false, err
		}
		f, err := os.Create(filepath.Join(dir, "statistic.csv"))
		if err != nil {
			return false, err
		}
		err = csv.NewWriter(f).WriteAll(tables[i])
		if err := errors.Join(err, f.Close()); err != nil {
			return false, err
		}
	}
	return true, os.WriteFile(filepath.Join(to, "expect.json"), truth, 0o644)
}

// truth returns expect.json or truth.json with the new names, nil if nothing of it remains.
func (p *pair) truth(from string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(from, "expect.json"))
	if errors.Is(err, os.ErrNotExist) {
		text, err = os.ReadFile(filepath.Join(from, "truth.json"))
	}
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for key, name := range map[string]func(string) []string{
		"origins": func(s string) []string { return p.names[s] },
		"start": func(s string) []string {
			if t, ok := p.tensors[strings.NewReplacer(".input_args.", ".input.", ".input_kwargs.", ".input.").Replace(s)]; ok {
				return []string{t}
			}
			return nil
		},
	} {
		old, _ := all[key].([]any)
		now := []string{}
		for _, one := range old {
			if s, ok := one.(string); ok {
				now = append(now, name(s)...)
			}
		}
		if len(now) == 0 && len(old) > 0 {
			return nil, nil
		}
		all[key] = now
	}
	// Keys that readers of either file expect.
	if all["dtype"] != nil && all["reference"] == nil {
		all["reference"] = all["dtype"]
		if all["ref32"] == true {
			all["reference"] = "float32"
		}
	}
	if all["kind"] == nil {
		all["kind"] = all["mode"]
	} else if kind, _ := all["kind"].(string); all["mode"] == "clean" && !strings.HasPrefix(kind, "clean") {
		all["kind"] = "clean " + kind
	}
	return json.MarshalIndent(all, "", " ")
}

// titles are the column titles of MindSpore from 2.3 on.
var titles = []string{"Op Type", "Op Name", "Task ID", "Stream ID", "Timestamp", "IO", "Slot", "Data Size", "Data Type", "Shape",
	"Max Value", "Min Value", "Avg Value", "L2Norm Value", ""} // rows end with a comma

// startTime is the time of the first operator, in microseconds.
const startTime = 1718000000000000

// opTypes maps functions of PyTorch to MindSpore's types; other functions keep their name.
var opTypes = map[string]string{
	"linear": "MatMul", "matmul": "BatchMatMul", "bmm": "BatchMatMul", "addmm": "Addmm", "baddbmm": "Baddbmm", "conv2d": "Conv2D",
	"relu": "ReLU", "gelu": "GeLU", "silu": "SiLU", "softmax": "Softmax", "layer_norm": "LayerNorm", "batch_norm": "BatchNorm", "npu_rms_norm": "RmsNorm", "rms_norm": "RmsNorm",
	"__add__": "Add", "__iadd__": "Add", "add": "Add", "add_": "Add", "__sub__": "Sub", "sub": "Sub", "__mul__": "Mul", "mul": "Mul", "__truediv__": "RealDiv", "div": "RealDiv",
	"pow": "Pow", "rsqrt": "Rsqrt", "mean": "ReduceMean", "sum": "ReduceSum", "exp": "Exp", "masked_fill": "MaskedFill", "embedding": "Gather", "index_select": "Gather",
	"view": "Reshape", "reshape": "Reshape", "flatten": "Reshape", "transpose": "Transpose", "contiguous": "Identity", "to": "Cast", "cat": "Concat",
	"argmax": "Argmax", "topk": "TopK", "cross_entropy": "SoftmaxCrossEntropyWithLogits", "adaptive_avg_pool2d": "AdaptiveAvgPool2D", "max_pool2d": "MaxPool",
	"all_reduce": "AllReduce", "dropout": "Dropout", "zeros_like": "ZerosLike", "index_add_": "IndexAdd",
}

// opType returns the operator type of a function.
func opType(api string) string {
	if t, ok := opTypes[api]; ok {
		return t
	}
	var b strings.Builder
	for word := range strings.SplitSeq(strings.Trim(api, "_"), "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// operator is an operator of MindSpore with the tensors of calls that it reads and writes.
type operator struct {
	opType, name    string
	inputs, outputs []*msprobe.Leaf
}

// table reads a dump.json and returns the rows of its table.
func (p *pair) table(file string) ([][]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	forward := map[string]*msprobe.Entry{}
	rows := [][]string{titles}
	at := 0
	_, err = msprobe.Read(f, func(e *msprobe.Entry) {
		words := strings.Split(e.API, ".")
		if msprobe.IsModule(e.API) || len(words) != 4 {
			return
		}
		stem := strings.TrimSuffix(e.API, "."+words[3])
		kept := *e
		var ops []operator
		if words[3] == "forward" {
			forward[stem] = &kept
			in := tensors(&kept, tensor.Input)
			if words[1] == "embedding" && len(in) > 1 { // Gather has the table first
				in[0], in[1] = in[1], in[0]
			}
			ops = []operator{{opType(words[1]), "Default/network-Net/" + words[1], in, tensors(&kept, tensor.Output)}}
		} else {
			ops = backward(words[1], &kept, forward[stem])
		}
		number, ok := p.number[e.API]
		if !ok {
			number = p.count
			p.number[e.API], p.count = number, p.count+1
		}
		var names []string
		for k := range ops {
			ops[k].name = fmt.Sprintf("%s/%s-op%d", ops[k].name, ops[k].opType, 4*number+k)
			names = append(names, ops[k].name)
			for side, leaves := range [][]*msprobe.Leaf{ops[k].inputs, ops[k].outputs} {
				kind := []string{"input", "output"}[side]
				for slot, l := range leaves {
					rows = append(rows, p.row(&ops[k], at, kind, slot, l.Tensor))
					if strings.HasPrefix(l.Name, e.API+".") {
						p.tensors[l.Name] = fmt.Sprintf("%s.%s.%d", ops[k].name, kind, slot)
					}
				}
			}
			at++
		}
		p.names[e.API] = names
	})
	return rows, err
}

// tensors returns the tensors of a kind in a call.
func tensors(e *msprobe.Entry, kind tensor.Kind) (all []*msprobe.Leaf) {
	if e == nil {
		return nil
	}
	for i := range e.Leaves {
		if l := &e.Leaves[i]; l.Tensor != nil && l.Kind == kind {
			all = append(all, l)
		}
	}
	return all
}

// moves are functions whose gradients are only moved.
var moves = []string{"view", "reshape", "flatten", "transpose", "contiguous", "to"}

// products are functions whose gradients are products of the incoming gradient and the other input, with the operator
// types of the gradients of the first, second and third input.
var products = map[string][3]string{
	"linear": {"MatMul", "MatMul", "BiasAddGrad"}, "matmul": {"BatchMatMul", "BatchMatMul", ""},
	"conv2d": {"Conv2DBackpropInput", "Conv2DBackpropFilter", "BiasAddGrad"}, "__mul__": {"Mul", "Mul", ""}, "mul": {"Mul", "Mul", ""},
}

// backward returns the operators that compute the gradients of a call.
func backward(api string, e, forward *msprobe.Entry) []operator {
	grads, outs, reads := tensors(e, tensor.Input), tensors(e, tensor.Output), tensors(forward, tensor.Input)
	name := "Gradients/Default/network-Net/grad" + opType(api)
	types, product := products[api]
	switch {
	case slices.Contains(moves, api):
		return []operator{{opType(api), name, grads, outs}}
	case !product || len(grads) != 1 || len(reads) < 2:
		return []operator{{opType(api) + "Grad", name, slices.Concat(grads, reads), outs}}
	}
	var ops []operator
	for _, out := range outs {
		k := out.Index
		switch {
		case k > 2 || types[k] == "":
			continue
		case k == 2:
			ops = append(ops, operator{types[k], name, grads, []*msprobe.Leaf{out}})
		default:
			ops = append(ops, operator{types[k], name, []*msprobe.Leaf{grads[0], reads[1-k]}, []*msprobe.Leaf{out}})
		}
	}
	return ops
}

// row returns the row of a tensor of an operator.
func (p *pair) row(op *operator, at int, kind string, slot int, t *msprobe.Tensor) []string {
	n, _ := t.Shape.Count()
	d := t.ElementType()
	row := []string{op.opType, op.name, strconv.Itoa(at), "0", strconv.Itoa(startTime + 10*at), kind, strconv.Itoa(slot),
		strconv.FormatInt(n*int64(d.UnitSize()), 10), strings.ToLower(d.String()), "(" + strings.Trim(fmt.Sprint(t.Shape), "(,)") + ")"}
	for _, number := range t.Numbers() {
		row = append(row, p.text(number))
	}
	return append(row, "")
}

// text formats a number like C++, null for none.
func (p *pair) text(n msprobe.Number) string {
	if n.Kind != jsonpos.Number && n.Kind != jsonpos.Bool {
		return "null"
	}
	if n.Int {
		return strconv.FormatFloat(n.Value, 'f', -1, 64)
	}
	return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(n.Value, 'g', p.digits, 64), "+"))
}
