package unshard

import (
	"fmt"
	"slices"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// sumOf adds matrices of small whole numbers, whose sums are exact.
func sumOf(a, b *matrix) *matrix {
	sum := &matrix{a.rows, a.columns, slices.Clone(a.values)}
	for i, v := range b.values {
		sum.values[i] += v
	}
	return sum
}

// wholeNumbers is a matrix of different small whole numbers.
func wholeNumbers(seed, rows, columns int64) *matrix {
	m := &matrix{rows, columns, nil}
	for i := range rows * columns {
		m.values = append(m.values, float64((i*37+seed*11)%997))
	}
	return m
}

// TestSummandsInLists: two ranks sum the outputs of an operator by reduce_scatter. The communication may take the
// summand whole or as a list of slices of rows, and the order of the calls may be known or not. In all cases the
// output of the operator is a summand, the communication reads it, and the result is part of the sum.
func TestSummandsInLists(t *testing.T) {
	const rows, columns, layers = 8, 6, 3
	group := []int{0, 1}
	for _, ordered := range []bool{true, false} {
		for _, list := range []bool{true, false} {
			var run, ref ranktest.Built
			recorded := func(m *matrix) *trace.Tensor { // with a digest, as md5 of dump.json
				x := m.tensor()
				if ordered {
					x.Digest = fmt.Sprint(m.values)
				}
				return x
			}
			for layer := range int64(layers) {
				parts := [2]*matrix{wholeNumbers(1+layer, rows, columns), wholeNumbers(50+layer, rows, columns)}
				sum := sumOf(parts[0], parts[1])
				name := fmt.Sprintf("Module.layers.%d.fc.Linear.forward.0", layer)
				ref.Call(0, 0, name, &trace.Call{Out: []*trace.Tensor{sum.tensor()}})
				for rank, own := range parts {
					run.Call(0, rank, name, &trace.Call{Out: []*trace.Tensor{recorded(own)}})
					in, api := []*trace.Tensor{recorded(own)}, "reduce_scatter_tensor"
					if list {
						in, api = []*trace.Tensor{recorded(own.part(span(0, 4), span(0, columns))), recorded(own.part(span(4, 8), span(0, columns)))}, "reduce_scatter"
					}
					out := sum.part(span(4*rank, 4*rank+4), span(0, columns))
					run.Comm(0, rank, api, group, in, []*trace.Tensor{recorded(out)}, nil)
				}
			}
			if ordered {
				run.Steps[0].Ordered = map[int]bool{0: true, 1: true}
			}
			l := located(t, &run, &ref)
			for rank, calls := range run.Steps[0].Calls {
				for _, c := range calls {
					what := fmt.Sprintf("list %t, ordered %t, rank %d, %s", list, ordered, rank, c.Name)
					out := l.At[c.Out[0]]
					if c.Comm == nil {
						if !out.Partial || out.Map != nil {
							t.Errorf("%s: the output is no summand: %+v", what, out)
						}
						continue
					}
					for _, x := range c.Comm.In {
						if from := l.Sources[x]; !l.At[x].Partial || from == nil || from.Call.Comm != nil || from.Call.Rank != rank {
							t.Errorf("%s: an input is no summand or has no source: %+v", what, l.At[x])
						}
					}
					if out.Partial || out.Map == nil || fmt.Sprint(out.Map.Axes[0].Runs()) != fmt.Sprintf("[{%d 4}]", 4*rank) {
						t.Errorf("%s: the result lies at %+v, want rows %d to %d", what, out, 4*rank, 4*rank+3)
					}
				}
			}
		}
	}
}

// TestGatheredLists: an operator reads the joined list that an all_gather returned: the rows of each tensor
// of the list are found in the input of the operator.
func TestGatheredLists(t *testing.T) {
	const rows, columns, layers = 8, 6, 3
	var run, ref ranktest.Built
	for layer := range int64(layers) {
		whole := wholeNumbers(1+layer, rows, columns)
		name := fmt.Sprintf("Module.layers.%d.fc.Linear.forward.0", layer)
		ref.Call(0, 0, name, &trace.Call{In: []*trace.Tensor{whole.tensor()}})
		halves := [2]*matrix{whole.part(span(0, 4), span(0, columns)), whole.part(span(4, 8), span(0, columns))}
		for rank := range halves {
			run.Comm(0, rank, "all_gather", []int{0, 1}, []*trace.Tensor{halves[rank].tensor()}, []*trace.Tensor{halves[0].tensor(), halves[1].tensor()}, nil)
			run.Call(0, rank, name, &trace.Call{In: []*trace.Tensor{whole.tensor()}})
		}
	}
	run.Steps[0].Ordered = map[int]bool{0: true, 1: true}
	l := located(t, &run, &ref)
	for _, calls := range run.Steps[0].Calls {
		for _, c := range calls {
			if c.Comm == nil {
				continue
			}
			for i, x := range c.Comm.Out {
				if at := l.At[x]; at.Map == nil || fmt.Sprint(at.Map.Axes[0].Runs()) != fmt.Sprintf("[{%d 4}]", 4*i) {
					t.Errorf("rank %d, %s: tensor %d lies at %+v, want rows %d to %d", c.Rank, c.Name, i, at, 4*i, 4*i+3)
				}
			}
		}
	}
}

// TestJoinedSums: the ranks of a reference sum their summands in a list: the sum replaces the summands.
func TestJoinedSums(t *testing.T) {
	const rows, columns = 8, 6
	for _, list := range []bool{true, false} {
		var run, ref ranktest.Built
		parts := [2]*matrix{wholeNumbers(1, rows, columns), wholeNumbers(50, rows, columns)}
		sum := sumOf(parts[0], parts[1])
		const name = "Module.fc.Linear.forward.0"
		for rank, own := range parts {
			run.Call(0, rank, name, &trace.Call{Out: []*trace.Tensor{sum.tensor()}})
			ref.Call(0, rank, name, &trace.Call{Out: []*trace.Tensor{own.tensor()}})
			in := []*trace.Tensor{own.tensor()}
			if list {
				in = []*trace.Tensor{own.part(span(0, 4), span(0, columns)).tensor(), own.part(span(4, 8), span(0, columns)).tensor()}
			}
			out := sum.part(span(4*rank, 4*rank+4), span(0, columns)).tensor()
			out.File = ranktest.NoFile
			ref.Comm(0, rank, "reduce_scatter", []int{0, 1}, in, []*trace.Tensor{out}, nil)
		}
		l := located(t, &run, &ref)
		for rank, calls := range run.Steps[0].Calls {
			at := l.At[calls[0].Out[0]]
			if at.Map == nil || at.Map.Score < 1 || !at.Ref.Shape.Equal(tensor.Shape{rows, columns}) || len(at.Ref.Pieces) != 2 {
				t.Errorf("list %t, rank %d: the output lies at %+v, want all of the sum in two pieces", list, rank, at)
			}
		}
	}
}
