package jsonpos_test

import (
	"encoding/json"
	"strings"
	"testing"

	"dumptool/internal/jsonpos"

	"github.com/google/go-cmp/cmp"
)

// inner is embedded.
type inner struct {
	A      int `json:"a"`
	B      int `json:"b"` // hidden by outer
	hidden int //nolint:unused // fields without a tag and an exported name are no keys
}

type outer struct {
	B string `json:"b"`
	*inner
	C     *[]float64 `json:"c,omitempty"`
	Plain int
	Never int `json:"-"`
}

// TestStruct: a struct is read as by json.Unmarshal, and errors name the place.
func TestStruct(t *testing.T) {
	t.Parallel()
	read := func(text string, v any) error {
		in := jsonpos.NewReader(strings.NewReader(text), 1<<20)
		if err := in.Struct(v, nil); err != nil {
			return err
		}
		return in.End()
	}
	for _, text := range []string{
		`{}`, `{"a": 1, "b": "x", "c": [1.5, null], "plain": 7}`, `{"A": 1, "PLAIN": 2, "hidden": 3, "never": 4, "Never": 5, "-": 6, "other": {"a": [1]}}`, `{"a": null, "c": null}`,
	} {
		got, want := outer{inner: &inner{A: 9}}, outer{inner: &inner{A: 9}}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if err := read(text, &got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(outer{}, inner{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		`{"a":1,` + "\n" + ` "a":2}`:   `a, line 2, column 6: duplicate key "a"`,
		`{"a":1,` + "\n" + ` "A":2}`:   `duplicate key "a"`,
		`{"b":1}`:                      "b",
		`{"c":[1,` + "\n" + `true]}`:   "c[1], line 2, column 1: found bool",
		`[]`:                           "wanted an object",
		`{"a":1`:                       "end of the file",
		`{"a":1}x`:                     "wanted the end of the file",
		`{"other":{"a":1,"a":2}, "c"}`: `":"`,
	} {
		if err := read(text, &outer{inner: new(inner)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestStructOwn: keys are read by their own functions, each once.
func TestStructOwn(t *testing.T) {
	t.Parallel()
	const text = `{"list":[1,2],"a":3,"B":"kept"}`
	var v outer
	v.inner = new(inner)
	in := jsonpos.NewReader(strings.NewReader(text), 1<<20)
	sum := 0
	err := in.Struct(&v, map[string]func() error{"list": func() error {
		return in.Array(func(int) error {
			var n int
			err := in.Decode(&n)
			sum += n
			return err
		})
	}, "b": in.Skip})
	if err != nil || sum != 3 || v.A != 3 || v.B != "" {
		t.Errorf("sum %d, %+v, error %v", sum, v, err)
	}
	twice := jsonpos.NewReader(strings.NewReader(`{"b":1,"b":2}`), 1<<20)
	if err := twice.Struct(&v, map[string]func() error{"b": twice.Skip}); err == nil || !strings.Contains(err.Error(), `duplicate key "b"`) {
		t.Errorf("error %v", err)
	}
}
