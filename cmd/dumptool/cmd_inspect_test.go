package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// inspectFile writes a dump file and returns its path.
func inspectFile(t *testing.T, name string, c *dumptest.Content) string {
	t.Helper()
	if c.Container == 0 {
		c.Container = dumpfmt.BinaryV2
	}
	var b bytes.Buffer
	if err := dumptest.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// inspectText returns inspect's text about a file on a terminal of this width, 0 for none, without
// the line with the path.
func inspectText(t *testing.T, width int, args ...string) string {
	t.Helper()
	a, get := testApp(t)
	a.streams.OutTTY, a.streams.OutWidth = width > 0, width
	got := get(a.run(t.Context(), append([]string{"inspect"}, args...)))
	if got.code != exitOK || got.err != "" {
		t.Fatalf("got %+v", got)
	}
	_, text, _ := strings.Cut(got.out, "\n")
	return text
}

// inspectTensor is a tensor of ones.
func inspectTensor(d tensor.DType, word tensor.FormatWord, shape, original []uint64) dumptest.TensorContent {
	n := uint64(1)
	for _, dim := range shape {
		n *= dim
	}
	size, _ := d.Bytes(int64(n))
	return dumptest.TensorContent{
		Payload: dumptest.Bytes(bytes.Repeat([]byte{0, 0x3c}, int(size/2))), StoredDType: int32(d), StoredFormat: word, Shape: shape, OriginalShape: original,
	}
}

func TestInspectText(t *testing.T) {
	t.Parallel()
	const stamp = ".58.16.1624605159829577"
	const sliceNote = `{"threadMode":true,"input_tensor_slice":[],"output_tensor_slice":[[[{"lower":0,"higher":2},{"lower":3,"higher":4}]]]}`
	nc1hwc0 := tensor.FormatWord(tensor.NC1HWC0)
	conv := func() *dumptest.Content {
		packed := inspectTensor(tensor.Float16, tensor.FormatWord(tensor.FractalZ)|4<<8|5<<24, []uint64{8, 1, 16, 16}, []uint64{32, 4, 2, 2})
		original := inspectTensor(tensor.Float16, nc1hwc0, []uint64{2, 1, 3, 5, 16}, []uint64{2, 6, 3, 5})
		original.OriginalOp = &dumptest.OriginalContent{Name: "conv1", StoredFormat: tensor.FormatWord(tensor.NCHW)}
		return &dumptest.Content{
			DumpTime: 1624605159829577, OpName: "net/conv1",
			Inputs:  []dumptest.TensorContent{inspectTensor(tensor.Float16, nc1hwc0, []uint64{2, 1, 3, 5, 16}, []uint64{2, 6, 3, 5}), packed},
			Outputs: []dumptest.TensorContent{original},
			Buffers: []dumptest.BlobContent{{Payload: dumptest.Bytes([]byte("123")), Type: 2}},
		}
	}
	nano := inspectTensor(tensor.Float16, tensor.FormatWord(tensor.ND), []uint64{3}, nil)
	nano.StoredDType = 1 // float16 in TLV files
	record := func(status ...uint64) *dumptest.Content {
		r := &opdebug.Record{Generation: opdebug.NewLayout, Header: opdebug.Header{Magic: opdebug.Magic, Version: 1, Valid: 1, AccType: 1, DataLen: 112}}
		r.Header.DataLen = 112
		r.Areas = []opdebug.Area{{Unit: opdebug.AIV, StreamID: 3, TaskID: 57, Status: append([]uint64{0, 0, 0, 0}, status...)[len(status):]}}
		payload := dumptest.EncodeRecord(r)
		return &dumptest.Content{OpName: "Node_OpDebug", Outputs: []dumptest.TensorContent{{
			Payload: dumptest.Bytes(payload), StoredDType: int32(tensor.Uint8), StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(len(payload))},
		}}}
	}
	old, err := opdebug.Parse(make([]byte, opdebug.BufferSize))
	if err != nil {
		t.Fatal(err)
	}
	for i, unit := range []opdebug.Unit{opdebug.DHA, opdebug.L2, opdebug.AICore} {
		old.Areas[i] = opdebug.Area{Unit: unit, StreamID: 8, TaskID: uint64(i), Status: []uint64{uint64(i % 2 * 0x10)}}
	}
	old.Areas[0].Status[0] = 1
	twoUnits := &dumptest.Content{OpName: "Node_OpDebug", Outputs: []dumptest.TensorContent{{
		Payload: dumptest.Bytes(dumptest.EncodeRecord(old)), StoredDType: int32(tensor.Uint8), StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{opdebug.BufferSize},
	}}}
	tests := map[string]struct {
		name  string
		dump  *dumptest.Content
		width int
		flags []string
		want  string
	}{
		"packed format": {"Conv2D.net_conv1" + stamp, conv(), 0, nil, `
  Conv2D net/conv1
  binary version 2, dumped 2021-06-25 07:12:39.829577 UTC (1624605159829577)
  task 58, stream 16
  TENSOR           DTYPE    FORMAT     SHAPE       ORIGINAL      GROUPS  C0  BYTES
  input 0          float16  NC1HWC0    2,1,3,5,16  2,6,3,5                     960
  input 1          float16  FRACTAL_Z  8,1,16,16   32,4,2,2           4  16   4096
  output 0         float16  NC1HWC0    2,1,3,5,16  2,6,3,5 NCHW                960
  type 2 buffer 0                                                                3
`},
		"stats on a narrow terminal": {"Conv2D.net_conv1" + stamp, conv(), 84, []string{"--stats"}, `
  Conv2D net/conv1
  binary version 2, dumped 2021-06-25 07:12:39.829577 UTC (1624605159829577)
  task 58, stream 16
  TENSOR           DTYPE    FORMAT     SHAPE       ORIGINAL      GROUPS  C0  BYTES
  input 0          float16  NC1HWC0    2,1,3,5,16  2,6,3,5                     960
  input 1          float16  FRACTAL_Z  8,1,16,16   32,4,2,2           4  16   4096
  output 0         float16  NC1HWC0    2,1,3,5,16  2,6,3,5 NCHW                960
  type 2 buffer 0                                                                3
  TENSOR    MIN  MAX  MEAN  NAN  +INF  -INF
  input 0     1    1     1    0     0     0
  input 1     1    1     1    0     0     0
  output 0    1    1     1    0     0     0
`},
		"stats in two tables": {"Relu.x" + stamp, &dumptest.Content{OpName: "x", DumpTime: 1, Outputs: []dumptest.TensorContent{inspectTensor(tensor.Float16, nc1hwc0, []uint64{2}, nil)}}, 70, []string{"--stats"}, `
  Relu x
  binary version 2, dumped 1970-01-01 00:00:00.000001 UTC (1)
  task 58, stream 16, timestamp 1624605159829577
  TENSOR    DTYPE    FORMAT   SHAPE  BYTES
  output 0  float16  NC1HWC0  2          4
  TENSOR    MIN  MAX  MEAN  NAN  +INF  -INF
  output 0    1    1     1    0     0     0
`},
		"tlv": {"Add.a_b" + stamp, &dumptest.Content{Container: dumpfmt.TLV, Inputs: []dumptest.TensorContent{nano}}, 0, nil, `
  Add a_b
  TLV, dumped 2021-06-25 07:12:39.829577 UTC (1624605159829577)
  task 58, stream 16
  TENSOR   DTYPE    FORMAT  SHAPE  BYTES
  input 0  float16  ND      3          6
`},
		"slice": {"Add.x" + stamp + ".6.1.0.3", &dumptest.Content{OpName: "x", DumpTime: 1 << 63, Outputs: []dumptest.TensorContent{inspectTensor(tensor.Float16, 2, []uint64{2, 4}, nil)}, Attrs: []dumpfmt.Attr{{Value: sliceNote}}}, 0, nil, `
  Add x
  binary version 2, dumped 9223372036854775808
  task 58, stream 16, task type 6, context 1, thread 0, device 3, timestamp 1624605159829577
  slices of thread 0 (FFTS+)
  TENSOR    DTYPE    FORMAT  SHAPE  SLICE  BYTES
  output 0  float16  ND      2,4    2,1       16
`},
		"hostile name": {"x", &dumptest.Content{OpName: "a\x1b[31m\n", Outputs: []dumptest.TensorContent{inspectTensor(tensor.Float16, 2, nil, nil)}}, 0, nil, `
  a\x1b[31m\n
  binary version 2
  TENSOR    DTYPE    FORMAT  SHAPE  BYTES
  output 0  float16  ND      -          2
`},
		"record": {"x", record(0x20, 0), 0, nil, `
  Node_OpDebug
  binary version 2
  overflow record: AIV stream 3 task 57 status 0x0 0x0 0x20 0x0
  TENSOR    DTYPE  FORMAT  SHAPE  BYTES
  output 0  uint8  ND      2048    2048
`},
		"record of two units": {"x", twoUnits, 0, nil, `
  Node_OpDebug
  binary version 2
  overflow record: DHA Atomic Add stream 8 task 0 status 0x1
  overflow record: L2 Atomic Add stream 8 task 1 status 0x10
  TENSOR    DTYPE  FORMAT  SHAPE  BYTES
  output 0  uint8  ND      2048    2048
`},
		"record without overflow": {"x", record(), 0, []string{"--stats"}, `
  Node_OpDebug
  binary version 2
  overflow record: no overflow
  TENSOR    DTYPE  FORMAT  SHAPE  BYTES
  output 0  uint8  ND      2048    2048
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := inspectFile(t, tt.name, tt.dump)
			got := inspectText(t, tt.width, append(tt.flags, path)...)
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}
