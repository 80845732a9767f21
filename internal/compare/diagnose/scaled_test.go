package diagnose

import (
	"testing"

	"dumptool/internal/compare/metrics/noise"
)

// TestScaledRange: a factor on neighbouring groups is found with its range; a factor on all
// groups, on separated groups or of different sizes is not.
func TestScaledRange(t *testing.T) {
	groups := func(scales ...float32) *noise.Groups {
		g := &noise.Groups{Count: int64(2*len(scales) - 1), Size: 8, Fold: 2, Scale: scales}
		for _, s := range scales {
			g.RefRMS = append(g.RefRMS, 2)
			rest := float32(1e-4)
			if s < 0 {
				g.RMS = append(g.RMS, -2*s+rest)
			} else {
				g.RMS = append(g.RMS, 2*s+rest)
			}
		}
		return g
	}
	for name, tt := range map[string]struct {
		groups     *noise.Groups
		first, end int64
		factor     float64
		ok         bool
	}{
		"the middle":        {groups(0, 0.5, 0.5, 0), 2, 6, 0.5, true},
		"the end":           {groups(0, 0, 0, -0.25), 6, 7, -0.25, true},
		"all":               {groups(0.5, 0.5, 0.5, 0.5), 0, 0, 0, false},
		"none":              {groups(0, 0, 0, 0), 0, 0, 0, false},
		"apart":             {groups(0.5, 0, 0.5, 0), 0, 0, 0, false},
		"different factors": {groups(0.5, 0.2, 0, 0), 0, 0, 0, false},
		"not known":         {&noise.Groups{Count: 2, Size: 8, Fold: 1, RMS: noise.Column{1, 1}, RefRMS: noise.Column{1, 1}}, 0, 0, 0, false},
		"one group":         {groups(0.5), 0, 0, 0, false},
	} {
		first, end, factor, ok := scaledRange(tt.groups)
		if ok != tt.ok || ok && (first != tt.first || end != tt.end || factor != tt.factor) {
			t.Errorf("%s: [%d, %d) x %v, %t; want [%d, %d) x %v, %t", name, first, end, factor, ok, tt.first, tt.end, tt.factor, tt.ok)
		}
	}
}
