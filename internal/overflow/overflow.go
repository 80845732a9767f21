// Package overflow finds the operator that overflowed first. Start reading at three entries, each with its JSON
// report:
//
// Analyze reads the overflow records of the device, matches them with the dumps of their operators, and judges the
// tensors (analyze.go, match.go, record.go). Scan reads all tensors without records and looks for NaN, infinities and
// values at the limits of their types (scan.go, tensor.go); resolve.go and holding.go recognise infinities that a
// call asked for, such as masks, and uninitialised memory. Watch compares dumps of the same memory after different
// operators (watch.go).
//
// Decode reads single records (recordfile.go), units.go divides the work among shards, merge.go merges their reports.
package overflow

import (
	"cmp"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/check"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/optype"
	"dumptool/internal/recompute"
	"dumptool/internal/shard"
)

// Options select the parts of a run to read.
type Options struct {
	// Select chooses rounds.
	Select dumpdir.Selection
	// Ops chooses operators; nil chooses all.
	Ops *dumpdir.NameSet
	// Workers is the number of files read at a time; 0 means one per CPU.
	Workers int
	// MaxRecords limits the records of each rank that are analysed, earliest first; 0 means all.
	MaxRecords int
	// All makes Scan keep the rows of good tensors too, and reports for people show everything.
	All bool
	// Headroom is one of HeadroomTypes, for FindHeadroom.
	Headroom string
	// Shard selects a part of the tensors to read; the zero Spec reads all.
	Shard shard.Spec
	// Previous is an earlier scan of the same work, whose finished rounds are not read again; nil for none.
	Previous *ScanReport
	// Observe receives progress events.
	Observe func(batch.Event)
}

// Problem is a file that could not be used, a record without an overflow, or something that the run lacks.
type Problem struct {
	// File is the file, empty for something missing; At is its round.
	File string              `json:"file"`
	At   dumpdir.Coordinates `json:"round,omitzero"`
	Fault
	// Empty: the record is readable, but shows no overflow.
	Empty bool `json:"empty,omitempty"`
	// Kind is set for a problem with the folders, empty for others.
	Kind dumpdir.ProblemKind `json:"kind,omitempty"`
	// Place orders the problems of a rank or step in documents to be merged: from 1 for problems found while reading,
	// 0 for problems of the listing.
	Place int `json:"place,omitempty"`
}

func newProblem(file string, err error) Problem { return Problem{File: file, Fault: faultOf(err)} }

// orderProblems sorts problems, problems of the listing first. Documents to be merged keep Place.
func orderProblems(problems []Problem, keepPlaces bool) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if a.Place == 0 || b.Place == 0 {
			return cmp.Compare(a.Place, b.Place)
		}
		return cmp.Or(compareSteps(a.At, b.At), cmp.Compare(a.Place, b.Place))
	})
	for i := range problems {
		if !keepPlaces {
			problems[i].Place = 0
		}
	}
}

// IsUnread reports whether data could not be read.
func (p *Problem) IsUnread() bool {
	return !p.Empty && (p.Kind == "" || p.Kind == dumpdir.Unreadable || p.Kind == dumpdir.Cut)
}

// countUnread counts the problems with data that could not be read.
func countUnread(problems []Problem) int {
	n := 0
	for i := range problems {
		if problems[i].IsUnread() {
			n++
		}
	}
	return n
}

// countUnfetched counts the problems with the access to object storage.
func countUnfetched(problems []Problem) int {
	n := 0
	for i := range problems {
		if problems[i].Transport {
			n++
		}
	}
	return n
}

// problemsOf converts problems of a run in the chosen rounds. An unusable table of statistics counts as unreadable
// data.
func problemsOf(problems []dumpdir.Problem, run *dumpdir.Run, chosen *dumpdir.Selection) []Problem {
	tables := make(map[string]bool)
	for _, f := range run.Files {
		if f.Role == dumpdir.Table {
			tables[f.Path()] = true
		}
	}
	all := []Problem{}
	for _, p := range problems {
		if !chosen.Includes(p.At) {
			continue
		}
		if p.Kind == dumpdir.BadSide && tables[p.Path] {
			p.Kind = dumpdir.Unreadable
		}
		all = append(all, Problem{File: p.Path, At: p.At, Fault: faultOf(p.Err), Kind: p.Kind})
	}
	return slices.Clip(all)
}

// Inputs describes the files of a run.
type Inputs struct {
	// Listed is the number of files.
	Listed int `json:"listed"`
	// Others describes files without tensors, if no file has tensors.
	Others []lang.Text `json:"others,omitempty"`
}

// describeOtherFiles describes the files of a run without tensors.
func describeOtherFiles(run *dumpdir.Run) []lang.Text {
	return lists.Map(run.OtherFiles(), func(m batch.Message) lang.Text { return m.Text.Text() })
}

// Outcome returns how a scan ended.
func (r *ScanReport) Outcome(bool) batch.Outcome {
	found := lang.Say("bad tensors in %d of %s", r.BadFiles, lang.CountText(r.Files, "file"))
	switch n := r.Unread(); {
	case r.Files == 0 && n == 0:
		return r.nothingOutcome("neither dumps nor arrays among %s")
	case n > 0 && r.Unfetched() > 0:
		return batch.Outcomef(batch.Incomplete, "%s, %s could not be read, %d of them since object storage did not answer", found, filesOrTensors(n), r.Unfetched()).
			WithHint("the same command line with --resume repeats only these")
	case n > 0:
		return batch.Outcomef(batch.Incomplete, "%s, %s could not be read", found, filesOrTensors(n))
	}
	var o batch.Outcome
	if r.BadFiles > 0 {
		o = batch.Outcomef(batch.Found, "bad tensors found").AsShown()
	}
	if slices.ContainsFunc(r.Memory, func(u check.Unwritten) bool { return u.Reaches != "" }) {
		o = batch.Outcomef(batch.Found, "unwritten memory found").AsShown()
	}
	read := lang.Say("%s read", lang.CountText(r.Tensors, "tensor"))
	if r.Tables > 0 {
		read = lang.Say("%s, %d of them as statistics", read, r.Tables)
	}
	if r.Intended > 0 {
		read = lang.Say("%s, %d with infinities or limit values set on purpose (masks, fill values)", read, r.Intended)
	}
	if r.Unwritten > 0 {
		read = lang.Say("%s, %d of memory that is never written or never read", read, r.Unwritten)
	}
	if r.hasNoFloats() {
		read = lang.Say("%s: all tensors are empty or hold integers: no floating-point element was scanned", read)
	}
	o.Messages = []batch.Message{batch.Infof("%s, %s", found, read)}
	return o
}

// filesOrTensors counts files or tensors in words.
func filesOrTensors(n int) lang.Text {
	if n == 1 {
		return lang.Text{EN: "1 file or tensor"}
	}
	return lang.Say("%d files or tensors", n).Text()
}

// Outcome returns how the analysis ended. Without overflows it hints at usual explanations, unless reported says that
// the report has them.
func (r *Report) Outcome(reported bool) batch.Outcome {
	unreadable, records := r.Unread(), lang.CountText(r.Total, "overflow record")
	switch {
	case r.Total == 0 && r.Dumps == 0 && unreadable == 0 && !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Empty }):
		return r.nothingOutcome("neither overflow records nor dumps among %s")
	case unreadable > 0:
		return batch.Outcomef(batch.Incomplete, "%s found, %s could not be read", records, lang.CountText(unreadable, "file"))
	case r.Total > 0:
		return batch.Outcomef(batch.Found, "%s found", records).AsShown()
	}
	o := batch.Outcome{Messages: []batch.Message{batch.Infof("no overflow recorded in %s", lang.CountText(r.Dumps, "operator dump"))}}
	if !reported {
		for _, t := range NothingFound {
			o.Messages = append(o.Messages, batch.Hintf(t.EN))
		}
	}
	return o
}

// nothingOutcome returns the outcome of a run without data to examine; en is a template with the number of files.
func (in *Inputs) nothingOutcome(en string) batch.Outcome {
	o := batch.Outcomef(batch.Nothing, en, lang.CountText(in.Listed, "file"))
	for _, text := range in.Others {
		o.Messages = append(o.Messages, batch.Infof("%s", text))
	}
	return o
}

// verdictAdvice says what to do by verdict, following the public documentation on overflow data and the MindSpore
// guides.
var verdictAdvice = map[Verdict]lang.Text{
	ProducedHere: {
		EN: "this operator overflowed: run it in FP32 (keep it out of mixed precision), lower the loss scale, or check its constants and attributes; if FP32 would not overflow, report it to the owner of the operator",
	},
	CameIn: {
		EN: "the inputs already have NaN, Inf or limit values: look at the operators that produced them",
	},
	CameFromRank: {
		EN: "another rank sent it: scan the dumps of the other ranks",
	},
	FromUnwritten: {
		EN: "it reads memory that was never written: initialise the buffer, or exclude the unused rows",
	},
	ProcessOverflow: {
		EN: "an intermediate value saturated (such as the sum of a pooling); often harmless, compare the output with a golden run",
	},
	CannotTell: {
		EN: "look at the operators before it in time order, and dump inputs and outputs (dump_mode all)",
	},
}

// adviceFor lists what to do about a record: by its verdict, then by the causes in its status.
func adviceFor(r *Record) []lang.Text {
	all := []lang.Text{verdictAdvice[r.Verdict]}
	for _, s := range r.DecodeStatus() {
		for _, e := range s.Entries {
			if e.Advice != (lang.Text{}) && !slices.Contains(all, e.Advice) {
				all = append(all, e.Advice)
			}
		}
	}
	return all
}

// NothingFound lists usual explanations of a run without overflow records.
var NothingFound = []lang.Text{
	{EN: "offline models need status checking when they are built (ATC --status_check=1, or ge.status_check) on 910 and 310P"},
	{EN: "overflow dump excludes model dump and single-operator dump: only one of them can be on (dump_debug)"},
	{EN: "another device or rank may have overflowed: look at its folder too"},
	{EN: "inside a container the dump path is a path of the container"},
	{EN: "in saturation mode infinities become the largest value: 'dumptool overflow scan' finds such values in ordinary dumps"},
}

// Verdict says where the bad values of an operator come from.
type Verdict string

// Verdicts.
const (
	ProducedHere    Verdict = "produced here"
	CameIn          Verdict = "came in"
	ProcessOverflow Verdict = "process overflow"
	CannotTell      Verdict = "cannot tell"
	// CameFromRank replaces ProducedHere for an operator that only passes on data of other ranks.
	CameFromRank Verdict = "came from another rank"
	// FromUnwritten replaces ProducedHere for an operator that reads uninitialised memory.
	FromUnwritten Verdict = "unwritten memory"
)

// Reasons for CannotTell that do not depend on the tensors.
var (
	reasonNoDump = lang.Text{EN: "no dump of the operator was found"}
	reasonBroken = lang.Text{EN: "the operator's dump cannot be read"}
	reasonGuess  = lang.Text{EN: "the operator is a guess, and its tensors do not confirm it"}
)

// isFromRank reports whether the bad outputs of an operator with good inputs were sent by another rank. In a sum over
// ranks only NaN must come from another rank; infinities may result from the addition.
func isFromRank(opType, name string, tensors []Tensor) bool {
	op := recompute.TypeOf(opType)
	if opType == "" {
		op = recompute.TypeOfCall(name)
	}
	return op.Noise == optype.NoiseRanks && (op.Buffer != optype.NoInput ||
		slices.ContainsFunc(tensors, func(t Tensor) bool { return t.Bad && t.hasNaN() }))
}

// judge compares the inputs of an operator with its outputs. Bad inputs come from upstream; good inputs and a bad
// output make the operator the origin; if nothing is bad, only an intermediate value overflowed. If inputs are
// missing, the outputs of their producers replace them. Missing producers or unreadable tensors leave the verdict
// open.
func judge(tensors []Tensor, producers ...Producer) (v Verdict, why lang.Text) {
	var in, out struct{ all, bad, unread int }
	for i := range tensors {
		t, side := &tensors[i], &out
		if t.Kind.IsInput() {
			side = &in
		}
		side.all++
		if t.Bad {
			side.bad++
		}
		if t.err != nil && !t.IsNotNumeric() {
			side.unread++
		}
	}
	switch {
	case in.all+out.all == 0:
		return CannotTell, lang.Text{EN: "no tensors of the operator were found"}
	case in.bad > 0:
		return CameIn, lang.Text{EN: "an input already has NaN, Inf or limit values"}
	case in.unread > 0:
		return CannotTell, lang.Text{EN: "not every input could be read"}
	case in.all == 0 && slices.ContainsFunc(producers, func(p Producer) bool { return p.HasOverflow() }):
		return CameIn, lang.Text{EN: "an input, the output of an earlier operator, already has NaN, Inf or limit values"}
	case in.all == 0 && out.bad > 0 && len(producers) > 0 && !slices.ContainsFunc(producers, func(p Producer) bool { return !p.isKnown() || len(p.Through) > 0 }):
		return ProducedHere, lang.Text{EN: "its inputs, the outputs of earlier operators, have no NaN, Inf or limit values, but an output has"}
	case in.all == 0 && out.bad > 0:
		return CannotTell, lang.Text{EN: "the inputs were not dumped"}
	case out.bad > 0:
		return ProducedHere, lang.Text{EN: "no input has NaN, Inf or limit values, but an output has"}
	case in.all == 0 || out.all == 0 || out.unread > 0:
		return CannotTell, lang.Text{EN: "the tensors that could be read have no NaN, Inf or limit values, but others are missing or unreadable"}
	}
	return ProcessOverflow, lang.Text{EN: "no input or output has NaN, Inf or limit values: an intermediate value overflowed"}
}
