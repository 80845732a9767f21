package overflow

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/layout"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// WatchSchema identifies a WatchReport as a JSON document.
const WatchSchema = "dumptool/overflow_watch/1"

// WatchReport is the result of Watch, and its JSON document.
type WatchReport struct {
	Schema string `json:"schema"`
	Inputs `json:"-"`
	// Watched counts the watched operators of all rounds, Changed the watched operators whose memory changed, Dumps
	// the compared dumps.
	Watched int `json:"watched"`
	Changed int `json:"changed"`
	Dumps   int `json:"dumps"`
	// Early counts the dumps from before the watched operator ran: its memory did not hold its result yet.
	Early int `json:"early"`
	// Rows are ordered by rank and step, watched operator and time.
	Rows []Change `json:"rows"`
	// Problems are dumps that could not be compared.
	Problems []Problem `json:"problems"`
}

// Change is a tensor of a watched operator that changed while other operators ran.
type Change struct {
	// Rank and Step are empty if unknown.
	Rank string `json:"rank"`
	Step string `json:"step"`
	// OpType is the type of the watched operator, Op its name.
	OpType string `json:"op_type"`
	Op     string `json:"op"`
	// After is the operator after which the changed memory was dumped. Before is the operator of the previous dump,
	// empty for the dump of the watched operator itself.
	After  string `json:"after"`
	Before string `json:"before"`
	// First marks the first change of the operator in its round.
	First bool `json:"first"`
	// Timestamp is the time of the changed dump, in microseconds.
	Timestamp uint64 `json:"timestamp"`
	// Kind and Index identify the tensor; DType and Shape describe its elements.
	Kind  tensor.Kind  `json:"kind"`
	Index int          `json:"index"`
	DType tensor.DType `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
	// Elements counts the differing elements, of Total elements. Ranges are the first runs of differing elements,
	// each with the first and the last element in storage order; NumRanges counts all runs.
	Elements  int64      `json:"elements"`
	Total     int64      `json:"of"`
	Ranges    [][2]int64 `json:"ranges"`
	NumRanges int64      `json:"runs"`
	// FirstByte is the offset of the first byte that differs, Bytes counts the bytes that differ, of Size bytes.
	FirstByte int64 `json:"first_byte"`
	Bytes     int64 `json:"bytes"`
	Size      int64 `json:"size"`
	// OldValue and NewValue are the first element that differs, before and after.
	OldValue string `json:"was"`
	NewValue string `json:"is"`
	// File is the changed dump, BeforeFile the previous dump.
	File       string `json:"file"`
	BeforeFile string `json:"before_file"`
	// Graph and Model are the coordinates of the round, if known.
	Graph string `json:"graph,omitempty"`
	Model string `json:"model,omitempty"`
	// Folder distinguishes rounds without coordinates.
	Folder string `json:"-"`

	end int64 // end of the last run
}

// Coordinates returns the coordinates of the change.
func (c *Change) Coordinates() dumpdir.Coordinates {
	return dumpdir.Coordinates{Rank: c.Rank, Step: c.Step, Graph: c.Graph, Model: c.Model, Folder: c.Folder}
}

// maxRanges limits the runs of elements that a Change lists.
const maxRanges = 8

// watchMark separates an operator and the watched operator in the names of dumps. {type of
// C}.{A}_To_{C}.{task}.{stream}.{timestamp} is the output of C after A ran.
const watchMark = "_To_"

// Watch compares the dumps of the watcher of CANN: dumps of the memory of an operator after other operators ran, with
// each other and with the operator's own dump. It takes the chosen rounds of a run.
func Watch(ctx context.Context, run *dumpdir.Run, opt Options) (*WatchReport, error) {
	if err := run.ReadHeaders(ctx, dumpdir.HeaderOptions{Workers: opt.Workers}); err != nil {
		return nil, err
	}
	r := &WatchReport{Schema: WatchSchema, Rows: []Change{}, Problems: problemsOf(run.Problems, run, &opt.Select)}
	var jobs []*watchedOp
	for _, round := range run.Select(opt.Select) {
		jobs = append(jobs, watchedOps(round, opt.Ops)...)
	}
	if r.Listed = len(run.Files); len(jobs) == 0 {
		r.Others = describeOtherFiles(run)
	}
	err := batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, jobs, (*watchedOp).size,
		func(ctx context.Context, w *watchedOp) watchResult { return w.compare(ctx) },
		func(i int, found watchResult) { r.add(jobs[i], &found) })
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *WatchReport) add(w *watchedOp, found *watchResult) {
	r.Watched++
	r.Early += w.numEarly
	r.Dumps += len(w.dumps)
	r.Rows = append(r.Rows, found.changes...)
	r.Problems = append(r.Problems, found.problems...)
	if len(found.changes) > 0 {
		r.Changed++
	}
}

// Outcome returns how the comparison ended.
func (r *WatchReport) Outcome(bool) batch.Outcome {
	ops := lang.CountText(r.Watched, "watched operator")
	found := lang.Say("the memory of %d of %s changed", r.Changed, ops)
	var o batch.Outcome
	switch n := countUnread(r.Problems); {
	case r.Watched == 0 && n == 0:
		return r.nothingOutcome("no dump of a watcher, {type}.{operator}_To_{watched operator}..., among %s")
	case n > 0:
		return batch.Outcomef(batch.Incomplete, "%s; %s could not be read", found, lang.CountText(n, "file or tensor"))
	case r.Changed > 0:
		o = batch.Outcomef(batch.Found, "%s", found).AsShown()
	}
	o.Messages = []batch.Message{batch.Infof("%s, %s compared", found, lang.CountText(r.Dumps, "dump"))}
	if r.Early > 0 {
		o.Messages = append(o.Messages, batch.Infof("ignored %s from before the watched operator ran", lang.CountText(r.Early, "dump")))
	}
	return o
}

// watchedOp is an operator whose memory is watched, in a round.
type watchedOp struct {
	at   dumpdir.Coordinates
	name string
	// dumps are in the order of time, the dump of the operator itself first.
	dumps    []watchDump
	numEarly int // number of dumps from before the operator ran
}

// watchDump is a dump of the memory of a watched operator.
type watchDump struct {
	op    *dumpdir.Op
	after string // the operator that ran, empty for the watched operator itself
}

// size returns the bytes to read, roughly.
func (w *watchedOp) size() int64 {
	var n int64
	for _, d := range w.dumps {
		for _, t := range d.op.Tensors {
			n += t.File.Size
		}
	}
	return n
}

// watchedOps lists the watched operators of a round.
func watchedOps(round *dumpdir.Round, ops *dumpdir.NameSet) []*watchedOp {
	known := knownNames(round)
	byName := make(map[string]*watchedOp)
	for _, op := range round.Ops {
		if after, name, ok := splitWatch(op.Name, known); ok {
			if byName[name] == nil {
				byName[name] = &watchedOp{at: round.At, name: name}
			}
			byName[name].dumps = append(byName[name].dumps, watchDump{op, after})
		}
	}
	for _, op := range round.Ops {
		if w := byName[op.Name]; w != nil {
			w.dumps = append(w.dumps, watchDump{op: op})
		}
	}
	var all []*watchedOp
	for _, w := range byName {
		w.sortDumps()
		if ops == nil || slices.ContainsFunc(w.dumps, func(d watchDump) bool { _, ok := ops.Match(w.name, d.op.Name, d.after); return ok }) {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b *watchedOp) int { return lang.CompareNatural(a.name, b.name) })
	return all
}

// knownNames returns the operators of a round whose names are certain: names without a mark, and both sides of a name
// with a single mark. A name with a mark that is itself a side of another name is an ordinary operator, unless both
// of its own sides are known.
func knownNames(round *dumpdir.Round) map[string]bool {
	known, sides := make(map[string]bool), make(map[string]bool)
	for _, op := range round.Ops {
		if !strings.Contains(op.Name, watchMark) {
			known[op.Name] = true
		}
		for after, name := range watchSplits(op.Name) {
			sides[after], sides[name] = true, true
		}
	}
	var sidesOfSingle []string
	for _, op := range round.Ops {
		if strings.Count(op.Name, watchMark) != 1 {
			continue
		}
		after, name, _ := strings.Cut(op.Name, watchMark)
		if sides[op.Name] && !(known[after] && known[name]) {
			known[op.Name] = true
			continue
		}
		sidesOfSingle = append(sidesOfSingle, after, name)
	}
	for _, name := range sidesOfSingle {
		known[name] = true
	}
	return known
}

// watchSplits yields the ways to split the name of a watcher's dump into the operator that ran and the watched
// operator.
func watchSplits(op string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for at := 0; ; at++ { // two marks may overlap in an underscore
			i := strings.Index(op[at:], watchMark)
			if i < 0 {
				return
			}
			at += i
			after, name := op[:at], op[at+len(watchMark):]
			if after != "" && name != "" && !yield(after, name) {
				return
			}
		}
	}
}

// splitWatch splits the name of a watcher's dump. With several marks it prefers the mark between two known names,
// else the last.
func splitWatch(op string, known map[string]bool) (after, name string, ok bool) {
	if known[op] {
		return "", "", false
	}
	for a, c := range watchSplits(op) {
		if after, name, ok = a, c, true; known[a] && known[c] {
			break
		}
	}
	return after, name, ok
}

// sortDumps sorts the dumps by time, the dump of the operator itself first, and drops older dumps.
func (w *watchedOp) sortDumps() {
	slices.SortStableFunc(w.dumps, func(a, b watchDump) int {
		return cmp.Or(cmp.Compare(a.op.Timestamp, b.op.Timestamp), strings.Compare(a.after, b.after))
	})
	ownIndex := slices.IndexFunc(w.dumps, func(d watchDump) bool { return d.after == "" })
	if ownIndex < 0 {
		return
	}
	ran := w.dumps[ownIndex].op.Timestamp
	kept := []watchDump{w.dumps[ownIndex]}
	for i, d := range w.dumps {
		switch {
		case i == ownIndex:
		case d.op.Timestamp < ran && d.op.Timestamp > 0:
			w.numEarly++
		default:
			kept = append(kept, d)
		}
	}
	w.dumps = kept
}

// watchResult is the result of comparing the dumps of a watched operator.
type watchResult struct {
	changes  []Change
	problems []Problem
}

// compare compares every dump with the previous one. A dump of the operator itself has a new result, which is no
// change.
func (w *watchedOp) compare(ctx context.Context) watchResult {
	var r watchResult
	before := -1
	for i := range w.dumps {
		d := &w.dumps[i]
		if before < 0 || d.after == "" {
			before = i
			continue
		}
		var found []Change
		err := guard.Do(func() (err error) {
			found, err = w.compareDumps(ctx, &w.dumps[before], d)
			return err
		})
		if err != nil {
			r.problems = append(r.problems, newProblem(d.op.Tensors[0].File.Path(), err))
			continue
		}
		r.changes = append(r.changes, found...)
		before = i
	}
	if len(r.changes) > 0 {
		r.changes[0].First = true
	}
	return r
}

// compareDumps compares the outputs of two dumps.
func (w *watchedOp) compareDumps(ctx context.Context, before, d *watchDump) ([]Change, error) {
	files := new(tensorfile.Pool)
	defer files.Close()
	old, err := openOutputs(files, before.op)
	if err != nil {
		return nil, lang.Errorf("%s: %w", before.op.Tensors[0].File.Path(), err)
	}
	defer old.close()
	outputs, err := openOutputs(files, d.op)
	if err != nil {
		return nil, err
	}
	defer outputs.close()
	if len(old.tensors) != len(outputs.tensors) {
		return nil, lang.Errorf("it has %s, want %d as %s", lang.Count(len(outputs.tensors), "output"), len(old.tensors), before.op.Tensors[0].File.Path())
	}
	var all []Change
	for i, t := range outputs.tensors {
		c := Change{Rank: w.at.Rank, Step: w.at.Step, Graph: w.at.Graph, Model: w.at.Model, Folder: w.at.Folder,
			Op: w.name, OpType: d.op.Type, After: d.after, Before: before.after, Timestamp: d.op.Timestamp,
			File: d.op.Tensors[0].File.Path(), BeforeFile: before.op.Tensors[0].File.Path(),
			Kind: t.Kind, Index: t.Index, DType: t.DType, Shape: append(tensor.Shape{}, t.Shape...), Size: t.Size}
		if err := c.findDifferences(ctx, old.tensors[i], t); err != nil {
			return nil, err
		}
		if c.Bytes > 0 {
			all = append(all, c)
		}
	}
	return all, nil
}

// outputFiles are the outputs of a dump.
type outputFiles struct {
	files   []*tensorfile.File
	tensors []*tensorfile.Tensor
}

func (o *outputFiles) close() {
	for _, f := range o.files {
		_ = f.Close() // only read
	}
}

func openOutputs(files *tensorfile.Pool, op *dumpdir.Op) (*outputFiles, error) {
	o := new(outputFiles)
	for _, tensors := range groupByFile(op.Tensors) {
		if tensors[0].Table {
			o.close()
			return nil, lang.Errorf("it holds statistics, no tensors")
		}
		f, err := openFile(files, tensors[0].File, tensors[0].Member)
		if err != nil {
			o.close()
			return nil, err
		}
		o.files = append(o.files, f)
		for i := range f.Tensors {
			if t := &f.Tensors[i]; t.Kind == tensor.Output {
				o.tensors = append(o.tensors, t)
			}
		}
	}
	slices.SortStableFunc(o.tensors, func(a, b *tensorfile.Tensor) int { return cmp.Compare(a.Index, b.Index) })
	return o, nil
}

// findDifferences finds the elements that differ between a tensor before and now.
func (c *Change) findDifferences(ctx context.Context, before, after *tensorfile.Tensor) error {
	for _, t := range []*tensorfile.Tensor{before, after} {
		if t.Err != nil {
			return lang.Errorf("%s: %w", t, t.Err)
		}
	}
	if before.Index != after.Index || before.Size != after.Size || before.DType != after.DType {
		return lang.Errorf("%s is %d bytes of %s, want %d bytes of %s as %s in %s", after, after.Size, after.DType, before.Size, before.DType, before, c.BeforeFile)
	}
	e := newElementMap(after)
	c.Total = e.total
	old, is := make([]byte, layout.BlockElements), make([]byte, layout.BlockElements)
	for at := int64(0); at < after.Size; at += int64(len(is)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(after.Size-at, int64(len(is)))
		for _, side := range []struct {
			tensor *tensorfile.Tensor
			b      []byte
		}{{before, old}, {after, is}} {
			if got, err := side.tensor.Data.ReadAt(side.b[:n], at); got < int(n) {
				return lang.Errorf("%s: read %d bytes at %d of its data, want %d: %w", side.tensor, got, at, n, err)
			}
		}
		if !bytes.Equal(old[:n], is[:n]) {
			c.addBlock(e, at, old[:n], is[:n])
		}
	}
	return nil
}

// elementMap maps bytes of a tensor to elements.
type elementMap struct {
	bytes    int64 // bytes per element, or 1 if a byte holds several
	elements int64 // elements in these bytes
	total    int64 // elements of the tensor
	dtype    tensor.DType
}

func newElementMap(t *tensorfile.Tensor) elementMap {
	all, ok := t.DType.Elements(t.Size)
	if !ok { // elements of unknown size: count bytes
		return elementMap{1, 1, t.Size, tensor.Uint8}
	}
	bits := int64(t.DType.Bits())
	return elementMap{max(1, bits/8), max(1, 8/bits), all, t.DType}
}

// addBlock adds the differing elements in a block of whole elements that starts at byte at.
func (c *Change) addBlock(e elementMap, at int64, old, is []byte) {
	for i := int64(0); i < int64(len(is)); i += e.bytes {
		end := min(i+e.bytes, int64(len(is)))
		if bytes.Equal(old[i:end], is[i:end]) {
			continue
		}
		first := (at + i) / e.bytes * e.elements
		last := min(first+e.elements, e.total) - 1
		c.Elements += last - first + 1
		for k := i; k < end; k++ {
			if old[k] == is[k] {
				continue
			}
			if c.Bytes == 0 {
				c.FirstByte = at + k
				c.OldValue, c.NewValue = e.formatElement(old[i:end]), e.formatElement(is[i:end])
			}
			c.Bytes++
		}
		c.addRuns(first, last)
	}
}

// addRuns adds elements behind the known runs.
func (c *Change) addRuns(first, last int64) {
	follows := c.NumRanges > 0 && c.end == first
	if c.end = last + 1; !follows {
		c.NumRanges++
	}
	switch n := len(c.Ranges); {
	case follows && c.NumRanges == int64(n):
		c.Ranges[n-1][1] = last
	case !follows && n < maxRanges:
		c.Ranges = append(c.Ranges, [2]int64{first, last})
	}
}

// formatElement formats an element as a number. Elements that are no numbers, and 64-bit integers, which a float64
// cannot represent, are formatted as hex bytes.
func (e elementMap) formatElement(element []byte) string {
	dec, err := tensor.NewDecoder(e.dtype)
	if err != nil || e.dtype.IsPacked() || len(element) < int(e.bytes) || dec.Host().Complex() || dec.Host() == tensor.HostInt64 || dec.Host() == tensor.HostUint64 {
		return fmt.Sprintf("0x%x", element)
	}
	host, value, bits := make([]byte, dec.Host().Size()), make([]float64, 1), 32
	dec.Decode(host, element)
	tensor.Float64s(value, host, dec.Host())
	if dec.Host() == tensor.HostFloat64 {
		bits = 64
	}
	return strconv.FormatFloat(value[0], 'g', -1, bits)
}
