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

// dumps are the dumps of a run, by where they may be looked for.
type dumps struct {
	at map[place][]*dump
	// parents holds every folder above one with a dump.
	parents map[string]bool
}

// place is a folder, or a step of a rank; a task in one of them, or anywhere.
type place struct {
	dir, rank, step string
	task            int64 // its lower 16 bits, or anyTask
}

const (
	anyTask = -1
	// taskMask keeps what 16-bit chips keep of a task id.
	taskMask = 1<<16 - 1
)

func newDumps(ops []*dump) *dumps {
	d := &dumps{map[place][]*dump{}, map[string]bool{}}
	for _, op := range ops {
		task, folder := int64(op.name.TaskID&taskMask), place{dir: op.dir, task: anyTask}
		if d.at[folder] == nil {
			for dir := store.Dir(op.dir); !d.parents[dir]; dir = store.Dir(dir) {
				d.parents[dir] = true
			}
		}
		places := []place{folder, {dir: op.dir, task: task}, {task: task}}
		if op.at.Rank != "" && op.at.Step != "" {
			places = append(places, place{rank: op.at.Rank, step: op.at.Step, task: task})
		}
		for _, p := range places {
			d.at[p] = append(d.at[p], op)
		}
	}
	return d
}

// dumpOf finds the dump of the operator whose overflow a record reports. Rules go from
// strong to weak, and each searches near the record first: in its folder, then
// below it. Only then dumps elsewhere count, and those of the same step only,
// where MindSpore keeps records apart from dumps. A guess stays in the record's
// folder.
func dumpOf(record *recordSource, area *opdebug.Area, all *dumps) (*dump, Rule) {
	payload := ids{task: area.TaskID, stream: area.StreamID, hasStream: true}
	payload.context, payload.thread, payload.hasThread = area.Context()
	type rule struct {
		name Rule
		task int64
		fits func(*dump) bool
	}
	rules := []rule{{ByPayload, int64(payload.task & taskMask), payload.equal}, {ByModulo, int64(payload.task & taskMask), payload.similar}}
	if record.hasName {
		name := ids{task: record.name.TaskID, stream: record.name.StreamID, hasStream: record.name.HasStream,
			context: record.name.ContextID, thread: record.name.ThreadID, hasThread: record.name.HasThread}
		rules = append(rules, rule{ByFileName, int64(name.task & taskMask), name.equal})
	}
	for _, r := range rules {
		if d := latest(record, all.at[place{dir: record.dir, task: r.task}], payload, r.fits); d != nil {
			return d, r.name
		}
		if !all.parents[record.dir] {
			continue
		}
		inside := func(d *dump) bool { return r.fits(d) && d.dir != record.dir && below(d.dir, record.dir) }
		if d := latest(record, all.at[place{task: r.task}], payload, inside); d != nil {
			return d, r.name + OtherFolder
		}
	}
	for _, r := range rules {
		apart := func(d *dump) bool { return r.fits(d) && d.dir != record.dir && sameStep(d.at, record.at) }
		if d := latest(record, all.at[place{rank: record.at.Rank, step: record.at.Step, task: r.task}], payload, apart); d != nil {
			return d, r.name + OtherFolder
		}
	}
	guess := latest(record, all.at[place{dir: record.dir, task: anyTask}], payload, func(d *dump) bool {
		return d.timestamp <= record.timestamp
	})
	return guess, ByTimestamp
}

// sameStep reports whether a record lies apart from a dump of the same step, as
// MindSpore keeps them: rank and step are the same, and one of the folders names
// no network. Ids repeat in every run, model and device, so nothing less will do.
func sameStep(a, b dumpdir.Coordinates) bool {
	return a.Rank != "" && a.Step != "" && a.Rank == b.Rank && a.Step == b.Step && (a.Model == "" || b.Model == "")
}

// below reports whether dir is inside root, or root itself.
func below(dir, root string) bool {
	rel, err := store.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// equal compares with the ids of a dump's name.
func (i ids) equal(d *dump) bool {
	return i.task == d.name.TaskID && i.hasStream == d.name.HasStream && i.stream == d.name.StreamID && i.threadFits(d)
}

// similar compares task ids as 16-bit chips keep them, and takes a stream that
// one side does not know for any.
func (i ids) similar(d *dump) bool {
	anyStream := !i.hasStream || !d.name.HasStream || i.stream == noID || d.name.StreamID == noID
	return i.task&taskMask == d.name.TaskID&taskMask && (anyStream || i.stream == d.name.StreamID) && i.threadFits(d)
}

// threadFits compares context and thread (FFTS+) where both sides have them;
// 0 is an id like any other.
func (i ids) threadFits(d *dump) bool {
	return !i.hasThread || !d.name.HasThread || i.context == d.name.ContextID && i.thread == d.name.ThreadID
}

// latest picks among the fitting dumps: one whose thread is the record's before
// one that has none, then the latest that is not after the record, since the
// device writes the dump first and the record right after; only then the
// earliest after it.
func latest(record *recordSource, candidates []*dump, payload ids, fits func(*dump) bool) *dump {
	var best *dump
	at := record.timestamp
	better := func(a, b *dump) bool {
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
		// The payload has the last word about the thread.
		if fits(d) && payload.threadFits(d) && (best == nil || better(d, best)) {
			best = d
		}
	}
	return best
}

// dump is the dump of one execution of an operator, or the arrays or the table of
// statistics that stand for it.
type dump struct {
	op    *dumpdir.Op
	round *dumpdir.Round
	at    dumpdir.Coordinates
	dir   string
	// name is that of the dump, fileName the whole of it.
	name      filename.Dump
	fileName  string
	timestamp uint64
	tensors   []dumpdir.Tensor
}

// dumpsOf lists the dumps of rounds, also those that cannot be read: the right
// operator with a broken dump is better than a wrong one. Only those whose names
// have ids can be matched.
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

// dumpName is what the name of a file says, or that of the dump whose statistics
// it has.
func dumpName(f *dumpdir.File) filename.Info {
	if f.Role == dumpdir.Table {
		return filename.Parse(strings.TrimSuffix(f.Name, ".csv"))
	}
	return filename.Parse(f.Name)
}

// file is the first file of the dump.
func (d *dump) file() *dumpdir.File { return d.tensors[0].File }
