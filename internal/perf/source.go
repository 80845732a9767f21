package perf

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// The names of the tables in a folder of results.
const (
	tableName   = "op_perf.csv"
	corePrefix  = "op_perf_"
	tableSuffix = ".csv"
	runsFolder  = "perf"
	resultName  = "result"
	npuName     = "npu"
)

// tableFolder holds the tables of a folder, which belong together.
type tableFolder struct {
	folder string
	table  string // path of op_perf.csv, empty for none
	cores  []coreFile
	runs   []string // paths of perf/*.csv
	// others lists files named like a core's table but without a core number.
	others []string
}

// coreFile is the table of a core.
type coreFile struct {
	core int
	path string
}

// findSources finds the tables at paths, which are files and folders.
func findSources(paths []string) ([]*tableFolder, error) {
	var all []*tableFolder
	byFolder := make(map[string]*tableFolder)
	for _, path := range paths {
		info, err := store.Stat(path)
		if err != nil {
			return nil, safefile.WithPath(path, err)
		}
		if info.IsDir() {
			s, err := findInFolder(path)
			if err != nil {
				return nil, err
			}
			if s != nil {
				all = append(all, s)
			}
			continue
		}
		folder, core, isCore := store.Dir(path), 0, false
		if core, isCore = coreOf(store.Base(path)); !isCore {
			all = append(all, &tableFolder{folder: folder, table: path})
			continue
		}
		s := byFolder[folder]
		if s == nil {
			s = &tableFolder{folder: folder}
			byFolder[folder] = s
			all = append(all, s)
		}
		s.cores = append(s.cores, coreFile{core, path})
	}
	for _, s := range all {
		slices.SortStableFunc(s.cores, func(a, b coreFile) int { return cmp.Compare(a.core, b.core) })
	}
	return all, nil
}

// findInFolder finds the tables in the subfolder result, else in the folder itself; nil if there
// are none.
func findInFolder(path string) (*tableFolder, error) {
	for _, folder := range []string{store.Join(path, resultName), path} {
		s, err := listFolder(folder)
		if err != nil {
			return nil, err
		}
		if s != nil {
			return s, nil
		}
	}
	return nil, nil
}

// listFolder lists the tables in a folder, nil if it has none.
func listFolder(folder string) (*tableFolder, error) {
	names, err := listNatural(folder)
	if err != nil {
		return nil, err
	}
	s := &tableFolder{folder: folder}
	for _, name := range names {
		path := store.Join(folder, name)
		core, isCore := coreOf(name)
		switch {
		case name == tableName:
			s.table = path
		case isCore:
			s.cores = append(s.cores, coreFile{core, path})
		case strings.HasPrefix(name, corePrefix) && strings.HasSuffix(name, tableSuffix):
			s.others = append(s.others, path)
		}
	}
	if s.table == "" && len(s.cores) == 0 {
		return nil, nil
	}
	names, err = listNatural(store.Join(folder, runsFolder))
	for _, name := range names {
		if strings.HasSuffix(name, tableSuffix) {
			s.runs = append(s.runs, store.Join(folder, runsFolder, name))
		}
	}
	return s, err
}

// listNatural lists the files of a folder in natural order; none if the folder is missing.
func listNatural(folder string) ([]string, error) {
	if info, err := store.Stat(folder); errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	entries, err := store.ReadDir(folder)
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, lang.CompareNatural)
	return names, err
}

// coreOf parses the core number in the name of a file.
func coreOf(name string) (core int, ok bool) {
	number, ok := strings.CutPrefix(name, corePrefix)
	number, ok2 := strings.CutSuffix(number, tableSuffix)
	core, err := strconv.Atoi(number)
	return core, ok && ok2 && err == nil && strings.Trim(number, "0123456789") == ""
}

// DumpMode says whether tensors were dumped while the cycles were counted.
type DumpMode int8

// Values of DumpMode.
const (
	ModeUnknown DumpMode = iota
	ModePlain            // without a dump
	ModeDumping          // while tensors were dumped
)

// mode returns the mode shown by the folder: a folder result has the tensors beside it, in npu, if
// they were dumped.
func (s *tableFolder) mode() DumpMode {
	folder, err := store.Abs(s.folder)
	if err != nil || store.Base(folder) != resultName {
		return ModeUnknown
	}
	if entries, err := store.ReadDir(store.Join(store.Dir(folder), npuName)); err == nil && len(entries) > 0 {
		return ModeDumping
	}
	return ModePlain
}

// tableFile is a table to read.
type tableFile struct {
	path string
	// runsName is the name for rows of a table of runs without names; empty for a table of
	// operators, which must have names.
	runsName string
}

// tableResult is a table, or the error of reading it. A table of runs keeps only the cycles of its rows.
type tableResult struct {
	*table
	cycles []cycles
	err    error
}

// readAll reads tables concurrently and returns them by path.
func readAll(ctx context.Context, workers int, files []tableFile) (map[string]tableResult, error) {
	all := make(map[string]tableResult, len(files))
	err := batch.Run(ctx, batch.Options{Workers: workers}, files, nil,
		func(_ context.Context, f tableFile) tableResult {
			var t *table
			err := safefile.Read(f.path, func(in safefile.Input) (err error) {
				t, err = readTable(in, f.path, f.runsName)
				return err
			})
			if err != nil || f.runsName == "" {
				return tableResult{table: t, err: err}
			}
			all := cyclesOf(t.rows)
			t.rows = nil
			return tableResult{table: t, cycles: all}
		},
		func(i int, l tableResult) { all[files[i].path] = l })
	return all, err
}

// files returns the tables of a source.
func (s *tableFolder) files() []tableFile {
	var all []tableFile
	if s.table != "" {
		all = append(all, tableFile{path: s.table})
	}
	for _, c := range s.cores {
		all = append(all, tableFile{path: c.path})
	}
	for _, path := range s.runs {
		all = append(all, tableFile{path, strings.TrimSuffix(store.Base(path), tableSuffix)})
	}
	return all
}

// maxAllRows is the largest number of rows of all operator tables together.
const maxAllRows = 4 * maxRows

// tables is the contents of all performance tables at the paths of a run.
type tables struct {
	Report            // files, all operators, cores, runs, problems and notes
	rows    int       // of all files
	missing columnSet // in some table
	mode    DumpMode
}

// loadTables reads the tables at some paths.
func loadTables(ctx context.Context, opt *Options, paths []string) (*tables, error) {
	sources, err := findSources(paths)
	if err != nil {
		return nil, err
	}
	var files []tableFile
	for _, s := range sources {
		files = append(files, s.files()...)
	}
	read, err := readAll(ctx, opt.Workers, files)
	if err != nil {
		return nil, err
	}
	t := &tables{Report: Report{Schema: Schema, Options: *opt, Files: []string{}, Cores: []int{}, Unknown: []string{}, Problems: []Problem{}, Notes: []Note{}, TopNames: []string{}}}
	for _, f := range files {
		t.Inputs = append(t.Inputs, f.path)
	}
	for _, s := range sources {
		t.mode = max(t.mode, s.mode())
		t.add(s, read, &opt.Thresholds)
	}
	slices.Sort(t.Cores)
	t.Cores = slices.Compact(t.Cores)
	return t, nil
}

func (t *tables) add(s *tableFolder, read map[string]tableResult, th *Thresholds) {
	main := t.openTable(s.table, read)
	missing := t.missing
	cores, perCore := t.openCores(s, read)
	var all []*Operator
	if main != nil {
		t.missing = missing // columns missing in cores' tables are in the main table
		for i := range main.rows {
			all = append(all, &Operator{Row: &main.rows[i]})
		}
	}
	if len(perCore) > 0 {
		rows, stats, problems := foldCores(cores, perCore)
		t.Problems = append(t.Problems, problems...)
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
	t.Operators = append(t.Operators, all...)
}

// openTable returns a table of operators, nil if it is missing or unreadable.
func (t *tables) openTable(path string, read map[string]tableResult) *table {
	if path == "" {
		return nil
	}
	l := read[path]
	if l.err != nil {
		t.Problems = append(t.Problems, Problem{File: path, What: withoutPath(l.err, path)})
		return nil
	}
	if t.rows += len(l.rows); t.rows > maxAllRows {
		t.Problems = append(t.Problems, Problem{File: path, What: lang.Say("the tables have more than %d rows together: this one and all after it are not read", maxAllRows)})
		return nil
	}
	t.Files = append(t.Files, path)
	t.Problems = append(t.Problems, l.problems...)
	t.missing |= ^l.columns
	for _, name := range l.unknown {
		if !slices.Contains(t.Unknown, name) {
			t.Unknown = append(t.Unknown, name)
		}
	}
	return l.table
}

// withoutPath returns an error without the path that it may contain.
func withoutPath(err error, path string) lang.Sentence {
	t := lang.Error(err).Text()
	for _, text := range []*string{&t.EN, &t.ZH} {
		if _, after, found := strings.Cut(*text, path+": "); found {
			*text = after
		}
	}
	return lang.Say("%s", t)
}

// openCores returns the readable tables of cores.
func (t *tables) openCores(s *tableFolder, read map[string]tableResult) (cores []coreFile, all []*table) {
	for _, c := range s.cores {
		if i := slices.IndexFunc(cores, func(o coreFile) bool { return o.core == c.core }); i >= 0 {
			t.Problems = append(t.Problems, Problem{File: c.path, What: lang.Say("core %d was read already, from %s", c.core, cores[i].path)})
			continue
		}
		if one := t.openTable(c.path, read); one != nil {
			cores, all = append(cores, c), append(all, one)
			t.Cores = append(t.Cores, c.core)
		}
	}
	for _, path := range s.others {
		t.Notes = append(t.Notes, Note{NoteNoCore, lang.Say("%s is not read: its name has no core number", path)})
	}
	return cores, all
}

// noteAbsent adds a note on operators missing on some cores.
func (t *tables) noteAbsent(cores []coreFile, rows []Row, stats []*Cores) {
	var names []string
	for i := range rows {
		if stats[i] != nil && len(stats[i].Absent) > 0 {
			names = append(names, rows[i].Name)
		}
	}
	if len(names) > 0 {
		t.Notes = append(t.Notes, Note{NoteCore, lang.Say("not on all of the %d cores: %s", len(cores), lang.FirstNames(names))})
	}
}

// joinCores adds the core statistics to the operators of a table.
func joinCores(all []*Operator, rows []Row, stats []*Cores) {
	byName := make(map[occurrence]*Cores)
	for i, at := range numberOccurrences(rows) {
		byName[at] = stats[i]
	}
	seen := make(map[string]int)
	for _, o := range all {
		name := o.Row.Name
		seen[name]++
		o.Cores = byName[occurrence{name, seen[name]}]
	}
}

func (t *tables) addRuns(s *tableFolder, read map[string]tableResult, all []*Operator, th *Thresholds) {
	var perRun []cycles
	for _, path := range s.runs {
		l := read[path]
		if l.err != nil {
			t.Problems = append(t.Problems, Problem{File: path, What: withoutPath(l.err, path)})
			continue
		}
		t.Problems = append(t.Problems, l.problems...)
		perRun = append(perRun, l.cycles...)
	}
	runs := joinRuns(perRun, th)
	if len(runs) == 0 {
		return
	}
	relation := firstRelation(all, runs)
	if t.Relation != "" && t.Relation != relation {
		relation = RelationUnknown
	}
	t.Relation = relation
	var index filename.Index
	for i, r := range runs {
		index.Add(r.Name, i)
	}
	for _, o := range all {
		if i, ok := index.Find(o.Row.Name); ok {
			o.Runs = runs[i]
			runs[i].Name = o.Row.Name // the file name stood in for a missing name
		}
	}
	t.Runs = append(t.Runs, runs...)
}
