package trace_test

import (
	"testing"

	"dumptool/internal/trace"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name, role, other, module string
		layer, expert             int
	}{
		{"Module.layers.3.mlp.Linear.forward.0", "Module.layers.*.mlp.Linear.forward.0", "Module.layers.7.mlp.Linear.forward.0", "Module.layers.3.mlp.Linear.forward.0", 3, -1},
		{"Module.h.11.attn.A.forward.2", "Module.h.*.attn.A.forward.2", "Module.h.7.attn.A.forward.2", "Module.h.11.attn.A.forward.2", 11, -1},
		{"Module.layers.0.mlp.experts.local_experts.5.fc1.L.forward.0", "Module.layers.*.mlp.experts.local_experts.*.fc1.L.forward.0", "Module.layers.7.mlp.experts.local_experts.5.fc1.L.forward.0", "Module.layers.0.mlp", 0, 5},
		{"Module.layers.1.moe.experts.2.w.L.forward.0", "Module.layers.*.moe.experts.*.w.L.forward.0", "Module.layers.7.moe.experts.2.w.L.forward.0", "Module.layers.1.moe", 1, 2},
		{"Distributed.all_reduce.14.forward", "Distributed.all_reduce.*.forward", "Distributed.all_reduce.14.forward", "Distributed.all_reduce.14.forward", -1, -1},
		{"Torch.matmul.4.forward", "Torch.matmul.4.forward", "Torch.matmul.4.forward", "Torch.matmul.4.forward", -1, -1},
		{"decoder_layers_1_mlp_experts_local_experts_2_linear_fc1_L", "decoder_layers_*_mlp_experts_local_experts_*_linear_fc1_L", "decoder_layers_7_mlp_experts_local_experts_2_linear_fc1_L", "decoder_layers_1_mlp", 1, 2},
		{"bert/encoder/layer_11/attention/MatMul_2", "bert/encoder/layer_*/attention/MatMul_2", "bert/encoder/layer_7/attention/MatMul_2", "bert/encoder/layer_11/attention/MatMul_2", 11, -1},
		{"layers.0.moe.experts.fc1", "layers.*.moe.experts.fc1", "layers.7.moe.experts.fc1", "layers.0.moe", 0, -1},
		{"my_players_3_layers_", "my_players_3_layers_", "my_players_3_layers_", "my_players_3_layers_", -1, -1},
		{"Module.layers.x.mlp", "Module.layers.x.mlp", "Module.layers.x.mlp", "Module.layers.x.mlp", -1, -1},
		{"layers", "layers", "layers", "layers", -1, -1},
		{"", "", "", "", -1, -1},
	} {
		role, layer, expert := trace.ParseName(c.name)
		if role != c.role || layer != c.layer || expert != c.expert || trace.RoleOf(c.name) != c.role {
			t.Errorf("%s: %s, layer %d, expert %d; want %s, %d, %d", c.name, role, layer, expert, c.role, c.layer, c.expert)
		}
		if got := trace.WithLayer(c.name, 7); got != c.other {
			t.Errorf("%s as layer 7: %s, want %s", c.name, got, c.other)
		}
		if got := trace.ExpertsModule(c.name); got != c.module {
			t.Errorf("the module around the experts of %s: %s, want %s", c.name, got, c.module)
		}
		if _, _, got := trace.ParseName(trace.WithExpert(c.name, 9)); got != -1 != (expert != -1) || got != -1 && got != 9 {
			t.Errorf("%s as expert 9 has the number %d", c.name, got)
		}
	}
}

// TestWithoutClass: the class of a module is the last word before direction and number; functions have none.
func TestWithoutClass(t *testing.T) {
	for name, want := range map[string]string{
		"Module.layers.3.fc.Linear.forward.0":      "Module.layers.3.fc.forward.0",
		"Module.layers.3.Linear.Linear.backward.1": "Module.layers.3.Linear.backward.1",
		"Cell.net.conv.Conv2d.forward.0":           "Cell.net.conv.forward.0",
		"Functional.linear.0.forward":              "",
		"Default/network/conv1/Conv2D-op515":       "",
	} {
		if got := trace.WithoutClass(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestIsInModule: a name is below a module, whatever separates its parts.
func TestIsInModule(t *testing.T) {
	for _, c := range []struct {
		name, module string
		want         bool
	}{
		{"layers.0.mlp.router.R", "layers.0.mlp", true}, {"layers_0_mlp_router", "layers_0_mlp", true}, {"bert/layer_0/mlp/router", "bert/layer_0/mlp", true},
		{"layers.0.mlp", "layers.0.mlp", false}, {"layers.0.mlp2.R", "layers.0.mlp", false}, {"layers.1.mlp.R", "layers.0.mlp", false},
	} {
		if got := trace.IsInModule(c.name, c.module); got != c.want {
			t.Errorf("%s in %s: %v", c.name, c.module, got)
		}
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		ranks        []int
		ranges, text string
	}{
		{nil, "", "ranks "}, {[]int{4}, "4", "rank 4"}, {[]int{0, 1}, "0-1", "ranks 0-1"},
		{[]int{8, 2, 0, 1, 3}, "0-3,8", "ranks 0-3,8"}, {[]int{7, 5, 3}, "3,5,7", "ranks 3,5,7"},
	} {
		if got := trace.Ranges(c.ranks); got != c.ranges || trace.RankText(c.ranks).String() != c.text {
			t.Errorf("%v: %s, %s; want %s, %s", c.ranks, got, trace.RankText(c.ranks).String(), c.ranges, c.text)
		}
	}
}
