package overflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/opdebug"
	"dumptool/internal/statusreg"
	"dumptool/internal/tensorfile"
)

// Options says how a tree is looked at.
type Options struct {
	// Workers is the number of files read at a time; 0 means one per CPU.
	Workers int
	// Most is how many records of each device are looked into, earliest first;
	// 0 means all.
	Most int
	// All makes Scan keep the rows of good tensors too.
	All bool
	// Observe hears of the progress.
	Observe func(batch.Event)
}

// Record is one overflow record, and what was found out about it.
type Record struct {
	File      string
	Place     Place
	Timestamp uint64 // microseconds, 0 when not known
	Record    *opdebug.Record
	// Area is the unit that matters: AI Core before atomic adds, since those
	// overflow in its wake.
	Area *opdebug.Area
	// Status are the decoded status words of Area.
	Status []statusreg.Result
	// Op is the operator's dump, nil when none was found.
	Op *Operator
	// Tensors are those of the operator's dump.
	Tensors  []Tensor
	Verdict  Verdict
	Why      statusreg.Text
	Advice   []statusreg.Text
	Warnings []string
	// Rescued is set for a record that was decoded with the wrong layout: unit,
	// model, stream and task are left of it, and at best part of the status.
	Rescued bool

	unread error // of the operator's dump
}

// Operator is the operator that a record speaks of.
type Operator struct {
	Type string
	// Name is the full name of the dump's header, else that of the file name.
	Name string
	// FileName is the name that the file goes by, File where it is.
	FileName  string
	File      string
	Timestamp uint64
	MatchedBy Rule

	arrays []*source // in place of a dump
	err    error     // the file cannot be read, and is listed as a problem
}

// Problem is a file that could not be used, or a record that tells of nothing.
type Problem struct {
	File string
	Err  error
	// Empty is set for a readable record without an overflow.
	Empty bool
}

// Report is the result of Analyze.
type Report struct {
	Records  []Record
	Problems []Problem
	// First is the index of the first record of each device.
	First map[string]int
	// Dumps counts the operator dumps of the tree, Files all files, Total the
	// records before Options.Most.
	Dumps, Files, Total int
}

// Unreadable counts the problems that are no empty records.
func (r *Report) Unreadable() int {
	n := 0
	for _, p := range r.Problems {
		if !p.Empty {
			n++
		}
	}
	return n
}

// Analyze finds the overflow records of a tree, matches each with the dump of
// its operator and judges the tensors. Records are ordered by device, step and
// time. What cannot be read is a Problem and stops nothing.
func Analyze(ctx context.Context, list *tensorfile.Listing, opt Options) (*Report, error) {
	all, err := survey(ctx, list, opt.Workers)
	if err != nil {
		return nil, err
	}
	report := &Report{First: map[string]int{}, Files: len(all)}
	ops := operators(all)
	report.Dumps = len(ops)
	index := newDumps(ops)
	var found []*Record
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.err != nil {
			report.Problems = append(report.Problems, Problem{File: s.Path, Err: s.err})
			continue
		}
		for _, r := range s.records {
			record, problem := newRecord(s, r)
			if problem != nil {
				report.Problems = append(report.Problems, *problem)
				continue
			}
			if op, rule := match(s, record.Area, index); op != nil {
				record.Op = newOperator(op, rule)
			}
			found = append(found, record)
		}
	}
	slices.SortStableFunc(found, compareRecords)
	report.Total = len(found)
	found = firstOfEach(found, opt.Most)
	err = batch.Run(ctx, batch.Options{Workers: opt.Workers, Observe: opt.Observe}, found, nil,
		func(ctx context.Context, r *Record) *Record { return r.look(ctx) },
		func(_ int, r *Record) { report.Records = append(report.Records, *r) })
	if err != nil {
		return nil, err
	}
	for i, r := range report.Records {
		if _, ok := report.First[r.Place.Device]; !ok {
			report.First[r.Place.Device] = i
		}
		if r.unread != nil {
			report.Problems = append(report.Problems, Problem{File: r.Op.File, Err: r.unread})
		}
		for _, t := range r.Tensors {
			if t.Err != nil && !t.NotNumeric() {
				report.Problems = append(report.Problems, Problem{File: r.Op.File, Err: tensorError(t)})
			}
		}
	}
	return report, nil
}

// tensorError is the error of a tensor with its name.
func tensorError(t Tensor) error { return fmt.Errorf("%s %d: %w", t.Kind, t.Index, t.Err) }

// newRecord takes a parsed record apart; one that tells of no overflow is a
// problem instead.
func newRecord(s *source, r *opdebug.Record) (*Record, *Problem) {
	record := &Record{File: s.Path, Place: s.Place, Timestamp: s.timestamp(), Record: r,
		Warnings: append(slices.Clone(s.warnings), r.Warnings...)}
	switch {
	case !r.Valid():
		return nil, &Problem{File: s.Path, Empty: true, Err: errors.New("the device did not mark the record as valid")}
	case len(s.warnings) > 0 && len(r.Areas) == 1:
		record.Area, record.Rescued = &r.Areas[0], true
	case !r.Overflowed():
		return nil, &Problem{File: s.Path, Empty: true, Err: errors.New("no overflow recorded: every status is 0")}
	default:
		areas := r.Overflows()
		record.Area = &areas[len(areas)-1]
	}
	for _, a := range r.Overflows() {
		if a.Unit != record.Area.Unit {
			record.Warnings = append(record.Warnings, fmt.Sprintf("%s overflowed too: status %s%s", a.Unit, hexWords(a.Status), meaningOf(&a)))
		}
	}
	register := UnitRegister(record.Area.Unit)
	for _, word := range record.Area.Status {
		result := statusreg.Decode(register, statusreg.Value{word})
		record.Status = append(record.Status, result)
	}
	if fault := otherFault(record); fault != nil {
		return nil, &Problem{File: s.Path, Empty: true, Err: fault}
	}
	return record, nil
}

func hexWords(words []uint64) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = fmt.Sprintf("0x%x", w)
	}
	return strings.Join(texts, " ")
}

// meaningOf is what the status of a unit means, in brackets.
func meaningOf(a *opdebug.Area) string {
	var meanings []string
	for _, word := range a.Status {
		decoded := statusreg.Decode(UnitRegister(a.Unit), statusreg.Value{word})
		for _, e := range decoded.Entries {
			meanings = append(meanings, e.Meaning.EN)
		}
	}
	if len(meanings) == 0 {
		return ""
	}
	return " (" + strings.Join(meanings, ", ") + ")"
}

// otherFault is the error for a record of a unit whose status is a code of
// faults, when it does not tell of numbers: SDMA and AI CPU report all of theirs
// in the same word. A code that nobody documents may be anything.
func otherFault(r *Record) error {
	if r.Area.Unit != opdebug.SDMA && r.Area.Unit != opdebug.AICPU {
		return nil
	}
	var meanings []string
	for _, s := range r.Status {
		for _, e := range s.Entries {
			if e.Numeric {
				return nil
			}
			meanings = append(meanings, e.Meaning.EN)
		}
	}
	if len(meanings) == 0 {
		return nil
	}
	return fmt.Errorf("no overflow but a fault of %s: %s", r.Area.Unit, strings.Join(meanings, ", "))
}

// UnitRegister returns the register whose value the status of a unit is.
func UnitRegister(u opdebug.Unit) statusreg.Register {
	switch u {
	case opdebug.DHA:
		return statusreg.DHA
	case opdebug.L2:
		return statusreg.L2
	case opdebug.AICore, opdebug.AIC, opdebug.AIV:
		return statusreg.AICore
	case opdebug.AICPU:
		return statusreg.AICPU
	case opdebug.SDMA:
		return statusreg.SDMA
	}
	return statusreg.None
}

func newOperator(op *source, rule Rule) *Operator {
	o := &Operator{Type: op.name.OpType, Name: op.opName, FileName: op.Name, File: op.Path, Timestamp: op.timestamp(), MatchedBy: rule, arrays: op.arrays, err: op.err}
	if op.base != "" {
		o.FileName = op.base
	}
	if o.Name == "" {
		o.Name = op.name.OpName
	}
	return o
}

func compareRecords(a, b *Record) int {
	if c := comparePlaces(a.Place, b.Place); c != 0 {
		return c
	}
	if a.Timestamp != b.Timestamp {
		if a.Timestamp < b.Timestamp {
			return -1
		}
		return 1
	}
	return strings.Compare(a.File, b.File)
}

// firstOfEach keeps the first n records of each device; all when n is 0.
func firstOfEach(records []*Record, n int) []*Record {
	if n <= 0 {
		return records
	}
	seen := map[string]int{}
	return slices.DeleteFunc(records, func(r *Record) bool {
		seen[r.Place.Device]++
		return seen[r.Place.Device] > n
	})
}

// look reads the tensors of the operator and judges them.
func (r *Record) look(ctx context.Context) *Record {
	switch {
	case r.Op == nil:
		r.Verdict, r.Why = CannotTell, whyNoDump
	case r.Op.err != nil:
		r.Verdict, r.Why = CannotTell, whyBroken
	case len(r.Op.arrays) > 0:
		for _, a := range r.Op.arrays {
			r.Tensors = append(r.Tensors, readArray(ctx, a))
		}
		r.Verdict, r.Why = judge(r.Tensors)
	default:
		var err error
		if r.Tensors, err = readTensors(ctx, r.Op.File); err != nil {
			r.unread = err
			r.Verdict, r.Why = CannotTell, whyBroken
			break
		}
		r.Verdict, r.Why = judge(r.Tensors)
	}
	if r.Op != nil && r.Op.MatchedBy.Guess() && r.Verdict != ProducedHere {
		r.Verdict, r.Why = CannotTell, whyGuess
	}
	r.Advice = advice(r)
	return r
}

// readArray reads the array of one tensor of an operator.
func readArray(ctx context.Context, a *source) Tensor {
	t := Tensor{}
	read, err := readTensors(ctx, a.Path)
	if err != nil {
		t.Err = err
	} else {
		t = read[0]
	}
	t.Kind, t.Index = tensorfile.Kind(a.kind), a.index
	return t
}
