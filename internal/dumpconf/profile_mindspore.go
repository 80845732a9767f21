package dumpconf

func mindSporeRecipes() []recipe {
	return []recipe{
		{
			name: "ms-e2e", schema: SchemaMindSpore, steps: mindSporeSteps,
			about: Text{EN: "MindSpore: dump by the framework itself, synchronous", ZH: "MindSpore：框架同步 dump(e2e)"},
			parts: append(commonParts(savedData().with("tensor")),
				debugMode().always("0"),
				e2eEnable().with("true"), transFlag().with("true"), statCalcMode(), sampleMode(), sampleNum(), kernelArgs()),
		},
		{
			name: "ms-async", schema: SchemaMindSpore, steps: mindSporeSteps,
			about: Text{EN: "MindSpore: dump by the device, asynchronous (jit_level O2, graph engine)", ZH: "MindSpore：设备异步 dump(jit_level O2，图引擎)"},
			parts: append(commonParts(savedData().with("tensor")),
				debugMode().always("0"), fileFormat().with("npy"),
				key(inAsync, "enable", TypeBool, "asynchronous dump", "异步 dump 开关").by(beforeMS12("true")).hidden(),
				asyncDebugMode("0")),
		},
		{
			name: "ms-overflow", schema: SchemaMindSpore, steps: mindSporeSteps,
			about: Text{EN: "MindSpore: operators that overflow", ZH: "MindSpore：溢出算子"},
			parts: []ingredient{
				key(inCommon, "dump_mode", TypeUint, "all operators", "所有算子").always("0"),
				msPath(), netName(), iteration().with("all"),
				inputOutput().always("0"),
				key(inCommon, "kernels", TypeStrings, "none", "无").always(),
				supportDevice(), debugMode().always("3"),
				key(inCommon, "overflow_number", TypeUint, "how many overflows to dump, 0 for all", "最多 dump 的溢出次数，0 为不限"),
				fileFormat().with("npy").by(withoutE2E("npy")),
				e2eEnable().with("true").by(withE2E("true")), transFlag().with("true").by(withE2E("true")),
				key(inAsync, "enable", TypeBool, "asynchronous dump", "异步 dump 开关").by(beforeMS12("true")).hidden(),
				asyncDebugMode("3"),
			},
		},
		{
			name: "ms-stat", schema: SchemaMindSpore, since: sinceMS16, steps: mindSporeSteps,
			about: Text{EN: "MindSpore: statistics in place of tensors", ZH: "MindSpore：只保存统计信息"},
			parts: append(commonParts(savedData().always("statistic")),
				debugMode().always("0"),
				key(inCommon, "statistic_category", TypeStrings, "statistics to compute", "要计算的统计项", hostStatistics...).with("max", "min", "l2norm"),
				fileFormat().with("npy").by(withoutE2E("npy")),
				e2eEnable().with("false").by(withE2E("false")), transFlag().with("true").by(withE2E("true")),
				statCalcMode().with("host").by(withE2E("host"))),
		},
	}
}

// commonParts are the keys that every MindSpore file has.
func commonParts(saved ingredient) []ingredient {
	return []ingredient{
		key(inCommon, "dump_mode", TypeUint, "0 all operators, 1 those in kernels, 2 those marked by set_dump", "0 所有算子，1 kernels 中的算子，2 set_dump 标记的算子", "0", "1", "2").
			with("0").by(modeForKernels),
		msPath(), netName(), iteration().with("0"), saved,
		inputOutput().with("0"),
		key(inCommon, "kernels", TypeStrings, "operators to dump: full names, types or name-regex(...); all when empty", "要 dump 的算子：全名、类型或 name-regex(...)；缺省为所有算子").
			with().asking("Operators to dump, with commas between (empty: all)?", "要 dump 的算子(逗号分隔，留空为全部)？"),
		supportDevice(),
	}
}

func msPath() ingredient {
	return key(inCommon, "path", TypeString, "absolute path of the folder for the dump files", "dump 文件目录的绝对路径").
		holding(folderPlaceholder).asking("Folder for the dump files (absolute path)?", "dump 文件目录(绝对路径)？")
}

func netName() ingredient {
	return key(inCommon, "net_name", TypeString, "name of the network, part of the path", "网络名，用于目录名").
		holding("my_net").asking("Name of the network?", "网络名？")
}

func iteration() ingredient {
	return key(inCommon, "iteration", TypeString, "steps to dump, such as 0|5-8, counted from 0, or all", "要 dump 的迭代，例如 0|5-8，从 0 开始，或 all").
		asking("Steps to dump, such as 0|5-8, or all?", "要 dump 的迭代，例如 0|5-8，或 all？")
}

func savedData() ingredient {
	return key(inCommon, "saved_data", TypeString, "tensors, their statistics or both", "保存张量、统计信息或两者", mindSporeCommon.find("saved_data").Values...)
}

func inputOutput() ingredient {
	return key(inCommon, "input_output", TypeUint, "0 both, 1 inputs, 2 outputs", "0 输入和输出，1 输入，2 输出", "0", "1", "2")
}

func supportDevice() ingredient {
	return key(inCommon, "support_device", TypeUints, "ids of the devices that dump", "进行 dump 的设备号").with("0").by(usedDevices)
}

func debugMode() ingredient {
	return key(inCommon, "op_debug_mode", TypeUint, "0 off, 3 operators that overflow, 4 operators that fail", "0 关闭，3 溢出，4 异常")
}

func fileFormat() ingredient {
	return key(inCommon, "file_format", TypeString, "format of the files", "文件格式", mindSporeCommon.find("file_format").Values...)
}

func e2eEnable() ingredient {
	return key(inE2E, "enable", TypeBool, "true for a synchronous dump", "true 为同步 dump", "true", "false")
}

func transFlag() ingredient {
	return key(inE2E, "trans_flag", TypeBool, "convert to the host's NCHW layout", "转换为主机侧 NCHW 格式", "true", "false")
}

func statCalcMode() ingredient {
	return key(inE2E, "stat_calc_mode", TypeString, "where statistics are computed", "统计值的计算位置", mindSporeE2E.find("stat_calc_mode").Values...)
}

func sampleMode() ingredient {
	return key(inE2E, "sample_mode", TypeUint, "1 saves head and tail only", "1 为只保存首尾部分", "0", "1")
}

func sampleNum() ingredient {
	return key(inE2E, "sample_num", TypeUint, "how many elements to save", "保存的元素个数")
}

func kernelArgs() ingredient {
	return key(inE2E, "save_kernel_args", TypeBool, "save the attributes of operators", "保存算子属性", "true", "false")
}

func asyncDebugMode(mode string) ingredient {
	return key(inAsync, "op_debug_mode", TypeUint, "0 off, 3 operators that overflow", "0 关闭，3 溢出").by(beforeMS12(mode)).hidden()
}

// hidden returns an ingredient that is not offered.
func (g ingredient) hidden() ingredient {
	g.fixed = true
	return g
}

// modeForKernels uses kernels when they are given.
func modeForKernels(m *making) []string {
	if m.wants("kernels") {
		return []string{"1"}
	}
	return []string{"0"}
}

// usedDevices are the devices of the options, or the first.
func usedDevices(m *making) []string {
	if len(m.opt.Devices) == 0 {
		return []string{"0"}
	}
	return numbers(m.opt.Devices)
}

// beforeMS12 writes a value for releases with async_dump_settings.
func beforeMS12(value string) func(m *making) []string {
	return func(m *making) []string {
		if m.opt.TargetVersion.Before(sinceMS12) {
			return []string{value}
		}
		return nil
	}
}

// withE2E writes a value where the framework dumps itself and finds what is
// asked for in the common settings, as it does since 1.2.
func withE2E(value string) func(m *making) []string {
	return func(m *making) []string {
		if m.opt.frameworkDumps() && !m.opt.TargetVersion.Before(sinceMS12) {
			return []string{value}
		}
		return nil
	}
}

// withoutE2E writes a value where the device dumps.
func withoutE2E(value string) func(m *making) []string {
	return func(m *making) []string {
		if m.opt.frameworkDumps() {
			return nil
		}
		return []string{value}
	}
}

// frameworkDumps reports whether MindSpore needs e2e_dump_settings. With an
// unknown backend it is what the release makes the usual case.
func (o *Options) frameworkDumps() bool {
	switch {
	case o.kernelByKernel() || o.noNPU():
		return true
	case o.graphEngine():
		return false
	default:
		return !o.TargetVersion.Before(sinceMS24)
	}
}
