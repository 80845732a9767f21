package dumpfmt_test

import (
	"fmt"
	"strings"
	"testing"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

const sliced = `{"threadMode": 1, "slice_instance_num": 2, "outputCutList": [[2, 1]],
	"input_tensor_slice": [[[{"higher": 4, "lower": 0}, {"higher": 3, "lower": 0}]], [[{"higher": "7", "lower": "4"}, {"higher": 3, "lower": 0}]]],
	"output_tensor_slice": [[[{"higher": 8, "lower": 0}], []], [[{"higher": 14, "lower": 8}], []]]}`

// threadDump has one input and two outputs.
func threadDump(attrs ...dumpfmt.Attr) *dumpfmt.Dump {
	return &dumpfmt.Dump{Inputs: make([]tensor.Tensor, 1), Outputs: make([]tensor.Tensor, 2), Attrs: attrs}
}

func threadName(thread int) filename.Dump {
	return filename.Parse(fmt.Sprintf("Conv2D.x.7.5.1673383728094391.4.12.%d.0", thread)).Dump
}

func TestThreadSlices(t *testing.T) {
	for _, mode := range []string{`1`, `true`, `"1"`, `"true"`, `2.0`} {
		note := dumpfmt.Attr{Name: "ffts", Value: strings.Replace(sliced, `"threadMode": 1`, `"threadMode": `+mode, 1)}
		for thread, want := range []string{"[(4, 3)] [(8,) ()]", "[(3, 3)] [(6,) ()]"} {
			in, out, ok, err := dumpfmt.ThreadSlices(threadDump(dumpfmt.Attr{"other", "text"}, note), threadName(thread))
			if got := fmt.Sprint(in, " ", out); got != want || !ok || err != nil {
				t.Errorf("mode %s, thread %d: got %s, %v, %v; want %s", mode, thread, got, ok, err, want)
			}
		}
	}
}

// TestThreadSlicesNone: attributes without thread slices.
func TestThreadSlicesNone(t *testing.T) {
	for _, value := range []string{"", "text", "[]", "{}", `{"threadMode": 0}`, `{"threadMode": false}`, `{"threadMode": "0"}`, `{"threadMode": null, "input_tensor_slice": 5}`, `{"threadMode": "manual"}`, `{"threadMode": 1`} {
		in, out, ok, err := dumpfmt.ThreadSlices(threadDump(dumpfmt.Attr{"ffts", value}), threadName(0))
		if in != nil || out != nil || ok || err != nil {
			t.Errorf("%q: got %v, %v, %v, %v", value, in, out, ok, err)
		}
	}
	if _, _, ok, err := dumpfmt.ThreadSlices(&dumpfmt.Dump{}, filename.Dump{}); ok || err != nil {
		t.Errorf("no attributes: %v, %v", ok, err)
	}
}

func TestThreadSlicesErrors(t *testing.T) {
	noThread := filename.Parse("Conv2D.x.7.5.1673383728094391").Dump
	tests := []struct {
		name, old, new, want string
		file                 filename.Dump
	}{
		{"no thread id", "", "", `the name "Conv2D.x.7.5.1673383728094391" has no thread id`, noThread},
		{"no such thread", "", "", "input slices of 2 threads, none of thread 2", threadName(2)},
		{"too many outputs", `, []], [[{"higher": 14`, `, [], []], [[{"higher": 14`, "thread 0 has slices of 3 outputs, the dump has 2", threadName(0)},
		{"no inputs", `"input_tensor_slice"`, `"input"`, "input slices of 0 threads", threadName(0)},
		{"backwards", `{"higher": 4, "lower": 0}`, `{"higher": 4, "lower": 5}`, "slice of input 0 dimension 0 goes from 5 to 4", threadName(0)},
		{"negative", `{"higher": 4, "lower": 0}`, `{"higher": 4, "lower": -5}`, "goes from -5 to 4", threadName(0)},
		{"no end", `{"higher": 4, "lower": 0}`, `{"lower": 0}`, "slice of input 0 dimension 0 lacks an end", threadName(0)},
		{"fraction", `{"higher": 4, "lower": 0}`, `{"higher": 4.5, "lower": 0}`, "4.5 is no 64-bit integer", threadName(0)},
		{"no list", `"input_tensor_slice": `, `"input_tensor_slice": 7, "x": `, `slices in attribute "ffts"`, threadName(0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			note := dumpfmt.Attr{"ffts", strings.Replace(sliced, test.old, test.new, 1)}
			in, out, ok, err := dumpfmt.ThreadSlices(threadDump(note), test.file)
			if err == nil || !strings.Contains(err.Error(), test.want) || in != nil || out != nil || ok {
				t.Errorf("got %v, %v, %v, %v; want %q", in, out, ok, err, test.want)
			}
		})
	}
}
