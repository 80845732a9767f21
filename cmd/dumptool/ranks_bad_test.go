package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// rankTree writes runs of several ranks as msprobe does.
type rankTree struct {
	t    *testing.T
	dir  string
	data map[string]map[string]any // of dump.json, by the folders of ranks
}

// rankValue is a tensor of a rank: its values, or its entry in dump.json.
type rankValue struct {
	dtype  string
	host   tensor.Host
	shape  []int64
	values []float64
	cut    bool // the file lacks its end
	bare   bool // there is no file
}

// rankEntry is a tensor in dump.json, with the type first.
type rankEntry struct {
	Type  string  `json:"type"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Max   float64
	Min   float64
	Mean  float64
	Norm  float64
	File  string `json:"data_name,omitempty"`
}

// rankGroup is a group in dump.json.
type rankGroup struct {
	Type  string `json:"type"`
	Ranks any    `json:"group_ranks"`
}

// f32 are float32 values along one axis.
func f32(values ...float64) rankValue {
	return rankValue{dtype: "float32", host: tensor.HostFloat32, shape: []int64{int64(len(values))}, values: values}
}

// call writes a call in a step of a rank; in and out are its positional tensors before and after
// the call.
func (r *rankTree) call(step, rank int, name string, in, out []rankValue, kwargs map[string]any) {
	r.t.Helper()
	dir := fmt.Sprintf("run/step%d/rank%d", step, rank)
	if r.data[dir] == nil {
		r.data[dir] = make(map[string]any)
	}
	write := func(kind string, all []rankValue) (args []any) {
		for i, v := range all {
			file := fmt.Sprintf("%s.%s.%d.npy", name, kind, i)
			entry := rankEntry{Type: "torch.Tensor", DType: "torch." + v.dtype, Shape: append([]int64{}, v.shape...), Max: 1, Mean: 0.5, Norm: 1}
			if !v.bare {
				entry.File = file
				r.file(filepath.Join(dir, "dump_tensor_data", file), v)
			}
			args = append(args, entry)
		}
		return args
	}
	r.data[dir][name] = map[string]any{"input_args": write("input", in), "input_kwargs": kwargs, "output": write("output", out)}
}

// file writes an array.
func (r *rankTree) file(name string, v rankValue) {
	r.t.Helper()
	data, err := npy.AppendHeader(nil, v.host, v.shape)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, x := range v.values {
		switch v.host {
		case tensor.HostFloat32:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
		case tensor.HostInt32:
			data = binary.LittleEndian.AppendUint32(data, uint32(int32(x)))
		case tensor.HostComplex64:
			data = binary.LittleEndian.AppendUint64(data, uint64(math.Float32bits(float32(x))))
		default:
			r.t.Fatal(v.host)
		}
	}
	if v.cut {
		data = data[:len(data)-1]
	}
	r.write(name, data)
}

func (r *rankTree) write(name string, data []byte) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		r.t.Fatal(err)
	}
}

// save writes each dump.json.
func (r *rankTree) save() {
	r.t.Helper()
	for dir, data := range r.data {
		text, err := json.Marshal(map[string]any{"task": "tensor", "level": "mix", "framework": "pytorch", "dump_data_dir": nil, "data": data})
		if err != nil {
			r.t.Fatal(err)
		}
		r.write(dir+"/dump.json", text)
	}
}

// inGroup returns keyword arguments with a group.
func inGroup(ranks ...int) map[string]any {
	return map[string]any{"group": rankGroup{"torch.ProcessGroup", ranks}}
}

// TestRanksBadInput: odd calls of ranks give one line, and no wrong findings.
func TestRanksBadInput(t *testing.T) {
	one := func(v rankValue) []rankValue { return []rankValue{v} }
	sums := func(r *rankTree, name string, in [2]rankValue, out rankValue, kwargs ...map[string]any) {
		for rank := range 2 {
			r.call(0, rank, name, one(in[rank]), one(out), kwargs[rank%len(kwargs)])
		}
	}
	of := func(dtype string, host tensor.Host, shape []int64, values ...float64) rankValue {
		return rankValue{dtype: dtype, host: host, shape: shape, values: values}
	}
	int32s := func(v float64) rankValue { return of("int32", tensor.HostInt32, []int64{1}, v) }
	const sum, fine = "Distributed.all_reduce.0.forward", "OK: "
	for _, c := range []struct {
		name  string
		exit  int
		lines []string // of stdout
		told  string   // on stderr
		build func(r *rankTree)
	}{
		{"a group with ranks outside of the dump", 0, []string{"Events          1 checked, 0 wrong; 1 not checked: 1 (ranks 5-6 not in the dump)\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{f32(1, 2), f32(3, 5)}, f32(4, 7), inGroup(0, 1))
			sums(r, "Distributed.all_reduce.1.forward", [2]rankValue{f32(1, 2), f32(3, 5)}, f32(9, 9), inGroup(0, 1, 5, 6))
		}},
		{"two of eight", 4, []string{"NOTHING CHECKED: none of 1 communication of 2 ranks could be checked\n", "Events          0 checked, 0 wrong; 1 not checked: 1 (ranks 2-7 not in the dump)\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{f32(1, 2), f32(3, 5)}, f32(9, 9), inGroup(0, 1, 2, 3, 4, 5, 6, 7))
		}},
		{"groups that differ between members", 4, []string{"2 not checked: 1 (no such call with this group on rank 1), 1 (rank 2 not in the dump)\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{f32(1, 2), f32(3, 5)}, f32(9, 9), inGroup(0, 1), inGroup(0, 1, 2))
		}},
		{"a group that is no list", 0, []string{"Events          1 checked, 0 wrong\n", "from values"}, "2 communications have an unreadable group, which is ignored, first Distributed.all_reduce.0.forward: group_ranks at offset", func(r *rankTree) {
			sums(r, sum, [2]rankValue{f32(1, 2), f32(3, 5)}, f32(4, 7), map[string]any{"group": rankGroup{"torch.ProcessGroup", "0,1"}})
		}},
		{"calls that differ in number", 0, []string{"SUSPECT: rank 1 communicates more or less often than its group: Distributed.all_reduce.1.forward, step 0\n",
			"CALLS_DIFFER (low confidence): rank 1 calls all_reduce with this group 1 time, others 2\n", "1 checked, 0 wrong; 1 not checked: 1 (no such call with this group on rank 1)\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{f32(1, 2), f32(3, 5)}, f32(4, 7), inGroup(0, 1))
			r.call(0, 0, "Distributed.all_reduce.1.forward", one(f32(1)), one(f32(1)), inGroup(0, 1))
		}},
		{"splits that do not add up", 4, []string{"1 not checked: 1 (parts do not add up: rank 0 sends [1 2] of 4 rows to 2 ranks)\n"}, "", func(r *rankTree) {
			splits := func(a, b int) []any {
				return []any{map[string]any{"type": "int", "value": a}, map[string]any{"type": "int", "value": b}}
			}
			for rank := range 2 {
				kwargs := inGroup(0, 1)
				kwargs["input_split_sizes"], kwargs["output_split_sizes"] = splits(1, 2), splits(1, 2)
				r.call(0, rank, "Distributed.all_to_all_single.0.forward", []rankValue{f32(0, 0, 0), f32(1, 2, 3, 4)}, []rankValue{f32(1, 2, 3), f32(1, 2, 3, 4)}, kwargs)
			}
		}},
		{"members of different shapes", 4, []string{"1 not checked: 1 (the ranks of the group have tensors of different shapes)\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{f32(1, 2), f32(3)}, f32(9, 9), inGroup(0, 1))
		}},
		{"members of different types", 4, []string{"1 not checked: 1 (the ranks of the group have tensors of different types)\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{f32(1), int32s(2)}, f32(9), inGroup(0, 1))
		}},
		{"no elements", 0, []string{fine, "Events          2 checked, 0 wrong\n"}, "", func(r *rankTree) {
			none := of("float32", tensor.HostFloat32, []int64{0, 4})
			sums(r, sum, [2]rankValue{none, none}, none, inGroup(0, 1))
			sums(r, "Distributed.all_reduce.1.forward", [2]rankValue{f32(1, 2), f32(3, 5)}, f32(4, 7), inGroup(0, 1))
		}},
		{"no axes", 0, []string{fine, "Events          1 checked, 0 wrong\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{of("float32", tensor.HostFloat32, nil, 1), of("float32", tensor.HostFloat32, nil, 2)}, of("float32", tensor.HostFloat32, nil, 3), inGroup(0, 1))
		}},
		{"a scalar that is wrong", 1, []string{"WRONG: rank 1 is left out of a sum: " + sum + ", step 0\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{of("float32", tensor.HostFloat32, nil, 1), of("float32", tensor.HostFloat32, nil, 2)}, of("float32", tensor.HostFloat32, nil, 1), inGroup(0, 1))
		}},
		{"integers that wrap", 0, []string{fine, "Events          1 checked, 0 wrong\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{int32s(math.MaxInt32), int32s(2)}, int32s(math.MinInt32+1), inGroup(0, 1))
		}},
		{"complex numbers", 4, []string{"1 not checked: 1 (elements of complex64)\n"}, "", func(r *rankTree) {
			z := of("complex64", tensor.HostComplex64, []int64{1}, 1)
			sums(r, sum, [2]rankValue{z, z}, z, inGroup(0, 1))
		}},
		{"barriers and objects", 0, []string{fine, "Events          1 checked, 0 wrong\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{f32(1, 2), f32(3, 5)}, f32(4, 7), inGroup(0, 1))
			for rank := range 2 {
				r.call(0, rank, "Distributed.barrier.0.forward", nil, nil, inGroup(0, 1))
				r.call(0, rank, "Distributed.all_gather_object.0.forward", one(f32(float64(rank))), nil, inGroup(0, 1))
			}
		}},
		{"receive buffers that hold garbage before the call", 0, []string{fine, "Events          2 checked, 0 wrong\n"}, "", func(r *rankTree) {
			for rank := range 2 {
				mine := f32(float64(rank + 1))
				r.call(0, rank, "Distributed.all_gather_into_tensor.0.forward", []rankValue{f32(-7, math.Inf(1)), mine}, []rankValue{f32(1, 2)}, inGroup(0, 1))
			}
			r.call(0, 0, "Distributed.send.0.forward", one(f32(5)), one(f32(5)), map[string]any{"dst": map[string]any{"type": "int", "value": 1}})
			r.call(0, 1, "Distributed.recv.0.forward", one(f32(99)), one(f32(5)), map[string]any{"src": map[string]any{"type": "int", "value": 0}})
		}},
		{"a file that cannot be read", 3, []string{"1 checked, 0 wrong; 1 not checked: 1 (a tensor cannot be read)\n"}, "Distributed.all_reduce.0.forward.input.0.npy", func(r *rankTree) {
			torn := f32(3, 5)
			torn.cut = true
			sums(r, sum, [2]rankValue{f32(1, 2), torn}, f32(9, 9), inGroup(0, 1))
			sums(r, "Distributed.all_reduce.1.forward", [2]rankValue{f32(1, 2), f32(3, 5)}, f32(4, 7), inGroup(0, 1))
		}},
		{"statistics alone", 4, []string{"1 not checked: 1 (no tensors, and the digests prove nothing)\n"}, "", func(r *rankTree) {
			bare := f32(1, 2)
			bare.bare = true
			sums(r, sum, [2]rankValue{bare, bare}, bare, inGroup(0, 1))
		}},
		{"a step that a rank lacks", 0, []string{"Events          1 checked, 0 wrong; 1 not checked: 1 (rank 1 not in the dump of step 1)\n"}, "", func(r *rankTree) {
			sums(r, sum, [2]rankValue{f32(1, 2), f32(3, 5)}, f32(4, 7), inGroup(0, 1))
			r.call(1, 0, sum, one(f32(1)), one(f32(9)), inGroup(0, 1))
		}},
		{"two meshes in a tree", 0, []string{"Ranks           4: 2 groups of 2 (stride 1), 1 group of 4 (stride 1), 1 group of 2 (stride 2), from ProcessGroup; 1 step\n", "Events          4 checked, 0 wrong\n"}, "", func(r *rankTree) {
			for rank := range 4 {
				pair := inGroup(rank/2*2, rank/2*2+1)
				r.call(0, rank, sum, one(f32(float64(rank))), one(f32(float64(rank/2*4+1))), pair)
				r.call(0, rank, "Distributed.all_reduce.1.forward", one(f32(1)), one(f32(4)), inGroup(0, 1, 2, 3))
				if rank%2 == 0 {
					r.call(0, rank, "Distributed.all_reduce.2.forward", one(f32(1)), one(f32(2)), inGroup(0, 2))
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &rankTree{t, t.TempDir(), make(map[string]map[string]any)}
			c.build(r)
			r.save()
			out, told, code := runTold(t, r.dir, "check", "run", "--only", "comm")
			if code != c.exit || !strings.Contains(told, c.told) {
				t.Errorf("exit %d, want %d: %s%s", code, c.exit, out, told)
			}
			for _, line := range c.lines {
				if !strings.Contains(string(out), line) {
					t.Errorf("no %q in\n%s%s", line, out, told)
				}
			}
		})
	}
}

// TestOneRank: a single rank gives no findings between ranks, and --only comm has nothing to do.
func TestOneRank(t *testing.T) {
	r := &rankTree{t, t.TempDir(), make(map[string]map[string]any)}
	r.call(0, 0, "Distributed.all_reduce.0.forward", []rankValue{f32(1)}, []rankValue{f32(1)}, inGroup(0))
	r.save()
	out, told, code := runTold(t, r.dir, "check", "run", "--only", "comm")
	if code != 4 || strings.Contains(string(out), "Events") {
		t.Errorf("exit %d: %s%s", code, out, told)
	}
	if out, _ := runIn(t, r.dir, "check", "run"); strings.Contains(string(out), "Events") {
		t.Errorf("%s", out)
	}
}
