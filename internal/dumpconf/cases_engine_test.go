package dumpconf

import "strings"

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
