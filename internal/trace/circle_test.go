package trace

import "testing"

// TestCircle: operators that read each other's outputs are all kept, each once.
func TestCircle(t *testing.T) {
	calls := []*Call{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	from := map[*Call][]*Call{calls[0]: {calls[1]}, calls[1]: {calls[2]}, calls[2]: {calls[0]}}
	got := sortTopologically(calls, from)
	if len(got) != 3 || got[0] != calls[2] || got[1] != calls[1] || got[2] != calls[0] {
		t.Error(got)
	}
}
