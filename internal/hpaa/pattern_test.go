package hpaa

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	tests := []struct{ pattern, file, want string }{
		{SuccessorName, "0/0_map_name@0.011fda60_000001d2.dat", "map_name 0 0 466"},
		{SuccessorName, "0/12_a@b@3.0_ff.dat", "a@b 3 0 255"},
		{SuccessorName, "0/12_a@b.0_ff.dat", "-"},
		{SuccessorName, "12_a@3.0_ff.dat", "-"},
		{"{card}/{n}_{node}@{output}.{round:hex}_{piece:hex}.dat", "0/7_a_b@1.0a_1F.dat", "a_b 1 31 10"},
		{"{node}.{piece}.bin", "conv.1.0.bin", "conv.1 0 0 0"},
		{"{node}/{piece:int}.bin", "net/conv/7.bin", "net/conv 0 7 0"},
		{"{node}.bin", "a.b+(c)[d]*.bin", "a.b+(c)[d]* 0 0 0"},
		{"{node}.bin", "a.binx", "-"},
		{"{node}.{piece}.bin", "a.-1.bin", "-"},
		{"{node}.{piece}.bin", "a.99999999999.bin", "-"},
		{"{node}.{piece:hex}.bin", "a.ffffffffffffffffff.bin", "-"},
		{"{node}.{dtype}.{shape}.a{axis}.t{time}.bin", "n.float16.2x3.a-1.t5.5.bin", "n 0 0 0"},
		{"{node}.{dtype}.bin", "n.floaty.bin", "-"},
		{"{node}.{shape}.bin", "n.2x3_4.bin", "-"},
		{"{*}{node}{*}.d", "x.d", "x 0 0 0"},
		{"x{node}", "x\n", "\n 0 0 0"},
	}
	for _, tt := range tests {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := "-"
		if piece, err := p.Match(tt.file); err == nil {
			got = fmt.Sprint(piece.Node, " ", piece.Output, piece.Number, piece.Round)
			if piece.File != tt.file {
				t.Errorf("%s: file %s", tt.file, piece.File)
			}
		}
		if got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.pattern, tt.file, got, tt.want)
		}
		if p.String() != tt.pattern {
			t.Errorf("%s prints as %s", tt.pattern, p)
		}
	}
	p, err := ParsePattern("{node}.{dtype}.{shape}.a{axis}.t{time}.bin")
	if err != nil {
		t.Fatal(err)
	}
	piece, err := p.Match("n.float16.2_3.a-1.t5.5.bin")
	if err != nil || piece.DType.String() != "float16" || piece.Shape.String() != "(2, 3)" || *piece.Axis != -1 || piece.Time == nil {
		t.Errorf("%+v, %v", piece, err)
	}
}

func TestPatternErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       `has no {node}`,
		"{output}.dat":           `has no {node}`,
		"{node":                  `column 1: a brace without its partner`,
		"a}{node}":               `column 2: a brace without its partner`,
		"{node}{node}":           `column 7: duplicate {node}`,
		"{node}.{peace}":         `column 8: no field {peace}, want {node}`,
		"{node}.{piece:oct}":     `want {piece:hex} or {piece:int}`,
		"{node:hex}":             `only {output}, {round} and {piece} have a base`,
		"{node}.{piece}.{piece}": `duplicate {piece}`,
		"{no{de}":                `column 1: no field {no{de}`,
	} {
		if p, err := ParsePattern(text); err == nil || !strings.Contains(err.Error(), want) || p != nil {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestPatternOfNames makes paths from a template, with names without the characters around the
// node.
func TestPatternOfNames(t *testing.T) {
	t.Parallel()
	p, err := ParsePattern("{card}/{n}_{node}@{output}.{round:hex}_{piece:hex}.dat")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		node := rapid.StringMatching(`[a-zA-Z0-9_.@()+*\[\]-]{1,12}`).Draw(rt, "node")
		output, number := rapid.IntRange(0, 99).Draw(rt, "output"), rapid.IntRange(0, 1<<30).Draw(rt, "piece")
		round := rapid.Int64Min(0).Draw(rt, "round")
		name := fmt.Sprintf("3/17_%s@%d.%x_%08X.dat", node, output, round, number)
		got, err := p.Match(name)
		if err != nil || got.Node != node || got.Output != output || got.Number != number || got.Round != round {
			rt.Fatalf("%s: %+v, %v", name, got, err)
		}
	})
}

func FuzzPattern(f *testing.F) {
	f.Add(successorPattern, "0/0_map_name@0.011fda60_000001d2.dat")
	f.Add("{node}.{piece}.{shape}{*}", "a.0.2x3\xff")
	f.Add("{node}{time}{axis}{dtype}", "n5-1float16")
	f.Add("{", "}")
	f.Fuzz(func(t *testing.T, text, file string) {
		p, err := ParsePattern(text)
		if err != nil {
			return
		}
		piece, err := p.Match(file)
		if err == nil && (piece.Node == "" || !strings.Contains(file, piece.Node) || piece.Number < 0 || piece.Output < 0 || piece.Round < 0) {
			t.Fatalf("%+v", piece)
		}
	})
}
