package compare

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
	"dumptool/internal/scratch"
	"dumptool/internal/shard"
)

// copied is a plan of n rows, those of a small run again and again under other names, and
// the parts of its rows.
func copied(t testing.TB, n int) (*Plan, []Part) {
	t.Helper()
	p := frozen(t, network())
	parts, err := frozen(t, network()).Execute(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range parts { // as in a run of many rows
		if n := parts[i].Evidence.Noise.Unpack(); n != nil {
			folded := *n
			folded.Rows, folded.Channels = fewGroups(n.Rows), fewGroups(n.Channels)
			parts[i].Evidence.Noise = folded.Pack()
		}
	}
	base, pairs, rows := parts, p.Pairs, make([]record.Row, n)
	p.Pairs, parts = nil, nil
	var good []int
	for i := range base {
		if base[i].Row.Status.Passes() {
			good = append(good, i)
		}
	}
	for i := range n {
		k := i % len(pairs)
		if i >= 2*len(pairs) { // a run has few faults
			k = good[i%len(good)]
		}
		x, part := pairs[k], base[k]
		rows[i] = *part.Row
		rows[i].Op, rows[i].Order = fmt.Sprintf("%s_%d", rows[i].Op, i), i
		x.Row, part.Pair, part.Row = &rows[i], i, &rows[i]
		p.Pairs, parts = append(p.Pairs, x), append(parts, part)
	}
	p.rows = rows
	if err := p.Freeze(PlanSource{}); err != nil {
		t.Fatal(err)
	}
	return p, parts
}

// fewGroups are the first groups of a tensor.
func fewGroups(g noise.Groups) noise.Groups {
	bins := len(g.RMS)
	for bins > 16 {
		g.Fold, bins = 2*g.Fold, (bins+1)/2
	}
	for _, list := range []*[]float32{&g.RefRMS, &g.RefStd, &g.RefMax, &g.RMS, &g.Mean, &g.Max, &g.Rounding, &g.Relative, &g.Inverse} {
		*list = (*list)[:min(len(*list), bins)]
	}
	return g
}

// writeParts writes a plan and the parts of n shards to a folder.
func writeParts(t testing.TB, dir string, p *Plan, parts []Part, n int) {
	t.Helper()
	if err := p.WriteFile(filepath.Join(dir, PlanName)); err != nil {
		t.Fatal(err)
	}
	p.Divide(n, ByPair)
	for i := range n {
		var own []Part
		spec := shard.Spec{Index: i, Of: n}
		for _, k := range p.Rows(spec) {
			own = append(own, parts[k])
		}
		if _, err := p.WritePart(dir, spec, own); err != nil {
			t.Fatal(err)
		}
	}
}

// merged merges the parts of a folder.
func merged(t testing.TB, dir string, opt Options) *Merge {
	t.Helper()
	f, err := OpenPlan(filepath.Join(dir, PlanName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Apply(&opt)
	l, err := f.Parts([]string{dir}, "")
	if err == nil {
		err = l.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.Merge(context.Background(), opt, l, false)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMerge: the report of parts is that of the rows in memory.
func TestMerge(t *testing.T) {
	p, parts := copied(t, 300)
	dir := t.TempDir()
	writeParts(t, dir, p, parts, 4)
	m := merged(t, dir, network())
	defer m.Close()
	var got, want bytes.Buffer
	rep := p.Conclude(parts)
	rep.Tool, m.Report.Tool, rep.Args, m.Report.Args = "", "", nil, nil
	if err := rep.Write(&want); err != nil {
		t.Fatal(err)
	}
	if err := m.Report.Write(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		a, b := strings.Split(got.String(), "\n"), strings.Split(want.String(), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("line %d is\n%.2000s\nwant\n%.2000s", i+1, a[i], b[i])
			}
		}
		t.Fatalf("%d lines, want %d", len(a), len(b))
	}
	for i, row := range m.Report.All() {
		if diff := cmpRow(row, &rep.Rows[i]); diff != "" {
			t.Fatalf("row %d: %s", i, diff)
		}
	}
	// What cannot be put aside is an error, and so is a part that ends early.
	path := filepath.Join(dir, shard.FileName(1, 4))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenPlan(filepath.Join(dir, PlanName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := f.Parts([]string{dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	opt := network()
	f.Apply(&opt)
	if _, err := f.Merge(context.Background(), opt, l, false); err == nil || !strings.Contains(err.Error(), "part-00001-of-00004.jsonl") {
		t.Errorf("a part that was cut after it was listed: %v", err)
	}
}

// TestMergeMemory bounds what a merge keeps of every row, beside the rows that are set
// aside before there is a file for them, which are some MiB and no more.
func TestMergeMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	kept := func(n int) int64 {
		p, parts := copied(t, n)
		dir := t.TempDir()
		writeParts(t, dir, p, parts, 3)
		p, parts = nil, nil
		_, _ = p, parts
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		m := merged(t, dir, network())
		defer m.Close()
		if err := m.Report.Write(new(nowhere)); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(m)
		aside := min(m.rows.log.Size(), scratch.InMemory)
		return int64(after.HeapAlloc) - int64(before.HeapAlloc) - aside
	}
	few, many := kept(1_000), kept(3_000)
	const most = 300
	if each := (many - few) / 2_000; each > most {
		t.Errorf("a merge keeps %d bytes of each row, want at most %d", each, most)
	} else {
		t.Logf("%d bytes a row", each)
	}
}

// TestDiagnosisMemory bounds what is in memory of every row of one round that is diagnosed
// while its rows are aside.
func TestDiagnosisMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, graph := range []bool{false, true} {
		most := func(n int) int64 {
			_, parts := copied(t, n)
			aside := &asideRows{}
			known := diagnose.Network{Ordered: true}
			if graph {
				known.Graph = diagnose.Graph{}
			}
			for i := range parts {
				aside.rows.Add(parts[i].Row)
				aside.evidence.add(parts[i].Evidence)
				if graph { // each operator reads the two before
					var reads []diagnose.Source
					for _, before := range parts[max(0, i-2):i] {
						reads = append(reads, diagnose.Source{Op: before.Row.Op})
					}
					known.Graph[parts[i].Row.Op] = reads
				}
			}
			rep := &record.Report{Source: &aside.rows}
			aside.roundRows = &roundRows{rep, &finished{aside: &aside.evidence}, rowRange{0, n}}
			parts = nil
			_ = parts
			runtime.GC() // twice, for what pools keep
			before := liveBytes() - aside.inMemory()
			j := diagnose.Judge(aside, known)
			j.Apply()
			for k := range n {
				row := aside.Row(k)
				j.Write(k, row)
				aside.put(k, aside.place(row))
			}
			runtime.KeepAlive(known)
			return aside.most - before
		}
		const few, many, limit = 2_000, 6_000, 300
		if each := (most(many) - most(few)) / (many - few); each > limit {
			t.Errorf("graph %t: %d bytes of each row, want at most %d", graph, each, limit)
		} else {
			t.Logf("graph %t: %d bytes a row", graph, each)
		}
	}
}

// asideRows are the rows of a round that see now and then how much memory is in use beside
// them.
type asideRows struct {
	*roundRows
	rows     rowStore
	evidence evidenceStore
	reads    int
	most     int64
}

func (a *asideRows) Row(i int) *record.Row {
	if a.reads++; a.reads%(a.Len()/2) == 0 {
		a.most = max(a.most, liveBytes()-a.inMemory())
	}
	return a.roundRows.Row(i)
}

// inMemory is the memory of what is set aside.
func (a *asideRows) inMemory() (all int64) {
	const chunk = 1 << 20
	for _, l := range []*scratch.Log{&a.rows.log, &a.evidence.log} {
		all += min((l.Size()+chunk-1)/chunk*chunk, scratch.InMemory+chunk)
	}
	return all
}

// liveBytes is the memory that is in use.
func liveBytes() int64 {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

// nowhere takes all that is written.
type nowhere struct{}

func (*nowhere) Write(p []byte) (int, error) { return len(p), nil }

// cmpRow compares rows, but for what a file leaves out.
func cmpRow(got, want *record.Row) string {
	a, b := record.AppendRow(nil, got), record.AppendRow(nil, want)
	if !slices.Equal(a, b) {
		return fmt.Sprintf("%+v\nwant %+v", got, want)
	}
	return ""
}
