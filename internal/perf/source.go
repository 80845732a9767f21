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

// source is tables that belong together: those of a folder.
type source struct {
	folder string
	table  string // the path of op_perf.csv, empty for none
	cores  []coreFile
	runs   []string // the paths of perf/*.csv
	// others are files that look like a core's and name none.
	others []string
}

// coreFile is the table of a core.
type coreFile struct {
	core int
	path string
}

// findSources finds the tables at paths, which are files and folders.
func findSources(paths []string) ([]*source, error) {
	var all []*source
	byFolder := make(map[string]*source)
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
			all = append(all, &source{folder: folder, table: path})
			continue
		}
		s := byFolder[folder]
		if s == nil {
			s = &source{folder: folder}
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

// findInFolder finds the tables of a folder: in its folder result, else in itself. It
// returns nil if there are none.
func findInFolder(path string) (*source, error) {
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
func listFolder(folder string) (*source, error) {
	names, err := natural(folder)
	if err != nil {
		return nil, err
	}
	s := &source{folder: folder}
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
	names, err = natural(store.Join(folder, runsFolder))
	for _, name := range names {
		if strings.HasSuffix(name, tableSuffix) {
			s.runs = append(s.runs, store.Join(folder, runsFolder, name))
		}
	}
	return s, err
}

// natural lists the files of a folder in natural order; none if it is not there.
func natural(folder string) ([]string, error) {
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

// coreOf returns the core that the name of a file has.
func coreOf(name string) (core int, ok bool) {
	number, ok := strings.CutPrefix(name, corePrefix)
	number, ok2 := strings.CutSuffix(number, tableSuffix)
	core, err := strconv.Atoi(number)
	return core, ok && ok2 && err == nil && strings.Trim(number, "0123456789") == ""
}

// DumpMode says whether tensors were dumped while the cycles were counted.
type DumpMode int8

// The modes.
const (
	ModeUnknown DumpMode = iota
	ModePlain            // counted alone
	ModeDumping          // counted while tensors were dumped
)

// mode is what the folder of a source says: a folder result has the tensors beside it,
// in npu, if they were dumped.
func (s *source) mode() DumpMode {
	folder, err := store.Abs(s.folder)
	if err != nil || store.Base(folder) != resultName {
		return ModeUnknown
	}
	if entries, err := store.ReadDir(store.Join(store.Dir(folder), npuName)); err == nil && len(entries) > 0 {
		return ModeDumping
	}
	return ModePlain
}

// file is a table to be read.
type file struct {
	path string
	// nameless is the name of the rows of a table of runs without names, empty for a
	// table of operators, which must have them.
	nameless string
}

// loaded is a table that was read, or what is wrong with it. That of runs has no rows but
// their cycles.
type loaded struct {
	*table
	cycles []cycles
	err    error
}

// readAll reads tables, several at a time, and returns them by their paths.
func readAll(ctx context.Context, workers int, files []file) (map[string]loaded, error) {
	all := make(map[string]loaded, len(files))
	err := batch.Run(ctx, batch.Options{Workers: workers}, files, nil,
		func(_ context.Context, f file) loaded {
			var t *table
			err := safefile.Read(f.path, func(in safefile.Input) (err error) {
				t, err = readTable(in, f.path, f.nameless)
				return err
			})
			if err != nil || f.nameless == "" {
				return loaded{table: t, err: err}
			}
			all := cyclesOf(t.rows)
			t.rows = nil
			return loaded{table: t, cycles: all}
		},
		func(i int, l loaded) { all[files[i].path] = l })
	return all, err
}

// files are the tables of a source.
func (s *source) files() []file {
	var all []file
	if s.table != "" {
		all = append(all, file{path: s.table})
	}
	for _, c := range s.cores {
		all = append(all, file{path: c.path})
	}
	for _, path := range s.runs {
		all = append(all, file{path, strings.TrimSuffix(store.Base(path), tableSuffix)})
	}
	return all
}
