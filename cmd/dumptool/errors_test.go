package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumptest"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	disk := errors.New("disk is full")
	const convertHelp = "hint: see 'dumptool convert --help'\n"
	tests := map[string]struct {
		err  error
		code int
		text string
	}{
		"success":       {nil, 0, ""},
		"found":         {&codedError{exitFinding, lang.Errorf("%d tensors differ", 3)}, 1, "dumptool: 3 tensors differ\n"},
		"usage":         {usagef("-o and -i exclude each other"), 2, "dumptool: -o and -i exclude each other\n" + convertHelp},
		"usage, hint":   {hintf(usagef("no input"), "give -d"), 2, "dumptool: no input\nhint: give -d\n"},
		"incomplete":    {incompletef("1 of %d files failed: %w", 2, disk), 3, "dumptool: 1 of 2 files failed: disk is full\n"},
		"nothing":       {&codedError{exitNothing, errors.New("no dump below x")}, 4, "dumptool: no dump below x\n"},
		"coverage":      {outcomeError(batch.Outcomef(batch.NotCovered, "half of the tensors")), 5, "dumptool: half of the tensors\n"},
		"plain":         {disk, 3, "dumptool: disk is full\n"},
		"hint":          {hintf(disk, "delete %s", "it"), 3, "dumptool: disk is full\nhint: delete it\n"},
		"interrupted":   {fmt.Errorf("compare: %w", context.Canceled), 130, "dumptool: interrupted\n"},
		"reported":      {asReported(&codedError{exitFinding, errors.New("3 tensors differ")}), 1, ""},
		"wrapped":       {fmt.Errorf("convert: %w", &codedError{exitNothing, errors.New("no dump")}), 4, "dumptool: convert: no dump\n"},
		"first class":   {incompletef("some: %w", &codedError{exitNothing, errors.New("none")}), 3, "dumptool: some: none\n"},
		"cancel before": {asReported(incompletef("some: %w", context.Canceled)), 130, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, get := testApp(t)
			a.commands = sampleCommands(new(sampleOptions), func(context.Context, []string) error { return tt.err })
			got := get(a.run(t.Context(), []string{"convert"}))
			if want := (result{tt.code, "", tt.text}); got != want {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	section := exitStatus(exitCoverage, exitFinding, exitFinding)
	want := "\n\nEXIT STATUS\n" +
		"  0    done, no problem found\n" +
		"  1    done, a problem was found\n" +
		"  2    wrong usage or configuration\n" +
		"  3    some inputs or outputs failed, the rest was processed\n" +
		"  5    coverage or baseline not met\n"
	if section != want {
		t.Errorf("section\n%s\nwant\n%s", section, want)
	}
}

// TestUsageErrors: a mistake on the command line gives one line and one hint.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	const rootHelp, convertHelp = "see 'dumptool --help'", "see 'dumptool convert --help'"
	tests := map[string]struct{ args, text, hint string }{
		"group alone":       {"overflow", "no command given, one of analyze is needed", "see 'dumptool overflow --help'"},
		"unknown command":   {"convrt -out x", `"convrt" is neither a command nor an existing path`, "did you mean 'dumptool convert'?"},
		"far off":           {"frobnicate", `"frobnicate" is neither a command nor an existing path`, rootHelp},
		"unknown in group":  {"overflow analyse", `unknown command "analyse" for "dumptool overflow"`, "did you mean 'dumptool overflow analyze'?"},
		"unknown topic":     {"help convrt", `"convrt" is neither a command nor an existing path`, "did you mean 'dumptool convert'?"},
		"unknown flag":      {"convert -nosuch", "unknown flag: -nosuch", convertHelp},
		"unknown long flag": {"convert --nosuch=1", "unknown flag: --nosuch", convertHelp},
		"forgotten command": {"-d x -out y", "unknown flag: -d", rootHelp},
		"missing value":     {"convert -out", "flag needs an argument: --out", convertHelp},
		"bad value":         {"convert -j x", `invalid argument "x" for "-j, --jobs" flag: strconv.ParseInt: parsing "x": invalid syntax`, convertHelp},
		"excluded":          {"convert --stats --half", "if any flags in the group [stats half] are set none of the others can be; [half stats] were all set", convertHelp},
		"behind dashes":     {"-- convert", `unexpected argument "convert"`, rootHelp},
		"log format":        {"convert --log-format xml", `invalid argument "xml" for "--log-format" flag: must be text or json`, convertHelp},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, get := testApp(t)
			a.commands = sampleCommands(new(sampleOptions), func(context.Context, []string) error {
				t.Error("the command ran")
				return nil
			})
			got := get(a.run(t.Context(), strings.Fields(tt.args)))
			want := result{exitUsage, "", "dumptool: " + tt.text + "\nhint: " + tt.hint + "\n"}
			if got != want {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestRequiredFlagIsUsage(t *testing.T) {
	t.Parallel()
	a, get := testApp(t)
	a.commands = func(*app) []*cobra.Command {
		cmd := &cobra.Command{Use: "convert", Args: noArgs, RunE: func(*cobra.Command, []string) error { return nil }}
		cmd.Flags().String("out", "", "")
		if err := cmd.MarkFlagRequired("out"); err != nil {
			t.Fatal(err)
		}
		return []*cobra.Command{cmd}
	}
	got := get(a.run(t.Context(), []string{"convert"}))
	if got.code != exitUsage {
		t.Errorf("got %+v, want exit status 2", got)
	}
	wantContains(t, got.err, `required flag(s) "out" not set`)
}

// full is a stream that accepts nothing.
type full struct{ io.Writer }

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestResultsNotWritten(t *testing.T) {
	t.Parallel()
	a, get := testApp(t)
	a.out.Reset(full{})
	got := get(a.run(t.Context(), []string{"version"}))
	want := result{exitIncomplete, "", "dumptool: cannot write the results: no space left on device\n"}
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// brokenPipe takes one write.
type brokenPipe struct{ writes int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.writes++; p.writes > 1 {
		return 0, errors.New("broken pipe")
	}
	return len(b), nil
}

// recordFolder is a folder with some overflow records.
func recordFolder(t *testing.T, n int) string {
	t.Helper()
	files := map[string][]byte{}
	for i := range n {
		files[fmt.Sprint("Opdebug.Node_OpDebug.57.563.173208270501677", i)] = decodeDump(t, "Node_OpDebug", decodeOld(2048, 0, 0, 32))
	}
	return decodeTree(t, files)
}

// TestBrokenPipe: a run ends when nobody reads its results.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	inspect := []string{"inspect"}
	for range 4 {
		inspect = append(inspect, inspectFile(t, "x", &dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{inspectTensor(tensor.Float16, 2, []uint64{2}, nil)}}))
	}
	for _, args := range [][]string{inspect, {"overflow", "decode", "-q", recordFolder(t, 5)}, {"overflow", "status"}} {
		a, get := testApp(t)
		a.streams.In = strings.NewReader(strings.Repeat("2\n", 10))
		pipe := new(brokenPipe)
		a.out.Reset(pipe)
		got := get(a.run(t.Context(), args))
		if want := (result{exitIncomplete, "", "dumptool: cannot write the results: broken pipe\n"}); got != want || pipe.writes != 2 {
			t.Errorf("%v: got %+v after %d writes\nwant %+v", args, got, pipe.writes, want)
		}
	}
}

// TestInterrupted: a run interrupted at once does nothing.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := inspectFile(t, "x", &dumptest.Content{OpName: "x", Outputs: []dumptest.TensorContent{inspectTensor(tensor.Float16, 2, []uint64{2}, nil)}})
	for _, args := range [][]string{{"inspect", "--stats", file}, {"overflow", "decode", recordFolder(t, 1)}} {
		a, get := testApp(t)
		if got, want := get(a.run(ctx, args)), (result{exitInterrupted, "", "dumptool: interrupted\n"}); got != want {
			t.Errorf("%v: got %+v\nwant %+v", args, got, want)
		}
	}
}
