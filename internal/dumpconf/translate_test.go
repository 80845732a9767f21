package dumpconf

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// translated is a successful translation.
type translated struct {
	text   string
	to     Schema
	target string
	opt    Options
	want   string   // the result
	notes  []string // "what path line"
}

func translations() map[string]translated {
	const tail = `"kernels":[],"support_device":[0,1,2,3,4,5,6,7],"op_debug_mode":0`
	const e2eBlock = `"e2e_dump_settings":{"enable":true,"trans_flag":true}`
	const common = "common_dump_settings."
	madeUp := []string{"defaulted " + common + "net_name 0", "defaulted " + common + "support_device 0", "defaulted e2e_dump_settings 0"}
	return map[string]translated{
		"acl to mindspore": {
			text: `{"dump":{"dump_path":"/data/d","dump_mode":"input","dump_step":"0|3-5",
 "dump_list":[{"model_name":"res.net"}],
 "dump_level":"op","dump_op_switch":"off"}, "profiler":{}}`,
			to: SchemaMindSpore,
			want: `{"common_dump_settings":{"dump_mode":0,"path":"/data/d","net_name":"res_net","iteration":"0|3-5","input_output":1,` +
				tail + `},` + e2eBlock + `}`,
			notes: append([]string{"no counterpart dump.dump_list[0].model_name 2", "no counterpart dump.dump_level 3"}, madeUp...),
		},
		"acl to mindspore, layers and statistics": {
			text: `{"dump":{"dump_path":"/d","dump_data":"stats","dump_stats":["Nan","Max"],
 "dump_list":[{"layer":["conv1.x","Default/Conv2D-op12","a b"]}]}}`,
			to: SchemaMindSpore,
			want: `{"common_dump_settings":{"dump_mode":1,"path":"/d","net_name":"my_net","iteration":"all","saved_data":"statistic","input_output":2,
 "kernels":["name-regex(conv1[.]x)","Default/Conv2D-op12","name-regex(a.b)"],"support_device":[0,1,2,3,4,5,6,7],"op_debug_mode":0,
 "statistic_category":["max","nan count"]},` + e2eBlock + `}`,
			notes: append([]string{"approximated dump.dump_list[0].layer 2"}, madeUp...),
		},
		"acl statistics by default": {
			text: `{"dump":{"dump_path":"/d","dump_data":"stats","dump_mode":"all","dump_list":[{}]}}`,
			to:   SchemaMindSpore, target: "2.3", opt: Options{Backend: "O2", Devices: []uint64{2}},
			want: `{"common_dump_settings":{"dump_mode":0,"path":"/d","net_name":"my_net","iteration":"all","saved_data":"statistic","input_output":0,
 "kernels":[],"support_device":[2],"op_debug_mode":0,"file_format":"npy",
 "statistic_category":["max","min","avg","nan count","negative inf count","positive inf count"]}}`,
			notes: []string{"defaulted " + common + "net_name 0", "defaulted " + common + "file_format 0"},
		},
		"acl overflow to mindspore": {
			text: `{"dump":{"dump_path":"/d","dump_debug":"on","dump_mode":"input"}}`, to: SchemaMindSpore,
			want: `{"common_dump_settings":{"dump_mode":0,"path":"/d","net_name":"my_net","iteration":"all","input_output":0,
 "kernels":[],"support_device":[0,1,2,3,4,5,6,7],"op_debug_mode":3},` + e2eBlock + `}`,
			notes: madeUp,
		},
		"a path that mindspore does not take": {
			text: `{"dump":{"dump_path":"192.168.0.1:/d","dump_op_switch":"on","dump_list":[]}}`, to: SchemaMindSpore,
			want:  `{"common_dump_settings":{"dump_mode":0,"path":"/path/to/dump","net_name":"my_net","iteration":"all","input_output":2,` + tail + `},` + e2eBlock + `}`,
			notes: append([]string{"no counterpart dump.dump_path 1", "approximated dump.dump_op_switch 1"}, madeUp...),
		},
		"all operators of one model": {
			text: `{"dump":{"dump_path":"/d","dump_list":[{"layer":["x"],"opname_blacklist":[{"name":"q"}]},{"model_name":"m"}],"dump_level":"op"}}`, to: SchemaMindSpore,
			want: `{"common_dump_settings":{"dump_mode":0,"path":"/d","net_name":"m","iteration":"all","input_output":2,` + tail + `},` + e2eBlock + `}`,
			notes: append([]string{"approximated dump.dump_list[0].layer 1", "no counterpart dump.dump_list[0].opname_blacklist 1",
				"no counterpart dump.dump_list[1].model_name 1", "no counterpart dump.dump_level 1"}, madeUp...),
		},
		"mindspore to acl": {
			text: `{"common_dump_settings":{"dump_mode":1,"path":"/d","net_name":"Net","iteration":"0|5-8|9-","input_output":0,
 "kernels":["Default/Conv2D-op12","relu"],"support_device":[0],"op_debug_mode":0},
 "e2e_dump_settings":{"enable":true,
 "trans_flag":false}}`,
			to:    SchemaACL,
			want:  `{"dump":{"dump_path":"/d","dump_list":[{"layer":["Default/Conv2D-op12"]}],"dump_mode":"all","dump_op_switch":"on","dump_step":"0|5-8"}}`,
			notes: []string{"approximated " + common + "iteration 1", "approximated " + common + "kernels 2", "no counterpart " + common + "support_device 2"},
		},
		"mindspore statistics to acl": {
			text: `{"common_dump_settings":{"dump_mode":0,"net_name":"N","iteration":"all","input_output":2,"saved_data":"statistic",
 "statistic_category":["max","md5","l2norm"],"kernels":[],"support_device":[0]},"e2e_dump_settings":{}}`,
			to: SchemaACL, opt: Options{SoC: "A2"},
			want: `{"dump":{"dump_path":"/path/to/dump","dump_list":[{}],"dump_mode":"output","dump_op_switch":"on","dump_data":"stats","dump_stats":["Max","L2norm"]}}`,
			notes: []string{"approximated " + common + "statistic_category 2",
				"no counterpart " + common + "support_device 2", "defaulted dump.dump_path 0"},
		},
		"mindspore to old acl": {
			text: minimal(`"saved_data":"full"`, `"op_debug_mode":0`, `"file_format":"npy"`), to: SchemaACL, target: "8.0",
			want:  `{"dump":{"dump_path":"/d","dump_list":[],"dump_mode":"input","dump_op_switch":"on","dump_step":"7"}}`,
			notes: []string{"no counterpart " + common + "support_device 1", "approximated " + common + "saved_data 1"},
		},
		"mindspore overflow to acl": {
			text: minimal(`"op_debug_mode":3`, `"overflow_number":5`), to: SchemaACL,
			want:  `{"dump":{"dump_path":"/d","dump_debug":"on"}}`,
			notes: []string{"no counterpart " + common + "iteration 1", "no counterpart " + common + "support_device 1", "no counterpart " + common + "overflow_number 1"},
		},
		"mindspore exception to acl": {
			text: minimal(`"op_debug_mode":4`), to: SchemaACL, target: "8.0",
			want:  `{"dump":{"dump_path":"/d","dump_scene":"lite_exception"}}`,
			notes: []string{"no counterpart " + common + "support_device 1"},
		},
		"mindspore to ge": {
			text: minimal(`"op_debug_mode":0`), to: SchemaGE,
			want:  `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpStep":"7","ge.exec.dumpMode":"input"}`,
			notes: []string{"no counterpart " + common + "support_device 1"},
		},
		"keys that the target ignores": {
			text: `{"dump":{"dump_path":"/d","dump_list":[{}],"dump_step":"3"}}`, to: SchemaMindSpore, target: "1.6",
			want:  `{"common_dump_settings":{"dump_mode":0,"path":"/d","net_name":"my_net","iteration":"3","input_output":2,` + tail + `}}`,
			notes: madeUp[:2],
		},
		"steps that the target ignores": {
			text: minimal(`"op_debug_mode":0`), to: SchemaACL, target: "6.0",
			want:  `{"dump":{"dump_path":"/d","dump_list":[],"dump_mode":"input","dump_op_switch":"on","dump_step":"7"}}`,
			notes: []string{"no counterpart " + common + "support_device 1", "ignored dump.dump_step 0"},
		},
		"statistics that the target does not choose": {
			text: minimal(`"op_debug_mode":0`, `"saved_data":"statistic"`, `"statistic_category":["max"]`, `"file_format":"npy"`), to: SchemaACL, target: "8.0",
			want:  `{"dump":{"dump_path":"/d","dump_list":[],"dump_mode":"input","dump_op_switch":"on","dump_data":"stats","dump_stats":["Max"],"dump_step":"7"}}`,
			notes: []string{"no counterpart " + common + "support_device 1", "ignored dump.dump_stats 0"},
		},
		"ge exception to old acl": {
			text: `{"ge.exec.enable_exception_dump":"1"}`, to: SchemaACL, target: "8.0", want: `{"dump":{"dump_scene":"lite_exception"}}`,
			notes: []string{`approximated ["ge.exec.enable_exception_dump"] 1`},
		},
		"sampling": {
			text: `{` + strings.Trim(minimal(`"op_debug_mode":0`), "{}") + `},"e2e_dump_settings":{"enable":true,"sample_mode":1,"sample_num":5,"save_kernel_args":false}}`, to: SchemaGE,
			want:  `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpStep":"7","ge.exec.dumpMode":"input"}`,
			notes: []string{"no counterpart " + common + "support_device 1", "no counterpart e2e_dump_settings.sample_mode 1"},
		},
		"ge to acl": {
			text: `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpStep":"0|3-5","ge.exec.dumpMode":"all","ge.exec.dumpData":"stats",
 "ge.exec.dumpLayer":"a  b a","ge.exec.enable_exception_dump":"1",
 "ge.socVersion":"x"}`,
			to:    SchemaACL,
			want:  `{"dump":{"dump_path":"/d","dump_list":[{"layer":["a","b"]}],"dump_mode":"all","dump_data":"stats","dump_step":"0|3-5"}}`,
			notes: []string{`no counterpart ["ge.exec.enable_exception_dump"] 2`},
		},
		"ge overflow to acl": {
			text: `{"ge.exec.enableDumpDebug":"1","ge.exec.dumpPath":"/d","ge.exec.dumpDebugMode":"aicore_overflow"}`, to: SchemaACL,
			want: `{"dump":{"dump_path":"/d","dump_debug":"on"}}`, notes: []string{`approximated ["ge.exec.dumpDebugMode"] 1`},
		},
		"ge exception to acl": {
			text: `{"ge.exec.enable_exception_dump":"1"}`, to: SchemaACL, want: `{"dump":{"dump_scene":"aic_err_norm_dump"}}`,
		},
		"ge to mindspore": {
			text: `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpStep":"None"}`, to: SchemaMindSpore,
			want:  `{"common_dump_settings":{"dump_mode":0,"path":"/d","net_name":"my_net","iteration":"all","input_output":2,` + tail + `},` + e2eBlock + `}`,
			notes: madeUp,
		},
		"ge with a path that mindspore does not take": {
			text: `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"d.x"}`, to: SchemaMindSpore, target: "1.1", opt: Options{Devices: []uint64{1}},
			want: `{"common_dump_settings":{"dump_mode":0,"path":"/path/to/dump","net_name":"my_net","iteration":"all","input_output":2,
 "kernels":[],"support_device":[1]},"async_dump_settings":{"enable":true,"op_debug_mode":0}}`,
			notes: []string{`no counterpart ["ge.exec.dumpPath"] 1`, "defaulted " + common + "net_name 0"},
		},
		"ge to mindspore 2.0": {
			text: `{"ge.exec.enable_exception_dump":"0","ge.exec.enableDump":"1","ge.exec.dumpPath":"/d"}`, to: SchemaMindSpore, target: "2.0",
			want:  `{"common_dump_settings":{"dump_mode":0,"path":"/d","net_name":"my_net","iteration":"all","input_output":2,` + tail + `}}`,
			notes: madeUp[:2],
		},
		"adapter to acl": {
			text: `{"enable_dump":true,"dump_path":"/d","dump_step":null,"dump_mode":"all"}`, to: SchemaACL,
			want: `{"dump":{"dump_path":"/d","dump_list":[{}],"dump_mode":"all"}}`,
		},
		"adapter to ge": {
			text: `{"enable_dump_debug":true,"dump_path":"/d"}`, to: SchemaGE,
			want:  `{"ge.exec.enableDumpDebug":"1","ge.exec.dumpPath":"/d","ge.exec.dumpDebugMode":"all"}`,
			notes: []string{`defaulted ge.exec.dumpDebugMode 0`},
		},
		"acl to ge": {
			text: `{"dump":{"dump_path":"/d","dump_mode":"all","dump_step":"3-3|5","dump_data":"stats","dump_stats":["Max"],
 "dump_op_switch":"on","dump_list":[{"model_name":"m","layer":["a","b c"]}]}}`,
			to:   SchemaGE,
			want: `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpStep":"3|5","ge.exec.dumpMode":"all","ge.exec.dumpData":"stats","ge.exec.dumpLayer":"a"}`,
			notes: []string{"no counterpart dump.dump_stats 1", "no counterpart dump.dump_op_switch 2", "no counterpart dump.dump_list[0].model_name 2",
				"approximated dump.dump_list[0].layer 2"},
		},
		"operators of two models": {
			text:  `{"dump":{"dump_path":"/d","dump_list":[{"model_name":"m","layer":["a","b"]},{"model_name":"n","layer":["b"]}]}}`,
			to:    SchemaGE,
			want:  `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpMode":"output","ge.exec.dumpLayer":"a b"}`,
			notes: []string{"no counterpart dump.dump_list[0].model_name 1", "no counterpart dump.dump_list[1].model_name 1"},
		},
		"acl overflow to ge": {
			text: `{"dump":{"dump_path":"/d","dump_debug":"on"}}`, to: SchemaGE,
			want:  `{"ge.exec.enableDumpDebug":"1","ge.exec.dumpPath":"/d","ge.exec.dumpDebugMode":"all"}`,
			notes: []string{"defaulted ge.exec.dumpDebugMode 0"},
		},
		"acl exception to ge": {
			text: `{"dump":{"dump_path":"/d","dump_scene":"lite_exception"}}`, to: SchemaGE,
			want: `{"ge.exec.enable_exception_dump":"2"}`, notes: []string{"no counterpart dump.dump_path 1"},
		},
		"acl detailed exception to ge": {
			text: `{"dump":{"dump_scene":"aic_err_detail_dump"}}`, to: SchemaGE,
			want: `{"ge.exec.enable_exception_dump":"1"}`, notes: []string{"approximated dump.dump_scene 1"},
		},
	}
}

// minimal returns a MindSpore file with keys in a fixed order.
func minimal(keys ...string) string {
	return `{"common_dump_settings":{"dump_mode":0,"path":"/d","net_name":"N","iteration":"7","input_output":1,"kernels":[],"support_device":[0],` +
		strings.Join(keys, ",") + `}}`
}

func TestTranslate(t *testing.T) {
	for name, c := range translations() {
		t.Run(name, func(t *testing.T) {
			c.opt.TargetVersion = version(t, c.target)
			r := Check("", []byte(c.text), Options{})
			out, notes, err := Translate(r, c.to, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, c.want, string(out))
			var got []string
			for _, n := range notes {
				checkText(t, n.Text)
				got = append(got, fmt.Sprintf("%v %s %d", kindNames[n.What], n.Path, n.Line))
			}
			if diff := cmp.Diff(c.notes, got); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if after := Check("", out, c.opt); after.Schema != c.to || after.Count(Error) > 0 {
				t.Errorf("result is %v with %d errors", after.Schema, after.Count(Error))
			}
		})
	}
}

var kindNames = map[NoteKind]string{NoCounterpart: "no counterpart", Approximated: "approximated", Defaulted: "defaulted", Ignored: "ignored"}

func TestTranslateRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`mindspore {"dump":{"dump_scene":"aic_err_brief_dump"}}`:                                             "exception dump is not translated to MindSpore",
		`mindspore {"ge.exec.enable_exception_dump":"2"}`:                                                    "exception dump is not translated",
		`mindspore {"dump":{"dump_path":"/d","dump_scene":"watcher","dump_list":[{"watcher_nodes":["a"]}]}}`: "watcher",
		`ge {"dump":{"dump_path":"/d","dump_kernel_data":"all"}}`:                                            "dump_kernel_data has no counterpart",
		`ge {"dump":{"dump_path":"/d","dump_op_switch":"on","dump_list":[]}}`:                                "single operators",
		`ge {"dump":{"dump_path":"192.168.0.1:/d","dump_list":[{}]}}`:                                        "another host",
		`ge {"dump":{"dump_path":"/d","dump_list":[{}],"dump_step":"2147483648"}}`:                           `dumpStep: "2147483648" is beyond 32 bits`,
		`ge {"dump":{"dump_path":"/d"}}`:                                                                     "no dump on",
		`acl {"dump":{"dump_path":"/d"}}`:                                                                    "one of acl already",
		`ge {"dump":{"dump_path":"/d","dump_mode":"x","dump_list":[{}]}}`:                                    "has errors",
		`ge {"dump":`: "has errors",
		`tf {"dump":{"dump_path":"/d","dump_list":[{}]}}`:                                       "no translation to tf",
		`acl {"task":"x","level":"y","dump_path":"/d"}`:                                         "msprobe cannot be translated",
		`acl {"ge.exec.enableDump":"0"}`:                                                        "no dump on",
		`acl {"ge.exec.enableDumpDebug":"1","ge.exec.dumpPath":"/d"}`:                           "no effect without ge.exec.dumpDebugMode",
		"acl " + common(`"support_device":[]`):                                                  "no dump on",
		"acl " + common(`"dump_mode":2`):                                                        "set_dump",
		"acl " + common(`"iteration":"9-3"`):                                                    "matches no step",
		"acl " + common(`"iteration":"`+strings.TrimSuffix(strings.Repeat("1|", 101), "|")+`"`): "the result would have errors",
	} {
		name, text, _ := strings.Cut(text, " ")
		to := Schema(slices.Index(schemaNames[:], name))
		out, notes, err := Translate(Check("", []byte(text), Options{}), to, Options{})
		if err == nil || out != nil || notes != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v, want %q", text, out, err, want)
		}
	}
}

// TestTranslateRefusesTargets: a target that would dump nothing or something else is an error.
func TestTranslateRefusesTargets(t *testing.T) {
	stats := acl(`"dump_list":[{}],"dump_data":"stats"`)
	overflow := acl(`"dump_debug":"on"`)
	for _, c := range []struct {
		text   string
		to     Schema
		target string
		opt    Options
		want   string // empty if it works
	}{
		{common(`"op_debug_mode":3`), SchemaACL, "6.0", Options{}, "dump_debug is known since version 6.2 only: version 6.0 ignores it and would dump nothing"},
		{common(`"op_debug_mode":3`), SchemaACL, "6.2", Options{}, ""},
		{common(`"op_debug_mode":4`), SchemaACL, "7.0", Options{}, "dump_scene is known since version 8.0.RC1 only"},
		{common(`"op_debug_mode":4`), SchemaACL, "8.0.RC1", Options{}, ""},
		{common(`"saved_data":"statistic"`, `"file_format":"npy"`), SchemaACL, "6.0", Options{}, "whole tensors in place of statistics"},
		{stats, SchemaMindSpore, "1.3", Options{}, "saved_data is known since version 1.6 only"},
		{stats, SchemaMindSpore, "1.6", Options{}, ""},
		{stats, SchemaMindSpore, "", Options{Backend: "O2"}, "does not dump with backend O2: use msprobe"},
		{stats, SchemaMindSpore, "2.6", Options{Backend: "ge"}, "use msprobe"},
		{stats, SchemaMindSpore, "2.5", Options{Backend: "O2"}, ""},
		{stats, SchemaMindSpore, "", Options{Backend: "pynative"}, "dynamic graph mode"},
		{overflow, SchemaMindSpore, "1.1", Options{}, ""},
		{overflow, SchemaMindSpore, "1.1", Options{SoC: "gpu"}, "which need an NPU"},
	} {
		c.opt.TargetVersion = version(t, c.target)
		_, _, err := Translate(Check("", []byte(c.text), Options{}), c.to, c.opt)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %v %s %+v: %v, want %q", c.text, c.to, c.target, c.opt, err, c.want)
		}
	}
}

// TestTranslateAndBack: settings shared by all runtimes survive both ways.
func TestTranslateAndBack(t *testing.T) {
	for _, c := range []struct {
		text string
		over Schema
	}{
		{`{"dump":{"dump_path":"/d","dump_list":[{"layer":["a/b","c-op1"]}],"dump_mode":"all","dump_step":"0|3-5"}}`, SchemaGE},
		{`{"dump":{"dump_path":"/d","dump_list":[{}],"dump_mode":"input","dump_op_switch":"on"}}`, SchemaMindSpore},
		{`{"dump":{"dump_path":"/d","dump_list":[{"layer":["a/b","c-op1"]}],"dump_mode":"output","dump_op_switch":"on","dump_data":"stats","dump_stats":["Max","Negative Inf"]}}`, SchemaMindSpore},
		{`{"dump":{"dump_path":"/d","dump_debug":"on"}}`, SchemaMindSpore},
		{`{"dump":{"dump_path":"/d","dump_debug":"on"}}`, SchemaGE},
		{`{"dump":{"dump_scene":"aic_err_norm_dump"}}`, SchemaGE},
	} {
		there, _, err := Translate(Check("", []byte(c.text), Options{}), c.over, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		back, _, err := Translate(Check("", there, Options{}), SchemaACL, Options{})
		if err != nil {
			t.Errorf("%s: %v", there, err)
			continue
		}
		sameJSON(t, c.text, string(back))
	}
}

func FuzzExplainTranslate(f *testing.F) {
	for _, name := range sampleNames(f) {
		f.Add(readSample(f, name), uint8(0))
	}
	for i, c := range allCases() {
		if len(c.text) < 1000 {
			f.Add([]byte(strings.ReplaceAll(c.text, mark, "")), uint8(i))
		}
	}
	for _, c := range translations() {
		f.Add([]byte(c.text), uint8(0))
	}
	f.Fuzz(func(t *testing.T, src []byte, choice uint8) {
		opt := Options{Schema: Schema(choice % 6)}
		if choice&0x10 != 0 {
			opt.TargetVersion = Version{Major: 1 + int(choice>>5)}
			opt.Env = env("ASCEND_WORK_PATH=/w", "MS_DIAGNOSTIC_DATA_PATH=/m")
		}
		r := Check("", src, opt)
		e := Explain(r, opt)
		for _, s := range e.Sections {
			for _, l := range s.Lines {
				if l.EN == "" || l.ZH == "" || strings.ContainsAny(l.EN+l.ZH, "\n\x00\x1b") {
					t.Fatalf("line %+q", l)
				}
			}
		}
		if e.Active != (len(e.Patterns) > 0) && r.Count(Error) == 0 && !r.watchesNothing() {
			t.Fatalf("active %v, files %q", e.Active, e.Patterns)
		}
		for _, to := range []Schema{SchemaACL, SchemaMindSpore, SchemaGE} {
			out, notes, err := Translate(r, to, Options{})
			if err != nil {
				continue
			}
			if after := Check("", out, Options{}); after.Schema != to || after.Count(Error) > 0 {
				t.Fatalf("%s\nbecame %v with %d errors:\n%s", src, after.Schema, after.Count(Error), out)
			}
			for i, n := range notes {
				if n.Path == "" || n.Text.EN == "" || n.Text.ZH == "" || (n.Line < 1) != (n.What == Defaulted) {
					t.Fatalf("note %+v", n)
				}
				if i > 0 && n.Line > 0 && notes[i-1].Line > n.Line {
					t.Fatalf("notes out of order: %+v", notes)
				}
			}
		}
	})
}

// watchesNothing reports whether a watcher has nothing to watch.
func (r *Report) watchesNothing() bool { return r.ACL != nil && r.ACL.watcher() }
