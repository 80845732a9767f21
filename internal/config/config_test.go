package config

import (
	"errors"
	"os"
	"path/filepath"
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
	s, err := Load(Options{Folders: []string{dir}})
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
			if want := path + ": " + strings.Join(append(command, tt.flag), "."); got.Source != want {
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

func TestPrecedence(t *testing.T) {
	t.Parallel()
	near := write(t, "convert: {jobs: 1}\n")
	far := write(t, "convert: {jobs: 2, out: far}\n")
	forced := filepath.Join(write(t, "convert: {jobs: 3}\n"), FileName)
	folders := []string{near, t.TempDir(), far}
	jobs := env("DUMPTOOL_CONVERT_JOBS=9")

	tests := map[string]struct {
		opt       Options
		jobs, out string
	}{
		"near hides far":       {Options{Folders: folders}, "1", "far"},
		"environment first":    {Options{Folders: folders, LookupEnv: jobs}, "9", "far"},
		"empty is not set":     {Options{Folders: folders, LookupEnv: env("DUMPTOOL_CONVERT_JOBS=")}, "1", "far"},
		"one file forced":      {Options{Folders: folders, File: forced}, "3", ""},
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
		"key twice":      {"jobs: 1\njobs: 2\n", ":2: mapping key \"jobs\" already defined at line 1"},
		"list":           {"- jobs\n", ":1: settings must be lines of the form name: value"},
		"binary":         {"\x01", ": control characters are not allowed"},
		"two spellings":  {"convert: {cpu_dir: a, cpu-dir: b}\n", ": convert.cpu-dir: given twice"},
		"self reference": {"a: &x [*x]\n", "contains itself"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, tt.yaml)
			s, err := Load(Options{Folders: []string{dir}})
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
		if _, err := Load(Options{Folders: []string{dir}}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("Load of a folder in place of a file = %v", err)
		}
	})
}

func TestFolders(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/home/me/cfg")
	t.Setenv("HOME", "/home/me")
	t.Setenv("AppData", "/home/me")
	user, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".", filepath.Join(user, "dumptool")}, Folders()); diff != "" {
		t.Errorf("Folders (-want +got):\n%s", diff)
	}
}
