package dumpdir

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/sidefile"
)

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
