package unshard

import (
	"strconv"
	"testing"

	"dumptool/internal/tensor"
	"dumptool/internal/trace"
	"dumptool/internal/unshard/locate"
)

// TestWorstPlace: of the tensors that a rank has of a role the worst counts, in any order.
func TestWorstPlace(t *testing.T) {
	ref := &trace.Tensor{Shape: tensor.Shape{4, 2}}
	at := func(layer int, m *locate.Role) (*trace.Tensor, Location) {
		name := "Module.layers." + strconv.Itoa(layer) + ".x.X.forward.0"
		c := &trace.Call{Name: name, Role: trace.RoleOf(name), Layer: layer, Place: layer}
		c.Out = []*trace.Tensor{{Call: c, Name: name + ".output.0", Path: "0"}}
		return c.Out[0], Location{Ref: ref, Map: m}
	}
	found := func(score float64, instances int) *locate.Role {
		return &locate.Role{Map: locate.Map{Axes: make([]locate.Index, 2), Score: score}, Found: true, Instances: instances}
	}
	for _, test := range []struct {
		all       []*locate.Role // by layer
		kind      string
		score     tensor.Number
		instances int
	}{
		{[]*locate.Role{found(1, 3), nil, found(0.9, 2)}, "NOT_LOCATED", 0, 0},
		{[]*locate.Role{found(1, 3), found(0.75, 5), found(0.9, 2)}, "WHOLE", 0.75, 5},
		{[]*locate.Role{found(1, 3), found(1, 5)}, "WHOLE", 1, 3},
	} {
		for range 30 { // often enough to see all orders of a Go map
			l := &StepPositions{At: make(map[*trace.Tensor]Location)}
			for layer, m := range test.all {
				x, where := at(layer, m)
				l.At[x] = where
			}
			all := l.Maps("0")
			if len(all) != 1 || all[0].Kind != test.kind || all[0].Score != test.score || all[0].Instances != test.instances {
				t.Fatalf("found %+v, want one map %s with score %v and %d instances", all[0], test.kind, test.score, test.instances)
			}
		}
	}
}
