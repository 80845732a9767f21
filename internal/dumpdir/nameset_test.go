package dumpdir

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/sidefile"
)

func TestNewNameSetBad(t *testing.T) {
	for _, bad := range []string{"re:(", "re:)("} {
		if s, err := NewNameSet([]string{"a", bad}); s != nil || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pattern %q", bad)) {
			t.Errorf("%s: %v, %v", bad, s, err)
		}
	}
}

func TestNameSetWants(t *testing.T) {
	set, err := NewNameSet([]string{"net/conv", "re:fc[12]"})
	if err != nil {
		t.Fatal(err)
	}
	for op, want := range map[*Op]bool{
		{Name: "net_conv"}:                      true,
		{Name: "net_conv2"}:                     false,
		{Name: "fc1"}:                           true,
		{Name: "xfc1"}:                          false,
		{Name: "12345", Header: "net/conv"}:     true,
		{Name: "net_conv", Header: "net/other"}: true,
	} {
		if got := set.Includes(op); got != want {
			t.Errorf("%s %s: %v, want %v", op.Name, op.Header, got, want)
		}
	}
	if none := (*NameSet)(nil); !none.Includes(&Op{Name: "x"}) {
		t.Error("no set does not want all")
	}
}

// TestTakenFrom finds the shortest beginning of a path that is in a set.
func TestTakenFrom(t *testing.T) {
	path := []string{"Op", "12", "input", "self"}
	for _, tt := range []struct {
		names []string
		want  int
	}{
		{nil, -1},
		{[]string{"Op"}, 1},
		{[]string{"/Op"}, 1},
		{[]string{"Op/12"}, 2},
		{[]string{"Op/12/input/self"}, 4},
		{[]string{"/Op/12/input/self", "Op/12"}, 2},
		{[]string{"re:O.*"}, 1},
		{[]string{"re:.*/self"}, 4},
		{[]string{"O", "12", "self", "Op/1", "p/12"}, -1},
		{[]string{"/Op/12/"}, 2},
	} {
		set, err := NewNameSet(tt.names)
		if err != nil {
			t.Fatal(err)
		}
		if got := set.PrefixLength(path); got != tt.want {
			t.Errorf("%q: %d components, want %d", tt.names, got, tt.want)
		}
	}
	if got := (*NameSet)(nil).PrefixLength(path); got != 0 {
		t.Errorf("no set: %d components, want 0", got)
	}
}

func TestNodeFilter(t *testing.T) {
	m, err := sidefile.ParseNameMap(`{'net/conv': 'fused_conv', 'out': 'net/fused:2'}`)
	if err != nil {
		t.Fatal(err)
	}
	exclude, err := NewNameSet([]string{"out", "re:pool.*", "gone", "net/relu"})
	if err != nil {
		t.Fatal(err)
	}
	f := &NodeFilter{Map: m, SkipKeys: []string{"", "conv"}, Exclude: exclude}
	var names []string
	for _, tt := range []struct {
		npu, name string
		skip      NodeSkip
	}{
		{"fused_conv", "net/conv", NodeSkipKey},
		{"net_fused_2", "out", NodeExcluded},
		{"pool1", "pool1", NodeExcluded},
		{"net_relu", "net_relu", NodeExcluded},
		{"pool_conv", "pool_conv", NodeSkipKey},
		{"add", "add", ""},
	} {
		name := f.Rename(tt.npu)
		if skip := f.Skip(name); name != tt.name || skip != tt.skip {
			t.Errorf("%s: %s %q, want %s %q", tt.npu, name, skip, tt.name, tt.skip)
		}
		names = append(names, name)
	}
	if diff := cmp.Diff([]string{"gone"}, f.Unmatched(slices.Values(names))); diff != "" {
		t.Error(diff)
	}
	none := (*NodeFilter)(nil)
	if none.Rename("a") != "a" || none.Skip("a") != "" || none.Unmatched(slices.Values(names)) != nil || (&NodeFilter{}).Skip("a") != "" {
		t.Error("no filter changes names")
	}
}
