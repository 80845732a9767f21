package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// graphNodes is the size of the graph that find is measured with.
const graphNodes = 100_000

// find measures a query in a graph that MindSpore saved, with one worker.
func (b *bench) find(ctx context.Context) error {
	dir := filepath.Join(b.scratch, "graphs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := makeGraph(filepath.Join(dir, "ms_output_trace_code_graph_0.ir"), graphNodes); err != nil {
		return err
	}
	var samples []sample
	for range b.runs + 1 {
		s, err := measure(ctx, b.binary, "find", "-j", "1", "-d", dir, "backbone_7.py:88")
		if err != nil {
			return err
		}
		samples = append(samples, s)
	}
	times := seconds(samples[1:]) // the first one reads the file
	m := median(times)
	b.report(result{
		job: "find a line", measured: fmt.Sprintf("%.2f s", m), target: fmt.Sprintf("< %v", findTarget),
		verdict: verdict(m < findTarget.Seconds()), note: fmt.Sprintf("%d nodes, median of %d", graphNodes, len(times)),
	}, memoryResult("find a line", samples, findMemory))
	return nil
}

// The targets of find.
const (
	findTarget = time.Second
	findMemory = 96 << 20
)

// makeGraph writes a graph of about 600 bytes a node as MindSpore 2.3 and later do, each
// node with a full name and two frames.
func makeGraph(path string, nodes int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	fmt.Fprintf(out, "# IR entry: @kernel_graph_0\n# Total subgraphs: 1\n\n# Params:\n%%para1_x: <Tensor[Float32], (32, 3, 224, 224)> : []\n\nsubgraph @kernel_graph_0() {\n")
	input := "%para1_x"
	for i := range nodes {
		fmt.Fprintf(out, "  %%%d(CNode_%d$a) = PrimFunc_Conv2D(%s, %s) primitive_attrs: {output_names: [output], input_names: [x, w], kernel_size: (3, 3), pad_mode: pad} cnode_primal_attrs: {unique_id: \"%d\"}\n", i, i, input, input, 700000+i)
		fmt.Fprint(out, "      : (<Tensor[Float32], (32, 64, 56, 56)>, <Tensor[Float16], (64, 64, 3, 3)>) -> (<Tensor[Float32], (32, 64, 56, 56)>)\n")
		fmt.Fprintf(out, "      # Fullname with scope: (Default/network/_backbone/layer%d/block%d/conv1/Conv2D-op%d)\n", i/1000, i/100%10, i)
		fmt.Fprintf(out, "      # In file /data/user/train/code/backbone_%d.py:%d, 8~25/        x_%d = self.conv1(x)/\n", i/5000, 10+i%900, i%5000)
		fmt.Fprintf(out, "      # In file /usr/lib/python3.9/site-packages/mindspore/nn/layer/conv.py:%d, 4~20/        output = self.conv2d(x, self.weight)/\n", 100+i%400)
		input = fmt.Sprintf("%%%d", i)
	}
	fmt.Fprintf(out, "  Return(%s)\n      : (<Tensor[Float32], (1)>)\n}\n", input)
	return out.Flush()
}
