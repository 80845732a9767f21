package dumpconf

import "strings"

func mindSporeShapeCases() []ruleCase {
	ms := Options{Schema: SchemaMindSpore}
	return []ruleCase{
		{rule: "MS001", text: "{\"common_dump_settings\":{\"dump_mode\":0§,\n}}", message: "trailing comma"},
		{rule: "MS001", text: `§{"e2e_dump_settings":{}}`, message: "common_dump_settings not found"},
		{rule: "MS001", text: `{"common_dump_settings":§[],"e2e_dump_settings":§true}`, message: "found an array"},
		{rule: "MS001", text: `§[]`, opt: ms, message: "top level"},
		{rule: "MS001", text: `§`, opt: ms, message: "no value"},
		{rule: "MS001", text: common()},
		{rule: "MS002", name: "/a/dump.conf", text: "§" + common(), message: `"dump.conf"`},
		{rule: "MS002", name: "dump.JSON", text: "§" + common()},
		ruleCase{rule: "MS002", name: "dump.json", text: "§" + common(), opt: Options{Env: env("MINDSPORE_DUMP_CONFIG=./dump.json")}}.warns(),
		{rule: "MS002", name: "dump.json", text: common(), opt: Options{Env: env("MINDSPORE_DUMP_CONFIG=/x/dump.json")}},
		{rule: "MS002", name: "-", text: common()},
		{rule: "MS003", text: common(`§"input_outpt":1`), message: `did you mean "input_output"?`},
		{rule: "MS003", text: common(`§"enable":true`, `§"sample_mode":1`), message: `belongs in "e2e_dump_settings"`},
		{rule: "MS003", text: e2e(`"enable":true,§"saved_data":"tensor"`), message: `belongs in "common_dump_settings"`},
		{rule: "MS003", text: `{` + commonBlock(nil) + `,§"e2e_dump_setting":{},§"x":1}`},
		{rule: "MS003", text: e2e(`"enable":true`)},
		{rule: "MS010", text: `{§§§§§§"common_dump_settings":{}}`, message: "dump_mode is required"},
		{rule: "MS010", text: `{§` + common(`"kernels":`)[1:], message: "kernels"},
		{rule: "MS010", text: common()},
		{rule: "MS011", text: `{§` + common(`"op_debug_mode":`)[1:]},
		{rule: "MS011", text: common(`"op_debug_mode":`), opt: Options{SoC: "gpu"}},
		{rule: "MS011", text: common(`"op_debug_mode":`), target: "1.1"},
		{rule: "MS011", text: e2e(`"enable":false`, `"op_debug_mode":`)},
		{rule: "MS018", text: common(`"dump_mode":§"0"`, `"input_output":§-1`, `"op_debug_mode":§1.0`, `"overflow_number":§true`), message: `found the string "0"`},
		{rule: "MS018", text: e2e(`"sample_mode":§null,"sample_num":§1e2`)},
		{rule: "MS018", text: common(`"dump_mode":0`)},
		{rule: "MS019", text: common(`"kernels":§"Add"`, `"support_device":§0`)},
		{rule: "MS019", text: common(`"kernels":["a",§1]`, `"support_device":[0,§"1",§-1]`, `"statistic_category":§"max"`)},
		{rule: "MS019", text: common(`"kernels":["a"]`, `"support_device":[0,1]`)},
		{rule: "MS050", text: e2e(`"enable":§"true","trans_flag":§1,"save_kernel_args":§null`), message: `found the string "true"`},
		{rule: "MS050", text: e2e(`"enable":true,"trans_flag":false`)},
		{rule: "MS055", text: `{` + commonBlock(nil) + `,§"async_dump_settings":{"enable":true}}`},
		{rule: "MS055", text: `{` + commonBlock(nil) + `,"async_dump_settings":{"enable":true}}`, target: "1.1"},
		{rule: "MS056", text: `{` + commonBlock(nil) + `,"e2e_dump_settings":{"enable":true},"async_dump_settings":{§"enable":true}}`, target: "1.1"},
		{rule: "MS056", text: `{` + commonBlock(nil) + `,"e2e_dump_settings":{"enable":false},"async_dump_settings":{"enable":true}}`, target: "1.1"},
		{rule: "MS056", text: `{` + commonBlock(nil) + `,"e2e_dump_settings":{"enable":true},"async_dump_settings":{"enable":true}}`, target: "2.0"},
		{rule: "MS057", text: `{` + commonBlock(nil) + `,§§"e2e_dump_settings":{}}`, target: "1.3", message: "enable"},
		{rule: "MS057", text: `{` + commonBlock(nil) + `,§"e2e_dump_settings":{"enable":true}}`, target: "1.3", message: "trans_flag"},
		{rule: "MS057", text: e2e(`"enable":true`), target: "2.0"},
		{rule: "MS057", text: e2e(`"enable":true,"trans_flag":true`), target: "1.3"},
	}
}

func mindSporeCommonCases() []ruleCase {
	cpu, gpu := Options{SoC: "cpu"}, Options{SoC: "GPU"}
	return []ruleCase{
		ruleCase{rule: "MS012", text: `{§` + common(`"path":`)[1:]}.warns(),
		ruleCase{rule: "MS012", text: common(`"path":§""`)}.warns(),
		{rule: "MS012", text: `{§` + common(`"path":`)[1:], target: "1.5", message: "required"},
		{rule: "MS012", text: common(`"path":""`), opt: Options{Env: env("MS_DIAGNOSTIC_DATA_PATH=/m")}},
		{rule: "MS012", text: common()},
		{rule: "MS013", text: common(`"path":§"dump"`)},
		{rule: "MS013", text: common(`"path":"/dump"`)},
		{rule: "MS014", text: common(`"path":"/a§.b/c d"`), message: `"."`},
		{rule: "MS014", text: common(`"path":"§~/a"`)},
		{rule: "MS014", text: common(`"path":"/§数据"`), message: `"数"`},
		{rule: "MS014", text: common(`"path":§1`)},
		{rule: "MS014", text: common(`"path":"/a-b_C/9"`)},
		{rule: "MS015", text: common(`"net_name":"Res§.Net"`)},
		{rule: "MS015", text: common(`"net_name":§""`), message: "empty"},
		{rule: "MS015", text: common(`"net_name":§5`)},
		{rule: "MS015", text: common(`"net_name":"Res-Net_50"`)},
		{rule: "MS016", text: common(`"dump_mode":§3`), message: "found 3"},
		{rule: "MS016", text: common(`"dump_mode":§2`), target: "1.4", message: "1.5"},
		ruleCase{rule: "MS016", text: common(`"dump_mode":§2`), opt: cpu, message: "CPU"}.warns(),
		ruleCase{rule: "MS016", text: common(`"dump_mode":§2`), opt: gpu}.warns(),
		{rule: "MS016", text: common(`"dump_mode":2`)},
		{rule: "MS017", text: common(`"input_output":§3`)},
		{rule: "MS017", text: common(`"input_output":2`)},
		{rule: "MS045", text: common(`"support_device":§[]`), message: "every device"},
		{rule: "MS045", text: common(`"support_device":§[0,2]`), opt: Options{Devices: []uint64{0, 1}}, message: "device 1"},
		{rule: "MS045", text: common(`"support_device":[0,1]`), opt: Options{Devices: []uint64{0, 1}}},
		{rule: "MS045", text: common(`"support_device":[]`), opt: cpu},

		{rule: "MS020", text: common(`"iteration":§0`)},
		{rule: "MS020", text: common(`"iteration":"0"`)},
		{rule: "MS021", text: common(`"iteration":"0§ | 5-8"`), message: `" "`},
		{rule: "MS021", text: common(`"iteration":"§ALL"`)},
		{rule: "MS021", text: common(`"iteration":"0§,1"`)},
		{rule: "MS021", text: common(`"iteration":"all"`)},
		{rule: "MS021", text: common(`"iteration":"0|5-8|100-120"`)},
		{rule: "MS022", text: common(`"iteration":"§5-|§3-5-7|§9-5|§"`), message: "lacks a start or an end"},
		{rule: "MS022", text: common(`"iteration":"§"`), message: "empty piece"},
		{rule: "MS022", text: common(`"iteration":"x-"`)},
		{rule: "MS022", text: common(`"iteration":"3-3|5"`)},
		{rule: "MS023", text: common(`"iteration":"0|5-8"`, `"initial_iteration":§9`)},
		{rule: "MS023", text: common(`"iteration":"0|5-8"`, `"initial_iteration":8`)},
		{rule: "MS023", text: common(`"iteration":"all"`, `"initial_iteration":8`)},
	}
}

func mindSporeDataCases() []ruleCase {
	statistic := []string{`"saved_data":"statistic"`, `"file_format":"npy"`}
	with := func(more ...string) []string { return append(statistic[:2:2], more...) }
	return []ruleCase{
		{rule: "MS024", text: common(`"saved_data":§"stat"`), message: "tensor, statistic, full"},
		{rule: "MS024", text: common(`"saved_data":§["tensor"]`)},
		{rule: "MS024", text: common(`"saved_data":"full"`)},
		{rule: "MS025", text: e2e(``, `"saved_data":§"full"`), opt: Options{SoC: "CPU"}},
		{rule: "MS025", text: e2e(``, `"saved_data":"full"`), opt: Options{SoC: "gpu"}},
		{rule: "MS026", text: common(`"saved_data":§"statistic"`)},
		{rule: "MS026", text: common(`"saved_data":§"full"`, `"file_format":"bin"`)},
		{rule: "MS026", text: common(statistic...)},
		{rule: "MS026", text: e2e(``, `"saved_data":"full"`)},
		{rule: "MS027", text: common(`§"statistic_category":["max"]`)},
		{rule: "MS027", text: common(with(`"statistic_category":["max"]`)...)},
		{rule: "MS028", text: common(with(`"statistic_category":["max",§"median",§"L2Norm"]`)...), message: `"median"`},
		ruleCase{rule: "MS028", text: common(with(`"statistic_category":["max","hash","md5",§"max",§"hash:sha1",§"hash:md5"]`)...)}.informs(),
		ruleCase{rule: "MS028", text: common(with(`"statistic_category":§[]`)...)}.informs(),
		ruleCase{rule: "MS028", text: e2e(`"stat_calc_mode":"device"`, `"saved_data":"statistic"`, `"statistic_category":["max",§"md5"]`)}.warns(),
		{rule: "MS028", text: e2e(`"stat_calc_mode":"host"`, `"saved_data":"statistic"`, `"statistic_category":["max","md5"]`)},
		{rule: "MS029", text: common(`"file_format":§"txt"`)},
		{rule: "MS029", text: common(`"file_format":"bin"`)},
		{rule: "MS030", text: e2e(``, `§"file_format":"npy"`)},
		{rule: "MS030", text: common(`"file_format":"npy"`)},
	}
}

func mindSporeDebugCases() []ruleCase {
	return []ruleCase{
		{rule: "MS031", text: common(`"op_debug_mode":§5`)},
		{rule: "MS031", text: common(`"op_debug_mode":§4`), target: "1.9"},
		{rule: "MS031", text: common(`"op_debug_mode":4`)},
		{rule: "MS032", text: common(`"op_debug_mode":§1`)},
		{rule: "MS032", text: common(`"op_debug_mode":§2`), target: "2.3"},
		{rule: "MS032", text: common(`"op_debug_mode":1`), target: "1.3"},
		{rule: "MS032", text: common(`"op_debug_mode":3`)},
		{rule: "MS033", text: common(`"op_debug_mode":3`, `"dump_mode":§1`, `"iteration":"0"`)},
		{rule: "MS033", text: common(`"op_debug_mode":4`, `"dump_mode":0`, `"iteration":§"0"`)},
		{rule: "MS033", text: common(`"op_debug_mode":4`, `"iteration":"all"`)},
		{rule: "MS033", text: common(`"op_debug_mode":0`, `"dump_mode":1`)},
		{rule: "MS034", text: common(`"op_debug_mode":3`, `"input_output":§1`)},
		{rule: "MS034", text: common(`"op_debug_mode":4`, `"input_output":1`)},
		{rule: "MS035", text: common(`§"overflow_number":5`)},
		{rule: "MS035", text: e2e(``, `"op_debug_mode":`, `§"overflow_number":5`)},
		{rule: "MS035", text: common(`"overflow_number":5`, `"op_debug_mode":3`)},
		{rule: "MS036", text: e2e(`"sample_mode":§1`, `"op_debug_mode":4`), message: "sampling"},
		{rule: "MS036", text: e2e(``, `"op_debug_mode":4`, `"saved_data":§"full"`), message: "saved_data"},
		{rule: "MS036", text: e2e(`"sample_mode":1`, `"op_debug_mode":0`)},
	}
}

func mindSporeKernelCases() []ruleCase {
	kernels := func(list string) string { return common(`"dump_mode":1`, `"kernels":`+list) }
	return []ruleCase{
		{rule: "MS040", text: common(`§"kernels":["Conv2D"]`)},
		{rule: "MS040", text: common(`"kernels":[]`)},
		{rule: "MS040", text: kernels(`["Conv2D"]`)},
		{rule: "MS041", text: kernels(`§[]`)},
		{rule: "MS041", text: kernels(`§["", "\" "]`)},
		{rule: "MS041", text: kernels(`["Conv2D"]`)},
		{rule: "MS042", text: kernels(`[§"Default/conv1 /Conv2D-op1"]`), message: "spaces"},
		ruleCase{rule: "MS042", text: kernels(`[§"Default/conv1/Conv2D",§"Add-opx"]`), message: "suffix"}.informs(),
		ruleCase{rule: "MS042", text: kernels(`[§"Co"]`), message: "operator type"}.informs(),
		{rule: "MS042", text: kernels(`["Default/conv1/Conv2D-op12","Conv2D-op3","Conv2D","Mul","name-regex(a)"]`)},
		{rule: "MS043", text: kernels(`[§"name-regex(Default/.+"]`), message: "full name"},
		{rule: "MS043", text: kernels(`[§"name-regex(Default"]`), message: "an operator type"},
		{rule: "MS043", text: kernels(`[§"name-regex(a[)",§"name-regex((a)",§"name-regex(*)",§"name-regex([z-a])"]`)},
		{rule: "MS043", text: kernels(`[§"name-regex(op\\d+)"]`), message: "backslashes"},
		{rule: "MS043", text: kernels(`[§"name-regex(a)"]`), target: "2.2", message: "2.3"},
		{rule: "MS043", text: kernels(`["name-regex(Default/(?=x).*[0-9]+)","Conv2D"]`)},
		{rule: "MS044", text: kernels(`["Conv2D","Mul",§"Conv2D",§" Mul"]`)},
		{rule: "MS044", text: common(`"support_device":[0,1,§0]`), message: "device 0"},
		{rule: "MS044", text: kernels(`["a","name-regex(a)"]`)},
	}
}

func mindSporeE2ECases() []ruleCase {
	return []ruleCase{
		{rule: "MS051", text: `{§` + common()[1:], opt: Options{Backend: "ms_backend"}},
		{rule: "MS051", text: `{§` + common()[1:], opt: Options{Backend: "O1"}, target: "2.4"},
		{rule: "MS051", text: common(), opt: Options{Backend: "O2"}},
		{rule: "MS051", text: common(), opt: Options{Backend: "O1"}, target: "2.3"},
		{rule: "MS051", text: e2e(``), opt: Options{Backend: "O1"}},
		{rule: "MS052", text: e2e(`"stat_calc_mode":§"npu","device_stat_precision_mode":§"High"`), message: "host, device"},
		{rule: "MS052", text: e2e(`"stat_calc_mode":§1`)},
		{rule: "MS052", text: e2e(`"stat_calc_mode":"device","device_stat_precision_mode":"low"`)},
		{rule: "MS053", text: e2e(`"stat_calc_mode":§"device"`)},
		{rule: "MS053", text: e2e(`"stat_calc_mode":§"device"`, `"saved_data":"full"`)},
		{rule: "MS053", text: e2e(`"stat_calc_mode":§"device"`, `"saved_data":"statistic"`), opt: Options{SoC: "gpu"}},
		{rule: "MS053", text: e2e(`"stat_calc_mode":"device"`, `"saved_data":"statistic"`)},
		{rule: "MS054", text: e2e(`"sample_mode":§2`)},
		{rule: "MS054", text: e2e(`"sample_mode":1,"sample_num":§0`)},
		ruleCase{rule: "MS054", text: e2e(`§"sample_num":10`)}.warns(),
		ruleCase{rule: "MS054", text: e2e(`"sample_mode":0,§"sample_num":10`)}.warns(),
		{rule: "MS054", text: e2e(`"sample_mode":1,"sample_num":10`)},
		{rule: "MS058", text: "§" + e2e(``), opt: Options{Backend: "pynative"}},
		{rule: "MS058", text: "§" + e2e(``), opt: Options{Backend: "ge"}},
		{rule: "MS058", text: common(), opt: Options{Backend: "ge"}, target: "2.5"},
		{rule: "MS058", text: e2e(``), opt: Options{Backend: "O0"}},
		{rule: "MS059", text: e2e(`"sample_mode":§1`), opt: Options{SoC: "cpu"}},
		{rule: "MS059", text: common(`§"sample_mode":1`)},
		{rule: "MS059", text: e2e(`"sample_mode":1`)},
	}
}

func engineCases() []ruleCase {
	on := `"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d"`
	debug := `"ge.exec.enableDumpDebug":"1","ge.exec.dumpPath":"/d"`
	ge := func(options string) string { return `{` + on + `,` + options + `}` }
	tf := func(options string) string { return `{"enable_dump":true,"dump_path":"/d",` + options + `}` }
	pieces := strings.TrimSuffix(strings.Repeat("1|", 101), "|")
	return []ruleCase{
		{rule: "GE001", text: `{"ge.exec.enableDump":§"on","ge.exec.enableDumpDebug":§1}`, message: `must be "0" or "1"`},
		{rule: "GE001", text: `{"enable_dump":§"yes"}`},
		{rule: "GE001", text: ge(`"ge.exec.enableDumpDebug":"0"`)},
		{rule: "GE001", text: tf(`"enable_dump_debug":false`)},
		{rule: "GE002", text: ge(`§"ge.exec.enableDumpDebug":"1"`)},
		{rule: "GE002", text: ge(`"ge.exec.enableDumpDebug":"0"`)},
		{rule: "GE003", text: `{§"ge.exec.enableDump":"1"}`, message: "required"},
		{rule: "GE003", text: `{§"ge.exec.enableDumpDebug":"1"}`},
		{rule: "GE003", text: `{"ge.exec.enableDump":"1","ge.exec.dumpPath":§""}`},
		{rule: "GE003", text: `{"ge.exec.enableDump":"1","ge.exec.dumpPath":§"/d"}`, opt: Options{Stat: stat(PathMissing)}, message: "create it"},
		{rule: "GE003", text: `{"ge.exec.enableDump":"0"}`},
		{rule: "GE004", text: ge(`"ge.exec.dumpStep":"0|§3-3|§5-4|§x|§2147483648"`), message: "equal ends"},
		{rule: "GE004", text: ge(`"ge.exec.dumpStep":§"` + pieces + `"`), message: "100"},
		{rule: "GE004", text: ge(`"ge.exec.dumpStep":"0|3-5|2147483647"`)},
		{rule: "GE004", text: ge(`"ge.exec.dumpStep":"None"`)},
		{rule: "GE005", text: ge(`"ge.exec.dumpMode":§"both","ge.exec.dumpData":§"Stats"`), message: "input, output, all"},
		{rule: "GE005", text: tf(`"dump_mode":§1`)},
		{rule: "GE005", text: ge(`"ge.exec.dumpMode":"all","ge.exec.dumpData":"stats"`)},
		{rule: "GE006", text: `{` + debug + `,"ge.exec.dumpDebugMode":§"overflow"}`},
		{rule: "GE006", text: `{` + debug + `,"ge.exec.dumpDebugMode":§"aicore_overflow"}`, opt: Options{SoC: "Ascend910B"}, message: "only \"all\""},
		{rule: "GE006", text: `{` + debug + `,"ge.exec.dumpDebugMode":§"atomic_overflow"}`, opt: Options{SoC: "Atlas A3"}},
		ruleCase{rule: "GE006", text: ge(`§"ge.exec.dumpDebugMode":"all"`), message: "no effect"}.warns(),
		ruleCase{rule: "GE006", text: `{§` + debug + `}`, message: "no effect without ge.exec.dumpDebugMode"}.warns(),
		{rule: "GE006", text: `{` + debug + `,"ge.exec.dumpDebugMode":"aicore_overflow"}`},
		{rule: "GE006", text: `{"enable_dump_debug":true,"dump_path":"/d"}`},
		{rule: "GE007", text: ge(`"ge.exec.dumpLayer":"a§,b|c"`)},
		{rule: "GE007", text: ge(`"ge.exec.dumpLayer":"a b c"`)},
		{rule: "GE008", text: ge(`§"ge.exec.dumpPaht":"/d"`), message: `did you mean "ge.exec.dumpPath"?`},
		{rule: "GE008", text: ge(`"ge.exec.profilingMode":"1","ge.socVersion":"x"`)},
		{rule: "GE009", text: ge(`"ge.exec.dumpStep":§5,"ge.exec.enable_exception_dump":§"3"`)},
		{rule: "GE009", text: ge(`"ge.exec.dumpStep":"5","ge.exec.enable_exception_dump":"2"`)},
		{rule: "TF001", text: tf(`§"enable_dump_debug":true`)},
		{rule: "TF001", text: tf(`"enable_dump_debug":false`)},
		{rule: "TF002", text: `{§"enable_dump":true}`},
		{rule: "TF002", text: `{"enable_dump":true,"dump_path":§"/d"}`, opt: Options{Stat: stat(PathNotDir)}},
		{rule: "TF002", text: `{"enable_dump":true,"dump_path":"/d"}`, opt: Options{Stat: stat(PathUsable)}},
		{rule: "TF003", text: tf(`"dump_step":"0|§5-5|§9-5"`)},
		{rule: "TF003", text: tf(`"dump_step":"0|5-6"`)},
		{rule: "GE009", text: tf(`"dump_step":null,"dump_layer":null`)},
		{rule: "GE009", text: ge(`"ge.exec.dumpStep":§null`)},
	}
}

// msprobe returns a config.json of msprobe with more keys.
func msprobe(keys ...string) string {
	defaults := []string{`"task":"statistics"`, `"level":"L1"`, `"dump_path":"/d"`}
	replaced := strings.ReplaceAll(strings.Join(keys, ","), mark, "")
	for _, d := range defaults {
		if name, _, _ := strings.Cut(d, ":"); !strings.Contains(replaced, name) {
			keys = append(keys, d)
		}
	}
	return "{" + strings.Join(keys, ",") + "}"
}

func msprobeCases() []ruleCase {
	eight := Options{WorldSize: 8}
	return []ruleCase{
		{rule: "MP001", text: msprobe(`"task":§"statistic"`), message: `did you mean "statistics"?`},
		{rule: "MP001", text: msprobe(`"task":§"Tensor"`), message: `write "tensor" exactly so`},
		{rule: "MP001", text: msprobe(`"task":§7`), message: "must be a string"},
		{rule: "MP001", text: msprobe(`"task":"free_benchmark"`)},
		{rule: "MP001", text: acl(`"dump_debug":"on"`)},
		{rule: "MP002", text: msprobe(`"level":§"L3"`), message: "allowed are"},
		{rule: "MP002", text: msprobe(`"level":§1`)},
		{rule: "MP002", text: msprobe(`"level":"mix"`)},
		{rule: "MP003", text: msprobe(`"rank":[0,§8,"3-7",§"7-8"]`), opt: eight, message: "there is no rank 8 among 8 ranks"},
		{rule: "MP003", text: msprobe(`"rank":[0,8]`)},
		{rule: "MP003", text: msprobe(`"rank":[],"step":[100]`), opt: eight},
		{rule: "MP003", text: msprobe(`"rank":["x",-1]`), opt: eight},
		{rule: "MP004", text: msprobe(`"step":[0,"3-5",§"7",§"5-3",§"a-b",§-1,§1.5,§true,§[1],§"1-2-3",§99999999999999999999]`), message: `must be a list of numbers and of ranges such as [0, "3-5"], found "7"`},
		{rule: "MP004", text: msprobe(`"rank":§"0-7"`), message: "rank must be a list"},
		{rule: "MP004", text: msprobe(`"rank":§3`)},
		{rule: "MP004", text: msprobe(`"rank":[],"step":[18446744073709551615,"0-0"]`)},
		{rule: "MP005", text: msprobe(`"statistics":{"list":["conv"],§"scope":["a","b"]}`), message: "only one of them takes effect"},
		{rule: "MP005", text: msprobe(`"tensor":{"scope":["a","b"],"list":[]}`)},
		{rule: "MP005", text: msprobe(`"tensor":{"scope":"a","list":"b"}`)},
		{rule: "MP005", text: msprobe(`"statistics":{"list":["conv"]},"tensor":{"scope":["a"]}`)},
		{rule: "MP006", text: `§{"task":"statistics","level":"L1"}`, message: "dump_path is missing"},
		{rule: "MP006", text: msprobe(`"dump_path":§""`), message: "dump_path is missing"},
		{rule: "MP006", text: msprobe(`"dump_path":§"./out"`), message: "is relative"},
		{rule: "MP006", text: msprobe(`"dump_path":§3`), message: "must be a string"},
		{rule: "MP006", text: msprobe(`"dump_path":"/data/dump"`)},
		{rule: "MP007", text: msprobe(`§"ranks":[]`), message: `does not support the key "ranks"; did you mean "rank"?`},
		{rule: "MP007", text: msprobe(`"statistics":{§"data_modes":["all"],"scope":[]},§"zzzzz":1`), message: `"data_mode"`},
		{rule: "MP007", text: msprobe(`"rank":[],"step":[],"statistics":{"scope":[],"list":[],"data_mode":["all"],"summary_mode":"md5"}`)},
		{rule: "ACL001", text: msprobe() + "§x", message: "not valid JSON"},
		{rule: "ACL008", text: msprobe(`"rank":[],§"rank":[1]`), message: "is given twice"},
	}
}

func targetCases() []ruleCase {
	on := acl(`"dump_debug":"on"`)
	return []ruleCase{
		{rule: "CFG002", text: "§" + on, opt: Options{SoC: "Ascand910B"}, message: "known are A2, A3"},
		{rule: "CFG002", text: on, opt: Options{SoC: "Ascend910_93"}},
		{rule: "CFG002", text: on, opt: Options{SoC: "Atlas A2"}},
		{rule: "CFG002", text: on},
		{rule: "CFG003", text: "§" + on, opt: Options{Backend: "O0"}, message: "MindSpore only"},
		{rule: "CFG003", text: "§" + on, opt: Options{SoC: "gpu"}},
		{rule: "CFG003", text: common(), opt: Options{SoC: "gpu", Backend: "O0"}},
		{rule: "CFG003", text: on, opt: Options{SoC: "A2"}},
		{rule: "CFG004", text: `{"dump":{"dump_path":"/d","dump_debug":"on"},§` + common()[1:], message: "two files"},
		{rule: "CFG004", text: on},
		{rule: "ACL027", text: acl(`"dump_debug":"on","dump_path":§"/d "`)},
		{rule: "ACL027", text: on},
		{rule: "ACL069", text: listed(`{"model_name":§" m"},{"opname_blacklist":[{"name":§"x "},{"name":"y"}]}`)},
		{rule: "ACL069", text: listed(`{"model_name":"m"}`)},
		{rule: "ACL061", text: acl(`"dump_list":[],"dump_kernel_data":"all"`)},
		{rule: "ACL075", text: listed(`{"opname_range":[]}`)},
		{rule: "ACL091", text: acl(`"dump_stats":["Max"],"dump_data":"stats"`), target: "8.2.RC1"},
		{rule: "ACL091", text: acl(`"dump_scene":§"aic_err_brief_dump"`), target: "8.0", message: "rejects it"},
		{rule: "ACL091", text: acl(`§"dump_stats":["Max"]`), target: "8.0", message: "ignores it"},
		{rule: "ACL030", text: acl(`"dump_step":"0|§1 2"`), message: "other characters"},
	}
}

func oldMindSporeCases() []ruleCase {
	async := func(settings string) string {
		return `{` + commonBlock(nil) + `,"async_dump_settings":{` + settings + `}}`
	}
	check := env("HOME=/root")
	return []ruleCase{
		{rule: "MS012", text: `{§` + common(`"path":`)[1:], opt: Options{Env: check}, message: "is not set"},
		{rule: "MS020", text: common(`"iteration":0`), target: "1.1"},
		{rule: "MS020", text: common(`"iteration":§0`), target: "1.2"},
		{rule: "MS020", text: common(`"iteration":§true`), target: "1.1"},
		{rule: "MS026", text: common(`"saved_data":"full"`), opt: Options{Backend: "O0"}},
		{rule: "MS060", text: common(`"op_debug_mode":§3`), opt: Options{SoC: "cpu"}},
		{rule: "MS060", text: common(`"op_debug_mode":0`), opt: Options{SoC: "cpu"}},
		{rule: "MS060", text: common(`"op_debug_mode":3`)},
		{rule: "MS061", text: `{` + commonBlock(nil) + `,§"e2e_dump_settings":{"enable":true}}`, target: "2.4", opt: Options{Backend: "O2"}},
		{rule: "MS061", text: e2e(`"enable":true`), target: "2.4", opt: Options{Backend: "O0"}},
		{rule: "MS061", text: e2e(`"enable":true`), target: "2.2", opt: Options{Backend: "ge"}},
		{rule: "MS062", text: e2e(`"enable":§false,"trans_flag":true`), target: "1.1"},
		{rule: "MS062", text: `{§` + commonBlock(nil) + `,"async_dump_settings":{"enable":false}}`, target: "1.0"},
		{rule: "MS062", text: async(`"enable":true,"op_debug_mode":0`), target: "1.1"},
		{rule: "MS062", text: e2e(`"enable":true,"trans_flag":true`), target: "1.1"},
		{rule: "MS062", text: e2e(`"enable":false,"trans_flag":true`), target: "1.2"},
		{rule: "MS063", text: async(`"enable":true,"op_debug_mode":§4`), target: "1.1"},
		{rule: "MS063", text: async(`"enable":true,"op_debug_mode":3`), target: "1.1"},
		{rule: "MS064", text: e2e(`"enable":true`, `"saved_data":§"statistic"`), target: "2.0"},
		{rule: "MS064", text: e2e(`"enable":true`, `"saved_data":"statistic"`), target: "2.1"},
		{rule: "MS064", text: e2e(`"enable":true`, `"saved_data":"statistic"`), target: "2.0", opt: Options{SoC: "gpu"}},
	}
}

func enginePathCases() []ruleCase {
	ge := func(path string) string {
		return `{"ge.exec.enableDump":"1","ge.exec.dumpPath":` + path + `}`
	}
	tf := `{"enable_dump":true,"dump_path":"/d"}`
	collect := Options{Env: env("NPU_COLLECT_PATH=/c")}
	return []ruleCase{
		{rule: "GE006", text: `{"enable_dump":false,"enable_dump_debug":false,"dump_debug_mode":"all"}`},
		{rule: "GE010", text: strings.Replace(ge(`"/d"`), "{", "{§", 1), opt: collect, message: "/c"},
		{rule: "GE010", text: strings.Replace(tf, "{", "{§", 1), opt: collect},
		{rule: "GE010", text: tf},
		{rule: "GE010", text: `{"enable_dump":false}`, opt: collect},
		{rule: "GE011", text: `§{"x":1}`, opt: Options{Schema: SchemaGE}},
		{rule: "GE011", text: tf},
		{rule: "GE012", text: ge(`"§$HOME/d"`), message: "not expanded"},
		{rule: "GE012", text: ge(`"§~/d"`)},
		{rule: "GE012", text: ge(`"§10.0.0.1:/d"`), message: "another host"},
		{rule: "GE012", text: ge(`§"/d "`), message: "blanks"},
		{rule: "GE012", text: ge(`"/d"`)},
	}
}
