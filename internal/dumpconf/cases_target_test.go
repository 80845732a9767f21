package dumpconf

import "strings"

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
