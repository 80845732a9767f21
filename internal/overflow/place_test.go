package overflow

import (
	"path/filepath"
	"testing"
)

func TestPlace(t *testing.T) {
	tests := []struct{ path, device, step, model string }{
		{"/home/x/output/20200808163566/0/npu_cluster_0/11/3/f", "0", "3", "npu_cluster_0"},
		{"/dump/20200808163566/7/11/2/f", "7", "2", ""},
		{"/dump/20200808163566/7/f", "7", "", ""},
		{"/p/12/20200808163566/1/net/11/0/f", "1", "12", "net"},
		{"/p/rank_5/20200808163500/step_4/20200808163566/1/net/11/0/f", "5", "4", "net"},
		{"/p/rank_2/net/0/9/f", "2", "9", "net"},
		{"/p/rank_2/debug_files/9/f", "2", "9", ""},
		{"/p/3/resnet_graph_0/0/8/f", "3", "8", "resnet"},
		{"/some/where/else/f", "", "", ""},
		{"/home/2026/data/f", "", "", ""},
	}
	for _, tt := range tests {
		p := placeOf(filepath.FromSlash(tt.path), filepath.Dir(filepath.FromSlash(tt.path)))
		if p.Device != tt.device || p.Step != tt.step || p.Model != tt.model {
			t.Errorf("%s: device %q, step %q, model %q; want %q, %q, %q", tt.path, p.Device, p.Step, p.Model, tt.device, tt.step, tt.model)
		}
	}
}

// TestPlaceAboveTheTree: a number above the tree is no step.
func TestPlaceAboveTheTree(t *testing.T) {
	p := placeOf("/tmp/001/20200808163566/0/net/11/3/f", "20200808163566/0/net/11/3")
	if p.Device != "0" || p.Step != "3" {
		t.Errorf("device %q, step %q", p.Device, p.Step)
	}
}

// TestPlacesAreOrdered: by device as a number, then by step as a number.
func TestPlacesAreOrdered(t *testing.T) {
	ordered := []string{
		"/d/20200808163566/2/net/11/0/f", "/d/20200808163566/2/net/11/9/f", "/d/20200808163566/2/net/11/10/f",
		"/d/20200808163567/2/net/11/0/f", "/d/20200808163566/10/net/11/0/f",
	}
	for i := range ordered[1:] {
		if comparePlaces(placeOf(ordered[i], ""), placeOf(ordered[i+1], "")) >= 0 {
			t.Errorf("%s does not come before %s", ordered[i], ordered[i+1])
		}
	}
}
