package hpaa

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/dumpdir"
	"dumptool/internal/format/npy"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// array is a slow reference: elements by coordinates.
type array struct {
	shape []int64
	at    map[string][]byte
}

func newArray(shape ...int64) array { return array{shape, map[string][]byte{}} }

// each calls f for all coordinates of a shape, in C order.
func each(shape []int64, f func(index []int64)) {
	index := make([]int64, len(shape))
	var walk func(axis int)
	walk = func(axis int) {
		if axis == len(shape) {
			f(index)
			return
		}
		for index[axis] = 0; index[axis] < shape[axis]; index[axis]++ {
			walk(axis + 1)
		}
	}
	walk(0)
}

// bytes returns the elements in C order.
func (a array) bytes() []byte {
	var data []byte
	each(a.shape, func(index []int64) { data = append(data, a.at[fmt.Sprint(index)]...) })
	return data
}

// joined concatenates arrays along an axis, and crops the axis to a length.
func joined(parts []array, axis int, most int64) array {
	all := newArray(slices.Clone(parts[0].shape)...)
	offset := int64(0)
	for _, p := range parts {
		each(p.shape, func(index []int64) {
			to := slices.Clone(index)
			to[axis] += offset
			all.at[fmt.Sprint(to)] = p.at[fmt.Sprint(index)]
		})
		offset += p.shape[axis]
	}
	all.shape[axis] = min(offset, most)
	return all
}

// encoded encodes elements as the content of a file.
func encoded(rt *rapid.T, e Encoding, data []byte) []byte {
	size := map[Encoding]int{Hex: 1, Hex0x: 1, Words16: 2, Words32: 4, Words64: 8}[e]
	if e == Bin {
		return data
	}
	var text bytes.Buffer
	for part := range slices.Chunk(data, size) {
		part = slices.Clone(part)
		slices.Reverse(part)
		if e == Hex0x {
			text.WriteString("0x")
		}
		text.WriteString(hex.EncodeToString(part))
		if e != Hex || rapid.IntRange(0, 5).Draw(rt, "line") == 0 {
			text.WriteString("\n")
		}
	}
	return text.Bytes()
}

// testTypes lists the element types of the property test.
var testTypes = []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Int8, tensor.Float64, tensor.Complex128}

// TestImportAgainstSlow joins random pieces on a random axis.
func TestImportAgainstSlow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "case")
		if err != nil {
			rt.Fatal(err)
		}
		shape := rapid.SliceOfN(rapid.Int64Range(0, 4), 1, 4).Draw(rt, "shape")
		axis := rapid.IntRange(0, len(shape)-1).Draw(rt, "axis")
		dtype := rapid.SampledFrom(testTypes).Draw(rt, "dtype")
		count := rapid.SampledFrom([]int{1, 2, 2, 3, 3, 5, 5, 66}).Draw(rt, "pieces")
		if count == 66 {
			shape = shape[:min(len(shape), 2)]
			axis = min(axis, len(shape)-1)
		}
		var parts []array
		var pieces []*Piece
		for k := range count {
			own := slices.Clone(shape)
			own[axis] = rapid.Int64Range(0, 4).Draw(rt, "length")
			a := newArray(own...)
			each(own, func(index []int64) {
				a.at[fmt.Sprint(index)] = rapid.SliceOfN(rapid.Byte(), dtype.UnitSize(), dtype.UnitSize()).Draw(rt, "element")
			})
			parts = append(parts, a)
			e := rapid.SampledFrom([]Encoding{Bin, Hex, Hex0x, Words16, Words32, Words64}).Draw(rt, "encoding")
			data := a.bytes()
			if len(data)%8 != 0 {
				e = rapid.SampledFrom([]Encoding{Bin, Hex, Hex0x}).Draw(rt, "encoding of bytes")
			}
			skip := rapid.SampledFrom([]int{0, 0, 3, 100}).Draw(rt, "skip")
			path := filepath.Join(dir, fmt.Sprint("piece", k))
			if err := os.WriteFile(path, append(bytes.Repeat([]byte("\xfe"), skip), encoded(rt, e, data)...), 0o666); err != nil {
				rt.Fatal(err)
			}
			pieces = append(pieces, &Piece{File: filepath.Base(path), Path: path, Node: "net/op:1", Number: k, DType: dtype, Shape: own, Encoding: e, Skip: int64(skip)})
		}
		total := int64(0)
		for _, p := range parts {
			total += p.shape[axis]
		}
		most := total
		if rapid.Bool().Draw(rt, "crop") {
			most = rapid.Int64Range(0, total).Draw(rt, "kept")
			model := slices.Clone(shape)
			model[axis] = most
			pieces[rapid.IntRange(0, count-1).Draw(rt, "who says")].ModelShape = model
		}
		want := joined(parts, axis, most)
		shuffled := rapid.Permutation(pieces).Draw(rt, "order")
		r, err := Import(context.Background(), &SearchResult{Pieces: shuffled}, Options{Out: filepath.Join(dir, "npu"), Axis: axis, Workers: 2})
		if err != nil {
			rt.Fatal(err)
		}
		row := r.Rows[0]
		if row.PieceError != nil || row.Cropped != total-most || filepath.Base(row.Path) != "net_op_1.npy" {
			rt.Fatalf("%+v %v", row, row.PieceError)
		}
		checkArray(rt, row.Path, dtype, want)
	})
}

// checkArray compares a file with a slow array.
func checkArray(t rapid.TB, path string, dtype tensor.DType, want array) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	got, err := npy.Open(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, got.Size)
	if _, err := got.Data().ReadAt(data, 0); err != nil && got.Size > 0 && err.Error() != "EOF" {
		t.Fatal(err)
	}
	elements := want.bytes()
	if dtype == tensor.BFloat16 { // the upper half of a float32
		var wide []byte
		for half := range slices.Chunk(elements, 2) {
			wide = append(wide, 0, 0, half[0], half[1])
		}
		elements = wide
	}
	if !got.Shape.Equal(want.shape) || got.Host != dtype.Host() || !bytes.Equal(data, elements) || got.Spare != 0 {
		t.Fatalf("%s: %v of %v, %d bytes, want %v", path, got.Shape, got.Host, len(data), want.shape)
	}
}

// TestEveryPieceHasOnePlace imports pieces, many of them broken. Each is part of an array, of an
// output with an error, or among the others; arrays exist exactly if there is no error.
func TestEveryPieceHasOnePlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "case")
		if err != nil {
			rt.Fatal(err)
		}
		var pieces []*Piece
		broken := map[string]bool{} // nodes
		for k := range rapid.IntRange(1, 30).Draw(rt, "pieces") {
			p := &Piece{File: fmt.Sprint("f", k), Node: rapid.SampledFrom([]string{"a", "b", "a/b", "a_b", "skip", "out"}).Draw(rt, "node"),
				Output: rapid.IntRange(0, 1).Draw(rt, "output"), Number: rapid.IntRange(0, 3).Draw(rt, "piece"), Round: rapid.Int64Range(0, 1).Draw(rt, "round"),
				DType: rapid.SampledFrom([]tensor.DType{tensor.Int8, tensor.Int8, tensor.Int8, tensor.Float16}).Draw(rt, "dtype"), Encoding: Hex, Skip: -1}
			p.Shape = tensor.Shape{2, rapid.SampledFrom([]int64{1, 1, 1, 3}).Draw(rt, "length")}
			want, _ := p.DType.Bytes(p.Shape.Elements())
			text := strings.Repeat("00", int(want))
			switch rapid.IntRange(0, 12).Draw(rt, "harm") {
			case 0:
				text += "0"
			case 1:
				text += "00"
			case 2:
				text = "x" + text
			case 3:
				text = "\x00"
			}
			p.Path = filepath.Join(dir, p.File)
			if rapid.IntRange(0, 20).Draw(rt, "lost") > 0 {
				if err := os.WriteFile(p.Path, []byte(text), 0o666); err != nil {
					rt.Fatal(err)
				}
			}
			pieces = append(pieces, p)
		}
		exclude, err := dumpdir.NewNameSet([]string{"out"})
		if err != nil {
			rt.Fatal(err)
		}
		opt := Options{Out: filepath.Join(dir, "npu"), Filter: &dumpdir.NodeFilter{SkipKeys: []string{"ski"}, Exclude: exclude}, Workers: 3,
			Rounds: Rounds{All: rapid.Bool().Draw(rt, "all rounds"), First: rapid.Bool().Draw(rt, "first")}}
		r, err := Import(context.Background(), &SearchResult{Pieces: pieces, Others: []UnusedFile{{File: "other"}}}, opt)
		if err != nil {
			rt.Fatal(err)
		}
		places := map[string]int{"other": 0}
		arrays := map[string]bool{}
		for _, row := range r.Rows {
			for _, p := range row.Pieces {
				places[p.File]++
			}
			if row.PieceError != nil {
				broken[row.Label] = true
				if row.Code == "" || row.Problem.String() == "" {
					rt.Fatalf("%s has the error %+v", row.Label, row.PieceError)
				}
				continue
			}
			arrays[filepath.Base(row.Path)] = true
		}
		for _, o := range r.Others {
			places[o.File]++
		}
		for _, p := range pieces {
			if places[p.File] != 1 {
				rt.Fatalf("%s is in %d places", p.File, places[p.File])
			}
			delete(places, p.File)
		}
		if !maps.Equal(places, map[string]int{"other": 1}) {
			rt.Fatalf("places %v", places)
		}
		entries, err := os.ReadDir(opt.Out)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			rt.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "mapping.csv" && !arrays[e.Name()] {
				rt.Fatalf("%s is written for no row", e.Name())
			}
			delete(arrays, e.Name())
		}
		if len(arrays) > 0 || len(r.Read) != len(pieces) {
			rt.Fatalf("not written: %v; %d names read", arrays, len(r.Read))
		}
	})
}

// write makes a piece of int8 with this text.
func write(t *testing.T, dir string, p Piece, text string) *Piece {
	t.Helper()
	p.Path = filepath.Join(dir, p.File)
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if p.DType == tensor.Undefined {
		p.DType = tensor.Int8
	}
	if p.Encoding == "" {
		p.Encoding = Hex
	}
	return &p
}

func TestCodes(t *testing.T) {
	t.Parallel()
	two, axis := tensor.Shape{2}, func(n int) *int { return &n }
	tests := map[string]struct {
		pieces []Piece
		texts  []string
		want   string
	}{
		"missing":   {[]Piece{{Shape: two}, {Shape: two, Number: 2}}, nil, "MISSING_PIECE piece 1 of 0 to 2 is missing"},
		"first":     {[]Piece{{Shape: two, Number: 1}}, nil, "MISSING_PIECE piece 0 of 0 to 1 is missing"},
		"far":       {[]Piece{{Shape: two, Number: 1<<31 - 1}}, nil, "MISSING_PIECE piece 0 of 0 to 2147483647 is missing"},
		"twice":     {[]Piece{{Shape: two}, {Shape: two, Number: 1}, {Shape: two}}, nil, "DUPLICATE_PIECE duplicate piece 0: 0 and 2"},
		"both":      {[]Piece{{Shape: two}, {Shape: two}, {Shape: two, Number: 2}}, nil, "MISSING_PIECE piece 1 of 0 to 2 is missing"},
		"rank":      {[]Piece{{Shape: two}, {Shape: tensor.Shape{2, 1}, Number: 1}}, nil, "CONCAT_SHAPE 0 has (2,) and 1 (2, 1), want the same lengths but on axis 0"},
		"scalars":   {[]Piece{{Shape: tensor.Shape{}}, {Shape: tensor.Shape{}, Number: 1}}, []string{"00", "00"}, "CONCAT_SHAPE 2 pieces are scalars, want one piece"},
		"axis":      {[]Piece{{Shape: two, Axis: axis(1)}}, nil, "CONCAT_SHAPE axis 1 of 0, which has (2,)"},
		"axes":      {[]Piece{{Shape: two, Axis: axis(0)}, {Shape: two, Number: 1, Axis: axis(1)}}, nil, "CONCAT_SHAPE 0 is joined on axis 0, 1 on axis 1"},
		"types":     {[]Piece{{Shape: two}, {Shape: tensor.Shape{1}, Number: 1, DType: tensor.Float16}}, nil, "CONCAT_SHAPE 0 has the element type int8, 1 has float16"},
		"models":    {[]Piece{{Shape: two, ModelShape: two}, {Shape: two, Number: 1, ModelShape: tensor.Shape{3}}}, nil, "CONCAT_SHAPE 0 has the model shape (2,), 1 has (3,)"},
		"size":      {[]Piece{{Shape: two}}, []string{"00 11 22"}, "SIZE_MISMATCH 0: found 3 bytes, want 2 for (2,) of int8"},
		"bin":       {[]Piece{{Shape: two, Encoding: Bin}}, []string{"123"}, "SIZE_MISMATCH 0: found 3 bytes, want 2 for (2,) of int8"},
		"skip":      {[]Piece{{Shape: two, Skip: 9}}, nil, "SIZE_MISMATCH 0: found 5 bytes, want a header of 9 bytes to skip"},
		"hex":       {[]Piece{{Shape: two}}, []string{"00 1"}, "BAD_HEX 0: line 1, column 5: found the end of the file, want the second digit of a byte (hex)"},
		"hex first": {[]Piece{{Shape: two}, {Shape: two, Number: 2}}, []string{"00 00", "00 00 00"}, "SIZE_MISMATCH 1: found 3 bytes, want 2 for (2,) of int8"},
		"several":   {[]Piece{{Shape: two}, {Shape: two, Number: 1}}, []string{"00", "z"}, "SIZE_MISMATCH 0: found 1 bytes, want 2 for (2,) of int8; 1: line 1, column 1: found \"z\", want a hex digit (hex)"},
		"npy":       {[]Piece{{Shape: two, Encoding: Npy}}, nil, "READ_ERROR 0: npy: "},
		"no shape":  {[]Piece{{}}, nil, "READ_ERROR 0: the shape is unknown"},
		"huge":      {[]Piece{{Shape: tensor.Shape{1 << 60}}, {Shape: tensor.Shape{1 << 60}, Number: 1}}, nil, "CONCAT_SHAPE"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var pieces []*Piece
			for i, p := range tt.pieces {
				text := "00 00"
				if tt.texts != nil {
					text = tt.texts[i]
				}
				p.File, p.Node = fmt.Sprint(i), "n"
				pieces = append(pieces, write(t, dir, p, text))
			}
			r, err := Import(context.Background(), &SearchResult{Pieces: pieces}, Options{Out: filepath.Join(dir, "npu")})
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(r.Rows[0].Code, " ", r.Rows[0].Problem)
			if name == "huge" { // its pieces are too short as well
				tt.want = "SIZE_MISMATCH"
			}
			if !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(tt.want, " ") && name != "huge" && got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
			if entries, _ := os.ReadDir(filepath.Join(dir, "npu")); len(entries) > 0 {
				t.Errorf("%s is written", entries[0].Name())
			}
		})
	}
}

// TestNodesWhole: a broken piece omits all outputs of its node; pieces that do not fit omit only
// their own output.
func TestNodesWhole(t *testing.T) {
	t.Parallel()
	dir, one := t.TempDir(), tensor.Shape{1}
	pieces := []*Piece{
		write(t, dir, Piece{File: "a0", Node: "a", Shape: one}, "00"),
		write(t, dir, Piece{File: "a1", Node: "a", Output: 1, Shape: one}, "0"),
		write(t, dir, Piece{File: "b0", Node: "b", Shape: one}, "00"),
		write(t, dir, Piece{File: "b1", Node: "b", Output: 1, Number: 1, Shape: one}, "00"),
	}
	r, err := Import(context.Background(), &SearchResult{Pieces: pieces}, Options{Out: filepath.Join(dir, "npu")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range r.Rows {
		text := row.Label + " " + filepath.Base(row.Path)
		if row.PieceError != nil {
			text = row.Label + " " + string(row.Code) + " " + row.Problem.String()
		}
		got = append(got, text)
	}
	const bad = `a1: line 1, column 2: found the end of the file, want the second digit of a byte (hex)`
	want := []string{"a BAD_HEX excluded together with a:1: " + bad, "a:1 BAD_HEX " + bad, "b b_0.npy", "b:1 MISSING_PIECE piece 0 of 0 to 1 is missing"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestNames checks rounds, colliding and long names, name maps, names of another run, and the
// order.
func TestNames(t *testing.T) {
	t.Parallel()
	dir, one := t.TempDir(), tensor.Shape{1}
	long := strings.Repeat("n", 300)
	at := func(text string) *sidefile.Moment {
		i, ok := sidefile.ParseInstant(text)
		if !ok {
			t.Fatal(text)
		}
		return &i
	}
	pieces := []*Piece{
		write(t, dir, Piece{File: "0", Node: "a/b", Shape: one, Time: at("9")}, "00"),
		write(t, dir, Piece{File: "1", Node: "a:b", Shape: one, Time: at("1e1")}, "01"),
		write(t, dir, Piece{File: "2", Node: long, Shape: one}, "02"),
		write(t, dir, Piece{File: "3", Node: "npu_x", Shape: one, Round: 4, Time: at("8.5")}, "03"),
		write(t, dir, Piece{File: "4", Node: "npu_x", Shape: one, Round: 3, Time: at("1")}, "04"),
		write(t, dir, Piece{File: "5", Node: "c_d", Shape: one}, "05"),
	}
	names, err := sidefile.ParseNameMap(`{"ref/x": "npu_x", "ref/y": "npu_y"}`)
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Out: filepath.Join(dir, "npu"), Filter: &dumpdir.NodeFilter{Map: names}, Names: []string{"a/b", "a:b", long, "npu_x", "c/d", "e"}, Sums: true}
	r, err := Import(context.Background(), &SearchResult{Pieces: pieces}, opt)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range r.Rows {
		got = append(got, row.Node[:min(9, len(row.Node))]+" "+filepath.Base(row.Path)+" "+row.Original[:min(9, len(row.Original))])
		data, err := os.ReadFile(row.Path)
		if err != nil || row.Pieces[0].File != fmt.Sprint(data[len(data)-1]) {
			t.Errorf("%s: %v %v", row.Path, data, err)
		}
	}
	// Version 3 UUIDs of "a:b.npy" and of the long name, made by Python's uuid module.
	want := []string{"a/b a_b.npy ", "a:b f2db44c78e7a314488d5b3e005c41d93.npy a:b.npy", "nnnnnnnnn ad5108c6635b34178385b1cc397772a2.npy nnnnnnnnn", "ref/x ref_x.npy ", "c/d c_d.npy "}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if want := []string{"ref/x", "a/b", "a:b"}; !slices.Equal(r.Order, want) {
		t.Errorf("order %q, want %q", r.Order, want)
	}
	if want := []string{"a/b", "a:b", long, "npu_x", "npu_x", "c/d"}; !slices.Equal(r.Read, want) {
		t.Errorf("read %q, want %q", r.Read, want)
	}
	warnings := fmt.Sprint(r.Warnings)
	for _, want := range []string{`--map-node-dict: no piece belongs to "npu_y"`, "--nodename-log: no piece for 1 of the names in the file"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("warnings %s, want %s", warnings, want)
		}
	}
	mapping, err := os.ReadFile(filepath.Join(opt.Out, "mapping.csv"))
	if err != nil || strings.Count(string(mapping), "\n") != 2 || !strings.Contains(string(mapping), ",a:b.npy\n") {
		t.Errorf("mapping.csv: %s, %v", mapping, err)
	}
	if len(r.Sums) != 6 || r.Sums[0] != (Sum{"0", "b4b147bc522828731f1a016bfa72c073"}) { // md5sum of "00"
		t.Errorf("sums %v", r.Sums)
	}
}

// TestReference takes shapes from the arrays of another run.
func TestReference(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cpu := filepath.Join(dir, "cpu")
	if err := os.MkdirAll(cpu, 0o777); err != nil {
		t.Fatal(err)
	}
	head, err := npy.AppendHeader(nil, tensor.HostFloat32, tensor.Shape{1, 5, 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cpu, "net_op.npy"), append(head, make([]byte, 40)...), 0o666); err != nil {
		t.Fatal(err)
	}
	reference, err := OpenReference(context.Background(), cpu)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []*Piece
	for k := range 3 {
		var data []byte
		for i := range 4 {
			data = binary.LittleEndian.AppendUint16(data, uint16(4*k+i))
		}
		p := write(t, dir, Piece{File: fmt.Sprint(k), Node: "net/op", Number: k, Encoding: Hex}, hex.EncodeToString(data))
		p.DType = tensor.Undefined
		pieces = append(pieces, p)
	}
	strange := write(t, dir, Piece{File: "s", Node: "strange"}, "00")
	opt := Options{Out: filepath.Join(dir, "npu"), Reference: reference, DType: tensor.Float16, Axis: -1}
	r, err := Import(context.Background(), &SearchResult{Pieces: append(pieces, strange)}, opt)
	if err != nil {
		t.Fatal(err)
	}
	row := r.Rows[0]
	if row.PieceError != nil || *row.Axis != 1 || row.Cropped != 1 || !row.Shape.Equal(tensor.Shape{1, 5, 2}) {
		t.Fatalf("%+v, %v", row, row.PieceError)
	}
	if want := []string{"shape taken from " + filepath.Join(cpu, "net_op.npy"), "cropped 1"}; !slices.Equal(row.Notes, want) {
		t.Errorf("notes %q, want %q", row.Notes, want)
	}
	want := newArray(1, 5, 2)
	each(want.shape, func(index []int64) {
		want.at[fmt.Sprint(index)] = binary.LittleEndian.AppendUint16(nil, uint16(2*index[1]+index[2]))
	})
	checkArray(t, row.Path, tensor.Float16, want)
	if bad := r.Rows[1].PieceError; bad == nil || bad.Code != NotInModel || !slices.Equal(r.Unknown, []string{"strange"}) {
		t.Errorf("%+v, unknown %q", bad, r.Unknown)
	}
}

// TestFind: descriptions cannot lead outside their folder.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, Piece{File: "top/dump_data/a"}, "00")
	write(t, dir, Piece{File: "top/dump_data/b"}, "00")
	outside := write(t, dir, Piece{File: "outside"}, "00")
	describe := func(name, file string) *Source {
		p := write(t, dir, Piece{File: name}, fmt.Sprintf(`{"file": %q, "node": "n"}`, file))
		return &Source{Description: p.Path, Dir: filepath.Join(dir, "top", "dump_data"), Top: filepath.Join(dir, "top")}
	}
	for file, want := range map[string]string{"dump_data/a": "", "../outside": "leads out", outside.Path: "leads out", "x/../../outside": "leads out", "none": ""} {
		for _, name := range []string{"top/pieces.jsonl", "top/sub/pieces.jsonl"} {
			s := describe(name, file)
			found, err := s.Find()
			if want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
				t.Errorf("%s: %v, want %q", file, err, want)
			}
			if file == "dump_data/a" && (found.Pieces[0].Path != filepath.Join(dir, "top", "dump_data", "a") || len(found.Others) != 1 || found.Others[0].File != "b") {
				t.Errorf("%s: %+v %+v", name, found.Pieces[0], found.Others)
			}
			s.AllowOutside = true
			if _, err := s.Find(); err != nil {
				t.Errorf("%s with --allow-outside: %v", file, err)
			}
		}
	}
	pattern, err := ParsePattern("{node}")
	if err != nil {
		t.Fatal(err)
	}
	found, err := (&Source{Pattern: pattern, Dir: filepath.Join(dir, "top"), Skip: []string{filepath.Join(dir, "top", "sub")}}).Find()
	if err != nil || len(found.Pieces) != 3 || found.Pieces[0].Node != "dump_data/a" {
		t.Errorf("%+v, %v", found, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "top", "dump_data"), link); err != nil {
		t.Fatal(err)
	}
	found, err = (&Source{Pattern: pattern, Dir: link}).Find()
	if err != nil || len(found.Pieces) != 2 || found.Pieces[0].File != "a" {
		t.Errorf("behind a link: %+v, %v", found, err)
	}
	if _, err := (&Source{Pattern: pattern, Dir: filepath.Join(dir, "none")}).Find(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// TestFindLinks: links cannot lead outside the folder.
func TestFindLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, Piece{File: "outside"}, "00")
	write(t, dir, Piece{File: "top/dump_data/a"}, "00")
	top := filepath.Join(dir, "top")
	for name, target := range map[string]string{"out": filepath.Join(dir, "outside"), "in": filepath.Join("dump_data", "a"), "folder": dir, "gone": filepath.Join(dir, "none")} {
		if err := os.Symlink(target, filepath.Join(top, "link-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		file    string
		outside bool
	}{
		{"link-out", true},
		{"link-folder/outside", true},
		{"link-folder/top/dump_data/a", false},
		{"link-in", false},
		{"link-gone", false}, // an error of the piece
		{"link-folder/none", false},
	} {
		for _, name := range []string{"top/pieces.jsonl", "top/sub/pieces.jsonl"} {
			p := write(t, dir, Piece{File: name}, fmt.Sprintf(`{"file": %q, "node": "n"}`, test.file))
			s := &Source{Description: p.Path, Dir: filepath.Join(top, "dump_data"), Top: top}
			_, err := s.Find()
			if leads := err != nil && strings.Contains(err.Error(), "leads out of the folder"); leads != test.outside || err != nil && !leads {
				t.Errorf("%s in %s: error %v", test.file, name, err)
			}
			s.AllowOutside = true
			if _, err := s.Find(); err != nil {
				t.Errorf("%s in %s with --allow-outside: %v", test.file, name, err)
			}
		}
	}
}

// TestCanceled: an interrupted import leaves no files behind.
func TestCanceled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := write(t, dir, Piece{File: "p", Node: "n", Shape: tensor.Shape{2}}, "0000")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := filepath.Join(dir, "npu")
	if _, err := Import(ctx, &SearchResult{Pieces: []*Piece{p}}, Options{Out: out}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	w := &worker{opt: &Options{Out: out}, inputs: map[string]bool{}}
	w.bufferPool.New = func() any { return newBuffers(blockBytes) }
	g := &group{row: &Row{Node: "n", Path: filepath.Join(out, "n.npy"), Pieces: []*Piece{p}}}
	w.joinNode(ctx, workUnit{groups: []*group{g}})
	if entries, _ := os.ReadDir(out); len(entries) > 0 {
		t.Errorf("%s is left", entries[0].Name())
	}
}
