package dumpdir

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordedOperators reads a file of torch.utils.dumper: the tensors of an execution
// are an operator, and the executions are in the order of their numbers, which is not
// that of their names.
func TestRecordedOperators(t *testing.T) {
	path := filepath.Join("..", "..", "testdata", "golden", "inputs", "h5", "npu.h5")
	for _, tt := range []struct {
		ops  []string
		want string
	}{
		{nil, "3 5, 5 5, 7 5, 10 2, 13 4, 14 1"},
		{[]string{"NpuConvolutionBackward/5", "EmbeddingBackward"}, "5 5, 13 4"},
		{[]string{"/NpuConvolutionBackward/7/input/grad", "re:.*/mask"}, "7 1, 13 1"},
	} {
		run, err := Open(context.Background(), []string{path}, Options{})
		if err == nil {
			err = run.ReadHeaders(context.Background(), HeaderOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		round := run.Rounds[0]
		if got := round.Order; got.By != BySequence || got.Name != "sequence numbers of torch.utils.dumper" || got.Known != 6 || got.Of != 6 {
			t.Errorf("order %+v", got)
		}
		var set *NameSet
		if tt.ops != nil {
			if set, err = NewNameSet(tt.ops); err != nil {
				t.Fatal(err)
			}
		}
		if err := run.Choose(context.Background(), Selection{}, set, HeaderOptions{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, op := range run.Rounds[0].Ops {
			got = append(got, fmt.Sprintf("%s %d", op.Name[strings.LastIndex(op.Name, "/")+1:], len(op.Tensors)))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%q: operators and their tensors (-want +got):\n%s", tt.ops, diff)
		}
	}
}

// TestRankBySequence orders by the numbers of executions; what has none comes last.
func TestRankBySequence(t *testing.T) {
	items := []Item{{Names: []string{"c"}, Seq: 10}, {Names: []string{"b"}, Seq: 9}, {Names: []string{"a"}}, {Names: []string{"d"}, Seq: 10}}
	order, places, err := new(Sources).Rank(items)
	if err != nil || order.By != BySequence || order.Known != 3 {
		t.Errorf("order %+v, error %v", order, err)
	}
	if diff := cmp.Diff([]int{1, 0, 2, 1}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	if _, _, err := (&Sources{By: BySequence}).Rank(items[2:3]); err == nil || !strings.Contains(err.Error(), "torch.utils.dumper") {
		t.Errorf("error %v, want one that there are no numbers", err)
	}
}
