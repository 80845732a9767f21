package overflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/shard"
)

// The kinds of parts.
const (
	ScanKind    = "scan"
	AnalyzeKind = "analyze"
)

// Part says which part of a run is looked into, and where its results go.
type Part struct {
	shard.Spec
	// Dir is the folder of the part files; Tool is the program that writes them.
	Dir, Tool string
}

// PartWritten is a part file that is complete.
type PartWritten struct {
	Path string
	Rows int
}

// ScanPart does a part of what Scan does and writes a part file for MergeScan. All
// shards list the run and open the dumps for their headers; each reads the tensors of
// its operators, which are divided by size.
func ScanPart(ctx context.Context, run *dumpdir.Run, opt Options, part Part) (PartWritten, error) {
	s, err := planScan(ctx, run, &opt)
	if err != nil {
		return PartWritten{}, err
	}
	keys, sizes := make([]string, len(s.rows)), make([]int64, len(s.rows))
	readable := false
	for i := range s.rows {
		row := &s.rows[i]
		keys[i] = shard.Key(row.OpName, "", i, roundKey(row.At), "")
	}
	for _, j := range s.jobs {
		keys[j.row] += "\x00" + relative(j.tensors[0].File)
		sizes[j.row] += j.cost()
		readable = readable || j.tensors[0].File.Size > 0
	}
	first := &inputsPart{All: s.All, Orders: orderPartsOf(s.Orders)}
	w, err := part.create(ScanKind, run, s.Problems, readable, first, keys, sizes)
	if err != nil {
		return PartWritten{}, err
	}
	defer w.Abort()
	read := make([][]filePart, len(s.rows))
	rowOf := func(i int) any {
		row := scanPartOf(&s.rows[i], read[i])
		read[i] = nil
		return row
	}
	err = readJobs(ctx, opt, slices.DeleteFunc(s.jobs, func(j scanJob) bool { return !w.has(j.row) }), func(j scanJob, tensors []Tensor) {
		w.writeBefore(j.row, rowOf)
		read[j.row] = append(read[j.row], filePart{j.file, tensorPartsOf(tensors), problemPartsOf(tensorProblems(tensors))})
	})
	if err != nil {
		return PartWritten{}, err
	}
	w.writeBefore(len(s.rows), rowOf)
	return w.commit()
}

// AnalyzePart does a part of what Analyze does and writes a part file for
// MergeAnalysis. All shards read the records and match them; each reads the tensors of
// the operators of its records.
func AnalyzePart(ctx context.Context, run *dumpdir.Run, opt Options, part Part) (PartWritten, error) {
	report, records, err := planAnalysis(ctx, run, &opt)
	if err != nil {
		return PartWritten{}, err
	}
	keys, sizes := make([]string, len(records)), make([]int64, len(records))
	for i, r := range records {
		op := ""
		if r.Op != nil {
			op = r.Op.Name
			sizes[i] = sizeOf(r.Op.dump.tensors)
		}
		for _, p := range r.Producers {
			sizes[i] += sizeOf(p.dumped)
		}
		keys[i] = shard.Key(op, "record", i, roundKey(r.At), strconv.FormatUint(r.Timestamp, 10))
	}
	w, err := part.create(AnalyzeKind, run, report.Problems, report.Dumps > 0, &inputsPart{All: report.All, Dumps: report.Dumps, Total: report.Total}, keys, sizes)
	if err != nil {
		return PartWritten{}, err
	}
	defer w.Abort()
	var mine []*Record
	var index []int
	for i, r := range records {
		if w.has(i) {
			mine, index = append(mine, r), append(index, i)
		}
	}
	err = judgeRecords(ctx, mine, opt, func(i int, r *Record) {
		w.writeBefore(index[i]+1, func(int) any { return recordPartOf(r) })
	})
	if err != nil {
		return PartWritten{}, err
	}
	return w.commit()
}

// roundKey names a round by its coordinates.
func roundKey(at dumpdir.Coordinates) string {
	return strings.Join([]string{at.Rank, at.Step, at.Graph, at.Model, at.Folder}, "/")
}

// relative is the path of a file below the folder that was given, with / on all systems.
func relative(f *dumpdir.File) string {
	rel, below := strings.CutPrefix(f.Path(), f.Root())
	if !below || rel == "" {
		return f.Name
	}
	return strings.TrimLeft(filepath.ToSlash(rel), "/")
}

// sizeOf adds up the files of tensors.
func sizeOf(tensors []dumpdir.Tensor) int64 {
	size := int64(0)
	for _, of := range byFile(tensors) {
		size += of[0].File.Size
	}
	return size
}

// rowWriter writes those rows of a part that belong to its shard.
type rowWriter struct {
	part   *shard.PartWriter
	shards []int // of the rows
	mine   int
	next   int // the first row that is not written yet
	rows   int // written
	err    error
}

// create starts the part file. The first row of all says what is known without any
// tensor; what it does not have of that is filled in.
func (p *Part) create(kind string, run *dumpdir.Run, problems []Problem, readable bool, first *inputsPart, keys []string, sizes []int64) (*rowWriter, error) {
	work := shard.NewFingerprint()
	for i := range keys {
		work.Add(keys[i], sizes[i])
	}
	work.Add(fmt.Sprintf("all=%v", first.All), int64(len(problems)), int64(len(run.Files)), int64(first.Total))
	file, err := shard.Create(p.Dir, shard.Head{Kind: kind, Tool: p.Tool, Plan: work.String(), Shard: p.Index, Of: p.Of, Rows: 1 + len(keys)})
	if err != nil {
		return nil, err
	}
	w := &rowWriter{part: file, shards: shard.Balance(sizes, keys, p.Of), mine: p.Index}
	if p.Index > 0 {
		return w, nil
	}
	first.Files, first.Problems = len(run.Files), problemPartsOf(problems)
	if !readable {
		first.Others = messagePartsOf(run.OtherFiles())
	}
	if w.write(0, first); w.err != nil {
		file.Abort()
		return nil, w.err
	}
	return w, nil
}

// has reports whether a row belongs to the shard.
func (w *rowWriter) has(row int) bool { return w.shards[row] == w.mine }

// writeBefore writes the rows of the shard below a number that are not written yet.
func (w *rowWriter) writeBefore(end int, of func(int) any) {
	for ; w.next < end; w.next++ {
		if w.has(w.next) {
			w.write(1+w.next, of(w.next))
		}
	}
}

// write writes a row, unless an error came before.
func (w *rowWriter) write(index int, row any) {
	if w.err != nil {
		return
	}
	data, err := json.Marshal(row)
	if err == nil {
		err = w.part.Write(index, data)
	}
	w.rows, w.err = w.rows+1, err
}

// commit ends the part.
func (w *rowWriter) commit() (PartWritten, error) {
	if w.err != nil {
		return PartWritten{}, w.err
	}
	return PartWritten{w.part.Path(), w.rows}, w.part.Commit()
}

// Abort gives the part up. It does nothing after commit.
func (w *rowWriter) Abort() { w.part.Abort() }

// errNoInputs says that the first row is not what it should be.
var errNoInputs = errors.New("the first row does not say what was listed")

// MergeScan makes the report of a scan from its parts, the same that Scan would have
// made.
func MergeScan(parts *shard.Listing) (*ScanReport, Inputs, error) {
	var first inputsPart
	var s scanner
	err := parts.Rows(false, func(row shard.Row) error {
		if row.Index == 0 {
			if err := json.Unmarshal(row.Data, &first); err != nil {
				return badPart(row.Index, err)
			}
			s.ScanReport = ScanReport{All: first.All, Problems: problemsOfParts(first.Problems), Orders: ordersOfParts(first.Orders)}
			return nil
		}
		var p scanPart
		if err := json.Unmarshal(row.Data, &p); err != nil {
			return badPart(row.Index, err)
		}
		s.rows = append(s.rows, p.row())
		for _, f := range p.Read {
			s.add(len(s.rows)-1, f.File, tensorsOfParts(f.Tensors), problemsOfParts(f.Problems))
		}
		return nil
	})
	if err == nil && parts.Head.Rows == 0 {
		err = errNoInputs
	}
	if err != nil {
		return nil, Inputs{}, err
	}
	return s.finish(), first.inputs(), nil
}

// MergeAnalysis makes the report of an analysis from its parts, the same that Analyze
// would have made.
func MergeAnalysis(parts *shard.Listing) (*Report, Inputs, error) {
	var first inputsPart
	var records []*Record
	err := parts.Rows(false, func(row shard.Row) error {
		if row.Index == 0 {
			return json.Unmarshal(row.Data, &first)
		}
		var p recordPart
		if err := json.Unmarshal(row.Data, &p); err != nil {
			return badPart(row.Index, err)
		}
		records = append(records, p.record())
		return nil
	})
	if err == nil && parts.Head.Rows == 0 {
		err = errNoInputs
	}
	if err != nil {
		return nil, Inputs{}, err
	}
	report := &Report{All: first.All, Files: first.Files, Problems: problemsOfParts(first.Problems), Dumps: first.Dumps, Total: first.Total}
	report.add(records)
	return report, first.inputs(), nil
}
