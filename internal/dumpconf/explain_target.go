package dumpconf

// understood is a setting as a release reads it: nothing when the key is newer.
func understood[T any](s *Setting[T], table *keyTable, target Version) {
	if k := table.find(lastOf(s.Path)); k != nil && s.Present() && !k.Since.IsNewest() && target.lacks(k.Since) {
		*s = Setting[T]{Path: s.Path}
	}
}

// forTarget is the file as a release reads it, which ignores what is newer.
func (a *ACL) forTarget(target Version) *ACL {
	if target.IsNewest() {
		return a
	}
	b := *a
	for _, s := range []*Setting[string]{&b.DumpDebug, &b.DumpStep, &b.DumpData, &b.DumpScene, &b.DumpLevel, &b.DumpKernelData} {
		understood(s, &aclDump, target)
	}
	if since, ok := sceneSince[b.DumpScene.Value]; ok && target.lacks(since) {
		b.DumpScene = Setting[string]{Path: b.DumpScene.Path}
	}
	understood(&b.DumpStats, &aclDump, target)
	if !b.DumpStep.Present() {
		b.Steps = nil
	}
	items := make([]ACLItem, len(b.DumpList.Value))
	for i, it := range b.DumpList.Value {
		understood(&it.WatcherNodes, &aclItem, target)
		understood(&it.OptypeBlacklist, &aclItem, target)
		understood(&it.OpnameBlacklist, &aclItem, target)
		understood(&it.OpnameRange, &aclItem, target)
		items[i] = it
	}
	b.DumpList.Value = items
	return &b
}

// forTarget is the file as a release reads it, which ignores what is newer.
// Before 1.2 the block of the device had an op_debug_mode of its own.
func (m *MindSpore) forTarget(target Version) *MindSpore {
	if target.IsNewest() {
		return m
	}
	b := *m
	for _, s := range []*Setting[uint64]{&b.OpDebugMode, &b.OverflowNumber, &b.InitialIteration} {
		understood(s, &mindSporeCommon, target)
	}
	understood(&b.SavedData, &mindSporeCommon, target)
	understood(&b.FileFormat, &mindSporeCommon, target)
	understood(&b.StatisticCategory, &mindSporeCommon, target)
	understood(&b.SaveKernelArgs, &mindSporeE2E, target)
	understood(&b.StatCalcMode, &mindSporeE2E, target)
	understood(&b.DeviceStatPrecisionMode, &mindSporeE2E, target)
	understood(&b.SampleMode, &mindSporeE2E, target)
	understood(&b.SampleNum, &mindSporeE2E, target)
	if target.Before(sinceMS12) {
		b.OpDebugMode = b.AsyncOpDebugMode
	}
	return &b
}

// newer are the keys of a file that its target version ignores.
func (r *Report) newer() []*Finding {
	var out []*Finding
	for i := range r.Findings {
		if r.Findings[i].Rule == newerRule {
			out = append(out, &r.Findings[i])
		}
	}
	return out
}

// newerRule finds what is newer than the target version.
const newerRule = "ACL091"

// asRead returns the report with the settings as the target version reads them.
func (r *Report) asRead(target Version) *Report {
	out := *r
	if r.ACL != nil {
		out.ACL = r.ACL.forTarget(target)
	}
	if r.MindSpore != nil {
		out.MindSpore = r.MindSpore.forTarget(target)
	}
	return &out
}
