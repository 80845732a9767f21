package hpaa

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/tensor"
)

func TestReadPieces(t *testing.T) {
	t.Parallel()
	jsonl := "\ufeff{\"file\": \"d/a.0\", \"node\": \"net/a\", \"output\": 1, \"piece\": 2, \"round\": 3, \"dtype\": \"fp16\", \"shape\": [2, 3],\r\n" // joined below
	jsonl = strings.TrimRight(jsonl, "\r\n") + ` "encoding": "HEX", "skip": 16, "axis": -1, "model_shape": [7, 3], "time": 1.5}` + "\r\n\n" +
		`{"node": "b", "file": "b", "shape": [], "dtype": null}` + "\n"
	table := "node,file,output,piece,round,dtype,shape,encoding,skip,axis,model_shape,time\r\n" +
		"net/a,d/a.0,1,2,3,float16,2x3,hex,16,-1,\"7,3\",1.5\r\n" +
		"b,b,,,,,[],,,,,\r\n"
	for name, text := range map[string]string{"json": jsonl, "csv": table} {
		pieces, err := ReadPieces(strings.NewReader(text))
		if err != nil || len(pieces) != 2 {
			t.Fatalf("%s: %d pieces, %v", name, len(pieces), err)
		}
		a, b := pieces[0], pieces[1]
		got := fmt.Sprint(a.File, a.Node, a.Output, a.Number, a.Round, a.DType, a.Shape, a.Encoding, a.Skip, *a.Axis, a.ModelShape, a.Time != nil)
		if want := "d/a.0net/a1 2 3 float16 (2, 3)hex16 -1 (7, 3) true"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if b.File != "b" || b.Node != "b" || b.Shape == nil || len(b.Shape) != 0 || b.DType != tensor.Undefined || b.Skip != -1 || b.Axis != nil || b.Encoding != "" || b.Time != nil {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

func TestReadPiecesErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"file": "a"}`: "line 1: no node",
		`{"node": "a"}`: "line 1: no file",
		"\n" + `{"file": "a", "node": "n", "axes": 0}`:                             `line 2: column 28: unknown key "axes", did you mean axis?`,
		`{"file": "a", "node": "n", "axis": -2}`:                                   `line 1: column 28: axis: found "-2", want an axis from 0, or -1`,
		`{"file": "a", "node": "n", "piece": 1.5}`:                                 `piece: found "1.5", want a number from 0`,
		`{"file": "a", "node": "n", "piece": 3000000000}`:                          `piece: found "3000000000", want a number of at most 2147483647`,
		`{"file": "a", "node": "n", "skip": -1}`:                                   `skip: found "-1", want a number from 0`,
		`{"file": "a", "node": "n", "shape": [2, -3]}`:                             `shape: found "[2,-3]", want a shape such as 2x3x5`,
		`{"file": "a", "node": "n", "shape": [9999999999, 9999999999]}`:            `has too many elements`,
		`{"file": "a", "node": "n", "shape": [2, "3"]}`:                            `shape: found a string in it, want numbers`,
		`{"file": "a", "node": "n", "shape": true}`:                                `shape: found a boolean, want an array of numbers`,
		`{"file": "a", "node": "n", "output": [1]}`:                                `output: found an array, want a number`,
		`{"file": "a", "node": "n", "dtype": "floaty"}`:                            `dtype: found "floaty", want an element type`,
		`{"file": "a", "node": "n", "dtype": "string"}`:                            `dtype: found "string", want an element type`,
		`{"file": "a", "node": "n", "dtype": "undefined"}`:                         `want an element type`,
		`{"file": "a", "node": "n", "encoding": "hexx"}`:                           `encoding: no encoding "hexx", did you mean hex?`,
		`{"file": "a", "node": "n", "time": "now"}`:                                `time: found "now", want a number`,
		`{"file": "a", "node": "n", "time": 1e999}`:                                `time: found "1e999", want a number`,
		`{"file": 5, "node": "n"}`:                                                 `file: found a number, want a string`,
		`{"file": "a", "node": "n", "file": "b"}`:                                  `line 1: column 28: duplicate key "file"`,
		`{"file": "a\u0000b", "node": "n"}`:                                        `has a character that is not allowed in a path`,
		`{"file": "a", "node": "n"`:                                                `line 1: column`,
		`{"file": "a", "node": "n"} x`:                                             `line 1: column`,
		`{"file": "a", "node": "n"}` + "\n[1]":                                     `line 2: found an array, want an object`,
		"file,knot\na,b":                                                           `line 1: unknown key "knot", want file, node, output`,
		"file,node,file\na,b,c":                                                    `line 1: duplicate column "file"`,
		"file,node\na":                                                             `line 2: found 1 cells, want 2`,
		"file,node,shape\na,b,2y3":                                                 `line 2: shape: found "2y3", want a shape`,
		"file,node\n\"a,b":                                                         `line 2, column 5:`,
		`{"node": "` + strings.Repeat("a", maxLine) + `"}`:                         `line 1: more than 1048576 bytes`,
		`{"file": "a", "node": "n", "shape": [` + strings.Repeat("1,", 64) + `1]}`: `found 65 dimensions, want at most 64`,
	}
	for text, want := range tests {
		pieces, err := ReadPieces(strings.NewReader(text))
		var bad *DescriptionError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || pieces != nil {
			t.Errorf("%.70s: %d pieces, %v, want %s", text, len(pieces), err, want)
		}
	}
	for _, text := range []string{"", "\n \n", "\ufeff", "file,node"} {
		if pieces, err := ReadPieces(strings.NewReader(text)); len(pieces) != 0 || err != nil {
			t.Errorf("%q: %v, %v", text, pieces, err)
		}
	}
	_, err := ReadPieces(strings.NewReader(strings.Repeat("{}\n", 50)))
	if want := "and 30 more"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestReadPiecesWhatWasWritten reads back descriptions in both forms.
func TestReadPiecesWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		node := rapid.StringMatching(`[a-z/:@ ".,_]{0,6}[a-z]`).Draw(rt, "node")
		n := rapid.IntRange(0, 1<<31-1).Draw(rt, "piece")
		shape := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 5).Draw(rt, "shape")
		line, err := json.Marshal(map[string]any{"file": node, "node": node, "piece": n, "shape": shape})
		if err != nil {
			rt.Fatal(err)
		}
		cell := "[" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shape)), ","), "[]") + "]"
		quoted := `"` + strings.ReplaceAll(node, `"`, `""`) + `"`
		table := fmt.Sprintf("piece,shape,file,node\n%d,%q,%s,%s\n", n, cell, quoted, quoted)
		for _, text := range []string{string(line), table} {
			pieces, err := ReadPieces(strings.NewReader(text))
			if err != nil || len(pieces) != 1 {
				rt.Fatalf("%s: %v", text, err)
			}
			p := pieces[0]
			same := len(p.Shape) == len(shape) && p.Shape != nil
			for i := range p.Shape {
				same = same && p.Shape[i] == int64(shape[i])
			}
			if trimmed := strings.TrimSpace(node); p.Number != n || !same || p.Node != node && p.Node != trimmed {
				rt.Fatalf("%s: %+v", text, p)
			}
		}
	})
}

func FuzzReadPieces(f *testing.F) {
	f.Add(`{"file": "a", "node": "n", "shape": [2, 3], "axis": -1, "time": 1e3}` + "\n")
	f.Add("file,node,shape,time\r\na,b,\"[2, 3]\",5\r\n")
	f.Add("\ufeff\n{\"file\": 1}")
	f.Add("file,node\n\"a")
	f.Fuzz(func(t *testing.T, text string) {
		pieces, err := ReadPieces(strings.NewReader(text))
		if err != nil && pieces != nil {
			t.Fatal("pieces with an error")
		}
		for _, p := range pieces {
			if err := p.check(); err != nil || p.Output < 0 || p.Number < 0 || p.Round < 0 || p.Skip < -1 || p.Axis != nil && *p.Axis < -1 {
				t.Fatalf("%+v: %v", p, err)
			}
			for _, s := range []tensor.Shape{p.Shape, p.ModelShape} {
				if _, ok := s.Count(); !ok {
					t.Fatalf("shape %v", s)
				}
			}
		}
	})
}
