package determinism

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// array returns a .npy file of 32-bit elements.
func array(d tensor.DType, shape tensor.Shape, values ...float64) []byte {
	out, err := npy.AppendHeader(nil, d.Host(), shape)
	if err != nil {
		panic(err)
	}
	return append(out, stored(d, values...)...)
}

// stored returns 32-bit numbers as stored in a dump.
func stored(d tensor.DType, values ...float64) (out []byte) {
	for _, v := range values {
		bits := math.Float32bits(float32(v))
		if d == tensor.Int32 {
			bits = uint32(int32(v))
		}
		out = binary.LittleEndian.AppendUint32(out, bits)
	}
	return out
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// dumpOf returns a dump with one output.
func dumpOf(t testing.TB, d tensor.DType, length int, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	c := &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: "x", Outputs: []dumptest.TensorContent{{
		Payload: dumptest.Bytes(data), StoredDType: int32(d), StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(length)}}}}
	if err := dumptest.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tree writes files of three elements each.
func tree(t testing.TB, dir string, names ...string) string {
	t.Helper()
	for _, name := range names {
		data := array(tensor.Float32, tensor.Shape{3}, ramp(3)...)
		if n := filename.Parse(filepath.Base(name)); n.IsDump() {
			data = dumpOf(t, tensor.Float32, 3, stored(tensor.Float32, ramp(3)...))
		}
		write(t, filepath.Join(dir, name), data)
	}
	return dir
}

// ramp returns 1, 2, ..., n.
func ramp(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i + 1)
	}
	return v
}

func names(t testing.TB, all ...string) *dumpdir.NameSet {
	t.Helper()
	s, err := dumpdir.NewNameSet(all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// canceled returns a canceled context.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
