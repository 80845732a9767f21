package dumpconf

// newer are the keys of a file that its target version ignores.
func (r *Report) newer() []Finding {
	return r.findings(func(f *Finding) bool { return f.Rule == newerRule })
}

// newerRule finds what is newer than the target version.
const newerRule = "ACL091"

// asRead returns the report with the settings as the target version reads them, which
// ignores what is newer. Before 1.2 MindSpore's block of the device had an
// op_debug_mode of its own.
func (r *Report) asRead(target Version) *Report {
	out, d := *r, &decoder{target: target}
	switch {
	case target.IsNewest():
	case r.ACL != nil:
		out.ACL = readACL(d, r.Doc.Root)
		if since, ok := sceneSince[out.ACL.DumpScene.Value]; ok && target.lacks(since) {
			out.ACL.DumpScene = Setting[string]{Path: out.ACL.DumpScene.Path}
		}
	case r.MindSpore != nil:
		out.MindSpore = readMindSpore(d, r.Doc.Root)
		if target.Before(sinceMS12) {
			out.MindSpore.OpDebugMode = out.MindSpore.AsyncOpDebugMode
		}
	}
	return &out
}
