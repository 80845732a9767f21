package overflow

import (
	"cmp"
	"path/filepath"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/opdebug"
	"dumptool/internal/store"
)

// Rule is a rule that matches records with dumps of their operators.
type Rule string

// Rules, strongest first.
const (
	ByPayload   Rule = "payload ids"          // ids of the record equal the ids in the dump's name
	ByModulo    Rule = "payload ids mod 2^16" // task ids agree in their lower 16 bits, or the stream is unknown
	ByFileName  Rule = "file name ids"        // ids in both file names
	ByTimestamp Rule = "nearest timestamp"    // a guess
)

// noID stands for an id that does not apply.
const noID = opdebug.NoID

// ids identify the operator of a record.
type ids struct {
	task, stream    uint64
	hasStream       bool
	context, thread uint64
	hasThread       bool
}

// OtherFolder is the suffix of the rule that matched a record with a dump in another folder.
const OtherFolder = ", other folder"

// dumps indexes the dumps of a run by the places in which a match may search.
type dumps struct {
	at map[runPart][]*dump
	// parents has every folder above a dump.
	parents map[string]bool
}

// runPart is a folder, a step of a rank, or the whole run, optionally restricted to a task.
type runPart struct {
	dir, rank, step string
	task            int64 // its lower 16 bits, or anyTask
}

const (
	anyTask = -1
	// taskMask masks the bits of a task id that 16-bit chips store.
	taskMask = 1<<16 - 1
)

func newDumps(ops []*dump) *dumps {
	d := &dumps{map[runPart][]*dump{}, map[string]bool{}}
	for _, op := range ops {
		task, folder := int64(op.name.TaskID&taskMask), runPart{dir: op.dir, task: anyTask}
		if d.at[folder] == nil {
			for dir := store.Dir(op.dir); !d.parents[dir]; dir = store.Dir(dir) {
				d.parents[dir] = true
			}
		}
		places := []runPart{folder, {dir: op.dir, task: task}, {task: task}}
		if op.at.Rank != "" && op.at.Step != "" {
			places = append(places, runPart{rank: op.at.Rank, step: op.at.Step, task: task})
		}
		for _, p := range places {
			d.at[p] = append(d.at[p], op)
		}
	}
	return d
}

// dumpOf finds the dump of the operator whose overflow a record reports. It tries strong rules before weak rules.
// Each rule searches the folder of the record first, then the folders below. Only if no rule matches there, it
// searches dumps of the same step elsewhere, since MindSpore separates records from dumps. A guess by time stays in
// the record's folder.
func dumpOf(record *recordSource, area *opdebug.Area, all *dumps) (*dump, Rule) {
	payload := ids{task: area.TaskID, stream: area.StreamID, hasStream: true}
	payload.context, payload.thread, payload.hasThread = area.Context()
	type rule struct {
		name Rule
		task int64
		fits func(*dump) bool
	}
	rules := []rule{{ByPayload, int64(payload.task & taskMask), payload.hasEqualIDs}, {ByModulo, int64(payload.task & taskMask), payload.hasSimilarIDs}}
	if record.hasName {
		name := ids{task: record.name.TaskID, stream: record.name.StreamID, hasStream: record.name.HasStream,
			context: record.name.ContextID, thread: record.name.ThreadID, hasThread: record.name.HasThread}
		rules = append(rules, rule{ByFileName, int64(name.task & taskMask), name.hasEqualIDs})
	}
	for _, r := range rules {
		if d := bestFittingDump(record, all.at[runPart{dir: record.dir, task: r.task}], payload, r.fits); d != nil {
			return d, r.name
		}
		if !all.parents[record.dir] {
			continue
		}
		inside := func(d *dump) bool { return r.fits(d) && d.dir != record.dir && isBelow(d.dir, record.dir) }
		if d := bestFittingDump(record, all.at[runPart{task: r.task}], payload, inside); d != nil {
			return d, r.name + OtherFolder
		}
	}
	for _, r := range rules {
		isElsewhere := func(d *dump) bool { return r.fits(d) && d.dir != record.dir && isSameStep(d.at, record.at) }
		if d := bestFittingDump(record, all.at[runPart{rank: record.at.Rank, step: record.at.Step, task: r.task}], payload, isElsewhere); d != nil {
			return d, r.name + OtherFolder
		}
	}
	guess := bestFittingDump(record, all.at[runPart{dir: record.dir, task: anyTask}], payload, func(d *dump) bool {
		return d.timestamp <= record.timestamp
	})
	return guess, ByTimestamp
}

// isSameStep reports whether a record and a dump belong to the same step although they are in separate folders, as
// MindSpore writes them: rank and step are equal, and one of the folders names no network. Weaker conditions do not
// suffice, since ids repeat in every run, model and device.
func isSameStep(a, b dumpdir.Coordinates) bool {
	return a.Rank != "" && a.Step != "" && a.Rank == b.Rank && a.Step == b.Step && (a.Model == "" || b.Model == "")
}

// isBelow reports whether dir is root or inside root.
func isBelow(dir, root string) bool {
	rel, err := store.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// hasEqualIDs compares the ids with the ids in a dump's name.
func (i ids) hasEqualIDs(d *dump) bool {
	return i.task == d.name.TaskID && i.hasStream == d.name.HasStream && i.stream == d.name.StreamID && i.hasEqualThread(d)
}

// hasSimilarIDs compares task ids in their lower 16 bits; an unknown stream on either side matches any.
func (i ids) hasSimilarIDs(d *dump) bool {
	anyStream := !i.hasStream || !d.name.HasStream || i.stream == noID || d.name.StreamID == noID
	return i.task&taskMask == d.name.TaskID&taskMask && (anyStream || i.stream == d.name.StreamID) && i.hasEqualThread(d)
}

// hasEqualThread compares context and thread (FFTS+) if both sides have them; 0 is a valid id.
func (i ids) hasEqualThread(d *dump) bool {
	return !i.hasThread || !d.name.HasThread || i.context == d.name.ContextID && i.thread == d.name.ThreadID
}

// bestFittingDump returns the best fitting dump: a dump with the thread of the record before a dump without thread; then the
// latest dump not after the record, since the device writes the dump just before the record; then the earliest dump
// after the record.
func bestFittingDump(record *recordSource, candidates []*dump, payload ids, fits func(*dump) bool) *dump {
	var best *dump
	at := record.timestamp
	isBetter := func(a, b *dump) bool {
		if x, y := a.name.HasThread == payload.hasThread, b.name.HasThread == payload.hasThread; x != y {
			return x
		}
		ta, tb := a.timestamp, b.timestamp
		if (ta <= at) != (tb <= at) {
			return ta <= at
		}
		if ta <= at {
			return ta > tb
		}
		return ta < tb
	}
	for _, d := range candidates {
		// The thread in the payload always decides.
		if fits(d) && payload.hasEqualThread(d) && (best == nil || isBetter(d, best)) {
			best = d
		}
	}
	return best
}

// dump is the dump of an executed operator, or the arrays or statistics in its place.
type dump struct {
	op    *dumpdir.Op
	round *dumpdir.Round
	at    dumpdir.Coordinates
	dir   string
	// name has the ids in the dump's file name, fileName is the whole name.
	name      filename.Dump
	fileName  string
	timestamp uint64
	tensors   []dumpdir.Tensor
}

// dumpsOf lists the dumps of rounds whose names have ids. It includes unreadable dumps: the right operator with a
// broken dump is better than a wrong operator.
func dumpsOf(rounds []*dumpdir.Round) []*dump {
	type key struct{ dir, name string }
	seen := make(map[key]*dump)
	var all []*dump
	for _, round := range rounds {
		for _, op := range round.Ops {
			for _, t := range op.Tensors {
				name := dumpName(t.File)
				if !name.HasDump {
					continue
				}
				k := key{store.Dir(t.File.Path()), cmp.Or(name.Source, name.Stem)}
				d := seen[k]
				if d == nil {
					d = &dump{op: op, round: round, at: round.At, dir: k.dir, name: name.Dump, fileName: k.name, timestamp: cmp.Or(name.Timestamp, op.Timestamp)}
					seen[k] = d
					all = append(all, d)
				}
				d.tensors = append(d.tensors, t)
			}
		}
	}
	return all
}

// dumpName parses the name of a file. The name of a table of statistics contains the name of the dump.
func dumpName(f *dumpdir.File) filename.Info {
	if f.Role == dumpdir.Table {
		return filename.Parse(strings.TrimSuffix(f.Name, ".csv"))
	}
	return filename.Parse(f.Name)
}
