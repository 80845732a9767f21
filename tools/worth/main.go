// Command worth measures the value of each rule of the verdict: it switches the rules off one at a time and counts the
// comparisons that end differently.
//
//	go run ./worth [-list] [-most 60] FOLDER...
//
// A comparison is a folder with two runs named cpu and npu, at any depth below the given folders; golden trees and
// `nets -keep` make such folders. A file cmd in it has the command line. Only comparisons in which the rule holds are run
// again, at most -most of them for a rule. docs/verdict.md lists the rules.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worth:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("worth", flag.ContinueOnError)
	source := flags.String("source", "..", "the `FOLDER` of the program's source")
	list := flags.Bool("list", false, "list the comparisons that end otherwise")
	most := flags.Int("most", 60, "`N` comparisons at most for a rule")
	only := flags.String("rules", "", "`NAMES` of rules with commas between them, all if empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	names, err := ruleNames(*source)
	if err != nil {
		return err
	}
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	tmp, err := os.MkdirTemp("", "worth")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	w := &worth{source: *source, program: filepath.Join(tmp, "dumptool"), most: *most, stdout: stdout, list: *list}
	folders, err := comparisons(flags.Args())
	if err != nil {
		return err
	}
	if w.before, err = w.compare("", folders); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d comparisons\n%-24s %6s %6s %8s %8s %8s\n", len(folders), "rule", "holds", "run", "0 to 1", "1 to 0", "origins")
	for _, name := range names {
		if err := w.measure(name); err != nil {
			return err
		}
	}
	return nil
}

// ruleRow matches a row of the tables in docs/verdict.md.
var ruleRow = regexp.MustCompile(`(?m)^\| \d+ \| ([a-z-]+) \|`)

// ruleNames returns the names of all rules, in their order.
func ruleNames(source string) (names []string, err error) {
	page, err := os.ReadFile(filepath.Join(source, "docs", "verdict.md"))
	for _, m := range ruleRow.FindAllSubmatch(page, -1) {
		names = append(names, string(m[1]))
	}
	return names, err
}

// comparisons finds the folders with two runs.
func comparisons(roots []string) (folders []string, err error) {
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			isThere := func(side string) bool {
				_, err := os.Stat(filepath.Join(path, side))
				return err == nil
			}
			if !isThere("cpu") || !isThere("npu") {
				return nil
			}
			folders = append(folders, path)
			return filepath.SkipDir
		})
		if err != nil {
			return nil, err
		}
	}
	return folders, nil
}

// outcome is the result of a comparison.
type outcome struct {
	exit    int
	origins []string // rows, in their order
	rules   map[string]bool
}

func (o *outcome) String() string { return fmt.Sprintf("%d %v", o.exit, o.origins) }

type worth struct {
	source, program string
	most            int
	list            bool
	stdout          io.Writer
	before          map[string]outcome
}

// measure prints the row of a rule.
func (w *worth) measure(name string) error {
	holds := slices.DeleteFunc(slices.Sorted(maps.Keys(w.before)), func(folder string) bool { return !w.before[folder].rules[name] })
	chosen := holds
	if len(chosen) > w.most { // evenly spread over all folders
		chosen = nil
		for k := range w.most {
			chosen = append(chosen, holds[k*len(holds)/w.most])
		}
	}
	var after map[string]outcome
	if len(chosen) > 0 {
		var err error
		if after, err = w.compare(name, chosen); err != nil {
			return err
		}
	}
	var begins, ends, others int
	var changed []string
	for _, folder := range chosen {
		was, is := w.before[folder], after[folder]
		switch {
		case was.exit == 0 && is.exit != 0:
			begins++
		case was.exit != 0 && is.exit == 0:
			ends++
		case was.String() != is.String():
			others++
		default:
			continue
		}
		changed = append(changed, fmt.Sprintf("    %s: %s, was %s", folder, is.String(), was.String()))
	}
	fmt.Fprintf(w.stdout, "%-24s %6d %6d %8d %8d %8d\n", name, len(holds), len(chosen), begins, ends, others)
	if w.list {
		for _, line := range changed {
			fmt.Fprintln(w.stdout, line)
		}
	}
	return nil
}

// compare builds the program without a rule and runs it on comparisons.
func (w *worth) compare(off string, folders []string) (map[string]outcome, error) {
	build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-ldflags", "-X dumptool/internal/compare/verdict.Off="+off, "-o", w.program, "./cmd/dumptool")
	build.Dir, build.Env = w.source, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build without %s: %w: %s", off, err, text)
	}
	all := make([]outcome, len(folders))
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(2)
	for i, folder := range folders {
		g.Go(func() (err error) {
			all[i], err = w.one(ctx, folder)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	found := map[string]outcome{}
	for i, folder := range folders {
		found[folder] = all[i]
	}
	return found, nil
}

// one compares the two runs of a folder.
func (w *worth) one(ctx context.Context, folder string) (o outcome, err error) {
	program, err := filepath.Abs(w.program)
	if err != nil {
		return o, err
	}
	var stdout, stderr bytes.Buffer
	args := []string{"compare", "--cpu", "cpu", "--npu", "npu"}
	if line, err := os.ReadFile(filepath.Join(folder, "cmd")); err == nil {
		if _, after, ok := strings.Cut(string(line), "dumptool "); ok {
			args = strings.Fields(after)
		}
	}
	c := exec.CommandContext(ctx, program, append(args, "--json", "-j", "1", "--pictures", "0")...)
	c.Dir, c.Stdout, c.Stderr = folder, &stdout, &stderr
	if err := c.Run(); err != nil {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			return o, err
		}
	}
	o.exit, o.rules = c.ProcessState.ExitCode(), map[string]bool{}
	var doc struct {
		Summary struct {
			Origins []struct {
				Row string `json:"row"`
			} `json:"origins"`
		} `json:"summary"`
		Rows []struct {
			Evidence struct {
				Rules []string `json:"rules"`
			} `json:"evidence"`
		} `json:"rows"`
	}
	if o.exit > 1 && stdout.Len() == 0 {
		return o, nil // nothing was compared
	}
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		return o, fmt.Errorf("%s: exit %d, %w: %s", folder, o.exit, err, stderr.String())
	}
	for _, origin := range doc.Summary.Origins {
		o.origins = append(o.origins, origin.Row)
	}
	for i := range doc.Rows {
		for _, name := range doc.Rows[i].Evidence.Rules {
			o.rules[name] = true
		}
	}
	return o, nil
}
