package overflow

import (
	"path/filepath"

	"dumptool/internal/opdebug"
)

// Rule is the rule by which a record was matched with the dump of its operator.
type Rule string

// The rules, strongest first.
const (
	ByPayload   Rule = "payload ids"          // ids of the record = ids of the dump's name
	ByModulo    Rule = "payload ids mod 2^16" // task ids agree in their lower 16 bits, or the stream is not known
	ByFileName  Rule = "file name ids"        // ids of both file names
	ByTimestamp Rule = "nearest timestamp"    // a guess
)

// Guess reports whether a match by the rule may well be wrong.
func (r Rule) Guess() bool { return r == ByTimestamp }

// noID is written for an id that does not apply.
const noID = opdebug.NoID

// ids are what names the operator of a record.
type ids struct {
	task, stream    uint64
	hasStream       bool
	context, thread uint64
	hasThread       bool
}

// OtherFolder ends the rule of a match outside the folder of the record.
const OtherFolder = ", other folder"

// dumps are the dumps of a tree, by what they are looked for.
type dumps struct {
	byTask map[uint64][]*source
	byDir  map[string][]*source
	inDir  map[dirTask][]*source
	inStep map[stepTask][]*source
	// parents holds every folder above one with a dump.
	parents map[string]bool
}

// The keys hold the lower 16 bits of a task id.
type (
	dirTask struct {
		dir  string
		task uint64
	}
	stepTask struct {
		device, step string
		task         uint64
	}
)

// taskMask keeps what 16-bit chips keep of a task id.
const taskMask = 1<<16 - 1

func newDumps(ops []*source) *dumps {
	d := &dumps{byTask: map[uint64][]*source{}, byDir: map[string][]*source{}, inDir: map[dirTask][]*source{},
		inStep: map[stepTask][]*source{}, parents: map[string]bool{}}
	for _, op := range ops {
		task := op.name.TaskID & taskMask
		at, step := dirTask{op.dir, task}, stepTask{op.Device, op.Step, task}
		if _, seen := d.byDir[op.dir]; !seen {
			for dir := filepath.Dir(op.dir); !d.parents[dir]; dir = filepath.Dir(dir) {
				d.parents[dir] = true
			}
		}
		d.byTask[task] = append(d.byTask[task], op)
		d.byDir[op.dir] = append(d.byDir[op.dir], op)
		d.inDir[at] = append(d.inDir[at], op)
		d.inStep[step] = append(d.inStep[step], op)
	}
	return d
}

// match finds the dump of the operator that a record speaks of. Rules go from
// strong to weak, and each looks near the record first: in its folder, then
// below it. Only then dumps elsewhere count, and those of the same step only,
// where MindSpore keeps records apart from dumps. A guess stays in the record's
// folder.
func match(record *source, area *opdebug.Area, all *dumps) (*source, Rule) {
	payload := ids{task: area.TaskID, stream: area.StreamID, hasStream: true}
	payload.context, payload.thread, payload.hasThread = area.Context()
	type rule struct {
		name Rule
		task uint64
		fits func(*source) bool
	}
	rules := []rule{{ByPayload, payload.task & taskMask, payload.equal}, {ByModulo, payload.task & taskMask, payload.similar}}
	if record.ok {
		name := ids{task: record.name.TaskID, stream: record.name.StreamID, hasStream: record.name.HasStream,
			context: record.name.ContextID, thread: record.name.ThreadID, hasThread: record.name.HasThread}
		rules = append(rules, rule{ByFileName, name.task & taskMask, name.equal})
	}
	for _, r := range rules {
		if d := latest(record, all.inDir[dirTask{record.dir, r.task}], payload, r.fits); d != nil {
			return d, r.name
		}
		if !all.parents[record.dir] {
			continue
		}
		inside := func(d *source) bool { return r.fits(d) && d.dir != record.dir && below(d.dir, record.dir) }
		if d := latest(record, all.byTask[r.task], payload, inside); d != nil {
			return d, r.name + OtherFolder
		}
	}
	for _, r := range rules {
		apart := func(d *source) bool { return r.fits(d) && d.dir != record.dir && sameStep(d.Place, record.Place) }
		if d := latest(record, all.inStep[stepTask{record.Device, record.Step, r.task}], payload, apart); d != nil {
			return d, r.name + OtherFolder
		}
	}
	guess := latest(record, all.byDir[record.dir], payload, func(d *source) bool {
		return d.timestamp() <= record.timestamp()
	})
	return guess, ByTimestamp
}

// equal compares with the ids of a dump's name.
func (i ids) equal(d *source) bool {
	return i.task == d.name.TaskID && i.hasStream == d.name.HasStream && i.stream == d.name.StreamID && i.threadFits(d)
}

// similar compares task ids as 16-bit chips keep them, and takes a stream that
// one side does not know for any.
func (i ids) similar(d *source) bool {
	anyStream := !i.hasStream || !d.name.HasStream || i.stream == noID || d.name.StreamID == noID
	return i.task&taskMask == d.name.TaskID&taskMask && (anyStream || i.stream == d.name.StreamID) && i.threadFits(d)
}

// threadFits compares context and thread (FFTS+) where both sides have them;
// 0 is an id like any other.
func (i ids) threadFits(d *source) bool {
	return !i.hasThread || !d.name.HasThread || i.context == d.name.ContextID && i.thread == d.name.ThreadID
}

// latest picks among the fitting dumps: one whose thread is the record's before
// one that has none, then the latest that is not after the record, since the
// device writes the dump first and the record right after; only then the
// earliest after it.
func latest(record *source, candidates []*source, payload ids, fits func(*source) bool) *source {
	var best *source
	at := record.timestamp()
	better := func(a, b *source) bool {
		if x, y := a.name.HasThread == payload.hasThread, b.name.HasThread == payload.hasThread; x != y {
			return x
		}
		ta, tb := a.timestamp(), b.timestamp()
		if (ta <= at) != (tb <= at) {
			return ta <= at
		}
		if ta <= at {
			return ta > tb
		}
		return ta < tb
	}
	for _, d := range candidates {
		// The payload has the last word about the thread.
		if fits(d) && payload.threadFits(d) && (best == nil || better(d, best)) {
			best = d
		}
	}
	return best
}
