// Command same runs two builds of dumptool over the same inputs, every command
// in every format, and prints what differs: exit status, stdout, stderr and
// every file that was written.
//
// The inputs are the sample and golden data and a number of made trees: random
// networks in random layouts, types and containers, with and without faults,
// damaged files and configurations among them. It is for changes that shall not
// change results, and for builds for another processor, which run under an
// emulator: -new "qemu-aarch64 dist/dumptool-linux-arm64".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// errDiffer says that the builds differ; what differs is printed already.
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

// options are what the flags say.
type options struct {
	old, new  []string // the programs, each perhaps behind an emulator
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
		for i, word := range words { // the programs run in folders of their own
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

// compareAll runs every command on every input that it fits, twice.
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
