package conclude

import (
	"slices"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/jsonpos"
	"dumptool/internal/optype"
	"dumptool/internal/tensor"
)

// TestDoubtful recomputes operators that the evidence neither suspects nor clears: products
// without room, and rows that only a large error would make origins.
func TestDoubtful(t *testing.T) {
	said := func(name, opType, round string, e record.Evidence) record.Row {
		return record.Row{Op: name, OpType: opType, Round: round, Kind: string(tensor.Output), NPUPath: name, Verdict: record.Verdict{Evidence: &e}}
	}
	judged := func(score float64) record.Evidence {
		return record.Evidence{Judged: true, Class: optype.Linear.String(), Power: metrics.NumberOf(.01), Rounding: .001, Score: jsonpos.Float(score)}
	}
	blind := record.Evidence{Power: metrics.NumberOf(2), Rounding: .001, Score: .2}
	failed := func(op string, score float64) record.Row {
		row := said(op, "Add", "", judged(score))
		row.Pair.Status = record.Fail
		return row
	}
	integer, start := judged(2), blind
	integer.Rounding, start.Start = 0, true
	unknown, norm := judged(1.5), judged(1.5)
	unknown.Class, norm.Class = optype.Unknown.String(), optype.Normalise.String()
	for _, test := range []struct {
		name string
		rows []record.Row
		want []string
	}{
		{"a product beyond what is expected", []record.Row{said("a", "MatMulV2", "", judged(1.11)), said("b", "Conv2D", "", judged(3))}, []string{"a", "b"}},
		{"a product with room", []record.Row{said("a", "MatMulV2", "", judged(1.1))}, nil},
		{"a norm beyond what is expected", []record.Row{said("a", "LayerNorm", "", norm)}, []string{"a"}},
		{"an unknown class", []record.Row{said("a", "Foo", "", unknown)}, nil},
		{"a call", []record.Row{said("Functional.linear.0.forward", "", "", judged(1.5))}, []string{"Functional.linear.0.forward"}},
		{"integers are exact", []record.Row{said("a", "MatMulV2", "", integer)}, nil},
		{"nothing would be seen", []record.Row{said("a", "Log", "", blind)}, []string{"a"}},
		{"nobody computed it", []record.Row{said("a", "", "", start)}, nil},
		{"nothing says what would be seen", []record.Row{said("a", "Log", "", record.Evidence{})}, nil},
		{"what shows something comes first", []record.Row{said("a", "Log", "", blind), said("b", "MatMul", "", judged(2))}, []string{"b", "a"}},
		{"one that is suspected already", []record.Row{said("known", "MatMul", "", judged(2))}, nil},
		{"of the same name in another round", []record.Row{said("known", "MatMul", "1", judged(2)), said("a", "MatMul", "1", judged(2))}, []string{"a"}},
		{"an input", []record.Row{{Op: "a", OpType: "MatMul", Kind: string(tensor.Input), NPUPath: "a", Verdict: record.Verdict{Evidence: new(judged(2))}}}, nil},
		{"beyond its limits and far above its class", []record.Row{failed("a", 0.2), failed("b", 0.2), failed("e", 0.2), failed("c", 0.9), said("d", "Add", "", judged(0.9))}, []string{"c"}},
	} {
		rep := &record.Report{Rows: test.rows}
		known := map[suspectedOperator]bool{{name: "known"}: true}
		if got := addUndecided(rep, nil, []string{"known"}, known)[1:]; !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		for _, name := range test.want {
			if !known[suspectedOperator{round: test.rows[0].Round, name: name}] {
				t.Errorf("%s: %s is computed again, but nobody asks for it", test.name, name)
			}
		}
	}
}

// TestDoubtfulEnds: only a few operators of a round are recomputed, whatever other rounds have.
func TestDoubtfulEnds(t *testing.T) {
	var rows []record.Row
	for i := range 3 * maxUndecided {
		rows = append(rows, record.Row{Op: string(rune('A' + i)), OpType: "MatMul", Round: string(rune('0' + i%2)), Kind: string(tensor.Output), NPUPath: "x",
			Verdict: record.Verdict{Evidence: &record.Evidence{Judged: true, Rounding: .001, Score: 2}}})
	}
	got := addUndecided(&record.Report{Rows: rows}, nil, nil, map[suspectedOperator]bool{})
	if len(got) != 2*maxUndecided || got[0] != "A" || got[1] != "B" {
		t.Errorf("%d operators, want %d: %q", len(got), 2*maxUndecided, got)
	}
}
