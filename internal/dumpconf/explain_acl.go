package dumpconf

import "strings"

const (
	opFile       = "{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}"
	opdebugFile  = "Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}"
	modelFolders = "{model_name}/{model_id}/{data_index}"
)

// aclKinds are the dumps that an acl.json switches on.
type aclKinds struct{ exception, overflow, watcher, ops, models, kernel bool }

func (a *ACL) kinds() aclKinds {
	k := aclKinds{
		exception: a.Exception(),
		kernel:    a.DumpKernelData.Value != "",
	}
	if k.exception {
		return k
	}
	k.watcher = a.Watcher()
	k.overflow = a.Overflow() && !k.watcher
	if k.watcher || k.overflow {
		return k
	}
	k.ops = a.OpSwitch()
	k.models = a.DumpList.OK && len(a.DumpList.Node.Elems) > 0
	return k
}

func (e *explaining) acl(a *ACL) {
	k := a.kinds()
	switch {
	case k.exception:
		e.exception(e.scene(a.DumpScene.Value), a.DumpPath.Value)
	case k.overflow:
		e.aclOverflow(a)
	case k.watcher:
		e.watcher(a)
	case k.ops || k.models:
		e.aclOrdinary(a, k)
	}
	if k.kernel {
		e.kernelData(a)
	}
	if scene, variable := e.sceneVariable(); variable != "" && !e.out.Active {
		e.say("what", both("nothing by the file itself, but a variable of the environment switches a dump on", "文件本身不开启 dump，但环境变量开启了 dump"))
		e.exception(e.scene(scene), a.DumpPath.Value)
		k.exception = true
	}
	if !e.out.Active {
		e.nothing(a)
		return
	}
	e.aclPlace(a, k)
	e.aclSurroundings(k)
}

// nothing says why there is no dump.
func (e *explaining) nothing(a *ACL) {
	switch newer := e.tooNew(a); {
	case newer != "":
		e.say("what", both("nothing: version %v does not know %s, which is newer", "不 dump：版本 %v 尚不支持 %s", e.opt.TargetVersion, newer))
	case !a.Dump.Present():
		e.say("what", both(`nothing: there is no "dump" object`, `不 dump：没有 "dump" 对象`))
	case len(a.Dump.Node.Members) == 0:
		e.say("what", both(`nothing: "dump" is empty`, `不 dump："dump" 为空`))
	case a.DumpList.OK:
		e.say("what", both(`nothing: dump_list is empty and dump_op_switch is not "on"; [{}] would dump all models`,
			`不 dump：dump_list 为空且 dump_op_switch 未打开；[{}] 表示所有模型`))
	default:
		e.say("what", both("nothing: no dump_list, dump_op_switch, dump_debug, dump_scene or dump_kernel_data switches a dump on",
			"不 dump：没有 dump_list、dump_op_switch、dump_debug、dump_scene 或 dump_kernel_data 开启任何 dump"))
	}
}

// tooNew names the keys that would switch a dump on if the target version knew
// them.
func (e *explaining) tooNew(a *ACL) string {
	var keys []string
	for _, f := range e.r.newer() {
		switch key := lastOf(f.Path); key {
		case "dump_debug", "dump_scene", "dump_kernel_data":
			if look[struct{}](a.Dump, key).Node.Text != "off" {
				keys = append(keys, key)
			}
		}
	}
	return list(keys)
}

// aclOrdinary is about dumps of models and single operators.
func (e *explaining) aclOrdinary(a *ACL, k aclKinds) {
	data := both("tensors", "张量")
	if a.Stats() {
		data = both("statistics", "统计信息")
	}
	if k.models {
		e.active(both("model dump: %s of the %s of operators, while models run", "模型 dump：模型执行时 dump 算子%[2]s的%[1]s", data, sides(a.Mode())))
		e.items(a)
	}
	if k.ops {
		e.active(both("single-operator dump: %s of the %s of operators that are called one by one", "单算子 dump：单算子调用时 dump 算子%[2]s的%[1]s", data, sides(a.Mode())))
	}
	e.level(a)
	e.steps(a.DumpStep.Value, a.Steps)
	if a.DumpStep.Value != "" {
		e.say("environment", both("when ge.exec.dumpStep is set too, the later of the two wins", "若同时设置了 ge.exec.dumpStep，以后设置的为准"))
		e.say("care", both("with steps chosen nothing is dumped of graphs that do not count steps; steps are not meant for inference",
			"配置 dump_step 后，没有 step 信息的图不会 dump；推理场景不建议使用"))
	}
	e.say("which", both("every device that the process uses", "进程使用的所有 device"))
	if !k.kernel && !e.opt.TargetVersion.Before(sinceCANN85) {
		e.say("care", both("from version 8.5 on kernel data of Ascend C operators is dumped too; dump_kernel_data chooses which", "8.5 版本起同时 dump Ascend C 算子的 kernel 数据，可用 dump_kernel_data 选择"))
	}
	e.aclFiles(a, k)
	e.ordinaryFormat(a)
}

// level says which layer of the software is dumped.
func (e *explaining) level(a *ACL) {
	switch a.DumpLevel.Value {
	case "op":
		e.say("which", both("operators of the graph, not the aclnn kernels below them", "图算子，不含 aclnn kernel"))
	case "kernel":
		e.say("which", both("aclnn kernels, not the operators of the graph", "aclnn kernel，不含图算子"))
	default:
		e.say("which", both("operators of the graph and aclnn kernels", "图算子和 aclnn kernel"))
	}
}

// items says which models and operators are chosen.
func (e *explaining) items(a *ACL) {
	for i, it := range a.DumpList.Value {
		if i == shown {
			e.say("which", both("and %d more items of dump_list", "以及 dump_list 中另外 %d 项", len(a.DumpList.Value)-shown))
			break
		}
		e.item(it)
	}
}

func (e *explaining) item(it ACLItem) {
	model := both("every model", "所有模型")
	if it.ModelName.Value != "" {
		model = both("model %s", "模型 %[1]s", shorten(printable(it.ModelName.Value)))
	}
	ops := both("all operators", "所有算子")
	if layers := valuesOf(it.Layer.Value); len(layers) > 0 {
		ops = both("operators %s", "算子 %[1]s", names(layers))
	}
	e.say("which", both("%s: %s", "%s：%s", model, ops))
	for _, rg := range it.OpnameRange.Value[:min(len(it.OpnameRange.Value), shown)] {
		e.say("which", both("%s: from %s to %s in the order of execution", "%s：按执行顺序从 %s 到 %s", model,
			shorten(printable(rg.Begin.Value)), shorten(printable(rg.End.Value))))
	}
	e.blacklist(model, it.OptypeBlacklist.Value, both("operators of type", "类型为"))
	e.blacklist(model, it.OpnameBlacklist.Value, both("operators", "名称为"))
}

func (e *explaining) blacklist(model Text, entries []ACLBlacklistEntry, kind Text) {
	var out []string
	for _, b := range entries {
		if b.Name.Value == "" {
			continue
		}
		name := b.Name.Value
		if pos := valuesOf(b.Pos.Value); len(pos) > 0 {
			name += " (" + strings.Join(pos, " ") + ")"
		}
		out = append(out, name)
	}
	if len(out) > 0 {
		e.say("which", both("%s: not %s %s", "%s：不 dump %s %s 的算子", model, kind, names(out)))
	}
}

// aclFiles lists the paths of ordinary dumps.
func (e *explaining) aclFiles(a *ACL, k aclKinds) {
	file := opFile
	if a.Stats() {
		file += ".csv"
	}
	root := localPath(a.DumpPath.Value)
	if k.models {
		for i, it := range a.DumpList.Value {
			if i == shown {
				break
			}
			folders, name := modelFolders, file
			if it.ModelName.Value != "" {
				folders = strings.Replace(folders, "{model_name}", fileSafe(it.ModelName.Value), 1)
			}
			if layers := valuesOf(it.Layer.Value); len(layers) == 1 {
				name = strings.Replace(name, "{op_name}", fileSafe(layers[0]), 1)
			}
			e.files(root, "{time}/{device_id}", folders, name)
		}
	}
	if k.ops {
		e.files(root, "{time}/{device_id}", file)
	}
}

func (e *explaining) ordinaryFormat(a *ACL) {
	folder := localPath(a.DumpPath.Value)
	if a.Stats() {
		columns := both("all statistics but L2norm", "除 L2norm 外的所有统计项")
		if v := valuesOf(a.DumpStats.Value); len(v) > 0 {
			columns = names(v)
		}
		e.say("format", both("CSV, a file an operator and a line a tensor, with type, format, shape and %s", "CSV：每个算子一个文件，每个张量一行，含类型、格式、shape 和%s", columns))
		e.say("read", both("the CSV files are read as they are; find the operators with NaN, infinities or unusual ranges, then dump the tensors of those",
			"CSV 文件可直接查看；找到有 NaN、inf 或数值异常的算子后，再 dump 这些算子的张量"))
		return
	}
	e.tensorFormat(a.Mode())
	e.readTensors(folder)
}

// tensorFormat is the format of dump files with inputs, outputs or all.
func (e *explaining) tensorFormat(mode string) {
	e.say("format", both("binary dump files, one an operator, with %s in device layout: a header (protobuf) and the raw tensors; numpy does not read them",
		"二进制 dump 文件，每个算子一个，含设备侧格式的%s：protobuf 头加原始数据，numpy 不能直接读取", sides(mode)))
}

// readTensors are the commands for dump files.
func (e *explaining) readTensors(folder string) {
	e.run(folder, "dumptool inspect --stats %s", both("what is in the files", "查看文件内容"))
	e.run(folder, "dumptool convert -d %s -out out -f NCHW", both("as .npy arrays in host layout", "转换为主机侧格式的 .npy"))
	e.run(folder, "dumptool compare --cpu GOLDEN --npu %s -out report", both("against a reference run in GOLDEN", "与标杆数据 GOLDEN 比对"))
	e.run(folder, "dumptool overflow scan %s", both("NaN, infinities and saturated values", "查找 NaN、inf 和饱和值"))
}

func (e *explaining) aclOverflow(a *ACL) {
	e.active(both("overflow dump: inputs and outputs of AI Core operators that overflow, with a record of the overflow", "溢出 dump：溢出的 AI Core 算子的输入和输出，以及溢出记录"))
	e.overflowFiles(localPath(a.DumpPath.Value), "{time}/{device_id}/"+modelFolders)
}

// overflowFiles is what all overflow dumps of the runtime have in common.
func (e *explaining) overflowFiles(root, folders string) {
	e.say("which", both("every model, every step and every device, but only operators that overflow", "所有模型、迭代和 device，但只有溢出的算子"))
	e.files(root, folders, opFile)
	e.files(root, folders, opdebugFile)
	e.tensorFormat("all")
	e.say("format", both("Opdebug files hold the record; the task id in their name means nothing, the one inside does", "Opdebug 文件为溢出记录；文件名中的 task id 无意义，以文件内容为准"))
	e.readOverflow(root)
	if e.r.Engine == nil {
		e.say("care", both("offline models must be built with ATC --status_check=1", "离线模型需在 ATC 转换时加 --status_check=1"))
	}
}

func (e *explaining) readOverflow(root string) {
	e.run(root, "dumptool overflow analyze -d %s", both("which operator overflowed first, and why", "首个溢出算子及原因"))
	e.run(root, "dumptool overflow decode --extended %s", both("the records", "解析溢出记录"))
}

// aclPlace says where paths begin.
func (e *explaining) aclPlace(a *ACL, k aclKinds) {
	p := a.DumpPath.Value
	switch {
	case k.exception || p == "":
	case isRemote(p):
		host, _, _ := strings.Cut(p, ":")
		e.say("where", both("on the host %s", "在主机 %s 上", host))
	case placeholder.MatchString(p):
		e.say("where", both("%s is taken literally: variables are not expanded, so the folder is not found", "%s 按字面使用：变量不会展开，因此目录不存在", quoted(p)))
	case !strings.HasPrefix(p, "/"):
		e.say("where", both("%s is relative to the folder in which the program is started", "%s 相对于程序启动时的工作目录", quoted(p)))
	}
	if p != "" && !k.exception {
		e.say("where", both("the folder must exist and be writable; the runtime does not create it", "目录必须已存在且可写，运行时不会创建"))
	}
	if k.models || k.ops || k.overflow || k.watcher {
		e.say("where", both("{time} is the start, YYYYMMDDHHMMSS, one for each process that starts in another second; levels that the runtime does not know are missing",
			"{time} 为启动时间 YYYYMMDDHHMMSS，多进程可能有多个；运行时未知的目录层级会缺失"))
		e.say("where", both("names longer than the file system allows become numbers; mapping.csv in the same folder tells the names", "文件名过长时以数字命名，原名见同目录的 mapping.csv"))
	}
}

// aclSurroundings is about calls and variables.
func (e *explaining) aclSurroundings(k aclKinds) {
	if k.models || k.ops || k.overflow || k.watcher {
		if v, set := e.variable("NPU_COLLECT_PATH"); set {
			e.say("environment", both("NPU_COLLECT_PATH=%s is set and makes this dump fail or stay off; unset it", "已设置 NPU_COLLECT_PATH=%s，会使该 dump 失败或不生效，请取消", shorten(printable(v))))
		} else {
			e.say("environment", both("NPU_COLLECT_PATH must not be set: it makes this dump fail or stay off", "不能设置 NPU_COLLECT_PATH，否则该 dump 失败或不生效"))
		}
		if scene, variable := e.sceneVariable(); variable == sceneVariable {
			e.say("environment", both("%s=%s is set: operators that fail are dumped as well", "已设置 %s=%s，执行异常的算子也会 dump", variable, scene))
		}
		e.say("environment", both("only models that are loaded after aclInit or aclmdlSetDump are dumped; the two exclude each other", "只有在 aclInit 或 aclmdlSetDump 之后加载的模型才会 dump；两种方式不能同时使用"))
		e.say("care", both("a dump makes the program much slower, do not profile at the same time; raise HCCL_EXEC_TIMEOUT when several devices work together",
			"dump 会明显降低性能，不要同时进行 profiling；多卡时请增大 HCCL_EXEC_TIMEOUT"))
	}
	if k.models && !k.watcher {
		e.say("care", both("operators that run on no core (Data, Const, control flow, Send and Recv) give no file; for Data dump its successors",
			"不在核上执行的算子(Data、Const、控制流、Send/Recv)没有 dump 文件；Data 请 dump 其后继算子"))
	}
	if (k.models || k.ops) && !e.r.ACL.Stats() && !e.opt.TargetVersion.Before(sinceCANN70) {
		e.say("care", both(`tensors of a whole model are large: dump_data "stats" first, then layer or dump_step`, `张量 dump 数据量大：建议先用 dump_data "stats"，再用 layer 或 dump_step 缩小范围`))
	}
}
