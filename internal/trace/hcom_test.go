package trace

import (
	"slices"
	"strconv"
	"testing"

	"dumptool/internal/dumpdir"
)

// TestHcomInput: the data of HcomAllToAllV comes before the counts and displacements of what is
// sent and received.
func TestHcomInput(t *testing.T) {
	c := new(Call)
	for i := range 5 {
		c.In = append(c.In, &Tensor{Call: c, Path: strconv.Itoa(i), File: &dumpdir.Tensor{Index: i}})
	}
	c.Out = []*Tensor{{Call: c, Path: "0"}}
	for name, want := range map[string]int{"HcomAllToAllV": 0, "HcomReduceScatterV": 0, "HcomAllGatherV": 0, "all_to_all_single": 1, "all_gather_into_tensor": 1} {
		if m := commOfFiles(name, c); len(m.In) != 1 || !slices.Equal(m.In, c.In[want:want+1]) {
			t.Errorf("%s: %d inputs, want input %d", name, len(m.In), want)
		}
	}
}
