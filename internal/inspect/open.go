package inspect

import (
	"context"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Open lists what is chosen of the run at paths. It opens files only where their
// names do not say enough.
func Open(ctx context.Context, opt Options, paths []string) (*dumpdir.Run, error) {
	run, err := dumpdir.Open(ctx, paths, dumpdir.Options{Only: opt.Only, Graphs: opt.Script})
	if err != nil {
		return nil, err
	}
	headers := dumpdir.HeaderOptions{Version: opt.Version, Workers: opt.Workers}
	if opt.Ops == nil && needsHeaders(run) {
		if err := run.ReadHeaders(ctx, headers); err != nil {
			return nil, err
		}
	}
	return run, run.Choose(ctx, opt.Rounds, opt.Ops, headers)
}

// needsHeaders reports whether a line an operator would lack tensors that only the
// content of their files shows, or whether there are tables of which the name says only the operator.
func needsHeaders(run *dumpdir.Run) bool {
	return IsLarge(run) && slices.ContainsFunc(run.Files, func(f *dumpdir.File) bool {
		c := tensorfile.ContainerOf(f.Name)
		return (f.Role == dumpdir.Unknown || c != nil && c.Named) && f.Err == nil
	}) || slices.ContainsFunc(run.Rounds, func(round *dumpdir.Round) bool {
		return slices.ContainsFunc(round.Ops, func(op *dumpdir.Op) bool {
			return slices.ContainsFunc(op.Tensors, func(t dumpdir.Tensor) bool { return t.Table && t.Whole() })
		})
	})
}

// shownFiles is the most files that are shown one by one unless that is asked for.
const shownFiles = 20

// IsLarge reports whether a run has so many files that a line an operator says more
// than all that is in them.
func IsLarge(run *dumpdir.Run) bool {
	n := 0
	for _, f := range run.Files {
		if f.Role != dumpdir.Side && f.Role != dumpdir.Product {
			n++
		}
	}
	return n > shownFiles
}

// HasHead reports whether there is something to say about a run as a whole, beside what
// is in its files: a folder was given, or several rounds are known.
func HasHead(run *dumpdir.Run) bool {
	return isOrdered(run) || !run.Single && slices.ContainsFunc(run.Files, func(f *dumpdir.File) bool { return !f.Given() })
}

// isOrdered reports whether the place of an operator in the run says something: the run is
// large, or ranks, steps, graphs or models are known.
func isOrdered(run *dumpdir.Run) bool {
	return IsLarge(run) || !run.Single && slices.ContainsFunc(run.Rounds, func(r *dumpdir.Round) bool { return r.At.Known() })
}

// place is where in a run a file belongs.
type place struct {
	at dumpdir.Coordinates
	// op is the operator of the file by the folders that it lies in, nil for a table
	// and where the folders say nothing.
	op *dumpdir.Op
	// order is the place of its operator in the execution order, -1 if that is not
	// known.
	order int
	// script is the line of the script behind the operator, empty where it is not known.
	script string
	// rows are what a table says.
	rows []Statistics
	// values are those of msprobe whose file cannot be read.
	values []Tensor
	// beside are what a file beside says of the only tensor, where statistics are wanted.
	beside *dumpdir.Statistics
	// members are the names of the tensors, of a file that names them.
	members map[string]bool
}

// places finds out where the files of a run belong. It takes from the run what is known
// of its tensors, which is most of its memory where a dump.json names them.
func places(run *dumpdir.Run, stats bool) map[*dumpdir.File]*place {
	all, ordered := make(map[*dumpdir.File]*place), isOrdered(run)
	for _, round := range run.Rounds {
		for _, op := range round.Ops {
			for i := range op.Tensors {
				t := &op.Tensors[i]
				p := all[t.File]
				if p == nil {
					p = &place{at: round.At, order: -1}
					all[t.File] = p
				}
				if op.Call != nil && !t.Table {
					p.script = op.Call.Script
				}
				if stats {
					p.beside = t.Statistics
				}
				if t.Leaf != nil && t.File.Err != nil {
					p.values = append(p.values, Tensor{NameInFile: new(t.Leaf.Name), KindInFile: t.Kind, Kind: t.Kind, Index: t.Index, DType: tensor.Undefined.String(), Err: lang.Failed(t.File.Err)})
				}
				switch {
				case t.Member != "":
					p.addMember(t.Member)
				case t.Table:
					p.rows = append(p.rows, newStatistics(op, t))
				case ordered:
					p.op = op
					if round.Order.IsKnown() {
						p.order = op.Place
					}
				}
			}
			op.Tensors, op.Call = nil, nil
		}
		round.Calls = nil
	}
	return all
}

func (p *place) addMember(name string) {
	if p.members == nil {
		p.members = make(map[string]bool)
	}
	p.members[name] = true
}
