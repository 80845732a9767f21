package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/inspect"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
	"dumptool/internal/ui"
)

type inspectOptions struct {
	stats   bool
	json    bool
	version int
	workers int
}

func newInspectCommand(a *app) *cobra.Command {
	opts := new(inspectOptions)
	cmd := &cobra.Command{
		Use:   "inspect PATH...",
		Short: "show what is in dump files and .npy arrays",
		Long: `inspect shows what the files at PATH hold - files, or folders with all their
folders: container, operator, dump time, and of every tensor element type,
format, shape, original shape and size in bytes. Of overflow records it shows
unit, stream, task and status. Files that are neither dumps nor .npy arrays are
counted and left out.

With --stats every tensor is read once. Minimum, maximum and mean are those of
the finite elements, in the device's layout: its padding counts too.

With --json every file is an object on a line of its own. Keys stand in a fixed
order; null means that the file does not tell. A file or tensor that cannot be
read has the key "error".`,
		Example: `  dumptool inspect Conv2D.conv1.58.16.1624605159829577
  dumptool inspect --stats dumps
  dumptool inspect --json dumps | jq -r 'select(.op_type == "Conv2D") | .file'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runInspect(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	opts.addFlags(cmd.Flags())
	return cmd
}

func (o *inspectOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.stats, "stats", false, "show minimum, maximum, mean and the number of NaN and Inf of every tensor")
	flags.BoolVar(&o.json, "json", false, "print one JSON object a file")
	flags.IntVarP(&o.version, "version", "v", 0, "dump container `1|2`: protobuf or binary; default: as the file tells")
	flags.IntVarP(&o.workers, "jobs", "j", 0, "files read at a time; default: one per CPU")
}

func runInspect(ctx context.Context, a *app, opts *inspectOptions, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("no file or folder given")
	case opts.version < 0 || opts.version > 2:
		return usagef("-v %d: want 1 or 2", opts.version)
	case opts.workers < 0:
		return usagef("-j %d: want at least 1, or 0 for one per CPU", opts.workers)
	}
	in := tensorfile.Find(args, tensorfile.FindOptions{})
	for _, w := range in.Warnings {
		a.msg.Warnf("%s", w)
	}
	// On the terminal that shows the results a bar would be in their way.
	progress := a.msg.Progress("reading")
	defer progress.Close()
	var observe func(batch.Event)
	if opts.stats && !a.streams.OutTTY {
		observe = progress.Observe
	}
	p := &inspectPrinter{app: a, stats: opts.stats, json: opts.json}
	sum, err := inspect.Run(ctx, inspect.Options{Stats: opts.stats, Version: opts.version, Workers: opts.workers}, in.Entries, observe,
		func(f *inspect.File) error {
			if f.NotDump {
				a.msg.Log().Debug("neither a dump nor an array", "file", f.Entry.Path)
				return nil
			}
			if err := p.print(f); err != nil {
				return fmt.Errorf("cannot write the results: %w", err)
			}
			p.messages(f)
			return nil
		})
	progress.Close()
	if err != nil {
		return err
	}
	return a.concludeInspect(sum)
}

// concludeInspect prints what was left out and returns the error of the run.
func (a *app) concludeInspect(sum inspect.Summary) error {
	total := sum.Files + sum.Failed
	if total > 0 && sum.NotDumps > 0 {
		a.msg.Infof("left out %s, neither dump nor array", counted(sum.NotDumps, "file"))
	}
	switch {
	case sum.Failed > 0 && total == 1:
		return reported(incompletef("the file could not be read completely"))
	case sum.Failed > 0:
		return incompletef("%d of %d files could not be read completely", sum.Failed, total)
	case total == 0 && sum.NotDumps == 0:
		return nothingf("no file found")
	case total == 0:
		return nothingf("no dump found among %s", counted(sum.NotDumps, "file"))
	}
	return nil
}

// inspectPrinter prints what was found in files, one after the other.
type inspectPrinter struct {
	*app
	stats bool
	json  bool
	shown int
}

// print prints a file. In text, one that could not be read is left to the
// messages.
func (p *inspectPrinter) print(f *inspect.File) error {
	var err error
	switch {
	case p.json:
		err = f.WriteJSON(p.out)
	case f.Err == nil:
		err = p.text(f)
	}
	if err != nil {
		return err
	}
	return p.out.Flush()
}

// messages reports the warnings and errors of a file.
func (p *inspectPrinter) messages(f *inspect.File) {
	for _, w := range f.Warnings {
		p.msg.Warnf("%s: %s", f.Entry.Path, w)
	}
	if f.Err != nil {
		p.msg.Errorf("%s", withPath(f.Entry.Path, f.Err))
	}
	for _, list := range [][]inspect.Tensor{f.Inputs, f.Outputs} {
		for i := range list {
			if t := &list[i]; t.Err != nil {
				p.msg.Errorf("%s: %s %d: %v", f.Entry.Path, t.Kind, t.Index, t.Err)
			}
		}
	}
}

// text prints a file for people: its path, then what it holds, indented.
func (p *inspectPrinter) text(f *inspect.File) error {
	if p.shown++; p.shown > 1 {
		fmt.Fprintln(p.out)
	}
	fmt.Fprintln(p.out, ui.Escape(f.Entry.Path))
	for _, line := range aboutFile(f) {
		fmt.Fprintln(p.out, inspectIndent+ui.Escape(line))
	}
	for _, table := range p.tables(f) {
		if err := p.table(table); err != nil {
			return err
		}
	}
	return nil
}

const inspectIndent = "  "

// tables returns what holds the tensors of a file: one table, or a second one
// with the statistics where one alone is too wide for the terminal.
func (p *inspectPrinter) tables(f *inspect.File) []*ui.Table {
	rows := inspectRows(f)
	if len(rows) == 0 {
		return nil
	}
	if !p.stats {
		return []*ui.Table{inspectTable(rows, tensorColumns)}
	}
	whole := inspectTable(rows, slices.Concat(tensorColumns, statsColumns))
	if p.streams.OutWidth == 0 || tableWidth(whole) <= p.streams.OutWidth {
		return []*ui.Table{whole}
	}
	tables := []*ui.Table{inspectTable(rows, tensorColumns)}
	rows = slices.DeleteFunc(rows, func(r inspectRow) bool { return r.tensor == nil || r.tensor.Stats == nil })
	if len(rows) > 0 {
		tables = append(tables, inspectTable(rows, slices.Concat(tensorColumns[:1], statsColumns)))
	}
	return tables
}

// tableWidth returns how many columns of a terminal an indented table takes.
// What inspect puts into tables is ASCII.
func tableWidth(table *ui.Table) int {
	var b strings.Builder
	_ = table.Print(&b, 0) // a Builder takes everything
	width := 0
	for line := range strings.Lines(b.String()) {
		width = max(width, len(inspectIndent)+len(line)-len("\n"))
	}
	return width
}

// table prints an indented table.
func (p *inspectPrinter) table(table *ui.Table) error {
	var b strings.Builder
	if err := table.Print(&b, max(0, p.streams.OutWidth-len(inspectIndent))); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		fmt.Fprint(p.out, inspectIndent, line)
	}
	return nil
}

// aboutFile returns the lines about a file as a whole.
func aboutFile(f *inspect.File) []string {
	var lines []string
	if f.Entry.Name != filepath.Base(f.Entry.Path) {
		lines = append(lines, "originally "+f.Entry.Name)
	}
	switch {
	case f.OpType != "" && f.OpName != "":
		lines = append(lines, f.OpType+" "+f.OpName)
	case f.OpType != "" || f.OpName != "":
		lines = append(lines, f.OpType+f.OpName)
	}
	container := f.Container
	if f.DumpTime != 0 {
		container += ", dumped " + dumpTime(f.DumpTime)
	}
	lines = append(lines, container)
	if f.HasName {
		lines = append(lines, aboutName(f))
	}
	if f.Sliced {
		lines = append(lines, fmt.Sprintf("slices of thread %d (FFTS+)", f.Name.ThreadID))
	}
	for i := range f.Outputs {
		if r := f.Outputs[i].Record; r != nil {
			lines = append(lines, aboutRecord(r)...)
		}
	}
	return lines
}

// aboutName tells what the ids in the name of a file are.
func aboutName(f *inspect.File) string {
	n := f.Name
	text := fmt.Sprintf("task %d", n.TaskID)
	if n.HasStream {
		text += fmt.Sprintf(", stream %d", n.StreamID)
	}
	if n.HasCore {
		text += fmt.Sprintf(", core type %d, core %d", n.CoreType, n.CoreID)
	}
	if n.HasThread {
		text += fmt.Sprintf(", task type %d, context %d, thread %d", n.TaskType, n.ContextID, n.ThreadID)
	}
	if n.HasDevice {
		text += fmt.Sprintf(", device %d", n.DeviceID)
	}
	if n.Timestamp != f.DumpTime {
		text += fmt.Sprintf(", timestamp %d", n.Timestamp)
	}
	return text
}

// dumpTime prints a time in microseconds, and in UTC where that makes sense.
func dumpTime(micros uint64) string {
	const lastYear = 9999
	if micros <= math.MaxInt64 {
		if t := time.UnixMicro(int64(micros)).UTC(); t.Year() <= lastYear {
			return fmt.Sprintf("%s (%d)", t.Format("2006-01-02 15:04:05.000000 UTC"), micros)
		}
	}
	return strconv.FormatUint(micros, 10)
}

// aboutRecord sums up an overflow record, in a line for every unit.
func aboutRecord(r *opdebug.Record) []string {
	const title = "overflow record: "
	switch {
	case !r.Valid():
		return []string{title + "not valid"}
	case r.Empty():
		return []string{title + "empty"}
	case !r.Overflowed():
		return []string{title + "no overflow"}
	}
	var lines []string
	for _, area := range r.Overflows() {
		line := fmt.Sprintf("%s%s stream %d task %d status", title, area.Unit, area.StreamID, area.TaskID)
		for _, status := range area.Status {
			line += fmt.Sprintf(" %#x", status)
		}
		lines = append(lines, line)
	}
	return lines
}

// inspectRow is a tensor, or a buffer or space without one.
type inspectRow struct {
	name   string
	size   int64
	tensor *inspect.Tensor
}

// inspectRows lists what a file holds, in the order of the file.
func inspectRows(f *inspect.File) []inspectRow {
	var rows []inspectRow
	for _, list := range [][]inspect.Tensor{f.Inputs, f.Outputs} {
		for i := range list {
			t := &list[i]
			rows = append(rows, inspectRow{fmt.Sprintf("%s %d", t.Kind, t.Index), t.Size, t})
		}
	}
	for i, b := range f.Buffers {
		rows = append(rows, inspectRow{fmt.Sprintf("%s %d", blobName("L1 buffer", "buffer", b.Type), i), b.Size, nil})
	}
	for i, b := range f.Spaces {
		rows = append(rows, inspectRow{fmt.Sprintf("%s %d", blobName("log space", "space", b.Type), i), b.Size, nil})
	}
	return rows
}

// inspectColumn is a column of a table of inspectRows.
type inspectColumn struct {
	title string
	align ui.Align
	// optional columns are left out when all their cells are empty.
	optional bool
	cell     func(inspectRow) string
}

var (
	tensorColumns = []inspectColumn{
		{"TENSOR", ui.Left, false, func(r inspectRow) string { return r.name }},
		{"DTYPE", ui.Left, false, ofTensor(func(t *inspect.Tensor) string { return t.DType.String() })},
		{"FORMAT", ui.Left, false, ofTensor(func(t *inspect.Tensor) string { return t.Format.String() })},
		{"SHAPE", ui.Left, false, ofTensor(func(t *inspect.Tensor) string { return shapeText(t.Shape) })},
		{"SLICE", ui.Left, true, ofTensor(sliceText)},
		{"ORIGINAL", ui.Left, true, ofTensor(originalText)},
		{"GROUPS", ui.Right, true, ofTensor(func(t *inspect.Tensor) string { return numberText(t.Groups) })},
		{"C0", ui.Right, true, ofTensor(func(t *inspect.Tensor) string { return numberText(t.C0) })},
		{"BYTES", ui.Right, false, func(r inspectRow) string { return strconv.FormatInt(r.size, 10) }},
	}
	statsColumns = []inspectColumn{
		{"MIN", ui.Right, true, ofStats(func(s *tensor.Summary) string { return valueText(s.Min) })},
		{"MAX", ui.Right, true, ofStats(func(s *tensor.Summary) string { return valueText(s.Max) })},
		{"MEAN", ui.Right, true, ofStats(func(s *tensor.Summary) string { return valueText(s.Mean) })},
		{"NAN", ui.Right, true, ofStats(func(s *tensor.Summary) string { return strconv.FormatInt(s.NaN, 10) })},
		{"+INF", ui.Right, true, ofStats(func(s *tensor.Summary) string { return strconv.FormatInt(s.PosInf, 10) })},
		{"-INF", ui.Right, true, ofStats(func(s *tensor.Summary) string { return strconv.FormatInt(s.NegInf, 10) })},
	}
)

// ofTensor makes a cell that is empty in rows without a tensor.
func ofTensor(text func(*inspect.Tensor) string) func(inspectRow) string {
	return func(r inspectRow) string {
		if r.tensor == nil {
			return ""
		}
		return text(r.tensor)
	}
}

// ofStats makes a cell that is empty in rows without statistics.
func ofStats(text func(*tensor.Summary) string) func(inspectRow) string {
	return ofTensor(func(t *inspect.Tensor) string {
		if t.Stats == nil {
			return ""
		}
		return text(t.Stats)
	})
}

// inspectTable fills a table.
func inspectTable(rows []inspectRow, columns []inspectColumn) *ui.Table {
	columns = slices.Clone(columns)
	columns = slices.DeleteFunc(columns, func(c inspectColumn) bool {
		return c.optional && !slices.ContainsFunc(rows, func(r inspectRow) bool { return c.cell(r) != "" })
	})
	titles := make([]ui.Column, len(columns))
	for i, c := range columns {
		titles[i] = ui.Column{Title: c.title, Align: c.align}
	}
	table := ui.NewTable(titles...)
	for _, r := range rows {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = c.cell(r)
		}
		table.Row(cells...)
	}
	return table
}

// blobName names a buffer or a space, whose type 0 has a name of its own.
func blobName(zero, other string, blobType int32) string {
	if blobType == 0 {
		return zero
	}
	return fmt.Sprintf("type %d %s", blobType, other)
}

// shapeText prints a shape as -s of convert takes it; - is no shape, and () one
// without dimensions.
func shapeText(s tensor.Shape) string {
	switch {
	case s == nil:
		return "-"
	case len(s) == 0:
		return "()"
	}
	return s.Join(",")
}

// sliceText prints the shape of a thread's part, if there is one.
func sliceText(t *inspect.Tensor) string {
	if t.Slice == nil {
		return ""
	}
	return shapeText(t.Slice)
}

// originalText prints the original shape and format as far as they are known.
func originalText(t *inspect.Tensor) string {
	var parts []string
	if len(t.OriginalShape) > 0 {
		parts = append(parts, shapeText(t.OriginalShape))
	}
	if t.OriginalFormat != nil {
		parts = append(parts, t.OriginalFormat.String())
	}
	return strings.Join(parts, " ")
}

// numberText prints a number that a tensor may not have.
func numberText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// valueText prints an element: whole numbers in full, others to six digits.
func valueText(v *float64) string {
	const exact = 1 << 53 // from here on not every whole number is a float64
	switch {
	case v == nil:
		return "-"
	case *v == math.Trunc(*v) && math.Abs(*v) < exact:
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}
