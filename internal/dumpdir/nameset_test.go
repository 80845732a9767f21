package dumpdir

import (
	"fmt"
	"strings"
	"testing"
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
		if got := set.Wants(op); got != want {
			t.Errorf("%s %s: %v, want %v", op.Name, op.Header, got, want)
		}
	}
	if none := (*NameSet)(nil); !none.Wants(&Op{Name: "x"}) {
		t.Error("no set does not want all")
	}
}
