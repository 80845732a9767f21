package dumpconf

import (
	"slices"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// The keys of acl.json, from the dump chapter of the CANN documentation and the converter of the
// CANN runtime.

var (
	sinceCANN62  = Version{Major: 6, Minor: 2}
	sinceCANN70  = Version{Major: 7}
	sinceCANN81  = Version{Major: 8, Candidate: 1}
	sinceCANN83  = Version{Major: 8, Candidate: 3}
	sinceCANN82  = Version{Major: 8, Minor: 2}
	sinceCANN85  = Version{Major: 8, Minor: 5}
	firstVersion = Version{Major: 1}
)

var (
	onOff     = []string{"on", "off"}
	dumpModes = []string{"input", "output", "all"}
	dumpDatas = []string{"tensor", "stats"}
	// exceptionScenes lists the values of dump_scene that dump failing operators.
	exceptionScenes = []string{"lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump"}
)

const (
	watcherScene = "watcher"
	// folderPlaceholder is a path that every runtime accepts.
	folderPlaceholder = "/path/to/dump"
)

var aclRoot = keyTable{description: Text{EN: "the top level"}, allowsUnknown: true, keys: []Key{
	{Name: "dump", Type: TypeObject, Since: firstVersion, rule: "ACL005", members: &aclDump},
}}

var aclDump = keyTable{name: "dump", description: Text{EN: `"dump"`}, keys: []Key{
	{Name: "dump_path", Type: TypeString, Since: firstVersion, rule: "ACL010",
		Doc:      Text{EN: "existing folder for the dump files, or IPv4:path"},
		Question: Text{EN: "Folder for the dump files (must exist)?"}},
	{Name: "dump_list", Type: TypeObjects, Since: firstVersion, rule: "ACL011", members: &aclItem},
	{Name: "dump_mode", Type: TypeString, Values: dumpModes, Default: "output", Since: firstVersion, rule: "ACL010",
		Doc: Text{EN: "inputs, outputs or both"}},
	{Name: "dump_data", Type: TypeString, Values: dumpDatas, Default: "tensor", Since: sinceCANN70, rule: "ACL010",
		Doc: Text{EN: "whole tensors or their statistics"}},
	{Name: "dump_level", Type: TypeString, Values: []string{"op", "kernel", "all"}, Default: "all", Since: sinceCANN83, rule: "ACL010",
		Doc: Text{EN: "operators of the graph, aclnn kernels or both"}},
	{Name: "dump_step", Type: TypeString, Since: sinceCANN70, rule: "ACL010",
		Doc:      Text{EN: "steps to dump, such as 0|3-5|10, counted from 0; all when empty"},
		Question: Text{EN: "Steps to dump, such as 0|3-5 (empty: all)?"}},
	{Name: "dump_op_switch", Type: TypeString, Values: onOff, Default: "off", Since: firstVersion, rule: "ACL010"},
	{Name: "dump_debug", Type: TypeString, Values: onOff, Default: "off", Since: sinceCANN62, rule: "ACL010"},
	{Name: "dump_scene", Type: TypeString, Values: append(exceptionScenes[:4:4], watcherScene), Since: sinceCANN81, rule: "ACL010",
		since: map[string]Version{
			watcherScene: sinceCANN83, "aic_err_brief_dump": sinceCANN82, "aic_err_norm_dump": sinceCANN82, "aic_err_detail_dump": sinceCANN82,
		},
		Doc: Text{EN: "how much to dump of the operator"}},
	{Name: "dump_stats", Type: TypeStrings, Since: sinceCANN82, rule: "ACL011",
		Values: []string{"Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"},
		Doc:    Text{EN: "statistics to compute (Atlas A2)"}},
	{Name: "dump_kernel_data", Type: TypeString, Since: sinceCANN85, rule: "ACL010", hasOwnRule: true, isCommaList: true,
		Values: []string{"all", "printf", "tensor", "assert", "timestamp"},
		Doc:    Text{EN: "what to dump of kernels"}},
}}

var aclItem = keyTable{name: "dump_list", description: Text{EN: `an item of "dump_list"`}, keys: []Key{
	{Name: "model_name", Type: TypeString, Since: firstVersion, rule: "ACL010",
		Doc:      Text{EN: "models to dump: the names of their OM files without suffix; all when empty"},
		Question: Text{EN: "Models to dump, with commas between (empty: all)?"}},
	{Name: "layer", Type: TypeStrings, Since: firstVersion, rule: "ACL011",
		Doc:      Text{EN: "operators to dump, by name; all when empty"},
		Question: Text{EN: "Operators to dump, with commas between (empty: all)?"}},
	{Name: "watcher_nodes", Type: TypeStrings, Since: sinceCANN83, rule: "ACL011",
		Doc:      Text{EN: "operators whose outputs are watched"},
		Question: Text{EN: "Operators whose outputs are watched, with commas between?"}},
	{Name: "optype_blacklist", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011", members: &aclBlacklist,
		Doc: Text{EN: "operator types that are not dumped"}},
	{Name: "opname_blacklist", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011", members: &aclBlacklist,
		Doc: Text{EN: "operators that are not dumped, by name"}},
	{Name: "opname_range", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011", members: &aclRange},
}}

var aclBlacklist = keyTable{description: Text{EN: "an entry of a blacklist"}, keys: []Key{
	{Name: "name", Type: TypeString, Since: sinceCANN82, rule: "ACL010"},
	{Name: "pos", Type: TypeStrings, Since: sinceCANN82, rule: "ACL011"},
}}

var aclRange = keyTable{description: Text{EN: `an entry of "opname_range"`}, keys: []Key{
	{Name: "begin", Type: TypeString, Since: sinceCANN82, rule: "ACL010"},
	{Name: "end", Type: TypeString, Since: sinceCANN82, rule: "ACL010"},
}}

func aclProfiles() []Profile {
	field := aclDump.field
	path := field("dump_path").withPlaceholder(folderPlaceholder)
	filters := func(more ...Field) []Field {
		return append([]Field{path, aclItem.field("model_name").asStrings(), aclItem.field("layer"),
			aclItem.field("optype_blacklist"), aclItem.field("opname_blacklist")}, more...)
	}
	executed, anyFolder := aclItem.field("layer").withPlaceholder("executed_op"), field("dump_path")
	executed.About = Text{EN: "operators after which the watched outputs are dumped"}
	executed.Question = Text{EN: "Operators after which to look, with commas between?"}
	anyFolder.Question = Text{EN: "Folder for the dump files (empty: environment or working folder)?"}
	return []Profile{
		{
			Name: "model", About: Text{EN: "operators of models, offline or compiled"},
			next: []string{"next.folder", "next.load-order", "next.unset-collect", "next.large-model"}, hasList: true,
			Fields: filters(field("dump_mode", "output"), field("dump_data", "tensor"), field("dump_level", "op").withPreset(levelForBlacklists), field("dump_step")),
		},
		{
			Name: "op", About: Text{EN: "operators that are called one by one, as PyTorch does"},
			next: []string{"next.folder", "next.pytorch", "next.load-order", "next.unset-collect", "next.views"}, hasList: true,
			Fields: []Field{path, field("dump_mode", "all"), field("dump_data", "tensor"), field("dump_level"), field("dump_op_switch", "on").asFixed()},
		},
		{
			Name: "stats", About: Text{EN: "statistics instead of tensors: the first step for a large model"}, Since: sinceCANN70,
			next: []string{"next.folder", "next.load-order", "next.unset-collect", "next.csv"}, hasList: true,
			Fields: filters(field("dump_mode", "all"), field("dump_data", "stats").asFixed(), field("dump_level", "op"), field("dump_step"),
				field("dump_stats", aclDump.find("dump_stats").Values...).withPreset(func(b *builder, all []string) []string { return valuesIf(b.opt.isA2(), all) })),
		},
		{
			Name: "overflow", About: Text{EN: "operators that overflow"}, Since: sinceCANN62,
			next:   []string{"next.folder", "next.load-order", "next.status-check", "next.only-overflow", "next.analyze"},
			Fields: []Field{path, field("dump_debug", "on").asFixed()},
		},
		{
			Name: "exception", About: Text{EN: "AI Core operators that fail with an exception"}, Since: sinceCANN81,
			next:   []string{"next.acl-init", "next.exception-folder", "next.folder"},
			Fields: []Field{anyFolder, field("dump_scene", "aic_err_brief_dump").withValues(exceptionScenes...).withPreset(sceneForVersion)},
		},
		{
			Name: "watcher", About: Text{EN: "outputs of some operators, again after other operators: finds who overwrites memory"}, Since: sinceCANN83,
			next: []string{"next.folder", "next.load-order", "next.unset-collect", "next.static-graphs"}, hasList: true,
			Fields: []Field{path, executed, aclItem.field("watcher_nodes").withPlaceholder("watched_op"), field("dump_mode", "output").asFixed(), field("dump_scene", watcherScene).asFixed()},
		},
		{
			Name: "kernel-debug", About: Text{EN: "what Ascend C kernels print, assert and dump themselves"}, Since: sinceCANN85,
			next:   []string{"next.folder", "next.load-order", "next.kernel-path"},
			Fields: []Field{path, field("dump_kernel_data", "all").asStrings()},
		},
	}
}

// levelForBlacklists returns the level if a blacklist is given, since blacklists have no effect without a level, else nil.
func levelForBlacklists(b *builder, level []string) []string {
	return valuesIf(b.isGiven("optype_blacklist") || b.isGiven("opname_blacklist"), level)
}

// sceneForVersion returns the name of the scene in the target version.
func sceneForVersion(b *builder, scene []string) []string {
	if b.opt.TargetVersion.IsBefore(sinceCANN82) {
		return []string{"lite_exception"}
	}
	return scene
}

// ACL holds the dump settings of an acl.json.
type ACL struct {
	Root, Dump *Object
	Steps      []lang.Step // parsed dump_step; nil for all steps
}

func readACL(d *decoder, root *jsonpos.Value) *ACL {
	a := &ACL{Root: d.readDocument(root, &aclRoot)}
	a.Dump = a.Root.child("dump")
	if steps := a.setting("dump_step").Value; steps != "" {
		a.Steps = lang.ParseSteps(steps)
	}
	return a
}

func (a *ACL) setting(key string) Setting { return a.Dump.setting(key) }

// items returns the items of dump_list.
func (a *ACL) items() []*Object { return a.setting("dump_list").Objects }

// dumpsSingleOps reports whether single operator calls are dumped.
func (a *ACL) dumpsSingleOps() bool { return a.setting("dump_op_switch").Value == "on" }

// dumpsOverflow reports whether overflowing operators are dumped.
func (a *ACL) dumpsOverflow() bool { return a.setting("dump_debug").Value == "on" }

// scene returns dump_scene; empty if absent.
func (a *ACL) scene() string { return a.setting("dump_scene").Value }

// watchesMemory reports whether memory is watched.
func (a *ACL) watchesMemory() bool { return a.scene() == watcherScene }

// dumpsFailures reports whether failing operators are dumped.
func (a *ACL) dumpsFailures() bool { return slices.Contains(exceptionScenes, a.scene()) }

// dumpMode returns dump_mode or its default.
func (a *ACL) dumpMode() string { return a.setting("dump_mode").orDefault() }

// dumpsStatistics reports whether statistics are dumped instead of tensors.
func (a *ACL) dumpsStatistics() bool { return a.setting("dump_data").Value == "stats" }

// Dumps reports whether the file switches on any dump of the runtime. dump_kernel_data, the data of
// Ascend C kernels, does not count.
func (a *ACL) Dumps() bool {
	return a.setting("dump_list").isFilled() || a.dumpsSingleOps() || a.dumpsOverflow() || a.scene() != ""
}

// aclKinds lists the kinds of dumps that an acl.json switches on.
type aclKinds struct{ exception, overflow, watcher, ops, models, kernel bool }

func (a *ACL) kinds() aclKinds {
	k := aclKinds{kernel: a.setting("dump_kernel_data").Value != ""}
	switch {
	case a.dumpsFailures():
		k.exception = true
	case a.watchesMemory():
		k.watcher = true
	case a.dumpsOverflow():
		k.overflow = true
	default:
		k.ops, k.models = a.dumpsSingleOps(), a.setting("dump_list").isFilled()
	}
	return k
}

// usesFolders reports whether the dump writes its files into folders {time}/{device}.
func (k aclKinds) usesFolders() bool { return k.models || k.ops || k.overflow || k.watcher }
