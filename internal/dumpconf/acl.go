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

var aclRoot = keyTable{where: Text{EN: "the top level", ZH: "顶层"}, open: true, keys: []Key{
	{Name: "dump", Type: TypeObject, Since: firstVersion, rule: "ACL005", inside: &aclDump},
}}

var aclDump = keyTable{name: "dump", where: Text{EN: `"dump"`, ZH: ` "dump" `}, keys: []Key{
	{Name: "dump_path", Type: TypeString, Since: firstVersion, rule: "ACL010", as: "dump_path", carried: true,
		Doc: Text{EN: "existing folder for the dump files, or IPv4:path", ZH: "存放 dump 文件的已有目录，或 IPv4:路径"},
		Ask: Text{EN: "Folder for the dump files (must exist)?", ZH: "dump 文件目录(需提前创建)？"}},
	{Name: "dump_list", Type: TypeObjects, Since: firstVersion, rule: "ACL011", inside: &aclItem},
	{Name: "dump_mode", Type: TypeString, Values: dumpModes, Default: "output", Since: firstVersion, rule: "ACL010", as: "dump_mode", carried: true,
		Doc: Text{EN: "inputs, outputs or both", ZH: "dump 输入、输出或全部"}},
	{Name: "dump_data", Type: TypeString, Values: dumpDatas, Default: "tensor", Since: sinceCANN70, rule: "ACL010", as: "dump_data", carried: true,
		Doc: Text{EN: "whole tensors or their statistics", ZH: "dump 张量或统计信息"}},
	{Name: "dump_level", Type: TypeString, Values: []string{"op", "kernel", "all"}, Default: "all", Since: sinceCANN83, rule: "ACL010",
		Doc: Text{EN: "operators of the graph, aclnn kernels or both", ZH: "dump 图算子、aclnn kernel 或全部"}},
	{Name: "dump_step", Type: TypeString, Since: sinceCANN70, rule: "ACL010", as: "dump_step", carried: true,
		Doc: Text{EN: "steps to dump, such as 0|3-5|10, counted from 0; all when empty", ZH: "要 dump 的迭代，例如 0|3-5|10，从 0 开始；缺省为所有"},
		Ask: Text{EN: "Steps to dump, such as 0|3-5 (empty: all)?", ZH: "要 dump 的迭代，例如 0|3-5(留空为全部)？"}},
	{Name: "dump_op_switch", Type: TypeString, Values: onOff, Default: "off", Since: firstVersion, rule: "ACL010", as: "dump_op_switch", carried: true},
	{Name: "dump_debug", Type: TypeString, Values: onOff, Default: "off", Since: sinceCANN62, rule: "ACL010", as: "dump_debug", carried: true},
	{Name: "dump_scene", Type: TypeString, Values: append(exceptionScenes[:4:4], watcherScene), Since: sinceCANN81, rule: "ACL010", as: "dump_scene", carried: true,
		since: map[string]Version{
			watcherScene: sinceCANN83, "aic_err_brief_dump": sinceCANN82, "aic_err_norm_dump": sinceCANN82, "aic_err_detail_dump": sinceCANN82,
		},
		Doc: Text{EN: "how much to dump of the operator", ZH: "异常 dump 的详细程度"}},
	{Name: "dump_stats", Type: TypeStrings, Since: sinceCANN82, rule: "ACL011", as: "dump_stats", carried: true,
		Values: []string{"Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"},
		Doc:    Text{EN: "statistics to compute (Atlas A2)", ZH: "要计算的统计项(仅 Atlas A2)"}},
	{Name: "dump_kernel_data", Type: TypeString, Since: sinceCANN85, rule: "ACL010", ownCheck: true, commas: true,
		Values: []string{"all", "printf", "tensor", "assert", "timestamp"},
		Doc:    Text{EN: "what to dump of kernels", ZH: "要 dump 的 kernel 数据类型"}},
}}

var aclItem = keyTable{name: "dump_list", where: Text{EN: `an item of "dump_list"`, ZH: ` "dump_list" 的项`}, keys: []Key{
	{Name: "model_name", Type: TypeString, Since: firstVersion, rule: "ACL010", as: "model_name",
		Doc: Text{EN: "models to dump, as their OM files are called without suffix; all when empty", ZH: "要 dump 的模型名(OM 文件名，不带后缀)；缺省为所有模型"},
		Ask: Text{EN: "Models to dump, with commas between (empty: all)?", ZH: "要 dump 的模型名(逗号分隔，留空为全部)？"}},
	{Name: "layer", Type: TypeStrings, Since: firstVersion, rule: "ACL011", as: "layer",
		Doc: Text{EN: "operators to dump, by name; all when empty", ZH: "要 dump 的算子名；缺省为所有算子"},
		Ask: Text{EN: "Operators to dump, with commas between (empty: all)?", ZH: "要 dump 的算子(逗号分隔，留空为全部)？"}},
	{Name: "watcher_nodes", Type: TypeStrings, Since: sinceCANN83, rule: "ACL011",
		Doc: Text{EN: "operators whose outputs are watched", ZH: "被观测输出的算子"},
		Ask: Text{EN: "Operators whose outputs are watched, with commas between?", ZH: "观测哪些算子的输出(逗号分隔)？"}},
	{Name: "optype_blacklist", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011", inside: &aclBlacklist,
		Doc: Text{EN: "operator types that are not dumped", ZH: "不 dump 的算子类型"}},
	{Name: "opname_blacklist", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011", inside: &aclBlacklist,
		Doc: Text{EN: "operators that are not dumped, by name", ZH: "不 dump 的算子名"}},
	{Name: "opname_range", Type: TypeObjects, Since: sinceCANN82, rule: "ACL011", inside: &aclRange},
}}

var aclBlacklist = keyTable{where: Text{EN: "an entry of a blacklist", ZH: "黑名单项"}, keys: []Key{
	{Name: "name", Type: TypeString, Since: sinceCANN82, rule: "ACL010"},
	{Name: "pos", Type: TypeStrings, Since: sinceCANN82, rule: "ACL011"},
}}

var aclRange = keyTable{where: Text{EN: `an entry of "opname_range"`, ZH: ` "opname_range" 的项`}, keys: []Key{
	{Name: "begin", Type: TypeString, Since: sinceCANN82, rule: "ACL010"},
	{Name: "end", Type: TypeString, Since: sinceCANN82, rule: "ACL010"},
}}

func aclProfiles() []Profile {
	field := aclDump.field
	path := field("dump_path").holding(folderPlaceholder)
	filters := func(more ...Field) []Field {
		return append([]Field{path, aclItem.field("model_name").asList(), aclItem.field("layer"),
			aclItem.field("optype_blacklist"), aclItem.field("opname_blacklist")}, more...)
	}
	executed, anyFolder := aclItem.field("layer").holding("executed_op"), field("dump_path")
	executed.About = Text{EN: "operators after which to look", ZH: "执行完后进行观测的算子"}
	executed.Question = Text{EN: "Operators after which to look, with commas between?", ZH: "执行哪些算子后观测(逗号分隔)？"}
	anyFolder.Question = Text{EN: "Folder for the dump files (empty: environment or working folder)?", ZH: "dump 文件目录(留空：由环境变量或工作目录决定)？"}
	return []Profile{
		{
			Name: "model", About: Text{EN: "operators of models, offline or compiled", ZH: "模型(离线模型或图)中的算子"},
			next: []string{"next.folder", "next.load-order", "next.unset-collect", "next.large-model"}, listed: true,
			Fields: filters(field("dump_mode", "output"), field("dump_data", "tensor"), field("dump_level", "op").by(forBlacklists), field("dump_step")),
		},
		{
			Name: "op", About: Text{EN: "operators that are called one by one, as PyTorch does", ZH: "单算子调用，例如 PyTorch 单算子模式"},
			next: []string{"next.folder", "next.pytorch", "next.load-order", "next.unset-collect", "next.views"}, listed: true,
			Fields: []Field{path, field("dump_mode", "all"), field("dump_data", "tensor"), field("dump_level"), field("dump_op_switch", "on").fix()},
		},
		{
			Name: "stats", About: Text{EN: "statistics in place of tensors: the first look at a large model", ZH: "只 dump 统计信息，适合首次排查大模型"}, Since: sinceCANN70,
			next: []string{"next.folder", "next.load-order", "next.unset-collect", "next.csv"}, listed: true,
			Fields: filters(field("dump_mode", "all"), field("dump_data", "stats").fix(), field("dump_level", "op"), field("dump_step"),
				field("dump_stats", aclDump.find("dump_stats").Values...).by(func(b *builder, all []string) []string { return onlyIf(b.opt.isA2(), all) })),
		},
		{
			Name: "overflow", About: Text{EN: "operators that overflow", ZH: "溢出算子"}, Since: sinceCANN62,
			next:   []string{"next.folder", "next.load-order", "next.status-check", "next.only-overflow", "next.analyze"},
			Fields: []Field{path, field("dump_debug", "on").fix()},
		},
		{
			Name: "exception", About: Text{EN: "AI Core operators that fail with an exception", ZH: "执行异常的 AI Core 算子"}, Since: sinceCANN81,
			next:   []string{"next.acl-init", "next.exception-folder", "next.folder"},
			Fields: []Field{anyFolder, field("dump_scene", "aic_err_brief_dump").oneOf(exceptionScenes...).by(sceneForVersion)},
		},
		{
			Name: "watcher", About: Text{EN: "outputs of some operators, again after other operators: finds who overwrites memory", ZH: "内存踩踏定位：在指定算子执行后观测其他算子的输出"}, Since: sinceCANN83,
			next: []string{"next.folder", "next.load-order", "next.unset-collect", "next.static-graphs"}, listed: true,
			Fields: []Field{path, executed, aclItem.field("watcher_nodes").holding("watched_op"), field("dump_mode", "output").fix(), field("dump_scene", watcherScene).fix()},
		},
		{
			Name: "kernel-debug", About: Text{EN: "what Ascend C kernels print, assert and dump themselves", ZH: "Ascend C 算子的 printf、assert、DumpTensor 数据"}, Since: sinceCANN85,
			next:   []string{"next.folder", "next.load-order", "next.kernel-path"},
			Fields: []Field{path, field("dump_kernel_data", "all").asList()},
		},
	}
}

// forBlacklists keeps the level if blacklists are set, which need it.
func forBlacklists(b *builder, level []string) []string {
	return onlyIf(b.wants("optype_blacklist") || b.wants("opname_blacklist"), level)
}

// sceneForVersion returns the name of the scene in the target version.
func sceneForVersion(b *builder, scene []string) []string {
	if b.opt.TargetVersion.Before(sinceCANN82) {
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
	a := &ACL{Root: d.top(root, &aclRoot)}
	a.Dump = a.Root.child("dump")
	if steps := a.at("dump_step").Value; steps != "" {
		a.Steps = lang.ParseSteps(steps)
	}
	return a
}

// at returns a setting of "dump".
func (a *ACL) at(key string) Setting { return a.Dump.at(key) }

// items returns the items of dump_list.
func (a *ACL) items() []*Object { return a.at("dump_list").Objects }

// opSwitch reports whether single operator calls are dumped.
func (a *ACL) opSwitch() bool { return a.at("dump_op_switch").Value == "on" }

// overflow reports whether overflowing operators are dumped.
func (a *ACL) overflow() bool { return a.at("dump_debug").Value == "on" }

// scene returns dump_scene; empty if absent.
func (a *ACL) scene() string { return a.at("dump_scene").Value }

// watcher reports whether memory is watched.
func (a *ACL) watcher() bool { return a.scene() == watcherScene }

// exception reports whether failing operators are dumped.
func (a *ACL) exception() bool { return slices.Contains(exceptionScenes, a.scene()) }

// mode returns dump_mode or its default.
func (a *ACL) mode() string { return a.at("dump_mode").orDefault() }

// stats reports whether statistics are dumped instead of tensors.
func (a *ACL) stats() bool { return a.at("dump_data").Value == "stats" }

// Dumps reports whether the file switches on any dump of the runtime. dump_kernel_data, the data of
// Ascend C kernels, does not count.
func (a *ACL) Dumps() bool {
	return a.at("dump_list").isFilled() || a.opSwitch() || a.overflow() || a.scene() != ""
}

// aclKinds lists the kinds of dumps that an acl.json switches on.
type aclKinds struct{ exception, overflow, watcher, ops, models, kernel bool }

func (a *ACL) kinds() aclKinds {
	k := aclKinds{kernel: a.at("dump_kernel_data").Value != ""}
	switch {
	case a.exception():
		k.exception = true
	case a.watcher():
		k.watcher = true
	case a.overflow():
		k.overflow = true
	default:
		k.ops, k.models = a.opSwitch(), a.at("dump_list").isFilled()
	}
	return k
}

// inFolders reports whether a dump writes files in folders of time and device.
func (k aclKinds) inFolders() bool { return k.models || k.ops || k.overflow || k.watcher }
