package dumpconf

import (
	"encoding/json"
	"strings"
	"testing"

	"dumptool/internal/jsonpos"
)

func TestFix(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"nothing to do", acl(`"dump_debug":"on"`), acl(`"dump_debug":"on"`)},
		{"trailing comma", `{"dump":{"dump_path":"/d",}}`, `{"dump":{"dump_path":"/d"}}`},
		{"missing comma", "{\"dump\":{\"dump_path\":\"/d\"\n\"dump_debug\":\"on\"}}", "{\"dump\":{\"dump_path\":\"/d\",\n\"dump_debug\":\"on\"}}"},
		{"comment", "{\"dump\":{ // all\n\"dump_path\":\"/d\" # here\n}}", "{\"dump\":{\n\"dump_path\":\"/d\"\n}}"},
		{"comment before CR LF", "{\"dump\":{} // x\r\n}", "{\"dump\":{}\r\n}"},
		{"single quotes", `{'dump':{'dump_path':'/d'}}`, `{"dump":{"dump_path":"/d"}}`},
		{"full-width", "｛“dump”：｛“dump_path”：“/d”，“dump_debug”：“on”｝｝", acl(`"dump_debug":"on"`)},
		{"unquoted", `{dump:{dump_path:"/d",dump_debug:"on"}}`, acl(`"dump_debug":"on"`)},
		{"an unquoted value", `{dump:{dump_path:"/d",dump_debug:on}}`, `{dump:{dump_path:"/d",dump_debug:on}}`},
		{"python", `{'dump':{'dump_path':'/d','dump_debug':True}}`, acl(`"dump_debug":"on"`)},
		{"letter case of a value in single quotes", `{"dump":{"dump_path":"/d","dump_mode":'ALL'}}`, acl(`"dump_mode":"all"`)},
		{"letter case of a key", `{"dump":{"Dump_Path":"/d","dump-debug":"on"}}`, acl(`"dump_debug":"on"`)},
		{"a number", acl(`"dump_step":5`), acl(`"dump_step":"5"`)},
		{"a boolean", acl(`"dump_op_switch":false`), acl(`"dump_op_switch":"off"`)},
		{"dump_level", listed(`{"optype_blacklist":[{"name":"a"}],"opname_blacklist":[{"name":"b"}]}`),
			strings.Replace(listed(`{"optype_blacklist":[{"name":"a"}],"opname_blacklist":[{"name":"b"}]}`), `{"dump":{`, `{"dump":{"dump_level": "op", `, 1)},
		{"dump_level keeps the layout", "{\n  \"dump\": {\n    \"dump_path\": \"/d\",\n    \"dump_list\": [{\"optype_blacklist\": [{\"name\": \"a\"}]}]\n  }\n}",
			"{\n  \"dump\": {\n    \"dump_level\": \"op\",\n    \"dump_path\": \"/d\",\n    \"dump_list\": [{\"optype_blacklist\": [{\"name\": \"a\"}]}]\n  }\n}"},
		{"dump_level kernel stays", listed(`{"optype_blacklist":[{"name":"a"}]}`, `"dump_level":"kernel"`), listed(`{"optype_blacklist":[{"name":"a"}]}`, `"dump_level":"kernel"`)},
		{"dump_stats", acl(`"dump_stats":["max"]`), `{"dump":{"dump_data": "stats", "dump_path":"/d","dump_stats":["Max"]}}`},
		{"position", listed(`{"optype_blacklist":[{"name":"a","pos":["INPUT_0"]}]}`, `"dump_level":"op"`), listed(`{"optype_blacklist":[{"name":"a","pos":["input0"]}]}`, `"dump_level":"op"`)},
		{"kernel data", acl(`"dump_kernel_data":"Printf, assert"`), acl(`"dump_kernel_data":"printf,assert"`)},
		{"nothing where settings are ignored", acl(`"dump_scene":"lite_exception","dump_stats":["Max"]`), acl(`"dump_scene":"lite_exception","dump_stats":["Max"]`)},
		{"a key that is already there stays", `{"dump":{"dump_path":"/d","Dump_Path":"/e","dump_debug":"on"}}`, `{"dump":{"dump_path":"/d","Dump_Path":"/e","dump_debug":"on"}}`},
		{"a key whose value would be an error stays", acl(`"Dump_Stats":[],"dump_debug":"off"`), acl(`"Dump_Stats":[],"dump_debug":"off"`)},
		{"MindSpore types", common(`"dump_mode":"0"`, `"iteration":0`, `"support_device":["1"]`), common(`"dump_mode":0`, `"iteration":"0"`, `"support_device":[1]`)},
		{"MindSpore booleans", e2e(`"enable":"True"`), e2e(`"enable":true`)},
		{"MindSpore iteration", common(`"iteration":"0 | 5-8"`), common(`"iteration":"0|5-8"`)},
		{"MindSpore iteration of two numbers", common(`"iteration":"1 2"`), common(`"iteration":"1 2"`)},
		{"MindSpore iteration with spaces at its ends", common(`"iteration":" 0 - 3 "`), common(`"iteration":"0-3"`)},
		{"steps", acl(`"dump_step":"0 | 3-5"`), acl(`"dump_step":"0|3-5"`)},
		{"steps of two numbers", acl(`"dump_step":"1 2|3 |4"`), acl(`"dump_step":"1 2|3 |4"`)},
		{"MindSpore iteration ALL", common(`"iteration":"ALL"`), common(`"iteration":"all"`)},
		{"GE layers", `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpLayer":"a, b|c"}`, `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpLayer":"a b c"}`},
		{"no answer", `{"dump":{"dump_path":"/d","dump_mode":"foo","dump_debug":1}}`, `{"dump":{"dump_path":"/d","dump_mode":"foo","dump_debug":1}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, report := Repair("", []byte(c.src), Options{})
			if string(got) != c.want {
				t.Errorf("repaired to\n%s\nwant\n%s", got, c.want)
			}
			checkRepaired(t, []byte(c.src), got, report)
		})
	}
}

// checkRepaired wants that a repair added no error, left nothing to repair and
// is what its report speaks of.
func checkRepaired(t *testing.T, src, fixed []byte, after *Report) {
	t.Helper()
	before := Check("", src, Options{})
	if before.Count(Error) < after.Count(Error) {
		t.Errorf("%d errors before, %d after", before.Count(Error), after.Count(Error))
	}
	again, _ := Repair("", fixed, Options{})
	if string(again) != string(fixed) {
		t.Errorf("repaired again to\n%s\nfrom\n%s", again, fixed)
	}
	if json.Valid(src) && !json.Valid(fixed) {
		t.Errorf("valid text repaired to invalid\n%s", fixed)
	}
}

func TestFixTakesTheLargerOfOverlappingEdits(t *testing.T) {
	finding := func(edits ...jsonpos.Edit) Finding { return Finding{Edits: edits} }
	for _, c := range []struct {
		name     string
		findings []Finding
		want     string
	}{
		{"none", nil, "abcdef"},
		{"inner first", []Finding{finding(jsonpos.Edit{Offset: 2, Length: 1, Text: "x"}), finding(jsonpos.Edit{Offset: 1, Length: 4, Text: "-"})}, "a-f"},
		{"same start", []Finding{finding(jsonpos.Edit{Offset: 1, Length: 1, Text: "x"}), finding(jsonpos.Edit{Offset: 1, Length: 2, Text: "-"})}, "a-def"},
		{"the same twice", []Finding{finding(jsonpos.Edit{Offset: 2, Text: ","}), finding(jsonpos.Edit{Offset: 2, Text: ","})}, "ab,cdef"},
		{"insertion and replacement", []Finding{finding(jsonpos.Edit{Offset: 2, Length: 1, Text: "x"}), finding(jsonpos.Edit{Offset: 2, Text: ","})}, "ab,xdef"},
		{"neighbours", []Finding{finding(jsonpos.Edit{Offset: 2, Length: 2, Text: "x"}, jsonpos.Edit{Offset: 0, Length: 2, Text: "y"})}, "yxef"},
		{"insertion inside a replacement", []Finding{finding(jsonpos.Edit{Offset: 2, Text: ","}, jsonpos.Edit{Offset: 1, Length: 3, Text: "x"})}, "axef"},
		{"outside the text", []Finding{finding(jsonpos.Edit{Offset: 5, Length: 2, Text: "x"}, jsonpos.Edit{Offset: -1, Text: "x"}, jsonpos.Edit{Offset: 7, Text: "x"})}, "abcdef"},
		{"at the end", []Finding{finding(jsonpos.Edit{Offset: 6, Text: "x"})}, "abcdefx"},
	} {
		if got := string(Fix([]byte("abcdef"), c.findings)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
