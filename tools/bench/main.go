// Command bench compares speed, memory and size of dumptool with their targets. It generates dumps of a
// network like ResNet-50, builds the program, runs it alternating with cp, and prints a table.
//
// It is no test: missed targets do not change its exit status, since the numbers depend on the machine and on other
// programs that run on it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case interrupted:
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Parts of a run, in their order.
const (
	partTrees   = "trees"
	partVersion = "version"
	partConvert = "convert"
	partScan    = "scan"
	partInspect = "inspect"
	partFind    = "find"
	partCompare = "compare"
	partObjects = "s3"
	partNamed   = "containers"
	partPairs   = "pairs"
	partPage    = "page"
	partImport  = "import"
	partBig     = "big"
)

// usualSize is the size of the dump tree in bytes.
const usualSize = 580e6

// scaled scales a count of a job down if the trees are smaller than usual.
func (b *bench) scaled(usual, least int) int {
	return min(usual, max(least, int(int64(usual)*b.size/usualSize)))
}

// run measures and prints the report to out, messages to msg.
func run(ctx context.Context, args []string, out, msg io.Writer) error {
	b := &bench{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(msg)
	mb := flags.Int64("mb", usualSize/1e6, "size of the tree of dumps in `MB`")
	flags.StringVar(&b.dir, "dir", "", "make the trees in `DIR`, keep them there, and use them again")
	flags.IntVar(&b.runs, "runs", 5, "`N` rounds of all jobs")
	flags.StringVar(&b.binary, "bin", "", "measure the program `FILE` instead of building it")
	flags.BoolVar(&b.golden, "golden", false, "make the golden tree too; needs -dir")
	big := flags.Bool("big", false, "measure the memory for a dump of 4 GiB too; and compare 10 GiB of zeros; takes 8 GiB of disk")
	only := flags.String("only", "", "do one `PART` only: trees, version, convert, scan, inspect, find, compare, s3, containers, pairs, page, import or big; trees needs -dir")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b.size = *mb * 1e6
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %s", flags.Arg(0))
	case b.size <= 0 || b.runs <= 0:
		return errors.New("-mb and -runs must be at least 1")
	case b.dir == "" && (b.golden || *only == partTrees):
		return errors.New("the trees are kept in -dir only")
	}
	switch *only {
	case partTrees:
		return b.makeTrees(ctx)
	case "", partVersion, partConvert, partScan, partInspect, partFind, partCompare, partObjects, partNamed, partPairs, partPage, partImport, partBig:
	default:
		return fmt.Errorf("-only %s: want trees, version, convert, scan, inspect, find, compare, s3, containers, pairs, page, import or big", *only)
	}
	todo := map[string]bool{partVersion: true, partConvert: true, partScan: true, partInspect: true, partFind: true,
		partCompare: true, partObjects: true, partNamed: true, partPairs: true, partPage: true, partImport: true, partBig: *big}
	if *only != "" {
		todo = map[string]bool{*only: true}
	}
	b.golden = b.golden || todo[partCompare] || todo[partObjects]
	return b.run(ctx, todo, out, msg)
}

// makeTrees generates the missing trees.
func (b *bench) makeTrees(ctx context.Context) error {
	n := fit(b.size)
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if err := makeDumps(ctx, b.dir, n); err != nil || !b.golden {
		return err
	}
	return makeGolden(ctx, b.dir, n)
}

// run does the parts of todo, and removes its files outside of b.dir.
func (b *bench) run(ctx context.Context, todo map[string]bool, out, msg io.Writer) (err error) {
	parent := b.dir
	if parent != "" {
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	if b.scratch, err = os.MkdirTemp(parent, "dumptool-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.scratch)) }()
	if b.dir == "" {
		b.dir = b.scratch
	}
	if b.binary == "" {
		fmt.Fprintln(msg, "building dumptool")
		if err := b.build(ctx); err != nil {
			return err
		}
	}
	if todo[partConvert] || todo[partScan] || todo[partInspect] || b.golden {
		if err := b.spawnTrees(ctx, msg); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d CPUs, %s %s/%s%s\n\n", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, load())
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{{partVersion, b.version}, {partConvert, b.convert}, {partScan, b.scan}, {partInspect, b.inspect}, {partFind, b.find},
		{partCompare, b.compare}, {partObjects, b.objects}, {partNamed, b.containers}, {partPairs, b.pairs}, {partPage, b.page}, {partImport, b.pieces}, {partBig, b.big}} {
		if !todo[part.name] {
			continue
		}
		fmt.Fprintln(msg, "measuring", part.name)
		if err := part.do(ctx); err != nil {
			return err
		}
	}
	return printResults(out, b.results)
}

// spawnTrees generates the trees in another process: see measure.
func (b *bench) spawnTrees(ctx context.Context, msg io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	n := fit(b.size)
	fmt.Fprintf(msg, "dumps: %d operators, %d MB, in %s\n", len(n.ops()), n.dumpSize()/1e6, dumpTree(b.dir, n))
	cmd := command(ctx, self, "-only", partTrees, "-dir", b.dir, "-mb", strconv.FormatInt(b.size/1e6, 10),
		"-golden="+strconv.FormatBool(b.golden))
	cmd.Stderr = msg
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("making the trees: %w", err)
	}
	return flush(ctx)
}

// load returns the load of the machine, if known.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return ", load " + strings.Fields(string(data))[0]
}
