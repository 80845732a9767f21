package dumpconf

// ignoredBecause is why a setting does not count, by the rule that finds it.
var ignoredBecause = map[string]Text{
	"ACL006": {EN: "unknown key, which the runtime ignores", ZH: "未知的键，运行时忽略"},
	"ACL007": {EN: "the key is at the wrong level and ignored there", ZH: "键的层级错误，被忽略"},
	"ACL008": {EN: "given twice; only the last one counts", ZH: "重复的键，只有最后一个生效"},
	"ACL026": {EN: "a variable of the environment comes before it", ZH: "被环境变量覆盖"},
	"ACL041": {EN: "not used in an exception scene", ZH: "异常 dump 场景下不生效"},
	"ACL048": {EN: "no file is made for this layer", ZH: "该 layer 不会产生文件"},
	"ACL052": {EN: `no effect while dump_debug is "on"`, ZH: `dump_debug 为 "on" 时不生效`},
	"ACL066": {EN: "an empty name matches nothing", ZH: "空名称不匹配任何算子"},
	"ACL072": {EN: "a blacklist entry without name has no effect", ZH: "没有 name 的黑名单项不生效"},
	"ACL073": {EN: "the graph engine does not understand this position and ignores it", ZH: "图引擎不识别该位置，忽略"},
	"ACL091": {EN: "newer than the target version, which does not know it", ZH: "目标版本尚不支持"},
	"GE006":  {EN: "no effect: enableDumpDebug and dumpDebugMode work together only", ZH: "不生效：enableDumpDebug 与 dumpDebugMode 需同时配置"},
	"GE008":  {EN: "no dump option", ZH: "不是 dump 选项"},
	"MS003":  {EN: "unknown here, MindSpore ignores it", ZH: "此处不支持的键，MindSpore 忽略"},
	"MS022":  {EN: "a piece matches no step", ZH: "其中一段不匹配任何迭代"},
	"MS027":  {EN: `not used while saved_data is "tensor"`, ZH: `saved_data 为 "tensor" 时不生效`},
	"MS028":  {EN: "not computed on the device", ZH: "设备侧不支持该统计项"},
	"MS030":  {EN: "not used beside e2e_dump_settings: the files are npy", ZH: "有 e2e_dump_settings 时不生效，文件为 npy"},
	"MS032":  {EN: "taken as 3, all overflows", ZH: "按 3(所有溢出)处理"},
	"MS033":  {EN: "not used while op_debug_mode is not 0", ZH: "op_debug_mode 不为 0 时不生效"},
	"MS034":  {EN: "forced to 0 (both) while op_debug_mode is 3", ZH: "op_debug_mode 为 3 时强制为 0(输入和输出)"},
	"MS036":  {EN: "not used while op_debug_mode is 4", ZH: "op_debug_mode 为 4 时不生效"},
	"MS040":  {EN: "used with dump_mode 1 only", ZH: "仅 dump_mode 为 1 时生效"},
	"MS053":  {EN: `forced back to "host"`, ZH: `强制改为 "host"`},
	"MS054":  {EN: "read only when sample_mode is 1", ZH: "仅 sample_mode 为 1 时生效"},
	"MS055":  {EN: "not used since version 1.2", ZH: "1.2 版本起不再使用"},
	"MS056":  {EN: "only the synchronous dump is effective", ZH: "只有同步 dump 生效"},
	"MS059":  {EN: "sampling does not work here", ZH: "此场景不支持采样"},
}

// mindBecause is what else to mind, by the rule that finds it.
var mindBecause = map[string]Text{
	"ACL063": {EN: "matches no model: the name has a folder or suffix", ZH: "名称含目录或后缀，不匹配任何模型"},
	"ACL065": {EN: "the item has no model_name and so applies to all models, also to those of other items", ZH: "该项没有 model_name，会作用于所有模型，包括其他项中的模型"},
	"ACL068": {EN: "the name has blanks around it, or is there twice", ZH: "名称首尾有空格或重复"},
	"ACL077": {EN: "acts together with the other filters of the item", ZH: "与该项的其他过滤条件共同生效"},
	"ACL082": {EN: "works on Atlas A2 only", ZH: "仅 Atlas A2 支持"},
	"ACL090": {EN: "the profiler is on too, the dump distorts its times", ZH: "同时开启了 profiler，dump 会影响其时间数据"},
	"ACL093": {EN: "dumps in containers are not supported, as the documentation says", ZH: "文档说明容器内不支持 dump"},
	"GE007":  {EN: "separate operator names by spaces", ZH: "算子名需用空格分隔"},
	"MS043":  {EN: "the regular expression does not work as meant", ZH: "正则表达式不会按预期匹配"},
	"MS045":  {EN: "a device in use is not in the list and does not dump", ZH: "使用中的设备不在列表中，不会 dump"},
}

// overruled is why the runtime does not look at a setting at all.
func (e *explaining) overruled() Text {
	if e.r.ACL != nil && e.r.ACL.Exception() {
		return ignoredBecause["ACL041"]
	}
	return ignoredBecause["ACL052"]
}

// moot reports whether a rule speaks of a key that the target version ignores.
func (e *explaining) moot(rule string) bool {
	a := e.r.ACL
	switch {
	case a == nil:
		return false
	case rule == "ACL026" || rule == "ACL041" || rule == "ACL053" || rule == "ACL049":
		return !a.Exception()
	case rule == "ACL052":
		return !a.Overflow()
	default:
		return false
	}
}

// unusedSettings lists what MindSpore does not look at and no rule reports.
func (e *explaining) unusedSettings(m *MindSpore) {
	say := func(path string, offset int, why Text) {
		line, _ := e.r.Doc.Position(offset)
		e.say("ignored", both("%s (line %d): %s", "%s (第 %d 行)：%s", path, line, why))
	}
	if s := m.KernelNames; m.DebugMode() != 0 && m.DumpMode.Value == 1 && len(m.Kernels) > 0 {
		say(s.Path, s.keySpot().start, ignoredBecause["MS033"])
	}
	if s := m.SupportDevice; s.Present() && e.opt.isCPU() {
		say(s.Path, s.keySpot().start, both("not used on CPU", "CPU 上不生效"))
	}
}

// ignored lists what does not count, and what to mind.
func (e *explaining) ignored() {
	count := 0
	seen := make(map[string]bool)
	for i := range e.r.Findings {
		f := &e.r.Findings[i]
		section, reason := "ignored", Text{}
		switch because, known := ignoredBecause[f.Rule]; {
		case f.Severity == Error, e.moot(f.Rule):
			continue
		case f.Ignored != "":
			reason = e.overruled()
		case f.Rule == "MS028" && f.Severity != Warning:
			continue
		case known:
			reason = because
		default:
			section, reason = "care", mindBecause[f.Rule]
		}
		where := shorten(printable(f.Path))
		if reason == (Text{}) || seen[where+reason.EN] {
			continue
		}
		seen[where+reason.EN] = true
		if count++; count > 5*shown {
			continue
		}
		e.say(section, both("%s (line %d): %s", "%s (第 %d 行)：%s", where, f.Line, reason))
	}
	if count > 5*shown {
		e.say("ignored", both("and more, see the check of the file", "等，详见检查结果"))
	}
}
