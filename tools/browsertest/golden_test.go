package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumptest"
	"dumptool/internal/lang"
)

// goldenRuns are runs of which the page is looked at, below testdata/golden, with what else
// compare is told.
var goldenRuns = []struct {
	dir  string
	args []string
	flow bool // who feeds whom is known
}{
	{"nets/s14_strong", []string{"--consumer-map", "consumer.map"}, true},
	{"nets/s3_clean", nil, false},
	{"verdict/nan_flow_msprobe", nil, true},
	{"statistics/s14", nil, true},
}

// goldenRun is the folder of a run below testdata/golden.
func goldenRun(t *testing.T, name string) string {
	t.Helper()
	golden := filepath.Join("..", "..", "testdata", "golden")
	if net, ok := strings.CutPrefix(name, "nets/"); ok {
		return filepath.Join(dumptest.Untar(t, filepath.Join(golden, "nets.tar.gz")), net)
	}
	dir, err := filepath.Abs(filepath.Join(golden, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestGolden opens pages of runs that others made: nothing is cut or faint, every tensor opens,
// and the neighbourhood is drawn where the data flow is known, of rows that the document
// names as inputs.
func TestGolden(t *testing.T) {
	for _, one := range goldenRuns {
		t.Run(one.dir, func(t *testing.T) {
			out := t.TempDir()
			run(t, goldenRun(t, one.dir), slices.Concat([]string{"compare", "--cpu", "cpu", "--npu", "npu", "-out", out, "--format", "html,json", "-q"}, one.args)...)
			var doc struct {
				Rows []struct {
					Inputs []int `json:"inputs"`
				} `json:"rows"`
			}
			text, err := os.ReadFile(filepath.Join(out, "compare.json"))
			if err == nil {
				err = json.Unmarshal(text, &doc)
			}
			if err != nil {
				t.Fatal(err)
			}
			fed := slices.IndexFunc(doc.Rows, func(r struct {
				Inputs []int `json:"inputs"`
			}) bool {
				return len(r.Inputs) > 0
			})
			if fed >= 0 != one.flow {
				t.Errorf("row %d is the first with inputs, want some: %v", fed, one.flow)
			}
			for _, width := range []int{1280, 390} {
				b := open(t, filepath.Join(out, "report.html"), view{width: width, height: 900, hash: fmt.Sprintf("row=%d", max(fed, 0))})
				if drawn := eval[bool](b, `document.querySelector("#panel svg.flow") !== null`); drawn != one.flow {
					t.Errorf("the neighbourhood is drawn: %v, want %v", drawn, one.flow)
				}
				if fed >= 0 {
					if n := eval[int](b, `document.querySelectorAll("#panel svg.flow .nearbox").length`); n <= 1 {
						t.Errorf("%d operators in the neighbourhood of row %d", n, fed)
					}
				}
				b.none("cut", "cut()")
				b.none("faint", "faint()")
				name := fmt.Sprintf("%s-%d", strings.ReplaceAll(one.dir, "/", "-"), width)
				b.shot("golden-" + name)
				b.do(chromedp.Click("#to-about", chromedp.ByQuery))
				b.none("cut in about", "cut()")
				b.quiet()
				b.shot("about-" + name)
			}
		})
	}
}

// TestCommands runs the commands that the panel has to copy, each in a shell: they are of the
// operator and the round that is shown.
func TestCommands(t *testing.T) {
	out := rounds(t, 2, 2, func(rank, step int) int { return map[bool]int{true: 4, false: -1}[rank == 1 && step == 1] })
	b := open(t, filepath.Join(out, "report.html"), view{})
	commands := eval[[]string](b, `[...document.querySelectorAll("#panel .cmd code")].map(e => e.textContent)`)
	if len(commands) != 3 {
		t.Fatalf("commands %q, want three", commands)
	}
	for i, command := range commands {
		for _, want := range []string{"--rank=1", "--step=1", "--cpu=cpu", "--npu=npu", "net_backbone_layer10_bn1_BNInfer-op5"} {
			if !strings.Contains(command, want) {
				t.Errorf("%s: without %s", command, want)
			}
		}
		shell := exec.Command("sh", "-c", command)
		shell.Dir = filepath.Dir(out)
		shell.Env = append(os.Environ(), "PATH="+filepath.Dir(binaryFile)+string(os.PathListSeparator)+os.Getenv("PATH"))
		text, err := shell.CombinedOutput()
		if code := shell.ProcessState.ExitCode(); code != 0 && code != 1 {
			t.Errorf("%s: %v\n%s", command, err, text)
		}
		if i == 0 && (strings.Count(string(text), "net_backbone_layer10_bn1_BNInfer-op5") == 0 || strings.Contains(string(text), "relu1_Relu-op6")) {
			t.Errorf("%s: %s", command, text)
		}
	}
	b.quiet()
}

// TestShellLine: the page writes words for a shell as texts do.
func TestShellLine(t *testing.T) {
	out := rounds(t, 1, 1, func(int, int) int { return 4 })
	b := open(t, filepath.Join(out, "report.html"), view{})
	// The page keeps its functions for itself.
	var source strings.Builder
	for _, file := range []string{"dom.js", "panel.js"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "internal", "report", "page", "js", file))
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	eval[bool](b, "(function () { "+source.String()+"\nwindow.shellLine = shellLine; window.opsText = opsText; return true; })()")
	for _, name := range dumptest.HardNames() {
		words, err := json.Marshal([]string{"dumptool", name, "x" + name})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := eval[string](b, "shellLine("+string(words)+")"), lang.ShellLine([]string{"dumptool", name, "x" + name}); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
		word, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := eval[string](b, "opsText("+string(word)+")"), dumpdir.OpsText(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	b.quiet()
}

// TestAbout: the tab about the run has the sizes, times and versions that the dumps say, and
// without paths no folder.
func TestAbout(t *testing.T) {
	dir := t.TempDir()
	smallNet(4).write(t, filepath.Join(dir, "secret", "a"))
	for _, side := range []string{"cpu", "npu"} { // both sides are called run
		if err := os.MkdirAll(filepath.Join(dir, "secret", side+"s"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "secret", "a", side), filepath.Join(dir, "secret", side+"s", "run")); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		title string
		args  []string
	}{{"cpus/run · npus/run", nil}, {"run (CPU) · run (NPU)", []string{"--no-paths"}}} {
		run(t, dir, slices.Concat([]string{"compare", "--cpu", "secret/cpus/run", "--npu", "secret/npus/run", "-out", "out", "--format", "html,json", "-q"}, test.args)...)
		b := open(t, filepath.Join(dir, "out", "report.html"), view{hash: "tab=about"})
		if title := eval[string](b, `document.querySelector(".run").textContent`); title != test.title {
			t.Errorf("the title is %q, want %q", title, test.title)
		}
		text := eval[string](b, `document.querySelector("#tab-about dl").textContent`)
		for _, want := range []string{"9 files", "dumped 2021-06-25 07:12:39 UTC", "dumptool compare --cpu="} {
			if !strings.Contains(text, want) {
				t.Errorf("about the run: %q, want %q in it", text, want)
			}
		}
		page, err := os.ReadFile(filepath.Join(dir, "out", "report.html"))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Contains(string(page), "secret"); found != (test.args == nil) {
			t.Errorf("%q: folders in the page: %v", test.args, found)
		}
		b.quiet()
	}
	out := t.TempDir()
	run(t, goldenRun(t, "statistics/s14"), "compare", "--cpu", "cpu", "--npu", "npu", "-out", out, "--format", "html,json", "-q")
	b := open(t, filepath.Join(out, "report.html"), view{hash: "tab=about"})
	if text := eval[string](b, `document.querySelector("#tab-about dl").textContent`); !strings.Contains(text, "by pytorch (dump.json)") {
		t.Errorf("about the run: %q", text)
	}
	b.quiet()
}
