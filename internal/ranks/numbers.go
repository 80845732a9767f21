package ranks

import (
	"maps"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

const (
	// A role makes NaN by design where more than this share of its instances do, and too
	// little is known of it where it has fewer instances.
	nanByDesign   = 0.25
	fewestOfARole = 4
)

// makesNaN finds operators that make NaN or infinities of finite numbers while most of the same
// role, of other ranks, layers and steps, do not.
func (r *Run) makesNaN(d *trace.Digests) (found []*Finding) {
	made, all := make(map[string][]*trace.Call), make(map[string]int)
	for c := range r.AllCalls() {
		if c.Comm != nil {
			continue
		}
		bad := slices.ContainsFunc(c.Out, d.IsNotFinite)
		if !d.AreFinite(slices.Concat(c.In, c.Params), bad) {
			continue
		}
		all[c.Role]++
		if bad {
			made[c.Role] = append(made[c.Role], c)
		}
	}
	for _, role := range slices.Sorted(maps.Keys(made)) {
		n := len(made[role])
		if all[role] < fewestOfARole || float64(n) > nanByDesign*float64(all[role]) {
			continue
		}
		for _, c := range made[role] {
			f := newFinding(c, Compute, medium,
				lang.Say("NaN or infinities of finite inputs, while %d of %d such operators make none", all[role]-n, all[role]))
			f.Own = !c.Unplaced // which may read what other ranks have
			found = append(found, f)
		}
	}
	return found
}
