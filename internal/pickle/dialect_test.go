package pickle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
)

type point struct{ x, y any }

// points is a dialect with points, from a call or a persistent id.
var points = Dialect{
	Lookup: func(name string) (func([]any) (any, error), bool) {
		switch name {
		case "geo.kind":
			return nil, true
		case "geo.Point":
			return func(args []any) (any, error) {
				if len(args) != 2 {
					return nil, fmt.Errorf("found %d coordinates, wanted 2", len(args))
				}
				return &point{args[0], args[1]}, nil
			}, true
		}
		return nil, false
	},
	Persistent: func(id any) (any, error) {
		if id != "origin" {
			return nil, fmt.Errorf("found id %v, wanted origin", id)
		}
		return &point{0, 0}, nil
	},
	Stateful: func(v any) bool {
		_, ok := v.(*point)
		return ok
	},
}

func (p *point) String() string { return fmt.Sprintf("<%v %v>", show(p.x), show(p.y)) }

func TestDialect(t *testing.T) {
	for program, want := range map[string]string{
		"cgeo\nPoint\n(I1\nI2\ntR.":                         "<1 2>",
		"\x8c\x03geo\x8c\x05Point\x93(I1\nI2\ntR.":          "<1 2>",
		"U\x06originQ.":                                     "<0 0>",
		"(U\x06originQ}bl.":                                 "list(<0 0>)",
		"(cgeo\nkind\nc__builtin__\nlist\nl.":               "list(geo.kind __builtin__.list)",
		"}cgeo\nkind\nNscgeo\nkind\nI1\ns.":                 "{geo.kind:1}",
		"(cgeo\nPoint\ncgeo\nkind\nI2\n\x86RU\x06originQl.": "list(<geo.kind 2> <0 0>)",
		"NU\x06originQ.N":                                   "<0 0>",
		"ccollections\nOrderedDict\n)R.":                    "{}",
		"c__builtin__\nset\n((lI1\naI1\natR.":               "set(1)",
	} {
		v, _, err := points.Parse([]byte(program))
		if err != nil || show(v) != want {
			t.Errorf("%q: %v, %v, want %s", program, v, err, want)
		}
	}
	for program, want := range map[string]string{
		"cgeo\nPoint\n)R.":         "pickle: REDUCE at 0xc: found 0 coordinates, wanted 2",
		"cgeo\nkind\n)R.":          `pickle: refused: GLOBAL at 0x0 wants "geo.kind", only plain data is read`,
		"cos\nsystem\n(U\x02idtR.": `pickle: refused: GLOBAL at 0x0 wants "os.system", only plain data is read`,
		"U\x04elseQ.":              "pickle: BINPERSID at 0x6: found id else, wanted origin",
		"Porigin\n.":               "pickle: refused: PERSID at 0x0 is not plain data, only plain data is read",
		"]}b.":                     "pickle: refused: BUILD at 0x2 is not plain data, only plain data is read",
		"cgeo\nPoint\n)\x81.":      "pickle: refused: NEWOBJ at 0xc is not plain data, only plain data is read",
		"}U\x06originQNs.":         "pickle: SETITEM at 0xb: found a value as a key, wanted str, int or another plain value",
	} {
		v, _, err := points.Parse([]byte(program))
		if v != nil || err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v, want %s", program, v, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	program := "\x80\x04\x95\x18\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x06originQM\x10\x10I16\nJaaaae."
	v, size, err := points.Parse([]byte(program + "rest"))
	if err != nil || size != len(program) || show(v) != "list(<0 0> 4112 16 1633771873)" {
		t.Fatalf("%v, %d, %v", v, size, err)
	}
	for n := range len(program) {
		if v, _, err := points.Parse([]byte(program[:n])); v != nil || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v, %v", n, v, err)
		}
	}
	for _, whole := range []string{"N0.", "\xff", "]a", "U\x04elseQ"} {
		if v, _, err := points.Parse([]byte(whole)); v != nil || err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v, %v", whole, v, err)
		}
	}
}

func TestMaxMemory(t *testing.T) {
	d := points
	for _, test := range []struct {
		limit int64
		ok    bool
	}{{0, true}, {400000, true}, {200000, false}} {
		d.MaxMemory = test.limit
		v, _, err := d.Parse(append(append([]byte("("), bytes.Repeat([]byte("U\x06originQ"), 1000)...), "l."...))
		if (err == nil) != test.ok || (v != nil) != test.ok {
			t.Errorf("%d: %v", test.limit, err)
		}
	}
}
