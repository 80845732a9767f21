// Command same runs two builds of dumptool on the same inputs, with every command in every format, and prints the
// differences of exit status, stdout, stderr and all written files.
//
// The inputs are the sample and golden data and generated trees: random networks in random layouts, types and
// containers, with and without faults, with some damaged files and configurations. It checks changes that must not
// change results, and builds for another processor that run under an emulator: -new "qemu-aarch64
// dist/dumptool-linux-arm64".
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// errDiffer: the builds differ, and the differences are already printed.
var errDiffer = errors.New("the two builds differ")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "same:", err)
		os.Exit(1)
	}
}

// options are the values of the flags.
type options struct {
	old, new  []string // the commands of the builds, possibly with an emulator
	data      []string // folders of inputs
	trees     int
	only      string
	keep      string
	filesOnly bool
}

func run(ctx context.Context, args []string, out, msg io.Writer) error {
	opt, err := parse(args, msg)
	if err != nil {
		return err
	}
	dir := opt.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "dumptool-same-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	}
	inputs, err := makeInputs(filepath.Join(dir, "inputs"), opt)
	if err != nil {
		return err
	}
	found, runs, err := compareAll(ctx, dir, inputs, opt)
	if err != nil {
		return err
	}
	if runs == 0 {
		return errors.New("nothing was run: check -only and -trees")
	}
	return found.print(out, runs)
}

func parse(args []string, msg io.Writer) (*options, error) {
	opt := new(options)
	flags := flag.NewFlagSet("same", flag.ContinueOnError)
	flags.SetOutput(msg)
	oldBuild := flags.String("old", "", "the `COMMAND` of the old build")
	newBuild := flags.String("new", "bin/dumptool", "the `COMMAND` of the new build")
	flags.IntVar(&opt.trees, "trees", 200, "`N` made trees")
	flags.StringVar(&opt.only, "only", "", "run only commands that contain `TEXT`")
	flags.StringVar(&opt.keep, "keep", "", "work in folder `DIR` and keep it")
	flags.BoolVar(&opt.filesOnly, "files", false, "compare the written files and exit statuses, not what is printed")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if *oldBuild == "" {
		return nil, errors.New("-old is missing: the build to compare with")
	}
	opt.data = flags.Args()
	for _, side := range []struct {
		text string
		to   *[]string
	}{{*oldBuild, &opt.old}, {*newBuild, &opt.new}} {
		words := strings.Fields(side.text)
		for i, word := range words { // commands run in other folders: make paths absolute
			if path, err := exec.LookPath(word); err == nil {
				if words[i], err = filepath.Abs(path); err != nil {
					return nil, err
				}
			}
		}
		*side.to = words
	}
	return opt, nil
}

// compareAll runs every command on every matching input, with both builds.
func compareAll(ctx context.Context, dir string, inputs []input, opt *options) (*findings, int, error) {
	found, runs := newFindings(), 0
	var lock sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, in := range inputs {
		group.Go(func() error {
			for _, c := range commands(in) {
				if !strings.Contains(c.name, opt.only) {
					continue
				}
				place := filepath.Join(dir, "runs", in.name)
				before, err := execute(ctx, opt.old, place, in, c)
				if err != nil {
					return err
				}
				after, err := execute(ctx, opt.new, place, in, c)
				if err != nil {
					return err
				}
				lock.Lock()
				runs++
				found.add(in.name, c, difference(before, after, opt.filesOnly))
				lock.Unlock()
			}
			return nil
		})
	}
	return found, runs, group.Wait()
}

// command is a command line. Findings are grouped by its name.
type command struct {
	name string
	args []string
}

func line(text string) command { return command{text, strings.Fields(text)} }

// commands returns the commands that match the folders and files of an input.
func commands(in input) []command {
	var all []command
	if in.has("dumps") {
		all = append(all, forDumps...)
	}
	if in.has("cpu") && in.has("dumps") {
		all = append(all, forPairs...)
		if in.has("consumers.json") {
			all = append(all, line("compare --cpu in/cpu --npu in/dumps --consumer-map in/consumers.json --format json"))
		}
	}
	if in.has("configs") {
		all = append(all, in.forConfigs()...)
	}
	if in.has("tables") {
		all = append(all, line("perf in/tables --lang zh"), line("perf in/tables --baseline in/baseline -out out --format text,csv,json,md,html"))
	}
	return all
}

var forDumps = []command{
	line("convert -d in/dumps -out out"),
	line("convert -d in/dumps -out out -f NCHW --json"),
	line("convert -d in/dumps -out out -f NHWC -t bin"),
	line("convert -d in/dumps -out out -t msnpy"),
	line("convert -d in/dumps -out out -f ND -t txt"),
	line("inspect in/dumps"),
	line("inspect in/dumps --stats"),
	line("inspect in/dumps --stats --json"),
	line("overflow scan in/dumps --all"),
	line("overflow scan in/dumps --format json --all"),
	line("overflow scan in/dumps -out out --format text,json,csv,md"),
	line("overflow analyze -d in/dumps --lang zh"),
	line("overflow analyze -d in/dumps -out out --format text,json,csv,md"),
	line("overflow scan in/dumps -out out --format html,sarif --shard 0/2"),
	line("overflow decode in/dumps"),
	line("overflow watch in/dumps"),
	line("check in/dumps"),
	line("check in/dumps -out out --format text,json,csv,junit,md,html,sarif --only operators"),
	line("find -d in/dumps conv1 --json"),
	line("in/dumps --lang zh"),
	line("config check in/dumps"),
	line("compare determinism in/dumps in/dumps --format json"),
	line("compare in/dumps in/dumps --inputs --profile exact --format csv"),
}

var forPairs = []command{
	line("compare --cpu in/cpu --npu in/dumps"),
	line("compare --cpu in/cpu --npu in/dumps -j 1 -out out --format text,csv,json,junit,md,msaccucmp --extra-columns"),
	line("compare --cpu in/cpu --npu in/dumps -out out --diff-order worst --diff-cnt 20"),
	line("compare --cpu in/cpu --npu in/dumps -out out --format hpaa,html,sarif,msprobe --pictures all"),
	line("compare --cpu in/cpu --npu in/dumps -out out --shard 1/2"),
	line("compare --cpu in/cpu --npu in/dumps --profile dtype --format json"),
	line("compare --cpu in/cpu --npu in/dumps --order name --nan-policy hpaa --max-elems 100 --format json"),
	line("compare --cpu in/cpu --npu in/dumps --auto-layout --force-compare --crop-padding --format csv"),
	line("compare detail --cpu in/cpu --npu in/dumps --op op1 -out out"),
	line("compare determinism in/cpu in/dumps"),
	line("compare judge in/compare.json --rtol 0.01 --format csv"),
	line("report in/compare.json"),
}

// forConfigs returns the commands for configurations, one file each.
func (in input) forConfigs() []command {
	var all []command
	files, _ := filepath.Glob(filepath.Join(in.dir, "configs", "*"))
	slices.Sort(files)
	for _, file := range files {
		path := "in/configs/" + filepath.Base(file)
		for _, c := range []string{
			"config check", "config check --fix --format json", "config check --format sarif", "config check --fix",
			"config explain --lang zh", "config explain", "config explain --json",
		} {
			all = append(all, command{c, append(strings.Fields(c), path)})
		}
	}
	return all
}

// has reports whether the input has a file or folder.
func (in input) has(name string) bool {
	_, err := os.Stat(filepath.Join(in.dir, name))
	return err == nil
}

// outputs are the results of a run by name: exit status, stdout, stderr and every written file.
type outputs map[string][]byte

const (
	statusName = "exit status"
	stdoutName = "stdout"
	stderrName = "stderr"
)

// execute runs a command in a new folder and returns its outputs. In the folder, in links to the input, and out is
// for results, so that both builds see the same paths.
func execute(ctx context.Context, program []string, place string, in input, c command) (outputs, error) {
	if err := os.RemoveAll(place); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(place, 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(in.dir, filepath.Join(place, "in")); err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	args := append(program[1:len(program):len(program)], c.args...)
	cmd := exec.CommandContext(ctx, program[0], args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = place, &stdout, &stderr
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+place, "LC_ALL=C", "NO_COLOR=1")
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	all := outputs{
		statusName: []byte(strconv.Itoa(cmd.ProcessState.ExitCode())),
		stdoutName: stdout.Bytes(), stderrName: stderr.Bytes(),
	}
	err = filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(place, path)
		all[filepath.ToSlash(name)] = data
		return err
	})
	for name := range all {
		all[name] = withoutVersion(all[name])
	}
	return all, err
}

// version matches the version of a build in its reports.
var version = regexp.MustCompile(`dumptool (devel|v?[0-9][\w.+-]*|[0-9a-f]{7,}(-dirty)?)\b`)

func withoutVersion(data []byte) []byte { return version.ReplaceAll(data, []byte("dumptool VERSION")) }

// difference lists the outputs that differ, with the first differing lines.
func difference(before, after outputs, filesOnly bool) []finding {
	var list []finding
	for _, name := range names(before, after) {
		a, inOld := before[name]
		b, inNew := after[name]
		switch {
		case filesOnly && (name == stdoutName || name == stderrName):
		case !inNew:
			list = append(list, finding{output: name, old: "the file", new: "no such file"})
		case !inOld:
			list = append(list, finding{output: name, old: "no such file", new: "the file"})
		case !bytes.Equal(a, b):
			old, now := firstDifference(string(a), string(b))
			list = append(list, finding{output: name, old: old, new: now})
		}
	}
	return list
}

// firstDifference returns the first differing line of both sides, shortened around the first differing byte if it is
// long.
func firstDifference(a, b string) (lineOfA, lineOfB string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		lineOfA, lineOfB = lineAt(x, i), lineAt(y, i)
		if lineOfA != lineOfB {
			break
		}
	}
	const before, longest = 100, 300
	same := 0
	for same < min(len(lineOfA), len(lineOfB)) && lineOfA[same] == lineOfB[same] {
		same++
	}
	start := 0
	if max(len(lineOfA), len(lineOfB)) > longest {
		start = max(0, same-before)
	}
	return lineOfA[start:min(len(lineOfA), start+longest)], lineOfB[start:min(len(lineOfB), start+longest)]
}

func lineAt(lines []string, i int) string {
	if i >= len(lines) {
		return "(end)"
	}
	return lines[i]
}

// finding is an output that differs.
type finding struct {
	output   string
	old, new string // the first differing lines
}

// group has the findings of a command and a kind of output.
type group struct {
	count   int
	example finding
	input   string
}

// findings groups differences by command and kind of output.
type findings struct{ groups map[string]*group }

func newFindings() *findings { return &findings{map[string]*group{}} }

func (f *findings) add(in string, c command, list []finding) {
	for _, one := range list {
		key := c.name + ": " + kind(one.output)
		g := f.groups[key]
		if g == nil {
			g = &group{}
			f.groups[key] = g
		}
		if g.count == 0 || in < g.input {
			g.example, g.input = one, in
		}
		g.count++
	}
}

// kind returns the kind of an output; the kind of a file is its extension.
func kind(output string) string {
	if ext := path.Ext(output); ext != "" {
		return "*" + ext
	}
	return path.Base(output)
}

// print prints the groups, each with an example. It returns errDiffer if there are any.
func (f *findings) print(w io.Writer, runs int) error {
	for _, key := range slices.Sorted(maps.Keys(f.groups)) {
		g := f.groups[key]
		fmt.Fprintf(w, "%s: %d differ, such as %s of %s\n  - %s\n  + %s\n", key, g.count, g.example.output, g.input, g.example.old, g.example.new)
	}
	fmt.Fprintf(w, "%d runs of both builds, %d kinds of differences\n", runs, len(f.groups))
	if len(f.groups) > 0 {
		return errDiffer
	}
	return nil
}

// names returns the names of all outputs of both runs, sorted.
func names(a, b outputs) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
