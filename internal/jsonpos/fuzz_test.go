package jsonpos

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
)

// plainOf converts a value to encoding/json's form.
func plainOf(v *Value) any {
	switch v.Kind {
	case Object:
		m := map[string]any{}
		for i := range v.Members {
			m[v.Members[i].Key] = plainOf(v.Members[i].Value)
		}
		return m
	case Array:
		a := []any{}
		for _, e := range v.Elems {
			a = append(a, plainOf(e))
		}
		return a
	case String:
		return v.Text
	case Number:
		return json.Number(v.Text)
	case Bool:
		return v.Text == "true"
	default:
		return nil
	}
}

// checkRanges: children are inside their parents and in order.
func checkRanges(t *testing.T, v *Value) {
	t.Helper()
	at := v.Start
	inside := func(start, end int) {
		if start < at || end < start || end > v.End {
			t.Fatalf("range %d:%d after %d, in %d:%d", start, end, at, v.Start, v.End)
		}
		at = end
	}
	for _, e := range v.Elems {
		inside(e.Start, e.End)
		checkRanges(t, e)
	}
	for i := range v.Members {
		m := &v.Members[i]
		inside(m.KeyStart, m.KeyEnd)
		inside(m.Value.Start, m.Value.End)
		checkRanges(t, m.Value)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.5e3,"x\u00e9",true,null,{}]}`, `{'a':True,}`, "{“a”：1，b=2;#x\n}", `["D:\data"`,
		"\xff\xfe{\x00}\x00", "\ufeff{}", `{"a":}`, "[1}]", "// x\n/*", `"`, "-", "{\"a\":\"x\n\"b\"1}", `["\ud800"]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d := Parse(src)
		for _, p := range d.Problems {
			if p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > len(src) || p.Message.String() == "" {
				t.Fatalf("problem out of the text: %+v", p)
			}
			for _, e := range p.Edits {
				if e.Offset < 0 || e.Length < 0 || e.End() > len(src) {
					t.Fatalf("edit out of the text: %+v", e)
				}
			}
		}
		if d.Root != nil {
			if d.Root.Start < 0 || d.Root.End > len(src) {
				t.Fatalf("root %d:%d of %d", d.Root.Start, d.Root.End, len(src))
			}
			checkRanges(t, d.Root)
		}
		compareWithStandard(t, src, d)
		if !bytes.ContainsRune(src, utf8.RuneError) && utf8.Valid(src) && d.Root != nil {
			checkRepair(t, d)
		}
	})
}

// compareWithStandard expects the verdict and the values of encoding/json, except that
// encoding/json accepts invalid UTF-8 and lone surrogates.
func compareWithStandard(t *testing.T, src []byte, d *Document) {
	t.Helper()
	if d.Valid() && !json.Valid(src) {
		t.Fatalf("%q passes but is not valid", src)
	}
	if !json.Valid(src) || !utf8.Valid(src) || bytes.Contains(src, []byte(`\u`)) || len(src) > MaxDepth {
		return
	}
	if !d.Valid() {
		t.Fatalf("%q is valid, found %+v", src, d.Problems)
	}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, plainOf(d.Root)); diff != "" {
		t.Fatalf("%q (-want +got):\n%s", src, diff)
	}
}
