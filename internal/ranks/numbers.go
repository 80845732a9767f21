package ranks

import (
	"maps"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// designShare is the share of the operators of a role, 0 to 1, from which on they make NaN by design.
const designShare = 0.25

// findNaNMakers finds operators that make NaN or infinities of finite inputs, while most operators of the same role in
// other ranks, layers and steps do not.
func (r *Run) findNaNMakers(d *trace.Digests) (found []*Finding) {
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
		if float64(n) > designShare*float64(all[role]) {
			continue
		}
		for _, c := range made[role] {
			f := newFinding(c, Compute, medium,
				lang.Say("NaN or infinities of finite inputs, while %d of %d such operators make none", all[role]-n, all[role]))
			f.Own = !c.Unplaced // an operator of unknown position may read data of other ranks
			found = append(found, f)
		}
	}
	return found
}
