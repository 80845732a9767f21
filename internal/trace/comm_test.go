package trace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// argument returns a leaf of a call: a tensor if the value is empty.
func argument(kind tensor.Kind, path, value string) msprobe.Leaf {
	l := msprobe.Leaf{Name: string(kind) + "." + path, Kind: kind, Path: path}
	switch {
	case value == "":
		l.Tensor = new(msprobe.Tensor)
	case strings.HasPrefix(value, "["):
		l.Value = &msprobe.Value{}
		for part := range strings.SplitSeq(strings.Trim(value, "[]"), " ") {
			var rank int
			_, _ = fmt.Sscan(part, &rank)
			l.Value.Group = append(l.Value.Group, rank)
		}
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		l.Value = &msprobe.Value{Kind: jsonpos.Number, Text: value}
	default:
		l.Value = &msprobe.Value{Kind: jsonpos.String, Text: value}
	}
	return l
}

// TestArguments: what a communication sends and receives, and its ranks, by the positions of its arguments and by
// their keywords.
func TestArguments(t *testing.T) {
	in, out := tensor.Input, tensor.Output
	for _, c := range []struct {
		name, api string
		leaves    []msprobe.Leaf
		want      string // tensors in, tensors out, group, root, operation, sent and received splits
	}{
		{"positions", "all_reduce", []msprobe.Leaf{argument(in, "0", ""), argument(in, "1", "RedOpType.SUM"), argument(in, "2", "[0 1]"), argument(out, "0", "")}, "[input.0] [output.0] [0 1] -1 1 [] []"},
		{"keywords", "all_reduce", []msprobe.Leaf{argument(in, "tensor", ""), argument(in, "op", "RedOpType.AVG"), argument(in, "group", "[2 3]"), argument(out, "tensor", "")}, "[input.tensor] [output.tensor] [2 3] -1 2 [] []"},
		{"an unknown reduction", "all_reduce", []msprobe.Leaf{argument(in, "0", ""), argument(in, "op", "RedOpType.BXOR"), argument(out, "0", "")}, "[input.0] [output.0] [] -1 0 [] []"},
		{"a named group", "all_reduce", []msprobe.Leaf{argument(in, "0", ""), argument(in, "group", "tp_group"), argument(out, "0", "")}, "[input.0] [output.0] tp_group -1 1 [] []"},
		{"the world by its name", "all_reduce", []msprobe.Leaf{argument(in, "0", ""), argument(in, "group", "hccl_world_group"), argument(out, "0", "")}, "[input.0] [output.0] [] -1 1 [] []"},
		{"a root", "broadcast", []msprobe.Leaf{argument(in, "0", ""), argument(in, "1", "3"), argument(out, "0", "")}, "[input.0] [output.0] [] 3 1 [] []"},
		{"a root by its keyword", "broadcast", []msprobe.Leaf{argument(in, "0", ""), argument(in, "src_rank", "5"), argument(out, "0", "")}, "[input.0] [output.0] [] 5 1 [] []"},
		{"no buffer for the result", "all_gather_into_tensor", []msprobe.Leaf{argument(in, "output_tensor", ""), argument(out, "0", "")}, "[input.output_tensor] [output.0] [] -1 1 [] []"},
		{"a list", "all_gather", []msprobe.Leaf{argument(in, "0.0", ""), argument(in, "0.1", ""), argument(in, "1", ""), argument(out, "0.0", ""), argument(out, "0.1", "")}, "[input.1] [output.0.0 output.0.1] [] -1 1 [] []"},
		{"splits", "all_to_all_single", []msprobe.Leaf{argument(in, "0", ""), argument(in, "1", ""), argument(in, "2.0", "1"), argument(in, "2.1", "2"), argument(in, "input_split_sizes.0", "3"), argument(in, "input_split_sizes.1", "0"), argument(out, "0", "")}, "[input.1] [output.0] [] -1 1 [3 0] [1 2]"},
		{"a barrier", "barrier", []msprobe.Leaf{argument(in, "0", "")}, "[] [] [] -1 1 [] []"},
		{"a function that nobody knows", "new_one", []msprobe.Leaf{argument(in, "0", "")}, "[] [] [] -1 1 [] []"},
	} {
		tensors := make(map[string]*trace.Tensor)
		for _, l := range c.leaves {
			if l.Tensor != nil {
				tensors[l.Name] = &trace.Tensor{Name: l.Name}
			}
		}
		m := trace.NewComm(c.api, c.leaves, tensors)
		names := func(all []*trace.Tensor) (names []string) {
			for _, x := range all {
				names = append(names, x.Name)
			}
			return names
		}
		group := fmt.Sprint(m.Group)
		if m.GroupName != "" {
			group = m.GroupName
		}
		if got := fmt.Sprint(names(m.In), " ", names(m.Out), " ", group, " ", m.Root, " ", m.Op, " ", m.Sent, " ", m.Received); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestBatch: each send and receive of a batch is separate, and other functions are left out.
func TestBatch(t *testing.T) {
	p2p := func(path, op string, peer int) msprobe.Leaf {
		l := argument(tensor.Input, path, "")
		l.P2P = &msprobe.P2P{Op: op, Peer: peer, Tag: 7}
		return l
	}
	leaves := []msprobe.Leaf{p2p("0.0.tensor", "isend", 2), p2p("0.1.tensor", "irecv", 3), p2p("0.2.tensor", "other", 4), argument(tensor.Output, "0.1.tensor", "")}
	tensors := make(map[string]*trace.Tensor)
	for _, l := range leaves {
		tensors[l.Name] = &trace.Tensor{Name: l.Name}
	}
	m := trace.NewComm("batch_isend_irecv", leaves, tensors)
	var got []string
	for _, part := range m.Transfers() {
		got = append(got, fmt.Sprint(part.Name, " ", part.Root, " ", part.Tag, " ", len(part.In), " ", len(part.Out)))
	}
	if want := []string{"isend 2 7 1 0", "irecv 3 7 0 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if alone := trace.CommOf("send"); len(alone.Transfers()) != 1 || alone.Transfers()[0] != alone || len((*trace.Comm)(nil).Transfers()) != 0 {
		t.Error("a send stands for itself, an operator for none")
	}
}

func TestReductionOf(t *testing.T) {
	for text, want := range map[string]trace.Reduction{
		"RedOpType.SUM": trace.Sum, "sum": trace.Sum, "ReduceOp.AVG": trace.Avg, "mean": trace.Avg, "RedOpType.MAX": trace.Maximum, "min": trace.Minimum,
		"PRODUCT": trace.Product, "ReduceOp.BAND": trace.NoReduction, "": trace.NoReduction,
	} {
		if got := trace.ReductionOf(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestStages: the stage of a rank is the number of ranks that pass data on before it. Ranks that send in a circle
// have none.
func TestStages(t *testing.T) {
	for _, c := range []struct {
		name string
		from map[int]int // senders of each rank
		want map[int]int
	}{
		{"no pipeline", nil, map[int]int{0: 0, 1: 0, 2: 0}},
		{"a chain", map[int]int{1: 0, 2: 1}, map[int]int{0: 0, 1: 1, 2: 2}},
		{"two from one", map[int]int{1: 0, 2: 0}, map[int]int{0: 0, 1: 1, 2: 1}},
		{"a rank of another dump", map[int]int{0: 9}, map[int]int{0: 1, 1: 0, 2: 0}},
		{"a circle", map[int]int{0: 1, 1: 0}, map[int]int{2: 0}},
		{"from itself", map[int]int{1: 1}, map[int]int{0: 0, 1: 0, 2: 0}},
	} {
		s := &trace.Step{Calls: map[int][]*trace.Call{0: {}, 1: {}, 2: {}}}
		for rank, from := range c.from {
			m := trace.CommOf("recv")
			m.Root = from
			s.Calls[rank] = append(s.Calls[rank], &trace.Call{Rank: rank, Step: s, Comm: m})
		}
		if got := s.Stages(); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
