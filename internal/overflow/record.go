package overflow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/opdebug"
	"dumptool/internal/statusreg"
	"dumptool/internal/store"
)

// Occurrence is the place and time of a record or an operator, with the tensors of the operator.
type Occurrence struct {
	// File is the path of the record or the dump; for several dumps a pattern.
	File string `json:"file"`
	// Device equals Rank, under the name that older reports have.
	Device string `json:"device"`
	// Step is the step. Timestamp is the time of writing in microseconds, 0 if unknown.
	Step      string `json:"step"`
	Timestamp uint64 `json:"timestamp"`
	// Tensors are the tensors of the operator.
	Tensors []Tensor `json:"tensors"`
	// Rank, Graph, Model and Folder are the other coordinates of the round.
	Rank   string `json:"rank,omitempty"`
	Graph  string `json:"graph,omitempty"`
	Model  string `json:"model,omitempty"`
	Folder string `json:"folder,omitempty"`
	// ReasonZH is the reason for the verdict in Chinese.
	ReasonZH string `json:"reason_zh,omitempty"`
	// Place orders the records of a rank or the rows of a step in documents to be merged.
	Place int `json:"place,omitempty"`
}

func occurrenceOf(file string, at dumpdir.Coordinates, timestamp uint64) Occurrence {
	return Occurrence{File: file, Device: at.Rank, Step: at.Step, Timestamp: timestamp, Tensors: []Tensor{}, Rank: at.Rank, Graph: at.Graph, Model: at.Model, Folder: at.Folder}
}

// Coordinates returns the coordinates of the round.
func (o *Occurrence) Coordinates() dumpdir.Coordinates {
	return dumpdir.Coordinates{Rank: o.Rank, Step: o.Step, Graph: o.Graph, Model: o.Model, Folder: o.Folder}
}

// Record is an overflow record, its operator and the verdict.
type Record struct {
	Occurrence
	// Unit is the decisive unit: AI Core before atomic adds, whose overflows are consequences. The fields below
	// describe this unit.
	Unit opdebug.Unit `json:"acc_type"`
	// ModelID, StreamID and TaskID are the ids of the task.
	ModelID  uint64 `json:"model_id"`
	StreamID uint64 `json:"stream_id"`
	TaskID   uint64 `json:"task_id"`
	// ContextID and ThreadID are nil if the task has none.
	ContextID *uint64 `json:"context_id"`
	ThreadID  *uint64 `json:"thread_id"`
	// Status are the status words.
	Status []uint64 `json:"status"`
	// Causes are the meanings of the status words.
	Causes []Cause `json:"causes"`
	// Op is the operator's dump, nil if none was found.
	Op *Operator `json:"op"`
	// Producers are the outputs that the operator reads, for the first record of each rank; none without a graph.
	Producers []Producer `json:"producers,omitempty"`
	// Verdict says where the bad values come from, Reason is its reason, Advice what to do.
	Verdict Verdict     `json:"verdict"`
	Advice  []lang.Text `json:"advice"`
	Reason  string      `json:"reason"`
	// Time is Timestamp for people.
	Time string `json:"time,omitempty"`
	// CoreID, Block and PCStart locate the overflow on the device, if known.
	CoreID  *uint64 `json:"core_id,omitempty"`
	Block   *uint64 `json:"block,omitempty"`
	PCStart string  `json:"pc_start,omitempty"`
	// Warnings are oddities of the record.
	Warnings []lang.Sentence `json:"warnings,omitempty"`

	// Units are all units that overflowed; not in JSON documents.
	Units []opdebug.Area `json:"-"`

	area *opdebug.Area
	// problems are problems with the tensors.
	problems []Problem
}

// StatusText formats the status words in hex.
func (r *Record) StatusText() string { return hexWords(r.Status) }

// DecodeStatus decodes the status words.
func (r *Record) DecodeStatus() []statusreg.Result { return decodeWords(r.Unit, r.Status) }

// Cause is the meaning of a bit or code in a status word.
type Cause struct {
	// Mask is the bit, or the mask of a code.
	Mask string `json:"mask"`
	lang.Both
	// Word is the index of the word, nil if there is only one.
	Word *int `json:"word,omitempty"`
}

// causesOf lists the meanings of the bits of status words, including undocumented bits.
func causesOf(words []statusreg.Result) []Cause {
	causes := []Cause{}
	for i := range words {
		for _, e := range slices.Concat(words[i].Entries, words[i].UndocumentedEntries()) {
			c := Cause{Mask: e.Mask.String(), Both: e.Meaning.Both()}
			if len(words) > 1 {
				c.Word = &i
			}
			causes = append(causes, c)
		}
	}
	return causes
}

// Operator is the operator whose overflow a record reports.
type Operator struct {
	// Type is the type of the operator.
	Type string `json:"type"`
	// Name is the full name in the dump's header, else the name in the file name.
	Name string `json:"name"`
	// File is the dump.
	File string `json:"file"`
	// FileName is the name of the file, or its original name.
	FileName string `json:"-"`
	// MatchedBy is the rule that found the dump.
	MatchedBy Rule `json:"matched_by"`
	// Guess: the match is uncertain.
	Guess bool `json:"guess,omitempty"`
	// Script is the line of the user's script that called the operator, as FILE:LINE; empty if unknown.
	Script string `json:"script,omitempty"`

	op   *dumpdir.Op
	dump *dump
}

func newOperator(d *dump, rule Rule) *Operator {
	return &Operator{
		Type: d.op.Type, Name: d.op.Names()[0], FileName: d.fileName, File: d.tensors[0].File.Path(),
		MatchedBy: rule, Guess: rule == ByTimestamp, Script: d.op.Script(), op: d.op, dump: d,
	}
}

// newRecord decodes the status of a record; it returns an error for a record without an overflow.
func newRecord(f *recordSource, r *opdebug.Record) (*Record, error) {
	record := &Record{Occurrence: occurrenceOf(f.path, f.at, f.timestamp), Time: FormatTime(f.timestamp), Units: r.Overflows(), Status: []uint64{},
		Warnings: append(slices.Clone(f.warnings), r.Warnings...)}
	var area *opdebug.Area
	switch {
	case !r.Valid():
		return nil, lang.Errorf("the device did not mark the record as valid")
	case f.isMisread:
		area = &r.Areas[0]
		if len(record.Units) == 0 { // the status is lost
			record.Units = r.Areas[:1]
		}
	case !r.HasOverflow():
		return nil, lang.Errorf("no overflow recorded: every status is 0")
	default:
		area = &record.Units[len(record.Units)-1]
		record.setLocation(area)
	}
	record.area = area
	record.Unit, record.ModelID, record.StreamID, record.TaskID = area.Unit, area.ModelID, area.StreamID, area.TaskID
	record.Status = append(record.Status, area.Status...)
	if context, thread, ok := area.Context(); ok {
		record.ContextID, record.ThreadID = &context, &thread
	}
	for _, a := range r.Overflows() {
		if a.Unit != area.Unit {
			record.Warnings = append(record.Warnings, lang.Say("%s overflowed too: status %s%s", a.Unit, hexWords(a.Status), meaningsText(DecodeStatus(&a))))
		}
	}
	words := record.DecodeStatus()
	record.Causes = causesOf(words)
	return record, otherFault(area.Unit, words)
}

// setLocation sets the location on the device. The layouts of records name the fields differently.
func (r *Record) setLocation(a *opdebug.Area) {
	for _, f := range a.Fields() {
		switch f.Name {
		case "core_id":
			r.CoreID = &f.Values[0]
		case "block_id", "block_idx":
			r.Block = &f.Values[0]
		case "pc_start":
			r.PCStart = hexWords(f.Values[:1])
		}
	}
}

// FormatTime formats microseconds since 1970 as UTC, empty if unknown.
func FormatTime(micros uint64) string {
	if micros == 0 || micros > 1<<53 {
		return ""
	}
	return time.UnixMicro(int64(micros)).UTC().Format("2006-01-02 15:04:05.000000")
}

// DecodeStatus decodes the status words of a unit.
func DecodeStatus(a *opdebug.Area) []statusreg.Result { return decodeWords(a.Unit, a.Status) }

func decodeWords(u opdebug.Unit, words []uint64) []statusreg.Result {
	return lists.Map(words, func(word uint64) statusreg.Result { return statusreg.Decode(UnitRegister(u), statusreg.Value{word}) })
}

func hexWords(words []uint64) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = fmt.Sprintf("0x%x", w)
	}
	return strings.Join(texts, " ")
}

// statusMeanings lists the meanings of decoded status words.
func statusMeanings(status []statusreg.Result) []string {
	var all []string
	for _, s := range status {
		for _, e := range s.Entries {
			all = append(all, e.Meaning.String())
		}
	}
	return all
}

// meaningsText formats the meanings of status words in brackets, if any.
func meaningsText(status []statusreg.Result) string {
	if all := statusMeanings(status); len(all) > 0 {
		return " (" + strings.Join(all, ", ") + ")"
	}
	return ""
}

// otherFault returns an error if the status is the code of a fault that is no overflow: SDMA and AI CPU report all
// faults in the same word. An undocumented code may be anything and is no error.
func otherFault(u opdebug.Unit, words []statusreg.Result) error {
	if u != opdebug.SDMA && u != opdebug.AICPU {
		return nil
	}
	numeric := func(s statusreg.Result) bool {
		return slices.ContainsFunc(s.Entries, func(e statusreg.Entry) bool { return e.Numeric })
	}
	faults := statusMeanings(words)
	if len(faults) == 0 || slices.ContainsFunc(words, numeric) {
		return nil
	}
	return lang.Errorf("no overflow but a fault of %s: %s", u, strings.Join(faults, ", "))
}

// UnitRegister returns the register that the status of a unit comes from.
func UnitRegister(u opdebug.Unit) statusreg.Register { return registers[u] }

var registers = map[opdebug.Unit]statusreg.Register{
	opdebug.DHA: statusreg.DHA, opdebug.L2: statusreg.L2, opdebug.AICPU: statusreg.AICPU, opdebug.SDMA: statusreg.SDMA,
	opdebug.AICore: statusreg.AICore, opdebug.AIC: statusreg.AICore, opdebug.AIV: statusreg.AICore,
}

// compareRecords orders records by rank, step and time.
func compareRecords(a, b *Record) int {
	return cmp.Or(compareSteps(a.Coordinates(), b.Coordinates()), cmp.Compare(a.Timestamp, b.Timestamp), a.Coordinates().Compare(b.Coordinates()), strings.Compare(a.File, b.File))
}

// judge reads the tensors of the operator and sets the verdict.
func (r *Record) judge(ctx context.Context) {
	why := reasonNoDump
	r.Verdict = CannotTell
	if r.Op != nil {
		tensors, unread := readTensors(ctx, r.Op.dump.tensors)
		r.Tensors = append(r.Tensors, tensors...)
		if unread {
			why = reasonBroken
		} else {
			for i := range r.Producers {
				r.Producers[i].read(ctx)
			}
			r.Verdict, why = judge(r.Tensors, r.Producers...)
		}
		if r.Op.Guess && r.Verdict != ProducedHere {
			r.Verdict, why = CannotTell, reasonGuess
		}
	}
	r.Reason, r.ReasonZH = why.String(), why.Chinese()
	r.Advice = adviceFor(r)
	r.problems = tensorProblems(r.Tensors)
}

// Fault is an error in JSON documents.
type Fault struct {
	// Error is in English. ErrorZH is in Chinese, empty if it equals Error.
	Error   string `json:"error,omitempty"`
	ErrorZH string `json:"error_zh,omitempty"`
	// Transport: the access to object storage failed, not the stored data.
	Transport bool `json:"transport,omitempty"`
}

func faultOf(err error) Fault {
	text := lang.Error(err).Text()
	f := Fault{Error: text.String(), Transport: store.IsTransport(err)}
	if text.Chinese() != text.String() {
		f.ErrorZH = text.Chinese()
	}
	return f
}

// Text returns the error in both languages.
func (f *Fault) Text() lang.Text {
	if f.ErrorZH == "" {
		return lang.Text{EN: f.Error, ZH: f.Error}
	}
	return lang.Text{EN: f.Error, ZH: f.ErrorZH}
}
