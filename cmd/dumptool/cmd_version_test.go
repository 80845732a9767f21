package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"

	"dumptool"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	got := runArgs(t, "version")
	info, _ := debug.ReadBuildInfo()
	want := "dumptool " + buildVersion(version, dumptool.Release(), commit, info) + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	if got != (result{0, want, ""}) {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func TestVersionJSON(t *testing.T) {
	t.Parallel()
	got := runArgs(t, "version", "-json")
	var fields map[string]string
	if err := json.Unmarshal([]byte(got.out), &fields); err != nil {
		t.Fatalf("%+v: %v", got, err)
	}
	if fields["go"] != runtime.Version() || fields["os"] != runtime.GOOS || fields["arch"] != runtime.GOARCH || fields["version"] == "" {
		t.Errorf("fields %v", fields)
	}
}

func TestBuildVersion(t *testing.T) {
	t.Parallel()
	vcs := func(main string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: main}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	const revision = "0123456789abcdef0123"
	tests := map[string]struct {
		linked, commit string
		info           *debug.BuildInfo
		want           string
	}{
		"linked":   {"v1.2.3", "abc", vcs("v9"), "v1.2.3"},
		"revision": {"", "", vcs("(devel)", "vcs.revision", revision, "vcs.modified", "false"), "1.0.0+0123456789ab"},
		"dirty":    {"", "", vcs("", "vcs.modified", "true", "vcs.revision", revision), "1.0.0+0123456789ab.dirty"},
		"no vcs":   {"", "", vcs("(devel)", "vcs.modified", "true"), "1.0.0"},
		"no info":  {"", "", nil, "1.0.0"},
		"commit":   {"", "0123abcd.dirty", nil, "1.0.0+0123abcd.dirty"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := buildVersion(tt.linked, "1.0.0", tt.commit, tt.info); got != tt.want {
				t.Errorf("buildVersion = %q, want %q", got, tt.want)
			}
		})
	}
}
