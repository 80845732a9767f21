package dumpdir

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/filename"
	"dumptool/internal/foreign"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// HeaderOptions are the options of ReadHeaders.
type HeaderOptions struct {
	// Version is the version of the dump container: 1, 2, or 0 to detect it.
	Version int
	// Workers is the number of files read at a time; 0 means one per CPU.
	Workers int
	Observe func(batch.Event)
	// Rounds are the rounds to read, in a run after FixRounds; nil for all files.
	Rounds map[*Round]bool
}

// ReadHeaders opens unknown files and files whose names do not identify their tensors, and reads
// their headers. It replaces whole files by their tensors and adds the names of operators in
// headers. Files with overflow records become Records; files that are no dumps, and texts without
// numbers, become Side files. Then it orders the operators again.
func (r *Run) ReadHeaders(ctx context.Context, opt HeaderOptions) error {
	wanted := func(round *Round) bool { return opt.Rounds == nil || opt.Rounds[round] }
	var jobs []headerJob
	for _, round := range r.Rounds {
		if wanted(round) {
			jobs = append(jobs, round.headerJobs()...)
		}
	}
	return r.readHeaders(ctx, opt, append(jobs, r.unknownFiles(wanted)...))
}

// FixRounds makes the list of rounds final, so that ReadHeaders may read only some of them. It
// opens unknown files outside all rounds, which may make new rounds. In a round that may have no
// tensors at all, it opens files until it finds a tensor.
func (r *Run) FixRounds(ctx context.Context, opt HeaderOptions) error {
	if err := r.readHeaders(ctx, opt, r.unknownFiles(func(round *Round) bool { return round == nil })); err != nil {
		return err
	}
	unknown := make(map[*Round][]headerJob)
	for _, j := range r.unknownFiles(func(round *Round) bool { return round != nil }) {
		unknown[j.round] = append(unknown[j.round], j)
	}
	empty := make(map[*Round]bool)
	err := batch.Run(ctx, batch.Options{Workers: store.Waiting(opt.Workers, r.Paths...)}, r.Rounds, nil,
		func(ctx context.Context, round *Round) bool {
			return !round.isCertain() && !slices.ContainsFunc(append(round.headerJobs(), unknown[round]...), func(j headerJob) bool {
				if ctx.Err() != nil {
					return true
				}
				h := j.read(opt.Version)
				return j.hasTensors(&h)
			})
		},
		func(i int, is bool) { empty[r.Rounds[i]] = is })
	r.Rounds = slices.DeleteFunc(r.Rounds, func(round *Round) bool { return empty[round] })
	return err
}

// largestRecord is larger than any file of overflow records, in bytes.
const largestRecord = 2 << 20

// isCertain reports whether the listing alone shows that the round has tensors.
func (r *Round) isCertain() bool {
	return slices.ContainsFunc(r.Ops, func(op *Op) bool {
		return slices.ContainsFunc(op.Tensors, func(t Tensor) bool {
			return !mayBeOtherText(t.File) && (!t.IsWholeFile() || t.File.Size > largestRecord && tensorfile.ContainerOf(t.File.Name) == nil)
		})
	})
}

// headerJobs are the files of the round to open.
func (r *Round) headerJobs() (jobs []headerJob) {
	for _, op := range r.Ops {
		for i := range op.Tensors {
			if t := &op.Tensors[i]; t.IsWholeFile() || mayBeOtherText(t.File) {
				jobs = append(jobs, headerJob{t.File, r, op, t.IsWholeFile(), mayBeOtherText(t.File)})
			}
		}
	}
	return jobs
}

// unknownFiles are the unknown files in the folders of wanted rounds. The round of files outside
// all rounds is nil.
func (r *Run) unknownFiles(wanted func(*Round) bool) (jobs []headerJob) {
	rounds := r.roundsByFolder()
	for _, f := range r.Files {
		if round := rounds[f.Folder]; f.Role == Unknown && f.Err == nil && wanted(round) {
			jobs = append(jobs, headerJob{file: f, round: round, whole: true})
		}
	}
	return jobs
}

// roundsByFolder has the rounds by the folders of their tensors.
func (r *Run) roundsByFolder() map[*Folder]*Round {
	rounds := make(map[*Folder]*Round)
	for _, round := range r.Rounds {
		for _, f := range round.folders {
			rounds[f] = round
		}
	}
	return rounds
}

// readHeaders reads files and adds their contents to the run.
func (r *Run) readHeaders(ctx context.Context, opt HeaderOptions, jobs []headerJob) error {
	rounds, named := r.roundsByFolder(), make(map[*Round][]*Op)
	err := batch.Run(ctx, batch.Options{Workers: store.Waiting(opt.Workers, r.Paths...), Observe: opt.Observe}, jobs, nil,
		func(_ context.Context, j headerJob) header { return j.read(opt.Version) },
		func(i int, h header) {
			if round, ops := r.addHeader(jobs[i], &h, rounds); ops != nil {
				named[round] = append(named[round], ops...)
			}
		})
	if err != nil {
		return err
	}
	for round, ops := range named {
		round.prefixFileNames(ops)
	}
	changed := len(jobs) > 0
	for _, round := range r.Rounds {
		before := len(round.Ops)
		round.Ops = slices.DeleteFunc(round.Ops, func(o *Op) bool { return len(o.Tensors) == 0 })
		changed = changed || len(round.Ops) < before
	}
	r.Rounds = slices.DeleteFunc(r.Rounds, func(round *Round) bool { return len(round.Ops) == 0 })
	if !changed { // no file changed the order
		return nil
	}
	slices.SortFunc(r.Rounds, func(a, b *Round) int { return a.At.Compare(b.At) })
	return r.SortOperators(r.sources)
}

// mayBeOtherText reports whether a file may be a text without numbers, such as README.txt beside
// dumps.
func mayBeOtherText(f *File) bool {
	return !f.IsGiven() && strings.EqualFold(path.Ext(f.Name), ".txt") && filename.Parse(f.Name).Grammar == filename.Plain
}

// isOtherText reports whether a text has no numbers.
func isOtherText(f *File) bool {
	head, err := readHead(f.Path(), foreign.HeadBytes)
	return err == nil && !tensorfile.IsNumbers(head)
}

// headerJob is a file to open with its round and the operator in its name; nil for none.
type headerJob struct {
	file  *File
	round *Round
	op    *Op
	// whole is set if the tensors of the file are unknown, isText if the file may be a text
	// without numbers.
	whole, isText bool
}

// read reads the header of the file, or checks a text for numbers.
func (j headerJob) read(version int) (h header) {
	err := guard.Do(func() error {
		switch {
		case j.isText && isOtherText(j.file):
			h.isOtherText = true
		case j.whole:
			h = readHeader(j.file, version)
		default:
			h.isIdentified = true
		}
		return nil
	})
	if err != nil {
		return header{err: err}
	}
	return h
}

// hasTensors reports whether a round with the file has tensors.
func (j headerJob) hasTensors(h *header) bool {
	return h.isIdentified || h.err != nil && j.op != nil || len(h.tensors) > 0 && !h.isRecord
}

// header is the header of a file, or the reason why it has none.
type header struct {
	op           string
	timestamp    uint64
	origins      []Origin
	tensors      []Tensor
	isRecord     bool
	isOtherText  bool    // a text without numbers
	isIdentified bool    // the names of files were sufficient
	isNamed      bool    // the file gives names to its tensors
	cut          []error // tensors beyond the end of the file
	repeated     []error // names of several tensors
	err          error
}

func readHeader(f *File, version int) (h header) {
	if f.Err != nil {
		return header{err: f.Err}
	}
	if f.Role == Table {
		h.err = readSide(f.Path(), func(in io.Reader) error {
			return readStatistics(in, func(s *statisticRow) {
				statistics := s.Statistics
				h.tensors = append(h.tensors, Tensor{Kind: s.kind, Index: s.index, File: f, Statistics: &statistics, Table: true})
			})
		})
		return h
	}
	src, err := tensorfile.Open(f.Path(), tensorfile.Options{Name: f.Name, Version: version, Only: f.Only})
	if err != nil {
		return header{err: err}
	}
	defer src.Close()
	h.isRecord = src.IsRecord(f.Name) || src.HoldsRecord()
	if h.isNamed = !src.IsUnnamed(); h.isNamed {
		h.addMembers(f, src)
		return h
	}
	for i := range src.Tensors {
		t := &src.Tensors[i]
		h.tensors = append(h.tensors, Tensor{Kind: t.Kind, Index: t.Index, File: f})
		var format *dumpfmt.FormatError
		if errors.As(t.Err, &format) {
			h.cut = append(h.cut, lang.Errorf("%s: %w", t, t.Err))
		}
		if src.Op == nil {
			continue
		}
		if o := src.Op.Origin(t.Index); o != nil && t.Kind == "output" {
			h.origins = append(h.origins, Origin{Index: t.Index, Op: o.Name, Output: int(o.Index)})
		}
	}
	if src.Op != nil {
		h.op, h.timestamp = src.Op.Name, src.Op.Time
	}
	return h
}

// addMembers adds the tensors of a file with named tensors.
func (h *header) addMembers(f *File, src *tensorfile.File) {
	seen := make(map[string]bool, len(src.Tensors))
	for i := range src.Tensors {
		t := &src.Tensors[i]
		if seen[t.Name] {
			h.repeated = append(h.repeated, lang.Errorf("two tensors have the name %q: the first one is used", t.Name))
			continue
		}
		seen[t.Name] = true
		member := Tensor{Kind: t.Kind, Index: t.Index, File: f, Member: t.Name}
		if t.Operator != nil {
			member.Operator, member.Path, member.Device = t.Operator, t.Path, t.Details.Device
		}
		h.tensors = append(h.tensors, member)
	}
}

// addNamed adds an operator for each tensor of a file with named tensors, or for each execution if
// the file has executions. It returns the operators and their round.
func (r *Run) addNamed(j headerJob, h *header) (*Round, []*Op) {
	for _, err := range h.repeated {
		r.addProblem(Unreadable, j.file.Path(), j.round.At, err)
	}
	j.removeFile()
	type execution struct {
		op  string
		seq int64
	}
	ops, at := make([]*Op, 0, len(h.tensors)), make(map[execution]*Op)
	for _, t := range h.tensors {
		if t.Operator == nil {
			ops = append(ops, &Op{Name: t.Member, Tensors: []Tensor{t}})
			continue
		}
		e := execution{t.Operator.Name, t.Operator.Seq}
		if at[e] == nil {
			at[e] = &Op{Name: strings.TrimSuffix(t.Member, t.memberSuffix()), Moment: Moment{Seq: e.seq}}
			ops = append(ops, at[e])
		}
		at[e].Tensors = append(at[e].Tensors, t)
	}
	j.round.Ops = append(j.round.Ops, ops...)
	return j.round, ops
}

// prefixFileNames puts the name of the file before the name of each operator if two files of the round
// have tensors of the same name.
func (r *Round) prefixFileNames(named []*Op) {
	files, shared := make(map[string]*File, len(r.Ops)), false
	for _, op := range r.Ops {
		if len(op.Tensors) == 0 {
			continue
		}
		first, ok := files[op.Name]
		if !ok {
			files[op.Name] = op.Tensors[0].File
		}
		shared = shared || ok && first != op.Tensors[0].File && op.Tensors[0].Member != ""
	}
	if !shared {
		return
	}
	for _, op := range named {
		name := op.Tensors[0].File.Name
		op.Name = strings.TrimSuffix(name, path.Ext(name)) + "/" + op.Name
	}
}

// addHeader adds a header to the run. For a file with named tensors it returns the operators and
// their round.
func (r *Run) addHeader(j headerJob, h *header, rounds map[*Folder]*Round) (*Round, []*Op) {
	if j.round == nil {
		j.round = rounds[j.file.Folder]
	}
	at := j.file.Folder.At
	if j.round != nil {
		at = j.round.At
	}
	switch {
	case h.err != nil:
		r.addUnread(j, at, h.err)
		return nil, nil
	case h.isIdentified:
		return nil, nil
	case h.isOtherText:
		j.file.Role = Side
		j.op.Tensors = slices.DeleteFunc(j.op.Tensors, func(t Tensor) bool { return t.File == j.file })
		return nil, nil
	case h.isRecord:
		j.file.Role = Overflow
		r.Records = append(r.Records, Record{j.file, at})
		j.removeFile()
		return nil, nil
	}
	for _, err := range h.cut {
		r.addProblem(Cut, j.file.Path(), at, err)
	}
	if j.op == nil {
		if len(h.tensors) == 0 {
			return nil, nil
		}
		j.file.Role = Tensors
		if j.round == nil {
			j.round = r.roundAt(at)
			rounds[j.file.Folder] = j.round
		}
	}
	if h.isNamed && !j.keepValue(h) {
		return r.addNamed(j, h)
	}
	if j.op == nil {
		name := filename.Parse(j.file.Name)
		op := &Op{Name: cmp.Or(name.OpName, h.op), Type: name.OpType, Tensors: []Tensor{{File: j.file}}}
		if filename.IsShortened(name.Stem) {
			op.Name = cmp.Or(h.op, name.OpName)
		}
		j.op = op
		j.round.Ops = append(j.round.Ops, op)
	}
	j.op.Header, j.op.Origins = h.op, h.origins
	j.op.Timestamp = cmp.Or(j.op.Timestamp, h.timestamp)
	i := slices.IndexFunc(j.op.Tensors, j.isWhole)
	slice := j.op.Tensors[i].Slice
	for k := range h.tensors {
		h.tensors[k].Slice = slice
	}
	j.op.Tensors = slices.Replace(j.op.Tensors, i, i+1, h.tensors...)
	return nil, nil
}

// keepValue reduces a file of SGLang to its tensor named value, which becomes the output of the
// operator in the file name; the other tensors only describe it. It returns false for other files.
func (j *headerJob) keepValue(h *header) bool {
	i := slices.IndexFunc(h.tensors, func(t Tensor) bool { return t.Member == "value" })
	if name := filename.Parse(j.file.Name); i < 0 || j.op == nil || name.Grammar != filename.SGLang {
		return false
	}
	h.tensors = h.tensors[i : i+1]
	h.tensors[0].Kind, h.tensors[0].Index = tensor.Output, 0
	return true
}

// isWhole reports whether a tensor stands for the whole file of the job.
func (j *headerJob) isWhole(t Tensor) bool { return t.IsWholeFile() && t.File == j.file }

// removeFile removes the file from its operator.
func (j *headerJob) removeFile() {
	if j.op != nil {
		j.op.Tensors = slices.DeleteFunc(j.op.Tensors, j.isWhole)
	}
}

// addUnread records an unreadable file. A file that is no dump, by content and by name, becomes a
// side file.
func (r *Run) addUnread(j headerJob, at Coordinates, err error) {
	if j.op == nil && !r.Single && errors.Is(err, dumpfmt.ErrNotDump) {
		j.file.Role = Side
		return
	}
	empty := j.file.Role == Tensors && j.file.Size == 0 // a problem already
	if j.file.Err == nil && !empty {
		r.addProblem(Unreadable, j.file.Path(), at, err)
	}
	j.file.Err = err
}

// roundAt returns the round with these coordinates; it makes the round if it is missing.
func (r *Run) roundAt(at Coordinates) *Round {
	if i := slices.IndexFunc(r.Rounds, func(round *Round) bool { return round.At == at }); i >= 0 {
		return r.Rounds[i]
	}
	r.Rounds = append(r.Rounds, &Round{At: at})
	return r.Rounds[len(r.Rounds)-1]
}
