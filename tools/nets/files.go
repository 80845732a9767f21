package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/format/npy"
	"dumptool/internal/format/torch"
	"dumptool/internal/tensor"
)

// startTime is the time of the first operator, in microseconds.
const startTime = 1718000000000000

// form is the kind of files of the two runs of a network.
type form struct {
	Files  string `json:"files"`
	Graph  string `json:"graph"`  // map, fusion or none
	Inputs bool   `json:"inputs"` // inputs are dumped too
	Wide   bool   `json:"wide"`   // NPU arrays are stored as float32
}

// form draws the kind of files.
func (n *net) form() form {
	f := form{Files: pick(n, "cann", "cann", "msaccucmp", "mindspore", "msprobe-pt", "msprobe-npy", "plain"), Graph: pick(n, "map", "fusion", "none")}
	f.Inputs, f.Wide = n.IntN(3) == 0, n.IntN(2) == 0
	switch f.Files {
	case "msprobe-pt", "msprobe-npy":
		f.Graph, f.Inputs = "none", true
	case "plain":
		f.Inputs = false
	}
	if f.Inputs && f.Files == "cann" {
		f.Files = "cann-both" // two devices
	}
	return f
}

// writer writes a network in a form.
type writer struct {
	*net
	form
	dir   string
	names map[*node]string // names of the operators in the files
	time  map[*node]uint64
}

// write writes the two runs. It returns the writer, which has the names, and the arguments of the comparison.
func (n *net) write(dir string, f form) (*writer, []string, error) {
	w := &writer{net: n, form: f, dir: dir, names: map[*node]string{}, time: map[*node]uint64{}}
	calls := map[string]int{}
	for i, nd := range n.nodes {
		w.time[nd] = startTime + uint64(i)*7
		switch w.Files {
		case "mindspore":
			w.names[nd] = fmt.Sprintf("Default_net_%s-op%d", nd.kind, i)
		case "msprobe-pt", "msprobe-npy":
			api, pass := nd.api, "forward"
			if after, ok := strings.CutPrefix(api, "!"); ok {
				api, pass = after, "backward"
			}
			w.names[nd] = fmt.Sprintf("%s.%d.%s", api, calls[nd.api], pass)
			calls[nd.api]++
		case "plain":
			w.names[nd] = nd.name
			if w.Graph == "none" { // the numbers give the order
				w.names[nd] = fmt.Sprintf("%04d_%s", i, nd.name)
			}
		default:
			w.names[nd] = nd.name
		}
	}
	for _, npu := range []bool{false, true} {
		if err := w.side(npu); err != nil {
			return nil, nil, err
		}
	}
	args, err := w.graph()
	return w, args, err
}

// put writes a file below the folder of a side.
func (w *writer) put(npu bool, data []byte, path ...string) error {
	name := filepath.Join(append([]string{w.dir, sides[b2i(npu)]}, path...)...)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o666)
}

var sides = [2]string{"cpu", "npu"}

// side writes the run of one side.
func (w *writer) side(npu bool) error {
	if strings.HasPrefix(w.Files, "msprobe") {
		return w.msprobe(npu)
	}
	for i, nd := range w.nodes {
		if nd.constant || nd.missing {
			continue
		}
		if err := w.operator(npu, i, nd); err != nil {
			return err
		}
	}
	return nil
}

// operator writes the files of an operator.
func (w *writer) operator(npu bool, i int, nd *node) error {
	out := nd.ref
	if npu {
		out = nd.npu
	}
	name, stamp := w.names[nd], w.time[nd]
	if (w.Files == "cann" && npu) || w.Files == "cann-both" {
		c := &dumptest.Content{Container: dumpfmt.BinaryV2, DumpTime: stamp, OpName: nd.name}
		for _, a := range out {
			c.Outputs = append(c.Outputs, content(a, npu))
		}
		if w.Inputs {
			for _, a := range arrays(nd.in, npu) {
				c.Inputs = append(c.Inputs, content(a, npu))
			}
		}
		var b bytes.Buffer
		if err := dumptest.Write(&b, c); err != nil {
			return err
		}
		return w.put(npu, b.Bytes(), fmt.Sprintf("%s.%s.%d.3.%d", nd.kind, name, i+1, stamp))
	}
	write := func(kind string, k int, a *Array) error {
		file := fmt.Sprintf("%s.%s.%d.3.%d.%s.%d.npy", nd.kind, name, i+1, stamp, kind, k)
		host, data := w.elements(a, npu)
		switch w.Files {
		case "cann": // converted by the HPAA tools from a framework
			file = fmt.Sprintf("%s.%d.%d.npy", name, k, stamp)
		case "plain":
			file = name + ".npy"
			if k > 0 {
				file = fmt.Sprintf("%s.%d.%d.npy", name, k, stamp)
			}
		case "mindspore":
			typ := host.String()
			if npu && a.Type == BF16 {
				typ = a.Type.String()
			}
			file = fmt.Sprintf("rank_0/Net/0/0/%s.%s.0.0.%d.%s.%d.DefaultFormat.%s.npy", nd.kind, name, stamp, kind, k, typ)
		}
		head, err := npy.AppendHeader(nil, host, wide(a.Shape))
		if err != nil {
			return err
		}
		return w.put(npu, append(head, data...), file)
	}
	for k, a := range out {
		if err := write("output", k, a); err != nil {
			return err
		}
	}
	if w.Inputs && w.Files != "cann" { // the HPAA tools write outputs only
		for k, a := range arrays(nd.in, npu) {
			if err := write("input", k, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// content returns a tensor of a dump, in the type of the device.
func content(a *Array, npu bool) dumptest.TensorContent {
	t, data := a.Type, []byte(nil)
	if !npu && t.float() {
		t = F32
	}
	stored := map[Type]tensor.DType{F32: tensor.Float32, F16: tensor.Float16, BF16: tensor.BFloat16, I32: tensor.Int32, I8: tensor.Int8, Bool: tensor.Bool}[t]
	for _, x := range a.V {
		switch t {
		case F16:
			data = binary.LittleEndian.AppendUint16(data, dumptest.Half(float32(x)))
		case BF16:
			data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(float32(x))>>16))
		default:
			data = appendHost(data, stored.Host(), x)
		}
	}
	var shape []uint64
	for _, d := range a.Shape {
		shape = append(shape, uint64(d))
	}
	return dumptest.TensorContent{
		Payload: dumptest.Bytes(data), StoredDType: int32(stored), StoredFormat: tensor.FormatWord(tensor.ND), Shape: shape, OriginalShape: shape,
	}
}

// elements returns the elements in an array file of a framework: float32, or float16 on the NPU's side unless Wide.
func (w *writer) elements(a *Array, npu bool) (tensor.Host, []byte) {
	host, data := tensor.HostFloat32, []byte(nil)
	switch {
	case a.Type == I32:
		host = tensor.HostInt32
	case a.Type == I8:
		host = tensor.HostInt8
	case a.Type == Bool:
		host = tensor.HostBool
	case npu && a.Type == F16 && !w.Wide:
		host = tensor.HostFloat16
	}
	for _, x := range a.V {
		data = appendHost(data, host, x)
	}
	return host, data
}

func appendHost(data []byte, host tensor.Host, x float64) []byte {
	switch host {
	case tensor.HostInt32:
		return binary.LittleEndian.AppendUint32(data, uint32(int32(x)))
	case tensor.HostInt8, tensor.HostBool:
		return append(data, byte(int8(x)))
	case tensor.HostFloat16:
		return binary.LittleEndian.AppendUint16(data, dumptest.Half(float32(x)))
	}
	return binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
}

func wide(shape []int) (s tensor.Shape) {
	for _, d := range shape {
		s = append(s, int64(d))
	}
	return s
}

// description is a tensor in dump.json.
type description struct {
	Type, Dtype         string
	Shape               []int
	Max, Min, Mean, Nrm float64
	File                string
}

// text returns JSON as Python writes it, with NaN and Infinity.
func (d description) text() string {
	num := func(x float64) string {
		switch {
		case math.IsNaN(x):
			return "NaN"
		case math.IsInf(x, 0):
			return strings.Replace(fmt.Sprint(x), "Inf", "Infinity", 1)[b2i(x > 0):]
		}
		return fmt.Sprint(x)
	}
	shape, _ := json.Marshal(d.Shape) // integers cannot fail
	return fmt.Sprintf(`{"type": %q, "dtype": %q, "shape": %s, "Max": %s, "Min": %s, "Mean": %s, "Norm": %s, "data_name": %q}`,
		d.Type, d.Dtype, shape, num(d.Max), num(d.Min), num(d.Mean), num(d.Nrm), d.File)
}

// msprobe writes the run of a side like msprobe, inputs included.
func (w *writer) msprobe(npu bool) error {
	const dir = "step0/rank0"
	framework, ext := "pytorch", "pt"
	if w.Files == "msprobe-npy" {
		framework, ext = "mindspore", "npy"
	}
	var calls []string
	for _, nd := range w.nodes {
		if nd.constant || nd.missing || nd.api == "" {
			continue
		}
		one := func(kind string, all []*Array) (string, error) {
			var texts []string
			for k, a := range all {
				file := fmt.Sprintf("%s.%s.%d.%s", w.names[nd], kind, k, ext)
				host, data := w.elements(a, npu)
				data, err := wrapContent(ext, host, wide(a.Shape), data)
				if err == nil {
					err = w.put(npu, data, dir, "dump_tensor_data", file)
				}
				if err != nil {
					return "", err
				}
				texts = append(texts, w.describe(a, npu, framework, file).text())
			}
			return strings.Join(texts, ", "), nil
		}
		in, err := one("input", arrays(nd.in, npu))
		if err != nil {
			return err
		}
		out := nd.ref
		if npu {
			out = nd.npu
		}
		outputs, err := one("output", out)
		if err != nil {
			return err
		}
		key := `"input_args": [%s], "input_kwargs": {}`
		if strings.HasSuffix(w.names[nd], "backward") {
			key = `"input": [%s]`
		}
		calls = append(calls, fmt.Sprintf(`%q: {`+key+`, "output": [%s]}`, w.names[nd], in, outputs))
	}
	doc := fmt.Sprintf(`{"task": "tensor", "level": "L1", "framework": %q, "dump_data_dir": "/d", "data": {%s}}`, framework, strings.Join(calls, ",\n"))
	for name, text := range map[string]string{"dump.json": doc, "stack.json": "{}", "construct.json": "{}"} {
		if err := w.put(npu, []byte(text), dir, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) describe(a *Array, npu bool, framework, file string) description {
	t := a.Type
	if !npu && t.float() {
		t = F32
	}
	d := description{Type: "torch.Tensor", Dtype: types[t].msprobe, Shape: a.Shape, File: file, Max: math.Inf(-1), Min: math.Inf(1)}
	if framework == "mindspore" {
		d.Type, d.Dtype = "mindspore.Tensor", strings.ToUpper(t.String()[:1])+t.String()[1:]
		if t == BF16 {
			d.Dtype = "BFloat16"
		}
	}
	for _, x := range a.V {
		d.Max, d.Min = max(d.Max, x), min(d.Min, x)
		d.Mean += x / float64(len(a.V))
		d.Nrm += x * x
	}
	d.Nrm = math.Sqrt(d.Nrm)
	return d
}

// wrapContent returns the contents of a .npy or .pt file.
func wrapContent(ext string, host tensor.Host, shape tensor.Shape, data []byte) ([]byte, error) {
	if ext == "npy" {
		head, err := npy.AppendHeader(nil, host, shape)
		return append(head, data...), err
	}
	var b bytes.Buffer
	f, err := torch.NewWriter(&b, host, shape)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	err = f.Close()
	return b.Bytes(), err
}

// graph writes the data flow to a file, if any, and returns the arguments for it.
func (w *writer) graph() ([]string, error) {
	var file string
	var doc any
	switch w.Graph {
	case "map":
		all := map[string][]string{}
		for _, nd := range w.nodes {
			all[w.names[nd]] = append(all[w.names[nd]], []string{}...)
			for _, v := range nd.in {
				if from := w.names[v.node]; !slices.Contains(all[from], w.names[nd]) {
					all[from] = append(all[from], w.names[nd])
				}
			}
		}
		for op, readers := range all {
			if readers == nil {
				all[op] = []string{}
			}
		}
		file, doc = "consumer.map", all
	case "fusion":
		type op struct {
			Name  string   `json:"name"`
			Type  string   `json:"type"`
			ID    int      `json:"id"`
			Input []string `json:"input"`
		}
		var ops []op
		for i, nd := range w.nodes {
			o := op{Name: w.names[nd], Type: nd.kind, ID: i}
			for _, v := range nd.in {
				o.Input = append(o.Input, fmt.Sprintf("%s:%d", w.names[v.node], v.k))
			}
			ops = append(ops, o)
		}
		file, doc = "fusion.json", map[string]any{"graph": []any{map[string]any{"name": "net", "op": ops}}}
	default:
		return nil, nil
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	flag := map[string]string{"map": "--consumer-map", "fusion": "-f"}[w.Graph]
	return []string{flag, file}, os.WriteFile(filepath.Join(w.dir, file), text, 0o666)
}
