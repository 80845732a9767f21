package ranks

import (
	"maps"
	"slices"

	"dumptool/internal/lang"
)

const (
	// A role makes NaN by design where more than this share of its instances do, and too
	// little is known of it where it has fewer instances.
	nanByDesign   = 0.25
	fewestOfARole = 4
)

// makesNaN finds operators that make NaN or infinities of finite numbers while most of the same
// role, of other ranks, layers and steps, do not.
func (r *Run) makesNaN(d *digests) (found []*Finding) {
	made, all := make(map[string][]*Call), make(map[string]int)
	for c := range r.calls() {
		if c.Comm != nil {
			continue
		}
		bad := slices.ContainsFunc(c.Out, func(t *Tensor) bool { return d.numbersOf(t) == notFinite })
		if !d.areFinite(slices.Concat(c.In, c.Params), bad) {
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
			f := c.finding(Compute, medium,
				lang.Sayf("NaN or infinities of finite inputs, while %d of %d such operators make none", "输入均为有限值却产生 NaN 或无穷，而 %[2]d 个同类算子中有 %[1]d 个没有", all[role]-n, all[role]))
			f.Own = !c.unplaced // which may read what other ranks have
			found = append(found, f)
		}
	}
	return found
}

// areFinite reports whether all tensors, of which there is one, are known to be finite. Elements
// are looked at only where that matters.
func (d *digests) areFinite(all []*Tensor, matters bool) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(t *Tensor) bool {
		if matters {
			return d.numbersOf(t) != finite
		}
		return t.numbers == notFinite || t.numbers == 0 && t.Digest != ""
	})
}
