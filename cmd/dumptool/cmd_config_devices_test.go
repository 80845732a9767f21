package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeviceIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]uint64{"0": {0}, "0,1": {0, 1}, "3, 15": {3, 15}, "x": nil, "-1": nil, "": nil, "1,,2": nil, "4294967296": nil} {
		var d deviceIDs
		err := d.Set(text)
		if (err == nil) != (want != nil) {
			t.Errorf("%q: %v", text, err)
		}
		if want != nil {
			if diff := cmp.Diff(want, d.ids); diff != "" {
				t.Errorf("%q: %s", text, diff)
			}
		}
	}
	var d deviceIDs
	for _, text := range []string{"0", "1,2"} {
		if err := d.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	if d.String() != "0,1,2" || d.Type() != "IDS" {
		t.Errorf("%s of type %s", d.String(), d.Type())
	}
	if err := d.Replace([]string{"5", "6"}); err != nil || d.String() != "5,6" {
		t.Errorf("replaced by %s, %v", d.String(), err)
	}
}
