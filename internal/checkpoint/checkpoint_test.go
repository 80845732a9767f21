package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// matrix is a tensor of float32 in a test.
type matrix struct {
	rows, columns int
	v             []float32
}

func (m matrix) at(i, j int) float32 { return m.v[i*m.columns+j] }

// made returns a matrix of f(row, column).
func made(rows, columns int, f func(i, j int) float32) matrix {
	m := matrix{rows: rows, columns: columns}
	for i := range rows {
		for j := range columns {
			m.v = append(m.v, f(i, j))
		}
	}
	return m
}

// stacked returns the rows of matrices, one after another.
func stacked(all ...matrix) matrix {
	out := matrix{columns: all[0].columns}
	for _, m := range all {
		out.rows, out.v = out.rows+m.rows, append(out.v, m.v...)
	}
	return out
}

// part returns rows from to to, columns first to last, without the ends.
func (m matrix) part(from, to, first, last int) matrix {
	return made(to-from, last-first, func(i, j int) float32 { return m.at(from+i, first+j) })
}

func (m matrix) transposed() matrix {
	return made(m.columns, m.rows, func(i, j int) float32 { return m.at(j, i) })
}

// write writes a safetensors file. Matrices of one row are vectors. Names that end in .bf16 or .i64 are stored in
// bfloat16, or as 2^60 plus their elements, without this ending.
func write(t *testing.T, path string, tensors map[string]matrix) {
	t.Helper()
	header, body := map[string]any{}, []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		m, dtype, from := tensors[name], "F32", len(body)
		for _, v := range m.v {
			if strings.HasSuffix(name, ".bf16") {
				dtype, body = "BF16", binary.LittleEndian.AppendUint16(body, bfloat16(v))
				continue
			}
			if strings.HasSuffix(name, ".i64") { // beyond 2^53, where float64 has even numbers only
				dtype, body = "I64", binary.LittleEndian.AppendUint64(body, 1<<60+uint64(v))
				continue
			}
			body = binary.LittleEndian.AppendUint32(body, math.Float32bits(v))
		}
		shape := []int{m.rows, m.columns}
		if m.rows == 1 {
			shape = shape[1:]
		}
		header[strings.TrimSuffix(strings.TrimSuffix(name, ".bf16"), ".i64")] = map[string]any{"dtype": dtype, "shape": shape, "data_offsets": []int{from, len(body)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if err := os.WriteFile(path, append(file, body...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// bfloat16 rounds to nearest, ties to even.
func bfloat16(v float32) uint16 {
	b := math.Float32bits(v)
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// compare returns the report of two sets of tensors.
func compare(t *testing.T, a, b map[string]matrix, allowed ...Status) *Report {
	t.Helper()
	dir := t.TempDir()
	pathA, pathB := filepath.Join(dir, "a.safetensors"), filepath.Join(dir, "b.safetensors")
	write(t, pathA, a)
	write(t, pathB, b)
	r, err := Compare(t.Context(), Options{A: pathA, B: pathB, Workers: 2, Allowed: allowed})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// summary is a line per tensor: its status, its names on both sides, and the elements that differ.
func summary(r *Report) string {
	var lines []string
	for _, row := range r.Rows {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s=%s %d", row.Status, row.A, strings.Join(row.B, "+"), row.Differing)))
	}
	return strings.Join(lines, "; ")
}

// TestLayouts: every layout of the same elements is found, and in each of them a row that is 2 % off.
func TestLayouts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	random := func(rows, columns int) matrix {
		return made(rows, columns, func(int, int) float32 { return float32(r.NormFloat64()) })
	}
	w, v := random(12, 32), random(8, 32)
	wrong := w.part(0, 12, 0, 32)
	for j := range 32 {
		wrong.v[5*32+j] *= 1.02
	}
	swap := func(m matrix) matrix { // halves of 6 rows, interleaved
		return made(12, 32, func(i, j int) float32 { return m.at(i/2+i%2*6, j) })
	}
	for _, c := range []struct {
		name string
		b    func(w matrix) map[string]matrix
		want string // {} is the number of elements that differ
	}{
		{"the same", func(w matrix) map[string]matrix { return map[string]matrix{"w": w, "v": v} }, "EQUAL v=v 0; EQUAL w=w {}"},
		{"renamed", func(w matrix) map[string]matrix { return map[string]matrix{"x": w, "y": v} }, "EQUAL v=y 0; EQUAL w=x {}"},
		{"rounded", func(w matrix) map[string]matrix { return map[string]matrix{"w.bf16": w, "v.bf16": v} }, "ROUNDED v=v 0; ROUNDED w=w {}"},
		{"transposed", func(w matrix) map[string]matrix { return map[string]matrix{"x": w.transposed(), "y": v} }, "EQUAL v=y 0; TRANSPOSED w=x {}"},
		{"one after another", func(w matrix) map[string]matrix { return map[string]matrix{"x": stacked(v, w)} }, "FUSED v=x 0; FUSED w=x {}"},
		{"in groups", func(w matrix) map[string]matrix {
			return map[string]matrix{"x": stacked(w.part(0, 6, 0, 32), v.part(0, 4, 0, 32), w.part(6, 12, 0, 32), v.part(4, 8, 0, 32))}
		}, "FUSED v=x 0; FUSED w=x {}"},
		{"rows divided", func(w matrix) map[string]matrix {
			return map[string]matrix{"x": w.part(0, 6, 0, 32), "y": w.part(6, 12, 0, 32), "z": v}
		}, "EQUAL v=z 0; SPLIT w=x+y {}"},
		{"columns divided", func(w matrix) map[string]matrix {
			return map[string]matrix{"x": w.part(0, 12, 0, 16), "y": w.part(0, 12, 16, 32), "z": v}
		}, "EQUAL v=z 0; SPLIT w=x+y {}"},
		{"interleaved", func(w matrix) map[string]matrix { return map[string]matrix{"w": swap(w), "v": v} }, "EQUAL v=v 0; REORDERED w=w {}"},
		{"more rows", func(w matrix) map[string]matrix {
			return map[string]matrix{"w": stacked(w, made(4, 32, func(int, int) float32 { return 0 })), "v": v}
		}, "EQUAL v=v 0; PADDED w=w {}"},
	} {
		a := map[string]matrix{"w": w, "v": v}
		if got, want := summary(compare(t, a, c.b(w))), strings.ReplaceAll(c.want, "{}", "0"); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
		fields := strings.Split(strings.ReplaceAll(c.want, "{}", "32"), "; ")
		for i, f := range fields {
			if status, rest, _ := strings.Cut(f, " "); strings.HasSuffix(rest, " 32") && status != "" {
				fields[i] = "DIFFERENT " + rest
			}
		}
		if got, want := summary(compare(t, a, c.b(wrong))), strings.Join(fields, "; "); got != want {
			t.Errorf("%s, a row wrong: %s, want %s", c.name, got, want)
		}
		back := compare(t, c.b(w), a)
		if o := back.Outcome(false); o.Kind != compare(t, a, a).Outcome(false).Kind {
			t.Errorf("%s, sides swapped: %s", c.name, summary(back))
		}
		if back = compare(t, c.b(wrong), a); back.Counts[Different] == 0 {
			t.Errorf("%s, a row wrong, sides swapped: %s", c.name, summary(back))
		}
	}
}

// TestStatuses: tensors without the same elements on the other side, and tensors that are alike.
func TestStatuses(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	w := made(4, 16, func(int, int) float32 { return float32(r.NormFloat64()) })
	ones := made(1, 16, func(int, int) float32 { return 1 })
	doubled := made(4, 16, func(i, j int) float32 { return 3 * w.at(i, j) })
	wrong := made(4, 16, func(i, j int) float32 { return w.at(i, j) * (1 + float32(i/3)/50) })
	negated := made(4, 16, func(i, j int) float32 { return -w.at(i, (j+1)%16) })
	for _, c := range []struct {
		name    string
		a, b    map[string]matrix
		allowed []Status
		want    string
	}{
		{"a factor", map[string]matrix{"w": w}, map[string]matrix{"w": doubled}, nil, "SCALED w=w 64"},
		{"other elements", map[string]matrix{"w": w}, map[string]matrix{"w": negated}, nil, "DIFFERENT w=w 64"},
		{"other names and elements", map[string]matrix{"w": w, "n": ones}, map[string]matrix{"x": negated, "n": ones}, nil, "EQUAL n=n 0; ONLY_A w= 0; ONLY_B =x 0"},
		{"ones under other names", map[string]matrix{"a": ones, "b": ones}, map[string]matrix{"c": ones, "d": ones}, nil, "UNKNOWN a=c 0; UNKNOWN b=d 0"},
		{"tied weights", map[string]matrix{"w": w, "head": w}, map[string]matrix{"w": w}, nil, "EQUAL head=w 0; EQUAL w=w 0"},
		{"tied weights, one of them wrong", map[string]matrix{"w": w, "head": w}, map[string]matrix{"w": w, "head": wrong}, nil, "DIFFERENT head=head 16; EQUAL w=w 0"},
		{"a part that A lacks", map[string]matrix{"q": w}, map[string]matrix{"qk": stacked(w, negated)}, nil, "PADDED q=qk 0; ONLY_B =qk 0"},
		{"a part that B lacks", map[string]matrix{"qk": stacked(w, negated)}, map[string]matrix{"q": w}, nil, "ONLY_A qk=q 0"},
		{"one part of two that A lacks", map[string]matrix{"q": w, "v": negated}, map[string]matrix{"qkv": stacked(w, doubled, negated)}, nil, "FUSED q=qkv 0; FUSED v=qkv 0; ONLY_B =qkv 0"},
		{"rows that are copies", map[string]matrix{"w": w}, map[string]matrix{"w": stacked(w, w.part(3, 4, 0, 16))}, nil, "PADDED w=w 0"},
		{"names within a model", map[string]matrix{"model.w": w}, map[string]matrix{"module.w": negated}, nil, "DIFFERENT model.w=module.w 64"},
		{"large integers", map[string]matrix{"n.i64": ones}, map[string]matrix{"n.i64": ones}, nil, "EQUAL n=n 0"},
		{"other large integers", map[string]matrix{"n.i64": ones}, map[string]matrix{"n.i64": made(1, 16, func(int, int) float32 { return 2 })}, nil, "DIFFERENT n=n 16"},
		{"zeros with signs", map[string]matrix{"w": made(4, 16, func(i, j int) float32 { return float32(i) })},
			map[string]matrix{"x": made(4, 16, func(i, j int) float32 { return float32(math.Copysign(float64(i), float64(i)-.5)) })}, nil, "EQUAL w=x 0"},
		{"other shapes", map[string]matrix{"w": w}, map[string]matrix{"w": negated.part(0, 2, 0, 16)}, nil, "DIFFERENT w=w 64"},
	} {
		if got := summary(compare(t, c.a, c.b, c.allowed...)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	scaled := compare(t, map[string]matrix{"w": w}, map[string]matrix{"w": doubled}, Scaled)
	if got := scaled.Headline.String(); !strings.HasPrefix(got, "EQUAL:") || math.Abs(float64(*scaled.Rows[0].Factor)-3) > 1e-6 {
		t.Errorf("%s, factor %v", got, scaled.Rows[0].Factor)
	}
}

// TestAdapter: each form of an adapter, with scale 2 for w and 6 for v, is found; with twice the scale it is not.
func TestAdapter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	random := func(rows, columns int) matrix {
		return made(rows, columns, func(int, int) float32 { return float32(r.NormFloat64()) })
	}
	w, v, left, right := random(8, 32), random(8, 32), random(8, 4), random(4, 32)
	plus := func(m matrix, scale float64) matrix {
		return made(8, 32, func(i, j int) float32 {
			sum := 0.0
			for k := range 4 {
				sum += float64(left.at(i, k)) * float64(right.at(k, j))
			}
			return float32(float64(m.at(i, j)) + scale*sum)
		})
	}
	const prefix = "base_model.model."
	factors := map[string]matrix{prefix + "w.lora_A.weight": right, prefix + "w.lora_B.weight": left, prefix + "v.lora_A.weight": right, prefix + "v.lora_B.weight": left}
	for _, c := range []struct {
		name, config string
		factors      map[string]matrix
		isTransposed bool
		problems     int
	}{
		{"alpha / r", `"lora_alpha": 8`, factors, false, 0},
		{"alpha / sqrt(r)", `"lora_alpha": 4, "use_rslora": true`, factors, false, 0},
		{"inputs first", `"lora_alpha": 8, "fan_in_fan_out": true`, factors, true, 0},
		{"embeddings", `"lora_alpha": 8`, map[string]matrix{prefix + "w.lora_embedding_A": right, prefix + "w.lora_embedding_B": left, prefix + "v.lora_embedding_A": right, prefix + "v.lora_embedding_B": left}, true, 0},
		{"a weight of its own", `"lora_alpha": 8`, map[string]matrix{prefix + "w.weight": plus(w, 2), prefix + "v.lora_A.weight": right, prefix + "v.lora_B.weight": left}, false, 0},
		{"a module that is not there", `"lora_alpha": 8`, map[string]matrix{prefix + "w.weight": plus(w, 2), prefix + "v.lora_A.weight": right, prefix + "v.lora_B.weight": left, prefix + "x.lora_A.weight": right, prefix + "x.lora_B.weight": left}, false, 1},
		{"one factor", `"lora_alpha": 8`, map[string]matrix{prefix + "w.weight": plus(w, 2), prefix + "v.lora_A.weight": right, prefix + "v.lora_B.weight": left, prefix + "x.lora_A.weight": right}, false, 1},
	} {
		dir := t.TempDir()
		put := func(name string, scale float64) string {
			all := map[string]matrix{"w.weight": plus(w, scale), "v.weight": plus(v, 3*scale)}
			if c.isTransposed {
				all = map[string]matrix{"w.weight": plus(w, scale).transposed(), "v.weight": plus(v, 3*scale).transposed()}
			}
			write(t, filepath.Join(dir, name), all)
			return filepath.Join(dir, name)
		}
		base, merged, twice := put("a.safetensors", 0), put("b.safetensors", 2), put("c.safetensors", 4)
		write(t, filepath.Join(dir, "adapter_model.safetensors"), c.factors)
		config := `{"peft_type": "LORA", "alpha_pattern": {"u": 1, "v": ` + map[bool]string{false: "24", true: "12"}[strings.Contains(c.config, "rslora")] + `, ".*": ` + c.config[len(`"lora_alpha": `):][:1] + `}, ` + c.config + `}`
		if err := os.WriteFile(filepath.Join(dir, "adapter_config.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		for b, want := range map[string]string{merged: "LORA v.weight=v.weight 256; LORA w.weight=w.weight 256", twice: "DIFFERENT v.weight=v.weight 256; DIFFERENT w.weight=w.weight 256", base: "DIFFERENT v.weight=v.weight 256; DIFFERENT w.weight=w.weight 256"} {
			r, err := Compare(t.Context(), Options{A: base, B: b, Adapter: dir, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(r); got != want || len(r.Problems) != c.problems {
				t.Errorf("%s, %s: %s, %v, want %s and %d problems", c.name, filepath.Base(b), got, r.Problems, want, c.problems)
			}
		}
	}
}

// TestMegatron reads a checkpoint of training beside the matrices that were fused in it: the arguments of the program
// are not loaded, and the state of the optimiser is not compared. testdata was written by PyTorch 1.13; element i of
// qkv is i/7.
func TestMegatron(t *testing.T) {
	t.Parallel()
	a := filepath.Join(t.TempDir(), "a.safetensors")
	rows := func(from int) matrix {
		return made(4, 4, func(i, j int) float32 { return float32(4*(from+i)+j) / 7 })
	}
	write(t, a, map[string]matrix{"q": rows(0), "k": rows(4), "v": rows(8)})
	r, err := Compare(t.Context(), Options{A: a, B: "testdata/megatron"})
	if err != nil {
		t.Fatal(err)
	}
	const name = "mp_rank_00/layers.0.qkv.weight"
	if got, want := summary(r), "FUSED k="+name+" 0; FUSED q="+name+" 0; FUSED v="+name+" 0"; got != want || len(r.Problems) > 0 {
		t.Errorf("%s, %v, want %s", got, r.Problems, want)
	}
}

// TestIndex: an index that does not fit its files is told with the name of the tensor.
func TestIndex(t *testing.T) {
	t.Parallel()
	w := made(2, 16, func(i, j int) float32 { return float32(16*i + j) })
	for _, c := range []struct{ index, want string }{
		{`{"weight_map":{"w":"1.safetensors","v":"1.safetensors"}}`, ""},
		{`{"weight_map":{"w":"1.safetensors","v":"2.safetensors"}}`, "2.safetensors: missing, although model.safetensors.index.json lists 1 tensor in this file|1.safetensors: v: the index does not list it in this file"},
		{`{"weight_map":{"w":"1.safetensors"}}`, "1.safetensors: v: the index does not list it in this file"},
		{`{"weight_map":{"w":"1.safetensors","v":"1.safetensors","x":"1.safetensors"}}`, "1.safetensors: x: the index lists it in this file, which does not have it"},
		{`{"weight_map":{"w":"1.safetensors","v":"1.safetensors","w":"2.safetensors"}}`, "model.safetensors.index.json: w: listed twice, in 1.safetensors and 2.safetensors"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "1.safetensors"), map[string]matrix{"w": w, "v": w.transposed().part(0, 16, 0, 2)})
		if err := os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(c.index), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Compare(t.Context(), Options{A: filepath.Join(dir, "1.safetensors"), B: dir})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range r.Problems {
			got = append(got, filepath.Base(p.File)+": "+p.Text().String())
		}
		slices.Sort(got)
		want := strings.Split(c.want, "|")
		slices.Sort(want)
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q, want %q", c.index, got, want)
		}
	}
}

// TestUnreadable: kinds of checkpoints that are not read are named.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"model.gguf": "GGUF", "__0_0.distcp": "distributed", "zero_pp_rank_0_mp_rank_00_optim_states.pt": "ZeRO", "notes.txt": "no weights found"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Compare(t.Context(), Options{A: dir, B: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "model.safetensors"), map[string]matrix{"l.qweight": made(1, 4, func(i, j int) float32 { return 1 })})
	r, err := Compare(t.Context(), Options{A: dir, B: dir})
	if err != nil || len(r.Problems) != 2 || !strings.Contains(r.Problems[0].Text().String(), "GPTQ") {
		t.Errorf("%+v, %v", r, err)
	}
}
