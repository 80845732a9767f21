package dumpconf

import (
	"slices"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// ACL is an acl.json as far as it speaks of dumps.
type ACL struct {
	Root Object
	Dump Object

	DumpPath, DumpMode, DumpOpSwitch, DumpDebug, DumpStep Setting[string]
	DumpData, DumpScene, DumpLevel, DumpKernelData        Setting[string]

	DumpStats Setting[[]Setting[string]]
	DumpList  Setting[[]ACLItem]
	Steps     []lang.Step // of DumpStep; nil means all
}

// ACLItem is an item of dump_list.
type ACLItem struct {
	Object
	ModelName           Setting[string]
	Layer, WatcherNodes Setting[[]Setting[string]]
	OptypeBlacklist     Setting[[]ACLBlacklistEntry]
	OpnameBlacklist     Setting[[]ACLBlacklistEntry]
	OpnameRange         Setting[[]ACLRange]
}

// ACLBlacklistEntry is an entry of optype_blacklist or opname_blacklist.
type ACLBlacklistEntry struct {
	Object
	Name Setting[string]
	Pos  Setting[[]Setting[string]]
}

// ACLRange is an entry of opname_range: a closed interval in execution order.
type ACLRange struct {
	Object
	Begin, End Setting[string]
}

func readACL(d *decoder, root *jsonpos.Value) *ACL {
	a := &ACL{Root: d.top(root, &aclRoot)}
	a.Dump = d.object(a.Root, "dump", &aclDump)
	o := a.Dump
	a.DumpPath = d.str(o, "dump_path")
	a.DumpMode = d.str(o, "dump_mode")
	a.DumpOpSwitch = d.str(o, "dump_op_switch")
	a.DumpDebug = d.str(o, "dump_debug")
	a.DumpStep = d.str(o, "dump_step")
	a.DumpData = d.str(o, "dump_data")
	a.DumpScene = d.str(o, "dump_scene")
	a.DumpLevel = d.str(o, "dump_level")
	a.DumpKernelData = d.str(o, "dump_kernel_data")
	a.DumpStats = d.strings(o, "dump_stats")
	a.DumpList = objects(d, o, "dump_list", &aclItem, func(in Object) ACLItem {
		return readACLItem(d, in)
	})
	if a.DumpStep.Value != "" {
		a.Steps = lang.ParseSteps(a.DumpStep.Value)
	}
	return a
}

func readACLItem(d *decoder, in Object) ACLItem {
	blacklist := func(name string) Setting[[]ACLBlacklistEntry] {
		return objects(d, in, name, &aclBlacklist, func(e Object) ACLBlacklistEntry {
			return ACLBlacklistEntry{Object: e, Name: d.str(e, "name"), Pos: d.strings(e, "pos")}
		})
	}
	return ACLItem{
		Object:          in,
		ModelName:       d.str(in, "model_name"),
		Layer:           d.strings(in, "layer"),
		WatcherNodes:    d.strings(in, "watcher_nodes"),
		OptypeBlacklist: blacklist("optype_blacklist"),
		OpnameBlacklist: blacklist("opname_blacklist"),
		OpnameRange: objects(d, in, "opname_range", &aclRange, func(e Object) ACLRange {
			return ACLRange{Object: e, Begin: d.str(e, "begin"), End: d.str(e, "end")}
		}),
	}
}

// OpSwitch reports whether operators that are called one by one are dumped.
func (a *ACL) OpSwitch() bool { return a.DumpOpSwitch.Value == "on" }

// Overflow reports whether operators that overflow are dumped.
func (a *ACL) Overflow() bool { return a.DumpDebug.Value == "on" }

// Watcher reports whether memory is watched.
func (a *ACL) Watcher() bool { return a.DumpScene.Value == watcherScene }

// Exception reports whether failing operators are dumped.
func (a *ACL) Exception() bool { return slices.Contains(exceptionScenes, a.DumpScene.Value) }

// Mode returns dump_mode or its default.
func (a *ACL) Mode() string {
	if a.DumpMode.OK && a.DumpMode.Value != "" {
		return a.DumpMode.Value
	}
	return "output"
}

// Stats reports whether statistics are dumped in place of tensors.
func (a *ACL) Stats() bool { return a.DumpData.Value == "stats" }

// Dumps reports whether the runtime switches any dump on for this file; the
// data of Ascend C kernels is switched apart from that.
func (a *ACL) Dumps() bool {
	return a.DumpList.Present() && a.DumpList.OK && len(a.DumpList.Node.Elems) > 0 ||
		a.OpSwitch() || a.Overflow() || a.DumpScene.Value != ""
}
