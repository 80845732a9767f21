package dumpconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// wantMade holds the output of each profile without values.
func wantMade() map[string]string {
	return map[string]string{
		"model": `{
  "dump": {
    "dump_path": "/path/to/dump",
    "dump_list": [{}],
    "dump_mode": "output",
    "dump_data": "tensor"
  }
}
`,
		"op": `{
  "dump": {
    "dump_path": "/path/to/dump",
    "dump_list": [{}],
    "dump_mode": "all",
    "dump_data": "tensor",
    "dump_op_switch": "on"
  }
}
`,
		"stats": `{
  "dump": {
    "dump_path": "/path/to/dump",
    "dump_list": [{}],
    "dump_mode": "all",
    "dump_data": "stats",
    "dump_level": "op"
  }
}
`,
		"overflow": `{
  "dump": {
    "dump_path": "/path/to/dump",
    "dump_debug": "on"
  }
}
`,
		"exception": `{
  "dump": {
    "dump_scene": "aic_err_brief_dump"
  }
}
`,
		"watcher": `{
  "dump": {
    "dump_path": "/path/to/dump",
    "dump_list": [
      {
        "layer": ["executed_op"],
        "watcher_nodes": ["watched_op"]
      }
    ],
    "dump_mode": "output",
    "dump_scene": "watcher"
  }
}
`,
		"kernel-debug": `{
  "dump": {
    "dump_path": "/path/to/dump",
    "dump_kernel_data": "all"
  }
}
`,
		"msprobe": `{
  "task": "tensor",
  "dump_path": "/path/to/dump",
  "rank": [],
  "step": [0],
  "level": "mix",
  "tensor": {
    "scope": [],
    "list": [],
    "data_mode": ["all"]
  }
}
`,
		"ms-e2e": `{
  "common_dump_settings": {
    "dump_mode": 0,
    "path": "/path/to/dump",
    "net_name": "my_net",
    "iteration": "0",
    "saved_data": "tensor",
    "input_output": 0,
    "kernels": [],
    "support_device": [0],
    "op_debug_mode": 0
  },
  "e2e_dump_settings": {
    "enable": true,
    "trans_flag": true
  }
}
`,
		"ms-async": `{
  "common_dump_settings": {
    "dump_mode": 0,
    "path": "/path/to/dump",
    "net_name": "my_net",
    "iteration": "0",
    "saved_data": "tensor",
    "input_output": 0,
    "kernels": [],
    "support_device": [0],
    "op_debug_mode": 0,
    "file_format": "npy"
  }
}
`,
		"ms-overflow": `{
  "common_dump_settings": {
    "dump_mode": 0,
    "path": "/path/to/dump",
    "net_name": "my_net",
    "iteration": "all",
    "input_output": 0,
    "kernels": [],
    "support_device": [0],
    "op_debug_mode": 3
  },
  "e2e_dump_settings": {
    "enable": true,
    "trans_flag": true
  }
}
`,
		"ms-stat": `{
  "common_dump_settings": {
    "dump_mode": 0,
    "path": "/path/to/dump",
    "net_name": "my_net",
    "iteration": "0",
    "saved_data": "statistic",
    "input_output": 0,
    "kernels": [],
    "support_device": [0],
    "op_debug_mode": 0,
    "statistic_category": ["max", "min", "l2norm"]
  },
  "e2e_dump_settings": {
    "enable": false,
    "trans_flag": true,
    "stat_calc_mode": "host"
  }
}
`,
	}
}

func makeProfile(t *testing.T, name string, v Values, opt Options) *NewFile {
	t.Helper()
	m, err := New(name, v, opt)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

func TestNewWithoutValues(t *testing.T) {
	want := wantMade()
	for _, p := range Profiles() {
		m := makeProfile(t, p.Name, nil, Options{})
		if diff := cmp.Diff(want[p.Name], string(m.Text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.Name, diff)
		}
		delete(want, p.Name)
	}
	for name := range want {
		t.Errorf("profile %s is missing", name)
	}
}

// TestNewForEveryTarget makes every profile for every release and environment that makes a
// difference.
func TestNewForEveryTarget(t *testing.T) {
	versions := map[Schema][]string{
		SchemaACL:       {"", "5.0", "6.2", "7.0", "8.0.RC1", "8.0.RC3", "8.0", "8.2", "8.5", "9.0"},
		SchemaMindSpore: {"", "1.0", "1.1", "1.2", "1.3", "1.5", "1.6", "2.0", "2.2", "2.3", "2.4", "2.5", "2.6"},
	}
	made := 0
	for _, p := range Profiles() {
		for _, v := range versions[p.Schema] {
			for _, backend := range []string{"", "O0", "O2"} {
				for _, soc := range []string{"", "A2"} {
					opt := Options{TargetVersion: version(t, v), Backend: backend, SoC: soc, Devices: []uint64{0, 3}}
					m, err := New(p.Name, nil, opt)
					if !p.Since.IsNewest() && opt.TargetVersion.IsBefore(p.Since) {
						if err == nil || !strings.Contains(err.Error(), p.Since.String()) {
							t.Errorf("%s for %s: %v", p.Name, v, err)
						}
						continue
					}
					if err != nil {
						t.Errorf("%s for %s, %s, %s: %v", p.Name, v, backend, soc, err)
						continue
					}
					made++
					checkMade(t, p, m, opt)
					for _, f := range m.Report.Findings {
						if f.Rule == "ACL091" || f.Rule == "MS055" {
							t.Errorf("%s for %s: %s", p.Name, v, f.Message)
						}
					}
				}
			}
		}
	}
	if made < 300 {
		t.Errorf("only %d files were made", made)
	}
}

func checkMade(t interface{ Errorf(string, ...any) }, p Profile, m *NewFile, opt Options) {
	again := Check("", m.Text, opt)
	if again.Schema != p.Schema || again.Count(Error) > 0 {
		t.Errorf("%s is %v with %d errors:\n%s", p.Name, again.Schema, again.Count(Error), m.Text)
	}
	if !json.Valid(m.Text) || m.Text[len(m.Text)-1] != '\n' {
		t.Errorf("%s: not JSON, or without newline:\n%s", p.Name, m.Text)
	}
	for _, s := range m.Next {
		checkText(t, s)
	}
	if len(m.Next) == 0 {
		t.Errorf("%s: nothing to do", p.Name)
	}
	e := Explain(again, opt)
	for _, s := range e.Sections {
		checkText(t, s.Title)
		for _, l := range s.Lines {
			checkText(t, l)
		}
	}
	// From 2.6 on MindSpore dumps only with e2e_dump_settings, and never with O2, which does not
	// support them since 2.3.
	target := opt.TargetVersion
	byDevice := p.Name == "ms-async" && opt.Backend != "O2" ||
		p.Schema == SchemaMindSpore && opt.Backend == "O2" && !target.IsBefore(sinceMS26) ||
		p.Name == "ms-e2e" && opt.Backend == "O2" && !target.IsBefore(sinceMS23)
	if !byDevice && !e.Active {
		t.Errorf("%s dumps nothing:\n%s", p.Name, m.Text)
	}
}

func checkText(t interface{ Errorf(string, ...any) }, x Text) {
	if x.String() == "" || x.Chinese() == "" || strings.ContainsAny(x.String()+x.Chinese(), "\n\x00") {
		t.Errorf("text %+q", x)
	}
	// %!d(...) is a wrong verb in a format; values never look like it.
	if badVerb.MatchString(x.String() + x.Chinese()) {
		t.Errorf("text %+q", x)
	}
}

var badVerb = regexp.MustCompile(`%!([a-z]\(|\(EXTRA |\(BADINDEX|\(NOVERB)`)

func TestNewByVersion(t *testing.T) {
	for _, c := range []struct {
		profile, target string
		opt             Options
		has, hasNot     []string
	}{
		{"op", "8.0", Options{}, []string{`"dump_list": []`}, []string{"{}"}},
		{"op", "6.2", Options{}, nil, []string{"dump_data"}},
		{"exception", "8.0", Options{}, []string{"lite_exception"}, nil},
		{"exception", "8.2", Options{}, []string{"aic_err_brief_dump"}, nil},
		{"stats", "7.0", Options{SoC: "A2"}, []string{`"stats"`}, []string{"dump_level", "dump_stats"}},
		{"stats", "8.2", Options{SoC: "Ascend910B"}, []string{`"dump_stats": ["Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"]`}, nil},
		{"ms-async", "1.1", Options{}, []string{`"async_dump_settings"`, `"enable": true`, `"op_debug_mode": 0`}, []string{"file_format", "saved_data"}},
		{"ms-overflow", "1.0", Options{Backend: "ms_backend"}, []string{`"async_dump_settings"`, `"op_debug_mode": 3`}, []string{"e2e"}},
		{"ms-overflow", "1.1", Options{SoC: "cpu"}, []string{`"async_dump_settings"`}, []string{"e2e"}},
		{"ms-overflow", "1.2", Options{Backend: "ms_backend"}, []string{`"e2e_dump_settings"`}, []string{"async"}},
		{"ms-overflow", "1.1", Options{}, []string{`"async_dump_settings"`, `"op_debug_mode": 3`}, []string{"e2e"}},
		{"ms-overflow", "2.3", Options{Backend: "O2"}, []string{`"op_debug_mode": 3`, `"file_format": "npy"`}, []string{"e2e"}},
		{"ms-stat", "2.2", Options{}, []string{`"file_format": "npy"`}, []string{"e2e", "statistic_category"}},
		{"ms-stat", "", Options{Devices: []uint64{4, 5}}, []string{`"support_device": [4, 5]`}, nil},
	} {
		c.opt.TargetVersion = version(t, c.target)
		text := string(makeProfile(t, c.profile, nil, c.opt).Text)
		for _, s := range c.has {
			if !strings.Contains(text, s) {
				t.Errorf("%s %s has no %s:\n%s", c.profile, c.target, s, text)
			}
		}
		for _, s := range c.hasNot {
			if strings.Contains(text, s) {
				t.Errorf("%s %s has %s:\n%s", c.profile, c.target, s, text)
			}
		}
	}
}

func TestNewWithValues(t *testing.T) {
	m := makeProfile(t, "model", Values{
		"dump_path": {`/data/"x"`}, "model_name": {"a", "b"}, "layer": {"conv"}, "dump_step": {"0|3-5"},
		"dump_mode": {"all"}, "opname_blacklist": {"relu", "pool"},
	}, Options{})
	want := `{"dump":{"dump_path":"/data/\"x\"","dump_list":[
 {"model_name":"a","layer":["conv"],"opname_blacklist":[{"name":"relu"},{"name":"pool"}]},
 {"model_name":"b","layer":["conv"],"opname_blacklist":[{"name":"relu"},{"name":"pool"}]}],
 "dump_mode":"all","dump_data":"tensor","dump_level":"op","dump_step":"0|3-5"}}`
	sameJSON(t, want, string(m.Text))
	if strings.Contains(m.Next[0].String(), "placeholder") {
		t.Errorf("asks for %q", m.Next[0].String())
	}
	m = makeProfile(t, "ms-e2e", Values{"kernels": {"Conv2D", "name-regex(a{1,2})"}, "support_device": {"0", "7"},
		"enable": {"false"}, "sample_mode": {"1"}, "sample_num": {"20"}}, Options{})
	want = `{"common_dump_settings":{"dump_mode":1,"path":"/path/to/dump","net_name":"my_net","iteration":"0","saved_data":"tensor",
 "input_output":0,"kernels":["Conv2D","name-regex(a{1,2})"],"support_device":[0,7],"op_debug_mode":0},
 "e2e_dump_settings":{"enable":false,"trans_flag":true,"sample_mode":1,"sample_num":20}}`
	sameJSON(t, want, string(m.Text))
	m = makeProfile(t, "kernel-debug", Values{"dump_kernel_data": {"printf", "assert"}, "dump_path": {"/d"}}, Options{})
	sameJSON(t, `{"dump":{"dump_path":"/d","dump_kernel_data":"printf,assert"}}`, string(m.Text))
}

func sameJSON(t *testing.T, want, got string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &b); err != nil {
		t.Fatalf("%v in\n%s", err, got)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		profile string
		values  Values
		opt     Options
		rule    string // in the RefusedError
		want    string
	}{
		{profile: "modell", want: `unknown profile "modell"`},
		{profile: "watcher", opt: Options{TargetVersion: Version{Major: 7}}, want: "needs version 8.0.RC3"},
		{profile: "model", values: Values{"iteration": {"0"}}, want: `no key "iteration", want one of dump_path`},
		{profile: "op", values: Values{"dump_op_switch": {"off"}}, want: "no key"},
		{profile: "model", values: Values{"dump_mode": {"all", "input"}}, want: "one value, found 2"},
		{profile: "model", values: Values{"dump_path": {"\xff"}}, want: "UTF-8"},
		{profile: "model", values: Values{"dump_mode": {"both"}}, rule: "ACL013", want: `"both" is no value of dump_mode`},
		{profile: "model", values: Values{"dump_step": {"5-3"}}, rule: "ACL032", want: "5-3"},
		{profile: "model", values: Values{"dump_path": {""}}, rule: "ACL020", want: "required"},
		{profile: "model", values: Values{"dump_path": {strings.Repeat("x", 513)}}, rule: "ACL021", want: "513"},
		{profile: "model", values: Values{"dump_level": {"all"}, "opname_blacklist": {"x"}}, rule: "ACL071", want: "opname_blacklist needs"},
		{profile: "model", values: Values{"layer": {"[[[[[[[[[[["}}, rule: "ACL002", want: "10 levels"},
		{profile: "kernel-debug", values: Values{"dump_kernel_data": {"print"}}, rule: "ACL014", want: "print"},
		{profile: "ms-e2e", values: Values{"path": {"data"}}, rule: "MS013", want: "must start with"},
		{profile: "ms-e2e", values: Values{"path": {"/a b"}}, rule: "MS014", want: "not allowed in path"},
		{profile: "ms-e2e", values: Values{"support_device": {"x"}}, want: `must be a number such as 0 or 12, found "x"`},
		{profile: "ms-e2e", values: Values{"support_device": {"007"}}, want: `found "007"`},
		{profile: "ms-e2e", values: Values{"enable": {"yes"}}, want: `must be true or false, found "yes"`},
		{profile: "ms-e2e", values: Values{"dump_mode": {"all"}}, want: `dump_mode must be one of 0, 1, 2, found "all"`},
		{profile: "exception", values: Values{"dump_scene": {"watcher"}}, want: "use profile watcher"},
		{profile: "exception", values: Values{"dump_scene": {"foo"}}, want: `needs dump_scene lite_exception, aic_err_brief_dump, aic_err_norm_dump, aic_err_detail_dump, found "foo"`},
		{profile: "exception", values: Values{"dump_scene": {"aic_err_norm_dump"}}, opt: Options{TargetVersion: Version{Major: 8}}, want: "needs version 8.2"},
		{profile: "model", values: Values{"dump_path": {"~/x"}}, want: "expands neither ~ nor variables"},
		{profile: "overflow", values: Values{"dump_path": {"$HOME/x"}}, want: "expands neither"},
		{profile: "op", values: Values{"dump_path": {"/d/${RUN}"}}, want: "expands neither"},
		{profile: "ms-e2e", values: Values{"dump_mode": {"3"}}, rule: "MS016", want: "found 3"},
		{profile: "ms-async", values: Values{"saved_data": {"full"}, "file_format": {"bin"}}, rule: "MS026", want: "npy"},
		{profile: "ms-stat", opt: Options{SoC: "cpu"}, rule: "MS025", want: "CPU"},
		{profile: "ms-stat", values: Values{"statistic_category": {"median"}}, rule: "MS028", want: "median"},
	} {
		m, err := New(c.profile, c.values, c.opt)
		if m != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %v: %v, want %q", c.profile, c.values, err, c.want)
			continue
		}
		var refused *RefusedError
		if errors.As(err, &refused) != (c.rule != "") || refused != nil && refused.Findings[0].Rule != c.rule {
			t.Errorf("%s with %v: %+v, want %s", c.profile, c.values, refused, c.rule)
		}
	}
}

func TestNewNamesPlaceholders(t *testing.T) {
	m := makeProfile(t, "watcher", Values{"layer": {"a"}}, Options{})
	var got []string
	for _, n := range m.Next {
		if strings.HasPrefix(n.String(), "replace") {
			got = append(got, n.String(), n.Chinese())
		}
	}
	want := []string{"replace the placeholder /path/to/dump of dump_path", "请替换 dump_path 的占位值 /path/to/dump",
		"replace the placeholder watched_op of watcher_nodes", "请替换 watcher_nodes 的占位值 watched_op"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNextSteps(t *testing.T) {
	for _, c := range []struct {
		profile string
		values  Values
		opt     Options
		want    []string
		not     []string
	}{
		{"model", Values{"dump_path": {"/data/my dump"}}, Options{}, []string{"mkdir -p '/data/my dump'", "aclmdlInitDump, aclmdlSetDump", "NPU_COLLECT_PATH"}, nil},
		{"model", nil, Options{TargetVersion: Version{Major: 6}}, []string{"name operators in layer"}, []string{"dump_step", "profile stats"}},
		{"model", Values{"dump_path": {"192.168.0.1:/d"}}, Options{}, []string{"on that host"}, nil},
		{"op", nil, Options{}, []string{"torch_npu.npu.set_dump"}, nil},
		{"overflow", Values{"dump_path": {"/d"}}, Options{}, []string{"--status_check=1", "dumptool overflow analyze -d /d"}, nil},
		{"exception", nil, Options{}, []string{"ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"}, nil},
		{"watcher", nil, Options{}, []string{"static graphs"}, nil},
		{"ms-e2e", nil, Options{}, []string{"export MINDSPORE_DUMP_CONFIG=", "dataset_sink_mode=False", "ms-stat"}, nil},
		{"ms-e2e", nil, Options{Backend: "O2"}, []string{"use msprobe"}, []string{"ms-async"}},
		{"ms-e2e", nil, Options{Backend: "O2", TargetVersion: Version{Major: 2, Minor: 4}}, []string{"use ms-async"}, nil},
		{"ms-async", nil, Options{TargetVersion: Version{Major: 1, Minor: 1}}, nil, []string{"O2", "dataset_sink_mode", "ms-stat"}},
		{"ms-overflow", nil, Options{TargetVersion: Version{Major: 1, Minor: 1}}, nil, []string{"O2", "dataset_sink_mode", "ms-stat"}},
		{"ms-overflow", nil, Options{TargetVersion: Version{Major: 1, Minor: 3}}, nil, []string{"O2"}},
		{"ms-stat", nil, Options{TargetVersion: Version{Major: 2}}, nil, []string{"O2"}},
		{"ms-async", nil, Options{Backend: "O2", TargetVersion: Version{Major: 2, Minor: 4}}, []string{"jit_level O2 only", "sink size must be 1"}, []string{"dataset_sink_mode"}},
		{"ms-async", nil, Options{TargetVersion: Version{Major: 2, Minor: 3}}, []string{"sink size must be 1"}, []string{"O2 only"}},
		{"ms-async", nil, Options{TargetVersion: Version{Major: 2, Minor: 6}}, []string{"writes no data"}, []string{"sink size"}},
		{"ms-async", nil, Options{}, []string{"jit_level O2 only"}, nil},
	} {
		all := ""
		for _, s := range makeProfile(t, c.profile, c.values, c.opt).Next {
			all += s.String() + "\n"
		}
		for _, w := range c.want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: no %q in\n%s", c.profile, w, all)
			}
		}
		for _, w := range c.not {
			if strings.Contains(all, w) {
				t.Errorf("%s: %q in\n%s", c.profile, w, all)
			}
		}
	}
}

func TestProfileTable(t *testing.T) {
	for _, p := range Profiles() {
		checkText(t, p.About)
		asked := 0
		for _, f := range p.Fields {
			checkText(t, f.About)
			if f.Flag != strings.ReplaceAll(f.Key, "_", "-") || strings.ContainsAny(f.Flag, "_ ") {
				t.Errorf("%s: flag %q of key %q", p.Name, f.Flag, f.Key)
			}
			if f.Type == TypeObject || f.Type == TypeObjects {
				t.Errorf("%s: %s has type %v", p.Name, f.Key, f.Type)
			}
			if f.Question != (Text{}) {
				checkText(t, f.Question)
				asked++
			}
			for _, d := range f.Default {
				if f.Values != nil && !slices.Contains(f.Values, d) {
					t.Errorf("%s: default %q of %s is none of %v", p.Name, d, f.Key, f.Values)
				}
			}
			if f.Placeholder && len(f.Default) == 0 {
				t.Errorf("%s: placeholder %s is empty", p.Name, f.Key)
			}
		}
		if asked == 0 || asked > 5 {
			t.Errorf("%s asks %d questions", p.Name, asked)
		}
	}
	first := Profiles()
	first[0].Fields[0].Default[0] = "changed"
	if got := Profiles()[0].Fields[0].Default[0]; got == "changed" {
		t.Error("profiles share their defaults")
	}
}

func TestSplit(t *testing.T) {
	strs, one := Field{Type: TypeStrings}, Field{Type: TypeString}
	for answer, want := range map[string][]string{
		"": nil, "  ": nil, "a": {"a"}, " a , b ": {"a", "b"}, "a,,b,": {"a", "b"},
		"name-regex(a{1,2}),b": {"name-regex(a{1,2})", "b"}, "a),b": {"a)", "b"}, ",": nil,
	} {
		if diff := cmp.Diff(want, strs.Split(answer)); diff != "" {
			t.Errorf("%q: %s", answer, diff)
		}
	}
	if got := one.Split(" a, b "); len(got) != 1 || got[0] != "a, b" {
		t.Errorf("string: %q", got)
	}
}

// TestNewAlwaysPasses gives fields random values, legal and illegal: the result has no errors, or
// the refusal has a reason.
func TestNewAlwaysPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(Profiles()).Draw(t, "profile")
		values := Values{}
		legal := true
		for _, f := range p.Fields {
			if rapid.Bool().Draw(t, "set "+f.Key) {
				v, ok := fieldValues(t, &f)
				values[f.Key] = v
				legal = legal && ok
			}
		}
		opt := Options{
			Backend: rapid.SampledFrom([]string{"", "O0", "O2"}).Draw(t, "backend"),
			SoC:     rapid.SampledFrom([]string{"", "A2", "310P"}).Draw(t, "soc"),
		}
		m, err := New(p.Name, values, opt)
		if err != nil {
			if values["dump_level"] != nil || values["overflow_number"] != nil || values["file_format"] != nil {
				legal = false // these have further conditions
			}
			if legal {
				t.Fatalf("%s with legal %q: %v", p.Name, values, err)
			}
			var refused *RefusedError
			if errors.As(err, &refused) && refused.Error() == "" {
				t.Fatal("refused without reason")
			}
			return
		}
		checkMade(t, p, m, opt)
		for key, want := range values {
			if len(want) > 0 && !strings.Contains(string(m.Text), fmt.Sprintf("%q", key)) && key != "model_name" {
				t.Fatalf("%s is not in\n%s", key, m.Text)
			}
		}
	})
}

// fieldValues draws values for a field, and reports whether they are certainly legal.
func fieldValues(t *rapid.T, f *Field) ([]string, bool) {
	if rapid.IntRange(0, 9).Draw(t, "wild") == 0 {
		return rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "text"), false
	}
	var one *rapid.Generator[string]
	switch {
	case f.Values != nil:
		one = rapid.SampledFrom(f.Values)
	case f.Type == TypeUint, f.Type == TypeUints:
		one = rapid.StringMatching(`[1-9][0-9]{0,3}`)
	case f.Key == "dump_step" || f.Key == "iteration":
		one = rapid.StringMatching(`[0-9]{1,3}(\|[0-9]-[1-9][0-9]){0,3}`)
	case f.Key == "dump_path" || f.Key == "path":
		one = rapid.StringMatching(`(/[A-Za-z0-9_-]{1,8}){1,4}`)
	case f.Key == "rank" || f.Key == "step":
		one = rapid.StringMatching(`[1-9]{1,3}|[0-4]-[5-9]`)
	default:
		one = rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{0,10}`)
	}
	if f.Type == TypeStrings || f.Type == TypeUints {
		return rapid.SliceOfN(one, 1, 4).Draw(t, f.Key), true
	}
	return []string{one.Draw(t, f.Key)}, true
}
