package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

// frozen is a plan that can be written.
func frozen(t testing.TB, opt Options) *Plan {
	t.Helper()
	p, err := NewPlan(context.Background(), opt)
	if err == nil {
		err = p.Freeze(PlanSource{Settings: []Setting{{"rtol", []string{"0.2"}}}, Key: []string{"--rtol 0.2"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// network are the options for a small run of the repository.
func network() Options {
	root := filepath.Join("..", "..", "testdata", "network")
	opt := hpaa(filepath.Join(root, "cpu"), filepath.Join(root, "npu"))
	opt.Judge.Verdict.Mode = ByEvidence
	return opt
}

// written is a plan as its file has it.
func written(t testing.TB, p *Plan) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// planData is a plan file in memory.
type planData struct{ *bytes.Reader }

func (planData) Close() error { return nil }
func (planData) ID() string   { return "" }

// read reads a plan with all its rows, with the options of the one that wrote it.
func read(data []byte, opt Options) (*Plan, error) {
	f, err := newPlanFile("plan.jsonl", planData{bytes.NewReader(data)})
	if err != nil {
		return nil, err
	}
	f.Apply(&opt)
	p, r := f.begin(opt, false)
	err = f.rows(r, func(x *plannedRow) {
		p.rows, p.Pairs = append(p.rows, x.row), append(p.Pairs, x.pair)
		if x.shard >= 0 {
			p.shards = append(p.shards, x.shard)
		}
	})
	if err != nil {
		return nil, err
	}
	p.linkRows()
	return p, nil
}

// TestPlanFile: a plan that was written and read is the plan, wherever the sides lie, and
// no byte of it can be another one.
func TestPlanFile(t *testing.T) {
	opt := network()
	p := frozen(t, opt)
	data := written(t, p)
	got, err := read(data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if again := written(t, got); !bytes.Equal(again, data) {
		t.Errorf("a plan that was read is written as\n%s\nwant\n%s", again, data)
	}
	for i := range p.Pairs {
		if diff := cmp.Diff(*p.Pairs[i].Row, *got.Pairs[i].Row, sentences); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
	// The same data below other folders make the same hash.
	root, err := filepath.Abs(filepath.Join("..", "..", "testdata", "network"))
	if err != nil {
		t.Fatal(err)
	}
	other := hpaa(filepath.Join(root, "cpu"), filepath.Join(root, "npu"))
	other.Judge.Verdict.Mode = ByEvidence
	if hash := frozen(t, other).Hash(); hash != p.Hash() {
		t.Errorf("hash %s below another folder, want %s", hash, p.Hash())
	}
	p.Divide(3, ByPair)
	divided, err := read(written(t, p), opt)
	if err != nil {
		t.Fatal(err)
	}
	if divided.Divide(3, ""); !slices.Equal(divided.shards, p.shards) || divided.Hash() != p.Hash() {
		t.Errorf("shards %v, want %v", divided.shards, p.shards)
	}
	text := string(data)
	for name, tt := range map[string]struct{ text, want string }{
		"empty":    {"", "plan.jsonl: is no plan: its first line has no schema"},
		"newer":    {strings.Replace(text, "plan/1", "plan/2", 1), "plan.jsonl: was written by a newer version (dumptool/plan/2, this one reads dumptool/plan/1)"},
		"part":     {strings.Replace(text, "plan/1", "parts/1", 1), `plan.jsonl: is no plan: its schema is "dumptool/parts/1", want "dumptool/plan/1"`},
		"cut":      {text[:len(text)-5], "plan.jsonl: ends within line 7: the plan was not written whole"},
		"rows":     {text[:strings.LastIndex(text[:len(text)-1], "\n")+1], "plan.jsonl: ends after row 5 of 6: the plan was not written whole"},
		"changed":  {strings.Replace(text, `"order":3`, `"order":4`, 1), "the file was changed"},
		"twice":    {text + text[strings.LastIndex(text[:len(text)-1], "\n")+1:], "plan.jsonl: line 8: row 5 stands where row 6 should"},
		"no round": {strings.Replace(text, `"round":0`, `"round":1`, 1), "plan.jsonl: line 2: round 1 of 1"},
		"unknown":  {strings.Replace(text, `"kind":`, `"kinds":`, 1), `plan.jsonl: line 2: json: unknown field "kinds"`},
		"hash":     {strings.Replace(text, p.Hash(), "00", 1), `plan.jsonl: line 1: hash "00" is no SHA-256`},
	} {
		if _, err := read([]byte(tt.text), opt); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

// sentences compares sentences in both languages, and results as they are packed.
var sentences = cmp.Options{
	cmp.Comparer(func(a, b lang.Sentence) bool { return a.Text() == b.Text() }),
	cmp.Comparer(func(a, b record.Facts) bool { return a.Equal(b) }),
	cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
	cmp.Transformer("result", metrics.Packed.Unpack),
	cmp.Transformer("text", func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }), // NaN and -0 too
}

// TestPartRows: what a part has of a row is all that a report can show of it, to the last
// bit.
func TestPartRows(t *testing.T) {
	types := rapid.SampledFrom([]tensor.DType{tensor.Float64, tensor.Float32, tensor.Float16, tensor.Int64, tensor.Int32, tensor.Int8, tensor.Uint8, tensor.Bool})
	shapes := rapid.SampledFrom([]tensor.Shape{{}, {1}, {0}, {7}, {4, 5}, {2, 3, 4, 5}, {64, 9}, {1, 300}})
	base := t.TempDir()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		dir := filepath.Join(base, fmt.Sprint(run))
		for i := range rapid.IntRange(1, 4).Draw(rt, "tensors") {
			ref, npu, shape := types.Draw(rt, "reference"), types.Draw(rt, "npu"), shapes.Draw(rt, "shape")
			number := rapid.OneOf(rapid.Float64Range(-3, 3), rapid.Float64Range(-1e5, 1e5), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, math.NaN(), math.Inf(1), math.Inf(-1), 65504, 1e-300, -1e4}))
			numbers := func(d tensor.DType) []float64 {
				all := rapid.SliceOfN(number, int(shape.Elements()), int(shape.Elements())).Draw(rt, "elements")
				for k, x := range all {
					if isWhole(d) && (x != x || math.Abs(x) > 127) {
						all[k] = 5
					}
				}
				return all
			}
			want, got := numbers(ref), numbers(npu)
			if rapid.Bool().Draw(rt, "near") {
				got = slices.Clone(want)
				for k, x := range got {
					if isWhole(npu) && (x != x || math.Abs(x) > 127) {
						got[k] = 5
					}
				}
			}
			write(t, filepath.Join(dir, "ref", fmt.Sprintf("op%d.npy", i)), array(ref, shape, want...))
			write(t, filepath.Join(dir, "npu", fmt.Sprintf("op%d.npy", i)), array(npu, shape, got...))
		}
		opt := hpaa(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
		opt.KLD, opt.Bins, opt.Top, opt.List = rapid.Bool().Draw(rt, "kld"), rapid.Bool().Draw(rt, "bins"), 5, 6
		opt.Judge.Verdict.Mode = rapid.SampledFrom([]VerdictMode{ByLimits, ByEvidence}).Draw(rt, "mode")
		opt.Judge.Verdict.NaN = rapid.SampledFrom(NaNPolicies()).Draw(rt, "nan")
		p := frozen(t, opt)
		parts, err := p.Execute(context.Background(), nil)
		if err != nil {
			rt.Fatal(err)
		}
		for _, want := range parts {
			if p.Pairs[want.Pair].decided {
				continue
			}
			before := *want.Row
			data, err := json.Marshal(&partRow{Row: &record.Whole{Row: &before}, Evidence: &want.Evidence})
			if err != nil {
				rt.Fatal(err)
			}
			got, err := p.readRow(shard.Row{Index: want.Pair, Data: data})
			if err != nil {
				rt.Fatalf("%s: %v\n%s", before.Name(), err, data)
			}
			if diff := cmp.Diff(before, *got.Row, sentences); diff != "" {
				rt.Fatalf("%s (-want +got):\n%s", before.Name(), diff)
			}
			if got.Evidence.Noise != want.Evidence.Noise || got.Evidence.Second != want.Evidence.Second {
				rt.Fatalf("%s: noise %+v, want %+v", before.Name(), got.Evidence.Noise.Unpack(), want.Evidence.Noise.Unpack())
			}
			if fmt.Sprintf("%+v", got.Evidence.Uneven) != fmt.Sprintf("%+v", want.Evidence.Uneven) {
				rt.Fatalf("%s: uneven %+v, want %+v", before.Name(), got.Evidence.Uneven, want.Evidence.Uneven)
			}
			if diff := cmp.Diff(want.Evidence.Patterns, got.Evidence.Patterns, sentences); diff != "" {
				rt.Fatalf("%s: patterns (-want +got):\n%s", before.Name(), diff)
			}
		}
	})
}

// TestDivide: every row belongs to one shard, whatever their number, and the pairs of one
// reference to few.
func TestDivide(t *testing.T) {
	p, opt := ranks(t)
	if len(p.Pairs) != 40 {
		t.Fatalf("%d pairs, want 40", len(p.Pairs))
	}
	for n := 1; n < 9; n++ {
		for _, by := range append(ShardBys(), "") {
			p.shards = nil
			p.Divide(n, by)
			seen := 0
			for i := range n {
				seen += len(p.Rows(shard.Spec{Index: i, Of: n}))
			}
			if seen != len(p.Pairs) {
				t.Errorf("%d shards by %q have %d rows, want %d", n, by, seen, len(p.Pairs))
			}
			checkShards(t, p, opt, n, by)
			rounds := map[string]int{}
			for i, s := range p.shards {
				if was, ok := rounds[p.Pairs[i].Row.Round]; by == ByRound && ok && was != s {
					t.Errorf("%d shards: round %s is in shards %d and %d", n, p.Pairs[i].Row.Round, was, s)
				}
				rounds[p.Pairs[i].Row.Round] = s
			}
		}
	}
}

// ranks is the plan of a run of 8 ranks with 5 operators each.
func ranks(t *testing.T) (*Plan, Options) {
	t.Helper()
	dir := t.TempDir()
	for rank := range 8 {
		for op := range 5 {
			write(t, filepath.Join(dir, "npu", fmt.Sprintf("rank_%d/net/0/0/Add.op%d.1.1.16000000000000%02d.output.0.DefaultFormat.npy", rank, op, op)), array(tensor.Float32, tensor.Shape{100}, ramp(100)...))
		}
	}
	for op := range 5 {
		write(t, filepath.Join(dir, "ref", fmt.Sprintf("op%d.npy", op)), array(tensor.Float32, tensor.Shape{100}, ramp(100)...))
	}
	opt := exactly(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	opt.Judge.Verdict.Mode = ByEvidence
	return frozen(t, opt), opt
}

// checkShards checks that a shard that is read alone is that of the whole plan, which was
// divided: from a file that says who has which row, and from one for other shards.
func checkShards(t *testing.T, p *Plan, opt Options, n int, by ShardBy) {
	t.Helper()
	divided := written(t, p)
	shards := p.shards
	p.shards = nil
	undivided := written(t, p)
	p.shards = shards
	for _, data := range [][]byte{divided, undivided} {
		for k := range n {
			spec := shard.Spec{Index: k, Of: n}
			f, err := newPlanFile("plan.jsonl", planData{bytes.NewReader(data)})
			if err != nil {
				t.Fatal(err)
			}
			f.Apply(&opt)
			got, err := f.Shard(opt, false, spec, by)
			if err != nil {
				t.Fatal(err)
			}
			if want := p.Rows(spec); !slices.Equal(got.numbers, want) {
				t.Errorf("shard %s by %q has rows %v, want %v", spec, by, got.numbers, want)
				continue
			}
			for i, number := range got.numbers {
				if diff := cmp.Diff(p.rows[number], got.rows[i], sentences); diff != "" {
					t.Errorf("shard %s by %q, row %d (-whole +shard):\n%s", spec, by, number, diff)
				}
				if at, ok := got.place(number); !ok || at != i || got.number(i) != number || got.Pairs[i].Row != &got.rows[i] {
					t.Errorf("shard %s: row %d stands at %d, want %d", spec, number, at, i)
				}
			}
		}
	}
}

// tiny are the options for a run of two pairs of few elements, one of which fails.
func tiny(t testing.TB) Options {
	t.Helper()
	dir := t.TempDir()
	for side, last := range map[string]float64{"ref": 4, "npu": 9} {
		write(t, filepath.Join(dir, side, "a.npy"), array(tensor.Float32, tensor.Shape{2}, 1, 2))
		write(t, filepath.Join(dir, side, "b.npy"), array(tensor.Float32, tensor.Shape{2, 2}, 1, 2, 3, last))
	}
	opt := hpaa(filepath.Join(dir, "ref"), filepath.Join(dir, "npu"))
	opt.Judge.Verdict.Mode = ByEvidence
	return opt
}

// FuzzPlan reads plans of any bytes. One that is read is written as the same plan.
func FuzzPlan(f *testing.F) {
	opt := tiny(f)
	p := frozen(f, opt)
	f.Add(written(f, p))
	p.Divide(2, ByRound)
	f.Add(written(f, p))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := read(data, opt)
		if err != nil {
			return
		}
		again, err := read(written(t, p), opt)
		if err != nil || again.Hash() != p.Hash() {
			t.Errorf("a plan that was read is not read again: %v", err)
		}
	})
}

// FuzzPlanRow reads a row of a plan of any bytes: what can be a row can be written again.
func FuzzPlanRow(f *testing.F) {
	for _, opt := range []Options{tiny(f), network()} {
		p := frozen(f, opt)
		for _, line := range bytes.SplitAfter(written(f, p), []byte("\n"))[1:] {
			f.Add(line)
		}
	}
	p := frozen(f, tiny(f))
	head := *p.file
	f.Fuzz(func(t *testing.T, line []byte) {
		var row planRow
		lines := planLines{path: "plan"}
		if lines.decode(line, 2, &row) != nil {
			return
		}
		plan := &Plan{opt: p.opt, file: &head, rounds: p.rounds}
		r := planReader{plan: plan, roots: [3]string{p.opt.Ref, p.opt.NPU}}
		var x plannedRow
		if r.make(&x, &row, row.Index) != nil {
			return
		}
		x.pair.Row = &x.row
		plan.Pairs = []Pair{x.pair}
		if _, err := plan.fileRow(0, &fileIDs{}); err != nil && !strings.Contains(err.Error(), "UTF-8") {
			t.Error(err)
		}
	})
}

// FuzzPartRow reads a row of a part of any bytes, and concludes from what it says.
func FuzzPartRow(f *testing.F) {
	opt := tiny(f)
	p := frozen(f, opt)
	plan := written(f, p)
	parts, err := p.Execute(context.Background(), nil)
	if err != nil {
		f.Fatal(err)
	}
	var seeds [][]byte
	for i := range parts {
		data, err := json.Marshal(&partRow{Row: &record.Whole{Row: parts[i].Row}, Evidence: &parts[i].Evidence, Warning: record.Said{lang.Sayf("a", "b")}})
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, data)
		f.Add(i, data)
	}
	f.Fuzz(func(t *testing.T, row int, data []byte) {
		p, err := read(plan, opt)
		if err != nil {
			t.Fatal(err)
		}
		var parts []Part
		for i := range p.Pairs {
			text := seeds[i]
			if i == row {
				text = data
			}
			part, err := p.readRow(shard.Row{Index: i, Data: text})
			if err != nil {
				return
			}
			parts = append(parts, part)
		}
		if err := p.Conclude(parts).Write(io.Discard); err != nil {
			t.Error(err)
		}
	})
}

// TestParts: parts that are cut, doubled, newer or of another plan are told, and a part
// of which rows could not be read is done again for those alone.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	opt := network()
	p := frozen(t, opt)
	p.Divide(2, "")
	for i := range 2 {
		spec := shard.Spec{Index: i, Of: 2}
		parts, err := p.ExecuteRows(context.Background(), p.Rows(spec), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.WritePart(dir, spec, parts); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, shard.FileName(1, 2))
	whole, err := safefile.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		data  string
		state shard.State
		want  string
	}{
		"cut":     {string(whole[:len(whole)-300]), shard.Cut, "ends within row 3: the shard was killed; run shard 1 again"},
		"newer":   {strings.Replace(string(whole), "part/1", "part/9", 1), shard.Foreign, "dumptool/part/9"},
		"foreign": {strings.Replace(string(whole), p.Hash(), strings.Repeat("ab", 32), 1), shard.Foreign, "belongs to another plan (abababababab.., want " + p.Hash()[:12]},
		"options": {strings.Replace(string(whole), p.Hash()+`","shard":1,"of":2,"rows":6,"meta":["--rtol 0.2"]`, strings.Repeat("ab", 32)+`","shard":1,"of":2,"rows":6,"meta":["--atol 1"]`, 1),
			shard.Foreign, "it was made with --atol 1, the plan with --rtol 0.2"},
	} {
		write(t, path, []byte(tt.data))
		l, err := p.Parts([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Parts[1]; got.State != tt.state || got.Err == nil || !strings.Contains(got.Err.Error(), tt.want) {
			t.Errorf("%s: %s, %v, want %s, %q", name, got.State, got.Err, tt.state, tt.want)
		}
		if !slices.Equal(l.Missing, []int{1}) {
			t.Errorf("%s: shards %v are missing, want 1", name, l.Missing)
		}
	}
	// A row that another shard has.
	write(t, path, whole)
	fresh, err := read(written(t, frozen(t, opt)), opt)
	if err != nil {
		t.Fatal(err)
	}
	l, err := fresh.Parts([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := fresh.ReadParts(context.Background(), l, false)
	if err != nil || len(parts) != len(p.Pairs) {
		t.Fatalf("%d rows, %v", len(parts), err)
	}
	left, done, err := fresh.Retry(context.Background(), dir, shard.Spec{Index: 1, Of: 2}, p.Rows(shard.Spec{Index: 1, Of: 2}))
	if err != nil || len(left) > 0 || len(done) != len(p.Rows(shard.Spec{Index: 1, Of: 2})) {
		t.Errorf("rows %v are left and %d done, %v", left, len(done), err)
	}
}

// isWhole reports whether a type holds whole numbers.
func isWhole(d tensor.DType) bool { _, float := precisionOf(d); return !float }

// TestSharedGraph: rounds that have the graph of another one share it, and a graph has one
// copy of each name.
func TestSharedGraph(t *testing.T) {
	var h planHead
	text := `{"rounds":[{"name":"step 0","graph":[{"op":"a"},{"op":"b","reads":[{"op":"a","output":0},{"op":"x","output":-1}]}]},{"name":"step 1","same_graph":0},{"name":"step 2"}]}`
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		t.Fatal(err)
	}
	var rounds []*plannedRound
	for i := range h.Rounds {
		rounds = append(rounds, h.round(i, rounds))
	}
	want := diagnose.Graph{"a": nil, "b": {{Op: "a"}, {Op: "x", Output: -1}}}
	g := rounds[0].flow.graph
	if !reflect.DeepEqual(g, want) || rounds[1].flow != rounds[0].flow || rounds[2].flow.graph != nil {
		t.Errorf("graphs %v, %v, %v; want %v twice and none", g, rounds[1].flow.graph, rounds[2].flow.graph, want)
	}
	for name := range g {
		if name == "a" && unsafe.StringData(name) != unsafe.StringData(g["b"][0].Op) {
			t.Error("the name of a is there twice")
		}
	}
}
