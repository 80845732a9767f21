package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// depths are numbers of layers, and forms how the runs of such networks are kept: without
// a graph, and what is dumped besides the outputs.
var (
	depths = []int{24, 200, 400, 1000}
	forms  = []struct {
		name string
		form
	}{
		{"outputs", form{Files: "cann", Graph: "none"}},
		{"and inputs of the NPU", form{Files: "cann", Graph: "none", Inputs: true}},
		{"and all inputs", form{Files: "cann-both", Graph: "none", Inputs: true}},
		{"outputs, consumer map", form{Files: "cann", Graph: "map"}},
	}
)

// byDepth prints how networks of many layers are judged, healthy and with a quarter of one
// tensor, at 7 tenths of the layers, times 1.25.
func byDepth(stdout io.Writer, program, dir string, first, last uint64) error {
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "layers\tdumped\tclean\tfailed\tfaults\tseen\tnamed\tfirst\twrong\t\n")
	for _, layers := range depths {
		for _, form := range forms {
			var c counts
			seen := 0
			for seed := first; seed <= last; seed++ {
				for _, mode := range modes[:2] {
					o := &outcome{truth: truth{Seed: seed, Family: "deep", Mode: mode}}
					n := start(o.Family, seed)
					residual(n, layers)
					n.finish()
					var f *fault
					if mode == "strong" {
						later := n.nodes[len(n.nodes)*7/10:]
						f = &fault{kind: "quarter", node: later[slices.IndexFunc(later, func(nd *node) bool { return !nd.constant })]}
						n.run(f)
					}
					o.folder = filepath.Join(dir, fmt.Sprintf("%d_%s_%d_%s", layers, form.name, seed, mode))
					if err := o.write(context.Background(), program, n, f, form.form); err != nil {
						return err
					}
					c.add(o)
					if mode == "strong" && o.exit == 1 {
						seen++
					}
				}
			}
			fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", layers, form.name, c.clean, c.failed, c.nets, seen, c.named, c.first, c.wrong)
		}
	}
	return t.Flush()
}
