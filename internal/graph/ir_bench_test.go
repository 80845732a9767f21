package graph

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
)

// writeMadeIR writes the text of a graph of about 600 bytes a node, each with a full
// name and two frames, as MindSpore 2.3 and later write it.
func writeMadeIR(w io.Writer, nodes int) {
	out := bufio.NewWriter(w)
	defer out.Flush()
	out.WriteString("# IR entry: @kernel_graph_0\n# Total subgraphs: 1\n\n# Params:\n%para1_x: <Tensor[Float32], (32, 3, 224, 224)> : []\n\nsubgraph attr:\nsubgraph @kernel_graph_0() {\n")
	for i := range nodes {
		input := "%para1_x"
		if i > 0 {
			input = fmt.Sprintf("%%%d", i-1)
		}
		fmt.Fprintf(out, "  %%%d(CNode_%d$a) = PrimFunc_Conv2D(%s, %s) primitive_attrs: {output_names: [output], input_names: [x, w], kernel_size: (3, 3), pad_mode: pad} cnode_primal_attrs: {unique_id: \"%d\"}\n", i, i, input, input, 700000+i)
		out.WriteString("      : (<Tensor[Float32], (32, 64, 56, 56)>, <Tensor[Float16], (64, 64, 3, 3)>) -> (<Tensor[Float32], (32, 64, 56, 56)>)\n")
		fmt.Fprintf(out, "      # Fullname with scope: (Default/network/_backbone/layer%d/block%d/conv1/Conv2D-op%d)\n", i/1000, i/100%10, i)
		fmt.Fprintf(out, "      # In file /data/user/train/code/backbone_%d.py:%d, 8~25/        x_%d = self.conv1(x)/\n", i/5000, 10+i%900, i%5000)
		fmt.Fprintf(out, "      # In file /usr/lib/python3.9/site-packages/mindspore/nn/layer/conv.py:%d, 4~20/        output = self.conv2d(x, self.weight)/\n", 100+i%400)
	}
	out.WriteString("  Return(%1)\n      : (<Tensor[Float32], (1)>)\n}\n")
}

// TestIRMemory: what is kept of a graph of 100,000 nodes.
func TestIRMemory(t *testing.T) {
	const nodes = 100_000
	var text bytes.Buffer
	writeMadeIR(&text, nodes)
	if path := os.Getenv("MADE_IR"); path != "" {
		os.WriteFile(path, text.Bytes(), 0o666)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	g, err := ReadIR(&text)
	if err != nil || len(g.Nodes) != nodes {
		t.Fatalf("%d nodes, error %v", len(g.Nodes), err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 40<<20 {
		t.Errorf("%d bytes are kept, want 40 MiB at most", kept)
	} else {
		t.Log("kept", kept, "total", after.TotalAlloc-before.TotalAlloc)
	}
	runtime.KeepAlive(g)
	runtime.KeepAlive(text)
}

func BenchmarkReadIR(b *testing.B) {
	var text bytes.Buffer
	writeMadeIR(&text, 100_000)
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := ReadIR(bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
