package dumpconf

import (
	"fmt"
	"strconv"
	"strings"
)

// both is a text of two formats with the same arguments. Of arguments that are
// texts themselves each takes its language.
func both(en, zh string, args ...any) Text {
	inEN, inZH := make([]any, len(args)), make([]any, len(args))
	for i, a := range args {
		inEN[i], inZH[i] = a, a
		if t, ok := a.(Text); ok {
			inEN[i], inZH[i] = t.EN, t.ZH
		}
	}
	return Text{EN: fmt.Sprintf(en, inEN...), ZH: fmt.Sprintf(zh, inZH...)}
}

func numbers(ids []uint64) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = strconv.FormatUint(id, 10)
	}
	return out
}

// folderStep is about the folder, which the ACL runtime does not create.
func folderStep(m *making) Text {
	p := m.value("dump_path")
	if isRemote(p) {
		return both("the folder of %s must exist on that host", "目标主机上的目录 %s 必须已存在", printable(p))
	}
	return both("create the folder where the program runs, for its user: mkdir -p %s (the runtime does not create it)",
		"在运行主机上以运行用户创建目录：mkdir -p %s (运行时不会自动创建)", shellWord(p))
}

// orderStep is in which order the functions are called.
func orderStep() Text {
	return both(`pass the file to aclInit("acl.json"), or call aclInit, aclmdlInitDump, aclmdlSetDump("acl.json"), load the model, run it, aclmdlFinalizeDump; only models that are loaded after aclmdlSetDump are dumped, and the two ways exclude each other`,
		`将文件传给 aclInit("acl.json")，或依次调用 aclInit、aclmdlInitDump、aclmdlSetDump("acl.json")、加载模型、执行、aclmdlFinalizeDump；只有在 aclmdlSetDump 之后加载的模型才会 dump，两种方式不能同时使用`)
}

// collectStep is about the variable that switches dumps off.
func collectStep() Text {
	return both("unset NPU_COLLECT_PATH: together with it the dump fails or stays off",
		"取消环境变量 NPU_COLLECT_PATH (unset NPU_COLLECT_PATH)，否则 dump 会失败或不生效")
}

func modelSteps(m *making) []Text {
	large := both("tensors of a whole model are large: name operators in layer or steps in dump_step, or begin with the profile stats",
		"整网 dump 数据量大：请用 layer 或 dump_step 缩小范围，或先使用 stats 配置")
	if m.opt.TargetVersion.Before(sinceCANN70) {
		large = both("tensors of a whole model are large: name operators in layer", "整网 dump 数据量大：请用 layer 缩小范围")
	}
	return []Text{folderStep(m), orderStep(), collectStep(), large}
}

func opSteps(m *making) []Text {
	return []Text{
		folderStep(m),
		both(`PyTorch: torch_npu.npu.init_dump(), torch_npu.npu.set_dump("/absolute/path/acl.json"), run one step, torch_npu.npu.finalize_dump()`,
			`PyTorch：依次调用 torch_npu.npu.init_dump()、torch_npu.npu.set_dump("/绝对路径/acl.json")、执行一个 step、torch_npu.npu.finalize_dump()`),
		orderStep(), collectStep(),
		both("views such as slices and transposes run no operator and so are not dumped", "slice、transpose 等视图类操作不会下发算子，因此没有 dump 数据"),
	}
}

func statsSteps(m *making) []Text {
	return []Text{
		folderStep(m), orderStep(), collectStep(),
		both("find the suspicious operators in the CSV files, then dump the tensors of those with the profile model and layer",
			"先在 CSV 文件中找到可疑算子，再用 model 配置和 layer 只 dump 这些算子的张量"),
	}
}

func overflowSteps(m *making) []Text {
	return []Text{
		folderStep(m), orderStep(),
		both("offline models must be built with ATC --status_check=1", "离线模型需在 ATC 转换时加 --status_check=1"),
		both("only AI Core operators are looked at; add nothing else to the file, overflow dump excludes model and single-operator dump",
			"只检测 AI Core 算子；溢出 dump 与模型 dump、单算子 dump 互斥，不要添加其他配置"),
		both("afterwards: dumptool overflow analyze -d %s", "之后执行：dumptool overflow analyze -d %s", shellWord(localPath(m.value("dump_path")))),
	}
}

func exceptionSteps(m *making) []Text {
	steps := []Text{
		both("pass the file to aclInit before devices are set", "在设置 device 之前将文件传给 aclInit"),
		both("the files go to extra-info/data-dump/{device_id} %s", "文件位于 extra-info/data-dump/{device_id}，%s", exceptionOrder()),
	}
	if m.value("dump_path") != "" {
		steps = append(steps, folderStep(m))
	}
	return steps
}

func watcherSteps(m *making) []Text {
	return []Text{
		folderStep(m), orderStep(), collectStep(),
		both("static graphs only; give fused operators by their fused names", "仅支持静态图；融合算子请使用融合后的名称"),
	}
}

func kernelSteps(m *making) []Text {
	return []Text{
		folderStep(m), orderStep(),
		both("ASCEND_DUMP_PATH, then ASCEND_WORK_PATH, replace dump_path when they are set", "若设置了 ASCEND_DUMP_PATH 或 ASCEND_WORK_PATH，则依次优先于 dump_path"),
	}
}

func mindSporeSteps(m *making) []Text {
	steps := []Text{
		both("save it under a name that ends with .json and export MINDSPORE_DUMP_CONFIG=/absolute/path/NAME.json before the script starts and before communication is initialised",
			"保存为 .json 文件，并在脚本启动和通信初始化之前执行 export MINDSPORE_DUMP_CONFIG=/绝对路径/NAME.json"),
		both("the files appear below %s", "文件位于 %s", printable(m.value("path"))),
		both("list every device that shall dump in support_device", "support_device 需包含所有要 dump 的设备号"),
	}
	steps = append(steps, backendSteps(m)...)
	switch {
	case m.recipe.name == "ms-stat" || m.recipe.name == "ms-overflow":
	case m.opt.TargetVersion.Before(sinceMS16):
		steps = append(steps, both("tensors of a whole network are large: dump few steps and operators", "整网 dump 数据量大：请减少迭代和算子"))
	default:
		steps = append(steps, both("tensors of a whole network are large: dump few steps and operators, or begin with the profile ms-stat",
			"整网 dump 数据量大：请减少迭代和算子，或先使用 ms-stat 配置"))
	}
	return steps
}

// backendSteps is what depends on who dumps.
func backendSteps(m *making) []Text {
	target := m.opt.TargetVersion
	switch {
	case m.opt.leftToMsprobe():
		return []Text{both("since MindSpore 2.6 nothing is dumped with jit_level O2 or the graph engine: use msprobe there", "MindSpore 2.6 起 jit_level O2 与图引擎不再支持 dump，请使用 msprobe")}
	case m.byFramework() && m.opt.withoutE2EDump():
		return []Text{both("jit_level O2 and the graph engine do not support this profile; use ms-async", "jit_level O2 与图引擎不支持该配置，请使用 ms-async")}
	case m.byFramework():
		return []Text{both("set dataset_sink_mode=False in the script, or steps are missing", "脚本中设置 dataset_sink_mode=False，否则迭代数据不全")}
	case target.Before(sinceMS23):
		return nil // the device dumps by default
	}
	var out []Text
	switch {
	case target.Before(sinceMS24):
	case target.IsNewest():
		out = append(out, both("without e2e_dump_settings data is written from MindSpore 2.4 on with jit_level O2 only, and from 2.6 on not at all (use msprobe there)",
			"没有 e2e_dump_settings 时，MindSpore 2.4 起仅 jit_level O2 会写数据，2.6 起不再支持(请使用 msprobe)"))
	case target.Before(sinceMS26):
		out = append(out, both("without e2e_dump_settings data is written with jit_level O2 only", "没有 e2e_dump_settings 时仅 jit_level O2 会写数据"))
	default:
		return []Text{both("without e2e_dump_settings this release writes no data: use ms-e2e, or msprobe", "该版本没有 e2e_dump_settings 时不写数据：请使用 ms-e2e 配置或 msprobe")}
	}
	if !m.opt.kernelByKernel() {
		out = append(out, sinkSize())
	}
	return out
}

// byFramework reports whether e2e_dump_settings is written.
func (m *making) byFramework() bool {
	for i, v := range m.settled {
		if v != nil && m.recipe.parts[i].block == inE2E {
			return true
		}
	}
	return false
}

// localPath is the folder of a path, also on another host.
func localPath(path string) string {
	if !isRemote(path) {
		return path
	}
	_, folder, _ := strings.Cut(path, ":")
	return folder
}
