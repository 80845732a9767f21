package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/config"
)

// runSample runs the sample commands with a configuration file and an environment, and returns the
// options seen by the command.
func runSample(t *testing.T, yaml string, env map[string]string, args ...string) (sampleOptions, result) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(yaml), 0o666); err != nil {
		t.Fatal(err)
	}
	opts := new(sampleOptions)
	a, get := testApp(t)
	a.commands = sampleCommands(opts, func(context.Context, []string) error {
		a.msg.Infof("working")
		return nil
	})
	a.settings = config.Options{
		User:      dir,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
	got := get(a.run(t.Context(), args))
	got.err = strings.ReplaceAll(got.err, dir+string(filepath.Separator), "")
	return *opts, got
}

func TestSettings(t *testing.T) {
	t.Parallel()
	const yaml = `
log-format: text
convert: {out: file, jobs: 3, stats: True, ops: [a, "b,c"], dump_path: /d}
overflow: {analyze: {cpu_dir: /cpu}}
`
	defaults := sampleOptions{jobs: 1, ops: []string{"default"}}
	fromFile := defaults
	fromFile.out, fromFile.jobs, fromFile.stats, fromFile.ops, fromFile.dir = "file", 3, true, []string{"a", "b,c"}, "/d"
	vary := func(o sampleOptions, change func(*sampleOptions)) sampleOptions { change(&o); return o }

	tests := map[string]struct {
		yaml string
		env  map[string]string
		args string
		want sampleOptions
	}{
		"defaults":         {"", nil, "convert", defaults},
		"file":             {yaml, nil, "convert", fromFile},
		"flag over file":   {yaml, nil, "convert -out flag", vary(fromFile, func(o *sampleOptions) { o.out = "flag" })},
		"exclusive flag":   {yaml, nil, "convert --half", vary(fromFile, func(o *sampleOptions) { o.stats, o.half = false, true })},
		"env over file":    {yaml, map[string]string{"DUMPTOOL_CONVERT_JOBS": "7", "DUMPTOOL_CONVERT_OUT": ""}, "convert", vary(fromFile, func(o *sampleOptions) { o.jobs = 7 })},
		"flag over env":    {"", map[string]string{"DUMPTOOL_CONVERT_JOBS": "7"}, "convert -j 2", vary(defaults, func(o *sampleOptions) { o.jobs = 2 })},
		"env list":         {"", map[string]string{"DUMPTOOL_CONVERT_OPS": "x,y"}, "convert", vary(defaults, func(o *sampleOptions) { o.ops = []string{"x", "y"} })},
		"env boolean":      {"", map[string]string{"DUMPTOOL_CONVERT_STATS": "TRUE"}, "convert", vary(defaults, func(o *sampleOptions) { o.stats = true })},
		"other command":    {yaml, nil, "overflow analyze", vary(defaults, func(o *sampleOptions) { o.cpuDir = "/cpu" })},
		"nested env":       {"", map[string]string{"DUMPTOOL_OVERFLOW_ANALYZE_CPU_DIR": "/e"}, "of analyze", vary(defaults, func(o *sampleOptions) { o.cpuDir = "/e" })},
		"config flag":      {yaml, nil, "convert --config " + os.DevNull, defaults},
		"config by env":    {yaml, map[string]string{"DUMPTOOL_CONFIG": os.DevNull}, "convert", defaults},
		"flag beats value": {"convert: {jobs: x}", nil, "convert -j 2", vary(defaults, func(o *sampleOptions) { o.jobs = 2 })},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts, got := runSample(t, tt.yaml, tt.env, strings.Fields(tt.args)...)
			if got.code != 0 || got.err != "dumptool: working\n" {
				t.Fatalf("got %+v", got)
			}
			if diff := cmp.Diff(tt.want, opts, cmp.AllowUnexported(sampleOptions{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGlobalSettings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		yaml string
		env  map[string]string
		args []string
		want string
	}{
		"file":           {"quiet: true", nil, []string{"convert"}, ""},
		"environment":    {"", map[string]string{"DUMPTOOL_QUIET": "1"}, []string{"convert"}, ""},
		"flag hides":     {"quiet: true", nil, []string{"convert", "--verbose"}, "dumptool: working\n"},
		"flag overrides": {"quiet: true", nil, []string{"convert", "-q=false"}, "dumptool: working\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, got := runSample(t, tt.yaml, tt.env, tt.args...); got.code != 0 || got.err != tt.want {
				t.Errorf("got %+v, want %q", got, tt.want)
			}
		})
	}
}

func TestSettingsErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		yaml string
		env  map[string]string
		args []string
		want string
	}{
		"bad value in file": {"convert: {jobs: many}", nil, nil, "dumptool.yaml:1:11: convert.jobs: invalid value \"many\": strconv.ParseInt: parsing \"many\": invalid syntax\n"},
		"bad value in environment": {"", map[string]string{"DUMPTOOL_CONVERT_JOBS": "many"}, nil,
			"environment DUMPTOOL_CONVERT_JOBS: invalid value \"many\": strconv.ParseInt: parsing \"many\": invalid syntax\n"},
		"bad global value":  {"log-format: xml", nil, nil, "dumptool.yaml:1:1: log-format: invalid value \"xml\": must be text or json\n"},
		"list for one":      {"convert: {out: [a, b]}", nil, nil, "dumptool.yaml:1:11: convert.out: invalid value \"a,b\": takes one value, not a list\n"},
		"typing error":      {"convert: {otu: x}", nil, nil, "dumptool.yaml:1:11: convert.otu: unknown setting\nhint: did you mean convert.out?\n"},
		"of other command":  {"overflow: {analyze: {temperature: x}}", nil, nil, "dumptool.yaml:1:22: overflow.analyze.temperature: unknown setting\n"},
		"file names itself": {"config: x.yaml", nil, nil, "dumptool.yaml:1:1: config: unknown setting\n"},
		"syntax":            {"convert:\n  out: x\n    jobs: 1\n", nil, nil, "dumptool.yaml:3: mapping values are not allowed in this context\n"},
		"missing file":      {"", nil, []string{"--config", "/nowhere/x.yaml"}, "cannot read the configuration: open /nowhere/x.yaml: no such file or directory\n"},
		"both from file":    {"convert: {stats: true, half: true}", nil, nil, "if any flags in the group [stats half] are set none of the others can be; [half stats] were all set\nhint: see 'dumptool convert --help'\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, got := runSample(t, tt.yaml, tt.env, append([]string{"convert"}, tt.args...)...)
			if want := (result{exitUsage, "", "dumptool: " + tt.want}); got != want {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestWithoutSettings checks that help and completion work beside a broken
// configuration file.
func TestWithoutSettings(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help", "convert"}, {"convert", "--help"}, {"__complete", "convert", "--ou"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			if _, got := runSample(t, "a: b: c", nil, args...); got.code != 0 || !strings.Contains(got.out, "--out") {
				t.Errorf("%q: got %+v", args, got)
			}
		})
	}
}
