package convert

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/layout"
	"dumptool/internal/safefile"
	"dumptool/internal/tensorfile"
)

// converter is what the files of one run share.
type converter struct {
	opt     Options
	alone   bool      // a single file was asked for
	workers sync.Pool // of *worker
	// claimed holds the output files of this run and the inputs they are made
	// from, so that no output replaces another.
	claimed sync.Map
	// folders holds the output folders that are there.
	folders sync.Map
}

// worker is the memory that converting a file takes, kept for the next one.
type worker struct {
	*converter
	layout layout.Buffers
	in     []byte
	out    []byte
	text   []byte
	whole  []byte // a small output file
}

// file converts one file.
func (w *worker) file(ctx context.Context, job Job) Result {
	r := Result{Job: job, Err: job.Err}
	if r.Err != nil {
		return r
	}
	if job.Product {
		r.NotDump = true
		return r
	}
	f, err := tensorfile.Open(job.Path, dumpfmt.Options{Version: w.opt.Version})
	if err != nil {
		_, claims := dumpfmt.ParseName(job.Name)
		r.NotDump = errors.Is(err, dumpfmt.ErrNotDump) && !claims && !job.Alone
		if !r.NotDump {
			r.Err = err
		}
		return r
	}
	defer f.Close()
	r.Warnings = f.Warnings
	c := &conversion{worker: w, ctx: ctx, job: job, f: f, base: job.Base}
	switch {
	case f.Dump == nil:
		c.array(&r)
	case f.IsRecord(job.Name):
		c.overflow(&r)
	default:
		c.dump(&r)
	}
	return r
}

// conversion is one file being converted.
type conversion struct {
	*worker
	ctx  context.Context
	job  Job
	f    *tensorfile.File
	base string // of output names
}

// array converts a .npy file, which has one tensor in host order.
func (c *conversion) array(r *Result) {
	if c.opt.Target != nil || c.opt.Type == Npy || c.opt.Type == MSNpy {
		if !c.alone {
			r.NotDump = true
			return
		}
		if c.opt.Target != nil {
			r.Err = errors.New("an .npy array has no device layout to convert: -f is for dumps")
			return
		}
	}
	c.base = strings.TrimSuffix(c.base, ".npy")
	t := &c.f.Tensors[0]
	row := Row{Kind: string(t.Kind), Index: t.Index}
	c.plain(&row, t, func(p product) string {
		if c.opt.Type == Bin {
			parts := []string{c.base, p.shape.Join("_"), p.dtype, "bin"}
			if len(p.shape) == 0 {
				parts = slices.Delete(parts, 1, 2)
			}
			return strings.Join(parts, ".")
		}
		if c.opt.Type == Txt {
			return c.base + ".txt"
		}
		return c.base + ".npy"
	})
	r.Rows = append(r.Rows, row)
}

// overflow decodes the records of an OpDebug file; -f and -t do not apply.
func (c *conversion) overflow(r *Result) {
	if len(c.f.Dump.Outputs) == 0 {
		r.Err = errors.New("the overflow record has no output")
		return
	}
	for i := range c.f.Tensors {
		t := &c.f.Tensors[i]
		if t.Kind == tensorfile.Output {
			row := Row{Kind: string(t.Kind), Index: t.Index}
			row.Err = c.record(&row, t)
			r.Rows = append(r.Rows, row)
		}
	}
}

func (c *conversion) record(row *Row, t *tensorfile.Tensor) error {
	record, err := t.Record()
	if err != nil {
		return err
	}
	row.Warnings = append(row.Warnings, record.Warnings...)
	ready, err := c.claim(row, fmt.Sprintf("%s.%s.%d.json", c.base, t.Kind, t.Index))
	if err != nil || !ready {
		return err
	}
	return safefile.WriteFile(row.Path, record.AppendJSON(nil))
}

// dump converts the tensors of a dump file, and without a target format its
// buffers and log spaces.
func (c *conversion) dump(r *Result) {
	if err := c.slice(); err != nil {
		if c.opt.Target == nil {
			r.Err = err
			return
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("%v: taken as not cut by threads", err))
	}
	for i := range c.f.Tensors {
		t := &c.f.Tensors[i]
		if !c.selected(t) {
			continue
		}
		if c.ctx.Err() != nil {
			return
		}
		row := Row{Kind: string(t.Kind), Index: t.Index}
		name := func(p product) string { return outputName(c.opt.Type, c.base, c.f.Dump.OpName, p) }
		if c.opt.Target == nil {
			c.plain(&row, t, name)
		} else {
			c.reformat(&row, t, name)
		}
		r.Rows = append(r.Rows, row)
	}
	if err := c.missing(); err != nil {
		r.Err = err
		return
	}
	if c.opt.Target == nil {
		r.Rows = append(r.Rows, c.blobs(c.f.Dump.Buffers, bufferKind)...)
		r.Rows = append(r.Rows, c.blobs(c.f.Dump.Spaces, func(int32) string { return "space" })...)
	}
	if len(c.f.Tensors)+len(c.f.Dump.Buffers)+len(c.f.Dump.Spaces) == 0 {
		r.Warnings = append(r.Warnings, "the dump holds no tensors")
	}
}

// slice gives the tensors of an operator that was cut by threads (FFTS+) the
// shapes of this thread's part. A layout conversion needs it only where the
// bytes are that part rather than the whole.
func (c *conversion) slice() error {
	name, ok := dumpfmt.ParseName(c.job.Name)
	if !ok {
		return nil
	}
	inputs, outputs, ok, err := dumpfmt.ThreadSlices(c.f.Dump, name)
	if err != nil || !ok {
		return err
	}
	for i := range c.f.Tensors {
		t := &c.f.Tensors[i]
		part := inputs
		if t.Kind == tensorfile.Output {
			part = outputs
		}
		if t.Index >= len(part) {
			continue
		}
		if c.opt.Target != nil {
			n, _ := t.Shape.Count()
			if whole, ok := t.DType.Bytes(n); ok && whole <= t.Size {
				continue
			}
		}
		t.Shape = part[t.Index]
	}
	return nil
}

// selected reports whether the user asked for the tensor.
func (c *conversion) selected(t *tensorfile.Tensor) bool {
	if c.opt.Input == nil && c.opt.Output == nil {
		return true
	}
	if t.Kind == tensorfile.Input {
		return c.opt.Input != nil && *c.opt.Input == t.Index
	}
	return c.opt.Output != nil && *c.opt.Output == t.Index
}

// missing is the error for a selected tensor that the dump does not have.
func (c *conversion) missing() error {
	if i := c.opt.Input; i != nil && *i >= len(c.f.Dump.Inputs) {
		return fmt.Errorf("there is no input %d: the dump has %d inputs", *i, len(c.f.Dump.Inputs))
	}
	if o := c.opt.Output; o != nil && *o >= len(c.f.Dump.Outputs) {
		return fmt.Errorf("there is no output %d: the dump has %d outputs", *o, len(c.f.Dump.Outputs))
	}
	return nil
}

// claim gives a row its output path and makes the folder. ready is false when
// the file is there already and is to be kept.
func (c *conversion) claim(row *Row, name string) (ready bool, err error) {
	if len(name) >= maxNameBytes {
		row.Original = name
		name = shortName(name)
	}
	dir := filepath.Join(c.opt.Out, c.job.Dir)
	row.Path = filepath.Join(dir, name)
	if first, taken := c.claimed.LoadOrStore(row.Path, c.job.Path); taken {
		return false, fmt.Errorf("%s has just been written from %s", row.Path, first)
	}
	if c.opt.SkipExisting && exists(row.Path) {
		row.Skipped = true
		return false, nil
	}
	// Outputs are renamed into place, so only the very name of the input can
	// replace it.
	if name == filepath.Base(c.job.Path) {
		if err := safefile.CheckOutput(row.Path, c.job.Path); err != nil {
			return false, err
		}
	}
	return true, c.makeDir(dir)
}

// makeDir makes an output folder, once a run.
func (c *conversion) makeDir(dir string) error {
	if _, made := c.folders.Load(dir); made {
		return nil
	}
	if err := safefile.MkdirAll(dir); err != nil {
		return err
	}
	c.folders.Store(dir, true)
	return nil
}

// bufferKind names the kind of an on-chip buffer as msaccucmp does.
func bufferKind(t int32) string {
	if t == 0 {
		return "l1buffer"
	}
	return fmt.Sprintf("type%dbuffer", t)
}

// blobs writes buffers or log spaces as they are.
func (c *conversion) blobs(blobs []dumpfmt.Blob, kind func(int32) string) []Row {
	if c.opt.Input != nil || c.opt.Output != nil {
		return nil
	}
	var rows []Row
	for i, b := range blobs {
		row := Row{Kind: kind(b.Type), Index: i}
		var ready bool
		if ready, row.Err = c.claim(&row, fmt.Sprintf("%s.%s.%d.bin", c.base, row.Kind, i)); ready && row.Err == nil {
			row.Err = c.copyOut(row.Path, nil, b.Data, b.Size)
		}
		rows = append(rows, row)
	}
	return rows
}
