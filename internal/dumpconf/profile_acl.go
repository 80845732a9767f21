package dumpconf

// The placeholder of a folder is legal for all runtimes.
const folderPlaceholder = "/path/to/dump"

func aclRecipes() []recipe {
	return []recipe{
		{
			name: "model", schema: SchemaACL, listed: true, steps: modelSteps,
			about: Text{EN: "operators of models, offline or compiled", ZH: "模型(离线模型或图)中的算子"},
			parts: append(filteredParts(),
				aclMode().with("output"), aclData().with("tensor"), aclLevel().by(levelForFilters), aclStep()),
		},
		{
			name: "op", schema: SchemaACL, listed: true, steps: opSteps,
			about: Text{EN: "operators that are called one by one, as PyTorch does", ZH: "单算子调用，例如 PyTorch 单算子模式"},
			parts: []ingredient{aclPath(), aclMode().with("all"), aclData().with("tensor"), aclLevel(),
				key(inDump, "dump_op_switch", TypeString, "dump operators that are called one by one", "单算子 dump 开关").always("on")},
		},
		{
			name: "stats", schema: SchemaACL, since: sinceCANN70, listed: true, steps: statsSteps,
			about: Text{EN: "statistics in place of tensors: the first look at a large model", ZH: "只 dump 统计信息，适合首次排查大模型"},
			parts: append(filteredParts(), aclMode().with("all"), aclData().always("stats"), aclLevel().with("op"), aclStep(),
				key(inDump, "dump_stats", TypeStrings, "statistics to compute (Atlas A2)", "要计算的统计项(仅 Atlas A2)",
					aclDump.find("dump_stats").Values...).by(statsForA2)),
		},
		{
			name: "overflow", schema: SchemaACL, since: sinceCANN62, steps: overflowSteps,
			about: Text{EN: "operators that overflow", ZH: "溢出算子"},
			parts: []ingredient{aclPath(),
				key(inDump, "dump_debug", TypeString, "dump operators that overflow", "溢出 dump 开关").always("on")},
		},
		{
			name: "exception", schema: SchemaACL, since: sinceCANN81, steps: exceptionSteps,
			about: Text{EN: "AI Core operators that fail with an exception", ZH: "执行异常的 AI Core 算子"},
			parts: []ingredient{
				aclPath().optional().asking("Folder for the dump files (empty: environment or working folder)?", "dump 文件目录(留空：由环境变量或工作目录决定)？"),
				key(inDump, "dump_scene", TypeString, "how much to dump of the operator", "异常 dump 的详细程度", exceptionScenes...).
					with("aic_err_brief_dump").by(sceneForVersion),
			},
		},
		{
			name: "watcher", schema: SchemaACL, since: sinceCANN83, listed: true, steps: watcherSteps,
			about: Text{EN: "outputs of some operators, again after other operators: finds who overwrites memory", ZH: "内存踩踏定位：在指定算子执行后观测其他算子的输出"},
			parts: []ingredient{aclPath(),
				key(inItem, "layer", TypeStrings, "operators after which to look", "执行完后进行观测的算子").holding("executed_op").
					asking("Operators after which to look, with commas between?", "执行哪些算子后观测(逗号分隔)？"),
				key(inItem, "watcher_nodes", TypeStrings, "operators whose outputs are watched", "被观测输出的算子").holding("watched_op").
					asking("Operators whose outputs are watched, with commas between?", "观测哪些算子的输出(逗号分隔)？"),
				aclMode().always("output"),
				key(inDump, "dump_scene", TypeString, "the watcher", "观测场景").always(watcherScene)},
		},
		{
			name: "kernel-debug", schema: SchemaACL, since: sinceCANN85, steps: kernelSteps,
			about: Text{EN: "what Ascend C kernels print, assert and dump themselves", ZH: "Ascend C 算子的 printf、assert、DumpTensor 数据"},
			parts: []ingredient{aclPath(), kernelParts().with("all")},
		},
	}
}

// filteredParts is where to dump, and of which models and operators.
func filteredParts() []ingredient {
	blacklist := func(name, en, zh string) ingredient {
		g := key(inItem, name, TypeStrings, en, zh)
		g.named = true
		return g
	}
	return []ingredient{
		aclPath(),
		key(inItem, "model_name", TypeStrings, "models to dump, as their OM files are called without suffix; all when empty", "要 dump 的模型名(OM 文件名，不带后缀)；缺省为所有模型").
			asking("Models to dump, with commas between (empty: all)?", "要 dump 的模型名(逗号分隔，留空为全部)？"),
		key(inItem, "layer", TypeStrings, "operators to dump, by name; all when empty", "要 dump 的算子名；缺省为所有算子").
			asking("Operators to dump, with commas between (empty: all)?", "要 dump 的算子名(逗号分隔，留空为全部)？"),
		blacklist("optype_blacklist", "operator types that are not dumped", "不 dump 的算子类型"),
		blacklist("opname_blacklist", "operators that are not dumped, by name", "不 dump 的算子名"),
	}
}

func aclPath() ingredient {
	return key(inDump, "dump_path", TypeString, "existing folder for the dump files, or IPv4:path", "存放 dump 文件的已有目录，或 IPv4:路径").
		holding(folderPlaceholder).asking("Folder for the dump files (must exist)?", "dump 文件目录(需提前创建)？")
}

func aclMode() ingredient {
	return key(inDump, "dump_mode", TypeString, "inputs, outputs or both", "dump 输入、输出或全部", dumpModes...)
}

func aclData() ingredient {
	return key(inDump, "dump_data", TypeString, "whole tensors or their statistics", "dump 张量或统计信息", dumpDatas...)
}

func aclLevel() ingredient {
	return key(inDump, "dump_level", TypeString, "operators of the graph, aclnn kernels or both", "dump 图算子、aclnn kernel 或全部", aclDump.find("dump_level").Values...)
}

func aclStep() ingredient {
	return key(inDump, "dump_step", TypeString, "steps to dump, such as 0|3-5|10, counted from 0; all when empty", "要 dump 的迭代，例如 0|3-5|10，从 0 开始；缺省为所有").
		asking("Steps to dump, such as 0|3-5 (empty: all)?", "要 dump 的迭代，例如 0|3-5(留空为全部)？")
}

func kernelParts() ingredient {
	g := key(inDump, "dump_kernel_data", TypeStrings, "what to dump of kernels", "要 dump 的 kernel 数据类型", kernelData...)
	g.joined = true
	return g
}

// optional returns an ingredient that is left out when nothing is given.
func (g ingredient) optional() ingredient {
	g.Default, g.Placeholder = nil, false
	return g
}

// levelForFilters is the level that blacklists need.
func levelForFilters(m *making) []string {
	if m.wants("optype_blacklist") || m.wants("opname_blacklist") {
		return []string{"op"}
	}
	return nil
}

// statsForA2 asks for all statistics where they can be chosen.
func statsForA2(m *making) []string {
	if m.opt.isA2() {
		return aclDump.find("dump_stats").Values
	}
	return nil
}

// sceneForVersion is the name under which the target knows the scene.
func sceneForVersion(m *making) []string {
	if m.opt.TargetVersion.Before(sinceCANN82) {
		return []string{"lite_exception"}
	}
	return []string{"aic_err_brief_dump"}
}
