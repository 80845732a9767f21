package dumpconf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mark marks the place of a finding in test texts. It is removed before the check, and its line and
// column are counted independently of the tested code.
const mark = "§"

// unmark removes the marks and returns their places as "line:column".
func unmark(text string) (string, []string) {
	var places []string
	line, column := 1, 1
	for _, r := range text {
		switch {
		case string(r) == mark:
			places = append(places, fmt.Sprintf("%d:%d", line, column))
		case r == '\n':
			line, column = line+1, 1
		default:
			column++
		}
	}
	return strings.ReplaceAll(text, mark, ""), places
}

// acl returns an acl.json with dump_path and more keys in dump.
func acl(keys string) string { return `{"dump":{"dump_path":"/d",` + keys + `}}` }

// listed returns an acl.json with a dump_list and more keys in dump.
func listed(items string, keys ...string) string {
	return acl(strings.Join(append(keys, `"dump_list":[`+items+`]`), ","))
}

// common returns a MindSpore configuration without e2e_dump_settings, with some keys replaced. A
// key with the value "" is left out.
func common(keys ...string) string { return `{` + commonBlock(keys) + `}` }

// e2e returns a MindSpore configuration with e2e_dump_settings.
func e2e(settings string, keys ...string) string {
	return `{` + commonBlock(keys) + `,"e2e_dump_settings":{` + settings + `}}`
}

func commonBlock(keys []string) string {
	defaults := []string{`"dump_mode":0`, `"path":"/d"`, `"net_name":"Net"`, `"iteration":"0"`,
		`"input_output":0`, `"kernels":[]`, `"support_device":[0]`, `"op_debug_mode":0`}
	replaced := map[string]bool{}
	var parts []string
	for _, k := range keys {
		name, value, _ := strings.Cut(k, ":")
		replaced[strings.ReplaceAll(strings.TrimSpace(name), mark, "")] = true
		if value != "" {
			parts = append(parts, k)
		}
	}
	for _, d := range defaults {
		if name, _, _ := strings.Cut(d, ":"); !replaced[name] {
			parts = append(parts, d)
		}
	}
	return `"common_dump_settings":{` + strings.Join(parts, ",") + `}`
}

// env returns an environment with only these variables.
func env(vars ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// stat returns a file system in which every path has the same state.
func stat(s PathState) func(string) PathState { return func(string) PathState { return s } }

func version(t testing.TB, text string) Version {
	t.Helper()
	if text == "" {
		return Version{}
	}
	v, err := ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func sampleNames(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/samples/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal("no samples", err)
	}
	return names
}

func readSample(t testing.TB, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return src
}
