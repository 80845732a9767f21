package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"dumptool/internal/config"
	"dumptool/internal/dumpconf"
)

// typed runs a command line with text typed at a terminal.
func typed(t *testing.T, text string, args ...string) result {
	t.Helper()
	streams, in, out, err := testStreams()
	streams.InTTY, streams.OutTTY = true, true
	in.WriteString(text)
	a := newApp(streams)
	a.settings = config.Options{}
	code := a.run(t.Context(), args)
	return result{code, out.String(), err.String()}
}

func TestConfigNewAsks(t *testing.T) {
	t.Parallel()
	const want = `{
  "dump": {
    "dump_path": "/data/dump",
    "dump_list": [
      {
        "layer": ["a", "b"]
      }
    ],
    "dump_mode": "output",
    "dump_data": "tensor"
  }
}
`
	got := typed(t, " /data/dump \n\na, b\n\n", "config", "new", "model")
	if got.code != exitOK || got.out != want {
		t.Errorf("exit status %d, stdout\n%s\nwant\n%s", got.code, got.out, want)
	}
	wantContains(t, got.err, "Folder for the dump files (must exist)? [/path/to/dump] Models to dump")
	if strings.Contains(got.err, "placeholder") {
		t.Errorf("stderr %q speaks of a placeholder", got.err)
	}
}

func TestConfigNewAsksInChinese(t *testing.T) {
	t.Parallel()
	got := typed(t, "\n\n\n\n", "config", "new", "model")
	zh := typed(t, "\n\n\n\n", "config", "new", "model", "--lang", "zh")
	if got.code != exitOK || zh.code != exitOK || got.out != zh.out {
		t.Errorf("got %+v and %+v", got, zh)
	}
	wantContains(t, zh.err, "dump 文件目录（需提前创建）？ [/path/to/dump] ")
	if strings.Contains(zh.err, "Folder") {
		t.Errorf("stderr %q", zh.err)
	}
}

func TestConfigNewDoesNotAskWithFlags(t *testing.T) {
	t.Parallel()
	got := typed(t, "/data/other\n\n\n\n", "config", "new", "model", "--target-version", "8.0")
	if got.code != exitOK || strings.Contains(got.err, "Folder for") || strings.Contains(got.out, "other") {
		t.Errorf("got %+v", got)
	}
}

func TestConfigNewWithoutAnswers(t *testing.T) {
	t.Parallel()
	got := typed(t, "/data/dump\n", "config", "new", "model")
	if got.code != exitIncomplete || got.out != "" {
		t.Errorf("got %+v", got)
	}
	wantContains(t, got.err, "the input ended before all questions were answered")
}

func TestConfigNewDoesNotAskScripts(t *testing.T) {
	t.Parallel()
	got := runArgs(t, "config", "new", "model")
	if got.code != exitOK || strings.Contains(got.err, "?") {
		t.Errorf("got %+v", got)
	}
}

// TestConfigNewInterrupted checks that a question can be interrupted.
func TestConfigNewInterrupted(t *testing.T) {
	t.Parallel()
	streams, _, out, err := testStreams()
	streams.InTTY, streams.OutTTY = true, true
	streams.In = blockedReader{}
	a := newApp(streams)
	a.settings = config.Options{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := a.run(ctx, []string{"config", "new", "model"}); code != exitInterrupted || out.Len() > 0 {
		t.Errorf("exit status %d, stdout %q, stderr %q", code, out, err)
	}
}

// blockedReader never returns.
type blockedReader struct{}

func (blockedReader) Read([]byte) (int, error) { select {} }

func TestConfigCheckInterrupted(t *testing.T) {
	t.Parallel()
	streams, _, _, _ := testStreams()
	streams.In = blockedReader{}
	a := newApp(streams)
	a.settings = config.Options{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"check", "-"}, {"explain", "-"}} {
		if code := a.run(ctx, append([]string{"config"}, args...)); code != exitInterrupted {
			t.Errorf("%v: exit status %d", args, code)
		}
	}
}

// TestConfigNewPassesCheck: the output of every profile passes the check.
func TestConfigNewPassesCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, p := range dumpconf.Profiles() {
		name := filepath.Join(dir, p.Name+".json")
		if got := runArgs(t, "config", "new", p.Name, "--out", name); got.code != exitOK || got.out != "" {
			t.Errorf("%s: %+v", p.Name, got)
		}
		if got := runArgs(t, "config", "check", "--json", name); got.code != exitOK ||
			!strings.Contains(got.out, `"schema":"`+p.Schema.String()+`"`) || strings.Contains(got.out, `"severity":"warning"`) {
			t.Errorf("%s: %+v", p.Name, got)
		}
	}
}

// TestConfigProfileFlags: every key of every profile has a working flag, and profiles without the
// key refuse the flag.
func TestConfigProfileFlags(t *testing.T) {
	t.Parallel()
	profiles := dumpconf.Profiles()
	keys := map[string]dumpconf.Field{} // of flags
	for _, p := range profiles {
		for _, f := range p.Fields {
			keys[f.Flag] = f
		}
	}
	for _, p := range profiles {
		fields := map[string]dumpconf.Field{}
		for _, f := range p.Fields {
			fields[f.Flag] = f
		}
		for flag, f := range keys {
			mine, has := fields[flag]
			if has {
				f = mine
			}
			value := "7"
			switch {
			case len(f.Values) > 0:
				value = f.Values[0]
			case f.Type == dumpconf.TypeBool:
				value = "true"
			}
			got := runArgs(t, "config", "new", p.Name, "--"+flag+"="+value)
			switch refused := strings.Contains(got.err, "has no --"+flag); {
			case refused == has:
				t.Errorf("%s --%s: %+v", p.Name, flag, got)
			case got.code == exitOK && !strings.Contains(got.out, `"`+f.Key+`": `):
				t.Errorf("%s --%s: no such key in\n%s", p.Name, flag, got.out)
			case got.code != exitOK && (got.out != "" || strings.Contains(got.err, "unknown flag")):
				t.Errorf("%s --%s: %+v", p.Name, flag, got)
			}
		}
	}
}

// TestConfigHelp checks that the texts of the help fit a terminal.
func TestConfigHelp(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	walk(newConfigCommand(a), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.Name(), n, line)
			}
		}
	})
}

// TestConfigJSONKeys: findings have exactly the promised keys.
func TestConfigJSONKeys(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.json")
	text := `{"dump": {"dump_path": "/d", "dump_path": "/e", "dump_scene": "lite_exception", "dump_step": "x", "dump_mode": "All"}}`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := runArgs(t, "config", "check", "--json", name)
	var form struct {
		Findings []map[string]any `json:"findings"`
	}
	if err := json.Unmarshal([]byte(got.out), &form); err != nil {
		t.Fatal(err)
	}
	optional := 0
	for _, f := range form.Findings {
		for _, key := range []string{"suggestion", "ignored", "related"} {
			if _, ok := f[key]; ok {
				optional++
				delete(f, key)
			}
		}
		keys := map[string]bool{}
		for key := range f {
			keys[key] = true
		}
		want := map[string]bool{"rule": true, "severity": true, "path": true, "line": true, "column": true, "message": true, "code": true}
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("%v: -want +got\n%s", f, diff)
		}
	}
	if optional < 3 {
		t.Errorf("%d optional keys in %s", optional, got.out)
	}
}

func TestDeviceIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]uint64{"0": {0}, "0,1": {0, 1}, "3, 15": {3, 15}, "x": nil, "-1": nil, "": nil, "1,,2": nil, "4294967296": nil} {
		var ids []uint64
		if err := deviceList(&ids).Set(text); (err == nil) != (want != nil) || !slices.Equal(ids, want) {
			t.Errorf("%q: %d, %v", text, ids, err)
		}
	}
	var ids []uint64
	d := deviceList(&ids)
	for _, text := range []string{"0", "1,2"} {
		if err := d.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(ids, []uint64{0, 1, 2}) {
		t.Errorf("%d", ids)
	}
	if err := d.Replace([]string{"5", "6"}); err != nil || !slices.Equal(ids, []uint64{5, 6}) {
		t.Errorf("replaced by %d, %v", ids, err)
	}
}
