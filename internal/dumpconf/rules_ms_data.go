package dumpconf

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/dumpconf/jsonpos"
)

// mindSporeDataRules check what is saved, and as what.
func mindSporeDataRules() []rule {
	return []rule{
		{"MS024", Error, "", stageLint, "saved_data is not tensor, statistic or full", "%s",
			func(_ *check, r *reporter) { r.mistyped(); r.enums() }},
		{"MS025", Error, "", stageLint, "statistics on CPU",
			"saved_data %s: statistics are not available on CPU; use tensor",
			func(c *check, r *reporter) {
				if s := c.ms.SavedData; c.ms.savesStatistics() && c.opt.isCPU() {
					r.at(s.valueSpot(), show(s.Value)).Suggestion = "tensor"
				}
			}},
		{"MS026", Error, "", stageLint, "statistics without e2e_dump_settings need file_format npy",
			`saved_data %s needs "file_format": "npy" where e2e_dump_settings is missing`,
			func(c *check, r *reporter) {
				m := c.ms
				if !m.savesStatistics() || m.hasE2E() || c.opt.noNPU() || m.FileFormat.Value == "npy" || m.FileFormat.Present() && !m.FileFormat.OK {
					return
				}
				if c.lacksE2E() {
					return // another rule wants the block
				}
				f := r.at(m.SavedData.valueSpot(), show(m.SavedData.Value))
				f.Suggestion = `"file_format": "npy"`
				f.Edits = m.Common.insertion(c.doc.Source(), "file_format", "npy")
			}},
		{"MS027", Warning, "", stageLint, "statistic_category without statistics",
			`statistic_category is ignored while saved_data is "tensor"; write "statistic" or "full"`,
			func(c *check, r *reporter) {
				m := c.ms
				if m.StatisticCategory.Present() && (!m.SavedData.Present() || m.SavedData.Value == "tensor") {
					r.at(m.StatisticCategory.keySpot())
				}
			}},
		{"MS028", Error, "", stageLint, "statistic_category is empty, or has an item that is unknown, not for the device or listed twice", "%s",
			func(c *check, r *reporter) {
				s := c.ms.StatisticCategory
				if s.OK && len(s.Node.Elems) == 0 {
					r.as(Info, s.valueSpot(), "statistic_category is empty; the default is max, min, l2norm")
				}
				seen := make(map[string]bool)
				for _, item := range s.Value {
					if item.OK && !r.full() {
						r.statistic(item, seen)
					}
				}
			}},
		{"MS029", Error, "", stageLint, "file_format is not bin or npy", "%s",
			func(_ *check, r *reporter) { r.mistyped(); r.enums() }},
		{"MS030", Warning, "", stageLint, "file_format beside e2e_dump_settings",
			"file_format is not used beside e2e_dump_settings; the files are npy",
			func(c *check, r *reporter) {
				if c.ms.FileFormat.Present() && c.ms.hasE2E() {
					r.at(c.ms.FileFormat.keySpot())
				}
			}},
	}
}

// statistic reports an item of statistic_category. What was seen is kept under
// the name that tells synonyms.
func (r *reporter) statistic(item Setting[string], seen map[string]bool) {
	name := item.Value
	switch name {
	case "hash":
		name = "hash:sha1"
	case "hash:md5":
		name = "md5"
	}
	again := seen[name]
	seen[name] = true
	onDevice := r.c.ms.StatCalcMode.Value == "device" && !r.c.opt.noNPU() && !r.c.ms.savesTensors()
	switch {
	case !slices.Contains(hostStatistics, item.Value):
		best := nearest(item.Value, hostStatistics)
		f := r.at(item.valueSpot(), fmt.Sprintf("%s is not a statistic; allowed are %s", show(item.Value), list(hostStatistics)))
		f.Suggestion = best
		if best != "" && strings.EqualFold(best, item.Value) {
			f.Edits = replace(item.valueSpot(), jsonpos.Quote(best))
		}
	case again:
		r.as(Info, item.valueSpot(), fmt.Sprintf("%s is listed twice", show(item.Value)))
	case onDevice && !slices.Contains(deviceStatistics, item.Value):
		r.as(Warning, item.valueSpot(), fmt.Sprintf("%s is computed on the host only; stat_calc_mode \"device\" leaves it out", show(item.Value)))
	}
}
