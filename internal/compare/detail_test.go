package compare

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dumptool/internal/compare/execute"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumptest"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"Default/conv1/Conv2D-op1", "Default/conv2/Conv2D-op2", "relu", "relu_1", "softmax"}
	for word, want := range map[string]string{
		"conv2/": "Default/conv2/Conv2D-op2", "Default_conv1_Conv2D-op1": "Default/conv1/Conv2D-op1",
		"RELU": "relu relu_1", "sofmax": "softmax", "sfotmax": "softmax", "batchnorm": "",
	} {
		if got := strings.Join(nearestNames(word, names), " "); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// TestWriteTensor: both sides of pairs are written as they were compared.
func TestWriteTensor(t *testing.T) {
	a := axes{2, 19, 1, 3, 5}
	device, data := deviceArray(tensor.NC1HWC0, a)
	nhwc, values := hostArray("NHWC", a)
	dir := t.TempDir()
	ref := write(t, filepath.Join(dir, "x.npy"), array(tensor.Float32, nhwc, values...))
	npu := write(t, filepath.Join(dir, dumpName), dumpOf(t, "x", nil,
		[]dumptest.TensorContent{dumped(tensor.Float16, tensor.NC1HWC0, device, tensor.Shape{2, 19, 3, 5}, stored(tensor.Float16, data...))}))
	opt := exactly(ref, npu)
	opt.Keep = true
	plan, err := New(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := plan.Execute(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for npu, d := range map[bool]tensor.DType{false: tensor.Float32, true: tensor.Float16} {
		var b bytes.Buffer
		if err := plan.WriteTensor(context.Background(), &b, &parts[0], npu); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), array(d, nhwc, values...)) {
			f, err := npy.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
			t.Errorf("NPU %v: another array: %+v, %v", npu, f, err)
		}
		if err := plan.WriteTensor(canceled(), &b, &parts[0], npu); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
	}
	part := execute.Part{Row: &record.Row{Op: "x", Pair: record.PairVerdict{Status: record.Skip}}}
	if err := plan.WriteTensor(context.Background(), &bytes.Buffer{}, &part, false); err == nil {
		t.Error("a tensor that was not compared was written")
	}
}

func TestSelector(t *testing.T) {
	for text, want := range map[string]Selector{
		"a": {Op: "a"}, "a:output:3": {"a", "output", 3}, "scope/a:0:input:0": {"scope/a:0", "input", 0},
		"a:output:-1": {Op: "a:output:-1"}, "a:output:x": {Op: "a:output:x"}, "output:1": {Op: "output:1"},
	} {
		if got := ParseSelector(text); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	row := &record.Row{Op: "a", Kind: "output", Output: 3}
	for text, want := range map[string]bool{"a": true, "a:output:3": true, "a:output:2": false, "a:input:3": false} {
		if got := ParseSelector(text).Has(row); got != want {
			t.Errorf("%s has output 3: %v, want %v", text, got, want)
		}
	}
}
