package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write puts a configuration file into a new folder and returns the folder.
func write(t *testing.T, yaml string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(yaml), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// load reads one configuration file without an environment.
func load(t *testing.T, yaml string) (*Settings, string) {
	t.Helper()
	dir := write(t, yaml)
	s, err := Load(Options{User: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s, filepath.Join(dir, FileName)
}

// env returns a LookupEnv over a list of name=value.
func env(list ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, e := range list {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

const sample = `
quiet: true
Log_Format: json
convert:
  out: golden files
  jobs: 4
  atol: 1e-3
  day: 2024-01-02
  moment: 2024-01-02T03:04:05Z
  shape: [1, 2.5, x, true]
  empty:
overflow:
  analyze:
    cpu_dir: /data
`

func TestLookup(t *testing.T) {
	t.Parallel()
	s, path := load(t, sample)
	tests := []struct {
		command, flag, want string
	}{
		{"", "quiet", "true"},
		{"", "log-format", "json"},
		{"convert", "out", "golden files"},
		{"convert", "jobs", "4"},
		{"convert", "atol", "0.001"},
		{"convert", "day", "2024-01-02"},
		{"convert", "moment", "2024-01-02T03:04:05Z"},
		{"convert", "shape", "1,2.5,x,true"},
		{"overflow analyze", "cpu-dir", "/data"},
	}
	for _, tt := range tests {
		t.Run(tt.command+" "+tt.flag, func(t *testing.T) {
			t.Parallel()
			command := strings.Fields(tt.command)
			got, ok := s.Lookup(command, tt.flag)
			if !ok || got.Text != tt.want {
				t.Errorf("Lookup = %q, %v, want %q", got.Text, ok, tt.want)
			}
			if want := path + ": " + strings.Join(append(command, tt.flag), "."); withoutPlace(got.Source, path) != want {
				t.Errorf("Source = %q, want %q", got.Source, want)
			}
		})
	}
	if v, _ := s.Lookup([]string{"convert"}, "shape"); !cmp.Equal(v.List, []string{"1", "2.5", "x", "true"}) {
		t.Errorf("List = %q", v.List)
	}
	for _, missing := range [][]string{{"convert", "empty"}, {"convert", "quiet"}, {"overflow", "analyze"}, {"compare", "out"}, {"quiet", "x"}} {
		if v, ok := s.Lookup(missing[:1], missing[1]); ok {
			t.Errorf("Lookup(%q) = %+v, want nothing", missing, v)
		}
	}
}

// withoutPlace drops line and column behind the path of a file.
func withoutPlace(text, path string) string {
	rest, _ := strings.CutPrefix(text, path)
	return path + regexp.MustCompile(`^:\d+:\d+`).ReplaceAllString(rest, "")
}

// TestPlace checks the line and column of settings, including settings from an alias or a merge.
func TestPlace(t *testing.T) {
	t.Parallel()
	s, path := load(t, "a: &a\n  one: 1\nb: *a\nc:\n  <<: *a\n  two: 2\n")
	for name, want := range map[string]string{"a one": "2:3", "b one": "2:3", "c two": "6:3", "c one": "4:1"} {
		command, flag, _ := strings.Cut(name, " ")
		v, ok := s.Lookup([]string{command}, flag)
		if want := path + ":" + want + ": " + command + "." + flag; !ok || v.Source != want {
			t.Errorf("%s: %q, want %q", name, v.Source, want)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	near := write(t, "convert: {jobs: 1, out: near}\n")
	far := write(t, "convert: {jobs: 2, out: far}\n")
	forced := filepath.Join(write(t, "convert: {jobs: 3}\n"), FileName)
	jobs := env("DUMPTOOL_CONVERT_JOBS=9")

	tests := map[string]struct {
		opt       Options
		jobs, out string
	}{
		"working folder":       {Options{Working: near, User: far}, "2", "far"},
		"environment first":    {Options{Working: near, User: far, LookupEnv: jobs}, "9", "far"},
		"empty is not set":     {Options{Working: near, User: far, LookupEnv: env("DUMPTOOL_CONVERT_JOBS=")}, "2", "far"},
		"one file forced":      {Options{Working: near, User: far, File: forced}, "3", ""},
		"environment and file": {Options{File: forced, LookupEnv: jobs}, "9", ""},
		"nothing":              {Options{}, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Load(tt.opt)
			if err != nil {
				t.Fatal(err)
			}
			for flag, want := range map[string]string{"jobs": tt.jobs, "out": tt.out} {
				v, ok := s.Lookup([]string{"convert"}, flag)
				if v.Text != want || ok != (want != "") {
					t.Errorf("%s = %q, %v, want %q", flag, v.Text, ok, want)
				}
			}
		})
	}

	s, err := Load(Options{LookupEnv: jobs})
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Lookup([]string{"convert"}, "jobs"); v.Source != "environment DUMPTOOL_CONVERT_JOBS" {
		t.Errorf("Source = %q", v.Source)
	}
}

func TestEnvName(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		command []string
		flag    string
	}{
		"DUMPTOOL_LOG_FORMAT":               {nil, "log-format"},
		"DUMPTOOL_CONVERT_OUT":              {[]string{"convert"}, "out"},
		"DUMPTOOL_OVERFLOW_ANALYZE_CPU_DIR": {[]string{"overflow", "analyze"}, "cpu-dir"},
	}
	for want, tt := range tests {
		if got := EnvName(tt.command, tt.flag); got != want {
			t.Errorf("EnvName(%q, %q) = %q, want %q", tt.command, tt.flag, got, want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ yaml, want string }{
		"syntax":         {"convert:\n  jobs: 4\n    out: x\n", ":3: mapping values are not allowed"},
		"unfinished":     {"out: \"x\n", ":2: found unexpected end of stream"},
		"key twice":      {"jobs: 1\njobs: 2\n", ":2: jobs: given twice, in line 1 too"},
		"list":           {"- jobs\n", ":1: settings must be lines of the form name: value"},
		"binary":         {"\x01", ": control characters are not allowed"},
		"two spellings":  {"convert: {cpu_dir: a,\n CPU-dir: b}\n", ":2: cpu-dir: given twice, in line 1 too"},
		"no name":        {"convert:\n  ? [jobs]\n  : 1\n", ":2: settings must be lines of the form name: value"},
		"zero in a name": {"\"convert\\0jobs\": 1\n", ":1: settings must be lines of the form name: value"},
		"self reference": {"a: &x [*x]\n", "contains itself"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, tt.yaml)
			s, err := Load(Options{User: dir})
			if err == nil || !strings.HasPrefix(err.Error(), filepath.Join(dir, FileName)+":") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load = %v, want the file and %q", err, tt.want)
			}
			if s != nil {
				t.Error("settings come with the error")
			}
		})
	}
	t.Run("missing file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "mine.yaml")
		if _, err := Load(Options{File: path}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("Load = %v", err)
		}
	})
	t.Run("unreadable", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, FileName), 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Options{User: dir}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("Load of a folder in place of a file = %v", err)
		}
	})
}

// TestLimits: oversized constructs are refused at once; decoding these files takes seconds to
// minutes.
func TestLimits(t *testing.T) {
	t.Parallel()
	var names, tower, laughs strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&names, "n%d: 1\n", i)
	}
	tower.WriteString("a0: &a0 {k: 1}\n")
	for i := range 450 {
		fmt.Fprintf(&tower, "a%d: &a%d {k: *a%d}\n", i+1, i+1, i)
	}
	laughs.WriteString("a0: &a0 [1]\n")
	for i := range 450 {
		fmt.Fprintf(&laughs, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	tests := map[string]struct{ yaml, want string }{
		"four levels":   {"a: {b: {c: {d: [1, 2]}}}", ""},
		"merged group":  {"a: {b: {c: &c {d: 1}, e: {<<: *c}}}", ""},
		"an alias":      {"a: &a {b: 1}\nc: {d: *a}\n", ""},
		"five levels":   {"x: 1\na: {b: {c: {d: {e: 1}}}}", ":2: a: 5 levels of settings, at most 4 are possible"},
		"deep":          {strings.Repeat("{a: ", 3000) + "1" + strings.Repeat("}", 3000), ":1: a: 3000 levels of settings, at most 4 are possible"},
		"deep lists":    {"a: " + strings.Repeat("[", 3000) + strings.Repeat("]", 3000), ":1: a: 3000 levels of settings"},
		"deep by alias": {tower.String(), ":4: a3: 5 levels of settings"},
		"aliases":       {laughs.String(), ":5: a4: 5 levels of settings"},
		"names":         {names.String(), ":1: 5000 settings in one group, at most 500 are possible"},
		"names below":   {"a:\n b:\n  " + strings.ReplaceAll(names.String(), "\n", "\n  "), ":3: 5000 settings in one group"},
		"name twice":    {strings.Repeat("a:\n", 400), ":2: a: given twice, in line 1 too"},
		"one long list": {"a: [" + strings.Repeat("x,", 32000) + "]", ""},
		"large":         {"a: [" + strings.Repeat("x,", 33000) + "]", ": a configuration of more than 64 KiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(write(t, tt.yaml), FileName)
			for _, opt := range []Options{{File: path}, {User: filepath.Dir(path)}} {
				_, err := Load(opt)
				if got := fmt.Sprint(err); tt.want == "" && err != nil || tt.want != "" && !strings.HasPrefix(got, path+tt.want) {
					t.Errorf("Load = %.200s, want the file and %q", got, tt.want)
				}
			}
		})
	}
}

// TestMergedSpellings: a setting overrides a merged one in another spelling.
func TestMergedSpellings(t *testing.T) {
	t.Parallel()
	for range 20 { // maps have no order
		s, _ := load(t, "convert: &c {Cpu_Dir: far}\ncompare: {<<: *c, cpu-dir: near}\n")
		if v, _ := s.Lookup([]string{"compare"}, "cpu-dir"); v.Text != "near" {
			t.Fatalf("got %q, want near", v.Text)
		}
	}
}

// TestUnread checks that a file in the working folder is named and not read, unless it is
// the user's own.
func TestUnread(t *testing.T) {
	t.Parallel()
	dir, empty := write(t, "convert: {jobs: 4}\n"), t.TempDir()
	path := filepath.Join(dir, FileName)
	linked, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	if err := errors.Join(os.Symlink(path, filepath.Join(linked, FileName)), os.Symlink(dir, other)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		opt    Options
		unread string
		jobs   string
	}{
		"found":            {Options{Working: dir}, path, ""},
		"beside a user's":  {Options{Working: dir, User: write(t, "convert: {jobs: 2}\n")}, path, "2"},
		"without a user's": {Options{Working: dir, User: empty}, path, ""},
		"a link":           {Options{Working: linked, User: empty}, filepath.Join(linked, FileName), ""},
		"the user's":       {Options{Working: empty, User: dir}, "", "4"},
		"both":             {Options{Working: dir, User: dir}, "", "4"},
		"both, by a link":  {Options{Working: other, User: dir}, "", "4"},
		"named":            {Options{File: path, Working: dir}, "", "4"},
	} {
		if got := tt.opt.IgnoredFile(); got != tt.unread {
			t.Errorf("%s: %q is not read, want %q", name, got, tt.unread)
		}
		s, err := Load(tt.opt)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := s.Lookup([]string{"convert"}, "jobs"); v.Text != tt.jobs {
			t.Errorf("%s: jobs %q, want %q", name, v.Text, tt.jobs)
		}
	}
}

func TestUserFolder(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/home/me/cfg")
	t.Setenv("HOME", "/home/me")
	t.Setenv("AppData", "/home/me")
	user, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := UserFolder(), filepath.Join(user, "dumptool"); got != want {
		t.Errorf("UserFolder = %s, want %s", got, want)
	}
}
