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
	k := aclKinds{kernel: a.DumpKernelData.Value != ""}
	switch {
	case a.Exception():
		k.exception = true
	case a.Watcher():
		k.watcher = true
	case a.Overflow():
		k.overflow = true
	default:
		k.ops, k.models = a.OpSwitch(), a.DumpList.isFilled()
	}
	return k
}

// inFolders reports whether a dump has files in folders of the time and device.
func (k aclKinds) inFolders() bool { return k.models || k.ops || k.overflow || k.watcher }

func (e *explainer) acl(a *ACL) {
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
		e.say("what.by-variable")
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
func (e *explainer) nothing(a *ACL) {
	switch newer := e.tooNew(a); {
	case newer != "":
		e.say("what.newer-keys", e.opt.TargetVersion, newer)
	case !a.Dump.Present():
		e.say("what.no-dump-object")
	case len(a.Dump.Node.Members) == 0:
		e.say("what.empty-dump")
	case a.DumpList.OK:
		e.say("what.empty-list")
	default:
		e.say("what.nothing-on")
	}
}

// tooNew names the keys that would switch a dump on if the target version knew
// them.
func (e *explainer) tooNew(a *ACL) string {
	var keys []string
	for _, f := range e.r.newer() {
		switch key := lastOf(f.Path); key {
		case "dump_debug", "dump_scene", "dump_kernel_data":
			if lookup[struct{}](a.Dump, key).Node.Text != "off" {
				keys = append(keys, key)
			}
		}
	}
	return list(keys)
}

// aclOrdinary is about dumps of models and single operators.
func (e *explainer) aclOrdinary(a *ACL, k aclKinds) {
	data := text("word.tensors")
	if a.Stats() {
		data = text("word.statistics")
	}
	if k.models {
		e.active("what.model-dump", data, sides(a.Mode()))
		for _, it := range atMost(shown, a.DumpList.Value) {
			e.item(it)
		}
		more := len(a.DumpList.Value) - shown
		e.when(more > 0, "which.more-items", more)
	}
	if k.ops {
		e.active("what.op-dump", data, sides(a.Mode()))
	}
	e.level(a)
	e.steps(a.DumpStep.Value, a.Steps)
	e.when(a.DumpStep.Value != "", "environment.engine-step")
	e.when(a.DumpStep.Value != "", "care.steps-chosen")
	e.say("which.every-device")
	e.when(!k.kernel && !e.opt.TargetVersion.Before(sinceCANN85), "care.kernel-data-too")
	e.aclFiles(a, k)
	e.ordinaryFormat(a)
}

// level says which layer of the software is dumped.
func (e *explainer) level(a *ACL) {
	switch a.DumpLevel.Value {
	case "op":
		e.say("which.graph-level")
	case "kernel":
		e.say("which.kernel-level")
	default:
		e.say("which.both-levels")
	}
}

// item says which models and operators an item chooses.
func (e *explainer) item(it ACLItem) {
	model := text("word.every-model")
	if it.ModelName.Value != "" {
		model = text("word.model", shorten(printable(it.ModelName.Value)))
	}
	ops := text("word.all-operators")
	if layers := valuesOf(it.Layer.Value); len(layers) > 0 {
		ops = text("word.operators", names(layers))
	}
	e.say("which.item", model, ops)
	for _, rg := range atMost(shown, it.OpnameRange.Value) {
		e.say("which.range", model, shorten(printable(rg.Begin.Value)), shorten(printable(rg.End.Value)))
	}
	e.blacklist(model, it.OptypeBlacklist.Value, text("word.of-type"))
	e.blacklist(model, it.OpnameBlacklist.Value, text("word.of-name"))
}

func (e *explainer) blacklist(model Text, entries []ACLBlacklistEntry, kind Text) {
	var out []string
	for _, b := range entries {
		name := b.Name.Value
		if pos := valuesOf(b.Pos.Value); len(pos) > 0 {
			name += " (" + strings.Join(pos, " ") + ")"
		}
		if b.Name.Value != "" {
			out = append(out, name)
		}
	}
	e.when(len(out) > 0, "which.blacklist", model, kind, names(out))
}

// aclFiles lists the paths of ordinary dumps.
func (e *explainer) aclFiles(a *ACL, k aclKinds) {
	file := opFile
	if a.Stats() {
		file += ".csv"
	}
	root := localPath(a.DumpPath.Value)
	if k.models {
		for _, it := range atMost(shown, a.DumpList.Value) {
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

func (e *explainer) ordinaryFormat(a *ACL) {
	folder := localPath(a.DumpPath.Value)
	if a.Stats() {
		columns := text("word.default-statistics")
		if v := valuesOf(a.DumpStats.Value); len(v) > 0 {
			columns = names(v)
		}
		e.say("format.csv", columns)
		e.say("read.csv")
		return
	}
	e.tensorFormat(a.Mode())
	e.readTensors(folder, true)
}

// tensorFormat is the format of dump files with inputs, outputs or all.
func (e *explainer) tensorFormat(mode string) {
	e.say("format.dump-files", sides(mode))
}

// readTensors are the commands for files with tensors. Dump files can be converted.
func (e *explainer) readTensors(folder string, dumps bool) {
	e.run(folder, "dumptool inspect --stats %s", "why.inspect")
	if dumps {
		e.run(folder, "dumptool convert -d %s -out out -f NCHW", "why.convert-host")
	}
	e.run(folder, "dumptool compare --cpu GOLDEN --npu %s -out report", "why.compare")
	e.run(folder, "dumptool overflow scan %s", "why.scan")
}

func (e *explainer) aclOverflow(a *ACL) {
	e.active("what.overflow-dump")
	e.overflowFiles(localPath(a.DumpPath.Value), "{time}/{device_id}/"+modelFolders)
}

// overflowFiles is what all overflow dumps of the runtime have in common.
func (e *explainer) overflowFiles(root, folders string) {
	e.say("which.overflowing")
	e.files(root, folders, opFile)
	e.files(root, folders, opdebugFile)
	e.tensorFormat("all")
	e.say("format.opdebug-files")
	e.readOverflow(root)
	e.when(e.r.Engine == nil, "care.status-check")
}

func (e *explainer) readOverflow(root string) {
	e.run(root, "dumptool overflow analyze -d %s", "why.analyze")
	e.run(root, "dumptool overflow decode --extended %s", "why.decode")
}

// aclPlace says where paths begin.
func (e *explainer) aclPlace(a *ACL, k aclKinds) {
	p := a.DumpPath.Value
	switch {
	case k.exception || p == "":
	case isRemote(p):
		host, _, _ := strings.Cut(p, ":")
		e.say("where.on-host", host)
	case placeholder().MatchString(p):
		e.say("where.literal", quoted(p))
	case !strings.HasPrefix(p, "/"):
		e.say("where.relative", quoted(p))
	}
	e.when(p != "" && !k.exception, "where.must-exist")
	e.when(k.inFolders(), "where.time")
	e.when(k.inFolders(), "where.mapping")
}

// aclSurroundings is about calls and variables.
func (e *explainer) aclSurroundings(k aclKinds) {
	if k.inFolders() {
		v, set := e.opt.env("NPU_COLLECT_PATH")
		e.when(set, "environment.collect-is-set", shorten(printable(v)))
		e.when(!set, "environment.collect-unset")
		scene, variable := e.sceneVariable()
		e.when(variable == sceneVariable, "environment.scene-is-set", variable, scene)
		e.say("environment.load-order")
		e.say("care.slow")
	}
	e.when(k.models, "care.no-core")
	e.when((k.models || k.ops) && !e.r.ACL.Stats() && !e.opt.TargetVersion.Before(sinceCANN70), "care.large-model")
}
