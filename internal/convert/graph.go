package convert

import (
	"path/filepath"

	"dumptool/internal/dumpdir"
	"dumptool/internal/find"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// shapeOfGraph returns the shape of a tensor on the host by the graphs that MindSpore saved beside
// the dumps, and the file of the graph; nil if they do not have it.
func (c *conversion) shapeOfGraph(t *tensorfile.Tensor) (shape tensor.Shape, from string) {
	path, err := filepath.Abs(c.job.Path())
	if err != nil || store.Remote(c.job.Path()) {
		return nil, ""
	}
	root := filepath.Dir(path)
	for !dumpdir.HasGraphs(root) {
		if root == filepath.Dir(root) {
			return nil, ""
		}
		root = filepath.Dir(root)
	}
	query, err := find.ParseQuery(path, find.File)
	if err != nil {
		return nil, ""
	}
	answer, err := find.Run(c.ctx, query, find.Options{Paths: []string{root}, NoFiles: true, Workers: 1})
	if err != nil || len(answer.Results) != 1 {
		return nil, ""
	}
	op, ok := answer.Results[0].(*find.Operator)
	switch {
	case !ok || op.IR == nil:
		return nil, ""
	case t.Kind == tensor.Input && t.Index < len(op.Inputs):
		shape = op.Inputs[t.Index].Host
	case t.Kind == tensor.Output && t.Index < len(op.Outputs):
		shape = op.Outputs[t.Index].Host
	}
	return shape, *op.IR
}
