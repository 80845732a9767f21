package perf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
)

// maxAllRows is how many rows all tables of operators may have together.
const maxAllRows = 4 * maxRows

// tables are what is read from the tables at some paths.
type tables struct {
	files     []string
	inputs    []string // files, and those that could not be read or are of runs
	operators []*Operator
	rows      int // of all files
	cores     []int
	runs      []*Runs
	relation  Relation
	missing   columnSet // of some table
	unknown   []string
	problems  []Problem
	notes     []Note
	mode      DumpMode
}

// load reads the tables at some paths.
func load(ctx context.Context, opt *Options, paths []string) (*tables, error) {
	sources, err := findSources(paths)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, s := range sources {
		files = append(files, s.files()...)
	}
	read, err := readAll(ctx, opt.Workers, files)
	if err != nil {
		return nil, err
	}
	t := &tables{files: []string{}, cores: []int{}, unknown: []string{}, problems: []Problem{}, notes: []Note{}}
	for _, f := range files {
		t.inputs = append(t.inputs, f.path)
	}
	for _, s := range sources {
		t.mode = max(t.mode, s.mode())
		t.add(s, read, &opt.Thresholds)
	}
	slices.Sort(t.cores)
	t.cores = slices.Compact(t.cores)
	return t, nil
}

// add adds the tables of a source.
func (t *tables) add(s *source, read map[string]loaded, th *Thresholds) {
	main := t.open(s.table, read)
	missing := t.missing
	cores, perCore := t.openCores(s, read)
	var all []*Operator
	if main != nil {
		t.missing = missing // what the tables of cores lack is in the main one
		for i := range main.rows {
			all = append(all, &Operator{Row: &main.rows[i]})
		}
	}
	if len(perCore) > 0 {
		rows, stats, problems := foldCores(cores, perCore)
		t.problems = append(t.problems, problems...)
		t.noteAbsent(cores, rows, stats)
		if main == nil {
			for i := range rows {
				all = append(all, &Operator{Row: &rows[i], Cores: stats[i]})
			}
		} else {
			joinCores(all, rows, stats)
		}
	}
	t.addRuns(s, read, all, th)
	t.operators = append(t.operators, all...)
}

// open returns a table of operators, nil if there is none or it cannot be read.
func (t *tables) open(path string, read map[string]loaded) *table {
	if path == "" {
		return nil
	}
	l := read[path]
	if l.err != nil {
		t.problems = append(t.problems, Problem{File: path, Text: withoutPath(l.err, path)})
		return nil
	}
	if t.rows += len(l.rows); t.rows > maxAllRows {
		t.problems = append(t.problems, Problem{File: path, Text: fmt.Sprintf("it is one too many: the tables have more than %d rows together", maxAllRows)})
		return nil
	}
	t.files = append(t.files, path)
	t.problems = append(t.problems, l.problems...)
	t.missing |= ^l.columns
	for _, name := range l.unknown {
		if !slices.Contains(t.unknown, name) {
			t.unknown = append(t.unknown, name)
		}
	}
	return l.table
}

// withoutPath is the text of an error that may name its path.
func withoutPath(err error, path string) string {
	text := err.Error()
	if _, after, found := strings.Cut(text, path+": "); found {
		return after
	}
	return text
}

// openCores returns the tables of cores that can be read.
func (t *tables) openCores(s *source, read map[string]loaded) (cores []coreFile, all []*table) {
	for _, c := range s.cores {
		if i := slices.IndexFunc(cores, func(o coreFile) bool { return o.core == c.core }); i >= 0 {
			t.problems = append(t.problems, Problem{File: c.path, Text: fmt.Sprintf("core %d was read already, from %s", c.core, cores[i].path)})
			continue
		}
		if one := t.open(c.path, read); one != nil {
			cores, all = append(cores, c), append(all, one)
			t.cores = append(t.cores, c.core)
		}
	}
	for _, path := range s.others {
		t.notes = append(t.notes, Note{NoteNoCore, lang.Sayf("%s is not read: its name has no number of a core", "%s 未读取：文件名中没有核的编号", path)})
	}
	return cores, all
}

// noteAbsent says which operators some cores do not have.
func (t *tables) noteAbsent(cores []coreFile, rows []Row, stats []*Cores) {
	var names []string
	for i := range rows {
		if stats[i] != nil && len(stats[i].Absent) > 0 {
			names = append(names, rows[i].Name)
		}
	}
	if len(names) > 0 {
		t.notes = append(t.notes, Note{NoteCore, lang.Sayf("not on all of the %d cores: %s", "并非 %d 个核上都有：%s", len(cores), lang.FirstNames(names))})
	}
}

// joinCores adds how operators of a table ran on the cores.
func joinCores(all []*Operator, rows []Row, stats []*Cores) {
	byName := make(map[occurrence]*Cores)
	for i, at := range occurrences(rows) {
		byName[at] = stats[i]
	}
	seen := make(map[string]int)
	for _, o := range all {
		name := o.Row.Name
		seen[name]++
		o.Cores = byName[occurrence{name, seen[name]}]
	}
}

// addRuns adds the runs of operators.
func (t *tables) addRuns(s *source, read map[string]loaded, all []*Operator, th *Thresholds) {
	var perRun []cycles
	for _, path := range s.runs {
		l := read[path]
		if l.err != nil {
			t.problems = append(t.problems, Problem{File: path, Text: withoutPath(l.err, path)})
			continue
		}
		t.problems = append(t.problems, l.problems...)
		perRun = append(perRun, l.cycles...)
	}
	runs := joinRuns(perRun, th)
	if len(runs) == 0 {
		return
	}
	relation := relate(all, runs)
	if t.relation != "" && t.relation != relation {
		relation = RelationUnknown
	}
	t.relation = relation
	var index filename.Index
	for i, r := range runs {
		index.Add(r.Name, i)
	}
	for _, o := range all {
		if i, ok := index.Find(o.Row.Name); ok {
			o.Runs = runs[i]
			runs[i].Name = o.Row.Name // a file without names has that of a file
		}
	}
	t.runs = append(t.runs, runs...)
}
