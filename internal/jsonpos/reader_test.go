package jsonpos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"
)

func ExampleReader() {
	const text = `{"version": 2, "graph": [{"op": [
  {"name": "conv", "id": 7},
  {"name": "relu", "id": "eight"}
]}]}`
	r := NewReader(strings.NewReader(text), 1<<20)
	err := r.Object(func(key string) error {
		if key != "graph" {
			return r.Skip()
		}
		return r.Array(func(int) error {
			return r.Object(func(string) error {
				return r.Array(func(int) error {
					op, err := r.Value()
					if err != nil {
						return err
					}
					id := op.Get("id").Value
					if id.Kind != Number {
						return r.Mismatch(id, "a number")
					}
					fmt.Println(op.Get("name").Value.Text, id.Text)
					return nil
				})
			})
		})
	})
	fmt.Println(err)
	// Output:
	// conv 7
	// graph[0].op[1].id, line 3, column 26: found "eight", wanted a number
}

func ExampleParse() {
	d := Parse([]byte("{'dump_mode': \"all\", # both\n}"))
	var edits []Edit
	for _, p := range d.Problems {
		line, column := d.Position(p.Offset)
		fmt.Printf("%d:%d: %s\n", line, column, p.Message)
		edits = append(edits, p.Edits...)
	}
	fmt.Println(d.Root.Get("dump_mode").Value.Text)
	fmt.Printf("%s\n", Apply(d.Source(), edits))
	// Output:
	// 1:2: single quotes; use double quotes
	// 1:22: comment (#); JSON has no comments, remove it
	// 1:20: trailing comma before "}"; remove it
	// all
	// {"dump_mode": "all"
	// }
}

// readAll reads a text with one value.
func readAll(in io.Reader) (*Value, error) {
	r := NewReader(in, 1<<30)
	v, err := r.Value()
	if err != nil {
		return nil, err
	}
	return v, r.End()
}

func TestReaderErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1, column 1: found the end of the file, wanted a value"},
		{"blank", " \n ", "line 2, column 2: found the end of the file, wanted a value"},
		{"byte order mark", "\ufeff{}", `line 1, column 1: found "\ufeff", wanted a value`},
		{"no value", "}", `line 1, column 1: found "}", wanted a value`},
		{"zero byte", "{\x00}", `line 1, column 2: found "\x00", wanted a key in double quotes`},
		{"single quotes", "{'a': 1}", `line 1, column 2: found "'", wanted a key in double quotes`},
		{"no colon", `{"a" 1}`, `line 1, column 6: found "1", wanted ":"`},
		{"no member value", `{"a":}`, `a, line 1, column 6: found "}", wanted a value`},
		{"full-width comma", "[1，2]", `line 1, column 3: found "，", wanted "," or "]"`},
		{"trailing comma", "[1,]", `[1], line 1, column 4: found "]", wanted a value`},
		{"comma in an object", `{"a":1,}`, `line 1, column 8: found "}", wanted a key in double quotes`},
		{"wrong bracket", "[1}", `line 1, column 3: found "}", wanted "," or "]"`},
		{"truncated", "{\"a\": [1,\n 2", `a, line 2, column 3: found the end of the file, wanted "," or "]"`},
		{"truncated string", `["层`, `[0], line 1, column 4: found the end of the file, wanted the rest of the string`},
		{"raw newline", "[\"a\n\"]", `[0], line 1, column 4: found "\n", wanted the rest of the string`},
		{"bad escape", `["a\x"]`, `[0], line 1, column 5: found "x", wanted an escape sequence`},
		{"bad code", `["\u12g4"]`, `[0], line 1, column 7: found "g", wanted four hexadecimal digits`},
		{"Python", `{"a-b": [True]}`, `["a-b"][0], line 1, column 10: found "T", wanted a value`},
		{"word", `[nul]`, `[0], line 1, column 2: found "nul", wanted true, false or null`},
		{"number", `[1, 01]`, `[1], line 1, column 5: found "01", wanted a number`},
		{"extra data", `{} []`, `line 1, column 4: found "[", wanted the end of the file`},
		{"depth", strings.Repeat("[", 1001), strings.Repeat("[0]", 1000) + `, line 1, column 1001: found more than 1000 levels of brackets, wanted fewer`},
		{"number of values", "[" + strings.Repeat("1,", MaxValues) + "1]", `[1048575], line 1, column 2097152: found more than 1048576 values, wanted fewer`},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			v, err := readAll(in)
			var at *Error
			if v != nil && !strings.Contains(c.want, "end of the file") || !errors.As(err, &at) {
				t.Errorf("%s: %v, %v", c.name, v, err)
			} else if err.Error() != c.want {
				t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
			}
		}
	}
}

func TestReaderStreamErrors(t *testing.T) {
	broken := errors.New("broken disk")
	for _, text := range []string{"", `{"a": `, "[1", `"x`, "{}"} {
		_, err := readAll(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("%q: %v", text, err)
		}
	}
	r := NewReader(strings.NewReader("[1, 2, 3]"), 4)
	if err := r.Skip(); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file that is too large: %v", err)
	}
}

func TestReaderDecode(t *testing.T) {
	r := NewReader(strings.NewReader("{\"rows\": [{\"op\": \"a\", \"n\": 1},\n {\"op\": \"b\", \"n\": \"2\"}]}"), 1<<20)
	var ops []string
	err := r.Object(func(string) error {
		return r.Array(func(int) error {
			var row struct {
				Op string
				N  int `json:"n"`
			}
			err := r.Decode(&row)
			ops = append(ops, row.Op)
			return err
		})
	})
	if want := "rows[1].n, line 2, column 19: found string, wanted a value for int"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if diff := gocmp.Diff([]string{"a", "b"}, ops); diff != "" {
		t.Error(diff)
	}
}

// TestReaderMemory: walking over a large text keeps none of its text.
func TestReaderMemory(t *testing.T) {
	item := []byte(`{"name": "` + strings.Repeat("x", 1000) + `", "attr": [1, 2.5e3, true, null]},`)
	in := io.MultiReader(strings.NewReader("[{},"), io.LimitReader(repeat(item), int64(len(item)*20_000)), strings.NewReader("{}]"))
	r := NewReader(in, 1<<30)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	err := r.Array(func(i int) error {
		if n++; i == 0 {
			_, err := r.Value() // its text is not kept in addition
			return err
		}
		return r.Skip()
	})
	runtime.ReadMemStats(&after)
	if err != nil || n != 20_002 {
		t.Errorf("%d elements, %v", n, err)
	}
	if len(r.buf) > 1<<20 || int64(after.Sys-before.Sys) > 16<<20 {
		t.Errorf("%d bytes kept, %d MiB more of the system", len(r.buf), int64(after.Sys-before.Sys)>>20)
	}
}

// repeat is an endless stream of the same bytes.
type repeat []byte

func (b repeat) Read(p []byte) (int, error) { return copy(p, b), nil }

// FuzzReader expects the verdict and the values of encoding/json.
func FuzzReader(f *testing.F) {
	for _, text := range []string{`{"a":[1,-0.5e+3,true,null,"\u00e9\ud83d\ude00\n"]}`, `[]`, `{"a":1,"a":2}`, "\"\xff\xfe\"", `"\ud800"`, `1.`, `-`, `[1 2]`, `{"a" :1 , "b": {}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := readAll(bytes.NewReader(src))
		if len(src) < MaxNesting && (err == nil) != json.Valid(src) {
			t.Fatalf("%q: %v", src, err)
		}
		var at *Error
		if err != nil {
			if !errors.As(err, &at) || at.Offset < 0 || at.Offset > int64(len(src)) || at.Line < 1 || at.Column < 1 {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		checkRanges(t, v)
		dec := json.NewDecoder(bytes.NewReader(src))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, plainOf(v)); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", src, diff)
		}
	})
}

// TestReaderPython: Python's words for numbers are accepted only where numbers are requested.
func TestReaderPython(t *testing.T) {
	const text = `[NaN, -Infinity, {"a": Infinity}, -1.5]`
	r := NewReader(strings.NewReader(text), 100)
	r.Python = true
	if r.Kind() != Array {
		t.Fatal(r.Kind())
	}
	v, err := r.Value()
	if err != nil || len(v.Elems) != 4 || v.Elems[0].Kind != Number || v.Elems[0].Text != "NaN" || v.Elems[1].Text != "-Infinity" {
		t.Errorf("%+v, %v", v, err)
	}
	if err := NewReader(strings.NewReader(text), 100).Skip(); err == nil {
		t.Error("NaN is no JSON, and read")
	}
	for _, bad := range []string{"nan", "Inf", "+Infinity", "-NaN", "Infinityx", "NaN1", "-Inf"} {
		r := NewReader(strings.NewReader(bad), 100)
		r.Python = true
		if err := r.Skip(); err == nil {
			t.Errorf("%s is read as a number", bad)
		}
	}
}

func TestReaderScalar(t *testing.T) {
	r := NewReader(strings.NewReader(` [ "a\n", 1e5, true, null, NaN, {}]`), 1<<20)
	r.Python = true
	var got []string
	err := r.Array(func(int) error {
		at := r.Offset()
		kind, text, err := r.Scalar()
		got = append(got, fmt.Sprintf("%d %d %q", at, kind, text))
		return err
	})
	want := []string{`3 4 "a\n"`, `10 3 "1e5"`, `15 2 "true"`, `21 1 ""`, `27 3 "NaN"`, `32 0 ""`}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := fmt.Sprint(err); text != `[5], line 1, column 33: found "{", wanted a value` {
		t.Error(text)
	}
	if err := r.Unexpected("a number"); fmt.Sprint(err) != `[5], line 1, column 33: found "{", wanted a number` {
		t.Error(err)
	}
}

// TestDecodePlain: decoding without encoding/json gives the same values and refuses the same texts.
func TestDecodePlain(t *testing.T) {
	t.Parallel()
	type word string
	targets := []func() any{
		func() any { return new(true) }, func() any { return new(7) }, func() any { return new(int64(7)) }, func() any { return new("x") }, func() any { return new(word("x")) },
		func() any { return new(json.Number("1")) }, func() any { return new(json.RawMessage) }, func() any { return new(new(int64(7))) }, func() any { return new(1.5) },
		func() any { return new(any) }, func() any { return new([]string) },
	}
	for _, text := range []string{`true`, `false`, `null`, `0`, `-0`, `12`, `-9223372036854775808`, `9223372036854775808`, `1e3`, `1.5`, `""`, `"a"`, `"a\nb"`, `"\u00e9"`, `"é"`, "\"\xff\"", `"12"`, `[]`, `["a"]`, `{}`} {
		for _, target := range targets {
			want, got := target(), target()
			wantErr, gotErr := json.Unmarshal([]byte(text), want), NewReader(strings.NewReader(text), 1<<10).Decode(got)
			if (wantErr == nil) != (gotErr == nil) || !reflect.DeepEqual(want, got) {
				t.Errorf("%s into %T: %v, %v, want %v, %v", text, got, got, gotErr, want, wantErr)
			}
		}
	}
}
