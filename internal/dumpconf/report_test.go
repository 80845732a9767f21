package dumpconf

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRuntimeVerdict compares with the ACL runtime's own verdict on a file: the code of the first
// error in its order of validation, or whether it dumps. The cases follow the unit tests of the
// CANN runtime.
func TestRuntimeVerdict(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look := func(path string) PathState {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return PathMissing
		case !info.IsDir():
			return PathNotDir
		default:
			return PathUsable
		}
	}
	const idle, dumps = "no dump", "dump"
	entries := strings.TrimSuffix(strings.Repeat(`{"name":"x"},`, 101), ",")
	pieces := strings.TrimSuffix(strings.Repeat("1|", 101), "|")
	for _, c := range []struct{ keys, want string }{
		// P is an existing folder.
		{`"dump_path":P`, idle},
		{`"dump_path":"192.168.0.1:/home/u"`, idle},
		{`"dump_path":P,"dump_debug":"off"`, idle},
		{`"dump_path":P,"dump_op_switch":"off"`, idle},
		{`"dump_path":P,"dump_list":[]`, idle},
		{`"dump_path":P,"dump_list":[{}]`, dumps},
		{`"dump_path":P,"dump_op_switch":"on"`, dumps},
		{`"dump_path":P,"dump_debug":"on"`, dumps},
		{`"dump_scene":"lite_exception"`, dumps},
		{`"dump_scene":"lite_exception","dump_stats":["Max"],"dump_step":"x"`, dumps},
		{`"dump_scene":"lite_exception","dump_path":"/nowhere/at/all"`, dumps},
		{`"dump_scene":"lite_exception","dump_debug":"on"`, "EP0005"},
		{`"dump_scene":"lite_exception","dump_op_switch":"on"`, "EP0005"},
		{`"dump_scene":"lite_exception","dump_mode":"foo"`, "EP0002"},
		{`"dump_scene":"watcher","dump_path":P`, dumps},
		{`"dump_scene":"watcher","dump_path":P,"dump_list":[{"watcher_nodes":[]}]`, "EP0001"},
		{`"dump_scene":"watcher","dump_path":P,"dump_list":[{"model_name":"m","watcher_nodes":["a"]}]`, "EP0005"},
		{`"dump_scene":"watcher","dump_path":P,"dump_mode":"all"`, "EP0005"},
		{`"dump_path":P,"dump_list":[{"watcher_nodes":["a"]}]`, "EP0005"},
		{`"dump_path":P,"dump_mode":""`, "EP0001"},
		{`"dump_path":P,"dump_mode":"foo"`, "EP0002"},
		{`"dump_path":P,"dump_mode":1`, "EP0001"},
		{`"dump_path":P,"dump_kernel_data":"all,foo"`, "EP0002"},
		{`"dump_stats":["Foo"]`, "EP0002"},
		{`"dump_path":P,"dump_stats":[]`, "EP0001"},
		{`"dump_path":P,"dump_data":"tensor","dump_stats":["Max"]`, "EP0005"},
		{`"dump_path":P,"dump_step":"1-2-3"`, "EP0003"},
		{`"dump_path":P,"dump_step":"x-3"`, "EP0003"},
		{`"dump_path":P,"dump_step":"10-5"`, "EP0003"},
		{`"dump_path":P,"dump_step":"` + pieces + `"`, "EP0003"},
		{`"dump_path":P,"dump_step":""`, idle},
		{`"dump_path":P,"dump_debug":"on","dump_step":"x"`, dumps},
		{`"dump_path":P,"dump_level":"kernel","dump_list":[{"optype_blacklist":[{"name":"x"}]}]`, "EP0005"},
		{`"dump_path":P,"dump_list":[{"optype_blacklist":[{"name":"x"}]}]`, "EP0005"},
		{`"dump_path":P,"dump_level":"op","dump_list":[{"optype_blacklist":[{"name":"x","pos":["workspace0"]}]}]`, dumps},
		{`"dump_path":P,"dump_level":"op","dump_list":[{"optype_blacklist":[{"name":"x","pos":["input_0"]}]}]`, dumps},
		{`"dump_path":P,"dump_level":"op","dump_list":[{"optype_blacklist":[` + entries + `]}]`, "EP0003"},
		{`"dump_path":P,"dump_level":"op","dump_list":[{"opname_range":[{"begin":"a","end":"b"}]}]`, "EP0001"},
		{`"dump_path":P,"dump_level":"op","dump_list":[{"model_name":"","opname_range":[{"begin":"a","end":"b"}]}]`, "EP0001"},
		{`"dump_path":P,"dump_level":"op","dump_list":[{"model_name":"m","opname_range":[{"begin":"","end":"b"}]}]`, "EP0003"},
		{`"dump_path":P,"dump_level":"op","dump_list":[{"model_name":"m","opname_range":[{"begin":"a","end":"a"}]}]`, dumps},
		{`"dump_path":P,"dump_list":[{"model_name":""}]`, "EP0001"},
		{`"dump_path":P,"dump_list":[{"layer":[]}]`, "EP0001"},
		{`"dump_path":P,"dump_list":[{"layer":[]}],"dump_op_switch":"on"`, dumps},
		{`"dump_path":F,"dump_debug":"on"`, "EP0003"},
		{`"dump_path":"/nowhere/at/all","dump_debug":"on"`, "EP0003"},
		{`"dump_path":"/` + strings.Repeat("x", 599) + `","dump_debug":"on"`, "EP0003"},
		{`"dump_path":"1.2.3.4:","dump_debug":"on"`, "EP0003"},
		{`"dump_path":"1.2.3.256:/x","dump_debug":"on"`, "EP0003"},
		{`"dump_path":"1.2.3.4:/a b","dump_debug":"on"`, "EP0003"},
		{`"dump_debug":"on"`, "EP0001"},
		{`"dump_path":"","dump_debug":"on"`, "EP0001"},
		{`"dump_path":P,"dump_debug":"on","dump_op_switch":"on"`, "EP0005"},
		{`"dump_step":5,"dump_mode":"foo"`, "EP0001"},
	} {
		keys := strings.ReplaceAll(strings.ReplaceAll(c.keys, ":P", `:"`+dir+`"`), ":F", `:"`+file+`"`)
		r := Check("", []byte(`{"dump":{`+keys+`}}`), Options{Stat: look})
		got := idle
		if f := r.RuntimeError(); f != nil {
			got = f.Code
		} else if r.ACL.Dumps() {
			got = dumps
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.keys, got, c.want)
		}
	}
}

func TestRuntimeVerdictOfWholeFiles(t *testing.T) {
	for text, want := range map[string]string{
		``:                                  "",
		`{}`:                                "",
		`{"dump":{}}`:                       "",
		`{"profiler":{}}`:                   "",
		`{"dump":null}`:                     "EP0001",
		`{"dump":[]}`:                       "EP0001",
		`{"dump":{},}`:                      "EP0004",
		"\ufeff" + `{"dump":{}}`:            "",
		`{"x":[[[[[[[[[[[` + `]]]]]]]]]]]}`: "ACL_ERROR_PARSE_FILE",
		`{"x":[[[[[[[[[[`:                   "EP0004",
	} {
		got := ""
		if f := Check("", []byte(text), Options{}).RuntimeError(); f != nil {
			got = f.Code
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTexts: every text exists in both languages with the same arguments, and the code names all
// texts and no others.
func TestTexts(t *testing.T) {
	table := textTable()
	named := map[string]bool{"word.sides-input": true, "word.sides-output": true, "word.sides-all": true}
	for _, s := range sectionNames {
		named["title."+s] = true
	}
	topics := map[string]bool{}
	for key := range table {
		topic, _, _ := strings.Cut(key, ".")
		topics[topic] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile(`"([a-z]+)(\.[a-z0-9-]*[a-z0-9])"`)
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range literal.FindAllStringSubmatch(string(src), -1) {
			if topics[m[1]] {
				named[m[1]+m[2]] = true
			}
		}
	}
	for key, is := range named {
		if is && table[key] == (Text{}) {
			t.Errorf("no text %s", key)
		}
	}
	verb := regexp.MustCompile(`%(\[\d\])?[sdv]`)
	for key, text := range table {
		if !named[key] {
			t.Errorf("nothing says %s", key)
		}
		checkText(t, text)
		if en, zh := len(verb.FindAllString(text.String(), -1)), len(verb.FindAllString(text.Chinese(), -1)); en != zh {
			t.Errorf("%s has %d arguments in English and %d in Chinese", key, en, zh)
		}
	}
}
