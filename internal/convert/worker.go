package convert

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"dumptool/internal/dumpdir"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// runState is the shared state of one run.
type runState struct {
	opt      Options
	isSingle bool      // a single file was given
	memory   sync.Pool // of *memory
	// outputOwners maps output files of this run to their inputs, so that no output replaces another.
	outputOwners sync.Map
	// slots has an element for each goroutine that works on a file or a part, parts for each
	// goroutine that works on a part, which needs more memory.
	slots, parts chan struct{}
	// folders holds the existing output folders.
	folders sync.Map
	// members are the selected tensors of files with named tensors; other files are converted
	// whole.
	members map[*dumpdir.File]map[string]bool
}

// conversion is the state of converting one file.
type conversion struct {
	run      *runState
	mem      *memory
	ctx      context.Context
	job      Job
	progress *fileProgress
	f        *tensorfile.File
	base     string // beginning of output names
	// folder is the subfolder for outputs, below the folder of the file in the run.
	folder  string
	pending map[string]*pendingTensor // tensors of a .safetensors file, by their names in it
}

// namer returns the name of the output file of a product.
type namer func(product) string

func (r *runState) convert(ctx context.Context, job Job, p *fileProgress) Result {
	res := newResult(job, nil)
	f, why, err := r.open(job.File)
	if f != nil {
		defer f.Close()
		res.Warnings = f.AllWarnings()
	}
	if why == nil && err == nil {
		err = r.checkTwins(&job, f)
	}
	if why != nil || err != nil {
		res.NotDump, res.why, res.Err = why != nil, why, lang.AsFailure(err)
		return res
	}
	mem := r.memory.Get().(*memory)
	defer r.memory.Put(mem)
	c := &conversion{run: r, mem: mem, ctx: ctx, job: job, progress: p, f: f, base: job.Base}
	switch {
	case !f.IsUnnamed():
		c.convertNamed(&res)
	case f.Op == nil:
		c.convertArray(&res)
	case f.IsRecord(job.Name):
		c.convertRecords(&res)
	default:
		c.convertDump(&res)
	}
	c.writeMerged(&res)
	return res
}

// open opens a file to convert. why is the reason to skip the file, by its name or content.
func (r *runState) open(file *dumpdir.File) (f *tensorfile.File, why, err error) {
	if file.Err != nil {
		return nil, nil, file.Err
	}
	if why := r.skipReason(file); why != nil {
		return nil, why, nil
	}
	name := filename.Parse(file.Name)
	all := r.opt.Input == nil && r.opt.Output == nil && name.IsDump()
	f, err = tensorfile.Open(file.Path(), tensorfile.Options{Name: file.Name, Version: r.opt.Version, Whole: all && file.Only.IsZero(), Only: file.Only})
	if err != nil {
		if errors.Is(err, dumpfmt.ErrNotDump) && !name.IsDump() && !r.isSingle {
			return nil, err, nil
		}
		return nil, nil, err
	}
	switch {
	case f.Named:
		why, err = r.namedSkipReason()
	case f.Op == nil:
		why, err = r.arraySkipReason(f)
	}
	return f, why, err
}

// checkTwins returns an error for a file whose outputs would have the names of an earlier converted
// file. The result does not depend on the order of execution.
func (r *runState) checkTwins(job *Job, of *tensorfile.File) error {
	for _, twin := range job.twins {
		f, why, err := r.open(twin)
		same := filename.Safe(twin.Name) == job.Base
		if f != nil {
			same = same || f.IsUnnamed() && of.IsUnnamed()
			err = errors.Join(err, f.Close())
		}
		if why == nil && err == nil && same {
			return lang.Errorf("its outputs would have the same names as the outputs of %s", twin.Path())
		}
	}
	return nil
}

// errArray is the reason to skip an array.
var errArray = lang.Errorf("an array needs no conversion; -f converts one with a layout in its name")

// arraySkipReason returns the reason to skip a file of one tensor without an operator, or the error of
// converting it. -f converts only arrays with a device layout in their names.
func (r *runState) arraySkipReason(f *tensorfile.File) (why, err error) {
	t := &f.Tensors[0]
	if f.IsArray {
		switch {
		case r.opt.Target != nil && t.Format != tensor.ND: // a layout in the name
		case !r.isSingle && (r.opt.Target != nil || r.opt.Type == Npy || r.opt.Type == MSNpy):
			return errArray, nil
		case r.opt.Target != nil:
			return nil, lang.Errorf("an .npy array without a layout in its name cannot be converted: -f is for dumps")
		}
	}
	if errors.Is(t.Err, tensorfile.ErrNoData) && !r.isSingle {
		return t.Err, nil
	}
	return nil, nil
}

// convertArray converts a file of one tensor without an operator: a host array, or raw elements.
func (c *conversion) convertArray(r *Result) {
	t := &c.f.Tensors[0]
	if c.isSelected(t) {
		r.Rows = append(r.Rows, c.convertTensor(t, c.arrayNamer()))
	}
	r.Err = lang.AsFailure(c.checkSelected())
}

// arrayNamer returns the namer for a file of one tensor.
func (c *conversion) arrayNamer() namer {
	name, to := filename.Parse(c.job.Name), c.run.opt.Type
	base := cutExt(c.base)
	bySource := func(source string) namer {
		return func(p product) string { return outputName(to, filename.Safe(source), "", p) }
	}
	switch {
	case !c.f.IsArray && !c.f.Named && to != Bin && to != MSNpy:
		return func(p product) string { return rawName(to, base, p) }
	case name.Grammar == filename.Sync:
		return bySource(name.FileOp())
	case c.run.opt.Target != nil && name.Source == "":
		base = filename.Safe(name.OpName)
		if to != Bin && to != MSNpy {
			return func(p product) string { return rawName(to, base, p) }
		}
	case c.run.opt.Target != nil:
		return bySource(name.Source)
	}
	return func(p product) string { return arrayName(to, base, p) }
}

// convertRecords decodes the records of an OpDebug file; -f and -t do not apply.
func (c *conversion) convertRecords(r *Result) {
	for i := range c.f.Tensors {
		t := &c.f.Tensors[i]
		if t.Kind == tensor.Output {
			row := Row{Kind: string(t.Kind), Index: t.Index}
			row.setResult(c.writeRecord(&row, t))
			r.Rows = append(r.Rows, row)
		}
	}
	if len(r.Rows) == 0 {
		r.Err = lang.AsFailure(lang.Errorf("the overflow record has no output"))
	}
}

func (c *conversion) writeRecord(row *Row, t *tensorfile.Tensor) error {
	record, err := t.Record()
	if err != nil {
		return err
	}
	row.Warnings = append(row.Warnings, record.Warnings...)
	ready, err := c.claimOutput(row, fmt.Sprintf("%s.%s.%d.json", c.base, t.Kind, t.Index))
	if err != nil || !ready {
		return err
	}
	return safefile.WriteFile(row.Path, record.AppendJSON(nil))
}

// convertDump converts the tensors of a dump file and, without a target format, its buffers and log
// spaces.
func (c *conversion) convertDump(r *Result) {
	if err := c.applySlices(); err != nil {
		if c.run.opt.Target == nil {
			r.Err = lang.AsFailure(err)
			return
		}
		r.Warnings = append(r.Warnings, lang.Say("%v: treated as not divided between threads", err))
	}
	for i := range c.f.Tensors {
		t := &c.f.Tensors[i]
		if !c.isSelected(t) {
			continue
		}
		if c.ctx.Err() != nil {
			return
		}
		name := func(p product) string { return outputName(c.run.opt.Type, c.base, c.f.Op.Name, p) }
		r.Rows = append(r.Rows, c.convertTensor(t, name))
	}
	if err := c.checkSelected(); err != nil {
		r.Err = lang.AsFailure(err)
		return
	}
	if c.run.opt.Target == nil {
		r.Rows = append(r.Rows, c.writeBlobs(c.f.Op.Buffers, bufferKind)...)
		r.Rows = append(r.Rows, c.writeBlobs(c.f.Op.Spaces, func(int32) string { return "space" })...)
	}
	if len(c.f.Tensors)+len(c.f.Op.Buffers)+len(c.f.Op.Spaces) == 0 {
		r.Warnings = append(r.Warnings, lang.Say("the dump holds no tensors"))
	}
}

// convertTensor converts a tensor with the options of the run.
func (c *conversion) convertTensor(t *tensorfile.Tensor, name namer) Row {
	row := Row{Kind: string(t.Kind), Index: t.Index, Name: t.Name}
	row.setResult(guard.Do(func() error {
		if c.run.opt.Target == nil {
			return c.writeUnchanged(&row, t, name)
		}
		return c.convertLayout(&row, t, name)
	}))
	return row
}

// applySlices replaces the shapes of the tensors of an operator that was sliced by thread (FFTS+) by the
// shapes of this thread's slice. For a layout conversion the stored shape stays if the bytes hold
// the whole tensor.
func (c *conversion) applySlices() error {
	name := filename.Parse(c.job.Name)
	if !name.IsDump() {
		return nil
	}
	shapes, err := c.f.ThreadShapes(name.Dump)
	if err != nil {
		return err
	}
	for i := range c.f.Tensors {
		t := &c.f.Tensors[i]
		part := shapes[t.Kind]
		if t.Index >= len(part) {
			continue
		}
		if c.run.opt.Target != nil && t.CoversShape(t.Shape) {
			continue
		}
		t.Shape = part[t.Index]
	}
	return nil
}

// isSelected reports whether -i and -o select the tensor.
func (c *conversion) isSelected(t *tensorfile.Tensor) bool {
	if c.run.opt.Input == nil && c.run.opt.Output == nil {
		return true
	}
	if t.Kind == tensor.Input {
		return c.run.opt.Input != nil && *c.run.opt.Input == t.Index
	}
	return c.run.opt.Output != nil && *c.run.opt.Output == t.Index
}

// checkSelected returns an error for a selected tensor that the file does not have.
func (c *conversion) checkSelected() error {
	for kind, i := range map[tensor.Kind]*int{tensor.Input: c.run.opt.Input, tensor.Output: c.run.opt.Output} {
		n, found := 0, false
		for _, t := range c.f.Tensors {
			if t.Kind == kind {
				n++
				found = found || i != nil && t.Index == *i
			}
		}
		if i != nil && !found {
			return lang.Errorf("there is no %s %d: the dump has %d %ss", kind, *i, n, kind)
		}
	}
	return nil
}

// claimOutput sets the output path of a row and makes the folder. ready is false if an existing file is
// kept.
func (c *conversion) claimOutput(row *Row, name string) (ready bool, err error) {
	if len(name) >= filename.MaxBytes {
		row.Original = name
		name = filename.Short(name)
	}
	dir := store.Join(c.run.opt.Out, filepath.FromSlash(c.job.Folder.Dir), c.folder)
	row.Path = store.Join(dir, name)
	if first, taken := c.run.outputOwners.LoadOrStore(row.Path, c.job.Path()); taken {
		return false, lang.Errorf("%s was already written from %s", row.Path, first)
	}
	if c.run.opt.SkipExisting && exists(row.Path) {
		row.Skipped = true
		return false, nil
	}
	// Outputs are renamed into place, so an output can replace the input only under the same name.
	if name == store.Base(c.job.Path()) {
		if err := safefile.CheckOutput(row.Path, c.job.Path()); err != nil {
			return false, err
		}
	}
	return true, c.makeDir(dir)
}

// makeDir makes an output folder, once per run.
func (c *conversion) makeDir(dir string) error {
	if _, made := c.run.folders.Load(dir); made {
		return nil
	}
	if err := safefile.MkdirAll(dir); err != nil {
		return err
	}
	c.run.folders.Store(dir, true)
	return nil
}

// bufferKind names the kind of an on-chip buffer like msaccucmp.
func bufferKind(t int32) string {
	if t == 0 {
		return "l1buffer"
	}
	return fmt.Sprintf("type%dbuffer", t)
}

// writeBlobs writes buffers or log spaces unchanged.
func (c *conversion) writeBlobs(blobs []dumpfmt.Blob, kind func(int32) string) []Row {
	if c.run.opt.Input != nil || c.run.opt.Output != nil {
		return nil
	}
	var rows []Row
	for i, b := range blobs {
		row := Row{Kind: kind(b.Type), Index: i}
		ready, err := false, b.Err
		if err == nil {
			ready, err = c.claimOutput(&row, fmt.Sprintf("%s.%s.%d.bin", c.base, row.Kind, i))
		}
		if ready && err == nil {
			err = c.write(row.Path, Bin, storedBytes(b.Data, b.Size), nil)
		}
		row.setResult(err)
		rows = append(rows, row)
	}
	return rows
}

// errHostOrder is the reason to skip a file with named tensors: they have no device layout.
var errHostOrder = lang.Errorf("its tensors are in host order: -f is for dumps")

// namedSkipReason returns the reason to skip a file with named tensors, or the error of converting
// it.
func (r *runState) namedSkipReason() (why, err error) {
	switch {
	case r.opt.Target == nil:
		return nil, nil
	case r.isSingle:
		return nil, errHostOrder
	}
	return errHostOrder, nil
}

// convertNamed converts a file with named tensors: each tensor becomes a file with its name, in a
// folder with the name of the input. Every component of a name but the last is a folder.
func (c *conversion) convertNamed(r *Result) {
	if r.Empty = len(c.f.Tensors) == 0; r.Empty {
		return
	}
	top := store.Join(c.run.opt.Out, filepath.FromSlash(c.job.Folder.Dir), folderName(c.base))
	if info, err := store.Stat(top); err == nil && !info.IsDir() && c.run.opt.Type != Safetensors {
		r.Err = lang.AsFailure(lang.Errorf("its tensors would go to the folder %s, which is a file: choose another output folder", top))
		return
	}
	chosen, some := c.run.members[c.job.File]
	for i := range c.f.Tensors {
		t := &c.f.Tensors[i]
		if !c.isSelected(t) || some && !chosen[t.Name] {
			continue
		}
		if c.ctx.Err() != nil {
			return
		}
		r.Rows = append(r.Rows, c.convertMember(t))
	}
	if len(r.Rows) == 0 {
		r.Err = lang.AsFailure(c.checkSelected())
	}
}

// convertMember converts one tensor of a file with named tensors.
func (c *conversion) convertMember(t *tensorfile.Tensor) Row {
	last := len(t.Path) - 1
	c.folder = folderName(c.base)
	for _, name := range t.Path[:last] {
		c.folder = store.Join(c.folder, folderName(filename.Safe(name)))
	}
	base := filename.Safe(t.Path[last])
	return c.convertTensor(t, func(p product) string { return arrayName(c.run.opt.Type, base, p) })
}

// folderName shortens a safe name that is too long for a folder.
func folderName(name string) string {
	if len(name) >= filename.MaxBytes {
		return filename.Short(name)
	}
	return name
}
