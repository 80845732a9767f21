package main

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/format/npy"
	"dumptool/internal/tensor"
	"dumptool/tools/bench/synth"
)

// bench is a run of this program.
type bench struct {
	dir     string // folder of the trees
	scratch string // removed at the end
	outputs int    // number of folders that jobs have written
	binary  string
	runs    int
	size    int64 // bytes of the dump tree
	golden  bool
	results []result
}

func (b *bench) report(r ...result) { b.results = append(b.results, r...) }

// build builds the program the way it is shipped.
func (b *bench) build(ctx context.Context) error {
	root, err := command(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "dumptool").Output()
	if err != nil {
		return fmt.Errorf("looking for the module of dumptool: %w", err)
	}
	if b.binary, err = filepath.Abs(filepath.Join(b.scratch, "dumptool")); err != nil {
		return err
	}
	cmd := command(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.binary, "./cmd/dumptool")
	cmd.Dir = strings.TrimSpace(string(root)) // use the module's own dependencies
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// version measures the shortest command and the size of the binary.
func (b *bench) version(ctx context.Context) error {
	var samples []sample
	for range 21 {
		s, err := measure(ctx, b.binary, "version")
		if err != nil {
			return err
		}
		samples = append(samples, s)
	}
	times := seconds(samples[1:]) // the first run reads the file into memory
	m := time.Duration(median(times) * float64(time.Second))
	b.report(result{
		job: "version", measured: fmt.Sprintf("%.1f ms", m.Seconds()*1000), target: fmt.Sprintf("<= %d ms", versionTarget.Milliseconds()),
		verdict: verdict(m <= versionTarget), note: fmt.Sprintf("median of %d", len(times)),
	})
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	linking := linkage(b.binary)
	b.report(result{
		job: "binary", measured: mib(info.Size()), target: "<= " + mib(binaryTarget),
		verdict: verdict(info.Size() <= binaryTarget && linking != dynamic), note: linking,
	})
	return nil
}

const (
	static  = "static"
	dynamic = "NOT static"
)

// linkage reports whether a program needs a dynamic linker; empty for formats other than ELF.
func linkage(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return dynamic
		}
	}
	return static
}

// job is a process that converts a file or a folder into a folder.
type job struct {
	name   string
	target float64  // as a multiple of the time of cp -r, or of cat
	args   []string // the program first; the output folder is appended
}

// conversions are the ways in which path is converted.
func (b *bench) conversions(path string) []job {
	return []job{
		{"convert", plainTarget, []string{b.binary, "convert", "-d", path, "-out"}},
		{"convert -f NCHW", formatTarget, []string{b.binary, "convert", "-d", path, "-f", "NCHW", "-out"}},
	}
}

// convert compares conversions of the dump tree with a plain copy, alternating, since the speed of a machine changes
// with time.
func (b *bench) convert(ctx context.Context) error {
	tree := dumpTree(b.dir, fit(b.size))
	if err := warm(tree); err != nil {
		return err
	}
	jobs := append(b.conversions(tree), job{name: "cp -r", args: []string{"cp", "-r", tree}})
	samples := make([][]sample, len(jobs))
	for round := range b.runs {
		for turn := range jobs {
			i := (round + turn) % len(jobs)
			s, err := b.once(ctx, jobs[i])
			if err != nil {
				return err
			}
			samples[i] = append(samples[i], s)
		}
	}
	cp := samples[len(samples)-1]
	for i, j := range jobs[:len(jobs)-1] {
		b.report(speedResult(j.name, samples[i], "cp -r", cp, j.target), memoryResult(j.name, samples[i], memoryTarget))
	}
	return nil
}

// scan compares a scan of the dump tree with reading the tree.
func (b *bench) scan(ctx context.Context) error {
	tree := dumpTree(b.dir, fit(b.size))
	return b.besideCat(ctx, job{"overflow scan", scanTarget, []string{b.binary, "overflow", "scan", tree}}, tree)
}

// inspect compares statistics of the dump tree with reading the tree.
func (b *bench) inspect(ctx context.Context) error {
	tree := dumpTree(b.dir, fit(b.size))
	return b.besideCat(ctx, job{"inspect --stats", inspectTarget, []string{b.binary, "inspect", "--stats", tree}}, tree)
}

// compare compares a comparison of the dump tree with the golden tree to reading both.
func (b *bench) compare(ctx context.Context) error {
	n := fit(b.size)
	dumps, golden := dumpTree(b.dir, n), goldenTree(b.dir, n)
	return b.besideCat(ctx, job{"compare", compareTarget, []string{b.binary, "compare", "--cpu", golden, "--npu", dumps}}, golden, dumps)
}

// pairs measures the memory per small pair: the difference between comparisons of many pairs and of few pairs,
// divided by the difference of their numbers.
func (b *bench) pairs(ctx context.Context) error {
	few, many := 100, b.scaled(20000, 300)
	var peaks []int64
	for _, n := range []int{few, many} {
		golden, npu := filepath.Join(b.scratch, fmt.Sprint("golden", n)), filepath.Join(b.scratch, fmt.Sprint("npu", n))
		if err := makePairs(golden, npu, n); err != nil {
			return err
		}
		s, err := measure(ctx, b.binary, "compare", "--cpu", golden, "--npu", npu, "--exit-zero")
		if err != nil {
			return err
		}
		peaks = append(peaks, s.peak)
	}
	each := (peaks[1] - peaks[0]) / int64(many-few)
	b.report(result{
		job: fmt.Sprintf("compare of %d pairs, memory of one", many), measured: fmt.Sprintf("%.1f KiB", float64(each)/1024),
		target: fmt.Sprintf("<= %d KiB", pairTarget>>10), verdict: verdict(each <= pairTarget), note: "peak " + mib(peaks[1]),
	})
	return nil
}

// besideCat compares a job that reads trees with cat of all their files, alternating.
func (b *bench) besideCat(ctx context.Context, j job, trees ...string) error {
	for _, tree := range trees {
		if err := warm(tree); err != nil {
			return err
		}
	}
	settle()
	cat := slices.Concat(trees, []string{"-type", "f", "-exec", "cat", "{}", "+"})
	var jobs, cats []sample
	for range b.runs {
		s, err := measure(ctx, j.args[0], j.args[1:]...)
		if err != nil {
			return err
		}
		c, err := measure(ctx, "find", cat...)
		if err != nil {
			return err
		}
		jobs, cats = append(jobs, s), append(cats, c)
	}
	b.report(speedResult(j.name, jobs, "cat", cats, j.target), memoryResult(j.name, jobs, memoryTarget))
	return nil
}

// once runs a job and afterwards, outside of the measured time, truncates the files that it wrote.
//
// The empty files stay until everything is measured: ext4 does not reuse the inodes of removed files for some
// minutes, and checks all of them for each new file. That would add a third to the time of later jobs, and users do
// not remove the files that they have just converted.
func (b *bench) once(ctx context.Context, j job) (sample, error) {
	out := filepath.Join(b.scratch, fmt.Sprint("out", b.outputs))
	b.outputs++
	if err := flush(ctx); err != nil {
		return sample{}, err
	}
	s, err := measure(ctx, j.args[0], slices.Concat(j.args[1:], []string{out})...)
	if err != nil {
		return s, err
	}
	return s, filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Truncate(path, 0)
	})
}

// flush waits until earlier writes are on the disk, so that they do not slow down the next measurement.
func flush(ctx context.Context) error {
	_, err := measure(ctx, "sync")
	return err
}

// warm reads a tree into the page cache.
func warm(tree string) error {
	return filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(io.Discard, f)
		return err
	})
}

// big measures the memory of conversions of a file of 4 GiB.
func (b *bench) big(ctx context.Context) error {
	name := filename.Dump{
		OpType: "Conv2D", OpName: "Default_network_up4_Conv2D-op9", TaskID: 9, StreamID: 16, HasStream: true, Timestamp: startTime,
	}
	path := filepath.Join(b.scratch, name.String())
	feature := synth.Tensor{Format: tensor.NC1HWC0, Shape: []int{64, 128, 512, 512}}
	if err := writeBig(ctx, path, feature); err != nil {
		return err
	}
	if err := flush(ctx); err != nil {
		return err
	}
	for _, j := range b.conversions(path) {
		s, err := b.once(ctx, j)
		if err != nil {
			return err
		}
		r := memoryResult(j.name+" of 4 GiB", []sample{s}, memoryTarget)
		r.note = fmt.Sprintf("one run; %.1f s", s.wall.Seconds())
		b.report(r)
	}
	return b.bigCompare(ctx)
}

// bigCompare measures the memory of comparing a pair of 10 GiB. The files are sparse.
func (b *bench) bigCompare(ctx context.Context) error {
	shape := tensor.Shape{10, 256, 1024, 1024}
	var paths []string
	for _, name := range []string{"golden.npy", "npu.npy"} {
		path := filepath.Join(b.scratch, name)
		head, err := npy.AppendHeader(nil, tensor.HostFloat32, shape)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, head, 0o666); err != nil {
			return err
		}
		n, _ := shape.Count()
		if err := os.Truncate(path, int64(len(head))+4*n); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	s, err := measure(ctx, b.binary, "compare", "--cpu", paths[0], "--npu", paths[1])
	if err != nil {
		return err
	}
	r := memoryResult("compare of 10 GiB", []sample{s}, memoryTarget)
	r.note = fmt.Sprintf("one run; %.1f s", s.wall.Seconds())
	b.report(r)
	return nil
}

// writeBig writes a dump with one tensor whose elements repeat.
func writeBig(ctx context.Context, path string, t synth.Tensor) error {
	var block []byte
	for _, e := range tables()[normal].rounded {
		block = binary.LittleEndian.AppendUint16(block, e)
	}
	data := &repeat{ctx: ctx, block: block}
	return synth.WriteFile(path, &dumptest.Content{
		Container: dumpfmt.BinaryV2, DumpTime: startTime, OpName: "Default/network/up4/Conv2D-op9",
		Inputs: []dumptest.TensorContent{t.Content(dumptest.Payload{Size: int64(t.DeviceSize()), Data: data})},
	})
}

// repeat reads a block again and again until ctx ends.
type repeat struct {
	ctx   context.Context
	block []byte
	at    int
}

// Read implements io.Reader.
func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, r.ctx.Err()
}

// graphNodes is the number of nodes of the graph that find is measured with.
const graphNodes = 100_000

// graphRanks is the number of ranks in the second tree; their graphs differ slightly.
const graphRanks = 8

// find measures a query in a graph that MindSpore saved, and in the graphs of several ranks, with one worker.
func (b *bench) find(ctx context.Context) error {
	one, all := filepath.Join(b.scratch, "graph"), filepath.Join(b.scratch, "graphs")
	nodes := b.scaled(graphNodes, 10_000)
	line := fmt.Sprintf("backbone_%d.py:88", nodes/5000*7/20) // a file has 5,000 nodes
	for rank := range graphRanks {
		if err := makeGraph(all, rank, nodes); err != nil {
			return err
		}
	}
	if err := makeGraph(one, 0, nodes); err != nil {
		return err
	}
	var samples, ranks []sample
	for range b.runs + 1 {
		s, err := measure(ctx, b.binary, "find", "-j", "1", "-d", one, line)
		if err != nil {
			return err
		}
		r, err := measure(ctx, b.binary, "find", "-j", "1", "-d", all, line)
		if err != nil {
			return err
		}
		samples, ranks = append(samples, s), append(ranks, r)
	}
	samples, ranks = samples[1:], ranks[1:] // the first run reads the files into memory
	m := median(seconds(samples))
	b.report(result{
		job: "find a line", measured: fmt.Sprintf("%.2f s", m), target: fmt.Sprintf("< %v", findTarget),
		verdict: verdict(m < findTarget.Seconds()), note: fmt.Sprintf("%d nodes, median of %d", nodes, len(samples)),
	}, memoryResult("find a line", samples, findMemory),
		speedResult(fmt.Sprintf("find on %d ranks", graphRanks), ranks, "one", samples, ranksTarget))
	return nil
}

// Targets of find.
const (
	findTarget  = time.Second
	findMemory  = 96 << 20
	ranksTarget = 2.0 // as a multiple of one rank
)

// makeGraph writes the graph of a rank.
func makeGraph(dir string, rank, nodes int) (err error) {
	dir = filepath.Join(dir, fmt.Sprintf("rank_%d", rank), "graphs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "ms_output_trace_code_graph_0.ir"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return dumptest.WriteGraph(f, nodes, rank)
}

// Targets of a page of 5,000 tensors.
const (
	pageTarget   = 1.0       // seconds in addition to the comparison
	reportTarget = 1.5       // seconds of the command report
	pageSize     = 5_000_000 // bytes
)

// page measures the page of a comparison in addition to compare.json, and the page that report makes from
// compare.json.
func (b *bench) page(ctx context.Context) error {
	tensors := b.scaled(5000, 100)
	golden, npu, out := filepath.Join(b.scratch, "page-golden"), filepath.Join(b.scratch, "page-npu"), filepath.Join(b.scratch, "page")
	if err := makePairs(golden, npu, tensors); err != nil {
		return err
	}
	var beyond, again []float64
	for range b.runs + 1 {
		var both [2]sample
		for i, format := range []string{"json", "json,html"} {
			var err error
			if both[i], err = measure(ctx, b.binary, "compare", "--cpu", golden, "--npu", npu, "--exit-zero", "-q", "--format", format, "-out", out); err != nil {
				return err
			}
		}
		s, err := measure(ctx, b.binary, "report", filepath.Join(out, "compare.json"), "-out", filepath.Join(out, "again.html"), "-q")
		if err != nil {
			return err
		}
		beyond, again = append(beyond, (both[1].wall-both[0].wall).Seconds()), append(again, s.wall.Seconds())
	}
	info, err := os.Stat(filepath.Join(out, "report.html"))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("page of %d tensors", tensors)
	m, r := median(beyond[1:]), median(again[1:]) // the first run reads the files into memory
	b.report(
		result{job: name, measured: fmt.Sprintf("%.2f s", m), target: fmt.Sprintf("< %g s", pageTarget), verdict: verdict(m < pageTarget), note: "beyond compare.json"},
		result{job: name + ", size", measured: fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), target: fmt.Sprintf("<= %.1f MB", pageSize/1e6), verdict: verdict(info.Size() <= pageSize)},
		result{job: fmt.Sprintf("report of %d tensors", tensors), measured: fmt.Sprintf("%.2f s", r), target: fmt.Sprintf("< %g s", reportTarget), verdict: verdict(r < reportTarget)},
	)
	return nil
}
