package msprobe

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// lines has the tensors of Functional_conv2d_0_forward in the unit tests of ptdbg_ascend, without
// and with norm, and the forms that its dump.py writes: numbers, what has no statistics, MD5, frames.
const lines = `["Functional_conv2d_0_forward_input.0", 1, [], "torch.float32", [1, 1, 28, 28], [3.029174327850342, -2.926689624786377, -0.06619918346405029]]
["Functional_conv2d_0_forward_input.2", 1, [], "torch.float32", [16], [0.19734230637550354, -0.18177609145641327, 0.007903944700956345, 0.5]]
["Functional_conv2d_0_forward_input.3.0", 1, [], "<class 'int'>", "[]", [2, 2, 2, 2]]
["Functional_conv2d_0_forward_input.3.1", 1, [], "<class 'bool'>", "[]", [true, true, true, true]]
["Functional_conv2d_0_forward_output", 1, [], "torch.float32", [1, 16, 28, 28], [NaN, -Infinity, NaN, NaN]]
["Functional_conv2d_0_forward_stack_info", [["/site-packages/torch/nn/conv.py", "457", "forward", "return F.conv2d(x)"], ["/home/u/train.py", "12", "step", null]]]

["Tensor___add___1_forward_input.0", 1, [], "torch.int64", [], [7.0, 7.0, 7.0, "Nan"]]
["Tensor___add___1_forward_output.1", 1, "83dcefb7", "torch.bool", [0, 2], [[], [], [], "Nan"]]
["Module_Conv2d_0_backward_output.0", 0, "83dcefb7", "torch.bfloat16", [2], []]
["MyModule_3_forward_input.0", 1, [], "torch.float16", [2], [1, 0, 0.5]]
`

// readLines returns the entries of a text and the lines that do not fit.
func readLines(in io.Reader) (l *Lines, bad []string, err error) {
	l, err = ReadLines(in, func(line int, found, wanted lang.Sentence) {
		bad = append(bad, fmt.Sprintf("%d %s %s", line, found, wanted))
	})
	return l, bad, err
}

func TestReadLines(t *testing.T) {
	l, bad, err := readLines(strings.NewReader(lines))
	if err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	var got []string
	for _, e := range l.Entries {
		for _, leaf := range e.Leaves {
			what := ""
			if x := leaf.Tensor; x != nil {
				what = fmt.Sprintf("%s %v %d:%v %v %v %d:%v %s%s %s", x.DType, []int64(x.Shape), x.Max.Kind, x.Max.Value, x.Min.Value, x.Mean.Value, x.Norm.Kind, x.Norm.Value, x.Digest, x.Odd, x.DataName)
			} else {
				what = leaf.Value.Type + leaf.Value.Text
			}
			got = append(got, fmt.Sprintf("%s %s %d %s", e.API, leaf.Name, leaf.Index, what))
		}
	}
	want := []string{
		"Functional.conv2d.0.forward Functional.conv2d.0.forward.input.0 0 torch.float32 [1 1 28 28] NUM:3.029174327850342 -2.926689624786377 -0.06619918346405029 0:0  Functional_conv2d_0_forward_input.0.npy",
		"Functional.conv2d.0.forward Functional.conv2d.0.forward.input.2 2 torch.float32 [16] NUM:0.19734230637550354 -0.18177609145641327 0.007903944700956345 NUM:0.5  Functional_conv2d_0_forward_input.2.npy",
		"Functional.conv2d.0.forward Functional.conv2d.0.forward.input.3.0 3 int2",
		"Functional.conv2d.0.forward Functional.conv2d.0.forward.input.3.1 3 boolTrue",
		"Functional.conv2d.0.forward Functional.conv2d.0.forward.output.0 0 torch.float32 [1 16 28 28] NUM:NaN -Inf NaN NUM:NaN  Functional_conv2d_0_forward_output.npy",
		"Tensor.__add__.1.forward Tensor.__add__.1.forward.input.0 0 torch.int64 [] NUM:7 7 7 0:0  Tensor___add___1_forward_input.0.npy",
		"Tensor.__add__.1.forward Tensor.__add__.1.forward.output.1 1 torch.bool [0 2] 0:0 0 0 0:0 83dcefb7 Tensor___add___1_forward_output.1.npy",
		"Module.Conv2d.backward.0 Module.Conv2d.backward.0.output.0 0 torch.bfloat16 [2] 0:0 0 0 0:0 83dcefb7 Module_Conv2d_0_backward_output.0.npy",
		"MyModule.3.forward MyModule.3.forward.input.0 0 torch.float16 [2] NUM:1 0 0.5 0:0  MyModule_3_forward_input.0.npy",
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "NUM", strconv.Itoa(int(jsonpos.Number)))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := l.Stacks["Functional.conv2d.0.forward"]; s == nil || s.Script != "train.py:12" || len(s.Lines) != 2 || s.Lines[0] != "File /site-packages/torch/nn/conv.py, line 457, in forward, \n return F.conv2d(x)" {
		t.Errorf("%+v", s)
	}
}

// TestReadBadLines: damaged lines are named by their numbers, and the others are read.
func TestReadBadLines(t *testing.T) {
	first, _, _ := strings.Cut(lines, "\n")
	for _, c := range []struct{ line, want string }{
		{`["Functional_relu_0_forward_output", 1, [], "torch.float32", [1], [1, 1,`, "2 column 73 has the end of the file want a value"},
		{`{"x": 1}`, `2 column 1 has "{" want an array`},
		{"\x80\x04", "want"},
		{`["Functional_relu_forward_output", 1, [], "torch.float32", [1], [1, 1, 1]]`, "want a name such as Functional_relu_0_forward_input.0"},
		{`["Functional_relu_0_forward_output", 1, []]`, "want name, step, MD5, type, shape, statistics"},
		{`["Functional_relu_0_forward_stack_info", 3]`, "want"},
		{`[]`, "want name, step, MD5, type, shape, statistics"},
		{first, "want one line of the name Functional_conv2d_0_forward_input.0"},
	} {
		l, bad, err := readLines(strings.NewReader(first + "\n" + c.line + "\n" + strings.ReplaceAll(first, "_0_", "_1_")))
		if err != nil || len(bad) != 1 || !strings.HasPrefix(bad[0], "2 ") || !strings.Contains(bad[0], c.want) || len(l.Entries) != 2 {
			t.Errorf("%s: %d entries, %q, error %v", c.line, len(l.Entries), bad, err)
		}
	}
	l, _, err := readLines(strings.NewReader(first + "\n" + strings.Repeat(" ", maxLine)))
	if err == nil || !strings.Contains(err.Error(), "line 2: found more than 1048576 bytes") || len(l.Entries) != 1 {
		t.Errorf("%d entries, error %v", len(l.Entries), err)
	}
}

func TestHasLines(t *testing.T) {
	for text, want := range map[string]bool{lines: true, "\x80\x02]q\x00.": false, "[\"a\", 1]": false, "torn\n" + lines: true, "": false} {
		if got := HasLines([]byte(text)); got != want {
			t.Errorf("%.40q: %t, want %t", text, got, want)
		}
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add(lines)
	f.Fuzz(func(t *testing.T, text string) {
		l, bad, err := readLines(strings.NewReader(text))
		seen := []string{}
		for _, e := range l.Entries {
			for _, leaf := range e.Leaves {
				if (leaf.Tensor == nil) == (leaf.Value == nil) || leaf.Index < 0 || !strings.HasPrefix(leaf.Name, e.API) || slices.Contains(seen, leaf.Name) {
					t.Errorf("%+v of %s", leaf, e.API)
				}
				seen = append(seen, leaf.Name)
			}
		}
		if n := len(seen) + len(l.Stacks) + len(bad); err == nil && n > strings.Count(text, "\n")+1 {
			t.Errorf("%d tensors, stacks and bad lines of %q", n, text)
		}
	})
}
