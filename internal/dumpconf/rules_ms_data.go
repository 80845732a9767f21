package dumpconf

import (
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// mindSporeDataRules check what is saved, and as what.
var mindSporeDataRules = []rule{
	{id: "MS024", severity: Error, checks: "saved_data is not tensor, statistic or full", message: asSaid,
		run: (*reporter).values},
	{id: "MS025", severity: Error, checks: "statistics on CPU",
		message: Text{EN: "saved_data %s: statistics are not available on CPU; use tensor", ZH: "saved_data %s：CPU 上不支持统计量，请用 tensor"},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.savesStatistics() && r.opt.isCPU(), m.SavedData.valueSpan(), show(m.SavedData.Value)).suggest("tensor")
		}},
	{id: "MS026", severity: Error, checks: "statistics without e2e_dump_settings need file_format npy",
		guess: true, message: Text{EN: `saved_data %s needs "file_format": "npy" where e2e_dump_settings is missing`, ZH: `没有 e2e_dump_settings 时 saved_data %s 需要 "file_format": "npy"`},
		ms: func(m *MindSpore, r *reporter) {
			if !m.savesStatistics() || m.hasE2E() || r.opt.noNPU() || m.FileFormat.Value == "npy" || m.FileFormat.misread() {
				return
			}
			if r.lacksE2E() {
				return // another rule wants the block
			}
			r.insert(r.at(m.SavedData.valueSpan(), show(m.SavedData.Value)), m.Common, "file_format", "npy")
		}},
	{id: "MS027", severity: Warning, checks: "statistic_category without statistics",
		guess: true, message: Text{EN: `statistic_category is ignored while saved_data is "tensor"; write "statistic" or "full"`, ZH: `saved_data 为 "tensor" 时 statistic_category 会被忽略；请写 "statistic" 或 "full"`},
		ignored: Text{EN: `not used while saved_data is "tensor"`, ZH: `saved_data 为 "tensor" 时不生效`},
		ms: func(m *MindSpore, r *reporter) {
			r.when(m.StatisticCategory.Present() && (!m.SavedData.Present() || m.SavedData.Value == "tensor"), m.StatisticCategory.keySpan())
		}},
	{id: "MS028", severity: Error, checks: "statistic_category is empty, or has an item that is unknown, not for the device or listed twice", message: asSaid,
		ignored: Text{EN: "not computed on the device", ZH: "设备侧不支持该统计项"},
		ms: func(m *MindSpore, r *reporter) {
			s, seen := m.StatisticCategory, make(map[string]bool)
			if s.isEmpty() {
				r.as(Info, s.valueSpan(), Text{EN: "statistic_category is empty; the default is max, min, l2norm", ZH: "statistic_category 为空，默认为 max、min、l2norm"})
			}
			for _, item := range s.Value {
				if item.OK {
					r.statistic(item, seen)
				}
			}
		}},
	{id: "MS029", severity: Error, checks: "file_format is not bin or npy", message: asSaid,
		run: (*reporter).values},
	{id: "MS030", severity: Warning, checks: "file_format beside e2e_dump_settings",
		guess: true, message: Text{EN: "file_format is not used beside e2e_dump_settings; the files are npy", ZH: "有 e2e_dump_settings 时 file_format 不生效，文件为 npy"},
		ignored: Text{EN: "not used beside e2e_dump_settings: the files are npy", ZH: "有 e2e_dump_settings 时不生效，文件为 npy"},
		ms:      func(m *MindSpore, r *reporter) { r.when(m.FileFormat.Present() && m.hasE2E(), m.FileFormat.keySpan()) }},
}

// statistic reports an item of statistic_category. What was seen is kept under
// the first of the names that mean the same.
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
	m := r.check.ms
	onDevice := m.StatCalcMode.Value == "device" && !r.opt.noNPU() && !m.savesTensors()
	switch {
	case !slices.Contains(hostStatistics, item.Value):
		best := r.nearest(item.Value, hostStatistics)
		f := r.at(item.valueSpan(), lang.Sayf("%s is not a statistic; allowed are %s", "%s 不是统计项，可选值为 %s", show(item.Value), list(hostStatistics))).suggest(best)
		if best != "" && strings.EqualFold(best, item.Value) {
			f.repair(item, best)
		}
	case again:
		r.as(Info, item.valueSpan(), lang.Sayf("%s is listed twice", "%s 重复", show(item.Value)))
	case onDevice && !slices.Contains(deviceStatistics, item.Value):
		r.as(Warning, item.valueSpan(), lang.Sayf("%s is computed on the host only; stat_calc_mode \"device\" leaves it out", "%s 只能在主机侧计算；stat_calc_mode 为 \"device\" 时不输出", show(item.Value)))
	}
}
