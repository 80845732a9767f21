package inspect

import (
	"context"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Open lists the selected files of the run at paths. It opens files only if their names are not
// sufficient.
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

// needsHeaders reports whether an overview by operator would lack tensors that only the files'
// contents show, or whether tables name only operators.
func needsHeaders(run *dumpdir.Run) bool {
	return IsLarge(run) && slices.ContainsFunc(run.Files, func(f *dumpdir.File) bool {
		c := tensorfile.ContainerOf(f.Name)
		return (f.Role == dumpdir.Unknown || c != nil && c.Named) && f.Err == nil
	}) || slices.ContainsFunc(run.Rounds, func(round *dumpdir.Round) bool {
		return slices.ContainsFunc(round.Ops, func(op *dumpdir.Op) bool {
			return slices.ContainsFunc(op.Tensors, func(t dumpdir.Tensor) bool { return t.Table && t.IsWholeFile() })
		})
	})
}

// shownFiles is the largest number of files that are shown one by one by default.
const shownFiles = 20

// IsLarge reports whether a run has so many files that it is shown by operator.
func IsLarge(run *dumpdir.Run) bool {
	return lists.Count(run.Files, func(f *dumpdir.File) bool { return f.Role != dumpdir.Side && f.Role != dumpdir.Product }) > shownFiles
}

// HasHead reports whether a run has properties beside its files: a folder was given, or several
// rounds are known.
func HasHead(run *dumpdir.Run) bool {
	return isOrdered(run) || !run.Single && slices.ContainsFunc(run.Files, func(f *dumpdir.File) bool { return !f.IsGiven() })
}

// isOrdered reports whether an operator's place in the run is informative: the run is large, or
// ranks, steps, graphs or models are known.
func isOrdered(run *dumpdir.Run) bool {
	return IsLarge(run) || !run.Single && slices.ContainsFunc(run.Rounds, func(r *dumpdir.Round) bool { return r.At.IsKnown() })
}

// filePosition is the place of a file in a run.
type filePosition struct {
	at dumpdir.Coordinates
	// op is the operator of the file according to its folders, nil for a table and if the folders
	// do not say.
	op *dumpdir.Op
	// order is the position of the operator in the execution order, -1 if unknown.
	order int
	// script is the script line of the operator, empty if unknown.
	script string
	// rows lists the rows of a table.
	rows []Statistics
	// values lists msprobe's values for an unreadable file.
	values []Tensor
	// statistics holds another file's statistics of the only tensor, if statistics are requested.
	statistics *dumpdir.Statistics
	// members lists the wanted tensors of a file with named tensors.
	members map[string]bool
}

// places maps files to their places in the run. It removes the tensors from the run, which are most
// of its memory if a dump.json lists them.
func places(run *dumpdir.Run, stats bool) map[*dumpdir.File]*filePosition {
	all, ordered := make(map[*dumpdir.File]*filePosition), isOrdered(run)
	for _, round := range run.Rounds {
		for _, op := range round.Ops {
			for i := range op.Tensors {
				t := &op.Tensors[i]
				p := all[t.File]
				if p == nil {
					p = &filePosition{at: round.At, order: -1}
					all[t.File] = p
				}
				if op.Call != nil && !t.Table {
					p.script = op.Call.Script
				}
				if stats {
					p.statistics = t.Statistics
				}
				if t.Leaf != nil && t.File.Err != nil {
					p.values = append(p.values, Tensor{NameInFile: new(t.Leaf.Name), KindInFile: t.Kind, Kind: t.Kind, Index: t.Index, DType: tensor.Undefined.String(), Err: lang.AsFailure(t.File.Err)})
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

func (p *filePosition) addMember(name string) {
	if p.members == nil {
		p.members = make(map[string]bool)
	}
	p.members[name] = true
}
