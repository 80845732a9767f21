package dumpconf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/jsonpos"
)

// lines formats findings as "rule line:column".
func lines(r *Report) []string {
	var out []string
	for i := range r.Findings {
		f := &r.Findings[i]
		out = append(out, fmt.Sprintf("%s %d:%d", f.Rule, f.Line, f.Column))
	}
	return out
}

// TestSamples checks sample configurations of manuals.
func TestSamples(t *testing.T) {
	want := map[string][]string{
		"pyacl_overflow.json":          {"ACL024 1:24"},
		"aclmdlsetdump_model.json":     {"ACL022 1:196"},
		"aclmdlsetdump_op.json":        {"ACL024 1:24", "ACL067 1:46"},
		"aclmdlsetdump_exception.json": {"ACL053 1:25"},
		"aclmdlsetdump_overflow.json":  {"ACL024 1:24"},
		"aclmdlsetdump_watcher.json":   nil,
		"mindspore_async.json":         {"MS040 8:9"},
		"mindspore_sync.json":          {"MS040 8:9"},
		// No commas between the members, and a comment.
		"pytorch_acl.json": {"ACL067 4:25", "ACL001 4:27", "ACL024 5:25", "ACL001 5:42", "ACL001 5:42", "ACL001 6:30"},
	}
	for _, name := range sampleNames(t) {
		base := filepath.Base(name)
		report := Check(name, readSample(t, name), Options{})
		if diff := cmp.Diff(want[base], lines(report)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", base, diff)
		}
		delete(want, base)
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
}

func TestBrokenSampleIsRepaired(t *testing.T) {
	src := readSample(t, "testdata/samples/pytorch_acl.json")
	fixed, report := Repair("acl.json", src, Options{})
	want := strings.NewReplacer(
		"[]\n", "[],\n", "\"# 映射结果输出路径", "\",", "\"all\"\n", "\"all\",\n").Replace(string(src))
	if diff := cmp.Diff(want, string(fixed)); diff != "" {
		t.Errorf("repaired (-want +got):\n%s", diff)
	}
	if n := report.Count(Error); n != 0 {
		t.Errorf("%d errors are left", n)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]Schema{
		`{"dump":{}}`:                 SchemaACL,
		`{}`:                          SchemaACL,
		`{"profiler":{}}`:             SchemaACL,
		`[]`:                          SchemaACL,
		``:                            SchemaACL,
		`{"Dump":{}}`:                 SchemaACL,
		`{"dump_path":"/d"}`:          SchemaACL,
		`{"common_dump_settings":{}}`: SchemaMindSpore,
		`{"common_dump_setting":{}}`:  SchemaMindSpore,
		`{"e2e_dump_settings":{}}`:    SchemaMindSpore,
		`{'common_dump_settings':{}`:  SchemaMindSpore,
		`{"ge.exec.dumpPath":"/d"}`:   SchemaGE,
		`{"enable_dump":true}`:        SchemaTF,
		`{"enable_dump_debug":true}`:  SchemaTF,
		`{"task":"tensor","level":"mix","dump_path":"/d"}`:    SchemaMsprobe,
		`{"task":"x","level":"y","dump_path":"/d","dump":{}}`: SchemaACL,
	} {
		r := Check("", []byte(text), Options{})
		if r.Schema != want {
			t.Errorf("%s is %v, want %v", text, r.Schema, want)
		}
	}
	if got := Check("", []byte(`{}`), Options{Schema: SchemaMindSpore}).Schema; got != SchemaMindSpore {
		t.Errorf("forced schema is %v", got)
	}
}

func TestMsprobe(t *testing.T) {
	r := Check("", []byte(`{"task":"tensor","level":"mix","dump_path":"/d","rank":[],"step":["0-3"],"tensor":{"scope":[],"list":["conv"]}}`), Options{})
	if len(r.Findings) > 0 {
		t.Error(lines(r))
	}
	// msprobe describes the tensors of a run in a file with the same keys.
	if got := Check("", []byte(`{"task":"tensor","level":"mix","dump_data_dir":"/d","data":{}}`), Options{}).Schema; got == SchemaMsprobe {
		t.Error("a dump.json is taken for a configuration")
	}
}

func TestTypedACL(t *testing.T) {
	src := `{"dump":{"dump_path":"/d","dump_step":"0|3-5","dump_list":[{"model_name":"m","layer":["a","b"]},
 {"opname_blacklist":[{"name":"x","pos":["input1"]}],"opname_range":[{"begin":"p","end":"q"}]}]}}`
	a := Check("", []byte(src), Options{}).ACL
	if p := a.setting("dump_path"); !p.OK || p.Value != "/d" || p.Path != "dump.dump_path" {
		t.Errorf("dump_path %+v", p)
	}
	if a.setting("dump_mode").Present() || a.dumpMode() != "output" {
		t.Errorf("dump_mode %+v, mode %q", a.setting("dump_mode"), a.dumpMode())
	}
	if len(a.Steps) != 2 || a.Steps[1].From != 3 || a.Steps[1].To != 5 {
		t.Errorf("steps %+v", a.Steps)
	}
	items := a.items()
	if len(items) != 2 || items[0].setting("model_name").Value != "m" || items[0].setting("layer").Elems[1].Value != "b" {
		t.Fatalf("items %+v", items)
	}
	layer := items[0].setting("layer").Elems[1]
	if got := src[layer.Node.Start:layer.Node.End]; got != `"b"` || layer.Path != "dump.dump_list[0].layer[1]" {
		t.Errorf("second layer is %s at %s", got, layer.Path)
	}
	if e := items[1].setting("opname_blacklist").Objects[0]; e.setting("name").Value != "x" || e.setting("pos").Elems[0].Value != "input1" {
		t.Errorf("blacklist %+v", e)
	}
	if r := items[1].setting("opname_range").Objects[0]; r.setting("begin").Value != "p" || r.setting("end").Value != "q" {
		t.Errorf("range %+v", r)
	}
}

func TestTypedMindSpore(t *testing.T) {
	m := Check("", []byte(e2e(`"enable":true,"sample_num":7`, `"kernels":["Conv2D","name-regex(a.*)"]`, `"iteration":"0|5-8"`)), Options{}).MindSpore
	if !m.setting("enable").isTrue() || m.setting("sample_num").Uint != 7 || m.setting("net_name").Value != "Net" || len(m.Steps) != 2 {
		t.Errorf("read %+v", m)
	}
	if len(m.Kernels) != 2 || m.Kernels[1].Kind != KernelRegex || m.Kernels[1].Pattern != "a.*" {
		t.Errorf("kernels %+v", m.Kernels)
	}
	if d := m.setting("support_device").Elems; len(d) != 1 || d[0].Uint != 0 || !d[0].OK {
		t.Errorf("devices %+v", d)
	}
}

func TestTypedEngine(t *testing.T) {
	e := Check("", []byte(`{"enable_dump":true,"dump_step":"1|2-3"}`), Options{}).Engine
	if !e.TF || !e.isOn("enableDump") || len(e.Steps) != 2 {
		t.Errorf("read %+v", e)
	}
}

func TestPaths(t *testing.T) {
	r := Check("", []byte(`{"dump":{"dump_path":"/d","dump_list":[{"layer":["x",1]}],"a b":1},"dump_mode":1}`), Options{})
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.Rule+" "+f.Path)
	}
	want := []string{"ACL011 dump.dump_list[0].layer[1]", `ACL006 dump["a b"]`, "ACL007 dump_mode"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDuplicateNamesBothPlaces(t *testing.T) {
	r := Check("", []byte("{\"dump\":{\"dump_path\":\"/a\",\n\"dump_path\":\"/b\",\"dump_debug\":\"on\"}}"), Options{})
	if len(r.Findings) != 1 || len(r.Findings[0].Related) != 1 {
		t.Fatalf("findings %+v", r.Findings)
	}
	f := r.Findings[0]
	if f.Line != 2 || f.Column != 1 || f.Related[0].Line != 1 || f.Related[0].Column != 10 {
		t.Errorf("places %+v, %+v", f.TextRange, f.Related[0].TextRange)
	}
	if got := r.ACL.setting("dump_path").Value; got != "/b" {
		t.Errorf("dump_path is %q, want the last", got)
	}
}

func TestTooLarge(t *testing.T) {
	src := append([]byte(`{}`), bytes.Repeat([]byte(" "), MaxSize-2)...)
	if diff := cmp.Diff([]string{"ACL004 1:1"}, lines(Check("", src, Options{}))); diff != "" {
		t.Errorf("10 MiB: %s", diff)
	}
	r := Check("", append(src, ' '), Options{})
	if diff := cmp.Diff([]string{"ACL002 1:1"}, lines(r)); diff != "" {
		t.Errorf("a byte more: %s", diff)
	}
	if f := r.RuntimeError(); f == nil || f.Code != "ACL_ERROR_PARSE_FILE" || r.Doc == nil {
		t.Errorf("runtime error %+v", f)
	}
}

// TestFindingsAreBounded: texts of 256 KiB with a fault every few bytes.
func TestFindingsAreBounded(t *testing.T) {
	const size = 1 << 18
	for name, text := range map[string]string{
		"empty layers":   listed(`{"layer":[` + strings.Repeat(`"",`, size/3) + `"x"]}`),
		"numbers":        listed(`{"layer":[` + strings.Repeat(`1,`, size/2) + `"x"]}`),
		"unknown keys":   acl(strings.Repeat(`"dmp_mode":1,`, size/13) + `"x":1`),
		"duplicates":     acl(strings.Repeat(`"dump_mode":"all",`, size/18) + `"x":1`),
		"items":          listed(strings.Repeat(`{"model_name":""},`, size/18) + `{}`),
		"ranges":         listed(`{"opname_range":[` + strings.Repeat(`{},`, size/3) + `{}]}`),
		"steps":          acl(`"dump_step":"` + strings.Repeat("x|", size/2) + `"`),
		"kernel data":    acl(`"dump_kernel_data":"` + strings.Repeat("x,", size/2) + `"`),
		"kernels":        common(`"kernels":[` + strings.Repeat(`"a a",`, size/6) + `"x"]`),
		"iteration":      common(`"iteration":"` + strings.Repeat("|", size) + `"`),
		"one long regex": common(`"kernels":["name-regex(` + strings.Repeat("(", size) + `)"]`),
	} {
		t.Run(name, func(t *testing.T) {
			r := Check("", []byte(text), Options{})
			count := map[string]int{}
			for _, f := range r.Findings {
				if count[f.Rule]++; count[f.Rule] > maxPerRule {
					t.Fatalf("more than %d findings of %s", maxPerRule, f.Rule)
				}
				if len(f.Message.String()) > 2000 || len(f.Path) > 2000 {
					t.Fatalf("%s: message of %d, path of %d bytes", f.Rule, len(f.Message.String()), len(f.Path))
				}
			}
			if len(r.Findings) == 0 {
				t.Error("no finding")
			}
		})
	}
}

func TestUTF16(t *testing.T) {
	const text = "{\"dump\":{\"dump_path\":\"值😀\",\n\"dump_mode\":\"foo\"}}"
	units := utf16.Encode([]rune("\ufeff" + text))
	src := make([]byte, 0, 2*len(units))
	for _, u := range units {
		src = append(src, byte(u), byte(u>>8))
	}
	r := Check("", src, Options{})
	plain := Check("", []byte(text), Options{})
	if diff := cmp.Diff(append([]string{"ACL001 1:1"}, lines(plain)...), lines(r)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	for _, f := range r.Findings {
		if f.Rule != "ACL013" {
			continue
		}
		if want := strings.Index(text, `"foo"`); f.Offset != want || f.Length != 5 {
			t.Errorf("foo is at %d of the text, %d bytes; want %d, 5", f.Offset, f.Length, want)
		}
	}
	if fixed := Fix(src, r.Findings); string(fixed) != text {
		t.Errorf("fixed to %q", fixed)
	}
}

func TestWorst(t *testing.T) {
	for text, want := range map[string]string{
		acl(`"dump_debug":"on"`):                   "none",
		`{"dump":{"dump_scene":"lite_exception"}}`: "info",
		`{}`: "warning",
		`[]`: "error",
	} {
		got := "none"
		if s, any := Check("", []byte(text), Options{}).WorstSeverity(); any {
			got = s.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestWrongTypesEverywhere gives every key of every object a value of every other type, and expects
// an error at the value.
func TestWrongTypesEverywhere(t *testing.T) {
	samples := map[string][]KeyType{
		`"text"`:     {TypeString},
		`-1`:         nil,
		`1.5`:        nil,
		`null`:       nil,
		`7`:          {TypeUint},
		`true`:       {TypeBool},
		`{}`:         {TypeObject},
		`[[]]`:       nil,
		`["text"]`:   {TypeStrings},
		`[7]`:        {TypeUints},
		`[{}]`:       {TypeObjects},
		`[null]`:     nil,
		`["a",true]`: nil,
	}
	frames := map[*keyTable]string{
		&aclRoot:         `{%s}`,
		&aclDump:         `{"dump":{%s}}`,
		&aclItem:         `{"dump":{"dump_list":[{%s}]}}`,
		&aclBlacklist:    `{"dump":{"dump_list":[{"opname_blacklist":[{%s}]}]}}`,
		&aclRange:        `{"dump":{"dump_list":[{"opname_range":[{%s}]}]}}`,
		&mindSporeRoot:   `{%s}`,
		&mindSporeCommon: `{"common_dump_settings":{%s}}`,
		&mindSporeE2E:    `{"common_dump_settings":{},"e2e_dump_settings":{%s}}`,
		&mindSporeAsync:  `{"common_dump_settings":{},"async_dump_settings":{%s}}`,
		&geOptions:       `{%s}`,
		&tfOptions:       `{%s}`,
	}
	for _, schema := range []Schema{SchemaACL, SchemaMindSpore, SchemaGE, SchemaTF} {
		for _, table := range keyTables(schema) {
			for _, key := range table.keys {
				for sample, good := range samples {
					if slices.Contains(good, key.Type) || schema == SchemaTF && sample == "null" && key.Type == TypeString {
						continue
					}
					member := fmt.Sprintf("%q:", key.Name)
					text := fmt.Sprintf(frames[table], member+sample)
					start := strings.Index(text, member) + len(member)
					r := Check("", []byte(text), Options{Schema: schema})
					if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
						return f.Severity == Error && f.Offset >= start && f.Offset < start+len(sample)
					}) {
						t.Errorf("%s: no error at the value", text)
					}
				}
			}
		}
	}
}

func TestLongUTF16(t *testing.T) {
	names := strings.Repeat(`"层😀", `, 3000)
	text := "{\"dump\":{\"dump_path\":\"/d\",\"dump_list\":[{\"layer\":[" + names + "\"x\"]}],\n\"dump_path\":\"/d\"}}"
	src := make([]byte, 0, 2*len(text))
	for _, u := range utf16.Encode([]rune(text)) {
		src = append(src, byte(u>>8), byte(u))
	}
	r := Check("", src, Options{})
	last := r.Findings[len(r.Findings)-1]
	if last.Rule != "ACL008" || len(last.Related) != 1 {
		t.Fatalf("last finding %+v", last)
	}
	key := `"dump_path"`
	if want := strings.LastIndex(text, key); last.Offset != want || last.Length != len(key) {
		t.Errorf("second key at %d, %d bytes; want %d, %d", last.Offset, last.Length, want, len(key))
	}
	if want := strings.Index(text, key); last.Related[0].Offset != want {
		t.Errorf("first key at %d, want %d", last.Related[0].Offset, want)
	}
}

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

// checkRepaired: a repair adds no errors, leaves nothing to repair, and its report describes the
// repaired text.
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
