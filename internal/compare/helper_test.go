package compare

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/batch"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/execute"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/finding"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

// halfBits rounds to float16, ties to even.
func halfBits(v float64) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign, v = 1<<15, -v
	}
	if math.IsNaN(v) {
		return 0x7e00
	}
	_, exp := math.Frexp(v)
	step := math.Ldexp(1, max(exp-11, -24))
	v = math.RoundToEven(v/step) * step
	switch fraction, exp := math.Frexp(v); {
	case v > 65504:
		return sign | 0x7c00
	case v < 0x1p-14:
		return sign | uint16(v*0x1p24)
	default:
		return sign | uint16(exp+14)<<10 | uint16((2*fraction-1)*1024)
	}
}

// stored returns numbers as stored in a dump.
func stored(d tensor.DType, values ...float64) []byte {
	var out []byte
	for _, v := range values {
		switch d {
		case tensor.Float64:
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		case tensor.Float32:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
		case tensor.Float16:
			out = binary.LittleEndian.AppendUint16(out, halfBits(v))
		case tensor.Int64:
			out = binary.LittleEndian.AppendUint64(out, uint64(int64(v)))
		case tensor.Int32:
			out = binary.LittleEndian.AppendUint32(out, uint32(int32(v)))
		case tensor.Int8, tensor.Uint8, tensor.Bool:
			out = append(out, byte(int64(v)))
		default:
			panic(fmt.Sprintf("no test values of %s", d))
		}
	}
	return out
}

// array returns a .npy file.
func array(d tensor.DType, shape tensor.Shape, values ...float64) []byte {
	head, err := npy.AppendHeader(nil, d.Host(), shape)
	if err != nil {
		panic(err)
	}
	return append(head, stored(d, values...)...)
}

func write(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func unsigned(s tensor.Shape) []uint64 {
	var u []uint64
	for _, d := range s {
		u = append(u, uint64(d))
	}
	return u
}

// dumped returns a tensor of a dump.
func dumped(d tensor.DType, f tensor.Format, shape, original tensor.Shape, data []byte) dumptest.TensorContent {
	return dumptest.TensorContent{Payload: dumptest.Bytes(data), StoredDType: int32(d), StoredFormat: tensor.FormatWord(f),
		Shape: unsigned(shape), OriginalShape: unsigned(original)}
}

// dumpOf returns a dump file.
func dumpOf(t testing.TB, op string, inputs, outputs []dumptest.TensorContent) []byte {
	t.Helper()
	var b bytes.Buffer
	c := &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: op, Inputs: inputs, Outputs: outputs}
	if err := dumptest.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// outputDump returns a dump file with one output and no original shape.
func outputDump(t testing.TB, op string, d tensor.DType, shape tensor.Shape, values ...float64) []byte {
	t.Helper()
	return dumpOf(t, op, nil, []dumptest.TensorContent{dumped(d, tensor.ND, shape, nil, stored(d, values...))})
}

// between returns options for two paths.
func between(ref, npu string) (o conclude.Options) {
	o.Ref, o.NPU = ref, npu
	return o
}

// exactly returns options that pass equal tensors only.
func exactly(ref, npu string) conclude.Options {
	o := between(ref, npu)
	o.Judge.Limits.Profile, o.Judge.Verdict.NaN = limits.ProfileExact, limits.NaNStrict
	o.KeepOptions = execute.KeepOptions{Top: 4, List: 8, Points: 64, Bins: true}
	o.FailOn = []record.Status{record.Fail, record.ShapeMismatch, record.DTypeMismatch, record.Ambiguous}
	return o
}

// planned returns a completed run and its report.
func planned(t testing.TB, opt conclude.Options) (*Run, *record.Report) {
	t.Helper()
	p, parts := executed(t, opt)
	return p, p.Conclude(parts)
}

// executed returns a run after comparing its pairs.
func executed(t testing.TB, opt conclude.Options) (*Run, []execute.Part) {
	t.Helper()
	p, err := New(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := p.Execute(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, parts
}

func runAll(t testing.TB, opt conclude.Options) *record.Report {
	t.Helper()
	rep, err := compareAll(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// lines returns a line for each row of a report: name, status, pairing rule.
func lines(rep *record.Report) []string {
	all := []string{}
	for i := range rep.Rows {
		r := &rep.Rows[i]
		all = append(all, strings.TrimSpace(r.Name()+" "+string(r.Status)+" "+r.Rule))
	}
	return all
}

func hasCode(reasons []finding.Finding, code finding.Code) bool {
	return slices.ContainsFunc(reasons, func(r finding.Finding) bool { return r.Code == code })
}

// memory is a tensor in memory.
type memory struct {
	data []byte
	unit int
}

func (m memory) ReadElements(dst []byte, first int64) error {
	if n := copy(dst, m.data[int(first)*m.unit:]); n < len(dst) {
		return fmt.Errorf("read %d bytes, want %d", n, len(dst))
	}
	return nil
}

// compared returns the metrics of two arrays of numbers.
func compared(t testing.TB, d tensor.DType, l metrics.Limits, ref, npu []float64) *metrics.Result {
	t.Helper()
	req := metrics.Request{Shape: tensor.Shape{int64(len(ref))}, RefDType: d, NPUDType: d, Limits: l}
	res, err := metrics.Compare(context.Background(), req, memory{stored(d, ref...), d.UnitSize()}, memory{stored(d, npu...), d.UnitSize()})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// ramp returns 1, 2, ..., n.
func ramp(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i + 1)
	}
	return v
}

func ptr[T any](v T) *T { return &v }

// canceled returns a canceled context.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// expired is a context whose error is an expired deadline once it is canceled.
type expired struct{ context.Context }

func (e expired) Err() error {
	if e.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

func expiring(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	return expired{ctx}, cancel
}

// observer returns a function that cancels a run after some jobs.
func observer(after int, cancel context.CancelFunc) func(batch.Event) {
	return func(e batch.Event) {
		if e.Done >= after {
			cancel()
		}
	}
}

// TestHalfBits checks halfBits with the decoder: every float16 number is unchanged, and a number between two of them
// becomes the nearer one.
func TestHalfBits(t *testing.T) {
	for h := range uint16(0x7c00) {
		v := tensor.Float16To64(h)
		next := tensor.Float16To64(h + 1)
		if h == 0x7bff {
			next = 65536
		}
		middle := (v + next) / 2
		for _, tt := range []struct {
			v    float64
			want uint16
		}{{v, h}, {math.Nextafter(middle, 0), h}, {middle, h + h&1}, {math.Nextafter(middle, 1e9), h + 1}} {
			if got := halfBits(tt.v); got != tt.want {
				t.Fatalf("%v is %04x, want %04x", tt.v, got, tt.want)
			}
			if got := halfBits(-tt.v); got != tt.want|0x8000 {
				t.Fatalf("%v is %04x, want %04x", -tt.v, got, tt.want|0x8000)
			}
		}
	}
}

// compareAll compares two runs: plan, execute, conclude. If ctx ends first, the report has the finished rows and
// Interrupted set, and the error is ctx's.
func compareAll(ctx context.Context, opt conclude.Options) (*record.Report, error) {
	p, err := New(ctx, opt)
	if err != nil {
		return nil, err
	}
	parts, err := p.Execute(ctx, nil)
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return p.Conclude(parts), err
}
