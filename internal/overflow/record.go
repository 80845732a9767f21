package overflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/statusreg"
)

// Record is one overflow record, its operator and the verdict on it.
type Record struct {
	File      string
	At        dumpdir.Coordinates
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
	Tensors []Tensor
	// Producers are the outputs that the operator reads, of the first record of each
	// rank; nil where no graph says them.
	Producers []Producer
	Verdict   Verdict
	Why       lang.Text
	Advice    []lang.Text
	Warnings  []string
	// Rescued is set for a record that was decoded with the wrong layout: unit,
	// model, stream and task are left of it, and at best part of the status.
	Rescued bool

	// problems are what could not be read of the tensors.
	problems []Problem
}

// Operator is the operator whose overflow a record reports.
type Operator struct {
	Type string
	// Name is the full name of the dump's header, else that of the file name.
	Name string
	// FileName is the name that the file goes by, File where it is.
	FileName  string
	File      string
	Timestamp uint64
	MatchedBy Rule
	// Script is the line of the user's script that the operator comes from, as
	// FILE:LINE; empty when unknown.
	Script string

	op   *dumpdir.Op
	dump *dump
}

func newOperator(d *dump, rule Rule) *Operator {
	return &Operator{
		Type: d.op.Type, Name: d.op.Names()[0], FileName: d.fileName, File: d.file().Path(),
		Timestamp: d.timestamp, MatchedBy: rule, Script: d.op.Script(), op: d.op, dump: d,
	}
}

// newRecord decodes the status of a record; one without an overflow is an error.
func newRecord(f *recordSource, r *opdebug.Record) (*Record, error) {
	record := &Record{File: f.path, At: f.at, Timestamp: f.timestamp, Record: r,
		Warnings: append(slices.Clone(f.warnings), r.Warnings...)}
	switch {
	case !r.Valid():
		return nil, errors.New("the device did not mark the record as valid")
	case f.misread:
		record.Area, record.Rescued = &r.Areas[0], true
	case !r.Overflowed():
		return nil, errors.New("no overflow recorded: every status is 0")
	default:
		areas := r.Overflows()
		record.Area = &areas[len(areas)-1]
	}
	for _, a := range r.Overflows() {
		if a.Unit != record.Area.Unit {
			record.Warnings = append(record.Warnings, fmt.Sprintf("%s overflowed too: status %s%s", a.Unit, hexWords(a.Status), bracketed(DecodeStatus(&a))))
		}
	}
	record.Status = DecodeStatus(record.Area)
	return record, otherFault(record)
}

// DecodeStatus decodes the status words of a unit.
func DecodeStatus(a *opdebug.Area) []statusreg.Result {
	var all []statusreg.Result
	for _, word := range a.Status {
		all = append(all, statusreg.Decode(UnitRegister(a.Unit), statusreg.Value{word}))
	}
	return all
}

func hexWords(words []uint64) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = fmt.Sprintf("0x%x", w)
	}
	return strings.Join(texts, " ")
}

// meanings lists those of decoded status words.
func meanings(status []statusreg.Result) []string {
	var all []string
	for _, s := range status {
		for _, e := range s.Entries {
			all = append(all, e.Meaning.EN)
		}
	}
	return all
}

// bracketed is the meaning of status words in brackets, if they have any.
func bracketed(status []statusreg.Result) string {
	if all := meanings(status); len(all) > 0 {
		return " (" + strings.Join(all, ", ") + ")"
	}
	return ""
}

// otherFault is the error for a record of a unit whose status is a code of
// faults, when it is none of numbers: SDMA and AI CPU report all of theirs in
// the same word. A code that nobody documents may be anything.
func otherFault(r *Record) error {
	if r.Area.Unit != opdebug.SDMA && r.Area.Unit != opdebug.AICPU {
		return nil
	}
	numeric := func(s statusreg.Result) bool {
		return slices.ContainsFunc(s.Entries, func(e statusreg.Entry) bool { return e.Numeric })
	}
	faults := meanings(r.Status)
	if len(faults) == 0 || slices.ContainsFunc(r.Status, numeric) {
		return nil
	}
	return fmt.Errorf("no overflow but a fault of %s: %s", r.Area.Unit, strings.Join(faults, ", "))
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

// compareRecords orders records by rank, step and time.
func compareRecords(a, b *Record) int {
	return cmp.Or(compareSteps(a.At, b.At), cmp.Compare(a.Timestamp, b.Timestamp), a.At.Compare(b.At), strings.Compare(a.File, b.File))
}

// judge reads the tensors of the operator and judges them.
func (r *Record) judge(ctx context.Context) {
	switch {
	case r.Op == nil:
		r.Verdict, r.Why = CannotTell, whyNoDump
	default:
		var unread bool
		if r.Tensors, unread = readTensors(ctx, r.Op.dump.tensors); unread {
			r.Verdict, r.Why = CannotTell, whyBroken
			break
		}
		for i := range r.Producers {
			r.Producers[i].read(ctx)
		}
		r.Verdict, r.Why = judge(r.Tensors, r.Producers...)
	}
	if r.Op != nil && r.Op.MatchedBy.Guess() && r.Verdict != ProducedHere {
		r.Verdict, r.Why = CannotTell, whyGuess
	}
	r.Advice = advice(r)
	r.problems = tensorProblems(r.Tensors)
}
