package ranks

import (
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// TestDistrust: wrong events with an assumed group are skipped if most events of the function are wrong, or most of
// at least three events with the same shapes if the dump has tensors only.
func TestDistrust(t *testing.T) {
	for _, test := range []struct {
		name string
		// events has a letter for each event: equal letters have equal shapes, capitals are wrong.
		events          string
		assumed, untold bool
		want            string // - for a skipped event
	}{
		{"groups of the dump", "AAAA", false, true, "AAAA"},
		{"half of the function", "AaBb", true, false, "-a-b"},
		{"less than half of the function", "Aaabb", true, false, "Aaabb"},
		{"three of many, with arguments", "AAAbbbbb", true, false, "AAAbbbbb"},
		{"three of many, tensors only", "AAAbbbbb", true, true, "---bbbbb"},
		{"two are too few", "AAbbbbb", true, true, "AAbbbbb"},
		{"three of six", "AAAaaabbb", true, true, "---aaabbb"},
		{"three of seven", "AAAaaaabbb", true, true, "AAAaaaabbb"},
		{"a single fault beside them", "AAABbbbbbb", true, true, "---Bbbbbbb"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var events []*Event
			judged := make([]judgement, len(test.events))
			for i, letter := range test.events {
				size := int64(strings.ToLower(string(letter))[0])
				m := trace.CommOf("all_reduce")
				m.In, m.ArgsMissing = []*trace.Tensor{{DType: tensor.Float32, Shape: tensor.Shape{size}}}, test.untold
				events = append(events, &Event{Calls: []*trace.Call{{}}, comms: []*trace.Comm{m}, isAssumed: test.assumed})
				if letter < 'a' {
					judged[i].found = []*Finding{{}}
				}
			}
			skipWrongGroups(events, judged)
			got := ""
			for i, letter := range test.events {
				if judged[i].skip.IsZero() {
					got += string(letter)
				} else {
					got += "-"
				}
			}
			if got != test.want {
				t.Errorf("%s: %s, want %s", test.events, got, test.want)
			}
		})
	}
}

// TestPairsOfBatches: the sends and receives of a batch with unknown arguments are matched by their values, and
// tensors that rank 1 received damaged or a step too late are found.
func TestPairsOfBatches(t *testing.T) {
	const d, steps, n = tensor.Float32, 3, 40
	for _, test := range []struct {
		name   string
		damage func(got [][]float64) // rank 1's received tensors, by step
		want   string
	}{
		{"healthy", func([][]float64) {}, ""},
		{"damaged", func(got [][]float64) { got[2][5]++ }, "1 CORRUPT high"},
		{"stale", func(got [][]float64) { got[2] = got[1] }, "1 STALE high"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := new(ranktest.Built)
			got := make([][]float64, steps)
			for step := range got {
				got[step] = ranktest.Normals(d, uint64(step), n)
			}
			sent := slices.Clone(got)
			for step := range got {
				got[step] = slices.Clone(got[step])
			}
			test.damage(got)
			for step := range steps {
				addBatch(b, step, 0, "isend", ranktest.Of(d, sent[step]...))
				addBatch(b, step, 1, "irecv", ranktest.Of(d, got[step]...))
			}
			if got := first(judged(t, runOf(b), Options{NoReplicas: true})); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// addBatch adds a batch with one send or receive to a rank.
func addBatch(b *ranktest.Built, step, rank int, function string, x *trace.Tensor) {
	part := trace.CommOf(function)
	var in, out []*trace.Tensor
	if part.ArgsMissing = true; part.API.Pattern == trace.Send {
		in = []*trace.Tensor{x}
	} else {
		out = []*trace.Tensor{x}
	}
	part.In, part.Out = in, out
	b.Comm(step, rank, "batch_isend_irecv", nil, in, out, func(m *trace.Comm) { m.Parts = []*trace.Comm{part} })
}

// TestWeightsAmongInputs: if a dump does not distinguish weights from inputs, replicas of weights are compared. Data
// inputs, which differ between ranks, are no replicas.
func TestWeightsAmongInputs(t *testing.T) {
	const d = tensor.Float32
	for _, test := range []struct {
		name string
		bad  int // the rank with another weight, -1 for none
		want string
	}{{"healthy", -1, ""}, {"one of three", 1, "1 REPLICA high"}} {
		t.Run(test.name, func(t *testing.T) {
			b := new(ranktest.Built)
			for rank := range 3 {
				for layer := range uint64(3) {
					value := func(seed uint64) *trace.Tensor {
						return ranktest.FloatTensor(d, tensor.Shape{5, 8}, ranktest.Normals(d, seed, 40))
					}
					own := 100*uint64(rank+1) + layer // data of the rank
					weight := layer
					if rank == test.bad && layer == 2 {
						weight = 99
					}
					name := "layers_" + string(rune('0'+layer))
					b.Call(0, rank, name+"_fc", &trace.Call{In: []*trace.Tensor{value(own + 10), value(weight), value(layer + 10)}, Out: []*trace.Tensor{value(own + 20)}})
					b.Call(0, rank, name+"_attention", &trace.Call{In: []*trace.Tensor{value(own + 20), value(own + 30), value(own + 40)}, Out: []*trace.Tensor{value(own + 50)}})
				}
			}
			if got := first(judged(t, runOf(b), Options{})); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
