//go:build numpy

package convert

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// custom makes a folder of converters and opens it.
func custom(t *testing.T, modules map[string]string) *Custom {
	t.Helper()
	dir := t.TempDir()
	for name, text := range modules {
		writeFile(t, filepath.Join(dir, "format_convert", name), []byte(text))
	}
	c, err := NewCustom(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// customRun converts one uint16 tensor of the given format with the module.
func customRun(t *testing.T, c *Custom, f, target tensor.Format, shape, original tensor.Shape, data []byte) (Row, map[string]string) {
	t.Helper()
	in, out := t.TempDir(), t.TempDir()
	dump := &dumptest.Content{Outputs: []dumptest.TensorContent{tensorOf(tensor.Uint16, f, shape, original, data)}}
	dump.Outputs[0].SubFormat = 3
	path := writeDump(t, in, opName, dump)
	_, results := convertAll(t, Options{Out: out, Target: &target, Custom: c}, path)
	if len(results[0].Rows) != 1 {
		t.Fatalf("result %+v", results[0])
	}
	return results[0].Rows[0], tree(t, out)
}

func TestCustomConverter(t *testing.T) {
	c := custom(t, map[string]string{
		// Overrides the built-in converter: reverses the elements, and prints.
		"convert_NC1HWC0_to_NCHW.py": `
import numpy
def convert(shape_from, shape_to, array):
    print("hello from a converter")
    assert shape_from == [1, 1, 1, 2, 2] and shape_to == [1, 2, 1, 2], (shape_from, shape_to)
    assert array.ndim == 1 and array.dtype == numpy.uint16
    return array[::-1].reshape(shape_to)
`,
		// Receives the groups, and returns more elements than wanted.
		"convert_NCHW_to_FRACTAL_Z.py": `
import numpy
def convert(shape_from, shape_to, array, group):
    return numpy.full((2, 3), group, array.dtype)
`,
		"notes.txt": "",
	})
	if w := fmt.Sprint(c.Warnings()); !strings.Contains(w, "notes.txt is not used") {
		t.Errorf("warnings %q", w)
	}
	row, files := customRun(t, c, tensor.NC1HWC0, tensor.NCHW, tensor.Shape{1, 1, 1, 2, 2}, tensor.Shape{1, 2, 1, 2}, counting(4))
	want := array(t, tensor.HostUint16, tensor.Shape{1, 2, 1, 2}, []byte{3, 0, 2, 0, 1, 0, 0, 0})
	if row.Err != nil || files[opName+".output.0.1x2x1x2.npy"] != want {
		t.Errorf("error %v, %d files", row.Err, len(files))
	}
	row, files = customRun(t, c, tensor.NCHW, tensor.FractalZ, tensor.Shape{1, 1, 2, 2}, nil, counting(4))
	want = array(t, tensor.HostUint16, tensor.Shape{2, 3}, []byte{3, 0, 3, 0, 3, 0, 3, 0, 3, 0, 3, 0})
	if row.Err != nil || files[opName+".output.0.2x3.npy"] != want {
		t.Errorf("error %v, %d files", row.Err, len(files))
	}
}

// TestCustomCrop crops the padding off a result, but not if only the order of axes differs.
func TestCustomCrop(t *testing.T) {
	padded := `
def convert(shape_from, shape_to, array):
    return array.reshape(1, 2, 1, 3)
`
	c := custom(t, map[string]string{"convert_NC1HWC0_to_NCHW.py": padded, "convert_NC1HWC0_to_NHWC.py": padded})
	shape := tensor.Shape{1, 1, 1, 2, 3}
	row, files := customRun(t, c, tensor.NC1HWC0, tensor.NCHW, shape, tensor.Shape{1, 2, 1, 2}, counting(6))
	want := array(t, tensor.HostUint16, tensor.Shape{1, 2, 1, 2}, []byte{0, 0, 1, 0, 3, 0, 4, 0})
	if row.Err != nil || files[opName+".output.0.1x2x1x2.npy"] != want {
		t.Errorf("error %v, %d files", row.Err, len(files))
	}
	row, files = customRun(t, c, tensor.NC1HWC0, tensor.NHWC, shape, tensor.Shape{1, 3, 1, 1}, counting(6))
	if _, ok := files[opName+".output.0.1x2x1x3.npy"]; !ok || len(row.Warnings) != 1 {
		t.Errorf("error %v, warnings %v, %d files", row.Err, row.Warnings, len(files))
	}
}

func TestCustomFailures(t *testing.T) {
	tests := []struct{ name, module, want string }{
		{"raises", "def convert(a, b, c):\n    raise ValueError('no such thing')\n", "ValueError: no such thing"},
		{"reads", "import sys\ndef convert(a, b, c):\n    assert sys.stdin.read() == ''\n    raise ValueError('went on')\n", "ValueError: went on"},
		{"no array", "def convert(a, b, c):\n    return [1]\n", "returned list, want ndarray"},
		{"syntax", "def convert(:\n", "SyntaxError"},
		{"exits", "import os\ndef convert(a, b, c):\n    os.write(2, b'out of luck\\n')\n    os._exit(3)\n", "out of luck"},
		{"sys.exit", "import sys\ndef convert(a, b, c):\n    sys.exit('bye')\n", "SystemExit: bye"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := custom(t, map[string]string{
				"convert_NC1HWC0_to_NCHW.py": tt.module,
				"convert_NC1HWC0_to_NHWC.py": "def convert(a, b, c):\n    return c\n",
			})
			shape := tensor.Shape{1, 1, 1, 2, 2}
			row, files := customRun(t, c, tensor.NC1HWC0, tensor.NCHW, shape, nil, counting(4))
			if row.Err == nil || !strings.Contains(row.Err.Error(), tt.want) {
				t.Errorf("error %v does not say %q", row.Err, tt.want)
			}
			if len(files) != 0 {
				t.Errorf("%d files were written", len(files))
			}
			// The next converter works all the same.
			if row, _ := customRun(t, c, tensor.NC1HWC0, tensor.NHWC, shape, nil, counting(4)); row.Err != nil {
				t.Errorf("the next converter fails: %v", row.Err)
			}
		})
	}
}

// TestCustomUnusable: a module that is not a converter gives a warning, and the built-in converter
// is used.
func TestCustomUnusable(t *testing.T) {
	for why, module := range map[string]string{
		"declares 2 arguments, want 3": "def convert(a, b):\n    pass\n",
		"no function convert":          "x = 1\n",
	} {
		c := custom(t, map[string]string{"convert_NC1HWC0_to_NCHW.py": module})
		shape := tensor.Shape{1, 1, 1, 2, 2}
		row, files := customRun(t, c, tensor.NC1HWC0, tensor.NCHW, shape, tensor.Shape{1, 2, 1, 2}, counting(4))
		if row.Err != nil || len(row.Warnings) != 1 || !strings.Contains(row.Warnings[0].String(), why) {
			t.Errorf("error %v, warnings %q, want %q", row.Err, row.Warnings, why)
		}
		want := array(t, tensor.HostUint16, tensor.Shape{1, 2, 1, 2}, []byte{0, 0, 2, 0, 1, 0, 3, 0})
		if files[opName+".output.0.1x2x1x2.npy"] != want {
			t.Error("the built-in converter was not used")
		}
		if c.Has(tensor.NC1HWC0, tensor.NCHW) {
			t.Error("the module is asked again")
		}
	}
}

func TestCustomInterrupted(t *testing.T) {
	c := custom(t, map[string]string{"convert_NC1HWC0_to_NCHW.py": "import time\ndef convert(a, b, c):\n    time.sleep(3600)\n"})
	in, out := t.TempDir(), t.TempDir()
	path := writeDump(t, in, opName, &dumptest.Content{Outputs: []dumptest.TensorContent{
		tensorOf(tensor.Uint16, tensor.NC1HWC0, tensor.Shape{1, 1, 1, 2, 2}, nil, counting(4))}})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := Run(ctx, Options{Out: out, Type: Npy, Target: new(tensor.NCHW), Custom: c}, opened(t, path), nil, func(*Result) error { return nil })
	if err == nil || len(tree(t, out)) != 0 {
		t.Errorf("error %v, %d files", err, len(tree(t, out)))
	}
}
