package trace

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"dumptool/internal/dumpdir"
)

// TestHcomInput: in HcomAllToAllV the data comes before the counts and displacements.
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

// TestBatchOfFiles: in a batch without arguments, a tensor that is an output only was received. Sent tensors are
// inputs, and also outputs if the dump has all arguments after the call.
func TestBatchOfFiles(t *testing.T) {
	for _, test := range []struct {
		in, out []string // paths
		want    string
	}{
		{[]string{"0.0"}, nil, "isend 0.0"},
		{nil, []string{"0.0"}, "irecv 0.0"},
		{[]string{"0.0"}, []string{"0.0", "0.1"}, "isend 0.0, irecv 0.1"},
		{[]string{"0.1", "0.2"}, []string{"0.0", "0.1", "0.2", "0.3"}, "isend 0.1, isend 0.2, irecv 0.0, irecv 0.3"},
	} {
		c := new(Call)
		for _, path := range test.in {
			c.In = append(c.In, &Tensor{Call: c, Path: path})
		}
		for _, path := range test.out {
			c.Out = append(c.Out, &Tensor{Call: c, Path: path})
		}
		var got []string
		for _, part := range commOfFiles("batch_isend_irecv", c).Transfers() {
			got = append(got, part.Name+" "+append(part.In, part.Out...)[0].Path)
			if len(part.In)+len(part.Out) != 1 || part.Root != -1 {
				t.Errorf("%s: %d inputs, %d outputs, root %d", part.Name, len(part.In), len(part.Out), part.Root)
			}
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("inputs %q, outputs %q: %q, want %q", test.in, test.out, got, test.want)
		}
	}
}
