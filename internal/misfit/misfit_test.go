package misfit

import (
	"strings"
	"testing"
)

// TestList: the first misfits are kept, all are counted, and long texts are cut.
func TestList(t *testing.T) {
	t.Parallel()
	var l, behind List
	l.Add(7, 30, []byte("  a\xffb \t"), "a name")
	l.Add(0, 99, []byte(strings.Repeat("x", 1000)), "less")
	if got := l.First[0].String(); got != `line 7: found "a�b", want a name` {
		t.Error(got)
	}
	if got := l.First[1].String(); got != `byte 99: found "`+strings.Repeat("x", 120)+`...", want less` {
		t.Error(got)
	}
	for i := range MaxKept {
		behind.Add(i+1, -1, nil, "")
	}
	l.Append(&behind)
	l.Append(&behind)
	if l.Count != 2+2*MaxKept || len(l.First) != MaxKept || l.First[MaxKept-1].Line != MaxKept-2 {
		t.Errorf("%d of %d kept", len(l.First), l.Count)
	}
	if l.Add(1, 1, nil, ""); len(l.First) != MaxKept || l.Count != 3+2*MaxKept {
		t.Errorf("%d of %d kept", len(l.First), l.Count)
	}
	if l.Clear(); l.Count != 0 || len(l.First) != 0 {
		t.Error("not clear")
	}
}
