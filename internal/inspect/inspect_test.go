package inspect_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/inspect"
	"dumptool/internal/layout"
	"dumptool/internal/report"
	"dumptool/internal/tensor"
)

const stamp = ".58.16.1624605159829577"

// writeDump writes a dump file and returns its job.
func writeDump(t *testing.T, name string, c *dumptest.Content) *dumpdir.File {
	t.Helper()
	if c.Container == 0 {
		c.Container = dumpfmt.BinaryV2
	}
	var b bytes.Buffer
	if err := dumptest.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, name, b.Bytes())
}

func writeFile(t *testing.T, name string, data []byte) *dumpdir.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return fileAt(path, nil)
}

// fileAt returns the file at a path; with err it is unusable.
func fileAt(path string, err error) *dumpdir.File {
	return &dumpdir.File{Folder: &dumpdir.Folder{Path: path, Dir: "."}, Name: filepath.Base(path), Err: err}
}

// run inspects files and returns what was found.
func run(t *testing.T, opt inspect.Options, jobs ...*dumpdir.File) (inspect.Summary, []*inspect.File) {
	t.Helper()
	var files []*inspect.File
	sum, err := inspect.Run(t.Context(), opt, &dumpdir.Run{Files: jobs, Single: len(jobs) == 1 && jobs[0].Name == "alone.txt"}, nil, func(f *inspect.File) error {
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum, files
}

// asJSON returns the JSON form of a file, with the base name as path.
func asJSON(t *testing.T, f *inspect.File) string {
	t.Helper()
	f.Entry = fileAt(f.Entry.Name, nil)
	var b strings.Builder
	if err := report.Write(&b, "json", f, report.Options{}); err != nil {
		t.Fatal(err)
	}
	keys, ok := strings.CutPrefix(b.String(), `{"schema":"dumptool/inspect/1",`)
	if !ok {
		t.Errorf("no schema: %s", b.String())
	}
	return "{" + strings.TrimSuffix(keys, "\n")
}

func float32s(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func floats(data []byte, shape ...uint64) dumptest.TensorContent {
	return dumptest.TensorContent{
		Payload: dumptest.Bytes(data), StoredDType: int32(tensor.Float32), StoredFormat: tensor.FormatWord(tensor.ND), Shape: shape,
	}
}

// sliceNote is the note of an operator that was cut in two along dimension 0.
const sliceNote = `{"threadMode":1,"input_tensor_slice":[[],[]],` +
	`"output_tensor_slice":[[[{"lower":0,"higher":1},{"lower":0,"higher":2}]],[[{"lower":1,"higher":2},{"lower":0,"higher":2}]]]}`

func TestJSON(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(1))
	nan := float32(math.NaN())
	big := floats(float32s(1), 1)
	big.StoredFormat = tensor.FormatWord(tensor.FractalZ) | 4<<8 | 5<<24
	big.OriginalShape = []uint64{16, 2, 2, 1}
	big.OriginalOp = &dumptest.OriginalContent{Name: "conv", StoredDType: 1, StoredFormat: tensor.FormatWord(tensor.HWCN)}
	unknown := floats([]byte{1, 2, 3}, 3)
	unknown.StoredDType = 77
	text := func() dumptest.TensorContent {
		c := floats([]byte("text"), 4)
		c.StoredDType = int32(tensor.String)
		return c
	}
	huge := floats(float32s(1), 1<<63)
	opdebug := floats([]byte{1, 2, 3}, 3)
	opdebug.StoredDType = int32(tensor.Uint8)

	const nothing = `"inputs":[],"outputs":[]`
	tests := map[string]struct {
		name string
		dump dumptest.Content
		opt  inspect.Options
		want string
	}{
		"all keys": {"Conv2D.a_b" + stamp, dumptest.Content{
			DumpTime: math.MaxUint64, OpName: "a/<b>&",
			Outputs: []dumptest.TensorContent{big},
			Buffers: []dumptest.BlobContent{{Payload: dumptest.Bytes([]byte("12")), Type: 3}},
		}, inspect.Options{}, `{"file":"Conv2D.a_b.58.16.1624605159829577","container":"binary version 2","op_type":"Conv2D","op_name":"a/<b>&","dump_time":18446744073709551615,` +
			`"inputs":[],"outputs":[{"index":0,"dtype":"float32","format":"FRACTAL_Z","shape":[1],"original_shape":[16,2,2,1],"groups":4,"size":4,"original_format":"HWCN","c0":16}],` +
			`"buffers":[{"index":0,"type":3,"size":2}]}`},
		"nothing known": {"renamed", dumptest.Content{Spaces: []dumptest.BlobContent{{Payload: dumptest.Bytes([]byte("log"))}}}, inspect.Options{},
			`{"file":"renamed","container":"binary version 2","op_type":null,"op_name":null,"dump_time":null,` + nothing + `,"spaces":[{"index":0,"type":0,"size":3}]}`},
		"name in place of the header": {"Add.x" + stamp, dumptest.Content{Container: dumpfmt.TLV, Inputs: []dumptest.TensorContent{{Payload: dumptest.Bytes([]byte{7}), StoredDType: 4, Shape: []uint64{1}}}}, inspect.Options{},
			`{"file":"Add.x.58.16.1624605159829577","container":"TLV","op_type":"Add","op_name":"x","dump_time":1624605159829577,` +
				`"inputs":[{"index":0,"dtype":"uint8","format":"NCHW","shape":[1],"original_shape":[],"groups":0,"size":1}],"outputs":[]}`},
		"exception dump has a date": {"exception_info.16.58.20240102030405678", dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{floats(nil, 0)}}, inspect.Options{Stats: true},
			`{"file":"exception_info.16.58.20240102030405678","container":"binary version 2","op_type":"exception_info","op_name":"x","dump_time":null,` +
				`"inputs":[],"outputs":[{"index":0,"dtype":"float32","format":"ND","shape":[0],"original_shape":[],"groups":0,"size":0,"stats":{"min":null,"max":null,"mean":null,"nan":0,"inf":0,"pos_inf":0,"neg_inf":0}}]}`},
		"stats": {"x", dumptest.Content{OpName: "x", Inputs: []dumptest.TensorContent{floats(float32s(1, -2, nan, inf, inf, -inf), 6)}}, inspect.Options{Stats: true},
			`{"file":"x","container":"binary version 2","op_type":null,"op_name":"x","dump_time":null,` +
				`"inputs":[{"index":0,"dtype":"float32","format":"ND","shape":[6],"original_shape":[],"groups":0,"size":24,"stats":{"min":-2,"max":1,"mean":-0.5,"nan":1,"inf":3,"pos_inf":2,"neg_inf":1}}],"outputs":[]}`},
		"types without elements": {"x", dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{unknown, text()}}, inspect.Options{},
			`{"file":"x","container":"binary version 2","op_type":null,"op_name":"x","dump_time":null,"inputs":[],"outputs":[` +
				`{"index":0,"dtype":"dtype(77)","format":"ND","shape":[3],"original_shape":[],"groups":0,"size":3},` +
				`{"index":1,"dtype":"string","format":"ND","shape":[4],"original_shape":[],"groups":0,"size":4}]}`},
		"no stats of types without elements": {"x", dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{text()}}, inspect.Options{Stats: true},
			`{"file":"x","container":"binary version 2","op_type":null,"op_name":"x","dump_time":null,"inputs":[],"outputs":[` +
				`{"index":0,"dtype":"string","format":"ND","shape":[4],"original_shape":[],"groups":0,"size":4,"error":"tensor: unsupported element type string"}]}`},
		"impossible shapes": {"x", dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{huge, floats(float32s(1), 2)}}, inspect.Options{},
			`{"file":"x","container":"binary version 2","op_type":null,"op_name":"x","dump_time":null,"inputs":[],"outputs":[` +
				`{"index":0,"dtype":"float32","format":"ND","shape":[],"original_shape":[],"groups":0,"size":4,"error":"dumpfmt: output 0 shape dimension 0 9223372036854775808 at 0xe exceeds 63 bits"},` +
				`{"index":1,"dtype":"float32","format":"ND","shape":[2],"original_shape":[],"groups":0,"size":4,"error":"(2,) elements of float32 need 8 bytes, found 4"}]}`},
		"slices": {"Add.x" + stamp + ".6.1.1", dumptest.Content{OpName: "x", DumpTime: 5, Outputs: []dumptest.TensorContent{floats(float32s(3, 4), 2, 2)}, Attrs: []dumpfmt.Attr{{Value: sliceNote}}}, inspect.Options{Stats: true},
			`{"file":"Add.x.58.16.1624605159829577.6.1.1","container":"binary version 2","op_type":"Add","op_name":"x","dump_time":5,"inputs":[],` +
				`"outputs":[{"index":0,"dtype":"float32","format":"ND","shape":[2,2],"original_shape":[],"groups":0,"size":8,"slice":[1,2],"stats":{"min":3,"max":4,"mean":3.5,"nan":0,"inf":0,"pos_inf":0,"neg_inf":0}}]}`},
		"slices of all threads": {"Add.x" + stamp + ".6.1.1", dumptest.Content{OpName: "x", DumpTime: 5, Outputs: []dumptest.TensorContent{floats(float32s(1, 2, 3, 4), 2, 2)}, Attrs: []dumpfmt.Attr{{Value: sliceNote}}}, inspect.Options{Stats: true},
			`{"file":"Add.x.58.16.1624605159829577.6.1.1","container":"binary version 2","op_type":"Add","op_name":"x","dump_time":5,"inputs":[],` +
				`"outputs":[{"index":0,"dtype":"float32","format":"ND","shape":[2,2],"original_shape":[],"groups":0,"size":16,"slice":[1,2],"stats":{"min":1,"max":4,"mean":2.5,"nan":0,"inf":0,"pos_inf":0,"neg_inf":0}}]}`},
		"slices without a thread": {"Add.x" + stamp, dumptest.Content{OpName: "x", DumpTime: 5, Attrs: []dumpfmt.Attr{{Value: sliceNote}}}, inspect.Options{},
			`{"file":"Add.x.58.16.1624605159829577","container":"binary version 2","op_type":"Add","op_name":"x","dump_time":5,` + nothing + `,` +
				`"warnings":["the dump of a thread, but the name \"Add.x.58.16.1624605159829577\" has no thread id","the dump holds no tensors"]}`},
		"broken record": {"x", dumptest.Content{OpName: "Node_OpDebug", Outputs: []dumptest.TensorContent{opdebug}}, inspect.Options{Stats: true},
			`{"file":"x","container":"binary version 2","op_type":null,"op_name":"Node_OpDebug","dump_time":null,"inputs":[],` +
				`"outputs":[{"index":0,"dtype":"uint8","format":"ND","shape":[3],"original_shape":[],"groups":0,"size":3,"error":"opdebug: old layout: payload cut off at 0x3: found 3 bytes, wanted 2048 (at least 1048)"}]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, files := run(t, tt.opt, writeDump(t, tt.name, &tt.dump))
			if diff := cmp.Diff(tt.want, asJSON(t, files[0])); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
			if got, want := files[0].Failed(), strings.Contains(tt.want, `"error"`); got != want {
				t.Errorf("Failed() = %v, want %v", got, want)
			}
		})
	}
}

// TestStats compares with one computation over all elements, over several blocks, for a plain, a
// decoded and a packed type.
func TestStats(t *testing.T) {
	t.Parallel()
	const n = 3*layout.BlockElements + 5
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Int4, tensor.Uint1} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			size, _ := d.Bytes(n)
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(i*i>>3 ^ i)
			}
			units := data
			if d.IsPacked() {
				units = make([]byte, n)
				tensor.Unpack(units, data, d, 0)
			}
			stats, err := tensor.NewAccumulator(d)
			if err != nil {
				t.Fatal(err)
			}
			stats.Add(units)
			all := stats.Stats()
			want := inspect.Stats{Extremes: tensor.Extremes[tensor.Number]{Min: (*tensor.Number)(all.Min), Max: (*tensor.Number)(all.Max), Mean: (*tensor.Number)(all.Mean)},
				NaN: &all.NaN, Inf: new(all.PosInf + all.NegInf), PosInf: &all.PosInf, NegInf: &all.NegInf}

			content := dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{{
				Payload: dumptest.Bytes(data), StoredDType: int32(d), Shape: []uint64{n},
			}}}
			_, files := run(t, inspect.Options{Stats: true}, writeDump(t, "x", &content))
			if diff := cmp.Diff(&want, files[0].Outputs[0].Stats, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	missing := errors.New("missing")
	tests := map[string]struct {
		job  *dumpdir.File
		want string // empty: no dump, and no message
	}{
		"found by nobody":    {fileAt("gone", missing), "missing"},
		"other file":         {writeFile(t, "notes.txt", []byte("no dump")), ""},
		"the only file":      {writeFile(t, "alone.txt", []byte("no dump")), "not a dump file"},
		"named like a dump":  {writeFile(t, "Add.x"+stamp, []byte("no dump")), "not a dump file"},
		"named like a npy":   {writeFile(t, "x.npy", nil), "npy: file is truncated"},
		"broken npy":         {writeFile(t, "x", []byte("\x93NUMPY\x01\x00")), "npy: "},
		"ended while it ran": {fileAt("no/such/file", nil), "no/such/file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sum, files := run(t, inspect.Options{Stats: true}, tt.job)
			f := files[0]
			if tt.want == "" {
				if !f.NotDump || f.Err != nil || sum != (inspect.Summary{NotDumps: 1}) {
					t.Errorf("got %+v, %+v; want no dump", sum, f)
				}
				return
			}
			if f.NotDump || f.Err == nil || !strings.Contains(f.Err.Error(), tt.want) || sum != (inspect.Summary{Failed: 1}) {
				t.Errorf("got %+v, error %v; want one with %q", sum, f.Err, tt.want)
			}
			if f.Container != "" || len(f.Outputs) > 0 {
				t.Errorf("content beside an error: %+v", f)
			}
		})
	}
}

// TestOrder checks that results do not depend on the number of workers.
func TestOrder(t *testing.T) {
	t.Parallel()
	var jobs []*dumpdir.File
	var want []float64
	for i := range 20 {
		v := float32(i)
		data := slices.Repeat(float32s(v), 1+(20-i)*1000)
		jobs = append(jobs, writeDump(t, "x", &dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{floats(data, uint64(len(data)/4))}}))
		want = append(want, float64(v))
	}
	for _, workers := range []int{0, 1, 8} {
		sum, files := run(t, inspect.Options{Stats: true, Workers: workers}, jobs...)
		var got []float64
		for _, f := range files {
			got = append(got, float64(*f.Outputs[0].Stats.Mean))
		}
		if diff := cmp.Diff(want, got); diff != "" || sum != (inspect.Summary{Files: len(jobs)}) {
			t.Errorf("%d workers: %+v, means (-want +got):\n%s", workers, sum, diff)
		}
	}
}

// TestInterrupted: half a file gives no result.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	job := writeDump(t, "x", &dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{floats(float32s(1), 1)}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := inspect.Run(ctx, inspect.Options{Stats: true}, &dumpdir.Run{Files: []*dumpdir.File{job}}, nil, func(f *inspect.File) error {
		t.Errorf("got %+v", f)
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestBrokenOutput: an error of emit ends the run.
func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	job := writeDump(t, "x", &dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{floats(float32s(1), 1)}})
	full, calls := errors.New("full"), 0
	_, err := inspect.Run(t.Context(), inspect.Options{}, &dumpdir.Run{Files: slices.Repeat([]*dumpdir.File{job}, 100)}, nil, func(*inspect.File) error {
		calls++
		return full
	})
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("%d calls, error %v; want 1, full", calls, err)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	content := dumptest.Content{OpName: "x", Inputs: []dumptest.TensorContent{floats(float32s(1), 1), floats(float32s(1), 1)}, Outputs: []dumptest.TensorContent{floats(float32s(1), 1)}}
	_, files := run(t, inspect.Options{}, writeDump(t, "x", &content))
	f := files[0]
	if len(f.Inputs) != 2 || len(f.Outputs) != 1 || f.Inputs[1].Kind != tensor.Input || f.Inputs[1].Index != 1 || f.Outputs[0].Kind != tensor.Output {
		t.Errorf("got %+v", f)
	}
}
