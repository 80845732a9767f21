package dumptest

import (
	"bufio"
	"fmt"
	"io"
)

// WriteGraph writes the text of a made-up graph of about 600 bytes a node, as MindSpore
// 2.3 and later write it: a chain of operators with a full name and two lines of a
// script each. The graphs of ranks differ in some attributes.
// Nothing of it is from a real run.
func WriteGraph(w io.Writer, nodes, rank int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# IR entry: @kernel_graph_0\n# Total subgraphs: 1\n\n# Params:\n%%para1_x: <Tensor[Float32], (32, 3, 224, 224)> : []\n\nsubgraph attr:\nsubgraph instance: kernel_graph_0 : 0x%012x\nsubgraph @kernel_graph_0() {\n", 0x55d3a0b1c000+rank<<8)
	input := "%para1_x"
	for i := range nodes {
		attribute := ""
		if i%10 == 0 {
			attribute = fmt.Sprintf(", rank_id: %03d", rank)
		}
		fmt.Fprintf(out, "  %%%d(CNode_%d$a) = PrimFunc_Conv2D(%s, %s) primitive_attrs: {output_names: [output], kernel_size: (3, 3), pad_mode: pad%s} cnode_primal_attrs: {unique_id: \"%d\"}\n", i, i, input, input, attribute, 700000+i)
		fmt.Fprint(out, "      : (<Tensor[Float32], (32, 64, 56, 56)>, <Tensor[Float16], (64, 64, 3, 3)>) -> (<Tensor[Float32], (32, 64, 56, 56)>)\n")
		fmt.Fprintf(out, "      # Fullname with scope: (Default/network/_backbone/layer%d/block%d/conv1/Conv2D-op%d)\n", i/1000, i/100%10, i)
		fmt.Fprintf(out, "      # In file /data/user/train/code/backbone_%d.py:%d, 8~25/        x_%d = self.conv1(x)/\n", i/5000, 10+i%900, i%5000)
		fmt.Fprintf(out, "      # In file /usr/lib/python3.9/site-packages/mindspore/nn/layer/conv.py:%d, 4~20/        output = self.conv2d(x, self.weight)/\n", 100+i%400)
		input = fmt.Sprintf("%%%d", i)
	}
	fmt.Fprintf(out, "  Return(%s)\n      : (<Tensor[Float32], (1)>)\n}\n", input)
	return out.Flush()
}
