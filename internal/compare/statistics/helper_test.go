package statistics

import (
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/tensor"
)

// given is a made-up tensor of a call.
type given struct {
	kind     tensor.Kind
	index    int
	row      record.Row
	unread   bool
	exponent float64
}

// parsed parses statistics: max, min, mean, norm and an optional digest; - stands for none.
func parsed(text string) (s record.SideStatistics) {
	words := strings.Fields(text)
	for i, to := range []*metrics.Metric{&s.Max, &s.Min, &s.Mean, &s.Norm} {
		if words[i] != "-" {
			v, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				panic(err)
			}
			*to = metrics.NumberOf(v)
		}
	}
	if len(words) > 4 {
		s.Digest = words[4]
	}
	return s
}

// typed parses a type and a shape such as "float32 8,8".
func typed(text string) (tensor.DType, tensor.Shape) {
	name, sizes, _ := strings.Cut(text, " ")
	dtype, ok := tensor.ParseDType(name)
	if !ok {
		panic(name)
	}
	shape := tensor.Shape{}
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			panic(err)
		}
		shape = append(shape, n)
	}
	return dtype, shape
}

// one makes a tensor of a type such as "float32 8,8" with the statistics of the reference and of the NPU, by default
// the same. The NPU's statistics may begin with a type of their own and a colon.
func one(kind tensor.Kind, index int, typ, ref string, npu ...string) given {
	g := given{kind: kind, index: index}
	g.row.RefDType, g.row.RefShape = typed(typ)
	g.row.NPUDType, g.row.NPUShape = g.row.RefDType, g.row.RefShape
	g.row.Statistics = &record.Statistics{Ref: parsed(ref), NPU: parsed(ref)}
	g.row.RefFile, g.row.NPUFile = "ref", "npu"
	if len(npu) > 0 {
		text := npu[0]
		if typ, numbers, ok := strings.Cut(text, ": "); ok {
			g.row.NPUDType, g.row.NPUShape = typed(typ)
			text = numbers
		}
		g.row.Statistics.NPU = parsed(text)
	}
	return g
}

func in(index int, typ, ref string, npu ...string) given {
	return one(tensor.Input, index, typ, ref, npu...)
}

func out(typ, ref string, npu ...string) given {
	return one(tensor.Output, 0, typ, ref, npu...)
}

// run is a round whose calls are added in their order.
type run struct {
	rows  []record.Row
	calls int
}

func (r *run) call(name string, tensors ...given) *run {
	for leaf, g := range tensors {
		row := g.row
		row.Op, row.Kind, row.Output, row.Order = name, string(g.kind), g.index, len(r.rows)
		s := row.Statistics
		s.Tensor, s.Unread, s.Exponent = string(g.kind)+"."+strconv.Itoa(g.index), g.unread, g.exponent
		s.Ref.Call, s.NPU.Call, s.Ref.Leaf, s.NPU.Leaf = r.calls, r.calls, leaf, leaf
		row.Pair.Status = record.Pass
		r.rows = append(r.rows, row)
	}
	r.calls++
	return r
}

// alone removes the partners of the tensors of the last call.
func (r *run) alone() *run {
	last := r.rows[len(r.rows)-1].Op
	for i := range r.rows {
		if r.rows[i].Op == last {
			r.rows[i].NPUFile, r.rows[i].Statistics.NPU = "", record.SideStatistics{}
		}
	}
	return r
}

// found lists the origins and starts in their order, as OP TENSOR CODE.
func (r *run) found() string {
	f, noVerdict := Judge(r.rows, Known{})
	var all []string
	for _, i := range f.Origins {
		row := &r.rows[i]
		all = append(all, row.Op+" "+row.Statistics.Tensor+" "+string(row.Reasons[0].Code))
	}
	if !noVerdict.IsZero() {
		all = append(all, "no verdict")
	}
	return strings.Join(all, "; ")
}

// wantFound judges a round and compares its findings.
func (r *run) wantFound(t *testing.T, want string) {
	t.Helper()
	if got := r.found(); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

// status returns the status and the first code of the first row of a tensor after the round was judged.
func (r *run) status(op, place string) string {
	for i := range r.rows {
		row := &r.rows[i]
		if row.Op != op || row.Statistics.Tensor != place {
			continue
		}
		if len(row.Reasons) == 0 {
			return string(row.Status)
		}
		return string(row.Status) + " " + string(row.Reasons[0].Code)
	}
	return "no such row"
}
