package unshard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// matrix is a tensor of two axes, row by row.
type matrix struct {
	rows, columns int64
	values        []float64
}

func drawn(seed uint64, rows, columns int64) *matrix {
	return &matrix{rows, columns, ranktest.Normals(tensor.Float32, seed, int(rows*columns))}
}

// part returns some rows and columns of a matrix; -1 is a row or column of zeros.
func (m *matrix) part(rows, columns []int) *matrix {
	p := &matrix{int64(len(rows)), int64(len(columns)), nil}
	for _, i := range rows {
		for _, j := range columns {
			v := 0.0
			if i >= 0 && j >= 0 {
				v = m.values[int64(i)*m.columns+int64(j)]
			}
			p.values = append(p.values, v)
		}
	}
	return p
}

func (m *matrix) tensor() *trace.Tensor {
	return ranktest.FloatTensor(tensor.Float32, tensor.Shape{m.rows, m.columns}, m.values)
}

// span returns the integers from from to end-1.
func span(from, end int) (all []int) {
	for i := from; i < end; i++ {
		all = append(all, i)
	}
	return all
}

// located locates the ranks of a run of one step in a reference.
func located(t *testing.T, run, ref *ranktest.Built) *StepPositions {
	t.Helper()
	if len(ref.Steps[0].Calls) > 1 {
		for rank := range ref.Steps[0].Calls {
			ref.Steps[0].Ordered = map[int]bool{rank: true}
		}
	}
	l, err := Locate(t.Context(), run.Run().Steps[0], ref.Run().Steps[0], nil, false, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCuts: how the weights of the layers of two ranks are cut, by their values. A tensor of other values is not
// located.
func TestCuts(t *testing.T) {
	const rows, columns = 24, 16
	all, wide := span(0, rows), span(0, columns)
	for _, c := range []struct {
		name          string
		rows, columns [2][]int // by rank
		want          string   // kind, and the runs of each cut axis by ranks
	}{
		{"whole", [2][]int{all, all}, [2][]int{wide, wide}, "WHOLE"},
		{"rows", [2][]int{all[:12], all[12:]}, [2][]int{wide, wide}, "BLOCK 0 map[0:[[0 12]] 1:[[12 12]]]"},
		{"columns", [2][]int{all, all}, [2][]int{wide[:8], wide[8:]}, "BLOCK 1 map[0:[[0 8]] 1:[[8 8]]]"},
		{"both axes", [2][]int{all[:12], all[12:]}, [2][]int{wide[:8], wide[8:]}, "BLOCK,BLOCK 0 map[0:[[0 12]] 1:[[12 12]]] 1 map[0:[[0 8]] 1:[[8 8]]]"},
		{"two halves", [2][]int{slices.Concat(all[:6], all[12:18]), slices.Concat(all[6:12], all[18:])}, [2][]int{wide, wide}, "FUSED2 0 map[0:[[0 6] [12 6]] 1:[[6 6] [18 6]]]"},
		{"three parts", [2][]int{slices.Concat(all[:4], all[8:12], all[16:20]), slices.Concat(all[4:8], all[12:16], all[20:])}, [2][]int{wide, wide}, "FUSED3 0 map[0:[[0 4] [8 4] [16 4]] 1:[[4 4] [12 4] [20 4]]]"},
		{"zigzag", [2][]int{slices.Concat(all[:6], all[18:]), all[6:18]}, [2][]int{wide, wide}, "BLOCK/ZIGZAG 0 map[0:[[0 6] [18 6]] 1:[[6 12]]]"},
		{"the same part twice", [2][]int{all[:12], all[:12]}, [2][]int{wide, wide}, "BLOCK 0 map[0-1:[[0 12]]]"},
	} {
		var run, ref ranktest.Built
		for layer := range 4 {
			name := fmt.Sprintf("Module.layers.%d.fc.Linear.forward.0", layer)
			w := drawn(uint64(10+layer), rows, columns)
			ref.Call(0, 0, name, &trace.Call{Params: []*trace.Tensor{w.tensor()}})
			for rank := range 2 {
				run.Call(0, rank, name, &trace.Call{Params: []*trace.Tensor{w.part(c.rows[rank], c.columns[rank]).tensor()}})
			}
		}
		maps := located(t, &run, &ref).Maps("5")
		if len(maps) != 1 {
			t.Fatalf("%s: %d maps", c.name, len(maps))
		}
		got := maps[0].Kind
		for _, a := range maps[0].Axes {
			got += fmt.Sprint(" ", a.Axis, " ", a.Runs)
		}
		if got != c.want || maps[0].Score != 1 || maps[0].Role != "Module.layers.*.fc.Linear.forward.0" || maps[0].Tensor != "parameters.0" || fmt.Sprint(maps[0].Steps) != "[[5 5]]" {
			t.Errorf("%s: %s %+v, want %s", c.name, got, maps[0], c.want)
		}
	}
}

// TestOtherClass: a module is located in the only module of the reference at its place, whatever its class; not with
// namesOnly.
func TestOtherClass(t *testing.T) {
	for _, c := range []struct {
		name      string
		ref       []string // classes at the place
		namesOnly bool
		want      int // maps
	}{
		{"another class", []string{"Linear"}, false, 1},
		{"the same class comes first", []string{"Linear", "ColumnParallelLinear"}, false, 1},
		{"two other classes", []string{"Linear", "TELinear"}, false, 0},
		{"names only", []string{"Linear"}, true, 0},
	} {
		var run, ref ranktest.Built
		for layer := range 4 {
			place := fmt.Sprintf("Module.layers.%d.fc.", layer)
			w := drawn(uint64(10+layer), 24, 16)
			for _, class := range c.ref {
				ref.Call(0, 0, place+class+".forward.0", &trace.Call{Params: []*trace.Tensor{w.tensor()}})
			}
			for rank := range 2 {
				part := w.part(span(12*rank, 12*rank+12), span(0, 16))
				run.Call(0, rank, place+"ColumnParallelLinear.forward.0", &trace.Call{Params: []*trace.Tensor{part.tensor()}})
			}
		}
		l, err := Locate(t.Context(), run.Run().Steps[0], ref.Run().Steps[0], nil, c.namesOnly, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		maps := l.Maps("0")
		if len(maps) != c.want || c.want > 0 && maps[0].Kind != "BLOCK" {
			t.Errorf("%s: %d maps, want %d", c.name, len(maps), c.want)
		}
		if want := "Module.layers.0.fc." + c.ref[len(c.ref)-1] + ".forward.0"; c.want > 0 {
			for x, at := range l.At {
				if x.Call.Layer == 0 && at.Ref.Call.Name != want {
					t.Errorf("%s: located in %s, want %s", c.name, at.Ref.Call.Name, want)
				}
			}
		}
	}
}

// TestNotLocated: values that the reference does not have are not located, whatever their names are. Calls that the
// reference does not have are not looked for.
func TestNotLocated(t *testing.T) {
	var run, ref ranktest.Built
	for layer := range 4 {
		name := fmt.Sprintf("Module.layers.%d.fc.Linear.forward.0", layer)
		ref.Call(0, 0, name, &trace.Call{Params: []*trace.Tensor{drawn(uint64(layer), 8, 6).tensor()}})
		run.Call(0, 0, name, &trace.Call{Params: []*trace.Tensor{drawn(uint64(50+layer), 4, 6).tensor()}})
		run.Call(0, 0, "Module.own.X.forward.0", &trace.Call{Params: []*trace.Tensor{drawn(9, 4, 6).tensor()}})
	}
	l := located(t, &run, &ref)
	maps := l.Maps("")
	if len(maps) != 1 || maps[0].Kind != "NOT_LOCATED" || maps[0].Score != 0 || len(maps[0].Steps) != 0 {
		t.Errorf("%+v", maps[0])
	}
	for x, where := range l.At {
		if where.Map != nil || x.Call.Name == "Module.own.X.forward.0" {
			t.Errorf("%s lies at %+v", x.Call.Name, where)
		}
	}
}

// TestFirstLayer: a stage of a pipeline may number its layers from 0: its norms tell the numbers in the reference.
func TestFirstLayer(t *testing.T) {
	var run, ref ranktest.Built
	weight := func(layer int) *trace.Tensor { return drawn(uint64(layer), 8, 6).tensor() }
	norm := func(layer int) *trace.Tensor {
		return ranktest.Of(tensor.Float32, ranktest.Normals(tensor.Float32, uint64(100+layer), 8)...)
	}
	for layer := range 6 {
		ref.Call(0, 0, fmt.Sprintf("Module.layers.%d.norm.N.forward.0", layer), &trace.Call{Params: []*trace.Tensor{norm(layer)}})
		ref.Call(0, 0, fmt.Sprintf("Module.layers.%d.fc.L.forward.0", layer), &trace.Call{Params: []*trace.Tensor{weight(layer)}})
		rank, own := layer/3, layer%3
		run.Call(0, rank, fmt.Sprintf("Module.layers.%d.norm.N.forward.0", own), &trace.Call{Params: []*trace.Tensor{norm(layer)}})
		run.Call(0, rank, fmt.Sprintf("Module.layers.%d.fc.L.forward.0", own), &trace.Call{Params: []*trace.Tensor{weight(layer)}})
	}
	l := located(t, &run, &ref)
	for rank, calls := range run.Steps[0].Calls {
		for _, c := range calls {
			where := l.At[c.Params[0]]
			want := strings.Replace(c.Name, fmt.Sprintf("layers.%d", c.Layer), fmt.Sprintf("layers.%d", c.Layer+3*rank), 1)
			if where.Ref == nil || where.Ref.Call.Name != want || where.Map == nil {
				t.Errorf("rank %d, %s: %+v, want %s", rank, c.Name, where.Ref, want)
			}
		}
	}
}

// TestExperts: the weights tell the number of an expert in the reference; -1 for weights that no expert has.
func TestExperts(t *testing.T) {
	var run, ref ranktest.Built
	weight := func(expert int) *trace.Tensor { return drawn(uint64(expert), 8, 6).tensor() }
	name := func(expert int) string { return fmt.Sprintf("Module.layers.0.mlp.experts.%d.fc1.L.forward.0", expert) }
	for expert := range 4 {
		ref.Call(0, 0, name(expert), &trace.Call{Params: []*trace.Tensor{weight(expert)}})
	}
	held := [][]int{{2, 3}, {0, 77}}
	for rank, experts := range held {
		for own, expert := range experts {
			run.Call(0, rank, name(own), &trace.Call{Params: []*trace.Tensor{weight(expert)}})
		}
	}
	l := located(t, &run, &ref)
	if len(l.Given.Experts) != 4 {
		t.Fatalf("%d experts", len(l.Given.Experts))
	}
	for _, x := range l.Given.Experts {
		want := held[x.Call.Rank][x.Call.Expert()]
		if want == 77 {
			want = -1
		}
		if x.Number != want || want >= 0 && x.Count != 4 || x.Layer != "Module.layers.0.mlp.experts" && x.Layer != "Module.layers.0.mlp" {
			t.Errorf("rank %d, %s: %+v, want the expert %d of 4", x.Call.Rank, x.Call.Name, x, want)
		}
	}
}

// TestJoinedReference: the parts of a reference of several ranks are joined as they are found in the run. A tensor
// that all of its ranks have is used once.
func TestJoinedReference(t *testing.T) {
	const rows, columns = 24, 16
	all, wide := span(0, rows), span(0, columns)
	for _, c := range []struct {
		name     string
		ref, run [2][2][]int // rows and columns of each rank
		shape    tensor.Shape
		pieces   int
		from     []int64 // of the second piece
	}{
		{"rows in columns", [2][2][]int{{all[:12], wide}, {all[12:], wide}}, [2][2][]int{{all, wide[:8]}, {all, wide[8:]}}, tensor.Shape{rows, columns}, 2, []int64{12, 0}},
		{"columns in rows", [2][2][]int{{all, wide[:8]}, {all, wide[8:]}}, [2][2][]int{{all[:12], wide}, {all[12:], wide}}, tensor.Shape{rows, columns}, 2, []int64{0, 8}},
		{"whole in rows", [2][2][]int{{all, wide}, {all, wide}}, [2][2][]int{{all[:12], wide}, {all[12:], wide}}, tensor.Shape{rows, columns}, 0, nil},
	} {
		var run, ref ranktest.Built
		for layer := range 4 {
			name := fmt.Sprintf("Module.layers.%d.fc.Linear.forward.0", layer)
			w := drawn(uint64(30+layer), rows, columns)
			for rank := range 2 {
				x := w.part(c.ref[rank][0], c.ref[rank][1]).tensor()
				x.File = ranktest.NoFile
				ref.Call(0, rank, name, &trace.Call{Params: []*trace.Tensor{x}})
				run.Call(0, rank, name, &trace.Call{Params: []*trace.Tensor{w.part(c.run[rank][0], c.run[rank][1]).tensor()}})
			}
		}
		l := located(t, &run, &ref)
		for x, where := range l.At {
			switch {
			case where.Map == nil || where.Map.Score < 1:
				t.Errorf("%s: rank %d, %s lies nowhere", c.name, x.Call.Rank, x.Call.Name)
			case !where.Ref.Shape.Equal(c.shape) || len(where.Ref.Pieces) != c.pieces || len(where.Ref.Sources) != 2:
				t.Errorf("%s: %v of %d pieces for %d tensors", c.name, where.Ref.Shape, len(where.Ref.Pieces), len(where.Ref.Sources))
			case c.pieces > 0 && !slices.Equal(where.Ref.Pieces[1].From, c.from):
				t.Errorf("%s: the second piece begins at %v, want %v", c.name, where.Ref.Pieces[1].From, c.from)
			}
		}
		if len(l.At) != 8 {
			t.Errorf("%s: %d tensors, want 8", c.name, len(l.At))
		}
	}
}

// TestArrangements: positions of 4 pieces of 2 x 3 elements.
func TestArrangements(t *testing.T) {
	var pieces []trace.Piece
	for range 4 {
		pieces = append(pieces, trace.Piece{Of: drawn(1, 2, 3).tensor()})
	}
	x := &trace.Tensor{Pieces: pieces, Loose: true}
	got := make(map[string]bool)
	for _, a := range arrangementsOf(x) {
		joined, ok := a.join(x)
		if !ok || joined.Loose || !x.Loose {
			t.Fatalf("%+v does not join", a)
		}
		text := fmt.Sprint(joined.Shape)
		for _, p := range joined.Pieces {
			text += fmt.Sprint(" ", p.From)
		}
		got[text] = true
	}
	want := []string{"[8 3] [0 0] [2 0] [4 0] [6 0]", "[2 12] [0 0] [0 3] [0 6] [0 9]", "[4 6] [0 0] [2 0] [0 3] [2 3]", "[4 6] [0 0] [0 3] [2 0] [2 3]"}
	for _, text := range want {
		if !got[strings.NewReplacer("[8 3]", fmt.Sprint(tensor.Shape{8, 3}), "[2 12]", fmt.Sprint(tensor.Shape{2, 12}), "[4 6]", fmt.Sprint(tensor.Shape{4, 6})).Replace(text)] {
			t.Errorf("%s is none of %v", text, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d arrangements, want %d", len(got), len(want))
	}
	x.Pieces[1].Of = drawn(1, 4, 3).tensor() // fits along the first axis only
	fit := 0
	for _, a := range arrangementsOf(x) {
		if joined, ok := a.join(x); ok {
			fit++
			if !joined.Shape.Equal(tensor.Shape{10, 3}) {
				t.Errorf("%v", joined.Shape)
			}
		}
	}
	if fit != 1 {
		t.Errorf("%d arrangements of pieces of two sizes, want 1", fit)
	}
}

// TestThin: positions of large tensors are skipped along axes with equal lengths. Without such an axis the tensor is
// read up to a larger limit, and not at all beyond.
func TestThin(t *testing.T) {
	for _, c := range []struct {
		part, whole tensor.Shape
		want        []int64
	}{
		{tensor.Shape{4, 5}, tensor.Shape{8, 5}, []int64{1, 1}},
		{tensor.Shape{1 << 11, 1 << 12}, tensor.Shape{1 << 11, 1 << 12}, []int64{1, 2}},
		{tensor.Shape{1 << 11, 1 << 12}, tensor.Shape{1 << 12, 1 << 12}, []int64{1, 4}},
		{tensor.Shape{1 << 11, 1 << 11}, tensor.Shape{1 << 12, 1 << 12}, []int64{1, 1}},
		{tensor.Shape{1 << 12, 1 << 12}, tensor.Shape{1 << 13, 1 << 13}, nil},
		{tensor.Shape{1 << 20, 1 << 4}, tensor.Shape{1 << 20, 1 << 5}, []int64{8, 1}},
	} {
		if got := readingSteps(c.part, c.whole); !slices.Equal(got, c.want) {
			t.Errorf("%v of %v: every %v, want %v", c.part, c.whole, got, c.want)
		}
	}
}

// TestFoldMaps: equal maps of several steps are folded, with the ranges of the steps.
func TestFoldMaps(t *testing.T) {
	m := func(role, kind string, steps ...int) *Map {
		x := &Map{Role: role, Kind: kind, Axes: []MapAxis{}}
		for _, n := range steps {
			x.Steps = append(x.Steps, [2]int{n, n})
		}
		return x
	}
	var got []string
	for _, x := range FoldMaps([]*Map{m("b", "WHOLE", 3), m("a", "BLOCK", 7), m("b", "WHOLE", 1), m("b", "WHOLE", 2), m("a", "WHOLE", 6), m("b", "WHOLE", 9), m("c", "WHOLE")}) {
		got = append(got, fmt.Sprint(x.Role, " ", x.Kind, " ", x.Steps))
	}
	if want := []string{"a WHOLE [[6 6]]", "a BLOCK [[7 7]]", "b WHOLE [[1 3] [9 9]]", "c WHOLE []"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
